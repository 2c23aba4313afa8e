#include "rewriters/llm/client/wire.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "rewriters/llm/client/scrubber.h"

namespace hone::llm {
namespace {

using Json = nlohmann::json;

constexpr int kDeepest = 64;

/// Whether brackets outside strings nest too deep. Right for valid JSON; the parser sees to the
/// rest.
bool too_deep(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kDeepest) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

const Json* find(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::string_view string_at(const Json& object, const char* key) {
  const Json* const value = find(object, key);
  if (value == nullptr || !value->is_string()) return "";
  return value->get_ref<const std::string&>();
}

/// Of one that is not negative; larger ones count as the largest.
std::optional<std::int64_t> count_at(const Json& object, const char* key) {
  const Json* const value = find(object, key);
  if (value == nullptr || !value->is_number_unsigned()) return std::nullopt;
  constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::min(value->get<std::uint64_t>(), most));
}

/// {"error": {"message": …}}, {"error": "…"}, {"message": …}, {"detail": …}, or "".
std::string_view message_in(const Json& body) {
  if (const Json* const error = find(body, "error")) {
    if (error->is_string()) return error->get_ref<const std::string&>();
    if (const auto text = string_at(*error, "message"); !text.empty()) return text;
  }
  for (const char* key : {"message", "detail"})
    if (const auto text = string_at(body, key); !text.empty()) return text;
  return "";
}

Failure bad_request(std::string message) { return {FailureKind::kRequest, std::move(message)}; }

}  // namespace

std::expected<std::string, Failure> request_body(const Request& request, const Settings& settings,
                                                 std::int64_t max_output_tokens,
                                                 const Dialect& dialect) {
  Json body;
  body["model"] = settings.model;
  body["messages"] = Json::array();
  for (const Message& message : request.messages)
    body["messages"].push_back({{"role", role_name(message.role)}, {"content", message.text}});
  body[dialect.max_completion_tokens ? "max_completion_tokens" : "max_tokens"] = max_output_tokens;
  if (settings.temperature && dialect.temperature) body["temperature"] = *settings.temperature;
  body["stream"] = settings.stream;
  if (settings.stream && dialect.stream_usage) body["stream_options"] = {{"include_usage", true}};
  if (!request.response_format.empty()) {
    auto format = parse_json(request.response_format);
    if (!format || !format->is_object())
      return std::unexpected(bad_request("the request's response_format is not a JSON object"));
    if (dialect.response_format) body["response_format"] = std::move(*format);
  }
  try {
    return body.dump();
  } catch (const Json::exception&) {
    return std::unexpected(bad_request("a message of the request is not UTF-8"));
  }
}

std::expected<Json, std::string> parse_json(std::string_view text) {
  if (too_deep(text)) return std::unexpected(fmt::format("nested more than {} deep", kDeepest));
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& e) {
    // The parser's own message repeats the text.
    return std::unexpected(e.byte > text.size() ? std::string("it ends in the middle")
                                                : fmt::format("wrong at byte {}", e.byte));
  } catch (const Json::exception&) {
    return std::unexpected("a number out of range");
  }
}

