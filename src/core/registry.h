// A table of named rows that a program can add to: samplers, objectives, data sources, metrics. What ships
// stands in one list in one source file of its folder; a program of one's own calls add() before it uses the
// table.
#pragma once

#include <algorithm>
#include <deque>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace mdsm {

// Row has a member `name` that can be compared with text.
template <class Row>
class Registry {
 public:
  // what: one row in messages, as in "sampler".
  Registry(std::string what, std::vector<Row> rows)
      : what_(std::move(what)), rows_(rows.begin(), rows.end()) {}

  void add(Row row) {
    if (find(row.name)) throw std::logic_error(what_ + " declared twice: " + std::string(row.name));
    rows_.push_back(std::move(row));
  }

  const Row* find(std::string_view name) const {
    const auto found = std::ranges::find_if(rows_, [&](const Row& row) { return name == row.name; });
    return found == rows_.end() ? nullptr : &*found;
  }
  // Throws a usage error that lists the names.
  const Row& at(std::string_view name) const {
    if (const Row* row = find(name)) return *row;
    fail_usage(fmt::format("choose one of {}", fmt::join(names(), ", ")), "{} '{}' does not exist", what_,
               name);
  }

  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const Row& row : rows_) names.emplace_back(row.name);
    return names;
  }
  auto begin() const { return rows_.begin(); }
  auto end() const { return rows_.end(); }

 private:
  std::string what_;
  std::deque<Row> rows_;  // rows stay where they are when others are added
};

}  // namespace mdsm
