#include "engine/service/job_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <iterator>

#include "engine/queue/inputs.h"
#include "engine/search/phases/candidate.h"
#include "engine/search/target/target.h"
#include "engine/service/coordinator_metrics.h"
#include "engine/service/database_watch.h"
#include "engine/service/gated_queue.h"
#include "evaluator/device_spec.h"

namespace hone {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr auto kReportEvery = milliseconds(500);
constexpr auto kPoolLooks = milliseconds(200);
constexpr std::size_t kLargestWindow = 1024;

}  // namespace

void have_confirmed(Target& target, const JobContext& context, const std::string& job,
                    const std::string& pool) {
  target.workers = [&context, pool] { return context.fleet.workers(pool); };
  target.report_disagreement = [&context, job, pool](const std::string& worker,
                                                     const std::string& why) {
    context.log({.level = LogLevel::kError,
                 .event = "worker_disagrees",
                 .message = why,
                 .job = job,
                 .worker = worker,
                 .pool = pool});
  };
}

void log_finals(const Log& log, const std::vector<std::string>& warnings, const std::string& job,
                const std::string& pool) {
  for (const std::string& warning : warnings)
    log({.level = LogLevel::kDebug,
         .event = "finalist_warning",
         .message = warning,
         .job = job,
         .pool = pool});
  if (warnings.empty()) return;
  const std::string others =
      warnings.size() == 1
          ? ""
          : fmt::format("{} warnings of the final stage, the first: ", warnings.size());
  log({.level = LogLevel::kWarning,
       .event = "final_stage_warnings",
       .message = others + warnings.front(),
       .job = job,
       .pool = pool,
       .fields = {{"warnings", warnings.size()}}});
}

JobRunner::JobRunner(const JobContext& context, queue::QueuedJob job)
    : context_(context), job_(std::move(job)), thread_([this] { run(); }) {}

void JobRunner::cancel() {
  cancelled_ = true;
  ending_ = true;
}

Result<void> JobRunner::end_on_queue() {
  if (ended_on_queue_) return {};
  context_.dispatcher.drop(job_.id);
  queue::JobStatus status;
  const std::int64_t time = context_.lead.now_ms();
  {
    const std::lock_guard lock(mutex_);
    status_.state = queue::JobState::kCancelled;
    status_.updated_at = time;
    status = status_;
  }
  if (status.model && !queue::encode(status)) status.model.reset();
  if (auto ended = context_.lead.end_job(job_, status); !ended) return ended;
  log_end(status);
  return {};
}

/// Once, whichever thread was first to tell the queue.
void JobRunner::log_end(const queue::JobStatus& status) {
  if (ended_on_queue_.exchange(true)) return;
  context_.metrics.job_ended(status.state);
  log(status.error.empty() ? LogLevel::kInfo : LogLevel::kWarning, "job_ended",
      fmt::format("{}{}{}", to_string(status.state), status.error.empty() ? "" : ": ",
                  status.error),
      "", {{"state", std::string(to_string(status.state))}});
}

/// As things stand now. What the database does not tell is left out.
std::vector<queue::JobPlace> JobRunner::places() {
  std::vector<queue::JobPlace> places;
  if (!context_.database.trouble().empty()) return places;  // the job's end must not wait for it
  for (std::size_t i = 0; i < searched_.size(); ++i) {
    const queue::ArchProgress& progress = status_.archs[i];
    if (progress.best_candidate.empty() || searched_[i].device_name.empty()) continue;
    const auto row =
        context_.store.find_candidate(progress.best_candidate, searched_[i].device_name);
    if (row && row->rank > 0)
      places.push_back({progress.arch, row->provenance.device_name, row->rank});
  }
  return places;
}

/// Another coordinator goes on with it, or will: what fails here is no failure of the job.
bool JobRunner::is_taken_over() const {
  return abandoned_ || context_.lead.deposed() || context_.database.is_fence_lost();
}

