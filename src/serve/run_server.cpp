#include "serve/run_server.h"

#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "core/error.h"
#include "core/folder_lock.h"
#include "serve/server.h"

namespace mdsm::serve {
namespace {

constexpr const char *kFolder = "serve", *kJobs = "serve/jobs";
constexpr std::chrono::milliseconds kLook{20};
constexpr int kBacklog = 1024;  // connections that wait to be taken

std::string url_of(const ServeOptions& options, int port) {
  const bool v6 = options.address.find(':') != std::string::npos;
  return fmt::format("http://{}{}{}:{}/{}", v6 ? "[" : "", options.address, v6 ? "]" : "", port,
                     options.token.empty() ? "" : "?token=" + options.token);
}

// The port. Nobody else may listen there as well, which the library would allow. It lets five connections
// wait to be taken, and the kernel drops what others send, who try again after seconds.
int listen_on(GuardedServer& server, const ServeOptions& options) {
  socket_t listening = -1;
  server.set_socket_options([&listening](socket_t socket) {
    const int yes = 1;
    listening = socket;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  int port = static_cast<int>(options.port);
  const bool bound = port == 0 ? (port = server.bind_to_any_port(options.address.c_str())) > 0
                               : server.bind_to_port(options.address.c_str(), port);
  if (!bound)
    fail("use another --port, or 0 for any that is free", "{}:{} cannot be listened on", options.address,
         options.port);
  server.set_socket_options(nullptr);
  if (listen(listening, kBacklog) != 0)
    fail("try again", "{}:{}: {}", options.address, port, std::strerror(errno));
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
  std::atomic<bool> deaf{false};
  std::thread listening([&] { server.listen_after_bind(), deaf = true; });
  while (!server.is_running() && !deaf) std::this_thread::sleep_for(kLook);  // stop() before it does nothing
  ready(url_of(options, port));
  while (!stop && !deaf) std::this_thread::sleep_for(kLook);
  service.queue().ask_to_end();
  server.ask_to_stop();
  server.stop();
  listening.join();
  if (!stop) fail("start it again", "{}:{} can no longer be listened on", options.address, port);
}

}  // namespace mdsm::serve
