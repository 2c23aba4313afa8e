// What a runner may see and do: found by asking an unconfined runner, once, which files it uses.
#pragma once

#include <string>
#include <vector>

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

/// Where the GPUs are on the PCI bus ("0000:03:00.0"), by ordinal; "" for one of which the driver
/// does not say. Errors: kEnvironment. Thread-safe.
[[nodiscard]] Result<std::vector<std::string>> gpu_addresses(const EvaluatorOptions& options);

/// options.runner_path, or hone-runner beside this executable.
[[nodiscard]] std::string runner_path(const EvaluatorOptions& options);

}  // namespace hone::pool
