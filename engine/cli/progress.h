// Progress of a search: one line that is rewritten on a terminal, a plain line now and then
// elsewhere. Goes to stderr, so that stdout stays clean.
#pragma once

#include <optional>
#include <string>

#include "engine/search/search.h"

namespace hone::cli {

class ProgressPrinter {
 public:
  ProgressPrinter(const Budget& budget, bool quiet);
  void show(const Progress& progress);
  void finish();  ///< ends the line

 private:
  Budget budget_;
  bool quiet_;
  bool terminal_;
  double last_s_ = -1e9;
  double last_best_us_ = 0;
  std::optional<Phase> last_phase_;
  bool line_open_ = false;
};

}  // namespace hone::cli
