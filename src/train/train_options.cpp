#include "train/train_options.h"

#include <algorithm>

#include "core/error.h"
#include "sample/model_defaults.h"
#include "train/objectives.h"
#include "train/shards.h"

namespace mdsm::train {

void declare_train_options(OptionSet& set, TrainOptions& o, ObjectiveChoice& objectives) {
  set.group("Network");
  set.add(
      "preset", o.preset,
      "data set whose recipe is meant, where the name of --data does not say; alone it means --recipe paper");
  set.add("net", o.network, "network");
  set.add("width", o.width, "channels after the first convolution, a multiple of 4").range(4, 4096);
  set.add("head", o.head,
          "last layer; unet has squared-residual (its default), inner-product, predicted-noise, and "
          "without an energy denoiser and residual-denoiser");
  set.add("levels", o.levels, "unet: sizes of maps, each half of the one before").range(1, 8);
  set.add("blocks", o.blocks, "unet: residual blocks of a level, each way").range(1, 16);
  set.add("activation", o.activation, "unet: what stands between convolutions");
  set.add("sigma0", o.sigma0, "width of the Gaussian that smooths the data").above(0);
  set.add("bowl", o.bowl,
          "adds bowl ‖x‖² / (2 sigma0²) to the network's energy; the paper has 0, unet its own")
      .range(0, 1);

  objectives.declare(set);

  set.group("Training");
  set.add("batch", o.batch, "images of a step").range(1, 1 << 20);
  set.add(
         "shards", o.shards,
         "parts of a batch, a power of two, whose gradients are added in a fixed order; 2 from --batch 64 on")
      .range(1, 1 << 20);
  set.add("allow-reorder", o.allow_reorder,
          "several processes: add their gradients in any order; other bits for other numbers of them");
  set.add("overlap", o.overlap,
          "several processes: send what is finished of a gradient while the rest is computed");
  set.add("micro-batch", o.micro_batch, "images worked on at a time, to save memory; 0 = a whole shard")
      .range(0, 1 << 20);
  set.add("steps", o.schedule.steps, "training steps of the whole run").range(1, 1e9);
  set.add("lr", o.schedule.lr, "learning rate").above(0);
  set.add("lr-schedule", o.schedule.kind, "cosine; step: divided by 10 after every sixth; constant");
  set.add("lr-final", o.schedule.lr_final, "where the cosine ends").range(0);
  set.add("lr-hold", o.schedule.hold,
          "steps at the full rate before the cosine begins; by default those of --denoiser-steps")
      .range(0, 1e9);
  set.add("warmup", o.schedule.warmup, "steps of a linear warmup of the rate").range(0, 1e9);
  set.add("clip", o.clip, "largest norm of the whole gradient; 0 = no limit").range(0);
  set.add("ema", o.ema, "decay of the moving average of the weights; below it at first: (1+t)/(10+t)")
      .range(0, 1);
  set.add("optimizer", o.optimiser,
          "adam; muon: weights of convolutions move by their momentum made orthogonal");
  set.add("beta1", o.beta1, "decay of the gradient's mean").range(0, 0.999999);
  set.add("beta2", o.beta2, "Adam's decay of the gradient's square").range(0, 0.999999);
  set.add("weight-decay", o.weight_decay,
          "share of every weight, but for biases, that a step takes away, times the learning rate")
      .range(0, 1000);
  set.add("seed", o.seed, "start of every random stream").range(0, 9e15);

  set.group("Saving");
  set.add("sampling", o.sampling,
          "options of multistep that mdsm sample is to take for this model, as in churn=16,hot=10")
      .meta("NAME=VALUE,...");
  set.add("stats-every", o.stats_every, "steps between lines of stats.jsonl").range(1, 1e9);
  set.add("save-every", o.save_every, "steps between checkpoints; 0 = only at the end").range(0, 1e9);
  set.add("preview-every", o.preview_every, "steps between preview images; 0 = none").range(0, 1e9);
  set.add("snapshot-every", o.snapshot_every, "steps between kept ema-N.safetensors; 0 = none").range(0, 1e9);
}

void set_default_shards(OptionSet& set, const TrainOptions& options) {
  set.set_default("shards", std::to_string(default_shards(options.batch)));
}

void validate(const TrainOptions& options) {
  if (options.schedule.lr * options.weight_decay >= 1)
    fail_usage("use less than 1 / --lr",
               "--weight-decay {}: times --lr {} it would take all of a weight in a step",
               options.weight_decay, options.schedule.lr);
  validate(options.schedule);
  check_shards(options.shards, options.batch);
  sample::model_defaults(options.sampling, "--sampling");
}

network::Spec make_spec(const TrainOptions& options, const Shape& image) {
  network::Spec spec;
  spec.network = options.network;
  spec.head = options.head;
  spec.width = options.width;
  spec.sigma0 = options.sigma0;
  spec.bowl = options.bowl;
  spec.channels = image.c;
  spec.size = image.h;
  if (spec.network == network::Network::unet) {
    spec.levels = options.levels;
    spec.blocks = options.blocks;
    spec.activation = options.activation;
    if (image.h != image.w) spec.columns = image.w;
    validate(spec);
    return spec;
  }
  const int64_t step = spec.network == network::Network::res34 ? 16 : 8;
  if (image.h != image.w)
    fail_usage("fit them with --crop, --resize or --pad", "images of {}x{} pixels are not square", image.w,
               image.h);
  if (image.h % step != 0)
    fail_usage(fmt::format("fit them, for example with --pad {} or --resize {}",
                           (image.h + step - 1) / step * step, std::max(image.h / step, int64_t{1}) * step),
               "images of {}x{} pixels do not fit {}, which takes multiples of {}", image.w, image.h,
               to_string(options.network), step);
  validate(spec);
  return spec;
}

}  // namespace mdsm::train
