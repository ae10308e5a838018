#include "data/archive_labels.h"

#include <charconv>

#include "core/error.h"
#include "core/json.h"
#include "data/archive_listing.h"

namespace mdsm::data {
namespace {

constexpr int64_t kMaxClasses = 1'000'000;

}  // namespace

int32_t parse_class(const std::vector<std::byte>& bytes, const std::string& name) {
  std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  text.erase(text.find_last_not_of(" \r\n") + 1);
  int64_t value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0 || value >= kMaxClasses)
    fail("write the number of a class, from 0", "{}: no class in it", name);
  return static_cast<int32_t>(value);
}

LabelsByName parse_labels(const std::vector<std::byte>& bytes, const std::string& name) {
  const auto damaged = [&](const std::string& what) { fail("use another copy of it", "{}: {}", name, what); };
  const JsonObject file =
      JsonObject::parse({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, damaged);
  LabelsByName labels;
  if (!file.has("labels") || file.at("labels").is_null()) return labels;
  if (!file.at("labels").is_array()) damaged("labels is no list");
  for (const nlohmann::json& pair : file.at("labels")) try {
      if (!pair.is_array() || pair.size() != 2) damaged("labels that are no pairs");
      const auto label = json_value<int32_t>(pair[1]);
      if (label < 0 || label >= kMaxClasses) damaged("a label below 0 or too large");
      labels[cleaned(json_value<std::string>(pair[0])).string()] = label;
    } catch (const JsonError& error) {
      damaged(fmt::format("a label that is {}", error.what()));
    }
  return labels;
}

}  // namespace mdsm::data
