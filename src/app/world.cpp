#include "app/world.h"

#include <algorithm>

#include "app/version.h"
#include "core/error.h"
#include "core/json.h"
#include "core/log.h"
#include "core/progress.h"
#include "engine/registry/registry.h"
#include "engine/registry/torch_loader.h"

namespace mdsm::app {
namespace {

using nlohmann::json;

std::string text_or_none(const json& value) { return value.is_null() ? "none" : json_text(value); }

// What a rank has other than rank 0; empty where nothing is.
std::string difference(const json& first, const json& own, int rank) {
  for (const auto& [key, value] : first.items())
    if (own.value(key, json()) != value)
      return fmt::format("rank {} has another {}: {}, rank 0 has {}", rank, key,
                         text_or_none(own.value(key, json())), text_or_none(value));
  for (const auto& [key, value] : own.items())
    if (!first.contains(key))
      return fmt::format("rank {} has {} {}, rank 0 has none", rank, key, text_or_none(value));
  return "";
}

int run_together(distributed::Communicator& world,
                 const std::function<int(distributed::Communicator&)>& body) {
  try {
    check_same(world, {{"native engine (MDSM_ISA chooses one)", engine::native_engine_version()}});
    return body(world);
  } catch (const Error& error) {
    world.abort(error.message());
    if (world.first()) throw;
    throw Error(error.kind(), fmt::format("(rank {}) {}", world.rank(), error.message()), error.hint());
  } catch (const std::exception& error) {
    world.abort(error.what());
    throw;
  }
}

}  // namespace

int with_world(const std::string& command, bool together,
               const std::function<int(distributed::Communicator&)>& body) {
  const distributed::Launch launch = distributed::read_launch();
  if (launch.size == 1) return body(distributed::alone());
  if (!together)
    fail_usage("start one process; train, sample, evaluate, likelihood and denoise share their work",
               "mdsm {} is for one process, and {} were started", command, launch.size);
  const std::string version = version_text().substr(0, version_text().find('\n'));
  if (launch.rank > 0) Progress::leave_to_others();
  const std::unique_ptr<distributed::Communicator> world = engine::join_processes(launch, version);
  return run_together(*world, body);
}

std::string own_device(const distributed::Communicator& world, const std::string& device) {
  if (world.alone() || device != "cuda") return device;
  return fmt::format("cuda:{}", distributed::read_launch().local_rank);
}

void check_same(distributed::Communicator& world, const json& what) {
  if (world.alone()) return;
  const json first = parse_json(world.broadcast(json_text(what)));
  const std::string own = difference(first, parse_json(json_text(what)), world.rank());
  if (!world.any(!own.empty())) return;
  const std::vector<std::string> all = world.gather(own);
  // Whoever ends first ends the others: not before all of them know why.
  try {
    world.barrier();
  } catch (const Error&) {  // another rank, which knows too, has ended meanwhile
  }
  for (const std::string& found : all)
    if (!found.empty()) fail_usage("start all processes alike, on the same data", "{}", found);
}

json comparable(const json& options) {
  // Places on a host's own disk, whose contents are compared, and how it computes.
  static constexpr const char* kOwn[] = {"threads", "out",     "device",      "data",  "init",
                                         "model",   "samples", "checkpoints", "guide", "class-by"};
  json found = json::object();
  for (const auto& [name, value] : options.items())
    if (std::ranges::none_of(kOwn, [&, &key = name](const char* own) { return key == own; }))
      found["option --" + name] = value;
  return found;
}

}  // namespace mdsm::app
