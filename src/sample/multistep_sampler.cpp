// multistep with its options.
#include "sample/multistep.h"

#include "core/error.h"
#include "sample/descent_sampler.h"

namespace mdsm::sample {
namespace {

class MultistepSampler : public DescentSampler<MultistepOptions> {
 public:
  Samples draw(const Run& run) const override { return multistep(run, options_); }
  std::string guide() const override { return options_.guidance > 0 ? guide_ : ""; }
  Wanted wanted() const override {
    return classes_.empty() ? Wanted{} : Wanted{classes_, class_by_, options_.class_max};
  }
  void complete(nlohmann::json& values) const override {
    if (guide().empty())
      for (const char* name : {"guide", "guidance", "guidance-min", "guidance-max"}) values.erase(name);
    if (classes_.empty())
      for (const char* name : {"classes", "class-by", "class-weight", "class-min", "class-max"})
        values.erase(name);
  }

 protected:
  std::string what_steps_are() const override { return "steps down the noise levels, after the hot ones"; }
  void declare_own(OptionSet& options) override {
    options
        .add(
            "churn", options_.churn,
            "noise taken out and put back: 0 none (deterministic), 1 as much as the noising process reversed")
        .range(0, 100);
    options
        .add("guide", guide_,
             "a weaker model of the same images, whose mistakes samples are led away from (autoguidance)")
        .meta("MODEL");
    options.add("guidance", options_.guidance, "how far; 0: not at all, whatever the model's own guide")
        .range(0, 100);
    options.add("guidance-min", options_.guidance_min, "lowest noise level at which the guide is asked")
        .range(0, 1000);
    options.add("guidance-max", options_.guidance_max, "highest noise level at which the guide is asked")
        .range(0, 1000);
    options
        .add("classes", classes_,
             "what the images are to show: classes that --class-by knows, in turn, or all of them")
        .meta("LIST");
    options
        .add("class-by", class_by_,
             "a classifier trained on noisy images (mdsm classifier --sigma-max 2), or a bundled one")
        .meta("CLASSIFIER");
    options.add("class-weight", options_.class_weight, "how clearly; 1: as often as in the training")
        .range(0, 1000);
    options.add("class-min", options_.class_min, "lowest noise level at which the classifier is asked")
        .range(0, 1000);
    options.add("class-max", options_.class_max, "highest noise level at which the classifier is asked")
        .range(0, 1000);
  }
  void resolve_own(const OptionSet& options) override {
    for (const char* name : {"guidance", "guidance-min", "guidance-max"})
      if (guide_.empty() && options.given(name) && options_.guidance > 0)
        fail_usage("name one with --guide", "--{}, but no guide", name);
    for (const char* name : {"class-by", "class-weight", "class-min", "class-max"})
      if (classes_.empty() && options.given(name))
        fail_usage("say which with --classes", "--{}, but no classes", name);
    if (options.given("classes") && classes_.empty())
      fail_usage("name some, or all, or leave it out", "--classes is empty");
    if (!classes_.empty() && class_by_.empty())
      fail_usage("name one with --class-by; mdsm classifier --sigma-max 2 trains one",
                 "--classes {}, but no classifier that knows them", classes_);
    if (!classes_.empty() && options_.class_min > options_.class_max)
      fail_usage("use a higher --class-max", "--class-min {} is above --class-max {}", options_.class_min,
                 options_.class_max);
    if (!guide().empty() && options_.guidance_min > options_.guidance_max)
      fail_usage("use a higher --guidance-max", "--guidance-min {} is above --guidance-max {}",
                 options_.guidance_min, options_.guidance_max);
  }

 private:
  std::string guide_, classes_, class_by_;
};

}  // namespace

std::unique_ptr<Sampler> make_multistep_sampler() { return std::make_unique<MultistepSampler>(); }

}  // namespace mdsm::sample
