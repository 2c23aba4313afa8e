// What the printers of kernels have at hand.
#pragma once

#include <fmt/format.h>

#include "rewriters/schedules/lane_body.h"

namespace hone::schedules {

/// `S`: a generator's schedule. All that is given must outlive this.
template <class S>
class KernelPrinter {
 protected:
  KernelPrinter(const Goal& goal, const S& schedule, Helpers& helpers, Code& code)
      : goal_(goal),
        nodes_(*goal.nodes),
        schedule_(schedule),
        helpers_(helpers),
        code_(code),
        printer_(*goal.nodes),
        parameters_(goal) {}

  /// Constants of a kernel whose threads have `items` vectors of `width` of so many points each.
  void print_sizes(std::int64_t count) {
    code_.line(fmt::format("constexpr {} kPoints = {};", index_type(), count));
    code_.line(fmt::format("constexpr int kThreads = {};", schedule_.threads));
    if (schedule_.width > 1) {
      code_.line(fmt::format("constexpr int kVec = {};  // points moved at once", schedule_.width));
    }
    if (schedule_.items > 1) {
      code_.line(
          fmt::format("constexpr int kItems = {};  // of a thread, loaded before any is used",
                      schedule_.items));
    }
  }
  [[nodiscard]] const char* index_type() const { return wide_ ? "long long" : "int"; }

  const Goal& goal_;
  nest::Nodes& nodes_;
  const S& schedule_;
  Helpers& helpers_;
  Code& code_;
  Printer printer_;
  Parameters parameters_;
  Names names_;
  bool wide_ = false;  ///< points are counted in 64 bits
};

}  // namespace hone::schedules
