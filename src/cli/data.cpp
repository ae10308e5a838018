// `mdsm data`: what a source of images holds, or which public sets are at hand.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "core/error.h"
#include "data/data_options.h"
#include "data/known_sets.h"
#include "data/summary.h"

namespace mdsm::cli {
namespace {

using nlohmann::json;

constexpr size_t kMaxListedClasses = 20;

std::string class_name(const std::vector<std::string>& names, int label) {
  return static_cast<size_t>(label) < names.size() ? names[static_cast<size_t>(label)]
                                                   : std::to_string(label);
}

std::string numbers_text(const std::vector<double>& values) {
  std::string text;
  for (const double value : values) text += fmt::format("{}{:.4f}", text.empty() ? "" : ", ", value);
  return text;
}

void print_classes(const data::DatasetSummary& summary, const std::vector<std::string>& names) {
  if (summary.labels.empty()) {
    fmt::print("classes    no labels\n");
    return;
  }
  if (summary.labels.size() > kMaxListedClasses) {
    int64_t least = summary.count, most = 0;
    for (const auto& [label, count] : summary.labels)
      least = std::min(least, count), most = std::max(most, count);
    fmt::print("classes    {}, of {} to {} images\n", summary.labels.size(), least, most);
    return;
  }
  fmt::print("classes    {}\n", summary.labels.size());
  for (const auto& [label, count] : summary.labels)
    fmt::print("  {:>3}  {:<16}{:>8}\n", label, class_name(names, label), count);
}

class Data : public Command {
 public:
  const char* name() const override { return "data"; }
  const char* summary() const override {
    return "Show what a data source holds, or list the known data sets";
  }

  void declare(OptionSet& options) override {
    options.group("Data")
        .add("source", data_.source, "what to show; without it the known sets are listed")
        .meta("SOURCE")
        .positional();
    data::declare_data_options(options, data_, {.source = false});
    options.add("seed", seed_, "for sources made by chance (stacked-mnist)").range(0);
    options.group("Output");
    options.add("list", list_, "list the known sets, where they are and how to get them").command_line_only();
    options.add("sheet", sheet_, "write a contact sheet, images taken evenly over the set").meta("FILE.png");
    options.add("columns", columns_, "columns of the sheet").range(1, 1000);
    options.add("rows", rows_, "rows of the sheet").range(1, 1000);
    options.add("scale", scale_, "size of a pixel on the sheet").range(1, 64);
    options.add("json", json_, "print JSON").command_line_only();
    options.example("mdsm data fashion-mnist --sheet sheet.png");
    options.example("mdsm data photos --crop 140 --resize 64 --json");
  }

  int run(OptionSet&) override {
    if (data_.source.empty() && !sheet_.empty()) fail_usage("name a source", "mdsm data: --sheet of what?");
    if (data_.source.empty() || list_) return list_sets();
    data_.seed = static_cast<uint64_t>(seed_);
    const auto dataset = data::open_dataset(data_);
    const data::DatasetSummary found = summarise(*dataset);
    if (!sheet_.empty()) image::write_png(sheet_, data::contact_sheet(*dataset, columns_, rows_, scale_));
    if (json_)
      print_json(*dataset, found);
    else
      print_text(*dataset, found);
    return 0;
  }

 private:
  int list_sets() const {
    json sets = json::array();
    for (const auto& set : data::known_sets()) {
      const auto path = data::locate(set);
      if (json_) {
        sets.push_back({{"name", set.name}, {"what", set.what}, {"get", set.how_to_get}});
        sets.back()["path"] = path ? json(path->string()) : json();
        continue;
      }
      fmt::print("{:<15}{}\n", set.name, set.what);
      if (path)
        fmt::print("{:15}found: {}\n", "", path->string());
      else
        fmt::print("{:15}not found; {}\n{:15}looked for in {}\n", "", set.how_to_get, "", search_text(set));
    }
    if (json_)
      fmt::print("{}\n", sets.dump(2));
    else
      fmt::print(
          "\nAlso: NAME:PATH for a set elsewhere, a folder of PNG/JPEG (FOLDER/CLASS/*, FOLDER/train and "
          "FOLDER/test),\nan .npy array, an idx file, CIFAR-10 .bin or .tar.gz, SVHN .mat.\n");
    return 0;
  }

  static std::string search_text(const data::KnownSet& set) {
    std::string text;
    for (const auto& folder : data::search_folders(set)) text += (text.empty() ? "" : ", ") + folder.string();
    return text;
  }

  void print_text(const data::Dataset& dataset, const data::DatasetSummary& found) const {
    const Shape& s = found.image;
    fmt::print("{}\n", dataset.description());
    fmt::print("images     {}\nshape      {}x{}x{} (channels, height, width)\n", found.count, s.c, s.h, s.w);
    fmt::print("range      {:.4f} to {:.4f}\n", found.low, found.high);
    fmt::print("mean       {}\ndeviation  {}\n", numbers_text(found.mean), numbers_text(found.deviation));
    print_classes(found, dataset.class_names());
    if (!sheet_.empty()) fmt::print("sheet      {}\n", sheet_);
  }

  void print_json(const data::Dataset& dataset, const data::DatasetSummary& found) const {
    json classes = json::array();
    const auto names = dataset.class_names();
    for (const auto& [label, count] : found.labels)
      classes.push_back({{"label", label}, {"name", class_name(names, label)}, {"count", count}});
    json out = {{"description", dataset.description()},
                {"count", found.count},
                {"low", found.low},
                {"high", found.high},
                {"mean", found.mean},
                {"deviation", found.deviation},
                {"classes", classes}};
    out["shape"] = {found.image.c, found.image.h, found.image.w};
    if (!sheet_.empty()) out["sheet"] = sheet_;
    fmt::print("{}\n", out.dump(2, ' ', false, json::error_handler_t::replace));
  }

  data::DataOptions data_;
  int64_t seed_ = 0, columns_ = 16, rows_ = 8, scale_ = 1;
  std::string sheet_;
  bool list_ = false, json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_data() { return std::make_unique<Data>(); }

}  // namespace mdsm::cli
