#include "candidates/pytorch/operations/windows.h"

#include <fmt/format.h>

namespace hone::pytorch {

std::vector<std::string> spatial_names(int dimensions) {
  std::vector<std::string> names = {"d", "h", "w"};
  names.erase(names.begin(), names.end() - dimensions);
  return names;
}

Dim window_extent(Sizes& sizes, const Dim& extent, const Window& window) {
  const std::int64_t reach = window.dilation * (window.taps - 1) + 1;
  return sizes.floor_div(
      extent + Dim(window.padding + window.padding_after - reach + window.stride), window.stride);
}

int loop_over_taps(Kernel& kernel, const std::string& out, const std::string& tap,
                   const std::string& place, const std::string& extent, const Window& window) {
  std::string at = window.stride == 1 ? out : fmt::format("{} * {}", out, window.stride);
  // What lies outside is left by `continue`, which wants a loop.
  const bool loops = window.taps > 1 || window.padding != 0 || window.padding_after != 0;
  if (loops) {
    kernel.loop(tap, fmt::format("{}", window.taps));
    at += window.dilation == 1 ? " + " + tap : fmt::format(" + {} * {}", tap, window.dilation);
  }
  if (window.padding != 0) at += fmt::format(" - {}", window.padding);
  kernel.line(fmt::format("{} {} = {};", kernel.index_type(), place, at));
  if (window.padding != 0 || window.padding_after != 0) {
    kernel.line(fmt::format("if ({} < 0 || {} >= {}) continue;", place, place, extent));
  }
  return loops ? 1 : 0;
}

}  // namespace hone::pytorch
