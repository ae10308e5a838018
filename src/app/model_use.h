// What commands that run a network on images share: --model, --out and the engine; loading, memory, and the
// text inside the pictures they write.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "core/options.h"
#include "data/dataset.h"
#include "engine/registry/sized_energy.h"
#include "network/model_file.h"

namespace mdsm::app {

struct ModelUse {
  std::string model;  // path as given
  engine::EngineOptions engine;
  int64_t threads = 0, batch = 64;
  int64_t tile = 0;  // side of the tiles of large images; 0 = from the memory

  void declare_model(OptionSet& options);
  void declare_engine(OptionSet& options);  // with --batch and --tile
  network::Model load() const;              // a clear error without --model
  // Sets the threads and makes the engine for images of this shape, which must be the network's unless it
  // takes any; refuses a batch that does not fit the memory.
  std::unique_ptr<engine::EnergyModel> make(const network::Model& loaded, int64_t largest_batch,
                                            const Shape& image, engine::OnTile on_tile = {}) const;
  // The same for pictures of any size. A network of one size takes them as tiles that are blended, if --tile
  // asks for it.
  bool takes_any_size(const network::Spec& spec) const { return spec.any_size() || tile > 0; }
  std::unique_ptr<engine::EnergyModel> make_for_pictures(const network::Model& loaded, int64_t largest_batch,
                                                         const Shape& image, engine::OnTile on_tile) const;
  // For images of the network's own shape.
  std::unique_ptr<engine::EnergyModel> make(const network::Model& loaded, int64_t largest_batch) const;

 private:
  // at_once: images of the network's own size in a call of its engine.
  void check_memory(const network::Model& loaded, int64_t largest_batch, const Shape& image,
                    int64_t at_once) const;
};

// The images of a data set for a model: those of 28x28 pixels stay as they are for one that was trained on
// such.
std::unique_ptr<data::Dataset> open_images(const network::Model& model, data::DataOptions options);
// How many images of this shape are worked on at a time: as many as asked for, fewer of large ones.
int64_t batch_of(const Shape& image, int64_t asked);
// Shape of the images that a model is to work on: those of the data where it takes any size, otherwise its
// own, which the data must have.
Shape image_shape(const network::Model& model, const data::Dataset& images);

// Names of the models that come with the program; the text has commas between.
std::vector<std::string> bundled_models();
std::string bundled_models_text();

// Path, network and content of the model, for files that say how they were made.
nlohmann::json model_parameters(const std::string& path, const network::Model& model);

// Text chunks of a picture: the program, the parameters as JSON, and what else is to be said.
std::map<std::string, std::string> picture_text(const nlohmann::json& parameters,
                                                std::map<std::string, std::string> more = {});

// JSON for standard output; file names in it that are no UTF-8 do not stop it.
void print_json(const nlohmann::json& values);
// While it lives, print_json() of its thread keeps the text here instead: for programs that call commands.
class CapturedJson {
 public:
  CapturedJson();
  ~CapturedJson();
  CapturedJson(const CapturedJson&) = delete;
  CapturedJson& operator=(const CapturedJson&) = delete;

  std::string text;
};

}  // namespace mdsm::app
