#include "reproduce/variables.h"

#include "core/error.h"
#include "data/sources.h"

namespace mdsm::reproduce {
namespace {

// The only run folder in a training step's folder.
fs::path run_folder(const fs::path& folder) {
  fs::path found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (fs::is_regular_file(it->path() / "options.json", error)) {
      if (!found.empty())
        fail("remove one", "{}: two runs, {} and {}", folder.string(), found.string(), it->path().string());
      found = it->path();
    }
  return found;
}

}  // namespace

std::string data_source(const ReproduceOptions& options, const std::string& name) {
  if (const auto given = options.data.find(name); given != options.data.end()) return given->second;
  const data::Source* set = data::sources().find(name);
  if (!set) return "";
  if (set->folder != name) {  // made from another set: from where that one is
    const auto given = options.data.find(set->folder);
    const std::string prefix = set->folder + ":";
    if (given != options.data.end() && given->second.starts_with(prefix))
      return name + ":" + given->second.substr(prefix.size());
  }
  return data::at_hand(*set) ? name : "";
}

std::string missing_data(const ReproduceOptions& options, const Recipe& recipe) {
  for (const std::string& name : recipe.data) {
    if (!data_source(options, name).empty()) continue;
    const data::Source* set = data::sources().find(name);
    return fmt::format("no {} data; {}--data {}=SOURCE", name, set ? set->how_to_get + ", or " : "", name);
  }
  return "";
}

fs::path Variables::folder(const std::string& step) const {
  return step.find('/') == std::string::npos ? options_.out / recipe_.name / step : options_.out / step;
}

std::string Variables::value(const std::string& name) const {
  if (name == "here" && !step_.empty()) return folder(step_).string();
  if (name.starts_with("@")) return folder(name.substr(1)).string();
  if (name.starts_with("model:")) return run_folder(folder(name.substr(6))).string();
  if (name.starts_with("data:")) return data_source(options_, name.substr(5));
  if (name == "engine") return options_.engine;
  if (name == "device") return options_.device;
  if (name == "threads") return std::to_string(options_.threads);
  if (const auto set = options_.settings.find(name); set != options_.settings.end()) return set->second;
  if (const auto scale = recipe_.scales.find(options_.scale); scale != recipe_.scales.end())
    if (const auto found = scale->second.find(name); found != scale->second.end()) return found->second;
  fail("define it in the recipe's scales, or with --with", "recipe {}: {{{}}} has no value at scale {}",
       recipe_.name, name, to_string(options_.scale));
}

std::string Variables::expand(const std::string& word) const {
  std::string out;
  for (size_t at = 0; at < word.size();) {
    const size_t open = word.find('{', at), close = word.find('}', open);
    if (open == std::string::npos || close == std::string::npos) return out + word.substr(at);
    out += word.substr(at, open - at) + value(word.substr(open + 1, close - open - 1));
    at = close + 1;
  }
  return out;
}

}  // namespace mdsm::reproduce
