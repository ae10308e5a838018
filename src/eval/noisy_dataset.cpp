#include "eval/noisy_dataset.h"

#include <vector>

#include "core/error.h"
#include "core/random.h"

namespace mdsm::eval {
namespace {

constexpr uint64_t kUniform = uint64_t{1} << 62;  // beyond any image's number: streams of their own

}  // namespace

void NoisyDataset::read(int64_t index, std::span<float> out) const {
  images_->read(index, out);
  std::vector<float> noise(out.size());
  if (noise_.dequantise) {
    RandomStream(noise_.seed, Purpose::added_noise, kUniform | static_cast<uint64_t>(index))
        .fill_uniform(noise, -0.5f / 255, 0.5f / 255);
    for (size_t i = 0; i < out.size(); ++i) out[i] += noise[i];
  }
  if (noise_.sigma > 0) {
    RandomStream(noise_.seed, Purpose::added_noise, static_cast<uint64_t>(index)).fill_normal(noise);
    for (size_t i = 0; i < out.size(); ++i) out[i] += static_cast<float>(noise_.sigma) * noise[i];
  }
}

std::string NoisyDataset::description() const {
  std::string text = images_->description();
  if (noise_.dequantise) text += ", uniform noise of one grey level";
  if (noise_.sigma > 0) text += fmt::format(", Gaussian noise of {:g}", noise_.sigma);
  return text;
}

}  // namespace mdsm::eval
