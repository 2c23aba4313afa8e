#include "rewriters/llm/model_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace hone {
namespace {

using nlohmann::json;

constexpr std::size_t kMostBytes = 512U << 10;  // of a program or its edits, as JSON

/// In ASCII: a step is shown on terminals.
std::string dump(const json& value) {
  return value.dump(-1, ' ', true, json::error_handler_t::replace);
}

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

Result<std::vector<llm::Edit>> edits_from(const json& list) {
  if (!list.is_array()) return refused("the model's edits are no list");
  std::vector<llm::Edit> edits;
  for (const json& pair : list) {
    const bool good =
        pair.is_array() && pair.size() == 2 && pair[0].is_string() && pair[1].is_string();
    if (!good) return refused("a model's edit is not [search, replace]");
    edits.push_back({pair[0], pair[1]});
  }
  return edits;
}

class ModelEdit final : public Rewriter {
 public:
  std::string_view name() const override { return kModelEdit; }
  std::string_view summary() const override {
    return "edits that a language model made of the program before, legal where each is found "
           "once; its answers are checked, nothing is proved";
  }

  std::vector<Proposal> propose(const Program&, const RewriteContext&) const override { return {}; }

  Result<Program> apply(const Program& program, const Step& step,
                        const RewriteContext& context) const override {
    if (context.task == nullptr || step.site != "task") return refused("there is no such site");
    const std::string edits = step.string_param("edits", "");
    const std::string plan = step.string_param("plan", "");
    if (edits.size() + plan.size() > kMostBytes) return refused("the model's edits are too large");
    auto read = edits_from(json::parse(edits, nullptr, false));
    if (!read) return std::unexpected(read.error());
    auto model = llm::edited_program(program, *read, plan, *context.task);
    if (!model) return refused("the model's edits: " + model.error().message);
    return llm::program_of(*model, *context.task);
  }
};

/// A step of a model, but for what it holds.
Step step_of(const char* rewriter, const std::string& reply, MathLevel math) {
  Step step;
  step.rewriter = rewriter;
  step.site = "task";
  step.params["reply"] = reply;
  step.math = math;
  return step;
}

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
  Step step = step_of(kModelCode, reply, math);
  step.params["program"] = dump(own);
  return step;
}

Step model_edit_step(const llm::ModelDiff& diff, const std::string& reply, MathLevel math) {
  json edits = json::array();
  for (const llm::Edit& edit : diff.edits) edits.push_back({edit.search, edit.replace});
  Step step = step_of(kModelEdit, reply, math);
  step.params["edits"] = dump(edits);
  if (!diff.plan.empty()) step.params["plan"] = diff.plan;
  return step;
}

bool is_model_step(const Step& step) {
  return step.rewriter == kModelCode || step.rewriter == kModelEdit;
}

bool has_model_step(const Recipe& recipe) { return std::ranges::any_of(recipe, is_model_step); }

std::vector<std::string> replies_in(const Recipe& recipe) {
  std::vector<std::string> replies;
  for (const Step& step : recipe) {
    if (!is_model_step(step)) continue;
    const std::string reply = step.string_param("reply", "");
    if (reply.empty() || std::ranges::find(replies, reply) != replies.end()) continue;
    replies.push_back(reply);
  }
  return replies;
}

std::unique_ptr<Rewriter> make_model_code() { return std::make_unique<ModelCode>(); }
std::unique_ptr<Rewriter> make_model_edit() { return std::make_unique<ModelEdit>(); }

}  // namespace hone
