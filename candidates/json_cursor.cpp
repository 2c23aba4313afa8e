#include "candidates/json_cursor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace hone {
namespace {

const nlohmann::json kNull;

bool is_identifier(std::string_view text) {
  if (text.empty() || (text[0] >= '0' && text[0] <= '9')) return false;
  return std::ranges::all_of(text, [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  });
}

std::string_view describe(const nlohmann::json& value) {
  switch (value.type()) {
    case nlohmann::json::value_t::null:
      return "null";
    case nlohmann::json::value_t::object:
      return "an object";
    case nlohmann::json::value_t::array:
      return "a list";
    case nlohmann::json::value_t::string:
      return "a string";
    case nlohmann::json::value_t::boolean:
      return "true or false";
    case nlohmann::json::value_t::number_float:
      return "a number with a fraction or exponent";
    case nlohmann::json::value_t::number_integer:
    case nlohmann::json::value_t::number_unsigned:
      return "an integer";
    default:
      return "something else";
  }
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Edit distance with adjacent swaps; a difference in case alone counts half.
double distance(std::string_view a, std::string_view b) {
  std::vector<double> before(b.size() + 1), previous(b.size() + 1), current(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) previous[j] = static_cast<double>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    current[0] = static_cast<double>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const char x = a[i - 1], y = b[j - 1];
      const double change = x == y ? 0.0 : lower(x) == lower(y) ? 0.5 : 1.0;
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, previous[j - 1] + change});
      if (i > 1 && j > 1 && x == b[j - 2] && a[i - 2] == y) {
        current[j] = std::min(current[j], before[j - 2] + 1);
      }
    }
    before = std::exchange(previous, current);
  }
  return previous[b.size()];
}

}  // namespace

std::string child_path(std::string_view parent, std::string_view key) {
  if (is_identifier(key)) return fmt::format("{}.{}", parent, key);
  return fmt::format("{}['{}']", parent, printable(key));
}

std::string child_path(std::string_view parent, std::size_t index) {
  return fmt::format("{}[{}]", parent, index);
}

std::string printable(std::string_view text) {
  constexpr std::size_t kLongest = 120;
  std::string out;
  for (const char c : text) {
    if (out.size() >= kLongest) {
      while (!out.empty() && (static_cast<unsigned char>(out.back()) & 0xC0) == 0x80)
        out.pop_back();
      if (!out.empty() && static_cast<unsigned char>(out.back()) >= 0xC0) out.pop_back();
      return out + "...";
    }
    const auto byte = static_cast<unsigned char>(c);
    out += byte < 0x20 || byte == 0x7F ? '?' : c;
  }
  return out;
}

std::string suggestion(std::string_view word, std::span<const std::string> candidates) {
  if (word.size() > 100) return "";
  const std::string* best = nullptr;
  double best_distance = std::max<double>(1.0, static_cast<double>(word.size()) / 3.0) + 0.25;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > 100) continue;
    const double d = distance(word, candidate);
    // A one-letter name is "near" every other: only a change of case or one more letter counts.
    if (d >= static_cast<double>(std::max(word.size(), candidate.size()))) continue;
    if (d < best_distance) {
      best_distance = d;
      best = &candidate;
    }
  }
  return best == nullptr ? "" : fmt::format("; did you mean '{}'?", *best);
}

std::string join_names(std::span<const std::string> names) {
  constexpr std::size_t kMost = 20;
  std::string out;
  for (std::size_t i = 0; i < names.size() && i < kMost; ++i) {
    out += i == 0 ? "" : ", ";
    out += printable(names[i]);
  }
  if (names.size() > kMost) out += fmt::format(" and {} more", names.size() - kMost);
  return out;
}

void JsonCursor::fail(std::string message) const {
  if (!*error_) *error_ = JsonError{path_, std::move(message), false};
}

void JsonCursor::fail_at_key(std::string message) const {
  if (!*error_) *error_ = JsonError{path_, std::move(message), true};
}

void JsonCursor::fail_at_path(std::string path, std::string message) const {
  if (!*error_) *error_ = JsonError{std::move(path), std::move(message), false};
}

void JsonCursor::fail_choice(std::string_view text, std::string_view names) const {
  fail(fmt::format("'{}' is not one of {}", printable(text), names));
}

void JsonCursor::fail_type(std::string_view wanted) const {
  fail(fmt::format("must be {}, found {}", wanted, describe(*value_)));
}

