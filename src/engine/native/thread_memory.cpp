#include "engine/native/thread_memory.h"

#include "core/tensor.h"

namespace mdsm::engine::native {

float* thread_memory(int64_t floats) {
  thread_local FloatBuffer memory;
  if (memory.size() < static_cast<size_t>(floats)) {
    memory = FloatBuffer();  // give the old one back first
    memory = FloatBuffer(static_cast<size_t>(floats));
  }
  return memory.data();
}

}  // namespace mdsm::engine::native
