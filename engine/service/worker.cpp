#include "engine/service/worker.h"

#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <utility>

#include "candidates/hash.h"
#include "engine/queue/worker_link.h"
#include "engine/rewriting/rewriting.h"
#include "engine/search/target/workers.h"
#include "engine/service/worker_metrics.h"

namespace hone {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr auto kHeartbeat = milliseconds(2000);
constexpr auto kLooks = milliseconds(50);
constexpr std::size_t kMostAdmissions = 256;
constexpr auto kAskAgain = std::chrono::seconds(60);  // for an admission that was refused
constexpr int kFailuresInARow = 3;
constexpr auto kAfterFailures = milliseconds(1000);

/// An evaluator that admits a task before its first candidate: only then it knows what no program
/// for that task can be faster than.
class AdmittingEvaluator final : public Evaluator {
 public:
  explicit AdmittingEvaluator(Evaluator& evaluator) : evaluator_(evaluator) {}

  [[nodiscard]] const DeviceInfo& info() const override { return evaluator_.info(); }
  [[nodiscard]] Result<Evaluation> admit(const EvaluationRequest& request) override {
    auto admitted = evaluator_.admit(request);
    if (admitted) {
      const std::lock_guard lock(mutex_);
      state_[key_of(request)] = {.admitted = true, .with_checks = !request.checks.empty()};
    }
    return admitted;
  }
  [[nodiscard]] Result<Evaluation> evaluate(const EvaluationRequest& request) override {
    const std::string key = key_of(request);
    const bool checks = !request.checks.empty();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !state_.contains(key) || !state_[key].in_work; });
    if (state_.size() > kMostAdmissions)
      std::erase_if(state_, [](const auto& item) { return !item.second.in_work; });
    State& state = state_[key];
    if (!state.refused.empty() && Clock::now() < state.ask_again)
      return not_admitted(state.refused);
    // What was admitted without checks knows less of what no program can be faster than.
    if (!state.admitted || (checks && !state.with_checks)) {
      state.in_work = true;
      lock.unlock();
      EvaluationRequest reference = request;
      for (auto& check : reference.checks) check.candidate = check.reference;
      reference.timed.candidate = reference.timed.reference;
      Result<Evaluation> admitted = fail(ErrorCode::kInfrastructure, "no memory left");
      try {
        admitted = evaluator_.admit(reference);
      } catch (const std::exception& e) {
        admitted = fail(ErrorCode::kInfrastructure, e.what());
      }
      lock.lock();
      State& now = state_[key];
      now = {.admitted = admitted.has_value(), .with_checks = admitted && checks};
      if (!admitted && is_lasting(admitted.error())) {
        now.refused = admitted.error().message;
        now.ask_again = Clock::now() + kAskAgain;
      }
      changed_.notify_all();
      if (!admitted) return not_admitted(admitted.error().message);
    }
    lock.unlock();
    return evaluator_.evaluate(request);
  }
  [[nodiscard]] Result<Ceilings> measure_ceilings() override {
    return evaluator_.measure_ceilings();
  }
  void use_ceilings(const Ceilings& ceilings) override { evaluator_.use_ceilings(ceilings); }
  void cancel() override { evaluator_.cancel(); }
  void resume() override { evaluator_.resume(); }

 private:
  struct State {
    bool in_work = false, admitted = false;
    bool with_checks = false;
    std::string refused;  ///< why, until `ask_again`; may be empty
    Clock::time_point ask_again;
  };

  static std::unexpected<Error> not_admitted(const std::string& why) {
    return fail(ErrorCode::kInfrastructure, "the task was not admitted here: " + why);
  }

  static std::string key_of(const EvaluationRequest& request) {
    const bool same = request.tolerance.non_finite == NonFinite::kSame;
    return content_hash(nlohmann::json(request.timed.reference).dump() + (same ? " same" : "") +
                        (request.math == MathLevel::kExact ? " exact" : ""));
  }

  Evaluator& evaluator_;
  std::mutex mutex_;  ///< of state_
  std::condition_variable changed_;
  std::map<std::string, State> state_;  ///< by reference
};

