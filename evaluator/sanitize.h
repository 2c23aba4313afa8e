// All findings in one program: `hone check`. On the emulated GPU only.
#pragma once

#include "candidates/result.h"
#include "evaluator/evaluator.h"
#include "evaluator/sanitize_types.h"

namespace hone {

/// Compiles the program and runs it under each schedule in a child process. Errors: kInvalidInput
/// (no such kernel), kEnvironment, kInfrastructure, kInternal for an evaluator of a real GPU. What
/// is wrong with the program itself is in the result.
[[nodiscard]] Result<SanitizeResult> sanitize(Evaluator& evaluator, const SanitizeRequest& request);

}  // namespace hone
