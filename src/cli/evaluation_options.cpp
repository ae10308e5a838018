#include "cli/evaluation_options.h"

#include "core/error.h"
#include "model/bundled.h"

namespace mdsm::cli {
namespace {
constexpr std::string_view kPrefix = "classifier-";
}

fs::path classifier_path(const std::string& given) {
  std::error_code error;
  if (fs::exists(given, error)) return given;
  if (const auto bundled = find_bundled(std::string(kPrefix) + given)) return *bundled;
  std::string names;
  for (const std::string& name : list_bundled())
    if (name.starts_with(kPrefix)) names += (names.empty() ? "" : ", ") + name.substr(kPrefix.size());
  fail(names.empty() ? "make one with mdsm classifier, or set MDSM_MODELS to the folder of the bundled ones"
                     : fmt::format("make one with mdsm classifier, or use a bundled one: {}", names),
       "{}: no such classifier", given);
}

}  // namespace mdsm::cli
