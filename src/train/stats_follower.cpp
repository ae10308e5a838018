#include "train/stats_follower.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

namespace mdsm::train {
namespace {

constexpr size_t kPart = 1 << 16, kLongestLine = 1 << 20, kCompared = 256;

}  // namespace

void StatsFollower::look() {
  const int file = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0 || !goes_on(file)) {
    const uint64_t bytes = bytes_;
    *this = StatsFollower(path_, most_);
    bytes_ = bytes;
  }
  if (file < 0) return;
  struct stat now = {};
  if (::fstat(file, &now) == 0) {
    device_ = now.st_dev, inode_ = now.st_ino;
    read_new(file);
  }
  ::close(file);
}

// Whether what was read is still there.
bool StatsFollower::goes_on(int file) {
  struct stat now = {};
  if (::fstat(file, &now) != 0 || now.st_dev != device_ || now.st_ino != inode_ || now.st_size < at_)
    return false;
  std::array<char, kCompared> found;
  const auto size = static_cast<ssize_t>(end_.size());
  return ::pread(file, found.data(), end_.size(), at_ - size) == size &&
         std::string_view(found.data(), end_.size()) == end_;
}

void StatsFollower::read_new(int file) {
  std::string text;  // from at_ on
  std::array<char, kPart> part;
  for (;;) {
    const ssize_t found = ::pread(file, part.data(), part.size(), at_ + static_cast<off_t>(text.size()));
    if (found <= 0) return;
    bytes_ += static_cast<uint64_t>(found);
    text.append(part.data(), static_cast<size_t>(found));
    size_t taken = 0;
    for (size_t end; (end = text.find('\n', taken)) != std::string::npos; taken = end + 1)
      if (!std::exchange(in_long_, false)) take(std::string_view(text).substr(taken, end + 1 - taken));
    if (text.size() - taken > kLongestLine) in_long_ = true, taken = text.size();
    end_ = (end_ + text.substr(0, taken));
    end_.erase(0, end_.size() - std::min(end_.size(), kCompared));
    at_ += static_cast<off_t>(taken);
    text.erase(0, taken);
  }
}

void StatsFollower::take(std::string_view line) {
  std::optional<StatsRecord> record = stats_record(line);
  if (!record) return;
  if (lines_++ % stride_ == 0) kept_.push_back(*record);
  last_ = std::move(record);
  if (kept_.size() < most_) return;
  for (size_t i = 0; 2 * i < kept_.size(); ++i)
    if (i > 0) kept_[i] = std::move(kept_[2 * i]);
  kept_.resize((kept_.size() + 1) / 2);
  stride_ *= 2;
}

std::vector<StatsRecord> StatsFollower::curve() const {
  std::vector<StatsRecord> found = kept_;
  if (last_ && (lines_ - 1) % stride_ != 0) found.push_back(*last_);
  return found;
}

}  // namespace mdsm::train
