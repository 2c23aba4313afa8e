#include "engine/page/charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/page/html.h"

namespace hone::page {
namespace {

// The coordinates of a drawing, in pixels at its full width.
constexpr double kWidth = 720, kHeight = 360;
constexpr double kLeft = 64, kRight = 16, kTop = 30, kBottom = 44;

/// From a range of numbers to a range of pixels.
struct Axis {
  double low = 0, high = 1;
  double from = 0, to = 1;
  bool logarithmic = false;

  [[nodiscard]] double at(double value) const {
    const auto scale = [&](double v) { return logarithmic ? std::log10(v) : v; };
    const double share = (scale(value) - scale(low)) / (scale(high) - scale(low));
    return from + std::clamp(share, 0.0, 1.0) * (to - from);
  }
};

Axis horizontal(double low, double high, bool logarithmic = false) {
  return {low, high, kLeft, kWidth - kRight, logarithmic};
}
Axis vertical(double low, double high, bool logarithmic = false) {
  return {low, high, kHeight - kBottom, kTop, logarithmic};
}

/// Round numbers, at most about five of them.
std::vector<double> ticks(const Axis& axis) {
  std::vector<double> out;
  if (axis.logarithmic) {
    const double decades = std::log10(axis.high / axis.low);
    const int step = std::max(1, static_cast<int>(std::ceil(decades / 6)));
    const int first = static_cast<int>(std::ceil(std::log10(axis.low) - 1e-9));
    const int last = static_cast<int>(std::floor(std::log10(axis.high) + 1e-9));
    for (int i = first; i <= last; i += step) out.push_back(std::pow(10.0, i));
    return out;
  }
  const double rough = (axis.high - axis.low) / 5;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough) {
      step = factor * power;
      break;
    }
  }
  for (double v = std::ceil(axis.low / step) * step; v <= axis.high * (1 + 1e-12); v += step)
    out.push_back(v);
  return out;
}

std::string line(const char* of, double x1, double y1, double x2, double y2) {
  return fmt::format(R"(<line class="{}" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>)", of,
                     x1, y1, x2, y2);
}

std::string text(double x, double y, const char* anchor, std::string_view words,
                 const char* of = "") {
  return fmt::format(R"(<text class="{}" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>)", of, x,
                     y, anchor, escape(words));
}

std::string dot(const char* of, double x, double y, double radius, std::string_view label) {
  return fmt::format(
      R"(<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="{:.1f}"><title>{}</title></circle>)", of, x,
      y, radius, escape(label));
}

std::string begin(double height, std::string_view title, std::string_view description) {
  return fmt::format(
      R"(<svg class="chart" viewBox="0 0 {:.0f} {:.0f}" role="img" xmlns="http://www.w3.org/2000/svg"><title>{}</title><desc>{}</desc>)",
      kWidth, height, escape(title), escape(description));
}

/// Grid, ticks and names of both axes.
template <class FormatX, class FormatY>
std::string frame(const Axis& x, const Axis& y, FormatX format_x, FormatY format_y,
                  std::string_view x_name, std::string_view y_name) {
  std::string out;
  for (const double v : ticks(x)) {
    out += line("grid", x.at(v), y.from, x.at(v), y.to);
    out += text(x.at(v), y.from + 18, "middle", format_x(v));
  }
  for (const double v : ticks(y)) {
    out += line("grid", x.from, y.at(v), x.to, y.at(v));
    out += text(x.from - 6, y.at(v) + 4, "end", format_y(v));
  }
  out += line("axis", x.from, y.from, x.to, y.from) + line("axis", x.from, y.from, x.from, y.to);
  out += text(x.to, y.from + 39, "end", x_name);
  return out + text(x.from, y.to - 12, "start", y_name);
}

}  // namespace

