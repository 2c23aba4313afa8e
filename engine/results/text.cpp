#include "engine/results/text.h"

#include <fmt/format.h>

namespace hone::results {

std::string time_text(double time_us) {
  if (time_us >= 1e6) return fmt::format("{:.3f} s", time_us / 1e6);
  if (time_us >= 1e4) return fmt::format("{:.2f} ms", time_us / 1e3);
  if (time_us >= 1e3) return fmt::format("{:.3f} ms", time_us / 1e3);
  return fmt::format("{:.2f} us", time_us);
}

std::string recipe_names(const Recipe& recipe) {
  std::string text;
  for (const Step& step : recipe)
    text += fmt::format("{}{}", text.empty() ? "" : " > ", step.rewriter);
  return text;
}

}  // namespace hone::results
