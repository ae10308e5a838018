// While it lives, LibTorch computes convolutions in bfloat16 and what needs more in float32 (autocast).
#pragma once

#include <ATen/autocast_mode.h>
#include <torch/version.h>

namespace mdsm::engine {

class Autocast {
 public:
  Autocast(c10::DeviceType device, bool wanted) : device_(device), wanted_(wanted) {
    if (!wanted_) return;
    enable(true);
    at::autocast::increment_nesting();
  }
  // Weights change between calls, so casts of them are not kept.
  ~Autocast() {
    if (!wanted_) return;
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    enable(false);
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  void enable(bool on) const {
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)
    at::autocast::set_autocast_dtype(device_, at::kBFloat16);
    at::autocast::set_autocast_enabled(device_, on);
#else
    if (device_ == at::kCPU) {
      at::autocast::set_autocast_cpu_dtype(at::kBFloat16);
      at::autocast::set_cpu_enabled(on);
    } else {
      at::autocast::set_autocast_gpu_dtype(at::kBFloat16);
      at::autocast::set_enabled(on);
    }
#endif
  }

  c10::DeviceType device_;
  bool wanted_;
};

}  // namespace mdsm::engine
