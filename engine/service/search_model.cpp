// A language model beside a search: made, told, and what it took.
#include <fmt/core.h>

#include "engine/model/access.h"
#include "engine/service/search_run.h"

namespace hone::search_job {

std::unique_ptr<model::ModelSource> Search::make_model() {
  if (options_.model == nullptr) return nullptr;
  model::Access& access = *options_.model;
  model::SourceOptions source;
  source.modes = access.modes;
  source.seed = options_.seed;
  // On a GPU a search waits for no endpoint; a replay answers at once.
  source.in_order = access.in_order && (provenance_.modelled || access.replay != nullptr);
  if (options_.budget.seconds > 0) {
    source.elapsed = [this, total = search_seconds()] { return seconds_since(start_) / total; };
  }
  source.over = [this, deadline = search_seconds()] {
    return interrupted() || seconds_since(start_) >= deadline;
  };
  outcome_.model.used = true;
  return std::make_unique<model::ModelSource>(task_, builder_->space(), *access.client,
                                              *access.meter, std::move(source), target_.info.arch,
                                              provenance_.device_name, reference_tried_);
}

/// What became of a recipe, whoever asked for it; stores what the model said meanwhile.
void Search::told_model(const Slot& slot) {
  const bool known_right_or_wrong = !slot.evaluation.screened && !slot.evaluation.outpaced;
  if (!slot.outcome.duplicate && known_right_or_wrong)
    model_->learn(slot.outcome.recipe, slot.evaluation);
  for (std::string& warning : model_->take_warnings())
    outcome_.warnings.push_back(std::move(warning));
  if (store_ == nullptr) return;
  for (const ReplyRecord& reply : model_->take_replies()) {
    if (store_ != nullptr) stored(store_->put_reply(run_id_, reply));
  }
  const bool kept = !slot.candidate.task_hash.empty() && !slot.refused_later &&
                    !slot.outcome.duplicate && !slot.evaluation.screened;
  if (!kept) return;
  for (const std::string& reply : model_->replies_of(slot.outcome.recipe)) {
    if (store_ != nullptr)
      stored(store_->link_reply(run_id_, reply, id_of(store_, slot.candidate)));
  }
}

/// The search's middle is over: nothing more is asked.
void Search::use_model() {
  if (!model_) return;
  model_->stop();
  const model::SourceCounts counts = model_->counts();
  for (std::string& warning : model_->take_warnings())
    outcome_.warnings.push_back(std::move(warning));
  for (const ReplyRecord& reply : model_->take_replies()) {
    if (store_ != nullptr) stored(store_->put_reply(run_id_, reply));
  }
  const llm::Replay* const replay = options_.model->replay.get();
  if (const std::size_t others = replay == nullptr ? 0 : replay->taken_by_kind(); others > 0) {
    outcome_.warnings.push_back(fmt::format(
        "the replay: the requests are not the recorded ones (prompts hold times), so {} {} taken "
        "in the order of recording",
        others, others == 1 ? "reply was" : "replies were"));
  }
  const llm::Meter::Totals totals = options_.model->meter->totals();
  outcome_.model.asked = counts.asked;
  outcome_.model.replies = counts.replies;
  outcome_.model.recipes = counts.recipes;
  outcome_.model.input_tokens = totals.input_tokens;
  outcome_.model.output_tokens = totals.output_tokens;
  outcome_.model.nano_dollars = totals.nano_dollars;
}

}  // namespace hone::search_job
