// The options that denoise, inpaint and restore share.
#pragma once

#include "app/missing_pixels.h"
#include "app/picture_work.h"
#include "cli/show.h"
#include "core/options.h"

namespace mdsm::cli {

// Images by place, the model, --data and the fitting.
void declare_pictures(OptionSet& options, app::PictureOptions& pictures);
// The engine, --out (which is named like the command by default), --scale, --force.
void declare_picture_output(OptionSet& options, app::PictureOptions& pictures);

// --window of inpaint and restore.
void declare_window(OptionSet& options, app::PictureOptions& pictures);

// --mask, --box and --random-missing.
void declare_missing(OptionSet& options, app::MissingOptions& missing);
// After parsing: exactly one must be given.
void choose_missing(const OptionSet& options, app::MissingOptions& missing);

}  // namespace mdsm::cli
