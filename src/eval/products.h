// Inner products of many vectors with many others in float: the arithmetic of the search for neighbours.
// Compiled for two instruction sets, chosen at run time. Internal to this folder.
#pragma once

#include <cstdint>

namespace mdsm {

constexpr int64_t kPanel = 16;      // vectors side by side in a panel
constexpr int64_t kRowsAtOnce = 6;  // rows whose products stay in registers

// panel: (length x kPanel), the vectors as columns. rows: `count` (up to kRowsAtOnce) vectors of `length`,
// one after the other. out: (count x kPanel). Every product is one sum from first to last.
using PanelProducts = void (*)(const float* rows, int64_t count, const float* panel, int64_t length,
                               float* out);

PanelProducts panel_products();

}  // namespace mdsm
