// A language model beside a search: made, heard, told, and what came of it.
#include <fmt/core.h>

#include <algorithm>

#include "engine/llm/access.h"
#include "engine/search/phases/run.h"
#include "rewriters/llm/model_steps.h"

namespace hone::search_job {

bool is_models(const CandidateRecord& candidate, const std::vector<RunReply>& heard) {
  if (!candidate.recipe.empty() && is_model_step(candidate.recipe.back())) return true;
  const auto steps = llm::to_string(llm::Mode::kSteps);  // they are rules' steps
  return std::ranges::any_of(heard, [&](const RunReply& one) {
    return one.reply.mode == steps &&
           std::ranges::find(one.candidates, candidate.id) != one.candidates.end();
  });
}

/// What a model said in this run to earlier processes: also where this one has none.
void Search::remember_replies() {
  if (store_ == nullptr || options_.job.empty()) return;
  if (auto earlier = store_->replies(run_id_, false)) heard_ = std::move(*earlier);
}

std::unique_ptr<llm::LlmSource> Search::make_model() {
  if (options_.llm == nullptr) return nullptr;
  llm::Access& access = *options_.llm;
  llm::SourceOptions source;
  source.modes = access.modes;
  source.seed = options_.settings.seed;
  // On a GPU a search waits for no endpoint; a replay answers at once.
  source.in_order = access.in_order && (provenance_.modelled || access.replay != nullptr);
  if (options_.settings.budget.seconds > 0) {
    source.elapsed = [this, total = plan_.search_end()] { return seconds_since(start_) / total; };
  }
  source.over = [this, deadline = plan_.search_end()] {
    return interrupted() || seconds_since(start_) >= deadline;
  };
  if (access.replay != nullptr) taken_by_kind_ = access.replay->taken_by_kind();
  source.exchanges_before = std::ssize(heard_);
  return std::make_unique<llm::LlmSource>(task_, builder_->space(), *access.client, *access.meter,
                                          std::move(source), target_.info.arch,
                                          provenance_.device_name, reference_tried_);
}

/// Stores what the model said meanwhile: before any candidate that came of it is.
void Search::hear_model() {
  for (std::string& warning : model_->take_warnings())
    outcome_.model_warnings.push_back(std::move(warning));
  for (ReplyRecord& reply : model_->take_replies()) {
    if (store_ != nullptr) stored(store_->put_reply(run_id_, reply));
    if (options_.on_reply) options_.on_reply(reply);
    reply.text.clear();
    const ReplyFate fate = first_fate(reply);
    heard_.push_back({std::move(reply), fate, {}});
  }
}

/// What became of a recipe, whoever asked for it.
void Search::told_model(const Slot& slot) {
  const bool known_right_or_wrong = !slot.evaluation.screened && !slot.evaluation.outpaced;
  if (!slot.outcome.duplicate && known_right_or_wrong)
    model_->learn(slot.outcome.recipe, slot.evaluation);
  const bool kept = !slot.candidate.task_hash.empty() && !slot.refused_later &&
                    !slot.outcome.duplicate && !slot.evaluation.screened;
  if (!kept || store_ == nullptr) return;
  for (const std::string& reply : model_->replies_of(slot.outcome.recipe)) {
    // A program that the database has of another run names that run's reply.
    const auto of_this_run =
        std::ranges::any_of(heard_, [&](const RunReply& heard) { return heard.reply.id == reply; });
    if (of_this_run && store_ != nullptr)
      stored(store_->link_reply(run_id_, reply, id_of(store_, slot.candidate)));
  }
}

/// The search's middle is over: nothing more is asked.
void Search::end_model() {
  if (!model_) return;
  model_->stop();
  hear_model();
  const llm::Replay* const replay = options_.llm->replay;
  const std::size_t others = replay == nullptr ? 0 : replay->taken_by_kind() - taken_by_kind_;
  if (others == 0) return;
  outcome_.model_warnings.push_back(fmt::format(
      "the replay: the requests are not the recorded ones (prompts hold times), so {} {} taken "
      "in the order of recording",
      others, others == 1 ? "reply was" : "replies were"));
}

/// When all is told, of the whole run.
results::ModelUse Search::model_use() const {
  results::ModelUse use = results::model_use(heard_);
  if (store_ != nullptr && !heard_.empty()) {
    if (const auto stored = store_->replies(run_id_, false)) use = results::model_use(*stored);
  }
  use.used = options_.llm != nullptr || !heard_.empty();
  return use;
}

}  // namespace hone::search_job
