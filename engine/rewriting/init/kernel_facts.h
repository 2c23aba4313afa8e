// What a kernel does with each of its parameters, as far as its text shows: `hone init` makes
// roles, fills and sizes from it.
#pragma once

#include <string>
#include <vector>

#include "candidates/scalar_type.h"
#include "rewriters/syntax/analysis.h"

namespace hone::init {

struct ParameterFacts {
  bool is_buffer = false;
  bool read = false;
  bool written = false;
  std::vector<int> indexes;   ///< parameters into which its values are indices
  bool bounds_loops = false;  ///< its values are where loops begin and end: row starts
};

struct KernelFacts {
  const syntax::KernelInfo* info = nullptr;
  std::vector<ParameterFacts> parameters;
  bool wants_positive = false;  ///< roots, logarithms, powers, quotients
  bool compares_index = false;  ///< some thread index is compared with a parameter: a guard
};

[[nodiscard]] KernelFacts kernel_facts(const syntax::KernelInfo& info);

/// The element type of a buffer for a pointer to this; empty when a task has none.
[[nodiscard]] std::optional<ScalarType> scalar_of(const syntax::Type& type);

}  // namespace hone::init
