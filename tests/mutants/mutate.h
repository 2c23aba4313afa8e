// Changes of one place in a CUDA source, such as a person makes by mistake: what a checker must
// notice. Pure functions over the syntax tree; thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rewriters/syntax/ast.h"

namespace hone::mutants {

enum class Operator {
  kArithmetic,      ///< + - * / exchanged, += for -=
  kComparison,      ///< < for <= or >, == for !=
  kIndexOffByOne,   ///< a[i] for a[i + 1], a[i - 1]
  kIndexExchanged,  ///< a[row * n + col] for a[col * n + row]; a[i][j] for a[j][i]
  kLoopBound,       ///< one more, one less
  kLoopStart,       ///< one more, one less
  kLoopStep,        ///< one more
  kGuard,           ///< an if's condition dropped, one side of && or || dropped
  kConstant,        ///< integers one more or less; floats negated or one per cent larger
  kBarrier,         ///< __syncthreads or __syncwarp dropped
  kInitialValue,    ///< of a variable that is written again later
  kFunction,        ///< fmaxf for fminf, expf for exp2f, …
  kStatement,       ///< an assignment, a store or an atomic dropped
  kAxis,            ///< threadIdx.x for threadIdx.y, and so for blockIdx, blockDim, gridDim
};
inline constexpr int kOperators = 14;
[[nodiscard]] std::string_view to_string(Operator op);

/// Replaces the bytes of `range` by `text`.
struct Mutation {
  Operator op;
  syntax::SourceRange range;
  std::string text;
};

/// Every mutation of every function of the unit, each text once, in order of operators and places.
/// Some give a source that does not compile, or one that means the same.
[[nodiscard]] std::vector<Mutation> mutations(const syntax::TranslationUnit& unit);

/// "12: sum -= A[row * K + k];": the changed lines as they read afterwards.
[[nodiscard]] std::string description(const syntax::TranslationUnit& unit,
                                      const Mutation& mutation);

}  // namespace hone::mutants
