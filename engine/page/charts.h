// Charts as SVG elements for a page or a report: no script, no style of their own but the classes
// of page/style.css, every one with a title and a description for those who do not see it.
#pragma once

#include <string>
#include <vector>

#include "candidates/ceilings.h"
#include "candidates/verdict.h"

namespace hone::page {

/// One evaluated candidate in the course of a search.
struct ProgressPoint {
  double seconds = 0;  // since the search began [s]
  double speedup = 0;  // over the reference
  bool final_stage = false;
  std::string label;  ///< what a pointer over it says
};
/// Speedup over time: every point, and the best so far as a line. "" for no points.
[[nodiscard]] std::string progress_svg(const std::vector<ProgressPoint>& points);

/// A program on the roofline: operations per byte that must move, and operations a second.
struct RooflinePoint {
  double flops = 0;    // of the task
  double bytes = 0;    // that must move [B]
  double time_us = 0;  // of one run
  std::string label;
  bool highlight = false;
};
/// Both axes logarithmic. `arithmetic_flops_per_s` is the flat roof. With no operations or no known
/// ceiling: "".
[[nodiscard]] std::string roofline_svg(const std::vector<RooflinePoint>& points, double bytes_per_s,
                                       double arithmetic_flops_per_s);

struct VerdictCount {
  std::string name;
  long long count = 0;
};
/// Horizontal bars with their numbers. "" for none.
[[nodiscard]] std::string bars_svg(const std::vector<VerdictCount>& counts);

}  // namespace hone::page
