#include "engine/search/budget.h"

#include <fmt/core.h>

#include <charconv>

namespace hone {

Result<Budget> Budget::parse(std::string_view text) {
  const auto wrong = [&] {
    return invalid(
        fmt::format("--budget '{}': expected a time such as 60s, 5m or 1h, or a count of "
                    "evaluations such as 200",
                    text));
  };
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !(value > 0) || value > 1e9) return wrong();
  const std::string_view unit(end, text.data() + text.size());
  Budget budget;
  if (unit.empty()) {
    if (value < 1 || value != static_cast<double>(static_cast<std::int64_t>(value))) return wrong();
    budget.evaluations = static_cast<std::int64_t>(value);
  } else if (unit == "s") {
    budget.seconds = value;
  } else if (unit == "m" || unit == "min") {
    budget.seconds = value * 60;
  } else if (unit == "h") {
    budget.seconds = value * 3600;
  } else {
    return wrong();
  }
  return budget;
}

std::string Budget::text() const {
  return evaluations > 0 ? std::to_string(evaluations) : fmt::format("{}s", seconds);
}

}  // namespace hone
