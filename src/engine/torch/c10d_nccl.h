// Sums over ranks on GPUs, by NCCL, where the LibTorch was built with it.
#pragma once

#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include <memory>
#include <span>

#include "distributed/launcher.h"

namespace mdsm::engine {

class DeviceSum {
 public:
  virtual ~DeviceSum() = default;
  // values of all ranks, in an order of NCCL's own.
  virtual void sum(std::span<float> values) = 0;
};

// All ranks call it. Nothing unless every one of them has a GPU of its own.
std::unique_ptr<DeviceSum> make_device_sum(const distributed::Launch& launch,
                                           const c10::intrusive_ptr<c10d::Store>& store,
                                           c10d::ProcessGroupGloo& ranks);

}  // namespace mdsm::engine
