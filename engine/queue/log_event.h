// What daemons log: an event with ids, written as one line of text or of JSON.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

namespace hone {

enum class LogLevel { kInfo, kWarning, kError };
[[nodiscard]] std::string_view to_string(LogLevel level);  ///< "info", …

struct LogEvent {
  LogLevel level = LogLevel::kInfo;
  std::string message;                        ///< for people
  std::string job, evaluation, worker, pool;  ///< ids; what is empty is left out
  std::string component;                      ///< "coordinator" or "worker": the daemon fills it in
  std::chrono::system_clock::time_point time = std::chrono::system_clock::now();
};

/// Takes events from any thread.
using Log = std::function<void(const LogEvent&)>;

/// `TIME level message key=value…` without a newline. A message or value that could be taken for
/// something else (control characters, quotes, `=`, in a value spaces) is quoted as in JSON.
[[nodiscard]] std::string text_line(const LogEvent& event);
/// One object, ASCII only, without a newline: time, level, component, message, and the ids.
[[nodiscard]] std::string json_line(const LogEvent& event);

}  // namespace hone