void JobRunner::abandon() {
  abandoned_ = true;
  ending_ = true;
}

/// Again and again while the server is away, as long as this process leads.
template <class Function>
auto JobRunner::retry_while_failing(const Function& function) -> decltype(function()) {
  while (true) {
    auto result = function();
    const bool worth_it = !result && (result.error().code == ErrorCode::kInfrastructure ||
                                      result.error().code == ErrorCode::kEnvironment);
    if (!worth_it || context_.lead.deposed() || abandoned_) return result;
    log(LogLevel::kWarning, "try_again", result.error().message);
    std::this_thread::sleep_for(kPoolLooks);
  }
}

void JobRunner::report(queue::JobState state, bool now) {
  queue::JobStatus status;
  const std::int64_t time = context_.lead.now_ms();
  {
    const std::lock_guard lock(mutex_);
    now = now || state != status_.state;
    if (!now && Clock::now() - reported_ < kReportEvery) return;
    status_.state = state_ = state;
    status_.updated_at = time;
    reported_ = Clock::now();
    status = status_;
  }
  if (const auto set = context_.lead.set_status(status); !set && !ending_)
    log(LogLevel::kWarning, "status_unwritten", set.error().message);
}

void JobRunner::show(std::size_t index, const Progress& progress) {
  auto least = queue::JobState::kAdmitting;
  {
    const std::lock_guard lock(mutex_);
    auto& arch = status_.archs[index];
    arch.counts = progress.counts;
    arch.elapsed_s = std::max(arch.elapsed_s, progress.elapsed_s);
    arch.reference_time_us = progress.reference_time_us;
    arch.best_time_us = progress.best_time_us;
    arch.best_recipe = progress.best_recipe;
    phases_[index] = progress.phase == Phase::kAdmit   ? queue::JobState::kAdmitting
                     : progress.phase == Phase::kFinal ? queue::JobState::kFinishing
                                                       : queue::JobState::kSearching;
    least = *std::ranges::min_element(phases_);
  }
  report(least);
}

void JobRunner::fail_with(const std::string& why) {
  const std::lock_guard lock(mutex_);
  status_.error += (status_.error.empty() ? "" : "; ") + why;
}

void JobRunner::log(LogLevel level, const std::string& event, const std::string& what,
                    const std::string& pool, std::vector<LogField> fields) {
  context_.log({.level = level,
                .event = event,
                .message = what,
                .job = job_.id,
                .pool = pool,
                .fields = std::move(fields)});
}

std::optional<std::pair<std::string, Fleet::Pool>> JobRunner::wait_for_pool(
    const std::string& arch) {
  bool said = false;
  while (!ending_) {
    if (auto pool = context_.fleet.find(arch)) {
      if (said) {
        --waiting_;
        context_.metrics.count_waiting_search(arch, -1);
      }
      return pool;
    }
    if (!said) {
      ++waiting_;
      context_.metrics.count_waiting_search(arch, 1);
    }
    if (!said)
      log(LogLevel::kInfo, "job_waits", "waits for a worker for " + arch, "", {{"arch", arch}});
    said = true;
    std::this_thread::sleep_for(kPoolLooks);
  }
  if (said) {
    --waiting_;
    context_.metrics.count_waiting_search(arch, -1);
  }
  return std::nullopt;
}

/// The queue to a pool, for a GPU's through the gates on emulators; `gated` is its gates then.
std::unique_ptr<SearchQueue> JobRunner::open_queue(const std::string& id, const Fleet::Pool& pool,
                                                   const GatedQueue*& gated) {
  auto queue = context_.dispatcher.open(job_.id, id, pool.modelled, job_.priority);
  if (pool.modelled) return queue;
  const std::string emulators = "emu:" + pool.info.arch;
  auto both = std::make_unique<GatedQueue>(
      std::move(queue), context_.dispatcher.open(job_.id, emulators, true, job_.priority),
      [this, emulators] { return context_.fleet.capacity(emulators); });
  gated = both.get();
  return both;
}

