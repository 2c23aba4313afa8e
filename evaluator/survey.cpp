#include "evaluator/survey.h"

#include <algorithm>

#include "evaluator/evaluator_impl.h"
#include "evaluator/protocol/channel.h"
#include "evaluator/protocol/survey_messages.h"
#include "evaluator/verdicts.h"

namespace hone {
namespace {

/// Whoever asks chooses a size, and a size that takes so long to survey is none to choose.
constexpr double kLongestSurvey_s = 5;

}  // namespace

Result<std::vector<Survey>> EvaluatorImpl::survey(const std::vector<ConcreteProgram>& programs,
                                                  const std::stop_token& stopping) {
  std::vector<Survey> surveys(programs.size());
  std::vector<protocol::Runnable> runnables;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    if (stopping.stop_requested()) return infrastructure("cancelled");
    auto runnable = prepare_reference(programs[i], {.code_for = CodeFor::kEmulator});
    if (!runnable && runnable.error().code == ErrorCode::kInfrastructure)
      return std::unexpected(runnable.error());
    if (!runnable) continue;
    runnables.push_back(std::move(*runnable));
    places.push_back(i);
  }
  if (runnables.empty()) return surveys;
  for (protocol::Runnable& runnable : runnables) runnable.compiled.cubin.clear();
  const auto outcome = emulators_.call(
      protocol::to_message(protocol::SurveyJob{std::move(runnables), 1}),
      std::min(kLongestSurvey_s, options_.check_timeout_s), pool::kUsualTurn, stopping);
  switch (outcome.status) {
    case pool::Outcome::Status::kReply: {
      if (const auto error = protocol::error_of(outcome.reply))
        return infrastructure("the emulator's runner failed: " + *error);
      auto some = protocol::surveys_from(outcome.reply);
      if (!some) return some;
      if (some->size() != places.size())
        return infrastructure("the emulator's runner answered something else than was asked");
      for (std::size_t i = 0; i < places.size(); ++i) surveys[places[i]] = std::move((*some)[i]);
      return surveys;
    }
    case pool::Outcome::Status::kCancelled:
    case pool::Outcome::Status::kCannotStart:
      return infrastructure(outcome.detail);
    default:  // too long, or it takes its runner down: nothing is known
      return surveys;
  }
}

Result<std::vector<Survey>> survey(Evaluator& evaluator,
                                   const std::vector<ConcreteProgram>& programs,
                                   const std::stop_token& stopping) {
  auto* impl = dynamic_cast<EvaluatorImpl*>(&evaluator);
  if (impl == nullptr) return std::vector<Survey>(programs.size());
  return impl->survey(programs, stopping);
}

}  // namespace hone