std::string error_text(const Key& key, std::string_view body) {
  const auto json = parse_json(body);
  std::string_view text = json ? message_in(*json) : "";
  if (text.empty()) text = body;
  const std::string line = one_line(key, text.substr(0, 16'384));
  return line.empty() ? "" : fmt::format("\"{}\"", line);
}

bool ReplyBuilder::fail(FailureKind kind, std::string message) {
  if (!failure_) failure_ = Failure{kind, std::move(message)};
  return false;
}

std::optional<Json> ReplyBuilder::read(std::string_view text, const char* what) {
  auto json = parse_json(text);
  if (json && json->is_object()) return std::move(*json);
  fail(FailureKind::kBadReply,
       fmt::format("{} is not {}: {}", what, json ? "a JSON object" : "JSON",
                   json ? fmt::format("a JSON {}", json->type_name()) : json.error()));
  return std::nullopt;
}

bool ReplyBuilder::add_whole(std::string_view text) {
  begun_ = true;
  const auto json = read(text, "the reply");
  if (!json) return false;
  add_object(*json, "message");
  if (!failure_ && find(*json, "choices") == nullptr)
    return fail(FailureKind::kBadReply, "the reply has no \"choices\"");
  done_ = !failure_;
  return done_;
}

bool ReplyBuilder::add_event(std::string_view data) {
  if (done_) return true;
  if (data == "[DONE]") {
    done_ = true;
    return true;
  }
  begun_ = true;
  const auto json = read(data, "an event of the stream");
  if (json) add_object(*json, "delta");
  return !failure_;
}

void ReplyBuilder::add_object(const Json& object, const char* message_name) {
  if (model_.empty()) model_ = one_line(key_, string_at(object, "model"), 256);
  if (find(object, "error") != nullptr) {
    const std::string text = one_line(key_, message_in(object));
    fail(FailureKind::kTrouble, fmt::format("the server says \"{}\"", text));
    return;
  }
  if (const Json* const choices = find(object, "choices")) add_choices(*choices, message_name);
  if (const Json* const usage = find(object, "usage")) add_usage(*usage);
}

void ReplyBuilder::add_choices(const Json& choices, const char* message_name) {
  if (!choices.is_array()) {
    fail(FailureKind::kBadReply, "\"choices\" is not an array");
    return;
  }
  for (const Json& choice : choices) {
    // We ask for one; of more, the first.
    if (count_at(choice, "index").value_or(0) != 0) continue;
    const Json* message = find(choice, message_name);
    if (message == nullptr && text_.empty()) message = find(choice, "message");
    if (message != nullptr) add_message(*message);
    if (const auto reason = string_at(choice, "finish_reason"); !reason.empty())
      finish_reason_ = one_line(key_, reason, 40);
    if (message_name == std::string_view("message")) break;
  }
}

void ReplyBuilder::add_message(const Json& message) {
  if (!message.is_object()) {
    fail(FailureKind::kBadReply, "a message is not an object");
    return;
  }
  if (const Json* const calls = find(message, "tool_calls"))
    tool_call_ = tool_call_ || !calls->is_array() || !calls->empty();
  if (find(message, "function_call") != nullptr) tool_call_ = true;
  if (refusal_.size() < 1024) refusal_ += string_at(message, "refusal").substr(0, 1024);
  for (const char* key : {"reasoning_content", "reasoning"})
    if (!string_at(message, key).empty()) {
      thought_ = true;
      usage_ = {};
    }
  const Json* const content = find(message, "content");
  if (content == nullptr) return;
  if (content->is_string()) {
    add_text(content->get_ref<const std::string&>());
  } else if (content->is_array()) {
    for (const Json& part : *content) add_text(string_at(part, "text"));
  } else {
    fail(FailureKind::kBadReply, "\"content\" is not a string");
  }
}

void ReplyBuilder::add_text(std::string_view piece) {
  if (text_.size() + piece.size() > most_text_) {
    fail(FailureKind::kBadReply, fmt::format("the reply is longer than {} bytes", most_text_));
    return;
  }
  text_ += piece;
  if (!piece.empty()) usage_ = {};
}

/// The last one counts, where nothing is said after it: some servers repeat a growing one, or begin
/// with zeros.
void ReplyBuilder::add_usage(const Json& usage) {
  const auto input = count_at(usage, "prompt_tokens");
  auto output = count_at(usage, "completion_tokens");
  // Some count what was thought in the total only.
  const auto total = count_at(usage, "total_tokens");
  if (input && output && total && *total > *input) output = std::max(*output, *total - *input);
  if (input) usage_.input_tokens = input;
  if (output) usage_.output_tokens = output;
}

std::expected<Reply, Failure> ReplyBuilder::reply() const {
  const auto no_text = [](std::string message) {
    return std::unexpected(Failure{FailureKind::kNoText, std::move(message)});
  };
  if (failure_) return std::unexpected(*failure_);
  if (!refusal_.empty())
    return no_text(fmt::format("the model refuses: \"{}\"", one_line(key_, refusal_)));
  if (tool_call_ || finish_reason_ == "tool_calls" || finish_reason_ == "function_call")
    return no_text("the model calls a tool, and it was given none");
  if (finish_reason_ == "content_filter") return no_text("the server's content filter stopped it");
  if (text_.find_first_not_of(" \t\r\n") == text_.npos && finish_reason_ == "length")
    return no_text(thought_ ? "the model thought until the token limit and said nothing; allow "
                              "more output tokens"
                            : "the token limit came before any text; allow more output tokens");
  if (text_.find_first_not_of(" \t\r\n") == text_.npos) return no_text("the reply is empty");
  if (text_.find('\0') != text_.npos)
    return std::unexpected(Failure{FailureKind::kBadReply, "the reply has a NUL byte in it"});
  Reply made;
  made.text = scrubbed(key_, text_);
  made.finish_reason = finish_reason_;
  made.model = model_;
  return made;
}

}  // namespace hone::llm
