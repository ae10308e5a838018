// Other programs that are busy: processes that count for as long as this object lives.
#pragma once

#include <vector>

namespace mdsm::bench {

class BusyNeighbours {
 public:
  explicit BusyNeighbours(int count);
  ~BusyNeighbours();
  BusyNeighbours(const BusyNeighbours&) = delete;
  BusyNeighbours& operator=(const BusyNeighbours&) = delete;

 private:
  void end();
  std::vector<int> processes_;
};

}  // namespace mdsm::bench
