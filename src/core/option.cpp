// One option: how it is declared, and how text becomes its value.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include "core/error.h"
#include "core/options.h"
#include "core/overload.h"

namespace mdsm {
namespace {

template <class T>
bool parse_number(const std::string& text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

// "--lr 0.001" and "--limit 10000" as people write them: 1e4 is a fine integer.
bool parse_integer(const std::string& text, int64_t& value) {
  if (parse_number(text, value)) return true;
  double real = 0;
  if (!parse_number(text, real) || std::floor(real) != real || std::abs(real) > 9e15) return false;
  value = static_cast<int64_t>(real);
  return true;
}

bool parse_flag(const std::string& text, bool& value) {
  value = text == "true" || text == "1" || text == "yes" || text == "on";
  return value || text == "false" || text == "0" || text == "no" || text == "off";
}

}  // namespace

std::string value_text(const Option::Target& target) {
  return std::visit(
      Overload{[](bool* v) -> std::string { return *v ? "true" : "false"; },
               [](int64_t* v) { return std::to_string(*v); }, [](double* v) { return fmt::format("{}", *v); },
               [](std::string* v) { return *v; },
               [](std::vector<std::string>* v) { return fmt::format("{}", fmt::join(*v, ",")); },
               [](const EnumVariable& v) { return v.get(v.variable); }},
      target);
}

Option::Option(std::string name, Target target, std::string help, std::string group)
    : name_(std::move(name)), group_(std::move(group)) {
  add_use("", std::move(target), std::move(help));
}

void Option::add_use(std::string alternative, Target target, std::string help) {
  if (const auto* choice = std::get_if<EnumVariable>(&target); choice && choices_.empty())
    choices_ = choice->names;
  std::string initial = value_text(target);
  uses_.push_back({std::move(alternative), std::move(target), std::move(help), std::move(initial)});
}

bool Option::belongs_to(const std::string& alternative) const {
  return std::ranges::any_of(
      uses_, [&](const Use& use) { return use.alternative.empty() || use.alternative == alternative; });
}

const Option::Use& Option::use(const std::string& alternative) const {
  const auto found = std::ranges::find(uses_, alternative, &Use::alternative);
  return found == uses_.end() ? uses_.front() : *found;
}

Option& Option::range(double low, double high) {
  low_ = low;
  high_ = high;
  return *this;
}
Option& Option::above(double low) {
  low_ = low;
  open_low_ = true;
  return *this;
}
Option& Option::choices(std::vector<std::string> allowed) {
  choices_ = std::move(allowed);
  return *this;
}
Option& Option::required() {
  required_ = true;
  return *this;
}
Option& Option::meta(std::string name) {
  meta_ = std::move(name);
  return *this;
}
Option& Option::positional() {
  positional_ = true;
  return command_line_only();
}
Option& Option::command_line_only() {
  key_ = false;
  return unsaved();
}
Option& Option::unsaved() {
  saved_ = false;
  return *this;
}
Option& Option::not_in_environment() {
  in_environment_ = false;
  return *this;
}
Option& Option::hidden() {
  hidden_ = true;
  return *this;
}
Option& Option::alias(std::string name) {
  aliases_.push_back(std::move(name));
  return *this;
}
Option& Option::formerly(std::string name) {
  former_names_.push_back(std::move(name));
  return *this;
}
Option& Option::value_alias(std::string spelling, std::string meant) {
  value_aliases_.emplace_back(std::move(spelling), std::move(meant));
  return *this;
}
Option& Option::shown_default(std::string text) {
  shown_default_ = std::move(text);
  return *this;
}

bool Option::has_name(std::string_view name) const {
  return name_ == name || std::ranges::count(aliases_, name) > 0 ||
         std::ranges::count(former_names_, name) > 0;
}

std::string Option::environment_name() const {
  if (!key_ || !in_environment_) return "";
  std::string name = "MDSM_" + name_;
  for (char& c : name) c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

std::string Option::display_name() const { return positional_ ? meta_text() : "--" + name_; }

std::string Option::negated(const std::string& text) {
  bool flag = false;
  return !parse_flag(text, flag) ? text : flag ? "false" : "true";
}

void Option::reject(const std::string& value, const std::string& hint) const {
  fail_usage(hint, "{}: '{}' is not a valid value", display_name(), value);
}

void Option::check_number(double value) const {
  if (std::isfinite(value) && (open_low_ ? value > low_ : value >= low_) && value <= high_) return;
  reject(fmt::format("{}", value), "it must be " + (std::isfinite(value) ? constraint_text() : "finite"));
}

void Option::assign(const std::string& text, bool append) {
  const auto other = std::ranges::find(value_aliases_, text, &decltype(value_aliases_)::value_type::first);
  const std::string& meant = other == value_aliases_.end() ? text : other->second;
  for (const Use& use : uses_) assign(use.target, meant, append);
  given_ = true;
}

void Option::assign(const Target& to, const std::string& text, bool append) const {
  if (!choices_.empty() && std::find(choices_.begin(), choices_.end(), text) == choices_.end())
    reject(text, fmt::format("choose one of {}", fmt::join(choices_, ", ")));
  std::visit(Overload{[&](bool* target) {
                        bool value = false;
                        if (!parse_flag(text, value)) reject(text, "use true or false");
                        *target = value;
                      },
                      [&](int64_t* target) {
                        int64_t value = 0;
                        if (!parse_integer(text, value)) reject(text, "it takes a whole number");
                        check_number(static_cast<double>(value));
                        *target = value;
                      },
                      [&](double* target) {
                        double value = 0;
                        if (!parse_number(text, value)) reject(text, "it takes a number");
                        check_number(value);
                        *target = value;
                      },
                      [&](std::string* target) { *target = text; },
                      [&](std::vector<std::string>* target) {
                        if (!append) target->clear();
                        target->push_back(text);
                      },
                      [&](const EnumVariable& target) { target.set(target.variable, text); }},
             to);
}

}  // namespace mdsm
