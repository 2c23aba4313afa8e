// A task computed twice: its kernels by NVRTC on the emulated GPU with every check on, and what
// they lift to on the CPU. Not thread-safe.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "candidates/task.h"
#include "rewriters/nest/nest.h"

namespace hone::lift_tests {

/// What came of one task, over all its check sizes.
struct Outcome {
  std::vector<std::string> wrong;        ///< answers that differ, kernels that do not run
  std::vector<std::string> unrun;        ///< references that do not run: nothing to compare with
  std::vector<std::string> refusals;     ///< of launches, without the line: "a barrier"
  int sites = 0;                         ///< fused and compared
  int generated = 0;                     ///< programs that generators made and that were compared
  std::vector<std::string> ungenerated;  ///< why a generator that matched made nothing

  [[nodiscard]] bool lifted() const { return refusals.empty(); }
};

struct Checks {
  bool sites = true;
  bool generators = false;  ///< every generator that matches, at its start
};

/// Lifts and compares at each check size. Where a launch is not lifted nothing is compared.
[[nodiscard]] Outcome check(const Task& task, const Checks& checks);

/// The lift alone, at each check size: no kernel is compiled.
[[nodiscard]] Outcome lift_only(const Task& task);

/// A program's buffers after it ran on the emulated GPU.
struct Emulated {
  nest::Contents before;  ///< poison in what starts undefined
  nest::Contents after;
  std::string failure;  ///< else empty
};
[[nodiscard]] Emulated emulate(const Program& program, const Bindings& sizes);

/// What follows "// lift: " in a source: "yes", or "no: why".
[[nodiscard]] std::string expectation_of(const std::string& source);

/// Tasks of a folder and its subfolders, sorted.
[[nodiscard]] std::vector<std::filesystem::path> tasks_in(const std::filesystem::path& folder);

}  // namespace hone::lift_tests
