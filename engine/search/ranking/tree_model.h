// A sum of regression trees that ranks the candidates of a task: what XGBoost trained, without
// XGBoost. Immutable; any thread may ask.
//
// Its file, JSON:
//   {"format": "hone ranking 1", "arch": "sm_90", "trained_on": "…", "base": 0.0,
//    "features": ["task_bytes", …],
//    "trees": [{"feature": […], "threshold": […], "left": […], "right": […], "missing_left": […]},
//              …],
//    "report_trees": likewise, added where the compiler's report is known}
// A node with feature -1 is a leaf, whose value is its threshold. Else a value below the threshold
// goes left, any other right, and one that is not known to the left where missing_left is 1.
// Children come after their parents.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "candidates/result.h"

namespace hone::ranking {

struct TreeNode {
  std::int32_t feature = -1;  ///< -1: a leaf
  float threshold = 0;        ///< of a leaf: its value
  std::int32_t left = 0, right = 0;
  bool missing_left = false;
};
using Tree = std::vector<TreeNode>;  ///< the root first

class TreeModel {
 public:
  TreeModel() = default;
  /// `report_trees` count where the compiler's report is known.
  TreeModel(std::vector<Tree> trees, double base, std::vector<Tree> report_trees = {})
      : trees_(std::move(trees)), report_trees_(std::move(report_trees)), base_(base) {}

  /// log(time), up to what is the same for all candidates of a task: smaller is faster. `features`
  /// as features.h has them now.
  [[nodiscard]] double predict(std::span<const float> features) const;

  std::string arch;        ///< "sm_90"
  std::string trained_on;  ///< for people: devices, tasks, results

  [[nodiscard]] const std::vector<Tree>& trees() const { return trees_; }
  /// The same with these trees for what the compiler's report adds.
  [[nodiscard]] TreeModel with_report(const TreeModel& report) const;
  [[nodiscard]] std::string text() const;

  /// Errors: kInvalidInput, what is wrong with the text. A feature that this hone does not have is
  /// one that is not known.
  [[nodiscard]] static Result<TreeModel> parse(std::string_view text);

 private:
  std::vector<Tree> trees_, report_trees_;
  double base_ = 0;
};

/// The one that this program was built with; null: there is none for the architecture.
[[nodiscard]] std::shared_ptr<const TreeModel> built_in_model(std::string_view arch);

/// The texts of models/*.json.
[[nodiscard]] std::vector<std::string_view> embedded_models();

}  // namespace hone::ranking
