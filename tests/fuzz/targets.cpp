#include "targets.h"

#include <unistd.h>

#include "app/train.h"
#include "app/world.h"
#include "classify/classifier.h"
#include "core/error.h"
#include "core/json.h"
#include "core/options.h"
#include "core/seeds.h"
#include "data/cifar_pickle.h"
#include "data/dataset.h"
#include "engine/registry/registry.h"
#include "eval/ais_state.h"
#include "eval/betas.h"
#include "eval/detector.h"
#include "eval/quality.h"
#include "eval/sample_source.h"
#include "eval/share.h"
#include "image/image.h"
#include "image/picture.h"
#include "io/npy.h"
#include "io/safetensors.h"
#include "io/zip.h"
#include "mend.h"
#include "network/model_file.h"
#include "network/state_dict.h"
#include "peers.h"
#include "report/sample_store.h"
#include "reproduce/recipe.h"
#include "requests.h"
#include "restore/kernel_file.h"
#include "serve/job.h"
#include "train/checkpoint.h"
#include "train/objectives.h"
#include "train/stats_follower.h"

namespace mdsm::fuzz {
namespace {

// A folder of this process, in memory where there is such a place.
const fs::path& folder() {
  static const struct Folder {
    fs::path path;
    Folder() {
      const fs::path root =
          ::access("/dev/shm", W_OK) == 0 ? fs::path("/dev/shm") : fs::temp_directory_path();
      path = root / ("mdsm_fuzz_" + std::to_string(::getpid()));
      fs::create_directories(path);
    }
    ~Folder() {
      std::error_code error;
      fs::remove_all(path, error);
    }
  } made;
  return made.path;
}

// Not write_file, which waits for the disk.
fs::path as_file(Bytes bytes, const char* name) {
  const fs::path path = folder() / name;
  fs::create_directories(path.parent_path());
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (!file) std::abort();
  if (!bytes.empty() && std::fwrite(bytes.data(), 1, bytes.size(), file) != bytes.size()) std::abort();
  std::fclose(file);
  return path;
}

std::string as_text(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

void read_data(const fs::path& path, const char* source, Split split = Split::train) {
  data::DataOptions options;
  options.source = std::string(source) + ":" + path.string();
  options.split = split;
  data::open_dataset(options);
}

void read_options(Bytes bytes, const char* name) {
  OptionSet options("fuzz", "");
  int64_t count = 1;
  double rate = 1;
  bool flag = false;
  std::string text;
  options.add("count", count, "").range(0, 100);
  options.add("rate", rate, "").above(0);
  options.add("flag", flag, "");
  options.add("text", text, "");
  options.load(as_file(bytes, name));
}

const network::Spec& small_spec() {
  static const network::Spec spec = [] {
    network::Spec made;
    made.network = network::Network::res6;
    made.width = 4;
    made.channels = 1;
    made.size = 8;
    made.sigma0 = 0.1;
    made.bowl = 1;
    return made;
  }();
  return spec;
}

// The state's own tensors and those of the network, which are too long to be part of an input.
std::string with_network(const io::SafetensorsFile& file) {
  std::vector<std::vector<float>> values;
  std::vector<io::NamedTensor> tensors;
  const auto add = [&](std::string name, std::vector<int64_t> shape, std::vector<float> list) {
    values.push_back(std::move(list));
    tensors.push_back({std::move(name), std::move(shape), values.back()});
  };
  for (const auto& entry : file.entries()) add(entry.name, entry.shape, file.read(entry));
  for (const char* part : {"weights", "ema", "adam_m", "adam_v"})
    for (const network::ParameterInfo& info : network::parameter_layout(small_spec()))
      if (const std::string name = fmt::format("{}.{}", part, info.name); !file.find(name))
        add(name, info.shape, std::vector<float>(static_cast<size_t>(info.count)));
  auto metadata = file.metadata();
  metadata.erase("checksum");
  return io::safetensors_bytes(tensors, metadata);
}

// By every objective, with the options that make it keep most; one of them should take it.
void load_state(Bytes bytes) {
  static const auto engine = engine::make_engine({}, network::Parameters(small_spec()));
  const fs::path path = as_file(bytes, "state.safetensors");
  const train::StateFile file(path, small_spec());
  const train::StateFile whole(path, with_network(io::SafetensorsFile(path)), small_spec());
  static const nlohmann::json most = {{"weighting", "learned"}, {"ml-buffer", 2}};
  bool taken = false;
  std::optional<Error> refused;
  for (const train::ObjectiveRow& row : train::objectives()) {
    const auto objective = row.make();
    OptionSet options("train", "");
    objective->declare(options);
    for (const auto& [name, value] : most.items())
      if (options.to_json().contains(name)) options.from_json({{name, value}}, "fuzz");
    try {
      whole.load(*engine, *objective);
      taken = true;
    } catch (const Error& error) {
      refused = error;
    }
  }
  if (!taken) throw refused.value();
}

// As a run that goes on takes them.
void resume_options(Bytes bytes) {
  as_file(bytes, "run/options.json");
  app::TrainingSetup setup;
  OptionSet options("train", "");
  setup.declare(options);
  setup.job.resume = folder() / "run";
  setup.resolve(options);
}

// What every sample folder of these targets was made with.
const nlohmann::json kParameters = {{"sampler", "fast"}};

void resume_samples(Bytes bytes, const char* name) {
  fs::remove_all(folder() / "samples");
  as_file(bytes, name);
  const std::string_view run = R"({"parameters": {"sampler": "fast"}})";
  if (std::string_view(name) != "samples/samples.json")
    as_file(std::as_bytes(std::span(run)), "samples/parts/run.json");
  const report::SampleStore store(folder() / "samples", kParameters, true, false);
}

constexpr Shape kChainImage{1, 1, 2, 2};

// Rank 0 collects from another rank, and a rank is told by rank 0.
void hear_peers(Bytes bytes) {
  FedCommunicator first(0, bytes), second(1, bytes);
  for (const std::string& text : first.gather_first("own"))
    if (!text.empty() && text.front() == '{') parse_json(text);
  eval::gathered(first, std::vector<double>(2), 4);
  first.any(false);
  second.broadcast("");
  second.gather("own");
}

}  // namespace

const std::map<std::string, Target>& targets() {
  static const std::map<std::string, Target> all = {
      {"image", [](Bytes bytes) { image::decode_image(bytes, "input"); }},
      {"picture", [](Bytes bytes) { image::decode_picture(bytes, "input"); }},
      {"tiff", [](Bytes bytes) { image::decode_picture(bytes, "input.tiff"); }},
      {"webp", [](Bytes bytes) { image::decode_picture(bytes, "input.webp"); }},
      {"npy", [](Bytes bytes) { io::read_npy(as_file(bytes, "input.npy")); }},
      {"npy_in_memory", [](Bytes bytes) { io::parse_npy(bytes, "input"); }},
      {"npy_images", [](Bytes bytes) { read_data(as_file(bytes, "images.npy"), "npy"); }},
      {"npz", [](Bytes bytes) { eval::read_statistics(as_file(bytes, "input.npz")); }},
      {"zip", [](Bytes bytes) { io::read_zip(bytes, "input"); }},
      {"idx", [](Bytes bytes) { read_data(as_file(bytes, "train-images-idx3-ubyte"), "idx"); }},
      {"cifar10", [](Bytes bytes) { read_data(as_file(bytes, "data_batch_1.bin"), "cifar10"); }},
      {"cifar10_archive", [](Bytes bytes) { read_data(as_file(bytes, "input.tar.gz"), "cifar10"); }},
      {"cifar_pickle", [](Bytes bytes) { read_data(as_file(bytes, "data_batch_1"), "cifar10"); }},
      {"cifar_names", [](Bytes bytes) { data::read_cifar_names(bytes, "fine_label_names", "input"); }},
      {"image_tar", [](Bytes bytes) { read_data(as_file(bytes, "input.tar"), "archive"); }},
      {"image_zip", [](Bytes bytes) { read_data(as_file(bytes, "input.zip"), "archive"); }},
      {"npz_images", [](Bytes bytes) { read_data(as_file(bytes, "images.npz"), "npz"); }},
      {"detector", [](Bytes bytes) { eval::load_detector(as_file(bytes, "detector.safetensors")); }},
      {"svhn", [](Bytes bytes) { read_data(as_file(bytes, "train_32x32.mat"), "svhn"); }},
      {"safetensors",
       [](Bytes bytes) {
         const io::SafetensorsFile file(as_file(bytes, "input.safetensors"));
         for (const auto& entry : file.entries()) file.read(entry);
       }},
      {"model", [](Bytes bytes) { network::load_model(as_file(with_values(bytes), "model.safetensors")); }},
      {"classifier",
       [](Bytes bytes) { classify::load_classifier(as_file(bytes, "classifier.safetensors")); }},
      {"state_dict",
       [](Bytes bytes) { network::parameters_from(network::read_state_dict(bytes, "input"), {}, "input"); }},
      {"options_toml", [](Bytes bytes) { read_options(bytes, "input.toml"); }},
      {"options_json", [](Bytes bytes) { read_options(bytes, "input.json"); }},
      {"recipe", [](Bytes bytes) { reproduce::read_recipe(as_file(bytes, "recipe.json")); }},
      {"requests", [](Bytes bytes) { serve_requests(as_text(bytes), folder()); }},
      {"job", [](Bytes bytes) { serve::job_from_json(as_text(bytes), "input"); }},
      {"seeds", [](Bytes bytes) { parse_seeds(as_text(bytes), "--seeds"); }},
      {"betas", [](Bytes bytes) { eval::parse_betas(as_text(bytes), "input"); }},
      {"kernel",
       [](Bytes bytes) { restore::read_kernel(as_file(bytes, "kernel.npy").string(), "--kernel"); }},
      {"kernel_image",
       [](Bytes bytes) { restore::read_kernel(as_file(bytes, "kernel.png").string(), "--kernel"); }},
      {"run_options", [](Bytes bytes) { resume_options(bytes); }},
      {"run_statistics",
       [](Bytes bytes) {
         const fs::path path = as_file(bytes.first(bytes.size() / 2), "stats.jsonl");
         train::StatsFollower follower(path, 4);
         follower.look();
         as_file(bytes, "stats.jsonl");  // it has grown
         follower.look();
         if (follower.lines() != train::read_stats(path).size()) std::abort();
         train::cut_stats(path, 10);
       }},
      {"run_state", [](Bytes bytes) { load_state(bytes); }},
      {"samples", [](Bytes bytes) { resume_samples(bytes, "samples/samples.json"); }},
      {"samples_part", [](Bytes bytes) { resume_samples(bytes, "samples/parts/000000.safetensors"); }},
      {"samples_old_part", [](Bytes bytes) { resume_samples(bytes, "samples/parts/000000.json"); }},
      {"samples_run", [](Bytes bytes) { resume_samples(bytes, "samples/parts/run.json"); }},
      {"peers", [](Bytes bytes) { hear_peers(bytes); }},
      {"peer_options",
       [](Bytes bytes) {
         FedCommunicator other(1, bytes);
         app::check_same(other, {{"version", "a"}, {"option --width", 16}});
       }},
      {"peer_samples", [](Bytes bytes) { report::sample_set(as_text(bytes)); }},
      {"peer_chains", [](Bytes bytes) { eval::ais_batch(as_text(bytes), "rank 1", kChainImage); }},
      {"chains_state",
       [](Bytes bytes) {
         const auto found = eval::read_ais_state("input", as_text(bytes), {{"version", "a"}}, kChainImage, 3);
         std::vector<eval::AisBatch> parts;
         for (const size_t first : {0, 1}) parts.push_back(eval::part_of(found.batch, {first, 1}));
         eval::joined(parts);
       }},
      {"samples_source",
       [](Bytes bytes) {
         as_file({}, "drawn/samples.npy");
         as_file(bytes, "drawn/samples.json");
         eval::sample_source((folder() / "drawn").string());
       }},
  };
  return all;
}

}  // namespace mdsm::fuzz
