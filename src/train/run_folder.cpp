#include "train/run_folder.h"

#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <system_error>
#include <vector>

#include "core/error.h"
#include "core/json.h"

namespace mdsm::train {
namespace {

using nlohmann::json;

constexpr const char *kJobFile = "job.txt", *kVersionFile = "version.txt";

bool plain(unsigned char c) { return std::isalnum(c) || c == '.' || c == '-' || c == '_'; }

// The number at the start of a run folder's name; -1 of other names.
int64_t number_of(const std::string& name) {
  const size_t digits = static_cast<size_t>(
      std::find_if_not(name.begin(), name.end(), [](unsigned char c) { return std::isdigit(c); }) -
      name.begin());
  const bool numbered = digits >= 5 && digits <= 9 && digits < name.size() && name[digits] == '-';
  return numbered ? std::stoll(name.substr(0, digits)) : -1;
}

// Folders that are there only for a run that could not begin: without a run in them they go again.
class MadeFolders {
 public:
  void make(const fs::path& outdir) {
    std::error_code error;
    for (fs::path path = outdir; !path.empty() && !fs::exists(path, error); path = path.parent_path())
      made_.push_back(path);
    make_folder(outdir);
  }
  // Not those that are not empty.
  void remove() const {
    std::error_code error;
    for (const fs::path& path : made_) fs::remove(path, error);
  }

 private:
  std::vector<fs::path> made_;  // the innermost first
};

// One more than the largest number at the start of a name in the folder.
int64_t next_number(const fs::path& outdir) {
  int64_t next = 0;
  for (const auto& entry : fs::directory_iterator(outdir))
    next = std::max<int64_t>(next, number_of(entry.path().filename().string()) + 1);
  return next;
}

}  // namespace

RunFolder RunFolder::create(const fs::path& outdir, const std::string& name, const json& options,
                            const std::string& version) {
  MadeFolders made;
  made.make(outdir);
  for (;;) {
    RunFolder folder(outdir / fmt::format("{:05}-{}", next_number(outdir), name));
    if (::mkdir(folder.path_.c_str(), 0777) != 0) {
      if (errno == EEXIST) continue;  // another process took the number: look again
      fail("choose a folder that can be written with --out", "{}: cannot create the folder: {}",
           folder.path_.string(), std::generic_category().message(errno));
    }
    try {
      make_folder(folder.path_);  // which is there: but its name is to be on the disk, too
      folder.lock();
      folder.write_options(options);
      write_file(folder.path_ / kVersionFile, version);
      return folder;
    } catch (...) {
      folder.remove();
      made.remove();
      throw;
    }
  }
}

void RunFolder::remove() {
  std::error_code error;
  for (const fs::path& file : {options(), path_ / kVersionFile}) fs::remove(file, error);
  lock_.release();
  fs::remove(path_, error);  // refuses a folder that is not empty
}

RunFolder RunFolder::open(const fs::path& path) {
  RunFolder folder(path);
  recorded_options(path);
  folder.lock();
  return folder;
}

fs::path RunFolder::latest(const fs::path& outdir) {
  fs::path found;
  std::error_code error;
  for (auto it = fs::directory_iterator(outdir, error); !error && it != fs::directory_iterator();
       it.increment(error)) {
    const int64_t number = number_of(it->path().filename().string());
    if (number > (found.empty() ? -1 : number_of(found.filename().string())) &&
        fs::exists(it->path() / "options.json"))
      found = it->path();
  }
  if (found.empty())
    fail("name the run folder, or the folder of runs with --out", "--resume latest: no run in {}",
         outdir.string());
  return found;
}

bool RunFolder::has_state(const fs::path& path) {
  std::error_code error;
  return fs::exists(RunFolder(path).state(), error);
}

json RunFolder::recorded_options(const fs::path& path) {
  const char* hint = "name a folder made by mdsm train";
  std::error_code error;
  if (!fs::is_directory(path, error)) fail(hint, "{}: no such run folder", path.string());
  const fs::path file = path / "options.json";
  if (!fs::exists(file)) fail(hint, "{}: not a run folder, it has no options.json", path.string());
  json values = parse_json(read_text(file));
  if (!values.is_object()) fail("the file is damaged", "{}: not a JSON table of options", file.string());
  return values;
}

fs::path RunFolder::snapshot(int64_t step) const {
  return path_ / fmt::format("ema-{:06}.safetensors", step);
}
fs::path RunFolder::preview(int64_t step) const { return path_ / fmt::format("preview-{:06}.png", step); }

void RunFolder::write_options(const json& values) const {
  write_file(options(), json_text(values, 2) + "\n");
}

void RunFolder::write_job(const std::string& job) const { write_file(path_ / kJobFile, job + "\n"); }

fs::path RunFolder::of_job(const fs::path& outdir, const std::string& job) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(outdir, error)) {
    const fs::path file = entry.path() / kJobFile;
    if (fs::is_regular_file(file, error) && read_text(file) == job + "\n") return entry.path();
  }
  return {};
}

std::string source_name(const std::string& data) {
  fs::path source(data.substr(0, data.find(':')));            // NAME of NAME:PATH
  if (!source.has_filename()) source = source.parent_path();  // "faces/" is "faces"
  std::string name = source.stem().string();
  for (char& c : name)
    if (!plain(static_cast<unsigned char>(c))) c = '_';
  name = name.substr(0, 40);
  return name.empty() ? "data" : name;
}

std::string model_name(const std::string& model) {
  const fs::path path(model);
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

std::string run_name(const std::string& data, const std::string& network, int64_t width,
                     const std::string& desc) {
  if (!std::all_of(desc.begin(), desc.end(), plain))
    fail_usage("use letters, digits, '.', '-' and '_'", "--desc '{}' cannot be part of a folder name", desc);
  return fmt::format("{}-{}-w{}{}{}", source_name(data), network, width, desc.empty() ? "" : "-",
                     desc.substr(0, 100));
}

}  // namespace mdsm::train