/// One device: its end of the queue and its threads.
struct Station {
  Station(queue::Broker& broker, const WorkerOptions& options, const WorkerDeviceOptions& device,
          Metrics& metrics, InputCache& inputs)
      : pool(queue::pool_of(device.evaluator->info(), device.spec.modelled())),
        name(device.spec.text()),
        admitting(*device.evaluator),
        local(admitting, inputs),
        link(broker, options.id, pool, device.at_once, options.log),
        counting(link, metrics, pool, name),
        workers(counting, local, device.at_once) {}

  /// Counts what goes through.
  class Counting final : public WorkerQueue {
   public:
    Counting(WorkerQueue& inner, Metrics& metrics, std::string pool, std::string device)
        : inner_(inner), metrics_(metrics), pool_(std::move(pool)), device_(std::move(device)) {}
    std::optional<Work> take(milliseconds timeout) override {
      // A machine that fails fast must not be the one that answers everything.
      if (failures_ >= kFailuresInARow) std::this_thread::sleep_for(kAfterFailures);
      auto work = inner_.take(timeout);
      if (work) {
        const std::lock_guard lock(mutex_);
        begun_[work->id] = {Clock::now(), stage_of(work->kind, work->request)};
      }
      return work;
    }
    void complete(Done done) override {
      failures_ = done.evaluation ? 0 : failures_ + 1;
      Begun begun;
      {
        const std::lock_guard lock(mutex_);
        begun = begun_[done.id];
        begun_.erase(done.id);
      }
      const std::chrono::duration<double> took = Clock::now() - begun.at;
      count_evaluation(metrics_, {pool_, device_, begun.stage, took.count(), done.evaluation});
      inner_.complete(std::move(done));
      ++completed;
    }
    void close() override { inner_.close(); }
    std::atomic<std::int64_t> completed = 0;

   private:
    struct Begun {
      Clock::time_point at;
      std::string_view stage;
    };
    WorkerQueue& inner_;
    std::atomic<int> failures_ = 0;  ///< in a row
    Metrics& metrics_;
    const std::string pool_, device_;
    std::mutex mutex_;  ///< of begun_
    std::map<std::uint64_t, Begun> begun_;
  };

  const std::string pool, name;
  AdmittingEvaluator admitting;
  LocalInputs local;
  queue::WorkerLink link;
  Counting counting;
  Workers workers;  ///< last: its threads use the others
};

/// When a worker begins to wait for work, and when that ends: for the log, once each.
class Idleness {
 public:
  struct Change {
    bool waits = false;
    double idle_s = 0;
  };
  explicit Idleness(double after_s) : after_s_(after_s) {}

  std::optional<Change> look(std::int64_t evaluated, int in_flight) {
    const auto now = Clock::now();
    const std::chrono::duration<double> idle = now - since_;
    if (in_flight > 0 || evaluated != evaluated_) {
      evaluated_ = evaluated;
      since_ = now;
      return std::exchange(told_, false) ? std::optional(Change{false, idle.count()})
                                         : std::nullopt;
    }
    if (told_ || idle.count() < after_s_) return std::nullopt;
    told_ = true;
    return Change{true, idle.count()};
  }

 private:
  const double after_s_;
  Clock::time_point since_ = Clock::now();
  std::int64_t evaluated_ = 0;
  bool told_ = false;
};

/// What the fleet is told of it.
queue::WorkerMessage introduction(const WorkerOptions& options, queue::Broker& broker) {
  queue::WorkerMessage about{.id = options.id,
                             .host = options.host,
                             .version = HONE_VERSION,
                             .started_at = broker.now_ms()};
  for (const auto& device : options.devices) {
    const DeviceInfo& info = device.evaluator->info();
    about.devices.push_back({queue::pool_of(info, device.spec.modelled()), info,
                             device.spec.modelled(), device.at_once});
  }
  return about;
}

/// The worker's own lines.
struct OwnLog {
  const WorkerOptions& options;
  void operator()(LogLevel level, const std::string& event, const std::string& what,
                  std::vector<LogField> fields = {}) const {
    options.log({.level = level,
                 .event = event,
                 .message = what,
                 .worker = options.id,
                 .fields = std::move(fields)});
  }
};

