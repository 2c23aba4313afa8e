// What of others goes into a prompt, made visible text and cut to size. Private to prompt/.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rewriters/llm/prompt/prompt.h"

namespace hone::llm {

/// How much of each piece is shown [B]. A source is cut only where it says so.
struct Sizes {
  std::size_t detail = 4000;
  std::size_t bound = 1500;
  std::size_t recipe = 1500;
  std::size_t exemplar_source = 24 << 10;
  std::size_t failed_source = 48 << 10;
  std::size_t description = 200;  // of a proposal
  std::size_t proposals = 160;    // how many
};

/// The task without its source, as a task file has it.
[[nodiscard]] std::string task_text(const Task& task);
[[nodiscard]] std::string machine_text(const PromptInput& input);
/// Launches, added scratch buffers and tunables' values; "" where they are the task's.
[[nodiscard]] std::string plan_text(const Program& program, const Task& task);
/// Recipe, what bounds it, why it failed.
[[nodiscard]] std::string facts_text(const Shown& shown, const Sizes& sizes);
[[nodiscard]] std::string proposals_text(const std::vector<Proposal>& proposals,
                                         const Sizes& sizes);

/// Those whose names can be shown as they are and whose parameters all have values.
[[nodiscard]] std::vector<Proposal> showable(const std::vector<Proposal>& proposals);
/// At most so many, of each rewriter in turn, in their order.
[[nodiscard]] std::vector<Proposal> some_of(const std::vector<Proposal>& proposals,
                                            std::size_t most);
[[nodiscard]] nlohmann::json steps_schema(const std::vector<Proposal>& proposals);

/// 16 hex digits that none of the texts holds: a hash of them all.
[[nodiscard]] std::string nonce_for(const std::vector<std::string>& texts);

}  // namespace hone::llm
