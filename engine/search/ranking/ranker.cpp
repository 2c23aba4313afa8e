#include "engine/search/ranking/ranker.h"

namespace hone::ranking {

std::unique_ptr<Ranker> Ranker::make(std::shared_ptr<const TreeModel> model,
                                     const RewriteContext& context, Rewriting& rewriting) {
  if (model == nullptr || context.task == nullptr) return nullptr;
  auto lifted = rewriting.lifted(context, context.task->reference);
  auto facts =
      task_facts(*context.task, lifted ? std::move(lifted->facts) : std::map<std::string, double>{},
                 context.target);
  if (!facts) return nullptr;
  return std::unique_ptr<Ranker>(new Ranker(std::move(model), std::move(*facts), context.sizes));
}

std::optional<double> Ranker::predict(const Program& program) const {
  const auto concrete = instantiate(program, sizes_);
  if (!concrete || concrete->launches.empty()) return std::nullopt;
  return model_->predict(features_of(*concrete, facts_));
}

}  // namespace hone::ranking
