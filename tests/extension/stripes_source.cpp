// A data source of one's own, without files: 8x8 images of stripes, across or down, of random width and
// phase.
#include "core/random.h"
#include "data/sources.h"

namespace {

using namespace mdsm;

data::RawImages read_stripes(const data::SourceRequest& request) {
  data::RawImages raw;
  raw.shape = {request.limited(200), 1, 8, 8};
  raw.from = "stripes";
  raw.part = request.options.split;
  std::vector<float> values;
  for (int64_t i = 0; i < raw.shape.n; ++i) {
    RandomStream stream(request.options.seed, Purpose::check, static_cast<uint64_t>(2 * i + request.test()));
    const bool across = stream.below(2) == 0;
    const auto width = static_cast<int64_t>(1 + stream.below(3)),
               phase = static_cast<int64_t>(stream.below(6));
    for (int64_t y = 0; y < 8; ++y)
      for (int64_t x = 0; x < 8; ++x)
        values.push_back(((across ? y : x) + phase) / width % 2 == 0 ? 0.1f : 0.9f);
    raw.labels.push_back(across ? 0 : 1);
  }
  raw.values = std::move(values);
  return fit(std::move(raw), request.options);
}

}  // namespace

void add_stripes_source() {
  data::sources().add({.name = "stripes",
                       .what = "made-up stripes, 8x8, 2 classes",
                       .how_to_get = "comes with the program",
                       .read = read_stripes,
                       .classes = {"across", "down"}});
}
