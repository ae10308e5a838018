// Threads of Gloo throw where nobody catches: a connection that is reset while it is being accepted, or one
// whose host cannot be reached any more while an answer is written. C++ ends a process by a signal then.
#pragma once

namespace mdsm::engine {

// From now on such an end is a line on standard error and exit code 1. Any other uncaught exception ends the
// process as before.
void report_errors_of_threads(int rank);

}  // namespace mdsm::engine
