// What daemons log: an event with a stable name, its numbers and ids, written as one line of text
// or of JSON. engine/service/LOGS.md lists the names; a test compares it with the sources.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace hone {

enum class LogLevel { kDebug, kInfo, kWarning, kError };
[[nodiscard]] std::string_view to_string(LogLevel level);  ///< "info", …
/// Empty: there is no such level.
[[nodiscard]] std::optional<LogLevel> parse_log_level(std::string_view name);

/// A number or a name that a program is to find without reading the message. Its own name is in
/// snake_case and ends in its unit: "seconds", "search_s".
struct LogField {
  LogField(std::string name, std::integral auto value)
      : name(std::move(name)), value(static_cast<std::int64_t>(value)) {}
  LogField(std::string name, double value) : name(std::move(name)), value(value) {}
  LogField(std::string name, std::string value) : name(std::move(name)), value(std::move(value)) {}
  std::string name;
  std::variant<std::int64_t, double, std::string> value;
};

struct LogEvent {
  LogLevel level = LogLevel::kInfo;
  std::string event;    ///< what happened, for programs: "leading"; stays as it is between versions
  std::string message;  ///< for people
  std::string job, evaluation, worker, pool;  ///< ids; what is empty is left out
  std::vector<LogField> fields;
  std::string component;  ///< "coordinator" or "worker": the daemon fills it in
  std::chrono::system_clock::time_point time = std::chrono::system_clock::now();
};

/// Takes events from any thread.
using Log = std::function<void(const LogEvent&)>;

/// `TIME level message key=value… event=NAME` without a newline. A message or value that could be
/// taken for something else (control characters, quotes, `=`, in a value spaces) is quoted as in
/// JSON.
[[nodiscard]] std::string text_line(const LogEvent& event);
/// One object, ASCII only, without a newline: time, level, component, event, message, ids and
/// fields; a field that has the name of one of these is left out.
[[nodiscard]] std::string json_line(const LogEvent& event);

}  // namespace hone
