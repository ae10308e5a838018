#include "eval/sample_source.h"

#include "core/files.h"
#include "core/json.h"

namespace mdsm::eval {

using nlohmann::json;

SampleSource sample_source(const std::string& given) {
  std::error_code error;
  const fs::path folder = given;
  if (!fs::is_regular_file(folder / "samples.npy", error)) return {given, ""};
  SampleSource found{(folder / "samples.npy").string(), ""};
  if (!fs::is_regular_file(folder / "samples.json", error)) return found;
  const json values = parse_json(read_text(folder / "samples.json"));
  if (!values.is_object() || !values.contains("summary") || !values["summary"].is_object()) return found;
  const json seeds = values["summary"].value("seeds", json());
  if (seeds.is_string()) found.seeds = seeds.get<std::string>();
  return found;
}

std::unique_ptr<data::Dataset> open_samples(const SampleSource& from, data::DataOptions options) {
  options.source = from.source;
  return data::open_dataset(options);
}

}  // namespace mdsm::eval
