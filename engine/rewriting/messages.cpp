#include "engine/rewriting/messages.h"

#include <algorithm>
#include <limits>

#include "evaluator/protocol/channel.h"
#include "evaluator/protocol/take.h"

namespace hone::rewriting {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxText = 8192;      // [B], of a message for a person
constexpr std::size_t kMaxRefusals = 4096;  // of launches
constexpr std::size_t kMaxFacts = 64;
constexpr std::size_t kMaxNotes = 4096;
constexpr std::size_t kMaxAttempts = 16;

std::unexpected<Error> malformed(const char* what) {
  return fail(ErrorCode::kInfrastructure, std::string("rewrite runner: ") + what);
}

Result<int> small_int(const Json& object, const char* key) {
  const auto value = protocol::get_int(object, key);
  if (!value) return std::unexpected(value.error());
  if (*value < 0 || *value > std::numeric_limits<int>::max())
    return malformed("a number too large");
  return static_cast<int>(*value);
}

}  // namespace

Json to_message(const TargetLimits& target) {
  return {{"compute_capability", target.compute_capability},
          {"max_threads_per_block", target.max_threads_per_block},
          {"shared_per_block", target.shared_per_block},
          {"shared_per_block_optin", target.shared_per_block_optin},
          {"shared_per_sm", target.shared_per_sm},
          {"registers_per_sm", target.registers_per_sm},
          {"sm_count", target.sm_count}};
}

Result<TargetLimits> target_from(const Json& message) {
  TargetLimits target;
  HONE_TAKE(target.compute_capability, small_int(message, "compute_capability"));
  HONE_TAKE(target.max_threads_per_block, small_int(message, "max_threads_per_block"));
  HONE_TAKE(target.shared_per_block, protocol::get_int(message, "shared_per_block"));
  HONE_TAKE(target.shared_per_block_optin, protocol::get_int(message, "shared_per_block_optin"));
  HONE_TAKE(target.shared_per_sm, protocol::get_int(message, "shared_per_sm"));
  HONE_TAKE(target.registers_per_sm, small_int(message, "registers_per_sm"));
  HONE_TAKE(target.sm_count, small_int(message, "sm_count"));
  return target;
}

Result<Bindings> sizes_from(const Json& message) {
  Bindings sizes;
  if (!message.is_object()) return malformed("sizes are no object");
  for (const auto& [name, value] : message.items()) {
    if (!value.is_number_integer()) return malformed("a size is no integer");
    sizes[name] = value.get<std::int64_t>();
  }
  return sizes;
}

Json to_message(const Error& error) {
  switch (error.code) {
    case ErrorCode::kRefused:
      return {{"refused", error.message}};
    case ErrorCode::kInvalidInput:
      return {{"invalid", error.message}};
    default:
      return {{"error", error.message}};
  }
}

std::optional<Error> failure_of(const Json& reply) {
  if (!reply.is_object())
    return Error{ErrorCode::kInfrastructure, "its reader's reply is no object"};
  for (const auto& [key, code] :
       {std::pair{"refused", ErrorCode::kRefused}, std::pair{"invalid", ErrorCode::kInvalidInput},
        std::pair{"error", ErrorCode::kInfrastructure}}) {
    const auto found = reply.find(key);
    if (found == reply.end()) continue;
    const bool is_text = found->is_string();
    return Error{code, is_text
                           ? protocol::clean_text(found->get_ref<const std::string&>(), kMaxText)
                           : "unreadable error"};
  }
  return std::nullopt;
}

Json to_message(const InitRequest& request) {
  return {{"op", "init"},
          {"source", request.source},
          {"path", request.path},
          {"defines", request.defines},
          {"kernel", request.kernel}};
}

Result<InitRequest> init_request_from(const Json& message) {
  InitRequest request;
  HONE_TAKE(request.source, protocol::get_string(message, "source", protocol::kMaxFrame));
  HONE_TAKE(request.path, protocol::get_string(message, "path"));
  HONE_TAKE(request.kernel, protocol::get_string(message, "kernel"));
  const Json* defines = nullptr;
  HONE_TAKE(defines, protocol::get_object(message, "defines"));
  for (const auto& [name, value] : defines->items()) {
    if (!value.is_string()) return malformed("a macro's value is no string");
    request.defines[name] = value.get<std::string>();
  }
  return request;
}

