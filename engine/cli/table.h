// Tables for a terminal: columns as wide as what is in them.
#pragma once

#include <string>
#include <vector>

namespace hone::cli {

class Table {
 public:
  enum class Align { kLeft, kRight };

  void column(std::string title, Align align) { columns_.push_back({std::move(title), align}); }
  /// As many cells as columns.
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  /// Leaves out columns with nothing in any row; two spaces between the others, none at the ends.
  [[nodiscard]] std::string text() const;

 private:
  struct Column {
    std::string title;
    Align align;
  };
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace hone::cli
