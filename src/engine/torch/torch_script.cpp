// Networks in TorchScript files, for the features of `mdsm evaluate`. Two ways of being called are known:
// that of the field's Inception file, whose forward() has an argument return_features, and a plain
// forward(images).
#include <ATen/Parallel.h>
#include <torch/script.h>

#include "engine/torch/torch_guard.h"
#include "engine/torch_module.h"

namespace mdsm::engine {
namespace {

class Script : public TorchScript {
 public:
  Script(const std::string& path, const torch::Device& device, int (*threads)())
      : path_(path), device_(device), threads_(threads), module_(torch::jit::load(path, device)) {
    module_.eval();
    for (const auto& argument : module_.get_method("forward").function().getSchema().arguments()) {
      inception_ |= argument.name() == "return_features";
      no_bias_ |= argument.name() == "no_output_bias";
    }
  }

  std::string convention() const override {
    if (!inception_) return "forward(images as float 0 to 255)";
    return no_bias_ ? "forward(images as uint8, return_features=True), probabilities with no_output_bias=True"
                    : "forward(images as uint8, return_features=True)";
  }

  Output run(const std::vector<uint8_t>& pixels, const Shape& s) override {
    return guarded([&] {
      if (const int wanted = threads_(); at::get_num_threads() != wanted) at::set_num_threads(wanted);
      const torch::NoGradGuard guard;
      const torch::Tensor x =
          torch::from_blob(const_cast<uint8_t*>(pixels.data()), {s.n, s.c, s.h, s.w}, torch::kUInt8)
              .to(device_);
      Output out;
      if (inception_) {
        keep(call(x, "return_features"), s.n, out.features, out.dimensions);
        keep(call(x, no_bias_ ? "no_output_bias" : ""), s.n, out.probabilities, out.classes);
        return out;
      }
      const torch::jit::IValue result = module_.forward({x.to(torch::kFloat32)});
      if (!result.isTuple()) {
        keep(result, s.n, out.features, out.dimensions);
        return out;
      }
      const auto parts = result.toTupleRef().elements().vec();
      if (parts.size() != 2) fail_output(fmt::format("a tuple of {}", parts.size()));
      keep(parts[0], s.n, out.features, out.dimensions);
      keep(parts[1], s.n, out.probabilities, out.classes);
      return out;
    });
  }

 private:
  [[noreturn]] void fail_output(const std::string& what) const {
    fail("it must give features (N x D), or a tuple of features and probabilities", "{}: gives {}", path_,
         what);
  }

  torch::jit::IValue call(const torch::Tensor& x, const std::string& flag) {
    torch::jit::Kwargs more;
    if (!flag.empty()) more.emplace(flag, true);
    return module_.get_method("forward")({x}, more);
  }

  // A table of one row an image; what has more dimensions is flattened.
  void keep(const torch::jit::IValue& value, int64_t n, std::vector<float>& to, int64_t& columns) const {
    if (!value.isTensor()) fail_output("a " + value.tagKind());
    torch::Tensor table = value.toTensor();
    if (table.dim() < 2 || table.size(0) != n || table.numel() == 0)
      fail_output(fmt::format("a tensor of {} dimensions for {} images", table.dim(), n));
    table = table.reshape({n, -1}).to(torch::kCPU, torch::kFloat32).contiguous();
    columns = table.size(1);
    to.assign(table.data_ptr<float>(), table.data_ptr<float>() + table.numel());
  }

  std::string path_;
  torch::Device device_;
  int (*threads_)();
  torch::jit::Module module_;
  bool inception_ = false, no_bias_ = false;
};

}  // namespace

extern "C" __attribute__((visibility("default"))) TorchScript* mdsm_load_torch_script(
    const std::string& path, const std::string& device, int (*threads)()) {
  return guarded([&]() -> TorchScript* { return new Script(path, parse_device(device), threads); });
}

}  // namespace mdsm::engine
