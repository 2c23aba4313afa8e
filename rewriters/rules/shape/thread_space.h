// How a kernel uses its thread and block indices, per dimension: what launch-shape must know.
#pragma once

#include <optional>

#include "rewriters/syntax/analysis.h"

namespace hone::shape {

struct Dimension {
  bool used = false;     ///< threadIdx, blockIdx, blockDim or gridDim of this dimension occurs
  bool regular = false;  ///< … only as the global index blockIdx*blockDim + threadIdx
  bool strided = false;  ///< … only to start and step grid-stride loops that carry nothing
  /// Threads whose global index is at least this have no effect; empty when that is not proved.
  std::optional<std::int64_t> bound;
};

/// `axis` is 'x', 'y' or 'z'. `bound` is evaluated at `sizes`.
[[nodiscard]] Dimension study_dimension(const syntax::KernelInfo& kernel, char axis,
                                        const Bindings& sizes);

}  // namespace hone::shape
