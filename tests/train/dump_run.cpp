// Trains 20 steps and writes what another implementation needs to do the same: initial weights, every clean
// and noisy batch, the noise levels, and the losses it must arrive at. Usage: dump_run OUT NET WIDTH.
#include <cstdio>
#include <fstream>

#include "core/error.h"
#include "core/threads.h"
#include "engine/registry/registry.h"
#include "io/npy.h"
#include "network/model_file.h"
#include "train/objectives.h"
#include "train/trainer.h"

using namespace mdsm;
using namespace mdsm::train;

namespace {

class Dump : public TrainObserver {
 public:
  explicit Dump(fs::path out) : out_(std::move(out)), losses_(out_ / "losses.txt") {}
  void on_batch(int64_t step, ConstTensorView clean, ConstTensorView noisy,
                std::span<const float> sigma) override {
    const std::vector<int64_t> shape = {clean.shape.n, clean.shape.c, clean.shape.h, clean.shape.w};
    io::write_npy(out_ / fmt::format("clean{}.npy", step), shape, clean.values());
    io::write_npy(out_ / fmt::format("noisy{}.npy", step), shape, noisy.values());
    io::write_npy(out_ / "sigma.npy", {static_cast<int64_t>(sigma.size())}, sigma);
  }
  void on_step(int64_t, const StepResult& result) override {
    losses_ << fmt::format("{:.9g} {:.9g}\n", result.loss, result.grad_norm);
  }

 private:
  fs::path out_;
  std::ofstream losses_;
};

void run(const fs::path& out, const std::string& network, int64_t width) {
  set_thread_count(1);  // small layers: threads cost more than they give
  data::DataOptions source;
  source.source = "fashion-mnist";
  const auto data = data::open_dataset(source);
  TrainOptions options;
  options.network = from_name<network::Network>(network, "network");
  options.width = width;
  options.batch = 16;
  options.schedule.steps = 20;
  options.schedule.lr = 1e-3;
  const network::Spec spec = make_spec(options, data->image_shape());
  const network::Parameters initial = network::Parameters::initialised(spec, 0);
  network::save_model(out / "initial.safetensors", initial, {});
  const auto engine = engine::make_engine({}, initial);
  Dump dump(out);
  const auto objective = make_objective("mdsm");
  Trainer trainer(*engine, *data, options, *objective, false, 0, dump);
  while (trainer.step() < options.schedule.steps)
    if (!trainer.take_step(false).applied) fail("", "step {}: not finite", trainer.step());
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 4) fail_usage("", "usage: dump_run OUT NET WIDTH");
  run(argv[1], argv[2], std::stoll(argv[3]));
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "dump_run: %s\n", error.what());
  return 1;
}
