// The server from its address to its end. Callers need not know the HTTP library.
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "serve/options.h"

namespace mdsm::serve {

// Serves until `stop`. ready(url): it listens.
void run_server(const ServeOptions& options, const Commands& commands, const std::atomic<bool>& stop,
                const std::function<void(const std::string& url)>& ready);

}  // namespace mdsm::serve
