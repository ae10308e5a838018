// mdsm reproduce: the paper's experiments from recipes, and their report; app/reproduce.h runs them.
#include "app/reproduce.h"

#include <cstdio>

#include "cli/command.h"
#include "cli/show.h"
#include "core/error.h"
#include "core/stop_flag.h"

namespace mdsm::cli {
namespace {

// NAME=VALUE, several of them.
std::map<std::string, std::string> pairs(const std::vector<std::string>& given, const char* option) {
  std::map<std::string, std::string> found;
  for (const std::string& text : given) {
    const size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == text.size())
      fail_usage(fmt::format("write {} NAME=VALUE", option), "{}: '{}'", option, text);
    found[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return found;
}

class Reproduce : public Command {
 public:
  const char* name() const override { return "reproduce"; }
  const char* summary() const override {
    return "Run the paper's experiments from recipes and write one report of them";
  }
  void declare(OptionSet& options) override {
    options.group("What to run");
    options.add("experiment", job_.experiments, "names of recipes, or all; none lists them")
        .positional()
        .meta("EXPERIMENT");
    options.add("budget", job_.run.scale, "smoke: minutes, cpu: hours on two cores, paper: the original size")
        .formerly("scale");
    options
        .add("source", data_,
             "where a data set is, as in cifar10=PATH; found by itself where mdsm data finds it")
        .meta("NAME=SOURCE")
        .formerly("data");
    options.add("with", settings_, "another value for a variable of the recipes, as in steps=500")
        .meta("NAME=VALUE");
    options.add("recipes", recipes_, "folder of recipes; configs/reproduce comes with mdsm").meta("FOLDER");
    options.add("dry-run", dry_run_, "print the experiments and their commands; run nothing");
    options.group("Engine");
    options.add("engine", job_.run.engine, "native (CPU) or torch (LibTorch)").choices({"native", "torch"});
    options.add("device", job_.run.device, "cpu, or cuda or cuda:K for the torch engine").meta("DEVICE");
    options.add("threads", job_.run.threads, "CPU threads; 0 takes all").range(0, 1024);
    options.group("Output");
    options.add("out", out_, "folder of all results and report.html; without it reproduce-BUDGET")
        .meta("FOLDER");
    options.add("force", job_.force, "do steps again that another command has done").command_line_only();
    options.example("mdsm reproduce all --budget smoke");
    options.example("mdsm reproduce modes --budget cpu --source mnist=mnist:PATH");
  }

  int run(OptionSet&) override {
    const std::string scale = to_string(job_.run.scale);
    job_.run.out = fs::absolute(out_.empty() ? "reproduce-" + scale : out_);
    job_.run.data = pairs(data_, "--source");
    job_.run.settings = pairs(settings_, "--with");
    job_.recipes = recipes_;
    if (job_.experiments.empty()) {
      const auto list = list_recipes(job_);
      as_json ? app::print_json(to_json(list)) : print_list(list);
    } else if (dry_run_) {
      const auto plan = plan_recipes(job_);
      as_json ? app::print_json(to_json(plan)) : print_plan(plan);
    } else {
      job_.command = command(scale);
      if (!quiet) job_.say = [this](const std::string& line) { say(line); };
      const StopFlag stop;
      const app::ReproduceResult result = run_reproduce(job_, stop.flag());
      show(result, as_json);
      require_success(result);
    }
    return 0;
  }

 private:
  // To standard output, which JSON has for itself.
  void say(const std::string& line) const {
    std::FILE* const to = as_json ? stderr : stdout;
    fmt::print(to, "{}\n", line);
    std::fflush(to);
  }

  // The call as typed, as far as it says what was run.
  std::vector<std::string> command(const std::string& scale) const {
    std::vector<std::string> words = {"reproduce"};
    words.insert(words.end(), job_.experiments.begin(), job_.experiments.end());
    words.insert(words.end(), {"--budget", scale});
    for (const std::string& pair : data_) words.insert(words.end(), {"--source", pair});
    for (const std::string& pair : settings_) words.insert(words.end(), {"--with", pair});
    return words;
  }

  app::ReproduceOptions job_;
  std::vector<std::string> data_, settings_;
  std::string recipes_, out_;
  bool dry_run_ = false;
};

}  // namespace

std::unique_ptr<Command> make_reproduce() { return std::make_unique<Reproduce>(); }

}  // namespace mdsm::cli
