#include "eval/denoising_bound.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "core/error.h"
#include "core/random.h"
#include "core/threads.h"
#include "eval/quadrature.h"
#include "eval/share.h"
#include "sample/update.h"

namespace mdsm::eval {
namespace {

constexpr double kUniformShare = 1e-3;  // of the last step: no grey level is impossible

uint64_t stream(size_t node, int64_t draw, int64_t image) {
  return (static_cast<uint64_t>(node + 1) << 52) | (static_cast<uint64_t>(draw) << 40) |
         static_cast<uint64_t>(image);
}

double normal_below(double t) { return 0.5 * std::erfc(-t / std::numbers::sqrt2); }

// -log P of the grey level k under a Gaussian about `centre` of this width; the outermost levels have the
// tails.
double grey_level_cost(int k, double centre, double width) {
  const double above = k == 255 ? 1 : normal_below(((k + 0.5) / 255 - centre) / width);
  const double below = k == 0 ? 0 : normal_below(((k - 0.5) / 255 - centre) / width);
  return -std::log((1 - kUniformShare) * std::max(above - below, 0.0) + kUniformShare / 256);
}

// Images of a batch, noisy and denoised.
class Batch {
 public:
  Batch(const Denoiser& denoise, const data::Dataset& images, int64_t size, uint64_t seed)
      : denoise_(denoise),
        images_(images),
        seed_(seed),
        clean_(images.image_shape().with_n(size)),
        noisy_(clean_.shape()),
        found_(clean_.shape()) {}

  void read(int64_t first, int64_t count) {
    first_ = first, count_ = count;
    for (int64_t i = 0; i < count; ++i) images_.read(first + i, clean_.view().image(i));
  }
  void evaluate(double sigma, size_t node, int64_t draw) {
    parallel_for(
        count_, sample::rows_per_thread(clean_.shape().per_image()), [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const auto to = noisy_.view().image(i), from = clean_.view().image(i);
            RandomStream(seed_, Purpose::added_noise, stream(node, draw, first_ + i)).fill_normal(to);
            for (size_t j = 0; j < to.size(); ++j) to[j] = from[j] + static_cast<float>(sigma) * to[j];
          }
        });
    denoise_(noisy_.view().images(0, count_), sigma, found_.view().images(0, count_));
  }
  std::span<const float> clean(int64_t i) const { return clean_.view().image(i); }
  double squared_error(int64_t i) const {
    const double sum = squared_distance<float>(clean(i), found_.view().image(i));
    if (!std::isfinite(sum)) fail("check the model", "image {}, denoised, is not finite", first_ + i);
    return sum;
  }
  double last_step_cost(int64_t i, double width) const {
    const auto x = clean(i), d = found_.view().image(i);
    double sum = 0;
    for (size_t j = 0; j < x.size(); ++j)
      sum += grey_level_cost(static_cast<int>(std::lround(x[j] * 255)), d[j], width);
    return sum;
  }

 private:
  const Denoiser& denoise_;
  const data::Dataset& images_;
  uint64_t seed_;
  Tensor clean_, noisy_, found_;
  int64_t first_ = 0, count_ = 0;
};

void check(const BoundOptions& options) {
  if (!(options.low > 0 && options.low < options.high))
    fail_usage("the levels go up", "noise {} is not below {}, the highest", options.low, options.high);
  if (options.draws < 1 || options.draws > 4095) fail_usage("use 1 to 4095", "{} draws", options.draws);
}

// What is found of one image: its losses at the nodes, the integral by each draw, the last step, and the
// tail. A row of numbers, so that processes can send it to each other.
class Image {
 public:
  Image(std::span<double> row, size_t nodes) : row_(row), nodes_(nodes) {}
  static size_t length(size_t nodes, int64_t draws) { return nodes + static_cast<size_t>(draws) + 2; }

  std::span<double> loss() const { return row_.first(nodes_); }
  std::span<double> integral() const { return row_.subspan(nodes_, row_.size() - nodes_ - 2); }
  double& last_step() const { return row_[row_.size() - 2]; }
  double& tail() const { return row_.back(); }

 private:
  std::span<double> row_;
  size_t nodes_;
};

std::vector<Image> images_of(std::span<double> rows, size_t nodes, int64_t draws) {
  const size_t length = Image::length(nodes, draws);
  std::vector<Image> found;
  for (size_t at = 0; at < rows.size(); at += length) found.emplace_back(rows.subspan(at, length), nodes);
  return found;
}

// Images [own.first, own.first + own.count).
std::vector<double> rows_of(const Denoiser& denoise, const data::Dataset& data, const GaussianFit& fit,
                            const BoundOptions& options, const Quadrature& rule, distributed::Part own,
                            const std::function<void(int64_t)>& done) {
  const size_t nodes = rule.nodes.size();
  std::vector<double> rows(own.count * Image::length(nodes, options.draws));
  if (own.count == 0) return rows;
  const std::vector<Image> images = images_of(rows, nodes, options.draws);
  const auto n = static_cast<int64_t>(own.count), size = std::clamp<int64_t>(options.batch, 1, n);
  const double draws = static_cast<double>(options.draws);
  Batch batch(denoise, data, size, options.seed);
  int64_t evaluated = 0;
  for (int64_t first = 0; first < n; first += size) {
    const int64_t count = std::min(size, n - first);
    batch.read(static_cast<int64_t>(own.first) + first, count);
    const auto at = [&](int64_t i) -> const Image& { return images[static_cast<size_t>(first + i)]; };
    const auto evaluate = [&](double sigma, size_t node, int64_t draw) {
      batch.evaluate(sigma, node, draw);
      if (done) done((evaluated += count) * data.size() / n);
    };
    for (int64_t draw = 0; draw < options.draws; ++draw) {
      for (size_t node = 0; node < nodes; ++node) {
        const double sigma = std::exp(rule.nodes[node]);
        evaluate(sigma, node, draw);
        for (int64_t i = 0; i < count; ++i) {
          const double loss = batch.squared_error(i) / (sigma * sigma);
          at(i).loss()[node] += loss / draws;
          at(i).integral()[static_cast<size_t>(draw)] += rule.weights[node] * loss;
        }
      }
      if (!options.last_step) continue;
      evaluate(options.low, nodes, draw);
      for (int64_t i = 0; i < count; ++i)
        at(i).last_step() += batch.last_step_cost(i, *options.last_step) / draws;
    }
    parallel_for(count, 16, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) at(i).tail() = fit.tail(batch.clean(i));
    });
  }
  return rows;
}

