#include "serve/job_kinds.h"

#include <algorithm>
#include <mutex>

#include "core/base64.h"
#include "core/error.h"
#include "core/json.h"
#include "image/picture.h"
#include "serve/catalogue.h"
#include "serve/names.h"

namespace mdsm::serve {
namespace {

using nlohmann::json;

// Options whose values are names of something under the root.
const std::vector<std::pair<std::string, std::string (*)(const std::string&)>>& resolvers() {
  static const std::vector<std::pair<std::string, std::string (*)(const std::string&)>> rows = {
      {"model", model_place}, {"init", model_place},        {"data", data_place},
      {"resume", run_place},  {"detector", detector_place}, {"out", new_detector_place}};
  return rows;
}

std::string text_of(const std::string& name, const json& value) {
  if (value.is_boolean()) return value == json(true) ? "true" : "false";
  if (value.is_number()) return json_text(value);
  if (!value.is_string())
    fail_usage("give a number, a text, true or false", "option '{}': {}", name, value.type_name());
  return json_value<std::string>(value);
}

// Texts that are no names of ours must not be places either.
void check_text(const std::string& name, const std::string& value) {
  constexpr size_t kLongest = 1000;
  std::error_code error;
  const bool strange =
      std::ranges::any_of(value, [](unsigned char c) { return c < 0x20 || c == '/' || c == '\\'; });
  if (strange || value.size() > kLongest || (!value.empty() && fs::exists(value, error)))
    fail_usage("requests name no files", "option '{}': '{}' is no value for it", name, value.substr(0, 100));
}

std::string word_of(const std::string& name, const json& given) {
  std::string value = text_of(name, given);
  const auto row = std::ranges::find(resolvers(), name, [](const auto& one) { return one.first; });
  if (row != resolvers().end())
    value = row->second(value);
  else
    check_text(name, value);
  return "--" + name + "=" + value;
}

std::vector<std::string> option_words(const JobKind& kind, const json& given, const Commands& commands) {
  std::vector<std::string> words, names;
  for (const json& option : offered_options(kind, commands))
    names.push_back(json_value<std::string>(option.at("name")));
  for (const auto& [name, value] : given.items()) {
    if (std::ranges::find(names, name) == names.end())
      fail_usage("GET /api/kinds lists the options", "{}: unknown option '{}'", kind.name,
                 name.substr(0, 100));
    words.push_back(word_of(name, value));
  }
  return words;
}

// One at a time, so that memory stays bounded however many ask.
image::Picture decoded(const json& text, const std::string& name, int64_t megapixels) {
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  if (!text.is_string()) fail_usage("send its file as base64", "{}: no text", name);
  const std::vector<std::byte> file = from_base64(text.get_ref<const std::string&>(), name);
  image::Picture picture = image::decode_picture(file, name);
  if (picture.shape.h * picture.shape.w > megapixels * 1'000'000)
    fail_usage(fmt::format("send one of at most {} million", megapixels), "{}: {}x{} pixels", name,
               picture.shape.w, picture.shape.h);
  return picture;
}

std::vector<std::string> picture_words(const JobKind& kind, const json& request, const fs::path& folder,
                                       int64_t megapixels) {
  const json given = request.value("pictures", json::array());
  if (!given.is_array() || given.size() < kind.fewest || given.size() > kind.most)
    fail_usage(fmt::format("send {} to {}", kind.fewest, kind.most), "{}: {} pictures", kind.name,
               given.size());
  std::vector<std::string> words;
  for (size_t i = 0; i < given.size(); ++i) {
    const std::string name = fmt::format("picture-{}.png", i + 1);
    image::write_picture(folder / name, decoded(given[i], name, megapixels));
    words.push_back((folder / name).string());
  }
  if (!request.contains("mask")) return words;
  if (!kind.mask) fail_usage("leave it out", "{} takes no mask", kind.name);
  image::write_picture(folder / "mask.png", decoded(request.at("mask"), "mask.png", megapixels));
  words.push_back("--mask=" + (folder / "mask.png").string());
  return words;
}

std::string filled(std::string word, const fs::path& folder) {
  for (const auto& [mark, text] :
       {std::pair<std::string, std::string>{"{id}", folder.filename().string()}, {"{}", folder.string()}})
    if (const size_t at = word.find(mark); at != std::string::npos) word.replace(at, mark.size(), text);
  return word;
}

}  // namespace

const std::vector<JobKind>& job_kinds() {
  static const std::vector<JobKind> rows = {
      {"sample",
       "sample",
       {"Samples", "Sampler", "Engine"},
       {"model", "scale"},
       0,
       0,
       false,
       {"--out={}/out", "--live", "--json"}},
      {"denoise",
       "denoise",
       {"Denoising", "Engine"},
       {"model", "colour"},
       1,
       8,
       false,
       {"--out={}/out", "--json"}},
      {"inpaint",
       "inpaint",
       {"Missing pixels", "Completions", "Sampler", "Engine"},
       {"model", "colour"},
       1,
       1,
       true,
       {"--out={}/out", "--json"}},
      {"restore",
       "restore",
       {"Task", "Results", "Sampler", "Engine"},
       {"model", "colour"},
       1,
       4,
       false,
       {"--out={}/out", "--json"}},
      {"score", "score", {"Engine"}, {"detector"}, 1, 16, false, {"--heatmap={}/out", "--format=json"}},
      {"fit",
       "score",
       {"Data", "Engine"},
       {"model", "out", "rate", "hold-out", "draws", "components", "seed"},
       0,
       0,
       false,
       {"--fit", "--format=json"}},
      {"landscape", "landscape", {"Landscape", "Engine"}, {"model"}, 2, 3, false, {"--json"}},
      {"train",
       "train",
       {"Data", "Network", "Objective", "Noise", "Maximum likelihood", "Training", "Engine"},
       {"resume", "stats-every", "save-every", "preview-every", "snapshot-every"},
       0,
       0,
       false,
       {}},
  };
  return rows;
}

const JobKind& job_kind(const std::string& name) {
  const auto found = std::ranges::find(job_kinds(), name, &JobKind::name);
  if (found == job_kinds().end())
    fail_usage("GET /api/kinds lists them", "unknown kind of job '{}'", name.substr(0, 100));
  return *found;
}

json offered_options(const JobKind& kind, const Commands& commands) {
  json offered = json::array();
  const auto has = [](const std::vector<std::string>& list, const json& value) {
    return std::ranges::find(list, json_value<std::string>(value)) != list.end();
  };
  for (const json& option : commands.describe(kind.command))
    if ((has(kind.groups, option.at("group")) && option.at("name") != "mask") ||
        has(kind.names, option.at("name")))
      offered.push_back(option);
  return offered;
}

Job make_job(const json& request, const fs::path& folder, const ServeOptions& options,
             const Commands& commands) {
  if (!request.is_object()) fail_usage("send an object", "the request is no JSON object");
  for (const auto& [key, value] : request.items())
    if (key != "kind" && key != "options" && key != "pictures" && key != "mask")
      fail_usage("a request has kind, options, pictures and mask", "unknown key '{}'", key.substr(0, 100));
  const json name = request.value("kind", json());
  const JobKind& kind = job_kind(name.is_string() ? json_value<std::string>(name) : "");
  Job job;
  job.id = folder.filename().string();
  job.command = kind.command;
  job.options = request.value("options", json::object());
  if (!job.options.is_object()) fail_usage("send an object", "options are no JSON object");
  job.words = {kind.command};
  // The cheap checks first: a request that is refused for its options has no picture decoded.
  const std::vector<std::string> given = option_words(kind, job.options, commands);
  for (const std::string& word : picture_words(kind, request, folder, options.pixels))
    job.words.push_back(word);
  job.words.insert(job.words.end(), given.begin(), given.end());
  for (const std::string& word : kind.own_words) job.words.push_back(filled(word, folder));
  const bool trains = kind.command == "train";
  if (trains && !job.options.contains("resume"))
    for (const char* word : {"--out=runs", "--desc=job{id}"}) job.words.push_back(filled(word, folder));
  commands.check(job.words);
  job.lane = trains ? "train" : "native";
  if (!trains && job.options.contains("engine")) job.lane = text_of("engine", job.options.at("engine"));
  return job;
}

fs::path run_of(const Job& job) {
  if (job.command != "train") return {};
  if (job.options.contains("resume")) return run_place(text_of("resume", job.options.at("resume")));
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("runs", error))
    if (entry.path().filename().string().ends_with("-job" + job.id)) return entry.path();
  return {};
}

std::vector<std::string> words_again(const Job& job, const fs::path& folder) {
  std::error_code error;
  if (job.command == "train") {
    const fs::path run = run_of(job);
    return run.empty() ? job.words : std::vector<std::string>{"train", "--resume=" + run.string()};
  }
  std::vector<std::string> words = job.words;
  if (job.command == "sample")
    words.push_back(fs::exists(folder / "out", error) ? "--resume" : "--force");
  else
    words.push_back("--force");
  return words;
}

}  // namespace mdsm::serve
