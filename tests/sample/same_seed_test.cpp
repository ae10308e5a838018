// The promise of the whole folder: seed k gives the same image whatever the batch, the number of threads and
// its place, bit for bit, with every sampler and a real network.
#include <algorithm>

#include "core/threads.h"
#include "engine/registry/registry.h"
#include "moments.h"
#include "restore/restore.h"
#include "sample/fast.h"
#include "sample/hmc.h"
#include "sample/langevin.h"
#include "sample/multistep.h"
#include "small_network.h"

namespace mdsm::sample {
namespace {
using namespace test;

struct Named {
  const char* name;
  std::function<Samples(const Run&)> sample;
};

std::vector<Named> samplers() {
  const auto schedule = make_schedule({Annealing::exponential, 100, 1, 4, 10, 4});
  HmcOptions short_hmc;
  short_hmc.leapfrog = 3;
  FastOptions fast;
  fast.sigma_end = 0.2;
  return {{"annealed", [=](const Run& run) { return annealed_langevin(run, schedule); }},
          {"langevin",
           [](const Run& run) {
             return langevin(run, {1, 20, 5});
           }},
          {"mala", [](const Run& run) { return mala(run, constant_schedule(1, 15)); }},
          {"hmc", [=](const Run& run) { return hmc(run, schedule, short_hmc); }},
          {"fast", [=](const Run& run) { return fast_blind(run, fast); }},
          {"multistep", [](const Run& run) { return multistep(run); }},
          {"ode", [](const Run& run) { return ode(run); }},
          {"inpaint",
           [=](const Run& run) {
             const Tensor images(run.model.images(static_cast<int64_t>(run.seeds.size())), 0.3f);
             return restore::inpaint_annealed(run, images, image::box_mask({2, 2, 4, 4}, 8, 8, "images"),
                                              schedule);
           }},
          {"restore", [=](const Run& run) {
             const Tensor means(run.model.images(static_cast<int64_t>(run.seeds.size())), 0.3f);
             return restore::restore(run, *restore::block_mean_measurement(2), means, fast);
           }}};
}

TEST(SameSeed, SameImageWhateverBatchThreadsAndPlace) {
  auto parameters = network::Parameters::initialised(small_spec(), 5);
  for (float& value : parameters.values()) value *= 2;
  const auto engine = engine::make_engine({}, parameters);
  const auto seeds = seeds_from(10, 64);
  for (const auto& [name, sample] : samplers()) {
    set_thread_count(1);
    const auto all = sample({*engine, seeds});
    for (const int threads : {1, 2})
      for (const size_t batch : {size_t{1}, size_t{7}, size_t{64}}) {
        set_thread_count(threads);
        std::vector<uint64_t> reversed(seeds.rbegin(), seeds.rend());
        for (size_t first = 0; first < 64; first += batch * (batch == 1 ? 9 : 1)) {
          const size_t count = std::min(batch, 64 - first);
          const auto part = sample({*engine, std::span(reversed).subspan(first, count)});
          for (size_t i = 0; i < count; ++i)
            ASSERT_TRUE(std::ranges::equal(part.x.view().image(static_cast<int64_t>(i)),
                                           all.x.view().image(static_cast<int64_t>(63 - first - i))))
                << name << ", batch " << batch << ", threads " << threads << ", place " << first + i;
        }
      }
    set_thread_count(0);
    EXPECT_FALSE(std::ranges::equal(all.x.view().image(0), all.x.view().image(1))) << name;
  }
}

TEST(SameSeed, StreamsOfOneSampleDiffer) {
  EXPECT_NE(sample_stream(1, Draw::start).bits(), sample_stream(1, Draw::step).bits());
  EXPECT_NE(sample_stream(1, Draw::step, 0).bits(), sample_stream(1, Draw::step, 1).bits());
  EXPECT_NE(sample_stream(1, Draw::step, 0).bits(), sample_stream(2, Draw::step, 0).bits());
}

}  // namespace
}  // namespace mdsm::sample
