// What the readers and writers of the messages share. Private to engine/queue.
#pragma once

#include <initializer_list>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "candidates/json_cursor.h"
#include "candidates/program.h"
#include "engine/queue/messages.h"
#include "engine/search/settings.h"

namespace hone::queue::detail {

using Json = nlohmann::json;

inline constexpr std::size_t kMaxLine = 256;        // of a name for a person [B]
inline constexpr std::size_t kMaxText = 8192;       // of a text for a person [B]
inline constexpr std::size_t kMaxChecks = 64;       // that a task lists
inline constexpr std::size_t kMaxCases = 192;       // of one evaluation, as a runner takes
inline constexpr std::size_t kMaxBuffers = 256;     // of one program
inline constexpr std::size_t kMaxRank = 8;          // of a buffer's shape
inline constexpr std::size_t kMaxLaunches = 256;    // of one program
inline constexpr std::size_t kMaxArguments = 1024;  // of one launch
inline constexpr std::size_t kMaxDefines = 256;     // of one program
inline constexpr std::size_t kMaxDefine = 1024;     // of a value [B]
inline constexpr double kMaxDuration = 1e12;        // [us] or [s]
inline constexpr double kLargestTolerance = 1e30;

[[nodiscard]] std::unexpected<Error> refuse(std::string_view type, std::string_view why);
[[nodiscard]] std::unexpected<Error> refuse(std::string_view type, const JsonError& error);

/// The message as JSON, of this version and type.
[[nodiscard]] Result<Json> open(std::string_view type, std::string_view bytes);
/// With version and type.
[[nodiscard]] std::string seal(std::string_view type, Json json);

/// Runs `read(cursor at the message)`.
template <class T>
Result<T> decode_as(std::string_view type, std::string_view bytes, T (*read)(const JsonCursor&)) {
  const auto json = open(type, bytes);
  if (!json) return std::unexpected(json.error());
  std::optional<JsonError> error;
  T value = read(JsonCursor(*json, "$", error));
  if (error) return refuse(type, *error);
  return value;
}

/// Reads what it has written before it goes out: so one set of rules holds for both sides.
template <class T>
Result<std::string> encode_as(std::string_view type, Json json, T (*read)(const JsonCursor&)) {
  std::string bytes = seal(type, std::move(json));
  if (const auto valid = decode_as(type, bytes, read); !valid)
    return std::unexpected(valid.error());
  return bytes;
}

/// What another reader made of the value at `cursor`, its mistake placed in the message.
template <class T>
T nested(const JsonCursor& cursor, Result<T> read) {
  if (read) return std::move(*read);
  const std::string& text = read.error().message;  // "$.path: what is wrong"
  const std::size_t colon = text.find(": ");
  if (text.starts_with('$') && colon != std::string::npos) {
    cursor.fail_at_path(cursor.path() + text.substr(1, colon - 1), text.substr(colon + 2));
  } else {
    cursor.fail(text);
  }
  return T{};
}

/// Besides "v" and "type".
void expect_fields(const JsonCursor& root, std::span<const std::string_view> fields);
inline void expect_fields(const JsonCursor& root, std::initializer_list<std::string_view> fields) {
  expect_fields(root, std::span(fields.begin(), fields.size()));
}

[[nodiscard]] std::string read_id(const JsonCursor& cursor);
/// Each once.
[[nodiscard]] std::vector<std::string> read_ids(const JsonCursor& cursor, std::size_t most);
/// For a person: cleaned.
[[nodiscard]] std::string read_text(const JsonCursor& cursor, std::size_t most);
/// As it is.
[[nodiscard]] std::string read_source(const JsonCursor& cursor);
[[nodiscard]] std::int64_t read_count(const JsonCursor& cursor);  ///< 0 to 2^53
[[nodiscard]] double read_duration(const JsonCursor& cursor);

/// A field of a job's message for each option of a search.
void write_settings(const SearchSettings& settings, Json& message);
[[nodiscard]] SearchSettings read_settings(const JsonCursor& root);

/// What Program and ConcreteProgram have in common.
void check_defines(const JsonCursor& cursor, const std::map<std::string, std::string>& defines);
void check_fill(const JsonCursor& cursor, const Fill& fill);
[[nodiscard]] bool is_range(Fill::Kind kind);  ///< from `a` to `b`

}  // namespace hone::queue::detail
