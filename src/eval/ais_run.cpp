#include "eval/ais_run.h"

#include <algorithm>
#include <chrono>

#include "core/error.h"
#include "core/json.h"
#include "io/checked_safetensors.h"

namespace mdsm::eval {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr uint64_t kPilotRole = 2;

json to_json(const AisChains& chains) {
  return {{"log_weight", chains.log_weight},
          {"start_energy", chains.start_energy},
          {"accepted", chains.accepted},
          {"difference", chains.difference},
          {"acceptance", chains.acceptance}};
}

AisChains chains_from(const JsonObject& values) {
  AisChains chains;
  chains.log_weight = values.get<std::vector<double>>("log_weight");
  chains.start_energy = values.get<std::vector<double>>("start_energy");
  chains.accepted = values.get<std::vector<int64_t>>("accepted");
  chains.difference = values.get<std::vector<double>>("difference");
  chains.acceptance = values.get<std::vector<double>>("acceptance");
  return chains;
}

int64_t count(const AisChains& chains) { return static_cast<int64_t>(chains.log_weight.size()); }

bool fits(const AisChains& chains, size_t distributions) {
  const size_t n = chains.log_weight.size();
  return chains.start_energy.size() == n && chains.accepted.size() == n &&
         chains.difference.size() == distributions && chains.acceptance.size() == distributions;
}

[[noreturn]] void fail_damaged(const fs::path& path, const std::string& what) {
  fail("remove it, or use --force to start again", "{}: damaged: {}", path.string(), what);
}

}  // namespace

AisRun::AisRun(Bridge& bridge, AisPlan plan, Starts starts, json parameters, fs::path state)
    : bridge_(bridge),
      plan_(std::move(plan)),
      starts_(std::move(starts)),
      parameters_(parse_json(json_text(parameters))),  // as they will come back: paths need not be UTF-8
      state_(std::move(state)) {
  const auto k = static_cast<size_t>(plan_.distributions());
  for (AisChains* chains : {&forward_, &reverse_}) chains->difference.resize(k), chains->acceptance.resize(k);
}

uint64_t AisRun::chain_seed(Direction direction, int64_t chain) const {
  return (plan_.seed << 32) + (static_cast<uint64_t>(direction) << 28) + static_cast<uint64_t>(chain);
}

int64_t AisRun::work_done() const {
  return ((plan_.goes(Direction::forward) + plan_.goes(Direction::reverse)) * plan_.pilots + count(forward_) +
          count(reverse_)) *
             plan_.distributions() +
         static_cast<int64_t>(batch_.seeds.size()) * batch_.done;
}

AisBatch AisRun::pilot_batch(Direction direction) const {
  std::vector<uint64_t> seeds;
  for (int64_t i = 0; i < plan_.pilots; ++i) seeds.push_back(chain_seed(direction, i) + (kPilotRole << 28));
  return direction == Direction::forward
             ? forward_batch(bridge_, std::move(seeds))
             : reverse_batch(starts_(plan_.chains, plan_.pilots), std::move(seeds));
}

bool AisRun::pilot(const std::atomic<bool>& stop, const Observer& observer) {
  if (!eps_.empty()) return true;
  std::vector<double> eps(static_cast<size_t>(plan_.distributions()), plan_.options.eps);
  bool first = true;
  for (const Direction direction : {Direction::forward, Direction::reverse}) {
    if (plan_.pilots == 0 || !plan_.goes(direction)) continue;
    const auto learnt =
        pilot_steps(bridge_, plan_.betas, plan_.options, pilot_batch(direction), [&](int64_t made) {
          const int64_t before = first ? 0 : plan_.distributions();
          if (observer) observer({"pilot", (before + made) * plan_.pilots, plan_.work(), bridge_.beta(), 0});
          return !stop;
        });
    if (stop) return false;
    for (size_t k = 0; k < eps.size(); ++k) eps[k] = first ? learnt[k] : std::min(eps[k], learnt[k]);
    first = false;
  }
  eps_ = std::move(eps);
  save();  // the pilots' work is not lost, whatever happens to the chains
  return true;
}

void AisRun::begin_batch(Direction direction) {
  const int64_t first = count(chains(direction)), n = std::min(plan_.batch, plan_.chains - first);
  std::vector<uint64_t> seeds;
  for (int64_t i = 0; i < n; ++i) seeds.push_back(chain_seed(direction, first + i));
  batch_ = direction == Direction::forward ? forward_batch(bridge_, std::move(seeds))
                                           : reverse_batch(starts_(first, n), std::move(seeds));
}

void AisRun::take(AisChains& chains) {
  const auto append = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
  append(chains.log_weight, batch_.log_weight);
  append(chains.start_energy, batch_.start_energy);
  append(chains.accepted, batch_.accepted);
  batch_ = {};
}

