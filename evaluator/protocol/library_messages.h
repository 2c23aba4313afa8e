// A library call as it travels inside a Runnable.
#pragma once

#include <nlohmann/json.hpp>

#include "candidates/program.h"
#include "evaluator/library_call.h"

namespace hone::protocol {

[[nodiscard]] nlohmann::json to_message(const MatmulCall& call);
/// Checks that the call stays inside the buffers of `program`.
[[nodiscard]] Result<MatmulCall> matmul_call_from(const nlohmann::json& message,
                                                  const ConcreteProgram& program);

}  // namespace hone::protocol
