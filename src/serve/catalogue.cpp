#include "serve/catalogue.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "app/models.h"
#include "app/sampler_choice.h"
#include "core/error.h"
#include "core/folder_lock.h"
#include "core/json.h"
#include "data/sources.h"
#include "eval/detector.h"
#include "network/bundled.h"
#include "network/model_file.h"
#include "serve/names.h"
#include "train/run_folder.h"
#include "train/stats_follower.h"

namespace mdsm::serve {
namespace {

using nlohmann::json;

constexpr const char *kEnding = ".safetensors", *kDetectors = "detectors", *kRuns = "runs";

[[noreturn]] void fail_missing(const std::string& what, const std::string& name) {
  fail_usage("the page and GET /api list what there is", "no {} '{}'", what, name.substr(0, 200));
}

// Names in a folder, in order.
std::vector<std::string> names_in(const fs::path& folder) {
  std::error_code error;
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (const std::string name = entry.path().filename().string(); inside(folder, name))
      names.push_back(name);
  std::ranges::sort(names);
  return names;
}

bool is_run(const std::string& name) {
  std::error_code error;
  return inside(kRuns, name) && fs::is_regular_file(fs::path(kRuns) / name / "options.json", error);
}

// What use(StatsFollower) gives for a run. Curves are kept, so that a page that looks again costs what is
// new.
template <class Use>
auto with_stats(const fs::path& run, const Use& use) {
  constexpr size_t kMostRuns = 1000;
  static std::mutex mutex;
  static std::map<fs::path, train::StatsFollower> all;
  const std::lock_guard lock(mutex);
  if (all.size() > kMostRuns) all.clear();
  train::StatsFollower& one = all.try_emplace(run, run / "stats.jsonl", kMostLines).first->second;
  one.look();
  return use(one);
}

bool is_model_file(const fs::path& path) {
  std::error_code error;
  return path.extension() == kEnding && fs::is_regular_file(path, error);
}

// Files of a run that begin so: preview-000100.png, ema-000100.safetensors.
std::vector<std::string> files_of(const fs::path& run, const std::string& start, const std::string& end) {
  std::vector<std::string> found = names_in(run);
  std::erase_if(found,
                [&](const std::string& name) { return !name.starts_with(start) || !name.ends_with(end); });
  return found;
}

}  // namespace

std::string model_place(const std::string& name) {
  if (is_plain_name(name) && network::find_bundled(name)) return name;
  for (const std::string folder : {"models", kRuns}) {
    if (!name.starts_with(folder + "/")) continue;
    const auto found = inside(folder, std::string_view(name).substr(folder.size() + 1));
    if (!found) break;
    if (is_model_file(*found) || (folder == kRuns && is_model_file(*found / "ema.safetensors")))
      return found->string();
  }
  fail_missing("model", name);
}

std::string run_place(const std::string& name) {
  const std::string own = name.starts_with("runs/") ? name.substr(5) : name;
  if (!is_plain_name(own) || !is_run(own)) fail_missing("run", name);
  return "runs/" + own;
}

std::string data_place(const std::string& name) {
  for (const data::Source& source : data::sources())
    if (source.has_name() && source.name == name) return name;
  if (const auto found = inside("data", name)) return found->string();
  fail_missing("data set", name);
}

std::string detector_place(const std::string& name) {
  if (!is_plain_name(name) || !inside(kDetectors, name + kEnding)) fail_missing("detector", name);
  return fmt::format("{}/{}{}", kDetectors, name, kEnding);
}

std::string new_detector_place(const std::string& name) {
  if (!is_plain_name(name))
    fail_usage("use letters, digits, dots and dashes", "'{}' is no name for a detector", name.substr(0, 100));
  make_folder(kDetectors);
  return fmt::format("{}/{}{}", kDetectors, name, kEnding);
}

json model_list() {
  json all = json::array();
  for (json one : to_json(app::run_models())) {
    one.erase("file");
    one["from"] = "mdsm";
    all.push_back(std::move(one));
  }
  for (const std::string& name : names_in("models"))
    if (is_model_file(fs::path("models") / name))
      all.push_back({{"name", "models/" + name}, {"from", "models"}});
  for (const std::string& run : names_in(kRuns)) {
    if (!is_run(run)) continue;
    const std::string place = fmt::format("{}/{}", kRuns, run);
    if (is_model_file(fs::path(place) / "ema.safetensors"))
      all.push_back({{"name", place}, {"from", "runs"}});
    for (const std::string& file : files_of(place, "ema-", kEnding))
      all.push_back({{"name", place + "/" + file}, {"from", "runs"}});
  }
  return all;
}

json run_list() {
  json all = json::array();
  for (const std::string& name : names_in(kRuns)) try {
      if (is_run(name)) all.push_back(run_facts(name));
    } catch (const Error& error) {  // one that is damaged, or gone meanwhile, hides no others
      all.push_back({{"name", name}, {"error", error.message()}});
    }
  return all;
}

json run_facts(const std::string& run) {
  const fs::path place = run_place(run);
  const auto last = with_stats(place, [](const auto& stats) { return stats.last(); });
  const json options = train::RunFolder::recorded_options(place);
  json facts = {{"name", run},
                {"options", options},
                {"step", last ? last->step : 0},
                {"steps", options.value("steps", json())},
                {"loss", last ? json(last->loss) : json()},
                {"time", last ? json(last->time) : json()},
                {"previews", files_of(place, "preview-", ".png")},
                {"checkpoints", files_of(place, "ema", kEnding)},
                {"locked", is_locked(place)}};
  return facts;
}

json run_curve(const std::string& run) {
  json lines = json::array();
  for (const train::StatsRecord& record :
       with_stats(run_place(run), [](const auto& stats) { return stats.curve(); }))
    lines.push_back(train::to_json(record));
  return lines;
}

json detector_list() {
  json names = json::array();
  for (const std::string& name : names_in(kDetectors))
    if (is_model_file(fs::path(kDetectors) / name)) names.push_back(fs::path(name).stem().string());
  return names;
}

json detector_facts(const std::string& name) {
  const eval::LoadedDetector loaded = eval::load_detector(detector_place(name));
  const eval::DetectorState& state = loaded.detector.state();
  return {{"name", name},
          {"rate", state.rate},
          {"threshold", loaded.detector.threshold()},
          {"reference", state.calibration},
          {"fitted", state.fitted}};
}

json data_list() {
  json all = json::array();
  for (const data::Source& source : data::sources())
    if (source.has_name()) all.push_back({{"name", source.name}, {"what", source.what}});
  for (const std::string& name : names_in("data")) all.push_back({{"name", name}, {"what", "data/" + name}});
  return all;
}

json sampler_defaults(const std::string& sampler, const std::string& model) {
  OptionSet options("sample", "");
  app::SamplerChoice choice;
  choice.declare(options, sample::samplers().names());
  options.parse(std::vector<std::string>{"--sampler=" + sampler});
  choice.resolve(options, network::load_model(model_place(model)).info);
  json values = choice.parameters();
  // What only matters with another option, too.
  const json all = options.chosen_json();
  for (const auto& [name, value] : all.items())
    if (!values.contains(name)) values[name] = value;
  return values;
}

}  // namespace mdsm::serve
