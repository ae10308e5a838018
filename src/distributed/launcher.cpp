#include "distributed/launcher.h"

#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <fstream>
#include <string_view>

#include "core/error.h"

namespace mdsm::distributed {
namespace {

// The variables of one way to start processes.
struct Names {
  const char *rank, *size, *local;
};
// In this order: torchrun may itself be started by srun, once for each host.
constexpr Names kLaunchers[] = {
    {"RANK", "WORLD_SIZE", "LOCAL_RANK"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"}};

class Reader {
 public:
  explicit Reader(const Environment& variable) : variable_(variable) {}

  std::string text(const char* name) const {
    const char* value = variable_(name);
    return value ? value : "";
  }
  bool has(const char* name) const { return !text(name).empty(); }

  int number(const char* name, int low, int high) const {
    const std::string value = text(name);
    if (value.empty())
      fail_usage("a launcher such as torchrun sets it; for one process alone unset the others",
                 "{} is not set", name);
    int result = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result);
    if (error != std::errc() || end != value.data() + value.size() || result < low || result > high)
      fail_usage(fmt::format("a launcher such as torchrun sets it to {} to {}", low, high),
                 "{}='{}' makes no sense", name, value);
    return result;
  }

 private:
  const Environment& variable_;
};

constexpr int kMostRanks = 1 << 20;

// "node[003-007,9],other" starts with node003.
std::string first_host(const std::string& list) {
  const size_t end = list.find_first_of("[,");
  if (end == std::string::npos || list[end] == ',') return list.substr(0, end);
  const size_t stop = list.find_first_of("-,]", end);
  return list.substr(0, end) + list.substr(end + 1, stop == std::string::npos ? stop : stop - end - 1);
}

// Host where rank 0 is; empty: not known.
std::string meeting_host(const Reader& read, const Names& by) {
  if (read.has("MASTER_ADDR")) return read.text("MASTER_ADDR");
  if (std::string_view(by.rank) == "SLURM_PROCID") return first_host(read.text("SLURM_STEP_NODELIST"));
  const bool one_host = read.text("OMPI_COMM_WORLD_LOCAL_SIZE") == read.text(by.size);
  return std::string_view(by.rank) == "OMPI_COMM_WORLD_RANK" && one_host ? "127.0.0.1" : "";
}

// Jobs of one machine should not meet each other.
int meeting_port(const Reader& read) {
  if (read.has("MASTER_PORT")) return read.number("MASTER_PORT", 1, 65535);
  if (read.has("SLURM_JOB_ID")) return 20000 + read.number("SLURM_JOB_ID", 0, 2'000'000'000) % 10000;
  return 29500;
}

// When the parent was started, in ticks since the machine was: with its number, one process for certain.
std::string start_of_parent() {
  std::ifstream file(fmt::format("/proc/{}/stat", ::getppid()));
  std::string text((std::istreambuf_iterator<char>(file)), {});
  size_t at = text.rfind(')');
  for (int field = 2; at != std::string::npos && field < 22; ++field) at = text.find(' ', at + 1);
  return at == std::string::npos ? "" : text.substr(at + 1, text.find(' ', at + 1) - at - 1);
}

// torchrun is the parent of its workers and outlives their restarts; --rdzv_id names a job on several hosts.
std::string job_of(const Reader& read) {
  if (!read.has("TORCHELASTIC_RUN_ID")) return "";
  const std::string id = read.text("TORCHELASTIC_RUN_ID");
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  return fmt::format("{} {} {} {}", id, host, ::getppid(), start_of_parent());
}

double seconds_of(const Reader& read, const char* name, double otherwise) {
  return read.has(name) ? read.number(name, 1, 1'000'000) : otherwise;
}

void read_torchrun(const Reader& read, Launch& launch) {
  launch.job = job_of(read);
  launch.store_is_there = read.text("TORCHELASTIC_USE_AGENT_STORE") == "True";
  if (read.has("TORCHELASTIC_RESTART_COUNT"))
    launch.prefix = fmt::format("mdsm/attempt_{}/", read.number("TORCHELASTIC_RESTART_COUNT", 0, 1 << 20));
}

}  // namespace

Launch read_launch(const Environment& variable) {
  const Reader read(variable);
  Launch launch;
  launch.prefix = "mdsm/";
  for (const Names& by : kLaunchers) {
    if (!read.has(by.rank) && !read.has(by.size)) continue;
    if (std::string_view(by.rank) == "SLURM_PROCID" && !read.has(by.size))
      continue;  // a batch script, not srun
    launch.size = read.number(by.size, 1, kMostRanks);
    if (launch.size == 1) return launch;
    launch.rank = read.number(by.rank, 0, launch.size - 1);
    if (read.has(by.local)) launch.local_rank = read.number(by.local, 0, launch.size - 1);
    launch.host = meeting_host(read, by);
    if (launch.host.empty())
      fail_usage("set it to the host of rank 0, on all of them; torchrun does that by itself",
                 "{} processes have no place to meet: MASTER_ADDR is not set", launch.size);
    launch.port = meeting_port(read);
    read_torchrun(read, launch);
    launch.join_seconds = seconds_of(read, "MDSM_JOIN_TIMEOUT", launch.join_seconds);
    launch.peer_seconds = seconds_of(read, "MDSM_PEER_TIMEOUT", launch.peer_seconds);
    break;
  }
  return launch;
}

Launch read_launch() { return read_launch(std::getenv); }

}  // namespace mdsm::distributed
