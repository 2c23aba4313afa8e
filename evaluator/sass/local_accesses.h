// The local memory that a kernel's machine code moves: registers that ptxas spilled, and arrays
// that it kept in memory.
#pragma once

#include <string_view>

#include "evaluator/sass/block_counts.h"
#include "evaluator/sass/cubin.h"

namespace hone::sass {

/// Of all warps that ran. A "line" is what one warp moves of one word a lane: 128 B.
struct LocalAccesses {
  double loads = 0, stores = 0;            ///< instructions
  double load_lines = 0, store_lines = 0;  ///< of those in the frame, where all lanes move one
  double indexed_loads = 0, indexed_stores = 0;  ///< of the instructions: lanes may be apart
  int words_in_loops = 0;  ///< of the frame, that loops come to: registers that a thread lacks
};

/// Of the kernel and of the functions beside it that ran.
[[nodiscard]] LocalAccesses local_accesses(const Cubin& cubin, std::string_view kernel,
                                           const PtxCounts& ptx);

}  // namespace hone::sass
