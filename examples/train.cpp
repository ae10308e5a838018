// Trains on images of one's own (here bars, made as they are read), stops, goes on, and draws from the model:
// train [FOLDER]
#include <mdsm/mdsm.h>
#include <cstdio>

namespace {

class Bars : public mdsm::Dataset {
 public:
  int64_t size() const override { return 256; }
  mdsm::Shape image_shape() const override { return {1, 1, 8, 8}; }
  std::string description() const override { return "bars, 8x8"; }
  void read(int64_t index, std::span<float> out) const override {
    for (size_t k = 0; k < 64; ++k) {
      const auto place = static_cast<int64_t>(index % 2 == 0 ? k % 8 : k / 8);
      out[k] = (place + index / 2) % 4 < 2 ? 0.9f : 0.1f;
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  try {
    const Bars bars;
    mdsm::TrainOptions options;
    options.outdir = argc > 1 ? argv[1] : "runs";
    options.name = "bars";
    options.settings = {
        {"net", "res6"}, {"width", "8"}, {"steps", "200"}, {"batch", "32"}, {"preview-every", "0"}};
    options.progress = [](const mdsm::ProgressReport& report) {
      if (report.done % 50 == 0)
        std::printf("step %lld of %lld, loss %.1f\n", static_cast<long long>(report.done),
                    static_cast<long long>(report.total), report.value);
      return report.done != 100;  // false: save and stop
    };
    mdsm::Trained run = mdsm::train_model(bars, options);
    std::printf("stopped at step %lld\n", static_cast<long long>(run.step));

    options.resume = run.folder;
    options.settings.clear();
    options.progress = nullptr;
    run = mdsm::train_model(bars, options);
    mdsm::Model model(run.model);
    const mdsm::Samples samples = model.sample(mdsm::seed_range(0, 4));
    std::printf("trained %lld steps: %s; a sample has energy %.1f\n", static_cast<long long>(run.step),
                run.model.c_str(), samples.energy[0]);
  } catch (const mdsm::Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
