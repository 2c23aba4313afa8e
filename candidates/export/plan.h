// What every form has to know of the candidates and their task, checked once. Private to
// candidates/export.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "candidates/export/text.h"
#include "candidates/store/store.h"
#include "candidates/task.h"

namespace hone::exporting {

/// A program of the file: a candidate, or the reference.
struct Part {
  std::string name;  ///< "hone_sm_90", "hone_reference"
  const Program* program = nullptr;
  const BoardRow* row = nullptr;  ///< null: the reference
  ConcreteProgram concrete;       ///< at the timed sizes
  std::string source;             ///< without its task comment
  /// Of all names that stand in one namespace with the source: "hone", or "hone2", …, where the
  /// source uses names that begin with that.
  std::string prefix = "hone";
  int capability = 0;          ///< 90; of the reference 0
  bool arch_specific = false;  ///< compiles on that architecture only
  bool arch_features = false;  ///< … and with its "a" target only

  /// The program's buffers that are not the caller's and that a launch takes.
  [[nodiscard]] std::vector<const Buffer*> scratch(const Task& task) const;
};

struct Plan {
  const Task* task = nullptr;
  std::string name;    ///< of the task, as an identifier
  std::string unique;  ///< "softmax_0123456789ab": that no other export has
  std::vector<Part> candidates;
  Part reference;

  [[nodiscard]] bool dispatches() const { return candidates.size() > 1; }
  /// What the caller brings, in the task's order: its buffers but for scratch.
  [[nodiscard]] std::vector<const Buffer*> buffers() const;
  /// The values of the program's tunables.
  [[nodiscard]] static Bindings tunables(const Program& program);
};

/// Errors: see export_candidates(). With `dispatched` two rows of one architecture are one.
[[nodiscard]] Result<Plan> make_plan(const std::vector<BoardRow>& rows, const Task& task);

/// "sm_90" -> 90, "sm_90a" too; 0 for what is none.
[[nodiscard]] int capability_of(std::string_view arch);

/// No two rows of different tasks, and none of another than `task`.
[[nodiscard]] Result<void> check_one_task(const std::vector<BoardRow>& rows, const Task& task);

}  // namespace hone::exporting
