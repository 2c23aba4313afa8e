// The protocol's JSON: the request's body, and a reply put together from one object or from a
// stream's chunks. All that a server sends is taken for hostile: depth and length are limited,
// every field is looked at before it is believed.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "rewriters/llm/client/endpoint.h"
#include "rewriters/llm/client/key.h"
#include "rewriters/llm/client/message.h"
#include "rewriters/llm/client/meter.h"

namespace hone::llm {

/// What some servers refuse; a 400 that names one is answered by leaving it out.
struct Dialect {
  bool response_format = true;
  bool stream_usage = true;            ///< "stream_options"
  bool max_completion_tokens = false;  ///< instead of "max_tokens"
  bool temperature = true;
};

/// Errors: kRequest, where a message is not UTF-8, or response_format not a JSON object.
[[nodiscard]] std::expected<std::string, Failure> request_body(const Request& request,
                                                               const Settings& settings,
                                                               std::int64_t max_output_tokens,
                                                               const Dialect& dialect);

/// JSON (RFC 8259) nested at most 64 deep. Errors: what is wrong, in a few words.
[[nodiscard]] std::expected<nlohmann::json, std::string> parse_json(std::string_view text);

/// The text of an error's body: its "error.message" or the like where it is JSON, else its
/// beginning. One line, scrubbed, in quotes; "" where there is none.
[[nodiscard]] std::string error_text(const Key& key, std::string_view body);

class ReplyBuilder {
 public:
  ReplyBuilder(const Key& key, std::size_t most_text) : key_(key), most_text_(most_text) {}

  /// A whole reply, or one event of a stream. False: failure() says why, and no more is to be read.
  [[nodiscard]] bool add_whole(std::string_view json);
  [[nodiscard]] bool add_event(std::string_view data);
  /// "[DONE]" came: nothing that follows counts.
  [[nodiscard]] bool done() const { return done_; }
  /// The server has said that the text is complete.
  [[nodiscard]] bool complete() const { return done_ || !finish_reason_.empty(); }
  [[nodiscard]] bool begun() const { return begun_; }

  /// Text, finish reason and model; or why there is none. Usage and notes are the caller's to fill.
  [[nodiscard]] std::expected<Reply, Failure> reply() const;
  /// Nothing of a reply that is not complete.
  [[nodiscard]] StatedUsage usage() const { return complete() ? usage_ : StatedUsage{}; }
  [[nodiscard]] const std::optional<Failure>& failure() const { return failure_; }

 private:
  [[nodiscard]] std::optional<nlohmann::json> read(std::string_view json, const char* what);
  void add_object(const nlohmann::json& object, const char* message_name);
  void add_choices(const nlohmann::json& choices, const char* message_name);
  void add_message(const nlohmann::json& message);
  void add_text(std::string_view piece);
  void add_usage(const nlohmann::json& usage);
  bool fail(FailureKind kind, std::string message);

  const Key& key_;
  std::size_t most_text_;
  std::string text_, refusal_, finish_reason_, model_;
  bool begun_ = false, done_ = false, tool_call_ = false, thought_ = false;
  StatedUsage usage_;
  std::optional<Failure> failure_;
};

}  // namespace hone::llm
