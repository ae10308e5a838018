// Where the native engine's time goes: seconds and direct-algorithm work of every layer and pass. Off unless
// a benchmark asks for it, and then one branch per scope. Scopes are opened by the thread that drives the
// engine, never inside parallel loops, and do not nest.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/enum_names.h"

namespace mdsm::engine {

// The passes of docs/design/second_order.md.
enum class Pass { forward, backward, tangent, second_backward, weight_gradients };
constexpr auto enum_names(Pass) {
  return names_of<Pass>({{Pass::forward, "forward"},
                         {Pass::backward, "backward"},
                         {Pass::tangent, "tangent"},
                         {Pass::second_backward, "second backward"},
                         {Pass::weight_gradients, "weight gradients"}});
}

struct LayerTime {
  std::string layer;  // as in model/layers.h ("rb1.conv_2"), "head", or "elementwise"
  Pass pass;
  double seconds = 0;
  double flop = 0;  // of the direct algorithm with pooling folded in, whatever was run
  int64_t calls = 0;
};

void native_profile_start();                   // forgets what was collected before
std::vector<LayerTime> native_profile_stop();  // one entry per layer and pass, in the order first met
bool native_profiling();

class ProfileScope {
 public:
  ProfileScope(const std::string& layer, Pass pass, double flop);
  ~ProfileScope();
  ProfileScope(const ProfileScope&) = delete;
  ProfileScope& operator=(const ProfileScope&) = delete;

 private:
  std::string layer_;
  std::optional<Pass> pass_;  // none while profiling is off
  double flop_ = 0;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace mdsm::engine
