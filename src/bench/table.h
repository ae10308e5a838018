// A table in Markdown with aligned columns, so that it reads well as plain text too.
#pragma once

#include <string>
#include <vector>

namespace mdsm::bench {

class Table {
 public:
  // The first column is flush left, the others flush right.
  explicit Table(std::vector<std::string> header);
  void row(std::vector<std::string> cells);  // as many as the header has
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace mdsm::bench
