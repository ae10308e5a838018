// Our side of a benchmark as a process of its own (`mdsm bench --worker`), so that memory, threads and
// instruction set are its own and the peer meets the same conditions. One JSON object a line in, one out:
//
//   {"do": "setup", "folder": F, "network": .., "width": .., "channels": .., "size": .., "head": ..,
//    "sigma0": .., "batch": .., "threads": .., "seed": .., "lr": .., "ema": .., "eps": ..,
//    "exact": .., "precision": ..}
//        reads weights, clean, noisy, sigma and weight from F/*.npy (problem.h); answers {"name": ..}
//   {"do": "train", "repeat": K}, {"do": "langevin", "repeat": K}, {"do": "langevin-input", "repeat": K}
//        {"seconds": of one step}; the last two differ only in a peer that can waste weight gradients
//   {"do": "likelihood", "repeat": K}     ours only: {"seconds": of one update of maximum likelihood}
//   {"do": "verify", "folder": F}     writes energy, grad_x, residual and gradient to F/*.npy
//   {"do": "profile", "task": "training" or "langevin", "repeat": K}     ours only
//        {"seconds": .., "layers": [{"layer", "pass", "seconds", "flop", "calls"}]}
//   {"do": "peak", "threads": K}      ours only: {"isa": .., "peaks": [{"isa", "gflops"}]}
//   {"do": "quit"}
//
// Every answer has "peak_rss", the most memory the process ever had in bytes; an error is {"error": text}.
#pragma once

#include <iosfwd>

namespace mdsm::bench {

// Answers until "quit" or the end of the input.
void serve_benchmark(std::istream& in, std::ostream& out);

}  // namespace mdsm::bench
