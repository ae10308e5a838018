// A whole set on the disk is STEM.npy with the images, STEM-trace.npy and STEM-draws.npy where there are any,
// and STEM.json with the rest, which comes last: without one the set is not read. A part is one safetensors
// file, so that images and seeds always belong together.
#include "report/sample_store.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "core/error.h"
#include "core/hash.h"
#include "core/json.h"
#include "io/checked_safetensors.h"
#include "io/npy.h"

namespace mdsm::report {
namespace {

using nlohmann::json;

constexpr const char* kSamples = "samples";
constexpr int64_t kMaxExtent = 1 << 20;         // channels, rows or columns of an image
constexpr const char* kHoldsAll = "holds_all";  // of run.json: the parts have everything, also the whole set
constexpr const char *kChecksum = "checksum", *kParameters = "parameters";

fs::path with_end(const fs::path& stem, const char* end) { return fs::path(stem) += end; }

[[noreturn]] void fail_damaged(const fs::path& path, const std::string& what) {
  fail("remove the folder, or use --force to start again", "{}: damaged: {}", path.string(), what);
}

JsonObject object_in(std::string_view text, const fs::path& path) {
  return JsonObject::parse(text, [path](const std::string& what) { fail_damaged(path, what); });
}

std::vector<float> read_floats(const fs::path& path, const std::vector<int64_t>& shape) {
  io::NpyArray array = io::read_npy(path);
  auto* values = std::get_if<std::vector<float>>(&array.values);
  if (!values || array.shape != shape) fail_damaged(path, "not the array that was written");
  return std::move(*values);
}

std::vector<float> both_traces(const SampleSet& set) {
  std::vector<float> both = set.energy_trace;
  both.insert(both.end(), set.sigma_trace.begin(), set.sigma_trace.end());
  return both;
}

// Of all that a whole set holds, whose arrays are files of their own.
std::string checksum_of(const json& lists, const SampleSet& set) {
  Fingerprint sum;
  sum.add(json_text(lists));
  for (const auto& values : {std::span<const float>(set.x.values()), std::span<const float>(set.energy_trace),
                             std::span<const float>(set.sigma_trace), std::span<const float>(set.draws)})
    sum.add(values.data(), values.size_bytes());
  return sum.text();
}

// All of a set but its arrays.
json lists_of(const SampleSet& set) {
  const Shape& s = set.x.shape();
  return {{"shape", {s.c, s.h, s.w}},
          {"seeds", set.seeds},
          {"energy", set.energy},
          {"sigma", set.sigma},
          {"evaluations", set.evaluations},
          {"acceptance", set.acceptance},
          {"step_size", set.step_size},
          {"trace_steps", set.trace_steps},
          {"trace_temperature", set.trace_temperature},
          {"draws", set.draw_count}};
}

// The array of a name ("", "-trace", "-draws"), which must have this shape.
using ReadArray = std::function<std::vector<float>(const char* name, const std::vector<int64_t>& shape)>;

SampleSet set_from(const JsonObject& values, const ReadArray& read, const fs::path& path) {
  SampleSet set;
  set.seeds = values.get<std::vector<uint64_t>>("seeds");
  set.energy = values.floats_or_nan("energy");
  set.sigma = values.floats_or_nan("sigma");
  set.evaluations = values.get<std::vector<int64_t>>("evaluations");
  set.acceptance = values.floats_or_nan("acceptance");
  set.step_size = values.floats_or_nan("step_size");
  set.trace_steps = values.get<std::vector<int64_t>>("trace_steps");
  set.trace_temperature = values.get<std::vector<double>>("trace_temperature");
  set.points = static_cast<int64_t>(set.trace_steps.size());
  set.draw_count = values.get<int64_t>("draws");
  const auto shape = values.get<std::vector<int64_t>>("shape");
  const auto n = static_cast<int64_t>(set.seeds.size());
  for (const size_t size : {set.energy.size(), set.sigma.size(), set.evaluations.size()})
    if (size != set.seeds.size()) fail_damaged(path, "lists of unequal length");
  if (set.trace_temperature.size() != set.trace_steps.size()) fail_damaged(path, "lists of unequal length");
  for (const size_t size : {set.acceptance.size(), set.step_size.size()})
    if (size != 0 && size != set.seeds.size()) fail_damaged(path, "lists of unequal length");
  const auto sensible = [](int64_t extent) { return extent >= 1 && extent <= kMaxExtent; };
  if (n == 0 || shape.size() != 3 || !std::ranges::all_of(shape, sensible)) fail_damaged(path, "its shape");
  const std::vector<float> x = read("", {n, shape[0], shape[1], shape[2]});
  set.x = Tensor({n, shape[0], shape[1], shape[2]});  // as large as what was read
  std::ranges::copy(x, set.x.values().begin());
  if (set.points > 0) {
    const std::vector<float> both = read("-trace", {2, n, set.points});
    const auto half = static_cast<int64_t>(both.size() / 2);
    set.energy_trace.assign(both.begin(), both.begin() + half);
    set.sigma_trace.assign(both.begin() + half, both.end());
  }
  if (set.draw_count != 0) set.draws = read("-draws", {n, set.draw_count});
  return set;
}

void save_whole(const fs::path& stem, const SampleSet& set, const json& more) {
  const Shape& s = set.x.shape();
  io::write_npy(with_end(stem, ".npy"), {s.n, s.c, s.h, s.w}, set.x.values());
  if (set.points > 0) io::write_npy(with_end(stem, "-trace.npy"), {2, s.n, set.points}, both_traces(set));
  if (set.draw_count > 0) io::write_npy(with_end(stem, "-draws.npy"), {s.n, set.draw_count}, set.draws);
  json values = more;
  const json lists = lists_of(set);
  values.update(lists);
  values[kChecksum] = checksum_of(lists, set);
  write_file(with_end(stem, ".json"), json_text(values, 1) + "\n");
}

SampleSet load_whole(const fs::path& stem) {
  const fs::path path = with_end(stem, ".json");
  const auto read = [&](const char* name, const std::vector<int64_t>& shape) {
    return read_floats(with_end(with_end(stem, name), ".npy"), shape);
  };
  const JsonObject values = object_in(read_text(path), path);
  SampleSet set = set_from(values, read, path);
  // Earlier versions wrote none.
  if (values.has(kChecksum) && values.get<std::string>(kChecksum) != checksum_of(lists_of(set), set))
    fail_damaged(path, "the arrays beside it are not those it was written with");
  return set;
}

constexpr const char* kLists = "samples";  // the lists of a part, in its metadata

// Calls write(tensors, metadata) with what a part holds.
template <class Write>
auto as_part(const SampleSet& set, const Write& write) {
  const Shape& s = set.x.shape();
  const std::vector<float> traces = both_traces(set);
  std::vector<io::NamedTensor> tensors = {{"x", {s.n, s.c, s.h, s.w}, set.x.values()}};
  if (set.points > 0) tensors.push_back({"x-trace", {2, s.n, set.points}, traces});
  if (set.draw_count > 0) tensors.push_back({"x-draws", {s.n, set.draw_count}, set.draws});
  return write(tensors, std::map<std::string, std::string>{{kLists, json_text(lists_of(set))}});
}

void save_part(const fs::path& path, const SampleSet& set, const json& parameters) {
  as_part(set, [&](const auto& tensors, auto metadata) {
    metadata[kParameters] = json_text(parameters);
    io::write_checked_safetensors(path, tensors, metadata);
  });
}

SampleSet load_part(const io::SafetensorsFile& file) {
  const fs::path& path = file.path();
  const auto lists = file.metadata().find(kLists);
  if (lists == file.metadata().end()) fail_damaged(path, "no list of its samples");
  if (!io::checksum_is_right(file)) fail_damaged(path, "its checksum is wrong");
  const auto read = [&](const char* name, const std::vector<int64_t>& shape) {
    const auto* entry = file.find(std::string("x") + name);
    if (!entry || entry->shape != shape || entry->dtype != "F32")
      fail_damaged(path, "not the arrays that were written");
    return file.read(*entry);
  };
  return set_from(object_in(lists->second, path), read, path);
}

struct Place {
  const SampleSet* set = nullptr;
  int64_t row = 0;
};

// One row of a table with `columns` columns.
template <class T>
void copy_row(const std::vector<T>& from, int64_t row, int64_t columns, std::vector<T>& to) {
  if (from.empty()) return;
  const auto first = from.begin() + row * columns;
  to.insert(to.end(), first, first + columns);
}

void copy_sample(const Place& place, SampleSet& to) {
  const auto& [from, row] = place;
  copy_row(from->energy, row, 1, to.energy);
  copy_row(from->sigma, row, 1, to.sigma);
  copy_row(from->acceptance, row, 1, to.acceptance);
  copy_row(from->step_size, row, 1, to.step_size);
  copy_row(from->evaluations, row, 1, to.evaluations);
  copy_row(from->energy_trace, row, from->points, to.energy_trace);
  copy_row(from->sigma_trace, row, from->points, to.sigma_trace);
  copy_row(from->draws, row, from->draw_count, to.draws);
  std::ranges::copy(from->x.view().image(row),
                    to.x.view().image(static_cast<int64_t>(to.energy.size()) - 1).begin());
}

}  // namespace

std::string to_bytes(const SampleSet& set) {
  return as_part(
      set, [](const auto& tensors, const auto& lists) { return io::safetensors_bytes(tensors, lists); });
}

SampleSet sample_set(const std::string& bytes) {
  return load_part(io::SafetensorsFile("samples of another process", std::string_view(bytes)));
}

SampleSet selected(std::span<const SampleSet> sets, std::span<const uint64_t> seeds) {
  std::unordered_map<uint64_t, Place> places;
  for (const SampleSet& set : sets)
    for (size_t i = 0; i < set.seeds.size(); ++i)
      places.emplace(set.seeds[i], Place{&set, static_cast<int64_t>(i)});
  SampleSet out;
  out.seeds.assign(seeds.begin(), seeds.end());
  if (seeds.empty()) return out;
  out.x = Tensor(sets.empty() ? Shape{} : sets[0].x.shape().with_n(static_cast<int64_t>(seeds.size())));
  for (const uint64_t seed : seeds) {
    const auto found = places.find(seed);
    if (found == places.end()) fail("draw it first", "there is no sample of seed {}", seed);
    copy_sample(found->second, out);
  }
  out.points = sets[0].points;
  out.draw_count = sets[0].draw_count;
  out.trace_steps = sets[0].trace_steps;
  out.trace_temperature = sets[0].trace_temperature;
  return out;
}

SampleStore::SampleStore(fs::path folder, json parameters, bool resume, bool force)
    : folder_(std::move(folder)), parameters_(parse_json(json_text(parameters))) {  // as they will come back
  std::error_code error;
  if (!fs::exists(folder_, error)) return;
  if (!fs::is_directory(folder_, error)) fail("name a folder", "{}: is a file", folder_.string());
  const auto refuse = [&] {
    if (!force && !resume && holds_samples())
      fail("add --resume to go on with them, --force to replace them, or choose another --out",
           "{}: holds samples already", folder_.string());
  };
  refuse();  // whoever is drawing there
  lock();
  refuse();  // whoever has finished since
  if (!force && holds_samples()) read_existing();
}

fs::path SampleStore::part(size_t number) const { return parts() / fmt::format("{:06}.safetensors", number); }

void SampleStore::lock() {
  lock_ = FolderLock(folder_, "drawing samples");
  for (const char* below : {"parts", "images"}) remove_temporary_files(folder_ / below);
}

bool SampleStore::holds_samples() const {
  std::error_code error;
  return fs::exists(folder_ / "samples.json", error) || fs::exists(parts() / "run.json", error) ||
         !part_files().empty();
}

// Parts of earlier versions are sets of several files.
std::vector<fs::path> SampleStore::part_files() const {
  std::vector<fs::path> files;
  std::error_code error;
  if (!fs::exists(parts(), error)) return files;
  for (fs::directory_iterator it(parts(), error), end; !error && it != end; it.increment(error))
    if (const fs::path& path = it->path();
        path.extension() == ".safetensors" || (path.extension() == ".json" && path.filename() != "run.json"))
      files.push_back(path);
  if (error) fail("check its permissions", "{}: cannot be listed: {}", parts().string(), error.message());
  std::ranges::sort(files);
  return files;
}

json SampleStore::parameters_in(const fs::path& path) const {
  const JsonObject file = object_in(read_text(path), path);
  if (!file.has(kParameters)) return json::object();  // which will differ
  if (!file.at(kParameters).is_object()) fail_damaged(path, "no parameters");
  return file.at(kParameters);
}

void SampleStore::check_parameters(const json& found, const fs::path& where) const {
  const auto before = [&](const std::string& key) {
    if (key == "integrator" && !found.contains(key)) return found.value("method", json());  // before 0.2
    return found.value(key, json());
  };
  const auto check = [&](const std::string& key, const json& value) {
    if (before(key) == value) return;
    const bool guide_here = key == "guide" && !found.contains(key);
    fail(guide_here ? "--guidance 0 goes on without a guide, as it was started"
                    : "use the options it was started with, or another --out",
         "{}: {} is {} there, but {} here", where.string(), key, json_text(before(key)), json_text(value));
  };
  check("classes", parameters_.value("classes", json()));  // before those that follow from it
  for (const auto& [key, value] : parameters_.items()) check(key, value);
  for (const char* key : {"guide", "size"})  // given or not there at all
    if (!parameters_.contains(key)) check(key, json());
}

void SampleStore::keep(SampleSet set) {
  if (!sets_.empty()) {
    const SampleSet& first = sets_.front();
    if (set.trace_steps != first.trace_steps || set.draw_count != first.draw_count ||
        set.x.shape().with_n(1) != first.x.shape().with_n(1))
      fail("remove the folder, or use --force to start again", "{}: batches of samples that differ in form",
           folder_.string());
  }
  done_.insert(set.seeds.begin(), set.seeds.end());
  sets_.push_back(std::move(set));
}

// The parts belong to the last call. Where they are of other parameters than the whole set, that call was to
// replace it (--force) and did not come to its end. Where they hold all, the whole set may be half replaced.
void SampleStore::read_existing() {
  std::error_code error;
  const fs::path whole = folder_ / "samples.json", run = parts() / "run.json";
  const bool has_whole = fs::exists(whole, error), has_parts = fs::exists(run, error);
  // Where there is a whole set, a kill between its end and that of its parts left them.
  if (!has_whole && !has_parts)
    fail("put it back, or use --force to start again",
         "{}: holds drawn samples, but not the run.json that says how", parts().string());
  const json current = parameters_in(has_parts ? run : whole);
  check_parameters(current, folder_);
  const bool in_parts = has_parts && object_in(read_text(run), run).has(kHoldsAll);
  if (!in_parts && has_whole && parameters_in(whole) == current) {
    keep(load_whole(folder_ / kSamples));
    whole_read_ = true;
  }
  if (has_parts) read_parts();
}

// A kill between writing the whole and removing the parts leaves samples in both; they are equal.
void SampleStore::read_parts() {
  const std::vector<fs::path> files = part_files();
  for (const fs::path& path : files) {
    if (path.extension() == ".json") {
      keep(load_whole(fs::path(path).replace_extension()));
      continue;
    }
    const io::SafetensorsFile file(path);
    SampleSet set = load_part(file);
    // Of another call, somebody has put it here. Earlier versions wrote none.
    if (const auto made_with = file.metadata().find(kParameters); made_with != file.metadata().end())
      check_parameters(object_in(made_with->second, path).values(), path);
    keep(std::move(set));
  }
  std::error_code error;
  next_part_ = files.size();
  while (fs::exists(part(next_part_), error)) ++next_part_;
  parts_read_ = true;
}

std::vector<uint64_t> SampleStore::missing(std::span<const uint64_t> seeds) const {
  std::vector<uint64_t> out;
  for (const uint64_t seed : seeds)
    if (!done_.contains(seed)) out.push_back(seed);
  return out;
}

void SampleStore::begin() {
  std::error_code error;
  if (!lock_) {
    make_folder(folder_);
    try {
      lock();
    } catch (...) {
      fs::remove(folder_, error);  // only if it is empty: whoever else works in it has a lock there
      throw;
    }
    if (holds_samples())
      fail("start it again", "{}: another process has written samples there meanwhile", folder_.string());
    made_ = Made::folder;
  } else if (!parts_read_) {
    made_ = Made::parts;
  }
  if (!parts_read_) {  // what lies there is of no call that is gone on with
    fs::remove(parts() / "run.json", error);
    fs::remove_all(parts(), error);
  }
  make_folder(parts());
  if (whole_read_) save_whole_as_parts();
  write_file(parts() / "run.json", json_text({{kParameters, parameters_}, {kHoldsAll, true}}, 1) + "\n");
}

// A run that failed before its first batch leaves nothing behind.
SampleStore::~SampleStore() {
  if (made_ == Made::nothing) return;
  std::error_code error;
  fs::remove_all(parts(), error);
  lock_.release();
  if (made_ == Made::folder) fs::remove(folder_, error);  // only if it is empty
}

// A part's lists lie in its header, which must not become too long.
void SampleStore::save_whole_as_parts() {
  constexpr size_t kMost = 20'000;
  const std::vector<uint64_t> seeds = sets_.front().seeds;
  for (size_t first = 0; first < seeds.size(); first += kMost) {
    const auto some = std::span(seeds).subspan(first, std::min(kMost, seeds.size() - first));
    save_part(part(next_part_++), selected(std::span(sets_).first(1), some), parameters_);
  }
}

void SampleStore::add(SampleSet set) {
  save_part(part(next_part_++), set, parameters_);
  made_ = Made::nothing;  // from now on the folder is worth going on with
  keep(std::move(set));
}

SampleSet SampleStore::all(std::span<const uint64_t> seeds) const {
  if (!missing(seeds).empty()) fail("draw them first", "not all seeds have been drawn");
  std::vector<uint64_t> wanted(seeds.begin(), seeds.end());
  if (done_.size() > seeds.size()) {
    wanted.assign(done_.begin(), done_.end());
    std::ranges::sort(wanted);
  }
  return selected(sets_, wanted);
}

// From when the old set's list is gone until the new one's is there, the parts stand for both.
void SampleStore::finish(const SampleSet& all, const json& summary) {
  std::error_code error;
  made_ = Made::nothing;
  for (const char* end : {".json", "-trace.npy", "-draws.npy"})
    fs::remove(with_end(folder_ / kSamples, end), error);
  save_whole(folder_ / kSamples, all, {{kParameters, parameters_}, {"summary", summary}});
  fs::remove(parts() / "run.json", error);
  fs::remove_all(parts(), error);
}

}  // namespace mdsm::report
