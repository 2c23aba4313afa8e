#include "rewriters/llm/prompt/data.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "candidates/hash.h"
#include "candidates/without_folders.h"
#include "rewriters/llm/reply/reply.h"
#include "rewriters/llm/text/shown_text.h"

namespace hone::llm {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

// What is no ASCII is escaped: JSON is read as such.
template <class Json>
std::string dump(const Json& value) {
  return value.dump(-1, ' ', true, Json::error_handler_t::replace);
}
std::string dump(const std::string& text) { return dump(json(text)); }

// A list with one element a line.
template <class Json>
std::string dump_lines(const Json& list, std::size_t most = 1000) {
  std::string out = "[";
  for (std::size_t i = 0; i < list.size() && i < most; ++i) {
    out += (i == 0 ? "\n  " : ",\n  ") + dump(list[i]);
  }
  return out + (list.size() > most ? fmt::format(",\n  … ({} more)]", list.size() - most) : "]");
}

// With these keys first: people write a name before what it names.
ordered_json in_order(const json& object, std::initializer_list<const char*> keys) {
  ordered_json out = ordered_json::object();
  for (const char* key : keys) {
    if (object.contains(key)) out[key] = object[key];
  }
  return out;
}

ordered_json buffers_json(const json& program) {
  ordered_json out = ordered_json::array();
  for (const json& buffer : program["buffers"]) {
    out.push_back(in_order(buffer, {"name", "type", "shape", "role", "fill"}));
  }
  return out;
}

ordered_json launches_json(const json& program) {
  ordered_json out = ordered_json::array();
  for (const json& launch : program["launches"]) {
    out.push_back(in_order(launch, {"kernel", "grid", "block", "shared_bytes", "args"}));
  }
  return out;
}

json exprs(const std::vector<Expr>& list) {
  json out = json::array();
  for (const Expr& expr : list) out.push_back(expr.text());
  return out;
}

json value_json(const ParameterValue& value) {
  return std::visit([](const auto& held) { return json(held); }, value);
}

bool is_visible_line(const std::string& text) { return visible_line(text, text.size()) == text; }

}  // namespace

std::string task_text(const Task& full) {
  constexpr std::size_t kMostCheckSizes = 16;
  const Task task = without_folders(full);
  const json program = task.reference;
  std::string out = "{" + fmt::format("\"name\": {},\n", dump(visible_line(task.name, 200)));
  out += fmt::format("\"sizes\": {},\n", dump(json(task.sizes)));
  out += fmt::format("\"check_sizes\": {},\n", dump_lines(json(task.check_sizes), kMostCheckSizes));
  out += fmt::format("\"buffers\": {},\n", dump_lines(buffers_json(program)));
  out += fmt::format("\"launches\": {},\n", dump_lines(launches_json(program)));
  if (!task.tunables.empty()) out += fmt::format("\"tunables\": {},\n", dump(json(task.tunables)));
  if (!task.constraints.empty()) {
    out += fmt::format("\"constraints\": {},\n", dump(exprs(task.constraints)));
  }
  if (task.flops) out += fmt::format("\"flops\": {},\n", dump(task.flops->text()));
  if (task.torch) out += fmt::format("\"torch\": {},\n", dump(visible_line(*task.torch, 1000)));
  out +=
      fmt::format("\"tolerance\": {},\n",
                  dump(ordered_json{{"rtol", task.tolerance.rtol}, {"atol", task.tolerance.atol}}));
  if (task.tolerance.non_finite == NonFinite::kSame) out += "\"non_finite\": \"same\",\n";
  out +=
      fmt::format("\"math\": \"{}\", \"specialize\": {}}}", to_string(task.math), task.specialize);
  return visible_text(out);
}

std::string machine_text(const PromptInput& input) {
  const TargetLimits& limits = input.target;
  return fmt::format(
      "device: {}\narchitecture: {}, compute capability {}.{}\n"
      "multiprocessors: {}\nregisters of a multiprocessor: {}\n"
      "threads of a block: at most {}\n"
      "shared memory of a block: {} bytes static, {} bytes with dynamic shared memory\n"
      "shared memory of a multiprocessor: {} bytes",
      visible_line(input.device, 200), visible_line(input.arch, 40), limits.compute_capability / 10,
      limits.compute_capability % 10, limits.sm_count, limits.registers_per_sm,
      limits.max_threads_per_block, limits.shared_per_block, limits.shared_per_block_optin,
      limits.shared_per_sm);
}

std::string plan_text(const Program& program, const Task& task) {
  const Program& reference = task.reference;
  std::string out;
  const json all = program;
  if (program.launches != reference.launches) {
    out += fmt::format("\"launches\": {}", dump_lines(launches_json(all)));
  }
  const ordered_json buffers = buffers_json(all);
  ordered_json scratch = ordered_json::array();
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    if (reference.find_buffer(program.buffers[i].name) != nullptr) continue;
    ordered_json buffer = buffers[i];
    buffer.erase("role");
    scratch.push_back(std::move(buffer));
  }
  if (!scratch.empty()) {
    out += fmt::format("{}\"scratch\": {}", out.empty() ? "" : ",\n", dump_lines(scratch));
  }
  if (program.defines != reference.defines) {
    out += fmt::format("{}\"macros\": {}", out.empty() ? "" : ",\n", dump(json(program.defines)));
  }
  return out.empty() ? out : visible_text("{" + out + "}");
}

