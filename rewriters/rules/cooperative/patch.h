// Text edits that nest: the new text of a range is composed from the edits inside it, and may
// itself become part of an outer edit (a loop body copied four times with different loads). For
// rules only; a value type, not shared between threads.
#pragma once

#include <string>
#include <vector>

#include "candidates/result.h"
#include "rewriters/syntax/ast.h"

namespace hone::rules::coop {

class Patch {
 public:
  explicit Patch(const syntax::TranslationUnit& unit) : unit_(&unit) {}

  /// Replaces a range. Replacements nest or are disjoint; the outer one wins.
  void replace(const syntax::SourceRange& range, std::string text);
  /// Text directly before or after a range; it belongs to the range. Several at one place stay in
  /// order of insertion.
  void before(const syntax::SourceRange& range, std::string text);
  void after(const syntax::SourceRange& range, std::string text);

  /// The text of `range` with every edit inside it applied.
  [[nodiscard]] std::string text(const syntax::SourceRange& range) const;
  /// The whole source, edited. kRefused when an edit met text that comes from a macro body.
  [[nodiscard]] Result<std::string> source() const;
  [[nodiscard]] bool broken() const { return broken_; }

 private:
  struct Edit {
    enum class Kind { kAfter, kBefore, kReplace };  // in the order of one offset
    Kind kind;
    syntax::SourceRange range;
    std::string text;
  };
  bool check(const syntax::SourceRange& range);

  const syntax::TranslationUnit* unit_;
  std::vector<Edit> edits_;
  bool broken_ = false;
};

}  // namespace hone::rules::coop
