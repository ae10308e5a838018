// Where the native engine's time goes: seconds and direct-algorithm work of every layer and pass. Off unless
// a benchmark asks for it, and then one branch per scope. Scopes are opened by the thread that drives the
// engine, never inside parallel loops, and do not nest.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "model/spec.h"

namespace mdsm {

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

namespace native {

enum class BlockPart { conv_1, conv_2, shortcut };

// "rb1.conv_2", and the work of one application to n images.
std::string part_name(const Block& block, BlockPart part);
double part_flop(const Block& block, BlockPart part, int64_t n);

// Runs a piece of a pass; `run` alone while profiling is off.
template <class Run>
void timed(const char* layer, const char* pass, double flop, const Run& run) {
  if (!native_profiling()) return run();
  const ProfileScope scope(layer, pass, flop);
  run();
}

template <class Run>
void timed(const Block& block, BlockPart part, const char* pass, int64_t n, const Run& run) {
  if (!native_profiling()) return run();
  const ProfileScope scope(part_name(block, part), pass, part_flop(block, part, n));
  run();
}

}  // namespace native
}  // namespace mdsm
