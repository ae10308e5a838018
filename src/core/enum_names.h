// Names of an enum's values, written once beside the enum and used for options, files and messages:
//
//   enum class Head { quadratic, linear };
//   constexpr auto enum_names(Head) { return names_of<Head>({{Head::quadratic, "quadratic"}, ...}); }
//
// Inside the program a kind is the enum; words are for the border.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace mdsm {

template <class E>
struct EnumName {
  E value;
  const char* name;
};

template <class E, size_t n>
constexpr std::array<EnumName<E>, n> names_of(const EnumName<E> (&list)[n]) {
  return std::to_array(list);
}

template <class E>
concept NamedEnum = requires(E value) {
  enum_names(value).begin()->name;
};

template <NamedEnum E>
constexpr const char* to_string(E value) {
  for (const auto& one : enum_names(value))
    if (one.value == value) return one.name;
  return "unknown";
}

// In the order they were written in.
template <NamedEnum E>
std::vector<std::string> names_in_order() {
  std::vector<std::string> names;
  for (const auto& one : enum_names(E{})) names.emplace_back(one.name);
  return names;
}

// Throws a usage error that lists the names; `what` says of what: "head".
template <NamedEnum E>
E from_name(std::string_view name, std::string_view what) {
  for (const auto& one : enum_names(E{}))
    if (name == one.name) return one.value;
  fail_usage(fmt::format("choose one of {}", fmt::join(names_in_order<E>(), ", ")), "{} '{}' does not exist",
             what, name);
}

}  // namespace mdsm
