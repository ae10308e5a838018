#include "bench/party.h"

#include <cmath>

#include "bench/native_steps.h"
#include "core/error.h"
#include "core/json.h"
#include "core/resources.h"

namespace mdsm::bench {
namespace {

using nlohmann::json;

std::string find_python() {
  std::error_code error;
  return fs::exists("/usr/bin/python3", error) ? "/usr/bin/python3" : "python3";
}

std::string find_script() {
  if (const auto found = find_resource("bench/peers/peer.py")) return found->string();
  fail_usage("name it with --peer, or leave the peer out with --no-peer",
             "bench/peers/peer.py did not come with this program");
}

}  // namespace

Contestant our_side(double timeout) {
  return {"mdsm", {program_path().string(), "bench", "--worker"}, {}, timeout};
}

Contestant peer_side(const std::string& python, const std::string& script, double timeout) {
  std::error_code error;
  if (!script.empty() && !fs::is_regular_file(script, error))
    fail("check the path after --peer", "{}: no such file", script);
  return {"PyTorch",
          {python.empty() ? find_python() : python, "-B", script.empty() ? find_script() : script},
          {},
          timeout};
}

std::string side_title(const std::string& name) { return fmt::format("the {} side of the benchmark", name); }

Party::Party(const Contestant& contestant)
    : name_(contestant.name),
      timeout_(contestant.timeout),
      process_(side_title(contestant.name), contestant.command, contestant.environment) {}

json Party::ask(const std::string& what, json more) {
  more["do"] = what;
  const std::string line = process_.exchange(json_text(more), timeout_);
  const json answer = parse_json(line);
  if (!answer.is_object())
    fail("it must print nothing but answers", "{} answered '{}' with '{}'", side_title(name_), what,
         line.substr(0, 200));
  if (answer.contains("error")) {
    const std::string text =
        answer["error"].is_string() ? answer["error"].get<std::string>() : json_text(answer["error"]);
    fail(text.find("import") == std::string::npos
             ? "nothing was measured"
             : "install python3-torch, name another interpreter with --python, or add --no-peer",
         "{}: {}", side_title(name_), text);
  }
  if (answer.contains("peak_rss") && answer["peak_rss"].is_number())
    peak_memory_ = answer["peak_rss"].get<double>();
  return answer;
}

void Party::set_up(const fs::path& problem, const Configuration& config, const SideOptions& options) {
  json request = to_json(config);
  const StepNumbers numbers;
  request.update({{"folder", problem.string()},
                  {"threads", options.threads},
                  {"seed", options.seed},
                  {"exact", options.exact},
                  {"precision", mdsm::to_string(options.precision)},
                  {"lr", numbers.lr},
                  {"ema", numbers.ema},
                  {"eps", numbers.eps}});
  const json answer = ask("setup", request);
  version_ = answer.value("name", name_);
}

double Party::time(const std::string& what, int64_t repeat) {
  const json answer = ask(what, {{"repeat", repeat}});
  const json seconds = answer.value("seconds", json());
  if (!seconds.is_number() || !(seconds.get<double>() > 0))
    fail("check the peer program", "{} gave no time for '{}'", side_title(name_), what);
  return seconds.get<double>();
}

}  // namespace mdsm::bench
