// What {names} in the words of a recipe stand for.
//   {width}            a value of the scale, or of --with
//   {here}             the folder of this step
//   {STEP}, {RECIPE/STEP} as {@train}, {@model-mnist/train}: the folder of an earlier step
//   {model:STEP}       the run folder that a training step has made in its folder
//   {data:mnist}       the source of a data set
//   {engine} {device} {threads}
#pragma once

#include <map>
#include <string>

#include "core/files.h"
#include "reproduce/recipe.h"

namespace mdsm::reproduce {

struct ReproduceOptions {
  Scale scale = Scale::smoke;
  fs::path out;
  std::map<std::string, std::string> data;      // name -> source
  std::map<std::string, std::string> settings;  // replace values of the scale
  std::string engine = "native", device = "cpu";
  int64_t threads = 0;
};

// Where a data set comes from; empty if it is nowhere.
std::string data_source(const ReproduceOptions& options, const std::string& name);
// Why a recipe cannot run for want of data; empty if it can.
std::string missing_data(const ReproduceOptions& options, const Recipe& recipe);

class Variables {
 public:
  // step: empty outside of steps, where {here} has no meaning. A {model:} that is not there yet is empty.
  Variables(const ReproduceOptions& options, const Recipe& recipe, std::string step = "")
      : options_(options), recipe_(recipe), step_(std::move(step)) {}
  std::string expand(const std::string& word) const;

 private:
  std::string value(const std::string& name) const;
  fs::path folder(const std::string& step) const;

  const ReproduceOptions& options_;
  const Recipe& recipe_;
  std::string step_;
};

}  // namespace mdsm::reproduce
