// What hone and its rewrite runners say to each other, over evaluator/protocol's channel. Every
// reader checks what it reads. One request, one reply; `op` names the request:
//
//   apply      {task, sizes, target, program?, step, with_hash} -> {program, hash}
//   proposals  {task, sizes, target, program?}                  -> {proposals}
//   lifted     {task, sizes, target, program?}                  -> {nests, refusals, sites}
//   executed   {task, sizes, target, program?, seed}            -> {lifted, unchecked, after}
//   validate   {program, path}                                  -> {}
//   hash       {program}                                        -> {hash}
//   format     {source}                                         -> {source}
//   init       {source, path, defines, kernel}                  -> {source, attempts}
//
// Without `program` the task's reference is meant. A question that has no such answer is answered
// with {"refused": text} or {"invalid": text}; {"error": text}, the channel's own, is a failure.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "candidates/result.h"
#include "engine/rewriting/init/init_task.h"
#include "engine/rewriting/run_nests.h"
#include "rewriters/core/rewriter.h"
#include "rewriters/schedules/explanation.h"

namespace hone::rewriting {

[[nodiscard]] nlohmann::json to_message(const TargetLimits& target);
[[nodiscard]] Result<TargetLimits> target_from(const nlohmann::json& message);

[[nodiscard]] Result<Bindings> sizes_from(const nlohmann::json& message);

/// A Rewriting's Error as a reply, and back; nothing when the reply is none.
[[nodiscard]] nlohmann::json to_message(const Error& error);
[[nodiscard]] std::optional<Error> failure_of(const nlohmann::json& reply);

[[nodiscard]] nlohmann::json to_message(const InitRequest& request);
[[nodiscard]] Result<InitRequest> init_request_from(const nlohmann::json& message);
[[nodiscard]] nlohmann::json to_message(const InitResult& result);
[[nodiscard]] Result<InitResult> init_result_from(const nlohmann::json& message);

[[nodiscard]] nlohmann::json to_message(const schedules::Explanation& explanation);
[[nodiscard]] Result<schedules::Explanation> explanation_from(const nlohmann::json& message);

[[nodiscard]] nlohmann::json to_message(const NestOutputs& outputs);
[[nodiscard]] Result<NestOutputs> nest_outputs_from(const nlohmann::json& message);
[[nodiscard]] Result<std::uint64_t> seed_from(const nlohmann::json& message);

/// 32 hex digits.
[[nodiscard]] Result<std::string> hash_from(const nlohmann::json& message);

}  // namespace hone::rewriting
