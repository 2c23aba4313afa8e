// The operations of nodes: an enum, and one table of what is asked of each. A new operation is a
// line in both. Constants: any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace hone::nest {

// clang-format off
enum class Op : std::uint8_t {
  kCall,  ///< of one of CUDA's functions, by its name
  // Numbers; integers are divided as C does it, a sum by a sum. kMin and kMax of floats: C's fmin
  // and fmax.
  kAdd, kSub, kMul, kDiv, kNeg, kMin, kMax, kFma,
  // Integers alone.
  kMod, kBitAnd, kBitOr, kBitXor, kShiftLeft, kShiftRight,
  // Conditions: of an integer, of two floats, of conditions.
  kNonNegative, kIsZero,
  kLess, kLessEqual, kEqual, kNotEqual,
  kAnd, kOr, kNot,
  kSelect,  ///< (condition, then, else): only the chosen side may be evaluated
  kCast,    ///< to the node's type
  // Of reductions alone: the smallest row-major number of the indices at which it is extreme.
  kArgMin, kArgMax,
};
// clang-format on

struct OpInfo {
  enum Trait : std::uint8_t {
    kInfix = 1,        ///< CUDA writes it between its operands
    kFolds = 2,        ///< a reduction or an atomic may do it: associative and commutative
    kCommutes = 4,     ///< the order of its operands is free
    kIntegers = 8,     ///< of integers alone
    kComparison = 16,  ///< of two floats; of two integers it becomes a condition on one
  };

  Op op = Op::kCall;
  std::string_view name;  ///< in nests as text, and as C calls it if it does
  unsigned traits = 0;
  /// Of up to three operands; null: not of values alone.
  double (*evaluate)(double, double, double) = nullptr;
  std::string_view noun = "part";  ///< for a variable of a kernel that holds the result
  double identity = 0;             ///< kFolds: it leaves others as they are
  std::string_view folded = "";    ///< `noun`, of a reduction
  std::string_view atomic = "";    ///< CUDA's function that does it in memory

  [[nodiscard]] bool is(unsigned asked) const { return (traits & asked) == asked; }
};

[[nodiscard]] const OpInfo& info(Op op);
/// By its `name`; empty: there is none.
[[nodiscard]] std::optional<Op> operation_named(std::string_view name);
/// By its `atomic`: "atomicAdd".
[[nodiscard]] std::optional<Op> operation_of_atomic(std::string_view function);
/// Folds numbers of any type: the sum, the product, the least and the largest.
[[nodiscard]] bool folds_numbers(Op op);

/// CUDA's functions without a type's suffix or prefix: "exp", "pow"; a fast one keeps its whole
/// name: "__expf". Others may be called, too; nothing is known of them.
struct Function {
  std::string_view name;
  double (*of_one)(double) = nullptr;
  double (*of_two)(double, double) = nullptr;  ///< both null: nothing evaluates it
  std::string_view noun = "part";              ///< as that of OpInfo
};
/// Null: it is not known.
[[nodiscard]] const Function* function_named(std::string_view name);

/// What it gives for numbers, in double. Empty: nothing evaluates it, or it takes more than these.
[[nodiscard]] std::optional<double> evaluate(Op op, std::string_view function,
                                             std::span<const double> operands);

}  // namespace hone::nest
