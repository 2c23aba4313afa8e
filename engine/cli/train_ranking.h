// `hone calibrate --from-db`: a ranking model from what searches timed.
#pragma once

#include <string>
#include <vector>

#include "engine/cli/command.h"

namespace hone::cli {

struct RankingTraining {
  std::vector<std::string> databases;
  std::vector<std::string> keep_out;  ///< tasks, by the beginnings of their names
  std::string arch;                   ///< empty: the only one that was timed on
  std::string output;                 ///< a file, "-" or empty
  sandbox::Mode sandbox = sandbox::Mode::kBestEffort;
};

/// The exit status.
[[nodiscard]] int train_ranking(const Common& common, const RankingTraining& training);

}  // namespace hone::cli
