// The kernel of a plan of windows.
#pragma once

#include <string>

#include "rewriters/schedules/window/plan.h"

namespace hone::schedules::window {

struct Schedule {
  int threads = 256;  ///< of a block
  int width = 1;      ///< neighbouring outputs of a thread
  int along = 0;      ///< which dim they are neighbours of, from the innermost
  Cache cache = Cache::kDefault;
};

void print_window(const Goal& goal, const Plan& plan, const Schedule& schedule,
                  const std::string& name, const std::string& what, Helpers& helpers, Code& code,
                  Generated& generated);

}  // namespace hone::schedules::window
