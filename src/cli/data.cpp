// `mdsm data`: what a source of images holds, or which public sets are at hand.
#include "app/data.h"

#include "cli/command.h"
#include "cli/picture_options.h"
#include "core/error.h"
#include "data/data_options.h"

namespace mdsm::cli {
namespace {

class Data : public Command {
 public:
  const char* name() const override { return "data"; }
  const char* summary() const override {
    return "Show what a data source holds, or list the known data sets";
  }

  void declare(OptionSet& options) override {
    options.group("Data")
        .add("source", show_.data.source, "what to show; without it the known sets are listed")
        .meta("SOURCE")
        .positional();
    data::declare_data_options(options, show_.data, {.source = false});
    options.add("seed", seed_, "for random sources (stacked-mnist)").range(0);
    options.group("Output");
    options.add("list", list_, "list the known sets, where they are and how to get them").command_line_only();
    options.add("sheet", show_.sheet, "write a contact sheet, images taken evenly over the set")
        .meta("FILE.png");
    options.add("columns", show_.columns, "columns of the sheet").range(1, 1000);
    options.add("rows", show_.rows, "rows of the sheet").range(1, 1000);
    options.add("scale", show_.scale, "size of a pixel on the sheet").range(1, 64);
    options.add("npz", show_.npz, "write the images as ADM does: arr_0, uint8 of (N,H,W,C); arr_1, labels")
        .meta("FILE.npz");
    options.add("force", show_.force, "replace an existing .npz file").command_line_only();
    options.example("mdsm data fashion-mnist --sheet sheet.png");
    options.example("mdsm data samples/samples.npy --npz samples.npz");
    options.example("mdsm data photos --crop 140 --resize 64 --json");
  }

  int run(OptionSet& options) override {
    for (const char* file : {"sheet", "npz"})
      if (show_.data.source.empty() && options.given(file))
        fail_usage("name a source", "mdsm data: --{} of what?", file);
    show_.data.seed = static_cast<uint64_t>(seed_);
    if (show_.data.source.empty() || list_)
      show(app::known_sources(), as_json);
    else
      show(app::run_data(show_), as_json);
    return 0;
  }

 private:
  app::DataOptions show_;
  int64_t seed_ = 0;
  bool list_ = false;
};

}  // namespace

std::unique_ptr<Command> make_data() { return std::make_unique<Data>(); }

}  // namespace mdsm::cli
