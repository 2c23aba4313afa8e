// Strangers' text within source text: names, comments, literals. Private to candidates/export.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "candidates/store/store.h"
#include "candidates/task.h"

namespace hone::exporting {

/// One line of printable ASCII that ends no comment and continues on no other line. What is left
/// out becomes '?'.
[[nodiscard]] std::string comment_text(std::string_view text);

/// A C++ or Python identifier out of any text: letters, digits and '_', begins with a letter.
[[nodiscard]] std::string identifier(std::string_view text);

/// Gives names to what strangers named, so that they are no words of the language, nothing that the
/// generated text uses itself, and all different.
class Names {
 public:
  enum class Language { kCpp, kPython };
  explicit Names(Language language) : language_(language) {}
  /// `name` itself where it may stand.
  [[nodiscard]] std::string fresh(std::string_view name);

 private:
  Language language_;
  std::set<std::string, std::less<>> taken_;
};

/// A Python expression whose value is the text: a raw string of many lines where that is safe, an
/// escaped one otherwise. Bytes that are no UTF-8 become '?'.
[[nodiscard]] std::string python_text(std::string_view text);
/// A short one: 'text', escaped.
[[nodiscard]] std::string python_string(std::string_view text);

/// Where a candidate comes from, what was measured and by which steps: lines without comment marks.
[[nodiscard]] std::vector<std::string> about(const BoardRow& row, const Task& task);

}  // namespace hone::exporting
