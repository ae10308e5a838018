// What a launcher says in environment variables: torchrun and by hand RANK, WORLD_SIZE, LOCAL_RANK,
// MASTER_ADDR and MASTER_PORT; mpirun OMPI_COMM_WORLD_*; srun SLURM_*.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace mdsm::distributed {

struct Launch {
  int rank = 0, size = 1;
  int local_rank = 0;  // on this host
  std::string host;    // where the ranks meet
  int port = 29500;
  bool store_is_there = false;  // torchrun's own process holds the meeting place, otherwise rank 0 does
  std::string prefix;           // of names there, another one after each restart
  std::string job;              // the same for all restarts of a job; empty: not known
  double join_seconds = 300;    // how long to wait for the others at the start
  double peer_seconds = 30;     // how long a rank may show no sign of life
};

using Environment = std::function<const char*(const char*)>;

// One process where no launcher has started more. Values that make no sense are usage errors.
Launch read_launch(const Environment& variable);
Launch read_launch();

}  // namespace mdsm::distributed
