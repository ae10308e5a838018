// Networks in TorchScript files, for the features of `mdsm evaluate`. Two ways of being called are known:
// that of the field's Inception file, whose forward() has an argument return_features, and a plain
// forward(images).
#include <ATen/Parallel.h>
#include <torch/script.h>

#include "engine/torch/torch_guard.h"
#include "engine/torch_module.h"

namespace mdsm::engine {
namespace {

// What LibTorch says of other files is about their insides ("failed locating file constants.pkl").
torch::jit::Module load(const std::string& path) {
  try {
    return torch::jit::load(path, torch::kCPU);
  } catch (const std::exception&) {
    fail(
        "give what torch.jit.save wrote, such as inception-2015-12-05.pt; a state dict of torch.save has "
        "weights, but no network",
        "{}: not a TorchScript file", path);
  }
}

// The last line of an error inside a script says what went wrong; before it stand its lines of Python.
std::string reason(const std::string& text) {
  const std::string mark = "RuntimeError: ";
  const size_t at = text.rfind(mark);
  const std::string rest = at == std::string::npos ? text : text.substr(at + mark.size());
  return rest.substr(0, rest.find('\n'));
}

class Script : public TorchScript {
 public:
  Script(const std::string& path, const torch::Device& device, int (*threads)())
      : path_(path), device_(device), threads_(threads), module_(load(path)) {
    if (!module_.find_method("forward"))
      fail("give a network with forward(images)", "{}: a TorchScript file without forward()", path);
    module_.to(device);
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
    try {
      return features_of(pixels, s);
    } catch (const Error&) {
      throw;
    } catch (const std::exception& error) {
      fail(
          "it must take RGB images of that size (--feature-resize changes it); where memory runs out, use a "
          "smaller --batch",
          "{}: forward() failed on {} images of {}x{} pixels: {}", path_, s.n, s.w, s.h,
          reason(error.what()));
    }
  }

 private:
  Output features_of(const std::vector<uint8_t>& pixels, const Shape& s) {
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
  }

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