std::string progress_svg(const std::vector<ProgressPoint>& all) {
  std::vector<ProgressPoint> points;
  for (const ProgressPoint& point : all)
    if (std::isfinite(point.seconds) && std::isfinite(point.speedup) && point.speedup > 0)
      points.push_back(point);
  if (points.empty()) return "";
  std::ranges::stable_sort(points, {}, &ProgressPoint::seconds);
  double top = 1, end = 1e-3;
  for (const ProgressPoint& point : points) {
    top = std::max(top, point.speedup);
    end = std::max(end, point.seconds);
  }
  const Axis x = horizontal(0, end), y = vertical(0, 1.05 * top);
  std::string out = begin(
      kHeight, "Speedup over time",
      fmt::format("{} timed candidates in {:.0f} s; the best reached {:.2f} times the reference.",
                  points.size(), end, top));
  out += frame(
      x, y, [](double v) { return fmt::format("{:g} s", v); },
      [](double v) { return fmt::format("{:g}x", v); }, "since the search began",
      "speedup over the reference");
  std::string path, finals;
  double best = 0;
  for (const ProgressPoint& point : points) {
    const double px = x.at(point.seconds), py = y.at(point.speedup);
    if (point.final_stage) {
      finals += dot("final", px, py, 4, point.label);
      continue;
    }
    out += dot("point", px, py, 2.5, point.label);
    if (point.speedup <= best) continue;
    path += path.empty() ? fmt::format("M{:.1f} {:.1f}", px, py)
                         : fmt::format("H{:.1f}V{:.1f}", px, py);
    best = point.speedup;
  }
  if (!path.empty()) out += fmt::format(R"(<path class="best" d="{}H{:.1f}"/>)", path, x.to);
  return out + finals + "</svg>";
}

std::string roofline_svg(const std::vector<RooflinePoint>& all, double bytes_per_s,
                         double arithmetic_flops_per_s) {
  std::vector<RooflinePoint> points;
  for (const RooflinePoint& point : all)
    if (point.flops > 0 && point.bytes > 0 && point.time_us > 0) points.push_back(point);
  if (points.empty() || bytes_per_s <= 0 || arithmetic_flops_per_s <= 0) return "";
  const double ridge = arithmetic_flops_per_s / bytes_per_s;  // [FLOP/B]
  double left = ridge / 10, right = 10 * ridge, bottom = arithmetic_flops_per_s / 100;
  for (const RooflinePoint& point : points) {
    const double intensity = point.flops / point.bytes;
    left = std::min(left, intensity / 3);
    right = std::max(right, 3 * intensity);
    bottom = std::min(bottom, point.flops / (point.time_us * 1e-6) / 2);
  }
  bottom = std::min(bottom, left * bytes_per_s);
  const Axis x = horizontal(left, right, true),
             y = vertical(bottom, 2 * arithmetic_flops_per_s, true);
  std::string out = begin(kHeight, "Roofline",
                          fmt::format("At most {} and {}; they meet at {:.3g} operations per byte.",
                                      with_prefix(bytes_per_s, "B/s"),
                                      with_prefix(arithmetic_flops_per_s, "FLOP/s"), ridge));
  out += frame(
      x, y, [](double v) { return fmt::format("{:g}", v); },
      [](double v) { return with_prefix(v, ""); }, "operations per byte that must move",
      "operations a second");
  const double left_roof = std::min(left * bytes_per_s, arithmetic_flops_per_s);
  out += fmt::format(R"(<path class="roof" d="M{:.1f} {:.1f}L{:.1f} {:.1f}H{:.1f}"/>)", x.at(left),
                     y.at(left_roof), x.at(ridge), y.at(arithmetic_flops_per_s), x.to);
  out += text(x.to, y.at(arithmetic_flops_per_s) - 6, "end",
              with_prefix(arithmetic_flops_per_s, "FLOP/s"), "strong");
  const double middle = std::sqrt(left * ridge);
  out += text(x.at(middle) - 8, y.at(middle * bytes_per_s) - 6, "end",
              with_prefix(bytes_per_s, "B/s"), "strong");
  for (const RooflinePoint& point : points) {
    out += dot(point.highlight ? "highlight" : "point", x.at(point.flops / point.bytes),
               y.at(point.flops / (point.time_us * 1e-6)), point.highlight ? 6 : 4, point.label);
  }
  return out + "</svg>";
}

std::string bars_svg(const std::vector<VerdictCount>& counts) {
  constexpr double kBar = 22, kNames = 210, kNumbers = 80;
  long long most = 0, total = 0;
  for (const VerdictCount& one : counts) {
    most = std::max(most, one.count);
    total += one.count;
  }
  if (most <= 0) return "";
  const double height = kBar * static_cast<double>(counts.size()) + 8;
  std::string out = begin(height, "Candidates by verdict", fmt::format("{} in all.", total));
  double y = 4;
  for (const VerdictCount& one : counts) {
    const double width =
        (kWidth - kNames - kNumbers) * static_cast<double>(one.count) / static_cast<double>(most);
    out += text(kNames - 8, y + 15, "end", one.name, "strong");
    out +=
        fmt::format(R"(<rect class="bar" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>)",
                    kNames, y + 3, std::max(width, one.count > 0 ? 1.0 : 0.0), kBar - 6);
    out += text(kNames + width + 6, y + 15, "start", fmt::format("{}", one.count));
    y += kBar;
  }
  return out + "</svg>";
}

}  // namespace hone::page
