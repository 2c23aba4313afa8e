// Compiles kernels of hone's own, or finds them in the cache of compiled programs on disk.
#pragma once

#include <string>

#include "evaluator/compile_types.h"
#include "evaluator/evaluator.h"

namespace hone::pool {

/// `what`: "the helper kernels", for the message. Errors: kEnvironment, also where NVRTC does not
/// know the architecture.
[[nodiscard]] Result<CompiledProgram> compile_own(const CompileJob& job, const std::string& what,
                                                  const EvaluatorOptions& options,
                                                  const std::string& driver);

}  // namespace hone::pool
