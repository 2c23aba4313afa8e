// What the memory rules ask about pointers beyond syntax/analysis.h: which parameter a pointer
// comes from, whether it leaves the analysis' sight, what an index is modulo a vector width, and
// text pieces with several replacements. Pure functions of their arguments; nothing is cached or
// owned.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "candidates/program.h"
#include "candidates/result.h"
#include "rewriters/syntax/analysis.h"
#include "rewriters/syntax/ast.h"

namespace hone::rules {

/// A program's parsed source with the facts about its kernels. `kernels` point into `unit` and into
/// the Program it was made from.
struct ProgramFacts {
  std::shared_ptr<const syntax::TranslationUnit> unit;
  std::vector<syntax::KernelInfo> kernels;

  /// The kernel whose function has this name, or null when there is none or more than one.
  [[nodiscard]] const syntax::KernelInfo* find(std::string_view function_name) const;
};
/// kRefused when the source cannot be read.
[[nodiscard]] Result<ProgramFacts> facts_of(const Program& program);

/// `parameter + offset`, in elements.
struct PointerOrigin {
  const syntax::Variable* parameter = nullptr;
  syntax::Polynomial offset;
};
/// Follows single-assignment pointer locals: `row = x + t * hidden`, `p = &x[k]`. Empty for a
/// pointer that is reassigned, reinterpreted, or not a parameter in the end.
[[nodiscard]] std::optional<PointerOrigin> origin_of(const syntax::Variable& pointer);

/// Is the parameter, or a pointer made from it, used other than to access memory that
/// `info.accesses` lists (passed to a function, reinterpreted, stored, compared)?
[[nodiscard]] bool escapes(const syntax::KernelInfo& info, const syntax::Variable& parameter);

/// Is it certain that this kernel only reads what `parameter` points to?
[[nodiscard]] bool read_only(const syntax::KernelInfo& info, const syntax::Variable& parameter);

/// Remainder (0 .. modulus-1) of the polynomial at these sizes, when it does not depend on anything
/// unknown: 4*threadIdx.x + N*k is 0 modulo 4 when N is a multiple of 4.
[[nodiscard]] std::optional<std::int64_t> residue(const syntax::Polynomial& polynomial,
                                                  std::int64_t modulus,
                                                  const syntax::KernelInfo& info,
                                                  const Bindings& sizes);

/// Does evaluating `inner` follow from evaluating `outer`, an expression around it (no `?:`, `&&`
/// or
/// `||` decides)?
[[nodiscard]] bool unconditional_within(const syntax::Expr& inner);

struct Replacement {
  syntax::SourceRange range;
  std::string text;
};
/// The text of `range` with replacements made; those inside another one are dropped. Empty when a
/// range is invalid (macro text).
[[nodiscard]] std::optional<std::string> splice(const syntax::TranslationUnit& unit,
                                                const syntax::SourceRange& range,
                                                std::vector<Replacement> replacements);

/// `program` with a new source, once that source parses. kRefused otherwise.
[[nodiscard]] Result<Program> with_source(const Program& program, std::string source);

}  // namespace hone::rules
