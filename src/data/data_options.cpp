#include "data/data_options.h"

#include "data/sources.h"

namespace mdsm::data {

void declare_data_options(OptionSet& options, DataOptions& data, const DeclareData& which) {
  options.group("Data");
  if (which.source)
    options
        .add("data", data.source,
             source_names() + ", NAME:PATH, or a file or folder of images (mdsm data lists and shows them)")
        .meta("SOURCE")
        .not_in_environment();  // MDSM_DATA is the folder of the data sets
  options.add("split", data.split, "part of the set; a source that has only one gives that one");
  data.random_limit = which.random_limit;
  if (which.random_limit)
    options.add("subset", data.limit, "only so many images, drawn at random from --seed; 0 = all")
        .range(0)
        .formerly("limit");
  else
    options.add("limit", data.limit, "only the first so many images; 0 = all").range(0);
  options.add("crop", data.crop, "centre crop to a square of so many pixels; 0 = none").range(0, 4096);
  options.add("resize", data.resize, "antialiased resize to a square of so many pixels; 0 = none")
      .range(0, 4096);
  options.add("pad", data.pad, "zero-pad to a square of so many pixels; -1 = 28x28 images to 32, 0 = none")
      .range(-1, 4096);
  auto colours = names_in_order<Colour>();
  if (!which.apart) std::erase(colours, to_string(Colour::apart));
  options
      .add("colour", data.colour,
           which.apart ? "turn images to grey or RGB, or take every channel of data and samples as an image"
                       : "turn images to grey or RGB")
      .choices(colours)
      .alias("color")
      .value_alias("gray", "grey");
  options.add("skip-damaged", data.skip_damaged,
              "a folder: leave out the images that cannot be read, and list them");
  if (which.flip) options.add("flip", data.flip, "flip images left to right at random");
}

}  // namespace mdsm::data
