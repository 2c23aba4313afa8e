// XGBoost, opened when it is first used: who only searches needs none.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "candidates/result.h"
#include "engine/search/ranking/tree_model.h"

namespace hone::ranking {

/// Rows of equal length, and what is to be learned of each.
struct TrainingRows {
  std::size_t columns = 0;
  std::vector<float> values;  ///< row by row; NaN: not known
  std::vector<float> labels, weights;
  std::vector<float> known;  ///< what is predicted already, to which trees add; empty: nothing

  [[nodiscard]] std::size_t rows() const { return labels.size(); }
};

struct TrainingOptions {
  int rounds = 160;
  /// XGBoost's own, by its names.
  std::vector<std::pair<std::string, std::string>> parameters;
};

struct Trained {
  TreeModel model;
  std::vector<float> own_predictions;  ///< XGBoost's, of the rows it was trained on
};

/// Squared errors, one thread, always the same trees. Errors: kEnvironment, one line: this hone was
/// built without XGBoost's header, or the library is not there; kInvalidInput: no rows.
[[nodiscard]] Result<Trained> train_trees(const TrainingRows& rows, const TrainingOptions& options);

}  // namespace hone::ranking
