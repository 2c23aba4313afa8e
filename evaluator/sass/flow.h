// The control flow of one function of machine code: basic blocks, and the loops they are in.
#pragma once

#include <cstddef>
#include <vector>

#include "evaluator/sass/cubin.h"
#include "evaluator/sass/instruction.h"

namespace hone::sass {

struct Block {
  std::size_t begin = 0, end = 0;  ///< instructions
  std::vector<int> next;           ///< blocks
  int loop = -1;                   ///< the innermost one's index; -1: in none
  bool from_start = false;         ///< reached from the function's first instruction, calls apart
};

struct Loop {
  int parent = -1;
  std::vector<int> blocks;  ///< of inner loops, too
};

struct Flow {
  std::vector<Block> blocks;  ///< in the order of the code
  std::vector<Loop> loops;    ///< outer ones before those in them
};

/// What a table of targets jumps to is known from `jumps`; blocks that only other tables lead to
/// are not `from_start`.
[[nodiscard]] Flow flow_of(const std::vector<Instruction>& code,
                           const std::vector<TableJump>& jumps = {});

/// Is there a table of targets of which nothing is known?
[[nodiscard]] bool jumps_anywhere(const std::vector<Instruction>& code,
                                  const std::vector<TableJump>& jumps);

}  // namespace hone::sass
