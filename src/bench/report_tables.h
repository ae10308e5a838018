// The sections of the report, each with its heading; empty where nothing was measured for one.
#pragma once

#include <string>

#include "bench/measure.h"

namespace mdsm::bench {

// report_steps.cpp
std::string training_table(const BenchResult& result);
std::string likelihood_table(const BenchResult& result);
std::string langevin_table(const BenchResult& result);
std::string bfloat16_table(const BenchResult& result);
std::string direct_table(const BenchResult& result);

// report_layers.cpp
std::string pass_table(const BenchResult& result);
std::string layer_table(const BenchResult& result);

// report_more.cpp
std::string mode_table(const BenchResult& result);
std::string fastest_table(const BenchResult& result);
std::string busy_table(const BenchResult& result);
std::string growth_table(const BenchResult& result);
std::string verification_table(const BenchResult& result);

}  // namespace mdsm::bench
