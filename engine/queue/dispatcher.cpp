#include "engine/queue/dispatcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>

#include "engine/queue/endure.h"
#include "engine/queue/messages_work.h"
#include "engine/search/search_limits.h"

namespace hone::queue {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::size_t kBatch = 64;
constexpr std::size_t kBatchBytes = 1U << 20;
constexpr int kLeastCapacity = 4;
constexpr int kMostFailures = 8;       // a broken machine answers faster than a sound one
constexpr int kMostFailuresOfOne = 3;  // another may be asked instead
constexpr auto kAuditEvery = std::chrono::seconds(2);
constexpr auto kOverdue = std::chrono::minutes(20);
constexpr auto kAuditAfter = std::chrono::seconds(3);  // an answer may be on its way
constexpr std::size_t kMostCrashed = 64;               // of a search, that may be put back
constexpr double kCollect_s = 0.2;
constexpr double kFirstHeld_s = 0.05;  // taken for an evaluation's time until one has ended
constexpr double kNewsOfHeld = 0.2;    // of one evaluation, in the mean over the last ones

double seconds_since_start(Clock::time_point time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

/// Not the candidate's or the task's fault: another worker may do better.
bool is_the_machines(ErrorCode code) {
  return code == ErrorCode::kInfrastructure || code == ErrorCode::kEnvironment ||
         code == ErrorCode::kIo || code == ErrorCode::kInternal;
}

}  // namespace

/// The search's end. All members are guarded by the dispatcher's mutex.
class Dispatcher::Lane final : public SearchQueue {
 public:
  Lane(Dispatcher& owner, std::string job, std::string pool, bool modelled, int priority,
       std::string prefix)
      : owner_(owner),
        job_(std::move(job)),
        pool_(std::move(pool)),
        modelled_(modelled),
        priority_(priority),
        prefix_(std::move(prefix)) {}

  ~Lane() override {
    cancel();
    const std::lock_guard lock(owner_.mutex_);
    std::erase(owner_.lanes_, this);
  }

  bool submit(Work work) override {
    WorkMessage message{
        job_, prefix_ + std::to_string(work.id),
        work.kind == Work::Kind::kAdmit ? WorkMessage::Kind::kAdmit : WorkMessage::Kind::kEvaluate,
        std::move(work.request)};
    auto encoded = encode(message);
    if (!encoded) {
      post({work.id, std::unexpected(encoded.error())});
      return true;
    }
    const EvaluationRequest& request = message.request;
    Asked asked;
    asked.message = std::move(*encoded);
    asked.number = work.id;
    asked.worker = std::move(work.worker);
    asked.admission = message.kind == WorkMessage::Kind::kAdmit;
    asked.final_stage = request.stage == Stage::kFinal;
    asked.may_be_cut_short =
        !asked.final_stage && (request.screen_above_us > 0 || request.measure_first);
    asked.may_be_slower = !asked.admission && !asked.final_stage && request.best_time_us > 0;
    const std::lock_guard lock(owner_.mutex_);
    if (cancelled_) return false;
    if (!asks()) begin_to_ask();
    waiting_.push_back(message.id);
    asked.stage = stage_of(work.kind, request);
    asked_[message.id] = std::move(asked);
    owner_.work_ready_.notify_all();
    return true;
  }

  std::optional<Done> next_result(milliseconds timeout) override {
    std::unique_lock lock(owner_.mutex_);
    result_ready_.wait_for(lock, timeout, [&] { return woken_ || !results_.empty(); });
    woken_ = false;
    if (results_.empty()) return std::nullopt;
    Done done = std::move(results_.front());
    results_.pop_front();
    return done;
  }

  void wake() override {
    const std::lock_guard lock(owner_.mutex_);
    woken_ = true;
    result_ready_.notify_one();
  }

  void post(Done done) override {
    const std::lock_guard lock(owner_.mutex_);
    results_.push_back(std::move(done));
    result_ready_.notify_one();
  }

  void cancel() override {
    std::vector<std::string> open;
    {
      const std::lock_guard lock(owner_.mutex_);
      open = forget_all();
    }
    owner_.take_back(job_, pool_, open);
  }

