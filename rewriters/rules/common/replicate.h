// Unroll-and-jam over replicas: prints the body of a kernel so that one thread does the work of
// several, statement by statement. The engine of coarsen-threads.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "candidates/result.h"
#include "rewriters/rules/common/kernel_text.h"

namespace hone::rules {

/// How one launch axis is coarsened.
struct Axis {
  std::int64_t factor = 1;
  std::string replica;  ///< name of the replica counter, "jx"
  /// Replacements inside replica loops: text for "blockIdx.x", and for whole expressions.
  std::string block_text;                                ///< "(blockIdx.x * 4 + jx)"
  std::map<const syntax::Expr*, std::string> positions;  ///< global positions, for runs
};

/// The new body, braces included; statements that depend on no axis are copied. kRefused names what
/// stands in the way. `axes`: x, y, z; factor 1 leaves an axis alone.
[[nodiscard]] Result<std::string> replicate_body(const OpenProgram& open,
                                                 const syntax::KernelInfo& info,
                                                 const std::array<Axis, 3>& axes);

}  // namespace hone::rules
