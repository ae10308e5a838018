// What an update minimises: from the clean images of a batch to the engine's gradient. Knows nothing of Adam,
// rates and files; those are the trainer's and the session's. Everything random in it is a function of (seed,
// step, place), so that a resumed run sees the same.
#pragma once

#include <memory>
#include <vector>

#include "engine/trainable_energy.h"
#include "train/observer.h"
#include "train/train_options.h"

namespace mdsm::train {

class Objective {
 public:
  virtual ~Objective() = default;

  // Adds the gradient of update number `step` (0 for the first) to the engine's, which was set to zero, and
  // fills in loss and energies. A loss that is not finite says that there is no such gradient.
  virtual void gradient(int64_t step, ConstTensorView clean, bool with_energy_of_data,
                        StepResult& result) = 0;
  // The update was made: what the objective itself keeps from step to step may change now.
  virtual void applied() {}
  // Adam's epsilon for gradients of this size.
  virtual double adam_epsilon() const = 0;
};

// The one that the options name. `chains` holds the persistent chains of maximum likelihood, image after
// image: filled at the start when it is empty, changed by applied(). All references must stay.
std::unique_ptr<Objective> make_objective(engine::TrainableEnergy& engine, const TrainOptions& options,
                                          std::vector<float>& chains, TrainObserver& observer);

// Calls body(first, count) for pieces of a batch that are in memory at a time.
template <class Body>
void for_micro_batches(const TrainOptions& options, const Body& body) {
  for (int64_t first = 0; first < options.batch; first += options.micro())
    body(first, std::min(options.micro(), options.batch - first));
}

double mean(std::span<const float> values);

}  // namespace mdsm::train
