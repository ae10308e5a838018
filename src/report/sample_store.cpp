// A set on the disk is STEM.npy with the images, STEM-trace.npy and STEM-draws.npy where there are any, and
// STEM.json with the rest. The JSON file comes last: a set without one was never finished and is not read.
#include "report/sample_store.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "core/error.h"
#include "io/npy.h"

namespace mdsm::report {
namespace {

using nlohmann::json;

constexpr const char* kSamples = "samples";

fs::path with_end(const fs::path& stem, const char* end) { return fs::path(stem) += end; }

[[noreturn]] void fail_damaged(const fs::path& path, const std::string& what) {
  fail("remove the folder, or use --force to start again", "{}: damaged: {}", path.string(), what);
}

json read_json(const fs::path& path) {
  json values = json::parse(read_text(path), nullptr, false);
  if (!values.is_object()) fail_damaged(path, "not a JSON object");
  return values;
}

std::vector<float> read_floats(const fs::path& path, const std::vector<int64_t>& shape) {
  io::NpyArray array = io::read_npy(path);
  auto* values = std::get_if<std::vector<float>>(&array.values);
  if (!values || array.shape != shape) fail_damaged(path, "not the array that was written");
  return std::move(*values);
}

// JSON has no word for "not a number"; null stands for it.
std::vector<float> floats(const json& list) {
  std::vector<float> values;
  for (const json& value : list)
    values.push_back(value.is_null() ? std::numeric_limits<float>::quiet_NaN() : value.get<float>());
  return values;
}

void save_set(const fs::path& stem, const SampleSet& set, const json& more) {
  const Shape& s = set.x.shape();
  io::write_npy(with_end(stem, ".npy"), {s.n, s.c, s.h, s.w}, set.x.values());
  if (set.points > 0) {
    std::vector<float> both = set.energy_trace;
    both.insert(both.end(), set.sigma_trace.begin(), set.sigma_trace.end());
    io::write_npy(with_end(stem, "-trace.npy"), {2, s.n, set.points}, both);
  }
  if (set.draw_count > 0) io::write_npy(with_end(stem, "-draws.npy"), {s.n, set.draw_count}, set.draws);
  json values = more;
  values["shape"] = {s.c, s.h, s.w};
  values["seeds"] = set.seeds;
  values["energy"] = set.energy;
  values["sigma"] = set.sigma;
  values["evaluations"] = set.evaluations;
  values["acceptance"] = set.acceptance;
  values["step_size"] = set.step_size;
  values["trace_steps"] = set.trace_steps;
  values["trace_temperature"] = set.trace_temperature;
  values["draws"] = set.draw_count;
  write_file(with_end(stem, ".json"), values.dump(1) + "\n");
}

SampleSet load_set(const fs::path& stem) {
  const fs::path path = with_end(stem, ".json");
  const json values = read_json(path);
  SampleSet set;
  try {
    set.seeds = values.at("seeds").get<std::vector<uint64_t>>();
    set.energy = floats(values.at("energy"));
    set.sigma = floats(values.at("sigma"));
    set.evaluations = values.at("evaluations").get<std::vector<int64_t>>();
    set.acceptance = floats(values.at("acceptance"));
    set.step_size = floats(values.at("step_size"));
    set.trace_steps = values.at("trace_steps").get<std::vector<int64_t>>();
    set.trace_temperature = values.at("trace_temperature").get<std::vector<double>>();
    set.points = static_cast<int64_t>(set.trace_steps.size());
    set.draw_count = values.at("draws").get<int64_t>();
    const auto shape = values.at("shape").get<std::vector<int64_t>>();
    const auto n = static_cast<int64_t>(set.seeds.size());
    if (shape.size() != 3) fail_damaged(path, "its shape");
    const std::vector<float> x = read_floats(with_end(stem, ".npy"), {n, shape[0], shape[1], shape[2]});
    set.x = Tensor({n, shape[0], shape[1], shape[2]});
    std::ranges::copy(x, set.x.values().begin());
    if (set.points > 0) {
      const std::vector<float> both = read_floats(with_end(stem, "-trace.npy"), {2, n, set.points});
      const auto half = static_cast<int64_t>(both.size() / 2);
      set.energy_trace.assign(both.begin(), both.begin() + half);
      set.sigma_trace.assign(both.begin() + half, both.end());
    }
    if (set.draw_count > 0) set.draws = read_floats(with_end(stem, "-draws.npy"), {n, set.draw_count});
  } catch (const json::exception& error) {
    fail_damaged(path, error.what());
  }
  for (const size_t size : {set.energy.size(), set.sigma.size(), set.evaluations.size()})
    if (size != set.seeds.size()) fail_damaged(path, "lists of unequal length");
  if (set.trace_temperature.size() != set.trace_steps.size()) fail_damaged(path, "lists of unequal length");
  for (const size_t size : {set.acceptance.size(), set.step_size.size()})
    if (size != 0 && size != set.seeds.size()) fail_damaged(path, "lists of unequal length");
  return set;
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
    : folder_(std::move(folder)), parameters_(std::move(parameters)), force_(force) {
  std::error_code error;
  if (fs::exists(folder_, error) && !fs::is_directory(folder_, error))
    fail("name a folder", "{}: is a file", folder_.string());
  const bool there = fs::exists(folder_ / "samples.json", error) || fs::exists(parts() / "run.json", error);
  if (!there || force) return;
  if (!resume)
    fail("add --resume to go on with them, --force to replace them, or choose another --out",
         "{}: holds samples already", folder_.string());
  read_existing();
}

json SampleStore::parameters_in(const fs::path& path) const {
  json found = read_json(path).value("parameters", json::object());
  if (!found.is_object()) fail_damaged(path, "no parameters");
  return found;
}

void SampleStore::check_parameters(const json& found) const {
  for (const auto& [key, value] : parameters_.items())
    if (found.value(key, json()) != value)
      fail("use the options it was started with, or another --out", "{}: {} is {} there, but {} here",
           folder_.string(), key, found.value(key, json()).dump(), value.dump());
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
// replace it (--force) and did not come to its end.
void SampleStore::read_existing() {
  std::error_code error;
  const fs::path whole = folder_ / "samples.json", run = parts() / "run.json";
  const bool has_whole = fs::exists(whole, error), has_parts = fs::exists(run, error);
  const json current = parameters_in(has_parts ? run : whole);
  check_parameters(current);
  if (has_whole && parameters_in(whole) == current) keep(load_set(folder_ / kSamples));
  if (!has_parts) return;
  std::vector<fs::path> stems;
  for (const auto& entry : fs::directory_iterator(parts(), error))
    if (entry.path().extension() == ".json" && entry.path().filename() != "run.json")
      stems.push_back(fs::path(entry.path()).replace_extension());
  std::ranges::sort(stems);
  // A kill between writing the whole and removing the parts leaves samples in both; they are equal.
  for (const fs::path& stem : stems) keep(load_set(stem));
  next_part_ = stems.size();
}

std::vector<uint64_t> SampleStore::missing(std::span<const uint64_t> seeds) const {
  std::vector<uint64_t> out;
  for (const uint64_t seed : seeds)
    if (!done_.contains(seed)) out.push_back(seed);
  return out;
}

void SampleStore::begin() {
  std::error_code error;
  made_ = fs::exists(folder_, error) ? Made::parts : Made::folder;
  make_folder(folder_);
  if (force_) fs::remove_all(parts(), error);
  if (fs::exists(parts(), error)) made_ = Made::nothing;
  make_folder(parts());
  write_file(parts() / "run.json", json{{"parameters", parameters_}}.dump(1) + "\n");
}

// A run that failed before its first batch leaves nothing behind.
SampleStore::~SampleStore() {
  if (made_ == Made::nothing || next_part_ > 0) return;
  std::error_code error;
  fs::remove_all(parts(), error);
  if (made_ == Made::folder) fs::remove(folder_, error);  // only if it is empty
}

void SampleStore::add(SampleSet part) {
  save_set(parts() / fmt::format("{:06}", next_part_++), part, json::object());
  keep(std::move(part));
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

void SampleStore::finish(const SampleSet& all, const json& summary) {
  std::error_code error;
  if (all.points == 0) fs::remove(folder_ / "samples-trace.npy", error);
  if (all.draw_count == 0) fs::remove(folder_ / "samples-draws.npy", error);
  save_set(folder_ / kSamples, all, {{"parameters", parameters_}, {"summary", summary}});
  fs::remove_all(parts(), error);
  made_ = Made::nothing;
}

}  // namespace mdsm::report
