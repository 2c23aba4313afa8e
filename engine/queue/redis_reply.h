// What Redis answers, as a value. The accessors check: an answer of another shape, or an error
// reply where a value was expected, becomes an Error that says so.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "candidates/result.h"

namespace hone {

class RedisReply {
 public:
  using Array = std::vector<RedisReply>;

  RedisReply() = default;  ///< nil
  [[nodiscard]] static RedisReply integer(std::int64_t value);
  [[nodiscard]] static RedisReply string(std::string bytes);
  [[nodiscard]] static RedisReply status(std::string text);  ///< a simple string, such as OK
  [[nodiscard]] static RedisReply array(Array elements);
  [[nodiscard]] static RedisReply error(std::string text);  ///< without the '-': "ERR no such key"

  [[nodiscard]] bool is_nil() const { return std::holds_alternative<std::monostate>(value_); }
  [[nodiscard]] bool is_integer() const { return std::holds_alternative<std::int64_t>(value_); }
  [[nodiscard]] bool is_string() const;  ///< a string or a status
  [[nodiscard]] bool is_array() const { return std::holds_alternative<Array>(value_); }
  [[nodiscard]] bool is_error() const { return std::holds_alternative<ErrorText>(value_); }
  [[nodiscard]] bool is_ok() const;  ///< the status OK

  /// Views last as long as this reply. Errors: those of as_error() for an error reply; kInternal
  /// for another shape.
  [[nodiscard]] Result<std::int64_t> as_integer() const;
  [[nodiscard]] Result<std::string_view> as_string() const;  ///< binary safe
  [[nodiscard]] Result<std::span<const RedisReply>> as_array() const;
  /// The element at `index` of an array. It lasts as long as this reply.
  [[nodiscard]] Result<const RedisReply*> at(std::size_t index) const;

  /// An error reply's text and its first word (NOPERM, LOADING, …); empty for other replies.
  [[nodiscard]] std::string_view error_text() const;
  [[nodiscard]] std::string_view error_code() const;

  /// An error reply as an Error: kEnvironment where the server or its administrator says no
  /// (NOPERM, NOAUTH, READONLY, OOM, MISCONF, …), kInfrastructure where it may say yes later
  /// (LOADING, BUSY, …), else kInternal: we asked wrongly. `what` is what was tried: "cannot add
  /// work".
  [[nodiscard]] Error as_error(std::string_view what) const;

  /// For messages: the kind and, of a string or error, its first bytes.
  [[nodiscard]] std::string describe() const;

  /// For the parser: a reference to the elements of an array. Precondition: is_array().
  [[nodiscard]] Array& elements() { return std::get<Array>(value_); }

 private:
  struct Status {
    std::string text;
  };
  struct ErrorText {
    std::string text;
  };
  [[nodiscard]] Error unexpected_shape(std::string_view expected) const;

  std::variant<std::monostate, std::int64_t, std::string, Status, ErrorText, Array> value_;
};

}  // namespace hone
