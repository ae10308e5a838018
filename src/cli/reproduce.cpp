// mdsm reproduce: the paper's experiments from recipes, and their report.
#include <algorithm>
#include <thread>

#include "cli/command.h"
#include "app/version.h"
#include "core/error.h"
#include "core/machine.h"
#include "core/resources.h"
#include "core/stop_flag.h"
#include "reproduce/report.h"

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
    options.add("experiment", experiments_, "names of recipes, or all; none lists them")
        .positional()
        .meta("EXPERIMENT");
    options.add("scale", run_.scale, "smoke: minutes, cpu: hours on two cores, paper: the original size")
        .choices({std::begin(reproduce::kScales), std::end(reproduce::kScales)});
    options
        .add("data", data_,
             "where a data set is, as in cifar10=PATH; found by itself where mdsm data finds it")
        .meta("NAME=SOURCE");
    options.add("with", settings_, "another value for a variable of the recipes, as in steps=500")
        .meta("NAME=VALUE");
    options.add("recipes", recipes_, "folder of recipes; configs/reproduce comes with mdsm").meta("FOLDER");
    options.add("dry-run", dry_run_, "print the experiments and their commands; run nothing");
    options.group("Engine");
    options.add("engine", run_.engine, "native (CPU) or torch (LibTorch)").choices({"native", "torch"});
    options.add("device", run_.device, "cpu, or cuda or cuda:K for the torch engine").meta("DEVICE");
    options.add("threads", run_.threads, "CPU threads; 0 takes all").range(0, 1024);
    options.group("Output");
    options.add("out", out_, "folder of all results and report.html; without it reproduce-SCALE")
        .meta("FOLDER");
    options.add("force", force_, "do steps again that another command has done").command_line_only();
    options.example("mdsm reproduce all --scale smoke");
    options.example("mdsm reproduce modes --scale cpu --data mnist=mnist:PATH");
  }

  int run(OptionSet&) override {
    run_.out = fs::absolute(out_.empty() ? "reproduce-" + run_.scale : out_);
    run_.data = pairs(data_, "--data");
    run_.settings = pairs(settings_, "--with");
    const auto recipes = reproduce::read_recipes(recipes_folder());
    if (experiments_.empty()) return list(recipes);
    std::vector<std::string> names = experiments_;
    if (std::ranges::find(names, "all") != names.end()) {
      names.clear();
      for (const auto& [name, recipe] : recipes) names.push_back(name);
    }
    const auto order = reproduce::in_order(recipes, names);
    return dry_run_ ? show(order) : run_all(order);
  }

 private:
  fs::path recipes_folder() const {
    if (!recipes_.empty()) return recipes_;
    if (const auto found = find_resource("configs/reproduce")) return *found;
    fail_usage("name it with --recipes", "the folder configs/reproduce did not come with this program");
  }

  int list(const std::map<std::string, reproduce::Recipe>& recipes) const {
    for (const auto& [name, recipe] : recipes) {
      const std::string missing = reproduce::missing_data(run_, recipe);
      fmt::print("{:<22}{}{}\n", name, recipe.title, missing.empty() ? "" : " (" + missing + ")");
    }
    return 0;
  }

  int show(const std::vector<const reproduce::Recipe*>& order) const {
    for (const reproduce::Recipe* recipe : order) {
      fmt::print("# {}: {}\n", recipe->name, recipe->title);
      if (const std::string missing = reproduce::missing_data(run_, *recipe); !missing.empty()) {
        fmt::print("#   cannot run: {}\n", missing);
        continue;
      }
      for (const reproduce::RecipeStep& step : recipe->steps) {
        const reproduce::Variables variables(run_, *recipe, step.name);
        std::vector<std::string> words;
        for (const std::string& word : step.words) {
          words.push_back(variables.expand(word));
          if (words.back().empty()) words.back() = "RUN";  // made by an earlier step
        }
        fmt::print("{}\n", reproduce::command_text(words));
      }
    }
    return 0;
  }

  int run_all(const std::vector<const reproduce::Recipe*>& order) {
    make_folder(run_.out);
    StopFlag stop;
    const reproduce::RunnerHooks hooks{[](const std::string& line) {
                              fmt::print("{}\n", line);
                              std::fflush(stdout);
                            },
                            &stop.flag()};
    std::vector<reproduce::Outcome> outcomes;
    std::vector<std::string> failed, without_data;
    const fs::path report = run_.out / "report.html";
    std::error_code error;
    const bool first = !fs::exists(report, error);  // then the report grows while people wait
    const auto write_report = [&] { write_file(report, reproduce::html_report(outcomes, run_, about())); };
    for (const reproduce::Recipe* recipe : order) {
      outcomes.push_back(reproduce::run_recipe(*recipe, run_, force_, hooks));
      const reproduce::Outcome& last = outcomes.back();
      if (!last.done) {
        hooks.say(fmt::format("{}: not run to the end: {}", recipe->name, last.why_not));
        (last.steps.empty() ? without_data : failed).push_back(recipe->name);
      }
      if (first) write_report();
    }
    write_report();
    fmt::print("report  {}\n", report.string());
    if (!failed.empty())
      fail("the report says why; the same call tries again", "{} of {} experiments failed, the first is {}",
           failed.size(), order.size(), failed.front());
    if (without_data.size() == order.size())
      fail("mdsm reproduce --help says how to name it", "nothing was run: {}", outcomes.back().why_not);
    return 0;
  }

  reproduce::ReportAbout about() const {
    const std::string version = app::version_text();
    std::vector<std::string> words = {"reproduce"};
    words.insert(words.end(), experiments_.begin(), experiments_.end());
    words.insert(words.end(), {"--scale", run_.scale});
    for (const std::string& pair : data_) words.insert(words.end(), {"--data", pair});
    for (const std::string& pair : settings_) words.insert(words.end(), {"--with", pair});
    return {version.substr(0, version.find('\n')),
            fmt::format("{}, {} threads", cpu_model(), std::thread::hardware_concurrency()), today(),
            reproduce::command_text(words)};
  }

  reproduce::ReproduceOptions run_;
  std::vector<std::string> experiments_, data_, settings_;
  std::string recipes_, out_;
  bool dry_run_ = false, force_ = false;
};

}  // namespace

std::unique_ptr<Command> make_reproduce() { return std::make_unique<Reproduce>(); }

}  // namespace mdsm::cli