Json to_message(const InitResult& result) {
  Json attempts = Json::array();
  // The task as text, which keeps the order of the keys.
  for (const InitResult::Attempt& one : result.attempts)
    attempts.push_back({{"task", one.task.dump()}, {"notes", one.notes}});
  return {{"source", result.source}, {"attempts", attempts}};
}

Result<InitResult> init_result_from(const Json& message) {
  InitResult result;
  HONE_TAKE(result.source, protocol::get_string(message, "source", protocol::kMaxFrame));
  const auto attempts = protocol::get_array(message, "attempts", kMaxAttempts);
  if (!attempts) return std::unexpected(attempts.error());
  if ((*attempts)->empty()) return malformed("there is no task");
  for (const Json& one : **attempts) {
    if (!one.is_object()) return malformed("an attempt is no object");
    InitResult::Attempt attempt;
    const auto text = protocol::get_string(one, "task", protocol::kMaxFrame);
    if (!text) return std::unexpected(text.error());
    attempt.task = nlohmann::ordered_json::parse(*text, nullptr, false);
    if (!attempt.task.is_object()) return malformed("the task is no JSON object");
    const auto notes = protocol::get_array(one, "notes", kMaxNotes);
    if (!notes) return std::unexpected(notes.error());
    for (const Json& note : **notes) {
      if (!note.is_string()) return malformed("a note is no string");
      attempt.notes.push_back(protocol::clean_text(note.get_ref<const std::string&>(), kMaxText));
    }
    result.attempts.push_back(std::move(attempt));
  }
  return result;
}

Json to_message(const schedules::Explanation& explanation) {
  return {{"nests", explanation.nests},
          {"refusals", explanation.refusals},
          {"sites", explanation.sites},
          {"facts", explanation.facts},
          {"structure", explanation.structure}};
}

Result<schedules::Explanation> explanation_from(const Json& message) {
  schedules::Explanation explanation;
  HONE_TAKE(explanation.nests, protocol::get_string(message, "nests", protocol::kMaxFrame));
  HONE_TAKE(explanation.sites, protocol::get_string(message, "sites", protocol::kMaxFrame));
  const Json* refusals = nullptr;
  HONE_TAKE(refusals, protocol::get_array(message, "refusals", kMaxRefusals));
  for (const Json& refusal : *refusals) {
    if (!refusal.is_string()) return malformed("a refusal is no string");
    explanation.refusals.push_back(
        protocol::clean_text(refusal.get_ref<const std::string&>(), kMaxText));
  }
  const Json facts = message.value("facts", Json::object());
  if (!facts.is_object() || facts.size() > kMaxFacts) return malformed("the facts are none");
  for (const auto& [name, value] : facts.items()) {
    if (!value.is_number()) return malformed("a fact is no number");
    explanation.facts[protocol::clean_text(name, kMaxText)] = value.get<double>();
  }
  HONE_TAKE(explanation.structure, protocol::get_string(message, "structure", kMaxText));
  return explanation;
}

Json to_message(const NestOutputs& outputs) {
  Json after = Json::object();
  for (const auto& [name, bytes] : outputs.after) after[name] = protocol::blob(bytes);
  return {{"lifted", outputs.lifted}, {"unchecked", outputs.unchecked}, {"after", after}};
}

Result<NestOutputs> nest_outputs_from(const Json& message) {
  NestOutputs outputs;
  HONE_TAKE(outputs.lifted, protocol::get_bool(message, "lifted"));
  HONE_TAKE(outputs.unchecked, protocol::get_string(message, "unchecked", kMaxText));
  outputs.unchecked = protocol::clean_text(outputs.unchecked, kMaxText);
  const Json* after = nullptr;
  HONE_TAKE(after, protocol::get_object(message, "after"));
  for (const auto& [name, bytes] : after->items())
    HONE_TAKE(outputs.after[name], protocol::get_blob(*after, name.c_str()));
  return outputs;
}

Result<std::uint64_t> seed_from(const Json& message) {
  if (!message.contains("seed") || !message["seed"].is_number_integer())
    return malformed("no seed");
  return message["seed"].get<std::uint64_t>();
}

Result<std::string> hash_from(const Json& message) {
  auto hash = protocol::get_string(message, "hash", 32);
  if (!hash) return hash;
  const bool is_hash = hash->size() == 32 && std::ranges::all_of(*hash, [](char c) {
                         return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
                       });
  if (!is_hash) return malformed("that is no hash");
  return hash;
}

}  // namespace hone::rewriting
