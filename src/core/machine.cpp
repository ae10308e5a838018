#include "core/machine.h"

#include <fmt/format.h>

#include <ctime>
#include <fstream>
#include <vector>

namespace mdsm {

std::string cpu_model() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.rfind("model name", 0) == 0)
      if (const size_t colon = line.find(": "); colon != std::string::npos) return line.substr(colon + 2);
  return "unknown";
}

std::string today() {
  char date[32] = "";
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::strftime(date, sizeof date, "%Y-%m-%d", &parts);
  return date;
}

std::string cpu_features() {
  std::vector<const char*> features;
#if defined(__x86_64__) || defined(__i386__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2")) features.push_back("AVX2");
  if (__builtin_cpu_supports("fma")) features.push_back("FMA");
  if (__builtin_cpu_supports("avx512f")) features.push_back("AVX-512F");
#endif
  return features.empty() ? "none of AVX2, FMA, AVX-512F" : fmt::format("{}", fmt::join(features, ", "));
}

}  // namespace mdsm
