// What a candidate launches at the sizes it was made for, for whoever compiles it ahead of time:
// the form `plan` of `hone export`. Pure, as the other forms are; the machine code is the
// evaluator's.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "candidates/store/store.h"
#include "candidates/task.h"

namespace hone {

struct Launched {
  std::string name;         ///< the task's, as an identifier
  std::string arch;         ///< "sm_90"
  ConcreteProgram program;  ///< at the timed sizes
  std::vector<std::size_t>
      callers;  ///< of its buffers those that the caller gives, in the task's order
  /// Sizes that no shape of an input tells, which a caller may want to be asked for.
  std::vector<std::string> given;
};

/// `arch`: where it is to run; empty: on the architecture where it was found. Errors
/// (kInvalidInput): `arch` is none, is older than that architecture, or is another one and the
/// source is for that one alone; and those of export_candidates().
[[nodiscard]] Result<Launched> launched_candidate(const BoardRow& row, const Task& task,
                                                  std::string_view arch);

}  // namespace hone