  void resume() override {
    const std::lock_guard lock(owner_.mutex_);
    cancelled_ = dropped_;
  }

  /// Returns what is handed out. Precondition: the lock is held.
  [[nodiscard]] std::vector<std::string> forget_all() {
    std::vector<std::string> open;
    cancelled_ = true;
    waiting_.clear();
    crashed_.clear();
    for (const auto& [id, asked] : asked_) {
      if (owner_.waiting_for_.erase(id) == 0) continue;
      take_back(asked);
      open.push_back(id);
    }
    asked_.clear();
    return open;
  }

  // Shares. A search's use is the time for which it held slots, over its weight: who has used
  // least is next. Time, not number: who asks for what takes long would else have all slots soon.

  /// 2 to the power of its priority below the highest one that asks the pool.
  [[nodiscard]] double weight(int highest) const {
    return std::exp2(-std::clamp(highest - priority_, 0, kMostSteps));
  }
  /// [slot seconds / weight], of what was answered and what is in flight: of that, at least what
  /// an evaluation of this search usually takes.
  [[nodiscard]] double used(int highest, double now_s) const {
    const double in_flight = std::max(slots_ * usual_s_, slots_ * now_s - given_sum_s_);
    return used_s_ + in_flight / weight(highest);
  }
  /// Who is new, or asked for nothing for a while, saves up nothing: it begins beside those that
  /// have used least. Precondition: it asks for nothing now.
  void begin_to_ask() {
    const int highest = std::max(priority_, owner_.highest_priority(pool_));
    const double now_s = seconds_since_start(Clock::now());
    std::optional<double> least;
    for (const Lane* lane : owner_.lanes_)
      if (lane != this && lane->pool_ == pool_ && lane->asks())
        least = std::min(least.value_or(lane->used(highest, now_s)), lane->used(highest, now_s));
    if (least) used_s_ = std::max(used_s_, *least);
  }
  /// A slot is taken for it now.
  void hand_out(Asked& asked) {
    asked.given = Clock::now();
    owner_.in_flight_[pool_] += room_of(asked);
    slots_ += room_of(asked);
    if (room_of(asked) > 0) given_sum_s_ += seconds_since_start(asked.given);
  }
  /// Its slot is free again; for how long it was taken counts.
  void take_back(const Asked& asked) {
    owner_.in_flight_[pool_] -= room_of(asked);
    if (room_of(asked) == 0) return;
    const double given_s = seconds_since_start(asked.given);
    const double held_s = seconds_since_start(Clock::now()) - given_s;
    used_s_ += held_s / weight(owner_.highest_priority(pool_));
    --slots_;
    given_sum_s_ = slots_ == 0 ? 0 : given_sum_s_ - given_s;
    usual_s_ += kNewsOfHeld * (held_s - usual_s_);
  }
  [[nodiscard]] bool asks() const { return slots_ > 0 || !waiting_.empty(); }

  double used_s_ = 0;              ///< of what was answered [slot seconds / weight]
  double usual_s_ = kFirstHeld_s;  ///< for which one evaluation holds its slot, a running mean
  double given_sum_s_ = 0;         ///< of what is in flight: the sum of the times of handing out
  int slots_ = 0;                  ///< that it holds now

