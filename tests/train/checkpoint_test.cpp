#include "train/checkpoint.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include "core/error.h"
#include "io/safetensors.h"
#include "small_network.h"
#include "train/tiny_run.h"

namespace mdsm::train {
namespace {

constexpr engine::StateVector kSaved[] = {engine::StateVector::weights, engine::StateVector::ema,
                                          engine::StateVector::adam_m, engine::StateVector::adam_v};

std::unique_ptr<engine::TrainableEnergy> engine_with_noise(uint64_t seed) {
  auto engine = engine::make_native_engine(network::Parameters::initialised(test::small_spec(), seed));
  for (const engine::StateVector which : kSaved) {
    auto values = vector_of(*engine, which);
    RandomStream(seed, Purpose::check, static_cast<uint64_t>(which)).fill_uniform(values, 0, 1);
    engine->write(which, values);
  }
  return engine;
}

StateHead load(const fs::path& path, engine::TrainableEnergy& engine) {
  const StateFile file(path, engine.spec());
  file.load(engine, *make_objective("mdsm"));
  return file.head();
}

void save(const fs::path& path, const engine::TrainableEnergy& engine, const StateHead& head = {}) {
  save_state(path, engine, *make_objective("mdsm"), head);
}

TEST(Checkpoint, GoesThroughTheFileBitForBit) {
  const TemporaryFolder folder;
  const auto saved = engine_with_noise(1);
  StateHead head;
  head.step = 1234;
  head.seconds = 0.1;
  head.options_hash = "abc";
  head.data_size = 60000;
  save(folder / "state", *saved, head);

  const auto loaded = engine_with_noise(2);
  const StateHead back = load(folder / "state", *loaded);
  EXPECT_EQ(back.step, 1234);
  EXPECT_EQ(back.seconds, 0.1);
  EXPECT_EQ(back.options_hash, "abc");
  EXPECT_EQ(back.data_size, 60000);
  for (const engine::StateVector which : kSaved)
    EXPECT_EQ(vector_of(*saved, which), vector_of(*loaded, which));
}

TEST(Checkpoint, RefusesWhatIsNotItsOwn) {
  const TemporaryFolder folder;
  const auto engine = engine_with_noise(1);
  const auto other = engine::make_native_engine(network::Parameters::initialised(
      test::small_spec(network::Network::res6, network::Head::quadratic, 1, 8), 0));
  save(folder / "state", *engine);
  EXPECT_THROW(load(folder / "state", *other), Error);
  EXPECT_THROW(load(folder / "missing", *engine), Error);
  io::write_safetensors(folder / "other", {}, {});
  EXPECT_THROW(load(folder / "other", *engine), Error);
  io::write_safetensors(folder / "bad", {}, {{"mdsm_state", "{\"step\": \"x\"}"}, {"spec", "[]"}});
  EXPECT_THROW(load(folder / "bad", *engine), Error);
  const std::string whole = read_text(folder / "state");
  write_file(folder / "cut", std::string_view(whole).substr(0, whole.size() / 2));
  EXPECT_THROW(load(folder / "cut", *engine), Error);
}

// A disk that takes no more: here by a limit on the size of files; command_test.py fills a real one if it
// can.
TEST(Checkpoint, AFullDiskLeavesTheLastGoodState) {
  const TemporaryFolder folder;
  const auto engine = engine_with_noise(1);
  StateHead head;
  head.step = 1;
  save(folder / "state", *engine, head);
  const std::string before = read_text(folder / "state");

  const auto former_handler = signal(SIGXFSZ, SIG_IGN);
  rlimit former{};
  getrlimit(RLIMIT_FSIZE, &former);
  const rlimit small{before.size() / 2, former.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  head.step = 2;
  EXPECT_THROW(save(folder / "state", *engine, head), Error);
  setrlimit(RLIMIT_FSIZE, &former);
  signal(SIGXFSZ, former_handler);

  EXPECT_EQ(read_text(folder / "state"), before);
  EXPECT_EQ(load(folder / "state", *engine).step, 1);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1);  // no rests of the failed write
}

TEST(Checkpoint, TellsFiniteStatesFromOthers) {
  const auto engine = engine_with_noise(1);
  EXPECT_TRUE(state_is_finite(*engine));
  auto values = vector_of(*engine, engine::StateVector::adam_v);
  values.back() = std::numeric_limits<float>::quiet_NaN();
  engine->write(engine::StateVector::adam_v, values);
  EXPECT_FALSE(state_is_finite(*engine));
}

}  // namespace
}  // namespace mdsm::train
