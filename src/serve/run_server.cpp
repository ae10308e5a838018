#include "serve/run_server.h"

#include <sys/socket.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "core/error.h"
#include "core/folder_lock.h"
#include "serve/server.h"

namespace mdsm::serve {
namespace {

constexpr const char *kFolder = "serve", *kJobs = "serve/jobs";

std::string url_of(const ServeOptions& options, int port) {
  const bool v6 = options.address.find(':') != std::string::npos;
  return fmt::format("http://{}{}{}:{}/{}", v6 ? "[" : "", options.address, v6 ? "]" : "", port,
                     options.token.empty() ? "" : "?token=" + options.token);
}

// The port. Nobody else may listen there as well, which the library would allow.
int listen_on(GuardedServer& server, const ServeOptions& options) {
  server.set_socket_options([](socket_t socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  int port = static_cast<int>(options.port);
  const bool bound = port == 0 ? (port = server.bind_to_any_port(options.address.c_str())) > 0
                               : server.bind_to_port(options.address.c_str(), port);
  if (!bound)
    fail("use another --port, or 0 for any that is free", "{}:{} cannot be listened on", options.address,
         options.port);
  return port;
}

}  // namespace

void run_server(const ServeOptions& options, const Commands& commands, const std::atomic<bool>& stop,
                const std::function<void(const std::string& url)>& ready) {
  check_address(options);
  setenv("MDSM_PROGRESS_SECONDS", "0.2", 1);  // of jobs, whose progress is shown
  std::error_code error;
  fs::current_path(options.root, error);
  if (error) fail_usage("name a folder", "--root {}: {}", options.root, error.message());
  make_folder(kFolder);
  const FolderLock lock(kFolder, "serving");
  GuardedServer server(allowance(options));
  const int port = listen_on(server, options);
  Service service(options, commands, server, port, kJobs);
  service.queue().start();
  std::thread listening([&] { server.listen_after_bind(); });
  ready(url_of(options, port));
  while (!stop) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  server.ask_to_stop();
  server.stop();
  listening.join();
}

}  // namespace mdsm::serve
