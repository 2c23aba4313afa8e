// Reads a JSON value with the place of every mistake. For any room that reads what others wrote.
// A JsonCursor is a value plus its path ("$.launches[0].args[2]"). All cursors of one reading share
// one error slot: the first mistake is kept, later reads return neutral values, and the caller
// looks at the slot once at the end. The cursor borrows the JSON: keep it alive.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "candidates/expr.h"
#include "candidates/result.h"

namespace hone {

struct JsonError {
  std::string path;     ///< "$.sizes.M"
  std::string message;  ///< what is wrong; what would be right
  bool at_key = false;  ///< the key is wrong rather than its value
};

/// "$.a", "$.a[2]", "$['odd key']".
[[nodiscard]] std::string child_path(std::string_view parent, std::string_view key);
[[nodiscard]] std::string child_path(std::string_view parent, std::size_t index);

/// "; did you mean 'K'?" when a candidate is near enough, else "".
[[nodiscard]] std::string suggestion(std::string_view word,
                                     std::span<const std::string> candidates);

/// "A, B, C"; long lists are cut.
[[nodiscard]] std::string join_names(std::span<const std::string> names);

/// Text made fit for a one-line message: control characters replaced, long text cut.
[[nodiscard]] std::string printable(std::string_view text);

class JsonCursor {
 public:
  JsonCursor(const nlohmann::json& value, std::string path, std::optional<JsonError>& error)
      : value_(&value), path_(std::move(path)), error_(&error) {}

  [[nodiscard]] const nlohmann::json& value() const { return *value_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] bool ok() const { return !error_->has_value(); }
  void fail(std::string message) const;
  void fail_at_key(std::string message) const;
  void fail_at_path(std::string path, std::string message) const;  ///< elsewhere in the same JSON
  /// fail() with the type that was found: "must be a string, found a number".
  void fail_type(std::string_view wanted) const;

  /// False, with the error set, unless this is an object with no other keys than these.
  bool expect_keys(std::span<const std::string_view> known) const;
  bool expect_keys(std::initializer_list<std::string_view> known) const {
    return expect_keys(std::span(known.begin(), known.size()));
  }
  [[nodiscard]] JsonCursor at(std::string_view key) const;  ///< missing: an error, null value
  [[nodiscard]] std::optional<JsonCursor> find(std::string_view key) const;
  [[nodiscard]] std::vector<JsonCursor> elements() const;  ///< not an array: an error, empty
  [[nodiscard]] std::vector<JsonCursor> elements_up_to(std::size_t most) const;
  [[nodiscard]] std::vector<std::pair<std::string, JsonCursor>> members() const;

  [[nodiscard]] std::string string() const;
  [[nodiscard]] std::string string_up_to(std::size_t most) const;  // [B]
  [[nodiscard]] std::int64_t integer() const;
  [[nodiscard]] std::int64_t integer_in(std::int64_t low, std::int64_t high) const;
  [[nodiscard]] std::uint64_t unsigned_integer() const;  ///< of 64 bits
  [[nodiscard]] double number() const;                   ///< finite
  [[nodiscard]] double number_in(double low, double high) const;
  [[nodiscard]] bool boolean() const;
  [[nodiscard]] Expr expr() const;  ///< an integer or an expression string

  template <class Enum, class Parse>
  [[nodiscard]] Enum choice(Parse parse, std::string_view names) const {
    const std::string text = string();
    const std::optional<Enum> parsed = parse(text);
    if (!parsed && ok()) fail_choice(text, names);
    return parsed.value_or(Enum{});
  }

 private:
  void fail_choice(std::string_view text, std::string_view names) const;

  const nlohmann::json* value_;
  std::string path_;
  std::optional<JsonError>* error_;
};

/// Runs `read(cursor at "$")`; the first mistake becomes a kInvalidInput Error "$.path: message".
template <class T, class Read>
Result<T> decode(const nlohmann::json& json, Read read) {
  std::optional<JsonError> error;
  T value = read(JsonCursor(json, "$", error));
  if (error) return invalid(error->path + ": " + error->message);
  return value;
}

}  // namespace hone
