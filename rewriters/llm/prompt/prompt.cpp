#include "rewriters/llm/prompt/prompt.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "rewriters/llm/prompt/data.h"
#include "rewriters/llm/prompt/templates.h"
#include "rewriters/llm/reply/reply.h"
#include "rewriters/llm/text/shown_text.h"

namespace hone::llm {
namespace {

constexpr std::array<std::string_view, 3> kModes = {"whole", "diff", "steps"};

// As shown where all fits, and shorter and shorter where it does not.
constexpr Sizes kSizes[] = {{},
                            {1500, 600, 600, 0, 16 << 10, 120, 80},
                            {600, 250, 250, 0, 4 << 10, 60, 40},
                            {250, 120, 120, 0, 0, 0, 16}};

// The same data as a program's own texts; made once, cut when it is written.
struct Texts {
  std::string source;  // "": the reference's, or none
  std::string plan;
  std::string reply;
};

std::string status_of(const Shown& shown) {
  if (shown.verdict != Verdict::kOk) return fmt::format("Failed: {}.", to_string(shown.verdict));
  if (!(shown.time_us > 0)) return "Right; not timed.";
  const std::string speedup =
      shown.speedup > 0 ? fmt::format(", {:.2f} times as fast as the reference", shown.speedup)
                        : "";
  return fmt::format("Right: {:.4g} us ({}){}.", shown.time_us,
                     shown.modelled ? "modelled, not measured" : "measured", speedup);
}

// Failed ones first, then by falling time; what comes first is left out first.
std::vector<Shown> slowest_first(std::vector<Shown> shown) {
  const auto time = [](const Shown& one) {
    return one.verdict == Verdict::kOk && one.time_us > 0 ? one.time_us : 1e300;
  };
  std::ranges::stable_sort(shown, std::greater<>(), time);
  return shown;
}

// One prompt in the making: all data ready, the nonce known.
class Writer {
 public:
  explicit Writer(const PromptInput& input)
      : input_(input),
        task_(*input.task),
        exemplars_(slowest_first(input.exemplars)),
        proposals_(input.mode == Mode::kSteps ? showable(input.proposals)
                                              : std::vector<Proposal>()),
        task_text_(task_text(task_)),
        reference_(shown_source(task_.reference.source)),
        best_(texts_of(input.best, Lines::kTidy)) {
    for (const Shown& exemplar : exemplars_) {
      exemplar_texts_.push_back(texts_of(exemplar, Lines::kTidy));
    }
    if (input.failed) failed_ = texts_of(*input.failed, Lines::kKept);
    nonce_ = nonce_for(all_data());
  }

  [[nodiscard]] std::size_t exemplars() const { return exemplars_.size(); }
  [[nodiscard]] std::size_t proposals() const { return proposals_.size(); }
  [[nodiscard]] std::size_t task_bytes() const { return task_text_.size() + reference_.size(); }

  [[nodiscard]] Prompt write(const Sizes& sizes, std::size_t left_out) const {
    const std::string mode(to_string(input_.mode));
    Prompt prompt;
    prompt.version = mode + "-" + templates_version();
    const Values numbers{{"source_bytes", std::to_string(kMaxSourceBytes)},
                         {"most_steps", std::to_string(kMaxSteps)}};
    prompt.messages.push_back(
        {"system",
         expand("system", {{"nonce", nonce_}, {"reply", expand("reply_" + mode, numbers)}})});
    prompt.messages.push_back({"user", user_text(mode, sizes, left_out)});
    if (input_.mode == Mode::kSteps)
      prompt.schema = steps_schema(some_of(proposals_, sizes.proposals));
    prompt.tokens_at_most = bytes_of(prompt) + 16 * prompt.messages.size() + 256;
    return prompt;
  }

  static std::size_t bytes_of(const Prompt& prompt) {
    std::size_t bytes = prompt.schema ? response_format(prompt).size() : 0;
    for (const PromptMessage& message : prompt.messages) bytes += message.text.size();
    return bytes;
  }

 private:
  [[nodiscard]] Texts texts_of(const Shown& shown, Lines lines) const {
    const bool same = shown.program.source == task_.reference.source;
    return {same ? "" : shown_source(shown.program.source, lines),
            shown.program.source.empty() ? "" : plan_text(shown.program, task_),
            visible_text(shown.reply)};
  }

  [[nodiscard]] std::vector<std::string> all_data() const {
    const Sizes whole{~0U, ~0U, ~0U, ~0U, ~0U, ~0U, ~0U};
    std::vector<std::string> all = {task_text_,           reference_,
                                    machine_text(input_), best_.source,
                                    best_.plan,           facts_text(input_.best, whole),
                                    failed_.source,       failed_.plan,
                                    failed_.reply,        proposals_text(proposals_, whole)};
    if (input_.failed) all.push_back(facts_text(*input_.failed, whole));
    for (std::size_t i = 0; i < exemplars_.size(); ++i) {
      all.push_back(exemplar_texts_[i].source);
      all.push_back(exemplar_texts_[i].plan);
      all.push_back(facts_text(exemplars_[i], whole));
    }
    return all;
  }

  // A line of its own before and after the data; the name is ours.
  [[nodiscard]] std::string block(std::string_view name, std::string_view data) const {
    return fmt::format("[[data {} {}]]\n{}{}[[end {}]]", nonce_, name, data,
                       data.ends_with('\n') ? "" : "\n", nonce_);
  }

