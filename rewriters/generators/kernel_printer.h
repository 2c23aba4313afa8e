// What the printers of kernels have at hand.
#pragma once

#include "rewriters/generators/lane_body.h"

namespace hone::generators {

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

  const Goal& goal_;
  nest::Nodes& nodes_;
  const S& schedule_;
  Helpers& helpers_;
  Code& code_;
  Printer printer_;
  Parameters parameters_;
  Names names_;
};

}  // namespace hone::generators
