// Finds the scalar reductions that a loop body performs (`acc += e`, `m = fmaxf(m, e)`,
// `if (e > m) m = e`, …) and writes the code that combines the lanes' partial results.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "candidates/result.h"
#include "rewriters/syntax/analysis.h"
#include "rewriters/syntax/ast.h"

namespace hone::rules::coop {

enum class ReductionOp { kSum, kProduct, kMax, kMin, kAnd, kOr, kXor, kAll, kAny };

struct Accumulator {
  const syntax::Variable* variable = nullptr;
  ReductionOp op = ReductionOp::kSum;
  /// A statement that folds "$o" into "$v", with the very operator the loop uses.
  std::string fold;
  /// The fold is a comparison: lanes may keep different, equally good values (NaN, -0), so one
  /// lane's result has to be handed to all.
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
/// accumulator, touched by nothing but its own updates, all of one kind. kRefused says which is
/// not. Variables in `private_to` (counters of inner loops) are left out of the question.
[[nodiscard]] Result<std::vector<Accumulator>> find_accumulators(
    const syntax::TranslationUnit& unit, const syntax::Loop& loop,
    const std::set<const syntax::Variable*>& private_to);

/// How the partial results of one group of lanes come together.
struct LaneGroup {
  int lanes = 32;      ///< power of two; above 32 it is the whole block, one-dimensional
  std::string mask;    ///< expression: the group's lanes in the warp (all of them above 32)
  std::string offset;  ///< fresh names
  std::string other;
  std::string partial;  ///< stem of the shared arrays

  [[nodiscard]] std::string barrier() const;  ///< statement: makes the group's writes visible to it
};

/// Statements after which every lane of the group holds the total in each variable. `in_loop`: the
/// code runs several times, so that shared arrays are used again.
[[nodiscard]] std::string combine(const std::vector<Accumulator>& accumulators,
                                  const LaneGroup& group, bool in_loop);

}  // namespace hone::rules::coop
