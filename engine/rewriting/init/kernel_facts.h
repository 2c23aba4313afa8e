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
  std::vector<int> indexes;         ///< parameters into which its values are indices
  bool bounds_loops = false;        ///< its values are where loops begin and end: row starts
  bool ends_loops = false;          ///< an integer: loops end at it
  bool ends_grid_loops = false;     ///< likewise, loops over the grid or the block
  bool written_first = false;       ///< in the text: whatever is read may have been written before
  std::vector<int> scattered_into;  ///< of `indexes`: where it stores, without atomics
};

struct KernelFacts {
  const syntax::KernelInfo* info = nullptr;
  std::vector<ParameterFacts> parameters;
  bool wants_positive = false;  ///< roots, logarithms, powers, quotients
  bool compares_index = false;  ///< some thread index is compared with a parameter: a guard
};

/// The kernel and what it may call, its own body first. Where a call's target is not known, every
/// function of the file that is no kernel.
[[nodiscard]] std::vector<const syntax::Function*> code_of(const syntax::KernelInfo& info);

[[nodiscard]] KernelFacts kernel_facts(const syntax::KernelInfo& info);

/// The element type of a buffer for a pointer to this; empty when a task has none.
[[nodiscard]] std::optional<ScalarType> scalar_of(const syntax::Type& type);

}  // namespace hone::init
