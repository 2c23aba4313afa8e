// What a runner may see and do: found by asking an unconfined runner, once, which files it uses.
#pragma once

#include <string>

#include "evaluator/evaluator.h"
#include "sandbox/policy.h"

namespace hone::pool {

struct RunnerPolicy {
  sandbox::Policy policy;
  int ordinal = 0;  ///< the GPU's number as the runner sees it
};

/// `mode`: "compile", "emulate", "measure", "library" (measure, with cuBLAS in sight) or, of hone
/// itself, "rewrite"; `ordinal`: the GPU's number here. Errors: kEnvironment when the runner is
/// missing or cannot be asked. Thread-safe.
[[nodiscard]] Result<RunnerPolicy> policy_for(const std::string& mode, int ordinal,
                                              const EvaluatorOptions& options);

/// options.runner_path, or hone-runner beside this executable.
[[nodiscard]] std::string runner_path(const EvaluatorOptions& options);

}  // namespace hone::pool
