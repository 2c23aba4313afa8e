#include "engine/service/portability.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "engine/search/finals/finals.h"
#include "engine/search/records.h"
#include "engine/search/requests/requests.h"
#include "engine/search/target/target.h"
#include "engine/service/job_runner.h"

namespace hone {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kBest = 3;  // of each search
/// A pool's workers may be busy with searches, or be replaced; the job does not wait for long.
constexpr auto kPatience = std::chrono::minutes(10);
constexpr auto kGone = std::chrono::seconds(5);

/// What one search found, to be tried on one pool.
struct Trial {
  std::string pool_id;
  Fleet::Pool pool;
  bool admitted = false;  ///< the task, by a search there
  std::string found_on;   ///< the architecture whose limits shaped the candidates
  std::vector<CandidateRecord> candidates;
};

std::vector<Trial> trials(const std::map<std::string, Fleet::Pool>& fleet,
                          const std::vector<Searched>& searches) {
  std::vector<Trial> trials;
  for (const auto& [id, pool] : fleet) {
    const auto own = std::ranges::find(searches, id, &Searched::pool);
    std::set<std::string> known;
    if (own != searches.end()) known = own->timed;
    for (const Searched& search : searches) {
      if (search.pool.empty() || search.pool == id || search.modelled != pool.modelled) continue;
      Trial trial{
          .pool_id = id, .pool = pool, .admitted = own != searches.end(), .found_on = search.arch};
      for (std::size_t i = 0; i < search.best.size() && i < kBest; ++i)
        if (known.insert(search.best[i].program_hash).second)
          trial.candidates.push_back(search.best[i]);
      if (!trial.candidates.empty()) trials.push_back(std::move(trial));
    }
  }
  return trials;
}

/// One pool's trial, on a thread of its own.
class Visit {
 public:
  Visit(const JobContext& context, const queue::QueuedJob& job, const queue::JobMessage& message,
        const std::atomic<bool>& ending, Trial trial)
      : context_(context),
        job_(job),
        message_(message),
        ending_(ending),
        trial_(std::move(trial)) {}

  void run() {
    const auto device = device_of(trial_.pool_id, trial_.pool);
    if (!device) return log(LogLevel::kWarning, "elsewhere_impossible", device.error().message);
    provenance_ = provenance_of(*device, trial_.pool.info);
    const auto queue =
        context_.dispatcher.open(job_.id, trial_.pool_id, trial_.pool.modelled, job_.priority);
    Target target{.device = *device,
                  .info = trial_.pool.info,
                  .queue = *queue,
                  .devices = static_cast<std::size_t>(std::max(1, trial_.pool.devices))};
    have_confirmed(target, context_, job_.id, trial_.pool_id);
    const auto rewriting = context_.open_rewriting();
    // The same program at every size: what does not fit here, the device says.
    auto builder = RequestBuilder::make(
        *rewriting, message_.task, target_limits(trial_.found_on), {},
        {.sizes = secret_bits(), .inputs = secret_bits(), .places = secret_bits()});
    if (!builder) return refuse_all(builder.error());
    if (const auto admitted = admit(target, **builder); !admitted)
      return refuse_all(admitted.error());

    FinalStage stage{target, *rewriting, **builder, random_, next_id_};
    stage.stop = &ending_;
    stage.with_refused = true;
    stage.report = [] {};
    stage.given_up = [this] { return given_up(); };
    stage.store = [this](CandidateRecord& candidate, const Evaluation& evaluation) {
      store(candidate, evaluation);
    };
    std::vector<std::string> warnings;
    stage.warn = [&](const std::string& warning) { warnings.push_back("portability: " + warning); };
    const auto count = static_cast<int>(trial_.candidates.size());
    const auto passed = time_finalists(stage, trial_.candidates, std::nullopt, count).ranked;
    if (ending_) return;
    log_finals(context_.log, warnings, job_.id, trial_.pool_id);
    if (!why_given_up_.empty()) return log(LogLevel::kWarning, "elsewhere_given_up", why_given_up_);
    log(LogLevel::kInfo, "elsewhere_tried",
        fmt::format("{} of {} candidates found elsewhere pass the final stage", passed.size(),
                    count),
        {{"passed", passed.size()}, {"candidates", count}});
  }

