// What goes to a language model and what comes back: strings and counts, nothing of tasks or
// kernels. An Exchange is all that is known of one question; a Reply is its good end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "candidates/result.h"

namespace hone::llm {

enum class Role { kSystem, kUser, kAssistant };

struct Message {
  Role role = Role::kUser;
  std::string text;  ///< UTF-8
};

struct Request {
  std::vector<Message> messages;
  /// Zero: what the endpoint's settings say.
  std::int64_t max_output_tokens = 0;
  /// Where a budget has no room for max_output_tokens, fewer are asked for, but no fewer than this.
  /// Zero: what the endpoint's settings say.
  std::int64_t least_output_tokens = 0;
  /// JSON text of the protocol's "response_format" object; empty: none. A server that refuses it is
  /// asked without it.
  std::string response_format;
  /// The caller's name for questions of this kind; it is not sent. A replay that has no equal
  /// request answers with the next reply to one of this kind. Empty: with that of an equal one
  /// only.
  std::string kind;
};

struct Usage {
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 0;  ///< what a model thought without showing it included
  /// False: the server did not say, or not all; then it is the most that it can have been.
  bool exact = false;
};

/// What was counted against the budgets for all attempts of one exchange.
struct Charge {
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 0;
  std::int64_t nano_dollars = 0;
};

struct Reply {
  std::string text;  ///< UTF-8 without NUL, never empty; the key, if it was there, is `[key]`
  std::string
      finish_reason;  ///< "stop"; "length": cut at the token limit; others as the server says
  std::string model;  ///< as the server names it
  Usage usage;        ///< of the attempt that gave the text
  bool without_format = false;     ///< asked without response_format, which the server refused
  std::vector<std::string> notes;  ///< what a user should hear once, a line each
};

enum class FailureKind {
  kRequest,    ///< the request cannot be right, or the server says so (400, 413, 422)
  kBudget,     ///< no room in the token or cost budget
  kLedger,     ///< what it may cost could not be written down first; nothing was sent
  kCancelled,  ///< the stop token
  kSettings,   ///< key, model or URL are wrong: 401, 403, 404, a redirection, a bad certificate
  kDown,       ///< the endpoint counts as down; nothing was sent
  kTrouble,    ///< connection, timeout, 429 or 5xx, also after the retries
  kBadReply,   ///< not the protocol, too long, cut off
  kNoText,     ///< a refusal, a tool call, nothing
  kNoRecord,   ///< a replay has no exchange for this request; it may have some for others
  kRecordEnd,  ///< a replay has given all that it has
};

struct Failure {
  FailureKind kind = FailureKind::kTrouble;
  std::string message;  ///< one line, without the key
};

struct Exchange {
  std::expected<Reply, Failure> reply;
  Charge charge;
  int attempts = 0;     ///< requests sent; 0: none was
  int http_status = 0;  ///< of the last attempt; 0: none came
  double seconds = 0;   ///< from its turn to the end, waits between attempts included
};

/// A failure as the rest of the project sees it.
[[nodiscard]] Error to_error(const Failure& failure);

/// "system", "user", "assistant".
[[nodiscard]] const char* role_name(Role role);
[[nodiscard]] std::optional<Role> role_from(const std::string& name);
/// "budget", "no-text", …: stored in records.
[[nodiscard]] const char* kind_name(FailureKind kind);
[[nodiscard]] std::optional<FailureKind> kind_from(const std::string& name);

}  // namespace hone::llm
