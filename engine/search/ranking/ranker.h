// A trained model, asked about the candidates of one task. Thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "candidates/task.h"
#include "engine/rewriting/rewriting.h"
#include "engine/search/ranking/features.h"
#include "engine/search/ranking/tree_model.h"

namespace hone::ranking {

class Ranker {
 public:
  /// `sizes`: those that are timed. `rewriting` is asked once what the task's nests are; a task
  /// that does not lift is ranked without. Null: no model, or the task cannot be instantiated.
  [[nodiscard]] static std::unique_ptr<Ranker> make(std::shared_ptr<const TreeModel> model,
                                                    const RewriteContext& context,
                                                    Rewriting& rewriting);

  /// log(time), up to a constant of the task; empty: the program has no launches at the sizes.
  [[nodiscard]] std::optional<double> predict(const Program& program) const;

 private:
  Ranker(std::shared_ptr<const TreeModel> model, TaskFacts facts, Bindings sizes)
      : model_(std::move(model)), facts_(std::move(facts)), sizes_(std::move(sizes)) {}

  const std::shared_ptr<const TreeModel> model_;
  const TaskFacts facts_;
  const Bindings sizes_;
};

}  // namespace hone::ranking