  // What was found of a program, then the program.
  [[nodiscard]] std::string program_text(const Shown& shown, const Texts& texts, const Sizes& sizes,
                                         std::size_t most_source) const {
    std::vector<std::string> parts;
    const std::string facts = facts_text(shown, sizes);
    if (!facts.empty()) parts.push_back(block("what is known of it", facts));
    if (texts.source.empty() && !shown.program.source.empty()) {
      parts.emplace_back("Its source is the reference's, above.");
    } else if (!texts.source.empty() && most_source > 0) {
      parts.push_back(block("source", shortened(texts.source, most_source)));
    }
    if (!texts.reply.empty() && most_source > 0) {
      parts.push_back(block("your reply", shortened(texts.reply, most_source)));
    }
    if (!texts.plan.empty()) {
      parts.push_back(block("launches", texts.plan));
    } else if (!shown.program.source.empty()) {
      parts.emplace_back("Its launches and buffers are the task's.");
    }
    return fmt::format("{}", fmt::join(parts, "\n"));
  }

  [[nodiscard]] std::string exemplars_text(const Sizes& sizes, std::size_t left_out) const {
    if (left_out >= exemplars_.size()) return "";
    std::string programs;
    for (std::size_t i = left_out; i < exemplars_.size(); ++i) {
      programs += fmt::format(
          "\n## Program {}\n{}\n{}\n", i - left_out + 1, status_of(exemplars_[i]),
          program_text(exemplars_[i], exemplar_texts_[i], sizes, sizes.exemplar_source));
    }
    return expand("exemplars", {{"programs", programs}});
  }

  [[nodiscard]] std::string failed_text(const Sizes& sizes) const {
    if (!input_.failed) return "";
    const Shown& failed = *input_.failed;
    const std::string status = failed.program.source.empty()
                                   ? "Your reply gave no program that could be run."
                                   : status_of(failed);
    return expand("failed",
                  {{"turn", std::to_string(input_.repair_turn)},
                   {"status", status},
                   {"program", program_text(failed, failed_, sizes, sizes.failed_source)}}) +
           "\n";
  }

  [[nodiscard]] std::string proposals_section(const Sizes& sizes) const {
    if (input_.mode != Mode::kSteps) return "";
    const auto shown = some_of(proposals_, sizes.proposals);
    return expand("proposals", {{"list", block("proposals", proposals_text(shown, sizes))}}) + "\n";
  }

  [[nodiscard]] std::string user_text(const std::string& mode, const Sizes& sizes,
                                      std::size_t left_out) const {
    const std::string task =
        block("task", task_text_) + "\n" + block("reference source", reference_);
    const std::string best =
        status_of(input_.best) + "\n" + program_text(input_.best, best_, sizes, ~std::size_t{0});
    return expand("user", {{"nonce", nonce_},
                           {"task", task},
                           {"math", expand("math_" + std::string(to_string(task_.math)), {})},
                           {"machine", block("machine", machine_text(input_))},
                           {"best", best},
                           {"exemplars", exemplars_text(sizes, left_out)},
                           {"proposals", proposals_section(sizes)},
                           {"failed", failed_text(sizes)},
                           {"question", expand("question_" + mode, {})}});
  }

  const PromptInput& input_;
  const Task& task_;
  std::vector<Shown> exemplars_;
  std::vector<Proposal> proposals_;
  std::string task_text_, reference_;
  Texts best_, failed_;
  std::vector<Texts> exemplar_texts_;
  std::string nonce_;
};

}  // namespace

std::string_view to_string(Mode mode) { return kModes[static_cast<std::size_t>(mode)]; }

std::optional<Mode> parse_mode(std::string_view text) {
  for (std::size_t i = 0; i < kModes.size(); ++i) {
    if (kModes[i] == text) return static_cast<Mode>(i);
  }
  return std::nullopt;
}

Result<Prompt> make_prompt(const PromptInput& input, std::size_t limit_bytes) {
  if (input.task == nullptr) return fail(ErrorCode::kInternal, "a prompt without a task");
  if (input.best.program.source.empty()) {
    return fail(ErrorCode::kInternal, "a prompt without a best program");
  }
  const Writer writer(input);
  if (input.mode == Mode::kSteps && writer.proposals() == 0) {
    return invalid("no rewriter proposes a step for the best program: there is nothing to choose");
  }
  std::size_t least = 0;
  for (const Sizes& sizes : kSizes) {
    const bool first = &sizes == kSizes;
    for (std::size_t left_out = first ? 0 : writer.exemplars(); left_out <= writer.exemplars();
         ++left_out) {
      Prompt prompt = writer.write(sizes, left_out);
      least = Writer::bytes_of(prompt);
      if (least <= limit_bytes) return prompt;
    }
  }
  return invalid(fmt::format(
      "the shortest prompt has {} bytes, of which the task takes {}; at most {} are allowed", least,
      writer.task_bytes(), limit_bytes));
}

std::string response_format(const Prompt& prompt) {
  if (!prompt.schema) return "";
  const nlohmann::json format{
      {"type", "json_schema"},
      {"json_schema", {{"name", "steps"}, {"strict", true}, {"schema", *prompt.schema}}}};
  return format.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

}  // namespace hone::llm
