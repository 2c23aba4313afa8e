// Trains a ranking model, and says how well it ranks tasks that it was not trained on.
#pragma once

#include <string>
#include <vector>

#include "candidates/result.h"
#include "engine/search/ranking/training/dataset.h"
#include "engine/search/ranking/tree_model.h"

namespace hone::ranking {

/// Of a task that the model was not trained on.
struct TaskScore {
  std::string task;
  std::string device;
  std::size_t samples = 0;
  double before = 0;  ///< Spearman's rank correlation of predicted and real times, not compiled yet
  double after = 0;   ///< likewise, with the compiler's report
  double first = 0;   ///< the time of what is ranked first, of the best time
};

/// Spearman's rank correlation; ties share their ranks. 0: fewer than two values, or all alike.
[[nodiscard]] double spearman(const std::vector<double>& a, const std::vector<double>& b);

/// Tasks with fewer samples teach, and are not scored.
inline constexpr std::size_t kLeastScored = 10;

/// Every group of tasks is kept out of training once, in one of `folds` parts. Sorted by `before`.
/// Errors: train_trees', kInvalidInput: fewer than two groups.
[[nodiscard]] Result<std::vector<TaskScore>> cross_validate(const std::vector<TaskSamples>& tasks,
                                                            int folds);

/// On all. Errors: train_trees'.
[[nodiscard]] Result<TreeModel> train(const std::vector<TaskSamples>& tasks);

}  // namespace hone::ranking
