// Turns the loads and stores of V consecutive iterations (or threads) into one vector access each.
#pragma once

#include <string>
#include <vector>

#include "rewriters/rules/cooperative/kernel_tools.h"

namespace hone::rules::coop {

/// Accesses to V consecutive elements that one vector access may replace: the index is
/// counter + rest, where `rest` is `residue` modulo V.
struct VectorAccess {
  std::vector<const syntax::Access*> accesses;  ///< the same element, read or written
  std::string type;                             ///< "float4"
  std::string name;                             ///< fresh
  int residue = 0;
  bool reads = false, writes = false;
};

/// Body of a loop over `counter`, as it stands in `region`: what can be vectorised by `lanes`.
/// Only accesses that every iteration performs count; with `speculative` every read counts, and the
/// caller makes sure that all V elements exist.
[[nodiscard]] std::vector<VectorAccess> vector_accesses(
    const Parsed& parsed, const syntax::KernelInfo& info, const syntax::Stmt& region,
    const syntax::Polynomial& counter, int lanes, const Bindings& sizes, bool speculative = false);

}  // namespace hone::rules::coop
