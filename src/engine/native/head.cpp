#include "engine/native/head.h"

#include <algorithm>
#include <cmath>

#include "core/threads.h"

namespace mdsm::engine::native {
namespace {

double dot_product(const float* a, const float* b, int64_t count) {
  double lanes[8] = {};
  for (int64_t i = 0; i < count; i += 8)  // count is a multiple of the block, and so of 8
    for (int l = 0; l < 8; ++l) lanes[l] += static_cast<double>(a[i + l]) * b[i + l];
  return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

float elu(float x) { return x > 0 ? x : std::exp(x) - 1.0f; }
float elu_slope(float x) { return x > 0 ? 1.0f : std::exp(x); }
float elu_bend(float x) { return x > 0 ? 0.0f : std::exp(x); }

}  // namespace

HeadLayer::HeadLayer(const network::Graph& graph, const Shape& image, Layout layout) : kind_(graph.head) {
  const Shape last = graph.shape(graph.last(), image);
  const int64_t pixels = last.h * last.w;
  count_ = layout.padded(last.c) * pixels;
  plain_.assign(static_cast<size_t>(count_), -1);
  for (int64_t c = 0; c < last.c; ++c)
    for (int64_t p = 0; p < pixels; ++p) {
      const int64_t at = (c / layout.block * pixels + p) * layout.block + c % layout.block;
      plain_[static_cast<size_t>(at)] = static_cast<int32_t>(c * pixels + p);
    }
  const std::vector<network::ParameterInfo> names = network::parameter_layout(graph, image);
  const auto named = [&](const std::string& name) {
    return *std::ranges::find(names, name, &network::ParameterInfo::name);
  };
  const auto names_of_head = kind_ == network::Head::quadratic ? std::vector<std::string>{"ln1", "ln2", "lq"}
                                                               : std::vector<std::string>{"ln"};
  for (const std::string& name : names_of_head)
    vectors_.push_back(
        {named(name + ".weight"), named(name + ".bias"), FloatBuffer(static_cast<size_t>(count_)), 0.0f});
}

void HeadLayer::set(std::span<const float> parameters) {
  for (Vector& vector : vectors_) {
    const auto weights = parameters.subspan(vector.weight.offset, vector.weight.count);
    for (int64_t i = 0; i < count_; ++i)
      vector.packed.data()[i] =
          plain_[static_cast<size_t>(i)] < 0 ? 0.0f : weights[plain_[static_cast<size_t>(i)]];
    vector.offset = parameters[vector.bias.offset];
  }
}

double HeadLayer::dot(const Vector& vector, const float* h) const {
  return dot_product(vector.packed.data(), h, count_);
}

void HeadLayer::energy(const float* h, std::span<float> energy) {
  const int64_t n = static_cast<int64_t>(energy.size());
  p_.resize(energy.size());
  q_.resize(energy.size());
  parallel_for(n, 1, [&](int64_t begin, int64_t end) {
    std::vector<float> changed(static_cast<size_t>(count_));
    for (int64_t i = begin; i < end; ++i) {
      const float* features = h + i * count_;
      const auto at = static_cast<size_t>(i);
      if (kind_ == network::Head::quadratic) {
        const double p = dot(vectors_[0], features) + vectors_[0].offset;
        const double q = dot(vectors_[1], features) + vectors_[1].offset;
        std::transform(features, features + count_, changed.begin(), [](float v) { return v * v; });
        energy[at] = static_cast<float>(p * q + dot(vectors_[2], changed.data()) + vectors_[2].offset);
        p_[at] = static_cast<float>(p);
        q_[at] = static_cast<float>(q);
      } else {
        std::transform(features, features + count_, changed.begin(), elu);
        energy[at] = static_cast<float>(dot(vectors_[0], changed.data()) + vectors_[0].offset);
      }
    }
  });
}

void HeadLayer::delta(const float* h, int64_t n, float* delta) {
  parallel_for(n, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const float* features = h + i * count_;
      float* to = delta + i * count_;
      const float* a = vectors_[0].packed.data();
      if (kind_ == network::Head::quadratic) {
        const float *c = vectors_[1].packed.data(), *d = vectors_[2].packed.data();
        const float p = p_[static_cast<size_t>(i)], q = q_[static_cast<size_t>(i)];
        for (int64_t f = 0; f < count_; ++f) to[f] = a[f] * q + c[f] * p + 2.0f * d[f] * features[f];
      } else {
        for (int64_t f = 0; f < count_; ++f) to[f] = a[f] * elu_slope(features[f]);
      }
    }
  });
}

void HeadLayer::add_unpacked(const std::vector<float>& packed, const Vector& to,
                             std::span<float> gradient) const {
  const auto plain = gradient.subspan(to.weight.offset, to.weight.count);
  for (size_t i = 0; i < packed.size(); ++i)
    if (plain_[i] >= 0) plain[plain_[i]] += packed[i];
}

