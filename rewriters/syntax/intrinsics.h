// What the functions that CUDA itself provides do, by name.
#pragma once

#include <string_view>

#include "rewriters/syntax/ast.h"

namespace hone::syntax {

enum class CallKind {
  kPure,        ///< computes a value from its arguments
  kOutPointer,  ///< pure but for results written through pointer arguments (sincosf)
  kLoad,        ///< __ldg and kin: reads through its first argument
  kStore,       ///< __stcs and kin: writes through its first argument
  kAtomic,
  kBarrier,  ///< __syncthreads and kin
  kWarp,     ///< shuffles, votes, __syncwarp, warp-wide matrix operations
  kGroup,    ///< a cooperative group's rank or size: no effect, differs between threads
  kUser,     ///< a function of this file with a body
  kUnknown,  ///< fences, printf, clocks, traps, calls that cannot be resolved
};
[[nodiscard]] CallKind call_kind(const Expr& call);

}  // namespace hone::syntax
