// TensorBoard event files: scalars and pictures. Own TFRecord framing (length and payload, each with a masked
// CRC-32C) around hand-encoded protocol buffers, so that no TensorFlow is needed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/append_file.h"

namespace mdsm::train {

uint32_t crc32c(std::string_view bytes);

// One record as it stands in the file.
std::string tfrecord(std::string_view payload);

class EventFile {
 public:
  // Opens a new file events.out.tfevents.* in the folder. On resume, readers drop what earlier files hold
  // after first_step.
  EventFile(const fs::path& folder, double time, int64_t first_step);

  using Scalars = std::vector<std::pair<std::string, double>>;
  void add(double time, int64_t step, const Scalars& scalars);
  // A PNG file as it is.
  void add_picture(double time, int64_t step, std::string_view tag, std::string_view png);
  const fs::path& path() const { return file_.path(); }

 private:
  AppendFile file_;
};

}  // namespace mdsm::train
