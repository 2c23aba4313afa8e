#include "engine/queue/messages_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/queue/messages_detail.h"
#include "engine/queue/numbers.h"
#include "evaluator/protocol/channel.h"

namespace hone::queue {
namespace {

using namespace detail;
using protocol::clean_text;

constexpr std::string_view kResultType = "result";
constexpr std::size_t kMaxKernelName = 1024;  // [B]
constexpr std::size_t kMaxCounterName = 64;   // [B]
constexpr std::string_view kCodeNames =
    "invalid_input, task_failed, environment, infrastructure, refused, io, internal";

// In the order of ErrorCode.
constexpr std::array<std::string_view, 7> kCodes = {
    "invalid_input", "task_failed", "environment", "infrastructure", "refused", "io", "internal"};

std::optional<ErrorCode> parse_code(std::string_view text) {
  const auto found = std::ranges::find(kCodes, text);
  if (found == kCodes.end()) return std::nullopt;
  return static_cast<ErrorCode>(found - kCodes.begin());
}

/// Texts for people cleaned and cut.
void clean(Evaluation& evaluation) {
  evaluation.detail = clean_text(evaluation.detail, kMaxText);
  evaluation.note = clean_text(evaluation.note, kMaxText);
  evaluation.code_hash = clean_text(evaluation.code_hash, kMaxLine);
  evaluation.measurement.bound = clean_text(evaluation.measurement.bound, kMaxLine);
  for (KernelResources& resources : evaluation.resources)
    resources.kernel = clean_text(resources.kernel, kMaxKernelName);
  std::map<std::string, double> counters;
  for (const auto& [name, value] : evaluation.measurement.counters)
    counters[clean_text(name, kMaxCounterName)] = value;
  evaluation.measurement.counters = std::move(counters);
}

/// What is not stored, beside what is.
Json own_part(const Evaluation& evaluation) {
  const GateSeconds& gates = evaluation.gates;
  return {{"gates",
           {{"compile", gates.compile},
            {"check", gates.check},
            {"wait", gates.wait},
            {"measure", gates.measure}}},
          {"modelled_us", evaluation.modelled_us},
          {"outpaced", evaluation.outpaced},
          {"screened", evaluation.screened}};
}

void read_own_part(const JsonCursor& cursor, Evaluation& evaluation) {
  if (!cursor.expect_keys({"gates", "modelled_us", "outpaced", "screened"})) return;
  const JsonCursor gates = cursor.at("gates");
  if (!gates.expect_keys({"compile", "check", "wait", "measure"})) return;
  evaluation.gates = {.compile = read_duration(gates.at("compile")),
                      .check = read_duration(gates.at("check")),
                      .wait = read_duration(gates.at("wait")),
                      .measure = read_duration(gates.at("measure"))};
  evaluation.modelled_us = read_duration(cursor.at("modelled_us"));
  evaluation.outpaced = cursor.at("outpaced").boolean();
  evaluation.screened = cursor.at("screened").boolean();
}

Evaluation read_evaluation(const JsonCursor& cursor, const JsonCursor& own) {
  Evaluation evaluation = nested(cursor, evaluation_from_json(cursor.value()));
  read_own_part(own, evaluation);
  if (!cursor.ok()) return evaluation;
  if (const auto wrong = wrong_number(evaluation)) {
    cursor.fail(*wrong);
  } else if (evaluation.detail.size() > kMaxText || evaluation.note.size() > kMaxText) {
    cursor.fail(fmt::format("a text has more than {} bytes", kMaxText));
  }
  clean(evaluation);
  return evaluation;
}

Error read_error(const JsonCursor& cursor) {
  Error error;
  if (!cursor.expect_keys({"code", "message"})) return error;
  error.code = cursor.at("code").choice<ErrorCode>(parse_code, kCodeNames);
  error.message = read_text(cursor.at("message"), kMaxText);
  return error;
}

ResultMessage read_result(const JsonCursor& root) {
  ResultMessage message;
  expect_fields(root, {"job", "id", "worker", "evaluation", "own", "error"});
  if (!root.ok()) return message;
  message.job = read_id(root.at("job"));
  message.id = read_id(root.at("id"));
  message.worker = read_id(root.at("worker"));
  const auto error = root.find("error");
  if (error && (root.find("evaluation") || root.find("own"))) {
    error->fail_at_key("there is an evaluation, too");
  } else if (error) {
    message.evaluation = std::unexpected(read_error(*error));
  } else {
    message.evaluation = read_evaluation(root.at("evaluation"), root.at("own"));
  }
  return message;
}

}  // namespace

Result<std::string> encode(const ResultMessage& message) {
  Json json = {{"job", message.job}, {"id", message.id}, {"worker", message.worker}};
  if (message.evaluation) {
    Evaluation evaluation = *message.evaluation;
    clean(evaluation);
    json["evaluation"] = evaluation;
    json["own"] = own_part(evaluation);
  } else {
    const Error& error = message.evaluation.error();
    json["error"] = {{"code", kCodes[static_cast<std::size_t>(error.code)]},
                     {"message", clean_text(error.message, kMaxText)}};
  }
  return encode_as(kResultType, std::move(json), read_result);
}

Result<ResultMessage> result_from(std::string_view bytes) {
  return decode_as(kResultType, bytes, read_result);
}

}  // namespace hone::queue