SearchOptions JobRunner::options_of(std::size_t index) {
  SearchOptions options;
  options.settings = message_.search;
  options.llm = model_.get();
  options.on_reply = [this](const ReplyRecord& reply) { context_.metrics.replied(reply); };
  options.stop = options.abandon = &ending_;
  options.job = job_.id;
  options.paused_s = [this] { return context_.database.paused_s(); };
  options.on_progress = [this, index](const Progress& progress) { show(index, progress); };
  const std::lock_guard lock(mutex_);
  options.spent_s = status_.archs[index].elapsed_s;
  return options;
}

void JobRunner::search(std::size_t index) {
  const std::string& arch = message_.archs[index];
  // Whoever wrote the message: nobody could ever serve it.
  if (const auto known = parse_arch(arch); !known) {
    fail_with(known.error().message);
    return;
  }
  const auto pool = wait_for_pool(arch);
  if (!pool) return;
  const auto spec = device_of(pool->first, pool->second);
  if (!spec) {
    fail_with(fmt::format("{}: {}", arch, spec.error().message));
    return;
  }
  const GatedQueue* gated = nullptr;
  const auto queue = open_queue(pool->first, pool->second, gated);
  const auto rewriting = context_.open_rewriting();
  const std::size_t window = pool->second.modelled
                                 ? kModelledWindow
                                 : std::clamp(static_cast<std::size_t>(pool->second.capacity),
                                              kModelledWindow, kLargestWindow);
  const auto devices = static_cast<std::size_t>(std::max(1, pool->second.devices));
  Target target{*spec, pool->second.info, window, *queue, devices};
  have_confirmed(target, context_, job_.id, pool->first);
  const auto outcome =
      run_search(message_.task, target, *rewriting, &context_.store, options_of(index));
  if (ending_ || is_taken_over()) return;
  if (!outcome) {
    fail_with(fmt::format("{}: {}", arch, outcome.error().message));
    return;
  }
  sum_up_model();
  log_outcome(*outcome, pool->first, gated);
  Searched& searched = searched_[index];
  const DeviceInfo& info = pool->second.info;
  searched = {pool->first, info.arch, info.name, pool->second.modelled, {}, outcome->timed};
  for (const Finalist& finalist : outcome->ranked)
    if (finalist.candidate.origin != "reference") searched.best.push_back(finalist.candidate);
  show_outcome(index, *outcome);
}

void JobRunner::log_outcome(const SearchOutcome& outcome, const std::string& pool,
                            const GatedQueue* gated) {
  for (const auto& warning : outcome.search_warnings())
    log(LogLevel::kWarning, "search_warning", warning, pool);
  log_finals(context_.log, outcome.final_warnings, job_.id, pool);
  if (outcome.llm.used)
    log(LogLevel::kInfo, "model_used", "language model: " + results::model_use_text(outcome.llm),
        pool);
  if (gated != nullptr && gated->judged() > 0)
    log(LogLevel::kInfo, "gates_used",
        fmt::format("{} candidates went through the gates on emulators", gated->judged()), pool,
        {{"candidates", gated->judged()}});
  const Pace& pace = outcome.pace;
  log(LogLevel::kInfo, "search_ended",
      fmt::format("{} evaluations in {:.1f} s, {:.1f}/s, a GPU busy for {:.0f} s; proposing took "
                  "{:.1f} s; ended: {}",
                  pace.evaluated, pace.search_s, pace.per_second(), pace.gates.measure,
                  pace.propose_s, to_string(outcome.stop_reason)),
      pool,
      {{"evaluations", pace.evaluated},
       {"search_s", pace.search_s},
       {"gpu_s", pace.gates.measure},
       {"propose_s", pace.propose_s},
       {"finalists", outcome.timed.size()},
       {"reason", std::string(to_string(outcome.stop_reason))}});
}

