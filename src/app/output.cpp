#include "app/output.h"

#include "core/error.h"
#include "core/json.h"

namespace mdsm::app {

void check_output(const fs::path& path, bool force) {
  std::error_code error;
  if (fs::is_directory(path, error)) fail("name a file", "{}: is a folder", path.string());
  if (!force && fs::exists(path, error))
    fail("add --force to replace it", "{}: exists already", path.string());
}

void check_outputs(const fs::path& folder, const std::vector<std::string>& names, bool force) {
  std::error_code error;
  if (fs::exists(folder, error) && !fs::is_directory(folder, error))
    fail("name a folder", "{}: is a file", folder.string());
  for (const std::string& name : names) check_output(folder / name, force);
}

void check_folder_of(const fs::path& path) {
  std::error_code error;
  const fs::path folder = path.parent_path();
  if (!folder.empty() && !fs::is_directory(folder, error))
    fail("create it first", "{}: its folder does not exist", path.string());
  if (fs::is_directory(path, error)) fail("name a file", "{}: is a folder", path.string());
}

void write_json(const fs::path& path, const nlohmann::json& values, int indent) {
  write_file(path, json_text(values, indent) + "\n");
}

std::string grouped(int64_t number) {
  std::string digits = std::to_string(number);
  for (size_t at = digits.size(); at > 3 && digits[at - 4] != '-';) digits.insert(at -= 3, 1, ' ');
  return digits;
}

}  // namespace mdsm::app