bool JsonCursor::expect_keys(std::span<const std::string_view> known) const {
  if (!value_->is_object()) {
    fail_type("an object");
    return false;
  }
  const std::vector<std::string> names(known.begin(), known.end());
  for (const auto& item : value_->items()) {
    if (std::ranges::find(names, item.key()) != names.end()) continue;
    JsonCursor(item.value(), child_path(path_, item.key()), *error_)
        .fail_at_key(fmt::format(
            "unknown key '{}'{} Known keys are {}.", printable(item.key()),
            [&] {
              const std::string hint = suggestion(item.key(), names);
              return hint.empty() ? std::string(".") : hint;
            }(),
            join_names(names)));
    return false;
  }
  return ok();
}

JsonCursor JsonCursor::at(std::string_view key) const {
  if (auto found = find(key)) return *found;
  if (value_->is_object()) {
    fail(fmt::format("\"{}\" is missing", key));
  } else {
    fail_type("an object");
  }
  return {kNull, child_path(path_, key), *error_};
}

std::optional<JsonCursor> JsonCursor::find(std::string_view key) const {
  if (!value_->is_object()) return std::nullopt;
  const auto found = value_->find(key);
  if (found == value_->end()) return std::nullopt;
  return JsonCursor(*found, child_path(path_, key), *error_);
}

std::vector<JsonCursor> JsonCursor::elements() const {
  std::vector<JsonCursor> cursors;
  if (!value_->is_array()) {
    fail_type("a list");
    return cursors;
  }
  cursors.reserve(value_->size());
  for (std::size_t i = 0; i < value_->size(); ++i) {
    cursors.emplace_back((*value_)[i], child_path(path_, i), *error_);
  }
  return cursors;
}

std::vector<JsonCursor> JsonCursor::elements_up_to(std::size_t most) const {
  if (value_->is_array() && value_->size() > most) {
    fail(fmt::format("has {} entries; at most {} are accepted", value_->size(), most));
    return {};
  }
  return elements();
}

std::vector<std::pair<std::string, JsonCursor>> JsonCursor::members() const {
  std::vector<std::pair<std::string, JsonCursor>> cursors;
  if (!value_->is_object()) {
    fail_type("an object");
    return cursors;
  }
  for (const auto& item : value_->items()) {
    cursors.emplace_back(item.key(),
                         JsonCursor(item.value(), child_path(path_, item.key()), *error_));
  }
  return cursors;
}

std::string JsonCursor::string() const {
  if (value_->is_string()) return value_->get<std::string>();
  fail_type("a string");
  return "";
}

std::string JsonCursor::string_up_to(std::size_t most) const {
  std::string text = string();
  if (text.size() <= most) return text;
  fail(fmt::format("has {} bytes; at most {} are accepted", text.size(), most));
  return "";
}

std::int64_t JsonCursor::integer() const {
  if (value_->is_number_unsigned()) {
    const auto wide = value_->get<std::uint64_t>();
    if (wide <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return static_cast<std::int64_t>(wide);
    }
    fail(fmt::format("{} does not fit a signed 64-bit integer", wide));
    return 0;
  }
  if (value_->is_number_integer()) return value_->get<std::int64_t>();
  fail_type("an integer");
  return 0;
}

std::int64_t JsonCursor::integer_in(std::int64_t low, std::int64_t high) const {
  const std::int64_t value = integer();
  if (!ok()) return low;
  if (value >= low && value <= high) return value;
  fail(fmt::format("is {}; must be {} to {}", value, low, high));
  return low;
}

std::uint64_t JsonCursor::unsigned_integer() const {
  if (value_->is_number_unsigned()) return value_->get<std::uint64_t>();
  // A positive number that was built in memory may be signed.
  if (value_->is_number_integer() && value_->get<std::int64_t>() >= 0)
    return value_->get<std::uint64_t>();
  fail_type("an integer of at least 0");
  return 0;
}

double JsonCursor::number() const {
  if (!value_->is_number()) {
    fail_type("a number");
    return 0;
  }
  const double value = value_->get<double>();
  if (std::isfinite(value)) return value;
  fail("must be finite");
  return 0;
}

double JsonCursor::number_in(double low, double high) const {
  const double value = number();
  if (!ok() || (value >= low && value <= high)) return value;
  fail(fmt::format("is {}; must be {} to {}", value, low, high));
  return low;
}

bool JsonCursor::boolean() const {
  if (value_->is_boolean()) return value_->get<bool>();
  fail_type("true or false");
  return false;
}

Expr JsonCursor::expr() const {
  if (value_->is_string()) {
    auto parsed = Expr::parse(value_->get_ref<const std::string&>());
    if (parsed) return *parsed;
    fail(parsed.error().message);
    return {};
  }
  if (value_->is_number_integer()) return Expr(integer());
  fail_type("an integer or an expression such as \"ceildiv(N,16)\"");
  return {};
}

}  // namespace hone