void JobRunner::show_outcome(std::size_t index, const SearchOutcome& outcome) {
  const std::lock_guard lock(mutex_);
  auto& progress = status_.archs[index];
  progress.counts = outcome.counts;
  progress.elapsed_s = outcome.elapsed_s;
  if (outcome.ranked.empty()) {
    const auto& warnings =
        outcome.final_warnings.empty() ? outcome.warnings : outcome.final_warnings;
    status_.error +=
        fmt::format("{}{}: no finalist, not even the reference, passed the final stage{}{}",
                    status_.error.empty() ? "" : "; ", message_.archs[index],
                    warnings.empty() ? "" : ": ", warnings.empty() ? "" : warnings.back());
    return;
  }
  const Finalist& best = outcome.ranked.front();
  progress.best_candidate = best.candidate.id;
  progress.best_recipe = search::names_of(best.candidate.recipe);
  progress.best_time_us = best.evaluation.measurement.time_us;
  progress.reference_time_us = best.evaluation.measurement.reference_time_us;
}

/// One part of the coordinator's for all searches of the job; what earlier processes paid counts.
void JobRunner::open_model() {
  if (!message_.model) return;
  const queue::ModelWish& wish = *message_.model;
  llm::Grant granted;
  const auto spent = context_.store.spending(job_.id);
  if (context_.model == nullptr) {
    granted.notes = {
        "it wants a language model, and this coordinator has none (--llm): rules alone"};
  } else if (!spent) {
    granted.notes = {spent.error().message + ": rules alone"};
  } else {
    llm::Wish own{wish.tokens, wish.nano_dollars, {}};
    for (const std::string& name : wish.modes)
      if (const auto mode = llm::parse_mode(name)) own.modes.push_back(*mode);
    granted =
        llm::grant(*context_.model, own,
                   {{spent->tokens, spent->nano_dollars}, [this](const llm::Spent& most) {
                      return context_.store.put_spending(job_.id, {most.tokens, most.nano_dollars});
                    }});
  }
  model_ = std::move(granted.access);
  if (model_ != nullptr && spent->tokens > 0)
    log(LogLevel::kInfo, "model_spent_before",
        fmt::format("earlier coordinators spent up to {} tokens and {} of its language model",
                    spent->tokens, llm::format_dollars(spent->nano_dollars)),
        "", {{"tokens", spent->tokens}});
  std::string all;
  for (const std::string& note : granted.notes) {
    log(LogLevel::kWarning, "model_limited", note);
    all += (all.empty() ? "" : "; ") + note;
  }
  const std::lock_guard lock(mutex_);
  if (!status_.model) status_.model.emplace();
  status_.model->note = std::move(all);
}

/// From the database, where earlier processes' replies are, too.
void JobRunner::sum_up_model() {
  if (!status_.model) return;
  const auto runs = context_.store.runs({.job = job_.id});
  if (!runs) return;
  std::vector<RunReply> replies;
  for (const RunRecord& run : *runs) {
    auto own = context_.store.replies(run.id, false);
    if (own) std::ranges::move(*own, std::back_inserter(replies));
  }
  const std::lock_guard lock(mutex_);
  status_.model->use = results::model_use(replies);
}

void JobRunner::run() {
  try {
    run_to_end();
  } catch (const std::exception& e) {  // no memory left, say
    log(LogLevel::kError, "job_failed_inside", e.what());
  }
  finished_ = true;
}

/// From the server; where that has lost it, as the database kept it.
Result<std::optional<queue::JobMessage>> JobRunner::read_message() {
  auto message = retry_while_failing([&] { return context_.lead.message_of(job_.id); });
  if (!message || *message) return message;
  const auto kept = context_.store.kept_job(job_.id);
  if (!kept) return std::unexpected(kept.error());
  if (!*kept) return std::nullopt;
  auto read = queue::job_from(**kept);
  if (!read) return std::unexpected(read.error());
  return std::optional(std::move(*read));
}

