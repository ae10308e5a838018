#include "data/memory_dataset.h"

#include <algorithm>
#include <array>

#include "core/error.h"

namespace mdsm::data {
namespace {

constexpr std::array<float, 256> kUnit = [] {
  std::array<float, 256> table{};
  for (int i = 0; i < 256; ++i) table[static_cast<size_t>(i)] = static_cast<float>(i) / 255.0f;
  return table;
}();

}  // namespace

MemoryDataset::MemoryDataset(RawImages images, std::string description)
    : images_(std::move(images)), description_(std::move(description)) {}

void MemoryDataset::check_index(int64_t index) const {
  if (index < 0 || index >= size())
    fail(fmt::format("it holds {} images", size()), "{}: no image {}", images_.from, index);
}

void MemoryDataset::read(int64_t index, std::span<float> out) const {
  const int64_t count = images_.shape.per_image();
  if (static_cast<int64_t>(out.size()) != count)
    fail("give room for one image", "{}: {} values asked for an image of {}", images_.from, out.size(),
         count);
  read_part(index, 0, out);
}

void MemoryDataset::read_part(int64_t index, int64_t first, std::span<float> out) const {
  check_index(index);
  const int64_t at = index * images_.shape.per_image() + first, count = static_cast<int64_t>(out.size());
  if (const auto* bytes = std::get_if<std::vector<uint8_t>>(&images_.values))
    std::transform(bytes->data() + at, bytes->data() + at + count, out.begin(),
                   [](uint8_t byte) { return kUnit[byte]; });
  else
    std::copy_n(std::get<std::vector<float>>(images_.values).data() + at, count, out.begin());
}

int MemoryDataset::label(int64_t index) const {
  check_index(index);
  return images_.labels.empty() ? -1 : images_.labels[static_cast<size_t>(index)];
}

}  // namespace mdsm::data
