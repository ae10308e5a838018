#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "app/engine_options.h"
#include "app/output.h"
#include "core/error.h"
#include "io/npy.h"
#include "core/progress.h"
#include "core/threads.h"
#include "data/data_options.h"
#include "eval/energies.h"
#include "network/model_file.h"

namespace mdsm::cli {
namespace {

class Energy : public Command {
 public:
  const char* name() const override { return "energy"; }
  const char* summary() const override { return "Compute the energies of images, and the gradients by them"; }
  void declare(OptionSet& options) override {
    options.group("Model");
    options.add("model", model_, "model file, run folder or bundled model").meta("MODEL").required();
    data::declare_data_options(options, data_);
    options.group("Energies");
    options.add("noise", energy_.noise, "standard deviation of Gaussian noise put on the images")
        .range(0, 1000);
    options.add("seed", seed_, "seed of the noise and of data drawn by chance").range(0);
    options.add("batch", energy_.batch, "images computed at a time").range(1, 1'000'000);
    app::declare_engine_options(options, engine_, threads_);
    options.group("Output");
    options.add("out", out_, "write the energies (N) as .npy").meta("FILE.npy");
    options.add("gradient", gradient_, "write grad_x = +dE/dx (N,C,H,W) as .npy").meta("FILE.npy");
    options.add("json", json_, "print JSON for machines").command_line_only();
    options.example("mdsm energy --model runs/00000 --data fashion-mnist --split test --noise 0.1");
  }

  int run(OptionSet&) override {
    set_thread_count(static_cast<int>(threads_));
    for (const std::string& path : {out_, gradient_}) app::check_folder_of(path);
    const network::Model model = network::load_model(model_);
    data_.seed = energy_.seed = static_cast<uint64_t>(seed_);
    const auto data = data::open_dataset(data_);
    const auto engine = engine::make_engine(engine_, model.parameters);
    energy_.gradient = !gradient_.empty();
    Progress progress("energies", data->size(), "images");
    const eval::Energies result =
        eval::compute_energies(*engine, *data, energy_, [&](int64_t done) { progress.update(done); });
    Progress::clear_line();
    if (!out_.empty()) io::write_npy(out_, {data->size()}, result.energy);
    if (energy_.gradient) {
      const Shape one = data->image_shape();
      io::write_npy(gradient_, {data->size(), one.c, one.h, one.w}, result.grad_x);
    }
    print(eval::summarise(result.energy), *data);
    return 0;
  }

 private:
  void print(const eval::Summary& summary, const data::Dataset& data) const {
    if (json_) {
      const nlohmann::json values = {
          {"n", summary.n},       {"mean", summary.mean}, {"std", summary.std},
          {"min", summary.min},   {"max", summary.max},   {"noise", energy_.noise},
          {"seed", energy_.seed}, {"model", model_},      {"data", data.description()}};
      fmt::print("{}\n", values.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
      return;
    }
    fmt::print("images  {}\nmean    {:.6g}\nstd     {:.6g}\nmin     {:.6g}\nmax     {:.6g}\n", summary.n,
               summary.mean, summary.std, summary.min, summary.max);
  }

  std::string model_, out_, gradient_;
  data::DataOptions data_;
  eval::EnergyOptions energy_;
  engine::EngineOptions engine_;
  int64_t threads_ = 0, seed_ = 0;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_energy() { return std::make_unique<Energy>(); }

}  // namespace mdsm::cli