/// Counts what is fetched.
InputCacheOptions counted(InputCacheOptions inputs, Metrics& metrics) {
  inputs.on_fetched = [&metrics](std::int64_t bytes) { count_input(metrics, bytes); };
  return inputs;
}

/// Lines of others, with its name.
Log as_worker(const WorkerOptions& options) {
  return [&options](LogEvent event) {
    event.worker = options.id;
    options.log(event);
  };
}

void tell_idleness(Idleness& idleness, const queue::WorkerMessage& about, const OwnLog& log) {
  const auto change = idleness.look(about.evaluated, about.in_flight);
  if (!change) return;
  if (change->waits) {
    log(LogLevel::kInfo, "worker_waits", "waits for work: no coordinator has any for it");
  } else {
    log(LogLevel::kInfo, "worker_works",
        fmt::format("has work again, after {:.0f} s", change->idle_s),
        {{"idle_s", change->idle_s}});
  }
}

WorkerNow now_of(queue::Broker& broker, const std::vector<std::unique_ptr<Station>>& stations,
                 bool draining) {
  WorkerNow now{.draining = draining,
                .redis_reachable = broker.redis().reachable(),
                .redis_connections = broker.redis().connections_opened()};
  for (const auto& station : stations)
    now.devices.push_back({station->pool, station->name, station->link.in_hand()});
  return now;
}

}  // namespace

Result<void> run_worker(queue::Broker& broker, const WorkerOptions& options) {
  if (!queue::is_id(options.id))
    return invalid(
        fmt::format("a worker cannot be called '{}': letters, digits and . _ : - may be "
                    "in its name, 80 at most",
                    options.id));
  queue::WorkerMessage about = introduction(options, broker);
  const auto report = [&] { return broker.report(about, queue::kSilence_s); };
  if (const auto registered = report(); !registered) return std::unexpected(registered.error());
  Metrics unread;
  Metrics& metrics = options.metrics != nullptr ? *options.metrics : unread;
  declare_worker_metrics(metrics);
  InputCache inputs(broker, counted(options.inputs, metrics), as_worker(options));
  std::vector<std::unique_ptr<Station>> stations;
  for (const auto& device : options.devices)
    stations.push_back(std::make_unique<Station>(broker, options, device, metrics, inputs));
  const auto told = [](const std::atomic<bool>* flag) { return flag != nullptr && *flag; };
  const Metrics::Reading reading(
      metrics, [&] { show_worker(metrics, now_of(broker, stations, told(options.drain))); });
  const OwnLog log{options};
  log(LogLevel::kInfo, "worker_ready",
      fmt::format("worker {} is there, with {} device{}", options.id, stations.size(),
                  stations.size() == 1 ? "" : "s"),
      {{"devices", stations.size()}});

  Idleness idleness(options.idle_s);
  auto next_report = Clock::now() + kHeartbeat;
  while (!told(options.stop)) {
    about.evaluated = about.in_flight = 0;
    for (const auto& station : stations) {
      about.evaluated += station->counting.completed;
      about.in_flight += station->link.in_hand();
    }
    tell_idleness(idleness, about, log);
    if (told(options.drain) && !about.draining) {
      log(LogLevel::kInfo, "worker_draining", "draining", {{"in_flight", about.in_flight}});
      about.draining = true;
      for (const auto& station : stations) station->link.drain();
      next_report = Clock::now();
    } else if (about.draining && about.in_flight == 0) {
      break;
    }
    if (Clock::now() >= next_report) {
      if (const auto reported = report(); !reported)
        log(LogLevel::kWarning, "heartbeat_failed", reported.error().message);
      next_report = Clock::now() + kHeartbeat;
    }
    std::this_thread::sleep_for(kLooks);
  }
  for (const auto& station : stations) station->link.close();  // hands back
  for (const auto& device : options.devices) device.evaluator->cancel();
  for (const auto& station : stations) station->workers.stop();
  (void)broker.leave(options.id);
  log(LogLevel::kInfo, "worker_ended",
      fmt::format("worker {} has ended, {} evaluations", options.id, about.evaluated),
      {{"evaluations", about.evaluated}});
  return {};
}

}  // namespace hone
