// JSON from outside: one parser that refuses what no file of ours has (deep nesting), and values that are
// checked for their type and range as they are taken out. Nothing else in the sources parses JSON.
#pragma once

#include <concepts>
#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace mdsm {

// Discarded, so that it is no object and nothing else, where the text is not JSON or nests too deeply.
nlohmann::json parse_json(std::string_view text, bool with_comments = false);
// The same of a text that somebody may have made to be misread or to take much memory: a key that an object
// has twice, and a list of more than so many values, are JsonErrors.
nlohmann::json parse_strict_json(std::string_view text, size_t longest_list);
// Whether either of them refuses it for its nesting, JSON or not.
bool nests_too_deeply(std::string_view text);
// The other way; bytes that are not UTF-8 become the replacement character.
std::string json_text(const nlohmann::json& values, int indent = -1);
// Null where it is not finite: JSON has no such numbers.
nlohmann::json number_or_null(double value);

// Whether it can be kept in JSON as it is.
bool is_utf8(const std::string& text);

// A value that is not what it should be: "1e+300, not an integer".
struct JsonError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

namespace json_detail {
int64_t signed_integer(const nlohmann::json& value, int64_t low, int64_t high);
uint64_t unsigned_integer(const nlohmann::json& value, uint64_t high);
double number(const nlohmann::json& value);
float small_number(const nlohmann::json& value);
std::string text(const nlohmann::json& value);
const nlohmann::json& list(const nlohmann::json& value);
template <class T>
struct is_vector : std::false_type {};
template <class T>
struct is_vector<std::vector<T>> : std::true_type {};
}  // namespace json_detail

// An integer in the range of its type, a finite number, a text, or a list of one of them; else a JsonError.
template <class T>
T json_value(const nlohmann::json& value) {
  using namespace json_detail;
  if constexpr (is_vector<T>::value) {
    T values;
    for (const nlohmann::json& one : list(value)) values.push_back(json_value<typename T::value_type>(one));
    return values;
  } else if constexpr (std::same_as<T, std::string>) {
    return text(value);
  } else if constexpr (std::same_as<T, double>) {
    return number(value);
  } else if constexpr (std::same_as<T, float>) {
    return small_number(value);
  } else if constexpr (std::signed_integral<T>) {
    return static_cast<T>(
        signed_integer(value, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
  } else {
    static_assert(std::unsigned_integral<T> && !std::same_as<T, bool>);
    return static_cast<T>(unsigned_integer(value, std::numeric_limits<T>::max()));
  }
}

// An object of a file. What is missing or wrong goes by name to `damaged`, which throws.
class JsonObject {
 public:
  using Damaged = std::function<void(const std::string& what)>;
  JsonObject(nlohmann::json values, Damaged damaged);  // damaged where it is none
  static JsonObject parse(std::string_view text, Damaged damaged) {
    return {parse_json(text), std::move(damaged)};
  }

  bool has(const char* key) const { return values_.contains(key); }
  const nlohmann::json& at(const char* key) const;
  const nlohmann::json& values() const { return values_; }
  JsonObject object(const char* key) const { return {at(key), damaged_}; }

  template <class T>
  T get(const char* key) const {
    try {
      return json_value<T>(at(key));
    } catch (const JsonError& error) {
      fail_at(key, error);
    }
  }
  template <class T>
  T get_or(const char* key, T otherwise) const {
    return has(key) ? get<T>(key) : otherwise;
  }
  // JSON has no word for "not a number": null stands for it.
  std::vector<float> floats_or_nan(const char* key) const;

 private:
  [[noreturn]] void fail(const std::string& what) const;
  [[noreturn]] void fail_at(const char* key, const JsonError& error) const;

  nlohmann::json values_;
  Damaged damaged_;
};

}  // namespace mdsm
