// Finds the scalar reductions that a loop body performs (`acc += e`, `m = fmaxf(m, e)`,
// `if (e > m) m = e`, …) and writes the code that combines the lanes' partial results.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "candidates/result.h"
#include "rewriters/syntax/analysis.h"
#include "rewriters/syntax/ast.h"

namespace hone::rules {

enum class ReductionOp { kSum, kProduct, kMax, kMin, kAnd, kOr, kXor, kAll, kAny };

struct Accumulator {
  const syntax::Variable* variable = nullptr;
  ReductionOp op = ReductionOp::kSum;
  /// A statement that folds "$o" into "$v", with the very operator the loop uses.
  std::string fold;
  /// The fold is a comparison: lanes may keep different, equally good values (NaN, -0), so one lane's
  /// result has to be handed to all.
  bool compares = false;

  /// Folding a value in twice changes nothing: every lane may start from the original value.
  [[nodiscard]] bool idempotent() const;
  [[nodiscard]] std::string identity() const;  ///< literal; for ops that are not idempotent
  [[nodiscard]] bool needs_reassociation() const;
  [[nodiscard]] std::string fold_text(const std::string& value, const std::string& other) const;
  /// The type's name, and the type the shuffle moves ("int" for bool and small integers).
  [[nodiscard]] std::string type() const { return variable->type.name; }
  [[nodiscard]] std::string shuffled(const std::string& shuffle) const;
};

/// Every variable that the loop body writes and that lives longer than one iteration must be an
/// accumulator, touched by nothing but its own updates, all of one kind. kRefused says which is not.
[[nodiscard]] Result<std::vector<Accumulator>> find_accumulators(
    const syntax::TranslationUnit& unit, const syntax::Loop& loop);

}  // namespace hone::rules