void HeadLayer::first_order(const float* h, std::span<const float> weight, float* delta,
                            std::span<float> gradient) {
  const auto n = static_cast<int64_t>(weight.size());
  this->delta(h, n, delta);
  parallel_for(n, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      for (int64_t f = 0; f < count_; ++f) delta[i * count_ + f] *= weight[static_cast<size_t>(i)];
  });
  if (kind_ == network::Head::quadratic)
    add_first_order_quadratic(h, weight, gradient);
  else
    add_first_order_linear(h, weight, gradient);
  for (const float w : weight) gradient[vectors_.back().bias.offset] += w;
}

void HeadLayer::add_first_order_quadratic(const float* h, std::span<const float> weight,
                                          std::span<float> gradient) {
  std::vector<float> grad_a(static_cast<size_t>(count_)), grad_c(grad_a), grad_d(grad_a);
  parallel_for(count_, 256, [&](int64_t begin, int64_t end) {
    for (size_t i = 0; i < weight.size(); ++i) {
      const float* features = h + static_cast<int64_t>(i) * count_;
      const float p = weight[i] * p_[i], q = weight[i] * q_[i];
      for (int64_t f = begin; f < end; ++f) {
        grad_a[f] += features[f] * q;
        grad_c[f] += features[f] * p;
        grad_d[f] += weight[i] * features[f] * features[f];
      }
    }
  });
  add_unpacked(grad_a, vectors_[0], gradient);
  add_unpacked(grad_c, vectors_[1], gradient);
  add_unpacked(grad_d, vectors_[2], gradient);
  for (size_t i = 0; i < weight.size(); ++i) {
    gradient[vectors_[0].bias.offset] += weight[i] * q_[i];
    gradient[vectors_[1].bias.offset] += weight[i] * p_[i];
  }
}

void HeadLayer::add_first_order_linear(const float* h, std::span<const float> weight,
                                       std::span<float> gradient) {
  std::vector<float> grad_w(static_cast<size_t>(count_));
  parallel_for(count_, 256, [&](int64_t begin, int64_t end) {
    for (size_t i = 0; i < weight.size(); ++i)
      for (int64_t f = begin; f < end; ++f)
        grad_w[f] += weight[i] * elu(h[static_cast<int64_t>(i) * count_ + f]);
  });
  add_unpacked(grad_w, vectors_[0], gradient);
}

void HeadLayer::second_order(const float* h, const float* hdot, int64_t n, float* gamma,
                             std::span<float> gradient) {
  if (kind_ == network::Head::quadratic)
    second_order_quadratic(h, hdot, n, gamma, gradient);
  else
    second_order_linear(h, hdot, n, gamma, gradient);
}

void HeadLayer::second_order_quadratic(const float* h, const float* hdot, int64_t n, float* gamma,
                                       std::span<float> gradient) {
  const float *a = vectors_[0].packed.data(), *c = vectors_[1].packed.data(), *d = vectors_[2].packed.data();
  std::vector<float> pdot(static_cast<size_t>(n)), qdot(static_cast<size_t>(n));
  parallel_for(n, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const float* tangent = hdot + i * count_;
      const float pd = static_cast<float>(dot(vectors_[0], tangent));
      const float qd = static_cast<float>(dot(vectors_[1], tangent));
      pdot[static_cast<size_t>(i)] = pd;
      qdot[static_cast<size_t>(i)] = qd;
      for (int64_t f = 0; f < count_; ++f)
        gamma[i * count_ + f] = a[f] * qd + c[f] * pd + 2.0f * d[f] * tangent[f];
    }
  });
  std::vector<float> grad_a(static_cast<size_t>(count_)), grad_c(grad_a), grad_d(grad_a);
  parallel_for(count_, 256, [&](int64_t begin, int64_t end) {
    for (int64_t i = 0; i < n; ++i) {
      const float *features = h + i * count_, *tangent = hdot + i * count_;
      const auto at = static_cast<size_t>(i);
      for (int64_t f = begin; f < end; ++f) {
        grad_a[f] += tangent[f] * q_[at] + features[f] * qdot[at];
        grad_c[f] += tangent[f] * p_[at] + features[f] * pdot[at];
        grad_d[f] += 2.0f * features[f] * tangent[f];
      }
    }
  });
  add_unpacked(grad_a, vectors_[0], gradient);
  add_unpacked(grad_c, vectors_[1], gradient);
  add_unpacked(grad_d, vectors_[2], gradient);
  for (size_t i = 0; i < pdot.size(); ++i) {
    gradient[vectors_[0].bias.offset] += qdot[i];
    gradient[vectors_[1].bias.offset] += pdot[i];
  }
}

void HeadLayer::second_order_linear(const float* h, const float* hdot, int64_t n, float* gamma,
                                    std::span<float> gradient) {
  const float* w = vectors_[0].packed.data();
  std::vector<float> grad_w(static_cast<size_t>(count_));
  parallel_for(count_, 256, [&](int64_t begin, int64_t end) {
    for (int64_t i = 0; i < n; ++i) {
      const float *features = h + i * count_, *tangent = hdot + i * count_;
      for (int64_t f = begin; f < end; ++f) {
        gamma[i * count_ + f] = w[f] * elu_bend(features[f]) * tangent[f];
        grad_w[f] += elu_slope(features[f]) * tangent[f];
      }
    }
  });
  add_unpacked(grad_w, vectors_[0], gradient);
}

}  // namespace mdsm::engine::native
