// mdsm serve: a page in the browser, and the same as a REST interface.
#include "app/model_use.h"
#include "cli/command.h"
#include "cli/program.h"
#include "core/stop_flag.h"
#include "serve/run_server.h"

namespace mdsm::cli {
namespace {

class Serve : public Command {
 public:
  const char* name() const override { return "serve"; }
  const char* summary() const override {
    return "A page to watch, draw, repair and judge, and a REST interface";
  }

  void declare(OptionSet& options) override {
    options.group("Server");
    options
        .add("root", serve_.root,
             "folder with runs, models, detectors and data; jobs are kept in its folder serve")
        .meta("FOLDER");
    options.add("address", serve_.address, "to listen on; others than this machine's own need --token");
    options.add("port", serve_.port, "to listen on; 0 = any that is free").range(0, 65535);
    options.add("token", serve_.token, "what clients must show, 16 characters or more").meta("SECRET");
    options.add("host", serve_.hosts, "another name that this server is called by, as in a proxy's address")
        .meta("NAME");
    options.group("Limits");
    options.add("queue", serve_.queue, "jobs that may wait").range(1, 100000);
    options.add("job-seconds", serve_.job_seconds, "that a job may take; training may take any time")
        .range(1, 1e7);
    options.add("job-memory", serve_.job_memory, "megabytes that a job may take; 0 = what is available")
        .range(0, 1e8);
    options.add("body", serve_.body, "megabytes of a request").range(1, 1024);
    options.add("pixels", serve_.pixels, "millions of pixels of a picture").range(1, 64);
    options.example("mdsm serve");
    options.example("mdsm serve --root ~/experiments --port 9000");
    options.example("mdsm serve --address 0.0.0.0 --host pc7.example.org --token $(openssl rand -hex 16)");
  }

  int run(OptionSet&) override {
    const StopFlag stop;
    serve::run_server(serve_, {describe_command, check_command}, stop.flag(), [this](const std::string& url) {
      if (as_json)
        app::print_json({{"url", url}});
      else
        fmt::print("mdsm serves {}\nCtrl-C ends it; jobs at work go on at the next start.\n", url);
      std::fflush(stdout);
    });
    return 0;
  }

 private:
  serve::ServeOptions serve_;
};

}  // namespace

std::unique_ptr<Command> make_serve() { return std::make_unique<Serve>(); }

}  // namespace mdsm::cli
