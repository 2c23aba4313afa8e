// A program as numbers, for a model that ranks the candidates of a task before they are compiled:
// its launches on the device, what its kernels do (kernel_profile.h), what the task asks for, and,
// where it was compiled, the compiler's report. No name of a generator or of its parameters is
// looked at: spaces change, and a model outlives them.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "candidates/measurement.h"
#include "candidates/program.h"
#include "candidates/task.h"
#include "rewriters/core/rewriter.h"

namespace hone::ranking {

/// In the order of feature_names(); NaN: not known.
using Features = std::vector<float>;
[[nodiscard]] const std::vector<std::string>& feature_names();

/// What is the same for all candidates of a task.
struct TaskFacts {
  std::map<std::string, double> nests;  ///< nest::facts_of; may be empty
  double bytes = 0;                     // inputs and outputs, each once [B]
  double math = 0;                      ///< the level that the task allows
  TargetLimits target;
};

/// Errors: those of instantiate().
[[nodiscard]] Result<TaskFacts> task_facts(const Task& task, std::map<std::string, double> nests,
                                           const TargetLimits& target);

/// `report`: of the kernels; empty: not compiled yet. Takes some 100 us for generated kernels.
[[nodiscard]] Features features_of(const ConcreteProgram& program, const TaskFacts& task,
                                   std::span<const KernelResources> report = {});

}  // namespace hone::ranking