Mean mean_over(const std::vector<Image>& images, const std::function<double(const Image&)>& value) {
  std::vector<double> values;
  for (const Image& image : images) values.push_back(value(image));
  return mean_of(values);
}

// The error of the mean that is left when the images are given.
double noise_error(const std::vector<Image>& images) {
  double sum = 0;
  for (const Image& image : images) {
    const double error = mean_of(image.integral()).error;
    sum += error * error;
  }
  return std::sqrt(sum) / static_cast<double>(images.size());
}

}  // namespace

Denoiser blind_denoiser(engine::EnergyModel& model) {
  return [&model](ConstTensorView noisy, double, TensorView clean) {
    std::vector<float> energy(static_cast<size_t>(noisy.shape.n));
    model.energy_and_gradient(noisy, energy, clean);
    const float scale = static_cast<float>(model.sigma0() * model.sigma0());
    const auto x = noisy.values();
    const auto d = clean.values();
    for (size_t i = 0; i < d.size(); ++i) d[i] = x[i] - scale * d[i];
  };
}

double DenoisingBound::bits(double value) const {
  return value / (static_cast<double>(dimensions) * std::numbers::ln2);
}

DenoisingBound denoising_bound(const Denoiser& denoise, const data::Dataset& data, const GaussianFit& fit,
                               const BoundOptions& options, const std::function<void(int64_t)>& done,
                               distributed::Communicator& world) {
  check(options);
  const Quadrature rule = gauss_legendre(options.nodes, std::log(options.low), std::log(options.high));
  const size_t nodes = rule.nodes.size();
  const auto n = static_cast<size_t>(data.size());
  DenoisingBound found;
  found.dimensions = data.image_shape().per_image();
  for (const double node : rule.nodes) found.sigma.push_back(std::exp(node));
  std::vector<double> rows = rows_of(denoise, data, fit, options, rule, world.own_part(n), done);
  const size_t total = world.first() ? n * Image::length(nodes, options.draws) : 0;
  if (!world.alone()) rows = gathered(world, rows, static_cast<int64_t>(total));
  if (!world.first()) return {};
  const std::vector<Image> images = images_of(rows, nodes, options.draws);

  const double entropy = static_cast<double>(found.dimensions) / 2 *
                         std::log(2 * std::numbers::pi * std::numbers::e * options.low * options.low);
  for (const Image& image : images) {
    const double first = options.last_step ? image.last_step() : entropy;
    found.per_image.push_back(first + mean_of(image.integral()).mean + image.tail());
  }
  double coarse = 0;
  for (size_t node = 0; node < nodes; ++node) {
    found.loss.push_back(mean_over(images, [&](const Image& image) { return image.loss()[node]; }));
    coarse += rule.coarse[node] * found.loss[node].mean;
  }
  found.first =
      mean_over(images, [&](const Image& image) { return options.last_step ? image.last_step() : entropy; });
  found.integral = mean_over(images, [](const Image& image) { return mean_of(image.integral()).mean; });
  found.tail = mean_over(images, [](const Image& image) { return image.tail(); });
  found.nats = mean_of(found.per_image);
  found.noise_error = noise_error(images);
  found.quadrature_error = std::abs(coarse - found.integral.mean);
  return found;
}

double denoising_error(const Denoiser& denoise, const data::Dataset& images, int64_t limit, double sigma,
                       int64_t batch_size, uint64_t seed, distributed::Communicator& world) {
  const int64_t n = std::min(limit, images.size());
  const distributed::Part own = world.own_part(static_cast<size_t>(n));
  const auto begin = static_cast<int64_t>(own.first), end = begin + static_cast<int64_t>(own.count);
  const int64_t size = std::min(batch_size, end - begin);
  std::vector<double> errors(static_cast<size_t>(n));
  Batch batch(denoise, images, size, seed);
  for (int64_t first = begin; first < end; first += size) {
    const int64_t count = std::min(size, end - first);
    batch.read(first, count);
    batch.evaluate(sigma, 0, 0);
    for (int64_t i = 0; i < count; ++i) errors[static_cast<size_t>(first + i)] = batch.squared_error(i);
  }
  world.gather(errors, distributed::equal_parts(errors.size(), world.size()));
  const double sum = std::accumulate(errors.begin(), errors.end(), 0.0);
  return std::sqrt(sum / static_cast<double>(n * images.image_shape().per_image()));
}

}  // namespace mdsm::eval
