// kWhole: the last pair of a code block and a JSON block, or JSON with the code in it.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "rewriters/llm/reply/blocks.h"
#include "rewriters/llm/reply/json_text.h"
#include "rewriters/llm/reply/program_check.h"

namespace hone::llm {
namespace {

struct Pair {
  std::string code;
  nlohmann::json plan;
  std::string why;
};

constexpr std::string_view kSourceKeys[] = {"source", "code", "cuda"};

// The text of a string that is, fence and all, one block.
std::string unfenced(std::string text) {
  ReplyParts parts = parts_of(text);
  if (parts.blocks.size() == 1 && parts.blocks[0].closed && is_code(parts.blocks[0])) {
    return std::move(parts.blocks[0].text);
  }
  return text;
}

std::optional<std::string> code_in(const nlohmann::json& json) {
  if (!json.is_object()) return std::nullopt;
  for (const std::string_view key : kSourceKeys) {
    const auto found = json.find(key);
    if (found != json.end() && found->is_string()) return unfenced(found->get<std::string>());
  }
  return std::nullopt;
}

std::string why_of(const nlohmann::json& json, const std::string& prose) {
  const auto why = json.is_object() ? json.find("why") : json.end();
  return json.is_object() && why != json.end() && why->is_string() ? why->get<std::string>()
                                                                   : prose;
}

Result<Pair> pair_of(std::optional<std::string> code, std::string_view plan,
                     const std::string& prose) {
  auto json = parse_json_text(plan);
  if (!json) return std::unexpected(json.error());
  if (!code) code = code_in(*json);
  if (!code) return refused("the reply has no block of code (```cuda … ```)");
  std::string why = why_of(*json, prose);
  return Pair{std::move(*code), std::move(*json), std::move(why)};
}

// A JSON block with the code in it is a pair of its own.
bool holds_code(const Block& block) {
  if (!is_json(block)) return false;
  const auto json = parse_json_text(block.text);
  return json && code_in(*json).has_value();
}

Result<Pair> last_pair(const ReplyParts& parts) {
  std::vector<const Block*> blocks;  // whole ones of code and JSON
  bool half = false;
  for (const Block& block : parts.blocks) {
    if (!block.closed) {
      half = true;
    } else if (is_code(block) || is_json(block)) {
      blocks.push_back(&block);
    }
  }
  const Block* code = nullptr;
  const Block* plan = nullptr;
  for (std::size_t i = blocks.size(); i-- > 0;) {
    if (holds_code(*blocks[i])) return pair_of(std::nullopt, blocks[i]->text, parts.prose);
    if (i == 0 || is_code(*blocks[i]) || !is_code(*blocks[i - 1])) continue;
    return pair_of(blocks[i - 1]->text, blocks[i]->text, parts.prose);
  }
  for (const Block* block : blocks) (is_code(*block) ? code : plan) = block;
  if (code != nullptr && plan != nullptr) return pair_of(code->text, plan->text, parts.prose);
  // Whole or half, JSON may stand without a fence.
  if (!half) {
    const std::string_view bare = last_object(parts.prose, "\"launches\"");
    if (!bare.empty()) {
      return pair_of(code != nullptr ? std::optional(code->text) : std::nullopt, bare, "");
    }
  }
  if (half) {
    return refused(
        "half a reply: its last block has no end (a line of ``` alone); answer with both blocks, "
        "each whole");
  }
  if (code == nullptr && parts.prose.starts_with('{') && parts.blocks.empty()) {
    return refused("half a reply: its JSON object has no end");
  }
  if (code == nullptr) return refused("the reply has no block of code (```cuda … ```)");
  return refused("the reply has no JSON block with the launches (```json … ```)");
}

Result<ModelProgram> program_in(std::string_view reply, const Task& task) {
  auto parts = readable_parts(reply);
  if (!parts) return std::unexpected(parts.error());
  auto pair = last_pair(*parts);
  if (!pair) return std::unexpected(pair.error());
  if (!pair->plan.is_object() || !pair->plan.contains("launches")) {
    return refused("the JSON block has no \"launches\"");
  }
  ModelProgram model;
  model.source = std::move(pair->code);
  model.defines = task.reference.defines;
  model.why = printable_why(pair->why);
  if (auto good = read_plan(std::move(pair->plan), task, model); !good) {
    return std::unexpected(good.error());
  }
  if (auto good = check_program(model, task, task.reference.source); !good) {
    return std::unexpected(good.error());
  }
  return model;
}

}  // namespace

Result<ModelProgram> read_program(std::string_view reply, const Task& task) {
  return in_one_line(program_in(reply, task));
}

}  // namespace hone::llm
