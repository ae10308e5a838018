// The other of two processes, as a function of bytes: what it would send is taken from them, in order. When
// they are used up it is gone.
#pragma once

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "distributed/communicator.h"

namespace mdsm::fuzz {

class FedCommunicator : public distributed::Communicator {
 public:
  FedCommunicator(int rank, std::span<const std::byte> bytes) : Communicator(rank, 2), left_(bytes) {}
  void abort(const std::string&) noexcept override {}

 private:
  class Done : public distributed::Exchange {
    void wait() override {}
  };
  std::unique_ptr<distributed::Exchange> start_impl(std::span<const distributed::Send>,
                                                    std::span<const distributed::Receive> receives,
                                                    int) override {
    for (const distributed::Receive& receive : receives) take(receive.bytes);
    return std::make_unique<Done>();
  }

  void take(std::span<std::byte> out) {
    if (out.size() > left_.size()) fail("", "the other process is gone");
    std::ranges::copy(left_.first(out.size()), out.begin());
    left_ = left_.subspan(out.size());
    if (out.size() != sizeof(uint64_t)) return;
    // Likely a length. Large ones are refused by the memory of the machine, which is another test's.
    constexpr uint64_t kLongest = 1 << 16;
    uint64_t length = 0;
    std::memcpy(&length, out.data(), sizeof length);
    length %= kLongest;
    std::memcpy(out.data(), &length, sizeof length);
  }

  std::span<const std::byte> left_;
};

}  // namespace mdsm::fuzz
