// Animated PNG: every viewer of PNG files shows at least the first frame.
#pragma once

#include <span>

#include "image/image.h"

namespace mdsm::image {

// Frames of one size and colour, each shown for delay_ms, the last one for hold_ms; repeated without end.
void write_animation(const fs::path& path, std::span<const Image> frames, int64_t delay_ms = 80,
                     int64_t hold_ms = 1500);

}  // namespace mdsm::image
