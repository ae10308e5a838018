#include "eval/share.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/error.h"

namespace mdsm::eval {
namespace {

template <class T>
std::vector<T> joined(distributed::Communicator& world, const std::vector<T>& own, int64_t total) {
  const auto parts = world.gather_first({reinterpret_cast<const char*>(own.data()), own.size() * sizeof(T)});
  std::vector<T> all;
  for (size_t rank = 0; rank < parts.size(); ++rank) {
    const std::string& part = parts[rank];
    const size_t before = all.size(), count = part.size() / sizeof(T);
    if (part.size() % sizeof(T) != 0 || before + count > static_cast<size_t>(total))
      fail("start all processes alike", "rank {} has sent {} bytes, more than its share", rank, part.size());
    all.resize(before + count);
    if (count > 0) std::memcpy(all.data() + before, part.data(), part.size());
  }
  if (world.first() && all.size() != static_cast<size_t>(total))
    fail("start all processes alike", "all ranks together have sent {} values, not {}", all.size(), total);
  return all;
}

}  // namespace

Share share_of(const distributed::Communicator& world, const data::Dataset& data, int64_t group) {
  const int64_t groups = (data.size() + group - 1) / group;
  const auto part = world.own_part(static_cast<size_t>(groups));
  const int64_t first = std::min(data.size(), static_cast<int64_t>(part.first) * group),
                end = std::min(data.size(), static_cast<int64_t>(part.first + part.count) * group);
  std::vector<uint32_t> indices(static_cast<size_t>(end - first));
  std::iota(indices.begin(), indices.end(), static_cast<uint32_t>(first));
  return {first,
          {std::shared_ptr<const data::Dataset>(&data, [](const data::Dataset*) {}), std::move(indices), ""}};
}

std::vector<float> gathered(distributed::Communicator& world, const std::vector<float>& own, int64_t total) {
  return joined(world, own, total);
}

std::vector<double> gathered(distributed::Communicator& world, const std::vector<double>& own,
                             int64_t total) {
  return joined(world, own, total);
}

}  // namespace mdsm::eval
