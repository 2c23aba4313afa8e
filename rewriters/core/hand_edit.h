// hand-edit: the lines that somebody changed in an exported candidate => the same change to what
// the steps before it give at any size, legal where each changed piece is found exactly once.
// Nothing is proved of it: every gate of the evaluator must check it at the very size that it is
// for.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "candidates/recipe.h"
#include "rewriters/core/rewriter.h"

namespace hone {

inline constexpr const char* kHandEdit = "hand-edit";

/// Whole lines, and those in their place.
struct LineEdit {
  std::string search, replace;
};

/// The text in which edits are searched: `formatted` is as_exported() as clang-format writes it.
/// Empty lines are left out, for which nobody can say where they belong.
[[nodiscard]] std::string edited_text_base(const std::string& formatted);

[[nodiscard]] Step hand_edit_step(const std::vector<LineEdit>& edits, MathLevel math);

std::unique_ptr<Rewriter> make_hand_edit();

}  // namespace hone
