// What the condition of a guard says about launch coordinates.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "rewriters/rules/common/guard.h"
#include "rewriters/rules/common/index_space.h"

namespace hone::rules {

inline constexpr std::array kAxes = {"x", "y", "z"};

/// `variable + offset op bound`, the shape that a clamp can stand for.
struct Conjunct {
  const syntax::Variable* variable = nullptr;
  std::string text;         ///< as a condition, "row < M"
  std::string clamp_value;  ///< "M - 1"
  bool upper = true;        ///< bounds from above
  int axis = -1;
  bool always = false;       ///< holds for every thread at these sizes
  bool closes_axis = false;  ///< false for all coordinates outside today's grid
  syntax::Polynomial form;
};

/// Reads the guards of one kernel at the sizes of `context`. What it is given must outlive it.
class GuardConditions {
 public:
  GuardConditions(const syntax::TranslationUnit& unit, const syntax::KernelInfo& info,
                  const RewriteContext& context, const FlattenOptions& options)
      : unit_(unit),
        info_(info),
        function_(*info.function),
        context_(context),
        options_(options),
        space_(info, context.sizes),
        ranges_(space_.launch_ranges({1, 1, 1})) {}

  /// Appends the conjuncts of `condition`, or of its negation; kRefused when one is no Conjunct.
  Result<void> read_condition(const syntax::Expr& condition, bool negate,
                              std::vector<Conjunct>& out);
  /// Clamping several coordinates independently needs each combination to be some thread's own.
  Result<void> check_axes(const std::vector<Conjunct>& conjuncts) const;

  [[nodiscard]] IndexSpace& space() { return space_; }

 private:
  std::optional<Conjunct> conjunct(const syntax::Expr& left, const std::string& op,
                                   const syntax::Expr& right);
  const IndexSpace::Atom* single_atom(const syntax::Polynomial& form) const;
  /// idx / N < M is idx < M * N: clamping idx keeps everything else made from it consistent.
  std::optional<Conjunct> flat_conjunct(Conjunct conjunct, const IndexSpace::Atom& quotient,
                                        const syntax::Expr& bound, bool strict, std::int64_t value);
  static bool is_simple(const syntax::Expr& expr);
  bool has_atom(const syntax::Polynomial& form) const;
  /// The launch axis along which the form takes consecutive values, or -1.
  int dense_axis(const syntax::Polynomial& form) const;
  bool quotient_and_remainder(const syntax::Polynomial& a, const syntax::Polynomial& b) const;

  const syntax::TranslationUnit& unit_;
  const syntax::KernelInfo& info_;
  const syntax::Function& function_;
  const RewriteContext& context_;
  const FlattenOptions& options_;
  IndexSpace space_;
  Ranges ranges_;
};

}  // namespace hone::rules
