// The heads; the layers are onnx_layers.h's. Deltas are sigma0² dE/d(value).
#include "network/onnx.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "network/onnx_layers.h"

namespace mdsm::network {
namespace {

using Name = OnnxGraph::Name;
using Attribute = OnnxGraph::Attribute;

class OnnxWriter {
 public:
  explicit OnnxWriter(const Parameters& parameters)
      : spec_(parameters.spec()), net_("mdsm"), layers_(parameters, net_) {}

  OnnxGraph build() {
    const Name x = net_.input("x", image_shape());
    const Name step = is_image_head(spec_.head) ? image_head(x) : scalar_head(x);
    node("Sub", {x, step}, "denoised");
    if (has_energy(spec_.head)) net_.output("energy", {{0, "N"}});
    net_.output("denoised", image_shape());
    return std::move(net_);
  }

 private:
  std::vector<OnnxGraph::Extent> image_shape() const {
    const Shape shape = spec_.input(1);
    if (spec_.any_size()) return {{0, "N"}, {shape.c}, {0, "H"}, {0, "W"}};
    return {{0, "N"}, {shape.c}, {shape.h}, {shape.w}};
  }

  Name node(const std::string& op, const std::vector<Name>& inputs, const Name& result,
            const std::vector<Attribute>& attributes = {}) {
    return net_.node(op, inputs, result, attributes);
  }
  // Sum over all but the first axis, which leaves (N).
  Name sum_of(const Name& value, const Name& result) {
    return node("ReduceSum", {value, net_.integers({1, 2, 3})}, result, {{"keepdims", {0}}});
  }

  // Heads return sigma0² dE/dx and make `energy`.

  Name linear(const Name& from, const std::string& name) {
    return node("Gemm", {from, layers_.parameter(name + ".weight"), layers_.parameter(name + ".bias")}, name,
                {{"transB", {1}}});
  }

  Name scalar_head(const Name& x) {
    const Name map = layers_.walk(x), h = node("Flatten", {map}, "features");
    Name energy, slope;
    if (spec_.head == Head::linear) {
      energy = linear(node("Elu", {h}, "features.elu"), "ln");
      slope = node("Mul", {layers_.elu_slope(h, "features.slope"), "ln.weight"}, "head.slope");
    } else {
      const Name l1 = linear(h, "ln1"), l2 = linear(h, "ln2");
      const Name squares = linear(node("Mul", {h, h}, "features.squares"), "lq");
      energy = node("Add", {node("Mul", {l1, l2}, "product"), squares}, "network.energy");
      const Name by_l1 = node("Mul", {l2, "ln1.weight"}, "head.by_ln1");
      const Name by_l2 = node("Mul", {l1, "ln2.weight"}, "head.by_ln2");
      const Name by_lq = layers_.scaled(node("Mul", {h, "lq.weight"}, "head.half_by_lq"), 2, "head.by_lq");
      slope = node("Sum", {by_l1, by_l2, by_lq}, "head.slope");
    }
    const Name delta = layers_.scaled(slope, spec_.sigma0 * spec_.sigma0, "head.delta");
    const Name step =
        layers_.walk_back(node("Reshape", {delta, node("Shape", {map}, "map.shape")}, "head.delta.map"));
    return with_bowl(
        x, node("Squeeze", {energy, net_.integers({1})}, spec_.bowl == 0 ? "energy" : "network.sum"), step);
  }

  Name with_bowl(const Name& x, const Name& energy, const Name& step) {
    if (spec_.bowl == 0) return step;
    const Name squares = sum_of(node("Mul", {x, x}, "x.squares"), "x.norm");
    node("Add", {energy, layers_.scaled(squares, spec_.bowl / (2 * spec_.sigma0 * spec_.sigma0), "bowl")},
         "energy");
    return node("Add", {step, layers_.scaled(x, spec_.bowl, "bowl.slope")}, "step");
  }

  // Zeros to the right and below, up to sides that can be halved as often as the network does: (0,0,0,0, 0,0,
  // more rows, more columns).
  void measure(const Name& y) {
    const int64_t step = int64_t{1} << layers_.graph().halvings();
    const Name shape = node("Shape", {y}, "shape");
    sides_ = node("Slice", {shape, net_.integers({2}), net_.integers({4})}, "sides");
    const Name more = node("Mod", {node("Neg", {sides_}, "sides.negative"), net_.integers({step})}, "more");
    padding_ = node("Concat", {net_.integers({0, 0, 0, 0, 0, 0}), more}, "padding", {{"axis", {0}}});
  }
  Name filled_up(const Name& value, const Name& result) { return node("Pad", {value, padding_}, result); }
  Name cut_back(const Name& value, const Name& result) {
    return node("Slice", {value, net_.integers({0, 0}), sides_, net_.integers({2, 3})}, result);
  }

  Name image_head(const Name& x) {
    const Name y = node("Sub", {x, net_.scalar(0.5)}, "y");
    measure(y);
    const Name f = cut_back(layers_.walk(filled_up(y, "y.filled")), "f");
    if (spec_.head == Head::residual_denoiser) return f;
    const Name difference = node("Sub", {y, f}, "y-f");
    if (!has_energy(spec_.head)) return difference;
    const bool noise = spec_.head == Head::predicted_noise, inner = spec_.head == Head::inner_product;
    const Name terms =
        noise ? node("Mul", {f, f}, "terms") : node("Mul", {difference, inner ? y : difference}, "terms");
    layers_.scaled(sum_of(terms, "sum"), 1 / (2 * spec_.sigma0 * spec_.sigma0), "energy");
    const Name by_f = noise ? f : inner ? layers_.scaled(y, -0.5, "by_f") : node("Neg", {difference}, "by_f");
    const Name through = cut_back(layers_.walk_back(filled_up(by_f, "delta")), "through");
    if (noise) return through;
    const Name by_y = inner ? node("Sub", {y, layers_.scaled(f, 0.5, "f.half")}, "by_y") : difference;
    return node("Add", {by_y, through}, "step");
  }

  const Spec& spec_;
  OnnxGraph net_;
  OnnxLayers layers_;
  Name sides_, padding_;
};

}  // namespace

void write_onnx(const fs::path& path, const Parameters& parameters, const std::string& program_version) {
  OnnxWriter(parameters)
      .build()
      .write(path, program_version,
             {{"spec", to_json(parameters.spec()).dump()},
              {"sigma0", fmt::format("{}", parameters.spec().sigma0)}});
}

}  // namespace mdsm::network
