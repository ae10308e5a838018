#include "app/data.h"

#include <algorithm>
#include <cstdio>

#include "app/output.h"
#include "core/error.h"
#include "data/npz.h"
#include "data/sources.h"

namespace mdsm::app {
namespace {

using nlohmann::json;

constexpr size_t kMaxListedClasses = 20, kLineWidth = 110;

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

// What --data takes besides names, in lines of a readable width.
std::string other_sources() {
  std::string text = "Also: NAME:PATH for a set elsewhere";
  size_t line = text.size();
  for (const std::string& kind : data::file_kinds()) {
    const bool fits = line + 2 + kind.size() < kLineWidth;
    text += (fits ? ", " : ",\n") + kind;
    line = fits ? line + 2 + kind.size() : kind.size();
  }
  return text + ".";
}

}  // namespace

DataResult run_data(const DataOptions& options) {
  if (!options.npz.empty()) check_output(options.npz, options.force);
  const auto dataset = data::open_dataset(options.data);
  DataResult result{dataset->description(), data::summarise(*dataset), dataset->class_names(), options.sheet,
                    options.npz};
  if (!options.npz.empty()) data::write_npz(options.npz, *dataset);
  if (!options.sheet.empty())
    image::write_png(options.sheet,
                     data::contact_sheet(*dataset, options.columns, options.rows, options.scale));
  return result;
}

json to_json(const DataResult& result) {
  const data::DatasetSummary& found = result.summary;
  json classes = json::array();
  for (const auto& [label, count] : found.labels)
    classes.push_back({{"label", label}, {"name", class_name(result.classes, label)}, {"count", count}});
  json out = {{"description", result.description},
              {"count", found.count},
              {"low", found.low},
              {"high", found.high},
              {"mean", found.mean},
              {"deviation", found.deviation},
              {"classes", classes}};
  out["shape"] = {found.image.c, found.image.h, found.image.w};
  if (!result.sheet.empty()) out["sheet"] = result.sheet;
  if (!result.npz.empty()) out["npz"] = result.npz;
  return out;
}

void print(const DataResult& result) {
  const data::DatasetSummary& found = result.summary;
  const Shape& s = found.image;
  fmt::print("{}\n", result.description);
  fmt::print("images     {}\nshape      {}x{}x{} (channels, height, width)\n", found.count, s.c, s.h, s.w);
  fmt::print("range      {:.4f} to {:.4f}\n", found.low, found.high);
  fmt::print("mean       {}\ndeviation  {}\n", numbers_text(found.mean), numbers_text(found.deviation));
  print_classes(found, result.classes);
  if (!result.sheet.empty()) fmt::print("sheet      {}\n", result.sheet);
  if (!result.npz.empty()) fmt::print("array      {}\n", result.npz);
}

std::vector<KnownSource> known_sources() {
  std::vector<KnownSource> known;
  for (const data::Source& source : data::sources()) {
    if (!source.has_name()) continue;
    known.push_back({source.name, source.what, source.how_to_get, data::locate(source), {}});
    if (source.has_files()) known.back().searched = data::search_folders(source);
  }
  return known;
}

json to_json(const std::vector<KnownSource>& sources) {
  json sets = json::array();
  for (const KnownSource& source : sources) {
    sets.push_back({{"name", source.name}, {"what", source.what}, {"get", source.how_to_get}});
    sets.back()["path"] = source.path ? json(source.path->string()) : json();
  }
  return sets;
}

void print(const std::vector<KnownSource>& sources) {
  for (const KnownSource& source : sources) {
    fmt::print("{:<15}{}\n", source.name, source.what);
    std::string folders;
    for (const fs::path& folder : source.searched) folders += (folders.empty() ? "" : ", ") + folder.string();
    if (source.path)
      fmt::print("{:15}found: {}\n", "", source.path->string());
    else if (!source.searched.empty())
      fmt::print("{:15}not found; {}\n{:15}looked for in {}\n", "", source.how_to_get, "", folders);
  }
  fmt::print("\n{}\n", other_sources());
}

}  // namespace mdsm::app