std::string facts_text(const Shown& shown, const Sizes& sizes) {
  std::string out;
  const auto add = [&out](std::string_view what, const std::string& text, std::size_t most) {
    // What is cut away anyway need not be looked at.
    std::string seen = visible_text(std::string_view(text).substr(0, 1 << 20));
    while (seen.ends_with('\n')) seen.pop_back();
    if (seen.empty()) return;
    out += fmt::format("{}{}: {}", out.empty() ? "" : "\n", what, shortened(seen, most));
  };
  add("recipe", shown.recipe, sizes.recipe);
  if (shown.verdict != Verdict::kOk) add("why it failed", shown.detail, sizes.detail);
  add("what bounds it", shown.bound, sizes.bound);
  return out;
}

std::vector<Proposal> showable(const std::vector<Proposal>& proposals) {
  std::vector<Proposal> out;
  for (const Proposal& proposal : proposals) {
    const bool clean = std::ranges::all_of(proposal.parameters, [](const Parameter& parameter) {
      return is_visible_line(parameter.name) && !parameter.domain.empty() &&
             std::ranges::all_of(parameter.domain, [](const ParameterValue& value) {
               return is_visible_line(hone::to_string(value));
             });
    });
    if (clean && is_visible_line(proposal.rewriter) && is_visible_line(proposal.site)) {
      out.push_back(proposal);
    }
  }
  return out;
}

std::vector<Proposal> some_of(const std::vector<Proposal>& proposals, std::size_t most) {
  if (proposals.size() <= most) return proposals;
  std::map<std::string, std::size_t> seen;
  std::vector<std::pair<std::size_t, std::size_t>> rounds;  // of its rewriter's, and its place
  for (std::size_t i = 0; i < proposals.size(); ++i)
    rounds.emplace_back(seen[proposals[i].rewriter]++, i);
  std::ranges::sort(rounds);
  rounds.resize(most);
  std::ranges::sort(rounds, {}, &std::pair<std::size_t, std::size_t>::second);
  std::vector<Proposal> some;
  for (const auto& [round, i] : rounds) some.push_back(proposals[i]);
  return some;
}

std::string proposals_text(const std::vector<Proposal>& proposals, const Sizes& sizes) {
  std::string out;
  for (const Proposal& proposal : proposals) {
    std::string params;
    for (const Parameter& parameter : proposal.parameters) {
      json domain = json::array();
      for (const ParameterValue& value : parameter.domain) domain.push_back(value_json(value));
      params +=
          fmt::format("{}{}: {}", params.empty() ? "" : ", ", dump(parameter.name), dump(domain));
    }
    const std::string what = visible_line(proposal.description, sizes.description);
    out += fmt::format("{}{{\"rewriter\": {}, \"site\": {}, \"values\": {{{}}}}}{}{}",
                       out.empty() ? "" : "\n", dump(proposal.rewriter), dump(proposal.site),
                       params, what.empty() ? "" : "  ", what);
  }
  return out;
}

// Keys sort as they are to be written: the reason first, a rewriter before its values.
nlohmann::json steps_schema(const std::vector<Proposal>& proposals) {
  const auto object = [](json properties) {
    json required = json::array();
    for (const auto& item : properties.items()) required.push_back(item.key());
    return json{{"type", "object"},
                {"properties", std::move(properties)},
                {"required", std::move(required)},
                {"additionalProperties", false}};
  };
  json steps = json::array();
  for (const Proposal& proposal : proposals) {
    json params = json::object();
    for (const Parameter& parameter : proposal.parameters) {
      json values = json::array();
      for (const ParameterValue& value : parameter.domain) values.push_back(value_json(value));
      params[parameter.name] = {{"enum", std::move(values)}};
    }
    steps.push_back(object({{"rewriter", {{"type", "string"}, {"enum", {proposal.rewriter}}}},
                            {"site", {{"type", "string"}, {"enum", {proposal.site}}}},
                            {"values", object(std::move(params))}}));
  }
  const json list{{"type", "array"},
                  {"minItems", 1},
                  {"maxItems", kMaxSteps},
                  {"items", {{"anyOf", std::move(steps)}}}};
  return object({{"reason", {{"type", "string"}}}, {"steps", list}});
}

std::string nonce_for(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += fmt::format("{}:{}", text.size(), text);
  std::string nonce = content_hash(all).substr(0, 16);
  const auto holds = [&nonce](const std::string& text) { return text.contains(nonce); };
  while (std::ranges::any_of(texts, holds)) nonce = content_hash(all + nonce).substr(0, 16);
  return nonce;
}

}  // namespace hone::llm
