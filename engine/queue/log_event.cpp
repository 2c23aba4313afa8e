#include "engine/queue/log_event.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

namespace hone {
namespace {

using Json = nlohmann::ordered_json;
constexpr auto kReplace = Json::error_handler_t::replace;

std::string time_of(const LogEvent& event) {
  using std::chrono::floor;
  const auto second = floor<std::chrono::seconds>(event.time);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", second,
                     floor<std::chrono::milliseconds>(event.time - second).count());
}

/// A JSON string, in which nothing is left that a terminal obeys.
std::string quoted(const std::string& text) {
  const std::string json = Json(text).dump(-1, ' ', false, kReplace);
  std::string out;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const auto byte = [&](std::size_t k) {
      return i + k < json.size() ? static_cast<unsigned char>(json[i + k]) : 0U;
    };
    const unsigned a = byte(0), b = byte(1), c = byte(2);
    const bool c1 = a == 0xC2 && b < 0xA0;
    const unsigned code = (a & 0x0FU) << 12 | (b & 0x3FU) << 6 | (c & 0x3FU);
    // Line separators, and what changes the direction of writing.
    const bool turns =
        a == 0xE2 && (code == 0x200E || code == 0x200F || (code >= 0x2028 && code <= 0x202E) ||
                      (code >= 0x2066 && code <= 0x2069));
    if (a == 0x7F) {
      out += "\\u007f";
    } else if (c1) {
      out += fmt::format("\\u{:04x}", b);
      i += 1;
    } else if (turns) {
      out += fmt::format("\\u{:04x}", code);
      i += 2;
    } else {
      out += json[i];
    }
  }
  return out;
}

/// As it is where that is safe, quoted where it is not.
std::string shown(const std::string& text, std::string_view also_unsafe) {
  std::string safe = quoted(text);
  const bool plain = !text.empty() && std::string_view(safe).substr(1, safe.size() - 2) == text &&
                     text.find_first_of(also_unsafe) == text.npos;
  return plain ? text : safe;
}

template <class Function>
void for_each_id(const LogEvent& event, const Function& function) {
  const std::pair<const char*, const std::string&> fields[] = {{"job", event.job},
                                                               {"evaluation", event.evaluation},
                                                               {"worker", event.worker},
                                                               {"pool", event.pool}};
  for (const auto& [key, value] : fields)
    if (!value.empty()) function(key, value);
}

std::string text_of(const LogField& field) {
  if (const auto* text = std::get_if<std::string>(&field.value)) return *text;
  if (const auto* whole = std::get_if<std::int64_t>(&field.value)) return fmt::format("{}", *whole);
  return fmt::format("{:.6g}", std::get<double>(field.value));
}

}  // namespace

std::string_view to_string(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarning:
      return "warning";
    case LogLevel::kError:
      break;
  }
  return "error";
}

std::optional<LogLevel> parse_log_level(std::string_view name) {
  for (const LogLevel level :
       {LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarning, LogLevel::kError})
    if (name == to_string(level)) return level;
  return std::nullopt;
}

std::string text_line(const LogEvent& event) {
  std::string line =
      fmt::format("{} {} {}", time_of(event), to_string(event.level), shown(event.message, "="));
  const auto add = [&](const char* key, const std::string& value) {
    line += fmt::format(" {}={}", key, shown(value, "= "));
  };
  if (!event.component.empty()) add("component", event.component);
  for_each_id(event, add);
  for (const LogField& field : event.fields) add(field.name.c_str(), text_of(field));
  if (!event.event.empty()) add("event", event.event);
  return line;
}

std::string json_line(const LogEvent& event) {
  Json line = {{"time", time_of(event)},
               {"level", to_string(event.level)},
               {"component", event.component},
               {"event", event.event},
               {"message", event.message}};
  for_each_id(event, [&](const char* key, const std::string& value) { line[key] = value; });
  for (const LogField& field : event.fields)
    if (!line.contains(field.name))
      std::visit([&](const auto& value) { line[field.name] = value; }, field.value);
  return line.dump(-1, ' ', true, kReplace);
}

}  // namespace hone
