#include "engine/queue/redis_reply.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace hone {
namespace {

constexpr std::size_t kShown = 120;  // [B] of a reply in a message

/// One line of printable characters.
std::string shown(std::string_view text) {
  std::string out(text.substr(0, kShown));
  for (char& c : out)
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = '?';
  if (text.size() > kShown) out += "…";
  return out;
}

struct Meaning {
  std::string_view code;
  ErrorCode error;
  std::string_view hint;
};
constexpr std::array kMeanings = {
    Meaning{"NOPERM", ErrorCode::kEnvironment, "give its user the right (ACL SETUSER)"},
    Meaning{"NOAUTH", ErrorCode::kEnvironment,
            "put user and password into the URL, or the password into HONE_REDIS_PASSWORD"},
    Meaning{"WRONGPASS", ErrorCode::kEnvironment,
            "check the user and password in the URL, or HONE_REDIS_PASSWORD"},
    Meaning{"DENIED", ErrorCode::kEnvironment, "set a password on the server"},
    Meaning{"READONLY", ErrorCode::kEnvironment, "this is a replica: give its master's address"},
    Meaning{"OOM", ErrorCode::kEnvironment, "free memory on the server or raise its maxmemory"},
    Meaning{"MISCONF", ErrorCode::kEnvironment, "the server cannot write its disk: see its log"},
    Meaning{"NOREPLICAS", ErrorCode::kEnvironment, "the server lacks the replicas it asks for"},
    Meaning{"LOADING", ErrorCode::kInfrastructure, ""},
    Meaning{"BUSY", ErrorCode::kInfrastructure, ""},
    Meaning{"MASTERDOWN", ErrorCode::kInfrastructure, ""},
    Meaning{"TRYAGAIN", ErrorCode::kInfrastructure, ""},
    Meaning{"UNBLOCKED", ErrorCode::kInfrastructure, ""},
};

}  // namespace

RedisReply RedisReply::integer(std::int64_t value) {
  RedisReply reply;
  reply.value_ = value;
  return reply;
}
RedisReply RedisReply::string(std::string bytes) {
  RedisReply reply;
  reply.value_ = std::move(bytes);
  return reply;
}
RedisReply RedisReply::status(std::string text) {
  RedisReply reply;
  reply.value_ = Status{std::move(text)};
  return reply;
}
RedisReply RedisReply::array(Array elements) {
  RedisReply reply;
  reply.value_ = std::move(elements);
  return reply;
}
RedisReply RedisReply::error(std::string text) {
  RedisReply reply;
  reply.value_ = ErrorText{std::move(text)};
  return reply;
}

bool RedisReply::is_string() const {
  return std::holds_alternative<std::string>(value_) || std::holds_alternative<Status>(value_);
}
bool RedisReply::is_ok() const {
  const auto* status = std::get_if<Status>(&value_);
  return status != nullptr && status->text == "OK";
}

Result<std::int64_t> RedisReply::as_integer() const {
  if (const auto* value = std::get_if<std::int64_t>(&value_)) return *value;
  return std::unexpected(unexpected_shape("an integer"));
}
Result<std::string_view> RedisReply::as_string() const {
  if (const auto* bytes = std::get_if<std::string>(&value_)) return *bytes;
  if (const auto* status = std::get_if<Status>(&value_)) return status->text;
  return std::unexpected(unexpected_shape("a string"));
}
Result<std::span<const RedisReply>> RedisReply::as_array() const {
  if (const auto* elements = std::get_if<Array>(&value_)) return std::span(*elements);
  return std::unexpected(unexpected_shape("an array"));
}
Result<const RedisReply*> RedisReply::at(std::size_t index) const {
  const auto elements = as_array();
  if (!elements) return std::unexpected(elements.error());
  if (index < elements->size()) return &(*elements)[index];
  return std::unexpected(unexpected_shape(fmt::format("an array of at least {}", index + 1)));
}

std::string_view RedisReply::error_text() const {
  const auto* error = std::get_if<ErrorText>(&value_);
  return error == nullptr ? std::string_view() : error->text;
}
std::string_view RedisReply::error_code() const {
  const std::string_view text = error_text();
  return text.substr(0, text.find(' '));
}

Error RedisReply::as_error(std::string_view what) const {
  const auto* meaning = std::ranges::find(kMeanings, error_code(), &Meaning::code);
  std::string message = fmt::format("{}: Redis says \"{}\"", what, shown(error_text()));
  if (meaning == kMeanings.end()) return {ErrorCode::kInternal, std::move(message)};
  if (!meaning->hint.empty()) message += fmt::format("; {}", meaning->hint);
  return {meaning->error, std::move(message)};
}

Error RedisReply::unexpected_shape(std::string_view expected) const {
  if (is_error())
    return as_error(fmt::format("no {} but a refusal", expected.substr(expected.find(' ') + 1)));
  return {ErrorCode::kInternal,
          fmt::format("Redis answered {} where {} was expected", describe(), expected)};
}

std::string RedisReply::describe() const {
  if (is_nil()) return "nil";
  if (const auto* value = std::get_if<std::int64_t>(&value_))
    return fmt::format("the integer {}", *value);
  if (const auto* elements = std::get_if<Array>(&value_))
    return fmt::format("an array of {}", elements->size());
  if (is_error()) return fmt::format("the error \"{}\"", shown(error_text()));
  return fmt::format("\"{}\"", shown(*as_string()));
}

}  // namespace hone
