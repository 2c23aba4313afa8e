#include "engine/search/phases/llm_side.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/llm/access.h"
#include "rewriters/llm/model_steps.h"

namespace hone::search {

bool is_models(const CandidateRecord& candidate, const std::vector<RunReply>& heard) {
  if (!candidate.recipe.empty() && is_model_step(candidate.recipe.back())) return true;
  const auto steps = llm::to_string(llm::Mode::kSteps);  // they are rules' steps
  return std::ranges::any_of(heard, [&](const RunReply& one) {
    return one.reply.mode == steps &&
           std::ranges::find(one.candidates, candidate.id) != one.candidates.end();
  });
}

// Any thread asks, and only the search's own may read the plan: its end is read once.
std::function<double()> pace_of(const SearchClock& clock) {
  const double end_s = clock.plan.proposals_end();
  if (!std::isfinite(end_s)) return {};
  return [&clock, end_s] { return std::min(1.0, clock.elapsed_s() / end_s); };
}

void LlmSide::remember() { heard_ = run_.journal.earlier_replies(); }

RecipeSource* LlmSide::open(Admission& admission) {
  if (run_.options.llm == nullptr) return nullptr;
  llm::Access& access = *run_.options.llm;
  const SearchSettings& settings = run_.options.settings;
  llm::SourceOptions source;
  source.modes = access.modes;
  source.seed = settings.seed;
  // On a GPU a search waits for no endpoint; a replay answers at once.
  source.in_order = access.in_order && (run_.modelled() || access.replay != nullptr);
  const double deadline = run_.clock.plan.search_end();
  source.elapsed = pace_of(run_.clock);
  source.over = [this, deadline] {
    return run_.interrupted() || run_.clock.elapsed_s() >= deadline;
  };
  if (access.replay != nullptr) taken_by_kind_ = access.replay->taken_by_kind();
  source.exchanges_before = std::ssize(heard_);
  source_ = std::make_unique<llm::LlmSource>(
      admission.task(), admission.builder().space(), *access.client, *access.meter,
      std::move(source), run_.target.info.arch, run_.journal.provenance().device_name,
      admission.reference_tried());
  return source_.get();
}

void LlmSide::listen() {
  if (source_ == nullptr) return;
  for (std::string& warning : source_->take_warnings())
    run_.outcome.llm_warnings.push_back(std::move(warning));
  for (ReplyRecord& reply : source_->take_replies()) {
    run_.journal.put_reply(reply);
    if (run_.options.on_reply) run_.options.on_reply(reply);
    reply.text.clear();
    const ReplyFate fate = first_fate(reply);
    heard_.push_back({std::move(reply), fate, {}});
  }
}

void LlmSide::told(const Candidate& candidate) {
  if (source_ == nullptr) return;
  const Evaluation& evaluation = candidate.evaluation;
  const bool repeated = candidate.is(Candidate::State::kRepeated);
  // One that was cut short is neither right nor wrong.
  const bool cut_short =
      evaluation.screened || evaluation.outpaced || evaluation.verdict == Verdict::kSlower;
  if (!repeated && !cut_short) source_->learn(candidate.recipe, evaluation);
  if (!candidate.has_evaluation() || evaluation.screened || !run_.journal.keeps()) return;
  for (const std::string& reply : source_->replies_of(candidate.recipe)) {
    // A program that the database has of another run names that run's reply.
    const auto of_this_run =
        std::ranges::any_of(heard_, [&](const RunReply& heard) { return heard.reply.id == reply; });
    if (of_this_run) run_.journal.link_reply(reply, candidate.record);
  }
}

void LlmSide::close() {
  if (source_ == nullptr) return;
  source_->stop();
  listen();
  const llm::Replay* const replay = run_.options.llm->replay;
  const std::size_t others = replay == nullptr ? 0 : replay->taken_by_kind() - taken_by_kind_;
  if (others == 0) return;
  run_.outcome.llm_warnings.push_back(fmt::format(
      "the replay: the requests are not the recorded ones (prompts hold times), so {} {} taken "
      "in the order of recording",
      others, others == 1 ? "reply was" : "replies were"));
}

results::ModelUse LlmSide::use() {
  results::ModelUse use = results::model_use(heard_);
  if (!heard_.empty()) {
    if (const auto stored = run_.journal.all_replies()) use = results::model_use(*stored);
  }
  use.used = has_a_say();
  return use;
}

}  // namespace hone::search
