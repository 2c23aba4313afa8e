#include "rewriters/llm/model_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace hone {
namespace {

using nlohmann::json;

constexpr std::size_t kMostBytes = 512U << 10;  // of a program, as JSON

class ModelCode final : public Rewriter {
 public:
  std::string_view name() const override { return kModelCode; }
  std::string_view summary() const override {
    return "a program that a language model wrote, in place of the whole; its answers are checked, "
           "nothing is proved";
  }

  std::vector<Proposal> propose(const Program&, const RewriteContext&) const override { return {}; }

  Result<Program> apply(const Program&, const Step& step,
                        const RewriteContext& context) const override {
    if (context.task == nullptr || step.site != "task") return refused("there is no such site");
    const std::string text = step.string_param("program", "");
    if (text.size() > kMostBytes) return refused("the model's program is too large");
    const json own = json::parse(text, nullptr, false);
    if (!own.is_object()) return refused("the model's program is no JSON object");
    json whole = context.task->reference;
    for (const char* part : {"source", "launches"}) {
      if (!own.contains(part)) return refused(fmt::format("the model's program has no {}", part));
      whole[part] = own[part];
    }
    whole["defines"] = own.contains("defines") ? own["defines"] : json::object();
    if (own.contains("scratch")) {
      if (!own["scratch"].is_array()) return refused("the model's scratch buffers are no list");
      for (const json& buffer : own["scratch"]) whole["buffers"].push_back(buffer);
    }
    auto program = program_from_json(whole);
    if (!program) return refused("the model's program: " + program.error().message);
    const std::size_t given = context.task->reference.buffers.size();
    for (std::size_t i = given; i < program->buffers.size(); ++i) {
      if (program->buffers[i].role != Role::kScratch)
        return refused(
            fmt::format("the model's buffer '{}' is not scratch", program->buffers[i].name));
    }
    return std::move(*program);
  }
};

}  // namespace

Step model_code_step(const Program& program, const std::string& reply, MathLevel math) {
  const json whole = program;
  json scratch = json::array();
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    if (program.buffers[i].role == Role::kScratch) scratch.push_back(whole["buffers"][i]);
  }
  const json own = {{"source", program.source},
                    {"defines", program.defines},
                    {"launches", whole["launches"]},
                    {"scratch", scratch}};
  Step step;
  step.rewriter = kModelCode;
  step.site = "task";
  step.params["program"] = own.dump(-1, ' ', false, json::error_handler_t::replace);
  step.params["reply"] = reply;
  step.math = math;
  return step;
}

bool has_model_code(const Recipe& recipe) {
  return std::ranges::any_of(recipe, [](const Step& step) { return step.rewriter == kModelCode; });
}

std::unique_ptr<Rewriter> make_model_code() { return std::make_unique<ModelCode>(); }

}  // namespace hone
