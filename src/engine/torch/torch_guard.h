// What every function of the module does around LibTorch: exceptions become one mdsm::Error with one line,
// and device names are checked.
#pragma once

#include <torch/cuda.h>
#include <torch/types.h>
#include <torch/version.h>

#include <charconv>
#include <string>

#include "core/error.h"

namespace mdsm::engine {

[[noreturn]] inline void fail_torch(std::string text) {
  text = text.substr(0, text.find('\n'));  // what follows is LibTorch's own call stack
  const bool memory = text.find("out of memory") != std::string::npos ||
                      text.find("can't allocate memory") != std::string::npos;
  fail(memory ? "use a smaller batch, --micro-batch or a narrower network" : "try --engine native to compare",
       "LibTorch: {}", text);
}

template <class Body>
auto guarded(const Body& body) -> decltype(body()) {
  try {
    return body();
  } catch (const Error&) {
    throw;
  } catch (const c10::Error& error) {
    fail_torch(error.what_without_backtrace());
  } catch (const std::exception& error) {
    fail_torch(error.what());
  }
}

inline int64_t cuda_devices() {
  return torch::cuda::is_available() ? static_cast<int64_t>(torch::cuda::device_count()) : 0;
}

// LibTorch's own parser knows many more device names; here they are cpu, cuda and cuda:K.
inline torch::Device parse_device(const std::string& text) {
  if (text == "cpu") return torch::kCPU;
  const bool indexed = text.rfind("cuda:", 0) == 0;
  int index = 0;
  if (indexed) {
    const char* end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data() + 5, end, index);
    if (parsed.ec != std::errc() || parsed.ptr != end || index < 0)
      fail_usage("use cpu, cuda or cuda:K with K = 0, 1, ...", "device '{}' does not exist", text);
  } else if (text != "cuda") {
    fail_usage("use cpu, cuda or cuda:K", "device '{}' does not exist", text);
  }
  const int64_t count = cuda_devices();
  if (count == 0)
    fail("use --device cpu, or a LibTorch built for CUDA on a machine with a CUDA device",
         "device '{}' is not there: LibTorch {} sees no CUDA device", text, TORCH_VERSION);
  if (index >= count)
    fail_usage(fmt::format("use cuda:0 to cuda:{}", count - 1), "device '{}' is not there: {} CUDA device(s)",
               text, count);
  return {torch::kCUDA, static_cast<c10::DeviceIndex>(index)};
}

}  // namespace mdsm::engine
