// One clear line where memory runs out and no exception can say so.
#pragma once

namespace mdsm::cli {

// Takes no memory itself.
void print_out_of_memory();

// From here on std::terminate after a failed allocation, and oneDNN's crash for want of memory, print that
// line.
void report_lack_of_memory();

}  // namespace mdsm::cli