void JobRunner::run_to_end() {
  const std::int64_t now = context_.lead.now_ms();
  {
    const std::lock_guard lock(mutex_);
    status_ = {.id = job_.id, .updated_at = now};
  }
  auto message = read_message();
  const auto earlier = retry_while_failing([&] { return context_.lead.status_of(job_.id); });
  if (earlier && earlier->state >= queue::JobState::kDone) {  // only its entry was left
    const auto gone = retry_while_failing([&] { return context_.lead.end_job(job_, *earlier); });
    if (gone) forget();
    return;
  }
  if (!message) {
    fail_with("the job cannot be read: " + message.error().message);
  } else if (!*message) {
    fail_with("the job's message is gone");
  } else {
    message_ = std::move(**message);
    const std::string owner = message_.owner.empty() ? "nobody" : message_.owner;
    log(LogLevel::kInfo, "job_begins", fmt::format("begins, '{}' of {}", message_.task.name, owner),
        "", {{"task", message_.task.name}, {"owner", owner}, {"priority", job_.priority}});
    {
      const std::lock_guard lock(mutex_);
      for (const auto& arch : message_.archs) status_.archs.push_back({.arch = arch});
      if (earlier && earlier->archs.size() == status_.archs.size()) status_.archs = earlier->archs;
      if (earlier) status_.model = earlier->model;
      phases_.assign(status_.archs.size(), queue::JobState::kAdmitting);
    }
    report(queue::JobState::kAdmitting, true);
    open_model();
    searched_.resize(message_.archs.size());
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < message_.archs.size(); ++i) {
      ++at_work_;
      threads.emplace_back([this, i] {
        try {
          search(i);
        } catch (const std::exception& e) {
          fail_with(e.what());
        }
        {
          const std::lock_guard lock(mutex_);
          phases_[i] = queue::JobState::kFinishing;
        }
        --at_work_;
      });
    }
    threads.clear();
    if (!ending_ && !is_taken_over()) report(queue::JobState::kFinishing);
    if (!ending_ && !is_taken_over()) try_elsewhere(context_, job_, message_, searched_, ending_);
  }
  sum_up_model();
  if (!is_taken_over()) look_at_inputs();
  if (!is_taken_over()) end();
}

/// Of a job that failed for an input. Damaged ones are deleted: else each later job that needs them
/// would find them on the server, and fail as well.
void JobRunner::look_at_inputs() {
  std::string error;
  {
    const std::lock_guard lock(mutex_);
    error = status_.error;
  }
  for (const std::string& sha256 : queue::inputs_of(message_.task)) {
    if (!error.contains(sha256)) continue;
    const auto good = context_.lead.check_input(sha256);
    if (!good)
      log(LogLevel::kWarning, "input_unusable", good.error().message, "", {{"sha256", sha256}});
  }
}

void JobRunner::end() {
  const std::int64_t time = context_.lead.now_ms();
  queue::JobStatus status;
  {
    const std::lock_guard lock(mutex_);
    const auto ended = status_.error.empty() ? queue::JobState::kDone : queue::JobState::kFailed;
    status_.state = state_ = cancelled_ ? queue::JobState::kCancelled : ended;
    status_.updated_at = time;
    // A job that has ended must not begin again for what is said of its model.
    if (status_.model && !queue::encode(status_)) status_.model.reset();
    status = status_;
  }
  if (!ended_on_queue_) {
    const auto stands = places();
    const auto ended =
        retry_while_failing([&] { return context_.lead.end_job(job_, status, stands); });
    if (!ended) {
      if (!is_taken_over())
        log(LogLevel::kError, "job_end_unwritten",
            "its end was not written: " + ended.error().message);
      return;
    }
    log_end(status);
  }
  forget();
}

/// Until here another coordinator could have gone on with it.
void JobRunner::forget() {
  if (const auto forgot = context_.store.forget_job(job_.id); !forgot)
    log(LogLevel::kWarning, "jobs_not_forgotten", forgot.error().message);
}

}  // namespace hone
