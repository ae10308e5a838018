#include "eval/ais_run.h"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "core/error.h"
#include "core/json.h"

namespace mdsm::eval {
namespace {

using distributed::Part;
using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr uint64_t kChainRole = 0, kPilotRole = 2;

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

AisRun::AisRun(Bridge& bridge, AisPlan plan, Starts starts, json parameters, fs::path state,
               distributed::Communicator& world)
    : bridge_(bridge),
      plan_(std::move(plan)),
      starts_(std::move(starts)),
      parameters_(parse_json(json_text(parameters))),  // as they will come back: paths need not be UTF-8
      file_(std::move(state)),
      world_(world) {
  const auto k = static_cast<size_t>(plan_.distributions());
  for (AisChains* chains : {&state_.forward, &state_.reverse})
    chains->difference.resize(k), chains->acceptance.resize(k);
}

uint64_t AisRun::chain_seed(Direction direction, int64_t chain) const {
  return (plan_.seed << 32) + (static_cast<uint64_t>(direction) << 28) + static_cast<uint64_t>(chain);
}

int64_t AisRun::work_done() const {
  return ((plan_.goes(Direction::forward) + plan_.goes(Direction::reverse)) * plan_.pilots +
          state_.forward.count() + state_.reverse.count()) *
             plan_.distributions() +
         at_work_ * batch_.done;
}

// first: of chains, or of pilots.
AisBatch AisRun::some_chains(Direction direction, int64_t first, int64_t count, uint64_t role) const {
  AisBatch none;
  none.direction = direction;
  if (count == 0) return none;
  std::vector<uint64_t> seeds;
  for (int64_t i = 0; i < count; ++i) seeds.push_back(chain_seed(direction, first + i) + (role << 28));
  if (direction == Direction::forward) return forward_batch(bridge_, std::move(seeds));
  return reverse_batch(starts_(role == kPilotRole ? plan_.chains + first : first, count), std::move(seeds));
}

// The steps that all pilots of a direction have tried, (pilots,K).
std::vector<double> AisRun::pilots_of(Direction direction, const std::function<bool(int64_t)>& done) {
  const auto k = static_cast<size_t>(plan_.distributions());
  std::vector<Part> parts = distributed::equal_parts(static_cast<size_t>(plan_.pilots), world_.size());
  const Part own = world_.own_part(static_cast<size_t>(plan_.pilots));
  const auto tried = pilot_steps(
      bridge_, plan_.betas, plan_.options,
      some_chains(direction, static_cast<int64_t>(own.first), static_cast<int64_t>(own.count), kPilotRole),
      done);
  std::vector<double> all(static_cast<size_t>(plan_.pilots) * k);
  std::ranges::copy(tried, all.begin() + static_cast<int64_t>(own.first * k));
  for (Part& part : parts) part.first *= k, part.count *= k;
  world_.gather(all, parts);
  return all;
}

bool AisRun::pilot(const std::atomic<bool>& stop, const Observer& observer) {
  if (!state_.eps.empty()) return true;
  std::vector<double> eps(static_cast<size_t>(plan_.distributions()), plan_.options.eps);
  bool first = true, stopped = false;
  for (const Direction direction : {Direction::forward, Direction::reverse}) {
    if (plan_.pilots == 0 || !plan_.goes(direction)) continue;
    const auto tried = pilots_of(direction, [&](int64_t made) {
      const int64_t before = first ? 0 : plan_.distributions();
      if (observer) observer({"pilot", (before + made) * plan_.pilots, plan_.work(), bridge_.beta(), 0});
      stopped = world_.any(stop);
      return !stopped;
    });
    if (stopped) return false;
    const auto learnt = learnt_steps(tried, eps.size());
    for (size_t k = 0; k < eps.size(); ++k) eps[k] = first ? learnt[k] : std::min(eps[k], learnt[k]);
    first = false;
  }
  state_.eps = std::move(eps);
  save();  // the pilots' work is not lost, whatever happens to the chains
  return true;
}

void AisRun::begin_batch(Direction direction) {
  const int64_t first = chains(direction).count();
  at_work_ = std::min(plan_.batch * world_.size(), plan_.chains - first);
  const Part own = world_.own_part(static_cast<size_t>(at_work_));
  batch_ = some_chains(direction, first + static_cast<int64_t>(own.first), static_cast<int64_t>(own.count),
                       kChainRole);
}

std::vector<AisBatch> AisRun::received(const std::vector<std::string>& bytes, bool with_images) const {
  const auto parts = distributed::equal_parts(static_cast<size_t>(at_work_), world_.size());
  std::vector<AisBatch> found;
  for (size_t rank = 0; rank < bytes.size(); ++rank) {
    const std::string from = fmt::format("rank {}", rank);
    const AisBatch& one = found.emplace_back(ais_batch(bytes[rank], from, bridge_.images(1)));
    const size_t wanted = parts[rank].count, images = static_cast<size_t>(one.x.shape().n);
    if (one.seeds.size() != wanted || one.done != batch_.done || (with_images && images != wanted))
      fail("start all processes alike", "{} has sent {} chains, {} images and step {}; {} and {} are wanted",
           from, one.seeds.size(), images, one.done, wanted, batch_.done);
  }
  return found;
}

void AisRun::take_batch(AisChains& chains) {
  if (world_.alone())
    chains.take(batch_);
  else
    for (const AisBatch& part : received(world_.gather(ais_bytes(batch_, false)), false)) chains.take(part);
  batch_ = {};
  at_work_ = 0;
}

AisRun::Step AisRun::gathered(const AisStep& own, bool stop, bool save) {
  std::vector<Part> parts = distributed::equal_parts(static_cast<size_t>(at_work_), world_.size());
  size_t next = 0;
  for (Part& part : parts) {
    part = {next, 2 + 2 * part.count};
    next += part.count;
  }
  std::vector<double> values(next);
  const auto mine = values.begin() + static_cast<int64_t>(parts[static_cast<size_t>(world_.rank())].first);
  mine[0] = stop, mine[1] = save;
  std::ranges::copy(own.difference, std::ranges::copy(own.acceptance, mine + 2).out);
  world_.gather(values, parts);
  Step all;
  for (const Part& part : parts) {
    const auto begin = values.begin() + static_cast<int64_t>(part.first);
    const auto middle = begin + static_cast<int64_t>(part.count / 2 + 1),
               end = begin + static_cast<int64_t>(part.count);
    all.stop |= begin[0] > 0, all.save |= begin[1] > 0;
    all.acceptance.insert(all.acceptance.end(), begin + 2, middle);
    all.difference.insert(all.difference.end(), middle, end);
  }
  return all;
}

bool AisRun::run_direction(Direction direction, const std::atomic<bool>& stop, double seconds,
                           const Observer& observer) {
  AisChains& chains = direction == Direction::forward ? state_.forward : state_.reverse;
  auto saved = Clock::now();
  while (chains.count() < plan_.chains) {
    if (at_work_ == 0) begin_batch(direction);
    if (batch_.direction != direction)
      fail("remove it, or use --force to start again", "{}: damaged: its direction", file_.string());
    anneal(bridge_, plan_.betas, state_.eps, plan_.options, batch_,
           [&](const AisBatch&, const AisStep& step) {
             const bool late = std::chrono::duration<double>(Clock::now() - saved).count() > seconds;
             const Step all = gathered(step, stop, world_.first() && late);
             const auto at = static_cast<size_t>(step.distribution) - 1;
             // Chain by chain, so that the sums do not depend on who had which.
             for (const double value : all.difference) chains.difference[at] += value;
             for (const double value : all.acceptance) chains.acceptance[at] += value;
             if (observer)
               observer({to_string(direction), work_done(), plan_.work(), step.beta, mean(all.acceptance)});
             if (all.stop) return false;
             if (all.save) {
               save();
               saved = Clock::now();
             }
             return true;
           });
    if (batch_.done < plan_.distributions()) {
      save();
      return false;
    }
    take_batch(chains);
  }
  return true;
}

bool AisRun::run(const std::atomic<bool>& stop, double seconds, const Observer& observer) {
  if (!pilot(stop, observer)) return false;
  for (const Direction direction : {Direction::forward, Direction::reverse})
    if (plan_.goes(direction) && !run_direction(direction, stop, seconds, observer)) return false;
  return true;
}

void AisRun::save() {
  if (world_.alone()) {
    if (!file_.empty()) write_ais_state(file_, parameters_, state_, batch_);
    return;
  }
  AisBatch whole;
  if (at_work_ > 0) {
    const std::vector<std::string> parts = world_.gather_first(ais_bytes(batch_, true));
    if (world_.first()) whole = joined(received(parts, true));
  }
  if (world_.first() && !file_.empty()) write_ais_state(file_, parameters_, state_, whole);
}

void AisRun::resume() {
  const std::string bytes = world_.broadcast(world_.first() ? read_text(file_) : "");
  SavedAis saved = read_ais_state(file_, bytes, parameters_, bridge_.images(1), plan_.distributions());
  state_ = std::move(saved.state);
  at_work_ = static_cast<int64_t>(saved.batch.seeds.size());
  batch_ = world_.alone() ? std::move(saved.batch)
                          : part_of(saved.batch, world_.own_part(saved.batch.seeds.size()));
}

}  // namespace mdsm::eval
