// A training run small enough for tests: 200 images of soft blobs, res6 of width 4 on 16 x 16 pixels.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <vector>

#include "core/random.h"
#include "core/threads.h"
#include "engine/native/native_engine.h"
#include "temporary_folder.h"
#include "train/objectives.h"
#include "train/session.h"

namespace mdsm::train {

class Blobs : public data::Dataset {
 public:
  explicit Blobs(int64_t count = 200) : count_(count) {}
  int64_t size() const override { return count_; }
  Shape image_shape() const override { return {1, 1, 16, 16}; }
  void read(int64_t index, std::span<float> out) const override {
    RandomStream stream(1, Purpose::check, static_cast<uint64_t>(index));
    const double cx = 4 + 8 * stream.uniform(), cy = 4 + 8 * stream.uniform();
    for (size_t k = 0; k < out.size(); ++k) {
      const double x = static_cast<double>(k % 16) - cx, y = static_cast<double>(k / 16) - cy;
      out[k] = static_cast<float>(std::exp(-(x * x + y * y) / 10));
    }
  }
  std::string description() const override { return "blobs"; }

 private:
  int64_t count_;
};

inline TrainOptions tiny_options() {
  TrainOptions options;
  options.network = network::Network::res6;
  options.width = 4;
  options.batch = 8;
  options.schedule.steps = 12;
  options.schedule.lr = 1e-3;
  options.stats_every = 5;
  options.save_every = 4;
  options.preview_every = 0;
  return options;
}

// An objective and what its options are set to, by their names on the command line.
struct TinyObjective {
  std::string name = "mdsm";
  nlohmann::json options = nlohmann::json::object();

  std::unique_ptr<Objective> make() const {
    auto objective = make_objective(name);
    OptionSet set("train", "");
    objective->declare(set);
    set.from_json(options, "test");
    return objective;
  }
};

inline std::vector<float> vector_of(const engine::TrainableEnergy& engine, engine::StateVector which) {
  std::vector<float> values(static_cast<size_t>(network::parameter_count(engine.spec())));
  engine.read(which, values);
  return values;
}

// One process' worth of a run: a fresh engine on the folder, resumed when there is something to resume.
class TinyRun {
 public:
  TinyRun(RunFolder& folder, TrainOptions options, const TinyObjective& objective = {}, int64_t images = 200)
      : TinyRun(&folder, std::move(options), objective, images, distributed::alone()) {}
  // One of several ranks; those other than 0 have no folder.
  TinyRun(RunFolder* folder, TrainOptions options, const TinyObjective& objective, int64_t images,
          distributed::Communicator& world)
      : options_(std::move(options)),
        objective_(objective.make()),
        data_(images),
        spec_(make_spec(options_, data_.image_shape())),
        engine_(engine::make_native_engine(
            network::Parameters::initialised(spec_, static_cast<uint64_t>(options_.seed)))),
        preview_(data_, spec_, {}, 0, {}),
        input_{folder, *engine_, data_,  preview_, options_,  *objective_,
               false,  "blobs",  "hash", "",       "float32", world},
        start_((set_thread_count(1), resume_state(input_))) {}  // tiny layers: threads only wait

  int64_t train(int64_t stop_after, TrainObserver& observer) {
    return mdsm::train::train(input_, start_, stop_after, stop_, observer);
  }
  int64_t train(int64_t stop_after = 0) {
    TrainObserver silent;
    return train(stop_after, silent);
  }
  engine::TrainableEnergy& engine() { return *engine_; }
  std::atomic<bool>& stop() { return stop_; }
  const StateHead& start() const { return start_; }

 private:
  TrainOptions options_;
  std::unique_ptr<Objective> objective_;
  Blobs data_;
  network::Spec spec_;
  std::unique_ptr<engine::TrainableEnergy> engine_;
  Preview preview_;
  SessionInput input_;
  StateHead start_;
  std::atomic<bool> stop_{false};
};

inline RunFolder new_folder(const TemporaryFolder& out) {
  return RunFolder::create(out.path(), "blobs-res6-w4", nlohmann::json::object(), "test\n");
}

// The lines of stats.jsonl without what the clock wrote.
inline std::vector<nlohmann::json> curve(const RunFolder& folder) {
  std::vector<nlohmann::json> lines;
  std::istringstream in(read_text(folder.stats()));
  for (std::string line; std::getline(in, line);) {
    lines.push_back(nlohmann::json::parse(line));
    for (const char* clock : {"images_per_s", "seconds", "time"}) lines.back().erase(clock);
  }
  return lines;
}

// Relative.
inline double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double difference = 0, norm = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference += std::pow(a[i] - b[i], 2);
    norm += std::pow(b[i], 2);
  }
  return std::sqrt(difference / norm);
}

}  // namespace mdsm::train
