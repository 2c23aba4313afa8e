// What a language model wrote, as steps of recipes: a whole program in place of any other, or edits
// of the program before them. Legal where they read as a program of the task: what it computes
// nobody here can prove, so every gate of the evaluator must.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "candidates/recipe.h"
#include "rewriters/core/rewriter.h"
#include "rewriters/llm/reply/reply.h"

namespace hone {

inline constexpr const char* kModelCode = "model-code";
inline constexpr const char* kModelEdit = "model-edit";

/// The step to `program` from anything else of the task. `reply` names what the model said (a
/// content hash), for the database; `math` is what the task allows.
[[nodiscard]] Step model_code_step(const Program& program, const std::string& reply,
                                   MathLevel math);
/// The step that makes these edits again, at every size on what the steps before it give there. The
/// diff must not be a whole program.
[[nodiscard]] Step model_edit_step(const llm::ModelDiff& diff, const std::string& reply,
                                   MathLevel math);

[[nodiscard]] bool is_model_step(const Step& step);
[[nodiscard]] bool has_model_step(const Recipe& recipe);
/// The replies that the recipe's steps name, each once, in their order.
[[nodiscard]] std::vector<std::string> replies_in(const Recipe& recipe);

std::unique_ptr<Rewriter> make_model_code();
std::unique_ptr<Rewriter> make_model_edit();

}  // namespace hone
