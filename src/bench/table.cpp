#include "bench/table.h"

#include <fmt/format.h>

#include <algorithm>

namespace mdsm::bench {
namespace {

// Characters, not bytes: continuation bytes of UTF-8 do not count.
size_t width(const std::string& text) {
  return static_cast<size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace

Table::Table(std::vector<std::string> header) : rows_{std::move(header)} {}

void Table::row(std::vector<std::string> cells) {
  cells.resize(rows_[0].size());
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  const size_t columns = rows_[0].size();
  std::vector<size_t> widths(columns, 3);
  for (const auto& row : rows_)
    for (size_t c = 0; c < columns; ++c) widths[c] = std::max(widths[c], width(row[c]));
  std::string result;
  for (size_t r = 0; r < rows_.size(); ++r) {
    for (size_t c = 0; c < columns; ++c) {
      const std::string space(widths[c] - width(rows_[r][c]), ' ');
      result += c == 0 ? "| " + rows_[r][c] + space : " | " + space + rows_[r][c];
    }
    result += " |\n";
    if (r > 0) continue;
    for (size_t c = 0; c < columns; ++c)
      result += (c == 0 ? "|" : "") + std::string(widths[c] + (c == 0 ? 2 : 1), '-') + (c == 0 ? "|" : ":|");
    result += "\n";
  }
  return result;
}

}  // namespace mdsm::bench