 private:
  /// The task itself may be beyond this device.
  Result<void> admit(const Target& target, const RequestBuilder& builder) {
    if (trial_.admitted) return {};
    auto request = builder.for_program(message_.task.reference, random_.bits());
    if (!request) return std::unexpected(request.error());
    const auto admitted =
        evaluate_and_wait(target.queue, {next_id_++, std::move(*request), Work::Kind::kAdmit},
                          [this] { return given_up(); });
    if (!admitted) return std::unexpected(admitted.error());
    if (admitted->verdict != Verdict::kOk)
      return fail(ErrorCode::kTaskFailed,
                  fmt::format("{}: {}", to_string(admitted->verdict), admitted->detail));
    return {};
  }

  /// Nothing can be tried here.
  void refuse_all(const Error& error) {
    if (ending_) return;
    if (!why_given_up_.empty()) return log(LogLevel::kWarning, "elsewhere_given_up", why_given_up_);
    const std::string why = "the task is not admitted here: " + error.message;
    log(LogLevel::kWarning, "elsewhere_refused", why);
    if (!is_lasting(error)) return;
    Evaluation refused;
    refused.verdict = Verdict::kRefused;
    refused.detail = why;
    refused.final_stage = true;
    for (CandidateRecord& candidate : trial_.candidates) store(candidate, refused);
  }

  void store(CandidateRecord& candidate, const Evaluation& evaluation) {
    // Nothing was run: no result of this device is to give way to that.
    if (evaluation.verdict == Verdict::kRefused && known(candidate)) return;
    // Of no run: nobody searched here for it.
    if (const auto put = context_.store.put(0, candidate, evaluation, provenance_); !put)
      log(LogLevel::kWarning, "result_unwritten", put.error().message);
  }

  bool known(const CandidateRecord& candidate) const {
    const auto finals = context_.store.final_results(id_of(&context_.store, candidate));
    return finals && std::ranges::any_of(*finals, [&](const FinalResult& result) {
             return result.provenance.device_name == provenance_.device_name;
           });
  }

  void log(LogLevel level, const std::string& event, const std::string& what,
           std::vector<LogField> fields = {}) const {
    context_.log({.level = level,
                  .event = event,
                  .message = "portability: " + what,
                  .job = job_.id,
                  .pool = trial_.pool_id,
                  .fields = std::move(fields)});
  }

  bool given_up() {
    const auto now = Clock::now();
    if (context_.fleet.pools().contains(trial_.pool_id)) seen_ = now;
    if (now - seen_ > kGone) why_given_up_ = "left out: its workers are gone";
    if (now - begin_ > kPatience) why_given_up_ = "left out: its workers are too busy";
    return ending_ || !why_given_up_.empty();
  }

  const JobContext& context_;
  const queue::QueuedJob& job_;
  const queue::JobMessage& message_;
  const std::atomic<bool>& ending_;
  Trial trial_;
  Provenance provenance_;
  Random random_{message_.search.seed};
  std::uint64_t next_id_ = 0;
  const Clock::time_point begin_ = Clock::now();
  Clock::time_point seen_ = begin_;
  std::string why_given_up_;
};

}  // namespace

void try_elsewhere(const JobContext& context, const queue::QueuedJob& job,
                   const queue::JobMessage& message, const std::vector<Searched>& searches,
                   const std::atomic<bool>& ending) {
  const auto visit = [&](const Trial& trial) {
    try {
      Visit(context, job, message, ending, trial).run();
    } catch (const std::exception& e) {
      context.log({.level = LogLevel::kWarning,
                   .event = "elsewhere_failed",
                   .message = std::string("portability: ") + e.what(),
                   .job = job.id,
                   .pool = trial.pool_id});
    }
  };
  const auto all = trials(context.fleet.pools(), searches);
  std::vector<std::jthread> threads;
  for (const Trial& trial : all) threads.emplace_back([&] { visit(trial); });
}

}  // namespace hone
