// A whole program that a language model wrote => that program, on the task's buffers; legal when it
// reads as one: what it computes nobody here can prove, so every gate of the evaluator must.
#pragma once

#include <memory>
#include <string>

#include "candidates/recipe.h"
#include "rewriters/core/rewriter.h"

namespace hone {

inline constexpr const char* kModelCode = "model-code";

/// The step to `program` from anything else of the task. `reply` names what the model said (a
/// content hash), for the database; `math` is what the task allows.
[[nodiscard]] Step model_code_step(const Program& program, const std::string& reply,
                                   MathLevel math);
/// Whether a recipe has such a step.
[[nodiscard]] bool has_model_code(const Recipe& recipe);

std::unique_ptr<Rewriter> make_model_code();

}  // namespace hone
