// Where the native engine's time goes: seconds and direct-algorithm work of every layer and pass. Off unless
// a benchmark asks for it, and then one branch per scope. Scopes are opened by the thread that drives the
// engine, never inside parallel loops, and do not nest.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace mdsm::engine {

// Names of the passes (docs/design/second_order.md).
inline constexpr const char* kForwardPass = "forward";
inline constexpr const char* kBackwardPass = "backward";
inline constexpr const char* kTangentPass = "tangent";
inline constexpr const char* kSecondBackwardPass = "second backward";
inline constexpr const char* kWeightGradients = "weight gradients";

struct LayerTime {
  std::string layer;  // as in model/layers.h ("rb1.conv_2"), "head", or "elementwise"
  std::string pass;
  double seconds = 0;
  double flop = 0;  // of the direct algorithm with pooling folded in, whatever was run
  int64_t calls = 0;
};

void native_profile_start();                   // forgets what was collected before
std::vector<LayerTime> native_profile_stop();  // one entry per layer and pass, in the order first met
bool native_profiling();

class ProfileScope {
 public:
  ProfileScope(const std::string& layer, const char* pass, double flop);
  ~ProfileScope();
  ProfileScope(const ProfileScope&) = delete;
  ProfileScope& operator=(const ProfileScope&) = delete;

 private:
  std::string layer_;
  const char* pass_ = nullptr;  // null while profiling is off
  double flop_ = 0;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace mdsm::engine