  Dispatcher& owner_;
  const std::string job_, pool_;
  const bool modelled_;
  const int priority_;
  const std::string prefix_;  ///< of its evaluations' ids
  std::deque<std::string> waiting_;
  std::unordered_map<std::string, Asked> asked_;       ///< by id: all that has no answer yet
  std::deque<std::pair<std::string, Asked>> crashed_;  ///< the last ones of the search stage
  std::deque<Done> results_;
  std::condition_variable_any result_ready_;
  bool cancelled_ = false, woken_ = false;
  bool dropped_ = false;  ///< cancelled for good
};

Dispatcher::Dispatcher(Lead& lead, Log log, std::function<void(const Answered&)> observe)
    : lead_(lead),
      log_(std::move(log)),
      observe_(std::move(observe)),
      giver_([this](const std::stop_token& stopping) {
        endure(stopping, log_, [&] { hand_out(stopping); });
      }),
      collector_([this](const std::stop_token& stopping) {
        endure(stopping, log_, [&] { collect(stopping); });
      }) {}

Dispatcher::~Dispatcher() = default;

std::unique_ptr<SearchQueue> Dispatcher::open(const std::string& job, const std::string& pool,
                                              bool modelled, int priority) {
  const std::lock_guard lock(mutex_);
  auto lane = std::make_unique<Lane>(*this, job, pool, modelled, priority,
                                     fmt::format("{}.{}.{}.", job, lead_.token(), ++lanes_opened_));
  lanes_.push_back(lane.get());
  return lane;
}

/// Workers leave out what is no longer open; what they are at, they finish for nobody.
void Dispatcher::take_back(const std::string& job, const std::string& pool,
                           const std::vector<std::string>& evaluations) {
  if (const auto dropped = lead_.drop(evaluations); !dropped && !lead_.deposed())
    log_({.level = LogLevel::kWarning,
          .event = "work_not_taken_back",
          .message = "work was not taken back: " + dropped.error().message,
          .job = job,
          .pool = pool});
}

void Dispatcher::drop(const std::string& job) {
  std::map<std::string, std::vector<std::string>> open;  // by pool
  {
    const std::lock_guard lock(mutex_);
    for (Lane* lane : lanes_) {
      if (lane->job_ != job) continue;
      lane->dropped_ = true;
      std::ranges::move(lane->forget_all(), std::back_inserter(open[lane->pool_]));
    }
  }
  for (const auto& [pool, evaluations] : open) take_back(job, pool, evaluations);
}

bool Dispatcher::put_back(const std::string& evaluation) {
  const std::lock_guard lock(mutex_);
  for (Lane* lane : lanes_) {
    const auto found =
        std::ranges::find(lane->crashed_, evaluation, &std::pair<std::string, Asked>::first);
    if (found == lane->crashed_.end()) continue;
    if (!lane->asks()) lane->begin_to_ask();
    lane->asked_[evaluation] = std::move(found->second);
    lane->waiting_.push_back(evaluation);
    lane->crashed_.erase(found);
    work_ready_.notify_all();
    return true;
  }
  return false;
}

void Dispatcher::set_capacity(const std::string& pool, int capacity) {
  const std::lock_guard lock(mutex_);
  capacity_[pool] = capacity;
  work_ready_.notify_all();
}

DispatchCounts Dispatcher::counts() {
  const std::lock_guard lock(mutex_);
  DispatchCounts counts = counts_;
  for (const auto& [pool, in_flight] : in_flight_) counts.pools[pool].in_flight = in_flight;
  for (const Lane* lane : lanes_)
    counts.pools[lane->pool_].waiting += static_cast<std::int64_t>(lane->waiting_.size());
  return counts;
}

int Dispatcher::room(const std::string& pool) {
  return 2 * std::max(capacity_[pool], kLeastCapacity) - in_flight_[pool];
}

int Dispatcher::highest_priority(const std::string& pool) const {
  int highest = -kMostPriority;
  for (const Lane* lane : lanes_)
    if (lane->pool_ == pool && lane->asks()) highest = std::max(highest, lane->priority_);
  return highest;
}

Dispatcher::Lane* Dispatcher::next_lane() {
  Lane* best = nullptr;
  double least = 0;
  const double now_s = seconds_since_start(Clock::now());
  std::map<std::string, int> highest;  // by pool
  for (const Lane* lane : lanes_) {
    if (!lane->asks()) continue;
    const auto [entry, added] = highest.emplace(lane->pool_, lane->priority_);
    if (!added) entry->second = std::max(entry->second, lane->priority_);
  }
  for (Lane* lane : lanes_) {
    if (lane->waiting_.empty()) continue;
    if (room(lane->pool_) < room_of(lane->asked_[lane->waiting_.front()])) continue;
    const double used = lane->used(highest[lane->pool_], now_s);
    // Of those that have used alike, which is seldom but at the beginning, the higher one.
    if (best == nullptr || used < least || (used == least && lane->priority_ > best->priority_)) {
      best = lane;
      least = used;
    }
  }
  return best;
}

void Dispatcher::hand_out(const std::stop_token& stopping) {
  while (!stopping.stop_requested()) {
    using Batch = std::vector<std::pair<std::string, std::string>>;
    std::map<std::pair<std::string, std::string>, Batch> batches;  // by pool and worker
    {
      std::unique_lock lock(mutex_);
      if (!work_ready_.wait(lock, stopping, [&] { return next_lane() != nullptr; })) return;
      std::size_t messages = 0, bytes = 0;
      for (Lane* lane = next_lane(); lane != nullptr && messages < kBatch && bytes < kBatchBytes;
           lane = next_lane()) {
        const std::string id = std::move(lane->waiting_.front());
        lane->waiting_.pop_front();
        Asked& asked = lane->asked_[id];
        waiting_for_[id] = lane;
        lane->hand_out(asked);
        ++messages;
        bytes += asked.message.size();
        batches[{lane->pool_, asked.worker}].emplace_back(id, asked.message);
      }
      counts_.given += static_cast<std::int64_t>(messages);
    }
    for (const auto& [whom, messages] : batches) {
      const auto& [pool, worker] = whom;
      const auto given = lead_.give(pool, messages, worker);
      if (given) continue;
      // The audit finds what has not arrived.
      if (lead_.deposed()) return;
      log_({.level = LogLevel::kWarning,
            .event = "work_not_given",
            .message = "work was not handed out: " + given.error().message,
            .worker = worker,
            .pool = pool});
    }
  }
}

/// Why this is no answer to what was asked; "" when it is one.
std::string Dispatcher::out_of_place(const Asked& asked, const Evaluation& evaluation,
                                     bool modelled) {
  if (evaluation.final_stage && !asked.final_stage)
    return "it claims a stage that nobody asked for";
  if ((evaluation.screened || evaluation.outpaced) && !asked.may_be_cut_short)
    return "it leaves out what was asked for";
  if (evaluation.verdict == Verdict::kSlower && !asked.may_be_slower)
    return "it is slower than what nobody named";
  if (!asked.admission) return implausible(evaluation, modelled).value_or("");
  const Measurement& m = evaluation.measurement;
  if (evaluation.verdict != Verdict::kOk) return "";
  if (!(m.time_us > 0) || m.modelled != modelled) return "a reference that takes no such time";
  return "";
}

void Dispatcher::take_answer(const Lead::Answer& answer) {
  auto message = result_from(answer.message);
  std::unique_lock lock(mutex_);
  const auto found = waiting_for_.find(answer.id);
  if (found == waiting_for_.end()) {
    ++counts_.late;
    return;
  }
  Lane& lane = *found->second;
  Asked& asked = lane.asked_[answer.id];
  std::string wrong;
  bool stranger = false;
  if (!message) {
    wrong = message.error().message;
  } else if (message->id != answer.id || message->job != lane.job_) {
    wrong = "it answers another question";
  } else if (!asked.worker.empty() && message->worker != asked.worker) {
    wrong = fmt::format("worker {} was asked", asked.worker);
    stranger = true;
  } else if (message->evaluation) {
    wrong = out_of_place(asked, *message->evaluation, lane.modelled_);
  }
  if (!wrong.empty()) {
    ++counts_.refused;
    log_({.level = LogLevel::kWarning,
          .event = "answer_refused",
          .message = "an answer is refused: " + wrong,
          .job = lane.job_,
          .evaluation = answer.id,
          .worker = message ? message->worker : "",
          .pool = lane.pool_});
  }
  const bool machine =
      wrong.empty() && !message->evaluation && is_the_machines(message->evaluation.error().code);
  const int most = asked.worker.empty() ? kMostFailures : kMostFailuresOfOne;
  if (stranger || ((!wrong.empty() || machine) && ++asked.failures < most)) {
    ++counts_.repeated;
    lane.take_back(asked);
    waiting_for_.erase(found);
    lane.waiting_.push_front(answer.id);
    work_ready_.notify_all();
    return;
  }
  Done done{asked.number, fail(ErrorCode::kInfrastructure, "no worker gave a usable answer")};
  if (wrong.empty()) {
    done.evaluation = std::move(message->evaluation);
    done.worker = message->worker;
  }
  const std::string pool = lane.pool_;  // the lane may end with the lock
  Answered answered{pool, asked.stage, std::nullopt,
                    std::chrono::duration<double>(Clock::now() - asked.given).count()};
  if (done.evaluation) answered.verdict = done.evaluation->verdict;
  lane.take_back(asked);
  waiting_for_.erase(found);
  if (answered.verdict == Verdict::kCrash && !asked.admission && !asked.final_stage) {
    asked.failures = 0;
    lane.crashed_.emplace_back(answer.id, std::move(asked));
    if (lane.crashed_.size() > kMostCrashed) lane.crashed_.pop_front();
  }
  lane.asked_.erase(answer.id);
  lane.results_.push_back(std::move(done));
  lane.result_ready_.notify_one();
  ++counts_.answered;
  work_ready_.notify_all();
  lock.unlock();
  if (observe_) observe_(answered);
}

void Dispatcher::collect(const std::stop_token& stopping) {
  while (!stopping.stop_requested() && !lead_.deposed()) {
    const auto answers = lead_.answers(kCollect_s);
    if (!answers) {
      if (stopping.stop_requested()) return;
      log_({.level = LogLevel::kWarning,
            .event = "results_unread",
            .message = "results were not read: " + answers.error().message});
      std::this_thread::sleep_for(milliseconds(100));
      continue;
    }
    for (const auto& answer : *answers) take_answer(answer);
    if (const auto taken = lead_.taken(*answers); !taken)
      log_({.level = LogLevel::kWarning,
            .event = "results_not_deleted",
            .message = "results were not deleted: " + taken.error().message});
    if (Clock::now() - audited_ > kAuditEvery) audit();
  }
}

/// Asks again for what a server that crashed has forgotten.
void Dispatcher::audit() {
  audited_ = Clock::now();
  std::vector<std::string> old, overdue;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, lane] : waiting_for_) {
      const auto age = Clock::now() - lane->asked_[id].given;
      if (age > kAuditAfter) old.push_back(id);
      if (age > kOverdue) overdue.push_back(id);
    }
  }
  // A worker that lives and never answers: taken back, it is missing below, and another may try.
  if (!overdue.empty() && !lead_.drop(overdue)) return;
  const auto open = lead_.open(old);
  if (!open) return;
  // What was answered since then is among the answers now, not lost.
  for (std::size_t came = kMostAnswers; came > 0;) {
    const auto answers = lead_.answers(0);
    if (!answers) return;
    for (const auto& answer : *answers) take_answer(answer);
    if (!lead_.taken(*answers)) return;
    came = answers->size();
  }
  const std::lock_guard lock(mutex_);
  for (const auto& id : old) {
    const auto found = waiting_for_.find(id);
    if (open->contains(id) || found == waiting_for_.end()) continue;
    Lane& lane = *found->second;
    Asked& asked = lane.asked_[id];
    lane.take_back(asked);
    waiting_for_.erase(found);
    if (std::ranges::find(overdue, id) != overdue.end()) {
      log_({.level = LogLevel::kWarning,
            .event = "answer_overdue",
            .message = "no answer for very long",
            .job = lane.job_,
            .evaluation = id,
            .worker = asked.worker,
            .pool = lane.pool_});
      if (!asked.worker.empty() || ++asked.failures >= kMostFailuresOfOne) {
        lane.results_.push_back(
            {asked.number, fail(ErrorCode::kInfrastructure, "no worker answers"), {}});
        lane.result_ready_.notify_one();
        lane.asked_.erase(id);
        continue;
      }
    }
    ++counts_.repeated;
    lane.waiting_.push_front(id);
  }
  work_ready_.notify_all();
}

}  // namespace hone::queue
