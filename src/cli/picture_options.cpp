#include "cli/picture_options.h"

#include "core/error.h"
#include "data/data_options.h"

namespace mdsm::cli {

void declare_pictures(OptionSet& options, app::PictureOptions& pictures) {
  options.group("Pictures");
  options.add("images", pictures.images, "PNG, JPEG, TIFF or WebP files and folders of them")
      .meta("IMAGES")
      .positional();
  pictures.use.declare_model(options);
  data::declare_data_options(options, pictures.data);
}

void declare_picture_output(OptionSet& options, app::PictureOptions& pictures) {
  pictures.out = options.command();
  pictures.use.declare_engine(options);
  options.group("Output");
  options.add("out", pictures.out, "folder for the results, under the names of the pictures").meta("FOLDER");
  options.add("scale", pictures.scale, "size of a pixel in figure.png").range(1, 16);
  options.add("force", pictures.force, "replace results that exist").command_line_only();
}

void declare_window(OptionSet& options, app::PictureOptions& pictures) {
  options
      .add("window", pictures.window,
           "pictures with more pixels than a square of this side are worked on in windows of at most that "
           "size "
           "(unet; not deblur); 0 = never")
      .range(0, 65536);
}

void declare_missing(OptionSet& options, app::MissingOptions& missing) {
  options.group("Missing pixels");
  options.add("mask", missing.mask, "image of the pictures' size: white is missing, black is known")
      .meta("FILE");
  options.add("box", missing.box, "rectangle that is missing, in pixels from the top left").meta("X,Y,W,H");
  options.add("random-missing", missing.share, "every pixel is missing with this probability")
      .range(0.001, 1);
  options.add("coarse", missing.coarse,
              "fast, unet: pictures larger than those of the training are completed at coarser scales first");
}

void choose_missing(const OptionSet& options, app::MissingOptions& missing) {
  const bool mask = options.given("mask"), box = options.given("box"),
             random = options.given("random-missing");
  const int given = mask + box + random;
  if (given != 1)
    fail_usage("use one of --mask, --box and --random-missing", "mdsm {}: {} which pixels are missing",
               options.command(), given == 0 ? "nothing says" : "several options say");
  missing.kind = mask ? app::MissingKind::mask : box ? app::MissingKind::box : app::MissingKind::random;
}

}  // namespace mdsm::cli
