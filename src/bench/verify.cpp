#include "bench/verify.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "bench/native_steps.h"
#include "bench/problem.h"
#include "core/error.h"
#include "core/isa.h"
#include "engine/native/kernels.h"

namespace mdsm::bench {
namespace {

constexpr int64_t kSmallBatch = 8;

engine::Difference compare(const std::string& what, const std::vector<float>& tested,
                           const std::vector<float>& reference, double tolerance) {
  engine::Difference difference{what, 0, tolerance, ""};
  double squares = 0, scale = 0, largest = -1;
  for (size_t i = 0; i < tested.size(); ++i) {
    const double a = tested[i], b = reference[i], d = a - b;
    squares += d * d;
    scale += b * b;
    if (!(std::fabs(d) <= largest)) {
      largest = std::fabs(d);
      difference.worst_place = fmt::format("{}: {:g} and {:g}", i, a, b);
    }
  }
  difference.relative = squares == 0 ? 0 : std::sqrt(squares / scale);
  return difference;
}

// 0 for the same bits, infinity otherwise.
engine::Difference compare_bits(const fs::path& a, const fs::path& b) {
  engine::Difference difference{"second run", 0, 0, ""};
  for (const char* name : {"energy.npy", "grad_x.npy", "residual.npy", "gradient.npy"})
    if (read_bytes(a / name) != read_bytes(b / name)) {
      difference.relative = std::numeric_limits<double>::infinity();
      difference.worst_place = name;
    }
  return difference;
}

// One problem, and what each side made of it.
class Trial {
 public:
  Trial(const Configuration& config, uint64_t seed) : config_(config) {
    write_problem(folder_.path(), config, seed);
  }

  // Runs a side in a process of its own; returns what it calls itself.
  std::string run(const Contestant& side, const SideOptions& options, const std::string& name) {
    const fs::path out = folder_.path() / name;
    make_folder(out);
    Party party(side);
    party.set_up(folder_.path(), config_, options);
    party.ask("verify", {{"folder", out.string()}});
    return party.version();
  }

  std::vector<engine::Difference> compare(const std::string& tested,
                                          double tolerance = kVerifyTolerance) const {
    return compare_folders(folder_.path() / tested, folder_.path() / "reference", config_, tolerance);
  }
  engine::Difference compare_bits(const std::string& a, const std::string& b) const {
    return bench::compare_bits(folder_.path() / a, folder_.path() / b);
  }

 private:
  Configuration config_;
  ScratchFolder folder_;
};

Contestant with_isa(Contestant side, const std::string& isa) {
  side.environment.emplace_back("MDSM_ISA", isa);
  return side;
}

}  // namespace

bool Verification::ok() const {
  return std::ranges::all_of(differences, [](const engine::Difference& d) { return d.ok(); });
}

std::vector<engine::Difference> compare_folders(const fs::path& tested, const fs::path& reference,
                                                const Configuration& config, double tolerance) {
  const std::pair<const char*, int64_t> vectors[] = {{"energy", config.batch},
                                                     {"grad_x", config.spec.input(config.batch).count()},
                                                     {"residual", config.batch},
                                                     {"gradient", network::parameter_count(config.spec)}};
  std::vector<engine::Difference> differences;
  for (const auto& [name, count] : vectors) {
    const std::string file = std::string(name) + ".npy";
    differences.push_back(
        compare(name, read_values(tested / file, count), read_values(reference / file, count), tolerance));
  }
  return differences;
}

std::vector<Verification> verify_sides(const Configuration& config, const Contestant& ours,
                                       const Contestant* peer, const SideOptions& options, bool bfloat16) {
  const Contestant reference = peer ? *peer : with_isa(ours, "generic");
  Configuration small = config;
  small.batch = std::min(small.batch, kSmallBatch);
  std::vector<Verification> results;

  Trial quick(small, options.seed);
  const std::string said = quick.run(reference, options, "reference"), against = peer ? said : "generic";
  for (const Isa each : available_isas()) {
    const std::string isa = isa_name(each);
    quick.run(with_isa(ours, isa), options, isa);
    results.push_back({small, isa, against, quick.compare(isa)});
  }

  Trial whole(config, options.seed);
  whole.run(reference, options, "reference");
  const std::string isa = engine::native::kernels().isa;
  SideOptions direct = options;
  direct.exact = true;
  whole.run(ours, direct, "direct");
  results.push_back({config, isa + ", direct", against, whole.compare("direct")});
  const auto twice = [&](const std::string& kernels, const SideOptions& side, double tolerance) {
    whole.run(ours, side, kernels);
    whole.run(ours, side, kernels + " again");
    results.push_back({config, kernels, against, whole.compare(kernels, tolerance)});
    results.back().differences.push_back(whole.compare_bits(kernels, kernels + " again"));
  };
  if (bfloat16) {
    SideOptions rounded = options;
    rounded.precision = engine::Precision::bfloat16;
    twice("bfloat16", rounded, kBfloat16Tolerance);
  }
  twice(isa, options, kVerifyTolerance);
  return results;
}

}  // namespace mdsm::bench
