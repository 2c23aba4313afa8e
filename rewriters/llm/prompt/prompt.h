// What a language model is asked: a task, what was found so far and why it is as fast as it is, and
// for a faster program. A prompt depends on its input alone. Nothing here has state; any thread may
// call it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "candidates/program.h"
#include "candidates/recipe.h"
#include "candidates/result.h"
#include "candidates/task.h"
#include "candidates/verdict.h"
#include "rewriters/core/rewriter.h"

namespace hone::llm {

/// What the model answers with: a whole program, edits of the best one, or steps of rewriters.
enum class Mode { kWhole, kDiff, kSteps };
[[nodiscard]] std::string_view to_string(Mode mode);  ///< "whole", "diff", "steps"
[[nodiscard]] std::optional<Mode> parse_mode(std::string_view text);
inline constexpr std::string_view kModeNames = "whole, diff and steps";

/// A candidate with what was found of it.
struct Shown {
  Program program;     ///< an empty source: a reply that held none
  std::string recipe;  ///< in words; "reference" for the reference
  Verdict verdict = Verdict::kOk;
  std::string detail;      ///< of a failure
  double time_us = 0;      ///< when ok
  double speedup = 0;      ///< when ok; over the reference
  bool modelled = false;   ///< the time is a model's, not measured
  std::string bound;       ///< what bounds it: roof, registers, spills, occupancy; a few lines
  std::string reply = {};  ///< what the model said, where no program came of it
};

struct PromptInput {
  Mode mode = Mode::kWhole;
  const Task* task = nullptr;  ///< must not be null
  std::string arch;            ///< "sm_90"
  TargetLimits target;
  std::string device;               ///< "cuda:0 NVIDIA H200", "emu:sm_90"
  Shown best;                       ///< of all; kDiff edits it, the steps of kSteps follow it
  std::vector<Shown> exemplars;     ///< in any order
  std::optional<Shown> failed;      ///< the model's last try, and why it failed
  int repair_turn = 0;              ///< 1: `failed` is the first try
  std::vector<Proposal> proposals;  ///< kSteps: what may follow `best`
};

/// As the client's Message; its role is "system" or "user".
struct PromptMessage {
  std::string role;
  std::string text;  ///< UTF-8
};

struct Prompt {
  std::string version;  ///< of the templates: "whole-1.0123abcd"; another text, another version
  std::vector<PromptMessage> messages;
  std::optional<nlohmann::json> schema;  ///< kSteps: JSON Schema of the reply
  std::size_t tokens_at_most = 0;        ///< a token has at least one byte
};

/// At most `limit_bytes` of messages and schema: the slowest exemplars are left out first, then
/// details are shortened and some proposals left out; the task and the best program never. Errors:
/// kInvalidInput, it cannot fit, or (kSteps) nothing is proposed.
[[nodiscard]] Result<Prompt> make_prompt(const PromptInput& input, std::size_t limit_bytes);

/// The protocol's "response_format" for a prompt's schema; "" where it has none.
[[nodiscard]] std::string response_format(const Prompt& prompt);

}  // namespace hone::llm
