#include "engine/torch/c10d_nccl.h"

#include <torch/cuda.h>
#include <torch/types.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

// Ready-made LibTorches have NCCL inside, but not its header, which c10d's own needs.
#if defined(USE_C10D_NCCL) && __has_include(<nccl.h>)
#define MDSM_NCCL
#include <c10/core/DeviceGuard.h>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#endif

namespace mdsm::engine {

#ifdef MDSM_NCCL

namespace {

class NcclSum : public DeviceSum {
 public:
  NcclSum(const distributed::Launch& launch, const c10::intrusive_ptr<c10d::Store>& store)
      : device_(torch::kCUDA, static_cast<c10::DeviceIndex>(launch.local_rank)),
        group_(c10::make_intrusive<c10d::ProcessGroupNCCL>(
            c10::make_intrusive<c10d::PrefixStore>("nccl", store), launch.rank, launch.size,
            c10d::ProcessGroupNCCL::Options::create())) {}

  void sum(std::span<float> values) override {
    const c10::DeviceGuard guard(device_);
    const torch::Tensor host =
        torch::from_blob(values.data(), {static_cast<int64_t>(values.size())}, torch::kFloat32);
    std::vector<at::Tensor> tensors = {host.to(device_)};
    group_->allreduce(tensors)->wait();
    host.copy_(tensors[0]);  // waits for the device
  }

 private:
  torch::Device device_;
  c10::intrusive_ptr<c10d::ProcessGroupNCCL> group_;
};

}  // namespace

std::unique_ptr<DeviceSum> make_device_sum(const distributed::Launch& launch,
                                           const c10::intrusive_ptr<c10d::Store>& store,
                                           c10d::ProcessGroupGloo& ranks) {
  const bool own =
      torch::cuda::is_available() && launch.local_rank < static_cast<int64_t>(torch::cuda::device_count());
  std::vector<at::Tensor> all = {torch::full({1}, own ? 1 : 0, torch::kInt32)};
  c10d::AllreduceOptions least;
  least.reduceOp = c10d::ReduceOp::MIN;
  ranks.allreduce(all, least)->wait();
  if (all[0].item<int>() == 0) return nullptr;
  return std::make_unique<NcclSum>(launch, store);
}

#else

std::unique_ptr<DeviceSum> make_device_sum(const distributed::Launch&, const c10::intrusive_ptr<c10d::Store>&,
                                           c10d::ProcessGroupGloo&) {
  return nullptr;
}

#endif

}  // namespace mdsm::engine
