// What the memory rules ask about pointers beyond syntax/analysis.h: which parameter a pointer
// comes from, whether it leaves the analysis' sight, what an index is modulo a vector width. Pure
// functions of their arguments; nothing is cached or owned.
#pragma once

#include <optional>

#include "candidates/program.h"
#include "rewriters/syntax/analysis.h"
#include "rewriters/syntax/ast.h"

namespace hone::rules::memory {

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

}  // namespace hone::rules::memory
