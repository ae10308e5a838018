#include "report/sample_store.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "core/error.h"
#include "io/npy.h"
#include "temporary_folder.h"

namespace mdsm::report {
namespace {

using nlohmann::json;

// Everything about a sample follows from its seed, as in life.
SampleSet samples(const std::vector<uint64_t>& seeds) {
  SampleSet set;
  set.seeds = seeds;
  set.x = Tensor({static_cast<int64_t>(seeds.size()), 1, 2, 2});
  set.points = 2;
  set.draw_count = 3;
  set.trace_steps = {0, 5};
  set.trace_temperature = {10, 0};
  for (size_t i = 0; i < seeds.size(); ++i) {
    const auto value = static_cast<float>(seeds[i]);
    for (float& pixel : set.x.view().image(static_cast<int64_t>(i))) pixel = value / 100;
    set.energy.push_back(value);
    set.sigma.push_back(value / 7);
    set.evaluations.push_back(static_cast<int64_t>(seeds[i]) + 1);
    for (int k = 0; k < 2; ++k) set.energy_trace.push_back(value + static_cast<float>(k));
    set.sigma_trace.insert(set.sigma_trace.end(), {value, std::nanf("")});
    for (int k = 0; k < 3; ++k) set.draws.push_back(value * static_cast<float>(k));
  }
  return set;
}

const json kParameters = {{"eps", 0.02}, {"sampler", "fast"}};

void expect_same(const SampleSet& found, const SampleSet& wanted) {
  EXPECT_EQ(found.seeds, wanted.seeds);
  EXPECT_TRUE(std::ranges::equal(found.x.values(), wanted.x.values()));
  EXPECT_EQ(found.energy, wanted.energy);
  EXPECT_EQ(found.sigma, wanted.sigma);
  EXPECT_EQ(found.evaluations, wanted.evaluations);
  EXPECT_EQ(found.energy_trace, wanted.energy_trace);
  EXPECT_EQ(found.draws, wanted.draws);
  EXPECT_EQ(found.trace_steps, wanted.trace_steps);
  EXPECT_EQ(found.sigma_trace.size(), wanted.sigma_trace.size());
}

TEST(SampleStore, PartsBecomeOneSetInTheOrderAskedFor) {
  const TemporaryFolder folder;
  const std::vector<uint64_t> wanted = {9, 1, 4, 2};
  SampleStore store(folder.path() / "out", kParameters, false, false);
  store.begin();
  store.add(samples({1, 2}));
  EXPECT_EQ(store.missing(wanted), (std::vector<uint64_t>{9, 4}));
  EXPECT_THROW(store.all(wanted), Error);
  store.add(samples({4, 9}));
  const SampleSet all = store.all(wanted);
  expect_same(all, samples(wanted));
  store.finish(all, {});
  EXPECT_EQ(io::read_npy(folder.path() / "out/samples.npy").shape, (std::vector<int64_t>{4, 1, 2, 2}));
  EXPECT_FALSE(fs::exists(folder.path() / "out/parts"));
}

TEST(SampleStore, GoesOnFromPartsAndFromAFinishedSet) {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "out";
  {
    SampleStore store(out, kParameters, false, false);
    store.begin();
    store.add(samples({0, 1}));
  }
  EXPECT_THROW(SampleStore(out, kParameters, false, false), Error);
  {
    SampleStore store(out, kParameters, true, false);
    EXPECT_EQ(store.missing(std::vector<uint64_t>{0, 1, 2}), (std::vector<uint64_t>{2}));
    store.begin();
    store.add(samples({2}));
    store.finish(store.all(std::vector<uint64_t>{0, 1, 2}), {});
  }
  SampleStore store(out, kParameters, true, false);
  store.begin();
  store.add(samples({5}));
  // More has been drawn than is asked for: all of it, sorted.
  expect_same(store.all(std::vector<uint64_t>{5, 1}), samples({0, 1, 2, 5}));
}

// Its lists would not be read again from the header of one part.
TEST(SampleStore, GoesOnFromALargeFinishedSet) {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "out";
  std::vector<uint64_t> seeds(40'010);
  std::iota(seeds.begin(), seeds.end(), uint64_t{0});
  {
    SampleStore store(out, kParameters, false, false);
    store.begin();
    store.finish(samples(seeds), {});
  }
  {
    SampleStore store(out, kParameters, true, false);
    store.begin();
    EXPECT_TRUE(fs::exists(out / "parts/000002.safetensors"));
    store.add(samples({50'000}));
  }
  fs::remove(out / "samples.json");  // the parts alone have all of it
  seeds.push_back(50'000);
  SampleStore store(out, kParameters, true, false);
  expect_same(store.all(seeds), samples(seeds));
}

TEST(SampleStore, APartIsOneFile) {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "out";
  {
    SampleStore store(out, kParameters, false, false);
    store.begin();
    store.add(samples({0}));
    store.add(samples({1}));
  }
  fs::remove(out / "parts/000001.safetensors");
  {
    const SampleStore store(out, kParameters, true, false);
    EXPECT_EQ(store.missing(std::vector<uint64_t>{0, 1}), (std::vector<uint64_t>{1}));
  }
  std::string bytes = read_text(out / "parts/000000.safetensors");
  bytes.back() ^= 1;
  write_file(out / "parts/000000.safetensors", bytes);
  EXPECT_ERROR(SampleStore(out, kParameters, true, false), "checksum");
}

TEST(SampleStore, OneProcessAtATime) {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "out";
  SampleStore store(out, kParameters, false, false);
  SampleStore other(out, kParameters, true, false);  // nothing is there yet, for neither
  store.begin();
  EXPECT_ERROR(other.begin(), "another process is drawing samples");
  EXPECT_ERROR(SampleStore(out, kParameters, true, false), "another process is drawing samples");
  store.add(samples({0}));
  store.finish(store.all(std::vector<uint64_t>{0}), {});
}

// Both found no folder; the one that is refused leaves alone what the other has drawn there.
TEST(SampleStore, WhoIsRefusedTouchesNothing) {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "out";
  SampleStore store(out, kParameters, false, false);
  {
    SampleStore other(out, kParameters, false, false);
    store.begin();
    store.add(samples({0}));
    EXPECT_ERROR(other.begin(), "another process is drawing samples");
  }
  EXPECT_TRUE(fs::exists(out / "parts/000000.safetensors"));
  store.add(samples({1}));
  EXPECT_TRUE(fs::exists(out / "parts/000001.safetensors"));
}

TEST(SampleStore, DrawnPartsWithoutTheirParametersAreNotThrownAway) {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "out";
  {
    SampleStore store(out, kParameters, false, false);
    store.begin();
    store.add(samples({0}));
  }
  fs::remove(out / "parts/run.json");
  EXPECT_ERROR(SampleStore(out, kParameters, false, false), "holds samples already");
  EXPECT_ERROR(SampleStore(out, kParameters, true, false), "run.json");
  EXPECT_TRUE(fs::exists(out / "parts/000000.safetensors"));
}

TEST(SampleStore, PartsOfAnotherCallAreRefused) {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "out", elsewhere = folder.path() / "elsewhere";
  json other = kParameters;
  other["eps"] = 0.03;
  for (const auto& [where, parameters] : {std::pair{out, kParameters}, {elsewhere, other}}) {
    SampleStore store(where, parameters, false, false);
    store.begin();
    store.add(samples({0}));
  }
  fs::copy_file(elsewhere / "parts/000000.safetensors", out / "parts/000001.safetensors");
  EXPECT_ERROR(SampleStore(out, kParameters, true, false), "eps is 0.03 there, but 0.02 here");
}

TEST(SampleStore, AFinishedSetOfOtherArraysIsRefused) {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "out", elsewhere = folder.path() / "elsewhere";
  for (const auto& [where, seeds] : {std::pair{out, std::vector<uint64_t>{0, 1}}, {elsewhere, {7, 8}}}) {
    SampleStore store(where, kParameters, false, false);
    store.begin();
    store.add(samples(seeds));
    store.finish(store.all(seeds), {});
  }
  { const SampleStore as_it_is(out, kParameters, true, false); }
  for (const char* name : {"samples.npy", "samples-trace.npy", "samples-draws.npy"}) {
    const std::string bytes = read_text(out / name);
    write_file(out / name, read_text(elsewhere / name));
    EXPECT_ERROR(SampleStore(out, kParameters, true, false), "not those it was written with");
    std::string flipped = bytes;
    flipped.back() ^= 1;
    write_file(out / name, flipped);
    EXPECT_ERROR(SampleStore(out, kParameters, true, false), "not those it was written with");
    write_file(out / name, bytes);
  }
  const std::string list = read_text(out / "samples.json");
  json values = json::parse(list);
  values["seeds"] = {1, 0};
  write_file(out / "samples.json", values.dump());
  EXPECT_ERROR(SampleStore(out, kParameters, true, false), "not those it was written with");
}

TEST(SampleStore, SamplesWrittenMeanwhileAreNotReplaced) {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "out";
  SampleStore late(out, kParameters, false, false);
  {
    SampleStore store(out, kParameters, false, false);
    store.begin();
    store.add(samples({0}));
    store.finish(store.all(std::vector<uint64_t>{0}), {});
  }
  EXPECT_ERROR(late.begin(), "meanwhile");
}

// A kill while the whole set is replaced: whatever is half there, the parts have all.
TEST(SampleStore, AHalfReplacedSetIsNotRead) {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "out";
  {
    SampleStore store(out, kParameters, false, false);
    store.begin();
    store.add(samples({0, 1}));
    store.finish(store.all(std::vector<uint64_t>{0, 1}), {});
  }
  const std::string list = read_text(out / "samples.json");
  {
    SampleStore store(out, kParameters, true, false);
    store.begin();
    store.add(samples({7, 8}));
  }
  io::write_npy(out / "samples.npy", {2, 1, 2, 2}, std::vector<float>(8, 0.5f));  // of other seeds
  write_file(out / "samples.json", list);
  SampleStore store(out, kParameters, true, false);
  expect_same(store.all(std::vector<uint64_t>{0, 1, 7, 8}), samples({0, 1, 7, 8}));
}

TEST(SampleStore, OtherParametersAreRefused) {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "out";
  {
    SampleStore store(out, kParameters, false, false);
    store.begin();
    store.add(samples({0}));
    store.finish(store.all(std::vector<uint64_t>{0}), {});
  }
  json other = kParameters;
  other["eps"] = 0.03;
  try {
    const SampleStore store(out, other, true, false);
    ADD_FAILURE() << "other samples were mixed in";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("eps is 0.02 there, but 0.03 here"), std::string::npos)
        << error.what();
  }
  json guided = kParameters;
  guided["guide"] = "weak";
  EXPECT_ERROR(SampleStore(out, guided, true, false), "--guidance 0 goes on");
  // Replacing: the old set stays until the new one is whole; an interrupted one can be gone on with.
  {
    SampleStore store(out, other, false, true);
    store.begin();
    store.add(samples({3}));
  }
  EXPECT_EQ(io::read_npy(out / "samples.npy").shape[0], 1);
  SampleStore store(out, other, true, false);
  EXPECT_EQ(store.missing(std::vector<uint64_t>{0, 3}), (std::vector<uint64_t>{0}));
}

TEST(SampleStore, WhatWasGivenOnceIsNotLeftOut) {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "out";
  json guided = kParameters;
  guided["guide"] = "weak";
  {
    SampleStore store(out, guided, false, false);
    store.begin();
    store.add(samples({0}));
  }
  EXPECT_ERROR(SampleStore(out, kParameters, true, false), "guide is \"weak\" there, but null here");
}

TEST(SampleStore, AFailureBeforeTheFirstBatchLeavesNothing) {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "out";
  {
    SampleStore store(out, kParameters, false, false);
    store.begin();
    EXPECT_TRUE(fs::exists(out / "parts/run.json"));
  }
  EXPECT_FALSE(fs::exists(out));
}

}  // namespace
}  // namespace mdsm::report