bool AisRun::run_direction(Direction direction, const std::atomic<bool>& stop, double seconds,
                           const Observer& observer) {
  AisChains& chains = direction == Direction::forward ? forward_ : reverse_;
  auto saved = Clock::now();
  while (count(chains) < plan_.chains) {
    if (batch_.seeds.empty()) begin_batch(direction);
    if (batch_.direction != direction) fail_damaged(state_, "its direction");
    anneal(bridge_, plan_.betas, eps_, plan_.options, batch_,
           [&](const AisBatch& batch, const AisStep& step) {
             const auto at = static_cast<size_t>(step.distribution) - 1;
             const auto n = static_cast<double>(batch.seeds.size());
             chains.difference[at] += n * step.difference;
             chains.acceptance[at] += n * step.acceptance;
             if (observer)
               observer({to_string(direction), work_done(), plan_.work(), step.beta, step.acceptance});
             if (stop) return false;
             if (std::chrono::duration<double>(Clock::now() - saved).count() > seconds) {
               save();
               saved = Clock::now();
             }
             return true;
           });
    if (batch_.done < plan_.distributions()) {
      save();
      return false;
    }
    take(chains);
  }
  return true;
}

bool AisRun::run(const std::atomic<bool>& stop, double seconds, const Observer& observer) {
  if (!pilot(stop, observer)) return false;
  for (const Direction direction : {Direction::forward, Direction::reverse})
    if (plan_.goes(direction) && !run_direction(direction, stop, seconds, observer)) return false;
  return true;
}

// One file, so that the parts always belong together: x of the batch at work as a tensor, the rest as JSON.
void AisRun::save() const {
  if (state_.empty()) return;
  const json head = {{"eps", eps_},
                     {"forward", to_json(forward_)},
                     {"reverse", to_json(reverse_)},
                     {"batch",
                      {{"direction", to_string(batch_.direction)},
                       {"seeds", batch_.seeds},
                       {"done", batch_.done},
                       {"log_weight", batch_.log_weight},
                       {"accepted", batch_.accepted},
                       {"start_energy", batch_.start_energy}}}};
  std::vector<io::NamedTensor> tensors;  // none between batches
  const Shape& s = batch_.x.shape();
  if (!batch_.seeds.empty()) tensors.push_back({"x", {s.n, s.c, s.h, s.w}, batch_.x.values()});
  io::write_checked_safetensors(state_, tensors,
                                {{"parameters", json_text(parameters_)}, {"state", json_text(head)}});
}

void AisRun::resume() {
  const io::SafetensorsFile file(state_);
  const auto object = [&](const char* key) {
    const auto found = file.metadata().find(key);
    if (found == file.metadata().end()) fail_damaged(state_, fmt::format("no {}", key));
    return JsonObject::parse(found->second, [&](const std::string& what) { fail_damaged(state_, what); });
  };
  const json before = object("parameters").values();
  const JsonObject head = object("state"), batch = head.object("batch");
  if (!io::checksum_is_right(file)) fail_damaged(state_, "its checksum is wrong");
  for (const auto& [key, value] : parameters_.items())
    if (before.value(key, json()) != value)
      fail("use the options it was started with, or another --out", "{}: {} is {} there, but {} here",
           state_.string(), key, json_text(before.value(key, json())), json_text(value));
  eps_ = head.get<std::vector<double>>("eps");
  forward_ = chains_from(head.object("forward"));
  reverse_ = chains_from(head.object("reverse"));
  batch_.direction =
      batch.at("direction") == to_string(Direction::reverse) ? Direction::reverse : Direction::forward;
  batch_.seeds = batch.get<std::vector<uint64_t>>("seeds");
  batch_.done = batch.get<int64_t>("done");
  batch_.log_weight = batch.get<std::vector<double>>("log_weight");
  batch_.accepted = batch.get<std::vector<int64_t>>("accepted");
  batch_.start_energy = batch.get<std::vector<double>>("start_energy");
  const size_t n = batch_.seeds.size(), k = static_cast<size_t>(plan_.distributions());
  const Shape shape = bridge_.images(static_cast<int64_t>(n));
  const auto* entry = file.find("x");
  const bool at_work = batch_.done > 0 && batch_.done <= plan_.distributions() &&
                       batch_.start_energy.size() == n && entry &&
                       entry->shape == std::vector<int64_t>{shape.n, shape.c, shape.h, shape.w};
  const bool between = n == 0 && !entry && batch_.done == 0;
  const bool whole = (at_work || between) && batch_.log_weight.size() == n && batch_.accepted.size() == n &&
                     eps_.size() == k && fits(forward_, k) && fits(reverse_, k);
  if (!whole) fail_damaged(state_, "lists of unequal length");
  if (between) return;
  batch_.x = Tensor(shape);
  std::ranges::copy(file.read(*entry), batch_.x.data());
}

}  // namespace mdsm::eval
