// The curve of a run that may still be written. Each look reads what has come since the last one, and a
// bounded number of lines is kept, spread over the run: so a page may look often and at many runs. One thread
// at a time.
#pragma once

#include <sys/types.h>

#include <optional>

#include "train/stats.h"

namespace mdsm::train {

class StatsFollower {
 public:
  explicit StatsFollower(fs::path path, size_t most = 1000) : path_(std::move(path)), most_(most) {}

  // Where another file has come in the place of this one (a resume cuts it), or it was shortened, all is read
  // again. A missing file is an empty one.
  void look();

  const std::optional<StatsRecord>& last() const { return last_; }
  std::vector<StatsRecord> curve() const;         // every so many lines, and the last
  size_t lines() const { return lines_; }         // that are statistics
  uint64_t bytes_read() const { return bytes_; }  // by all looks

 private:
  bool goes_on(int file);
  void read_new(int file);
  void take(std::string_view line);

  fs::path path_;
  size_t most_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  off_t at_ = 0;          // the first byte that is not taken
  std::string end_;       // the bytes before it
  bool in_long_ = false;  // in a line that is longer than any of ours
  size_t lines_ = 0, stride_ = 1;
  uint64_t bytes_ = 0;
  std::vector<StatsRecord> kept_;  // those whose number the stride divides
  std::optional<StatsRecord> last_;
};

}  // namespace mdsm::train
