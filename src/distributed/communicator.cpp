#include "distributed/communicator.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "core/memory.h"

namespace mdsm::distributed {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

// Memory for a text of the length that a peer has announced.
void make_room(std::string& text, uint64_t length, int peer) {
  const size_t available = available_memory();
  if (length > text.max_size() || (available > 0 && length > available))
    fail("look at what that rank says itself", "rank {} announces {} bytes, {} are available", peer, length,
         bytes_text(available));
  text.resize(length);
}

class Done : public Exchange {
  void wait() override {}
};

class Alone : public Communicator {
 public:
  Alone() : Communicator(0, 1) {}
  void abort(const std::string&) noexcept override {}

 private:
  std::unique_ptr<Exchange> start_impl(std::span<const Send>, std::span<const Receive>, int) override {
    return std::make_unique<Done>();
  }
};

}  // namespace

Communicator& alone() {
  static Alone one;
  return one;
}

std::vector<Part> equal_parts(size_t count, int size) {
  std::vector<Part> parts;
  const auto n = static_cast<size_t>(size);
  for (size_t k = 0; k < n; ++k) {
    const size_t first = count / n * k + std::min(k, count % n);
    parts.push_back({first, count / n + (k < count % n ? 1 : 0)});
  }
  return parts;
}

Part Communicator::own_part(size_t count) const {
  return equal_parts(count, size_)[static_cast<size_t>(rank_)];
}

std::unique_ptr<Exchange> Communicator::start(std::span<const Send> sends, std::span<const Receive> receives,
                                              int channel) {
  for (const Send& send : sends) bytes_sent_ += send.bytes.size();
  return start_impl(sends, receives, channel);
}

void Communicator::exchange(std::span<const Send> sends, std::span<const Receive> receives) {
  start(sends, receives)->wait();
}

template <class Body>
void Communicator::with_others(const Body& body) const {
  for (int peer = 0; peer < size_; ++peer)
    if (peer != rank_) body(peer);
}

// Along a binary tree of ranks: rank r has it from the rank without its highest bit.
void Communicator::broadcast(std::span<std::byte> bytes) {
  int bit = 1;
  while (bit <= rank_) bit *= 2;
  if (rank_ > 0) {
    const Receive from{rank_ - bit / 2, bytes};
    exchange({}, {&from, 1});
  }
  std::vector<Send> sends;
  for (; rank_ + bit < size_; bit *= 2) sends.push_back({rank_ + bit, bytes});
  if (!sends.empty()) exchange(sends, {});
}

std::string Communicator::broadcast(const std::string& text) {
  if (alone()) return text;
  uint64_t length = text.size();
  broadcast(std::as_writable_bytes(std::span(&length, 1)));
  std::string all = text;
  if (!first()) make_room(all, length, 0);
  broadcast(std::as_writable_bytes(std::span(all)));
  return all;
}

void Communicator::gather(std::span<float> values, std::span<const Part> parts) {
  gather_bytes(std::as_writable_bytes(values), parts, sizeof(float));
}

void Communicator::gather(std::span<double> values, std::span<const Part> parts) {
  gather_bytes(std::as_writable_bytes(values), parts, sizeof(double));
}

void Communicator::gather_bytes(std::span<std::byte> values, std::span<const Part> parts, size_t each) {
  const auto part = [&](int of) {
    const Part& one = parts[static_cast<size_t>(of)];
    return values.subspan(one.first * each, one.count * each);
  };
  std::vector<Send> sends;
  std::vector<Receive> receives;
  with_others([&](int peer) {
    sends.push_back({peer, part(rank_)});
    receives.push_back({peer, part(peer)});
  });
  exchange(sends, receives);
}

std::vector<std::string> Communicator::gather(const std::string& own) {
  std::vector<std::string> all(static_cast<size_t>(size_));
  std::vector<uint64_t> lengths(all.size());
  all[static_cast<size_t>(rank_)] = own;
  lengths[static_cast<size_t>(rank_)] = own.size();
  std::vector<Send> sends;
  std::vector<Receive> receives;
  const auto length = [&](int of) {
    return std::as_writable_bytes(std::span(&lengths[static_cast<size_t>(of)], 1));
  };
  with_others([&](int peer) {
    sends.push_back({peer, length(rank_)});
    receives.push_back({peer, length(peer)});
  });
  exchange(sends, receives);
  sends.clear();
  receives.clear();
  with_others([&](int peer) {
    std::string& text = all[static_cast<size_t>(peer)];
    make_room(text, lengths[static_cast<size_t>(peer)], peer);
    sends.push_back({peer, bytes_of(own)});
    receives.push_back({peer, std::as_writable_bytes(std::span(text))});
  });
  exchange(sends, receives);
  return all;
}

std::vector<std::string> Communicator::gather_first(const std::string& own) {
  uint64_t length = own.size();
  if (!first()) {
    const std::vector<Send> sends = {{0, std::as_bytes(std::span(&length, 1))}, {0, bytes_of(own)}};
    exchange(sends, {});
    return {};
  }
  std::vector<std::string> all(static_cast<size_t>(size_));
  std::vector<uint64_t> lengths(all.size());
  all[0] = own;
  std::vector<Receive> receives;
  with_others([&](int peer) {
    receives.push_back({peer, std::as_writable_bytes(std::span(&lengths[static_cast<size_t>(peer)], 1))});
  });
  exchange({}, receives);
  receives.clear();
  with_others([&](int peer) {
    std::string& text = all[static_cast<size_t>(peer)];
    make_room(text, lengths[static_cast<size_t>(peer)], peer);
    receives.push_back({peer, std::as_writable_bytes(std::span(text))});
  });
  exchange({}, receives);
  return all;
}

bool Communicator::any(bool own) {
  std::vector<float> flags(static_cast<size_t>(size_));
  flags[static_cast<size_t>(rank_)] = own ? 1 : 0;
  gather(flags, equal_parts(flags.size(), size_));
  return std::ranges::any_of(flags, [](float flag) { return flag > 0; });
}

void Communicator::reordered_sum(std::span<float> values) {
  if (!alone())
    fail("leave --allow-reorder out", "this way of starting processes has no sum of its own for {} values",
         values.size());
}

}  // namespace mdsm::distributed
