#include "core/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>

namespace mdsm {
namespace {

constexpr size_t kUnknown = std::numeric_limits<size_t>::max();

size_t machine_available() {
  std::ifstream in("/proc/meminfo");
  for (std::string key, unit; in >> key;) {
    size_t kilobytes = 0;
    if (!(in >> kilobytes)) break;
    if (key == "MemAvailable:") return kilobytes * 1024;
    std::getline(in, unit);
  }
  return kUnknown;
}

// Containers: "max" (no limit) is not a number and counts as unknown.
size_t group_available() {
  size_t limit = 0, used = 0;
  std::ifstream("/sys/fs/cgroup/memory.max") >> limit;
  std::ifstream("/sys/fs/cgroup/memory.current") >> used;
  return limit == 0 ? kUnknown : limit - std::min(limit, used);
}

}  // namespace

size_t available_memory() {
  const size_t available = std::min(machine_available(), group_available());
  return available == kUnknown ? 0 : available;
}

std::string bytes_text(double bytes) {
  const char* units[] = {"bytes", "kB", "MB", "GB", "TB"};
  size_t unit = 0;
  for (; bytes >= 999.5 && unit + 1 < std::size(units); ++unit) bytes /= 1000;
  const int digits = unit == 0 || bytes >= 99.95 ? 0 : bytes >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f} {}", bytes, digits, units[unit]);
}

}  // namespace mdsm
