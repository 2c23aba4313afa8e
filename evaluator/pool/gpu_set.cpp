#include "evaluator/pool/gpu_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <utility>

#include "evaluator/timing/statistics.h"
#include "evaluator/trace.h"

namespace hone {
namespace {

/// Candidates in a row that faulted, hung or crashed on one GPU: then the reference says whether it
/// is the GPU.
constexpr int kFailuresInARow = 2;

/// Of which a GPU that is broken may be the cause.
bool has_failed(const protocol::MeasureReply& reply) {
  if (reply.verdict == Verdict::kSlower) return false;
  return reply.reference_failed || reply.context_lost || reply.verdict == Verdict::kCrash ||
         reply.verdict == Verdict::kTimeout;
}

bool has_failed(const Result<GpuSet::Measured>& measured) {
  return !measured || has_failed(measured->reply);
}

std::string model_of(const protocol::DeviceFacts& facts) {
  return fmt::format("{} ({}, {} multiprocessors)", facts.name, facts.arch, facts.sm_count);
}

void scale(protocol::MeasureReply& reply, double by) {
  reply.time_us *= by;
  reply.reference_time_us *= by;
  for (double& us : reply.samples_us) us *= by;
  for (double& us : reply.reference_samples_us) us *= by;
}

}  // namespace

Result<std::unique_ptr<GpuSet>> GpuSet::open(const std::vector<int>& ordinals, bool some_will_do,
                                             const EvaluatorOptions& options) {
  std::unique_ptr<GpuSet> set(new GpuSet(options));
  std::vector<std::future<Result<std::unique_ptr<GpuClient>>>> opening;
  for (const int ordinal : ordinals)
    opening.push_back(std::async(ordinals.size() > 1 ? std::launch::async : std::launch::deferred,
                                 [&, ordinal] { return GpuClient::open(ordinal, options); }));
  std::optional<Error> error;
  std::vector<std::string> not_there;
  for (std::size_t i = 0; i < ordinals.size(); ++i) {
    auto opened = opening[i].get();
    if (!opened) {
      if (!error) error = opened.error();
      not_there.push_back(fmt::format("cuda:{} does not open and is left out: {}", ordinals[i],
                                      opened.error().message));
      continue;
    }
    auto gpu = std::make_unique<Gpu>();
    gpu->ordinal = gpu->use.ordinal = ordinals[i];
    gpu->client = std::move(*opened);
    set->free_.push_back(set->gpus_.size());
    set->gpus_.push_back(std::move(gpu));
  }
  if (error && (!some_will_do || set->gpus_.empty())) return std::unexpected(std::move(*error));
  if (options.warn) std::ranges::for_each(not_there, options.warn);
  const Gpu& first = *set->gpus_.front();
  for (const auto& gpu : set->gpus_) {
    const std::string is = model_of(gpu->client->facts()), wanted = model_of(first.client->facts());
    if (is == wanted) continue;
    return invalid(
        fmt::format("cuda:{} is another model than cuda:{}: {}, and not {}; times of unlike GPUs "
                    "are not compared, so --device takes GPUs of one model",
                    gpu->ordinal, first.ordinal, is, wanted));
  }
  return set;
}

std::size_t GpuSet::left() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(gpus_, [](const auto& gpu) { return gpu->use.lost.empty(); }));
}

std::string GpuSet::who_failed() const {
  std::string text;
  for (const auto& gpu : gpus_)
    if (!gpu->use.lost.empty())
      text += fmt::format("{}cuda:{}: {}", text.empty() ? "" : "; ", gpu->ordinal, gpu->use.lost);
  return text;
}

bool GpuSet::is_cancelled() {
  const std::lock_guard lock(mutex_);
  return cancelled_;
}

std::size_t GpuSet::waiting() {
  const std::lock_guard lock(mutex_);
  const std::size_t works = left();
  if (works == 0) return 0;
  const std::size_t busy = works - std::min(works, free_.size());
  return (line_.size() + busy) / works;
}

double GpuSet::reference_us(const std::string& reference_key) {
  const std::lock_guard lock(mutex_);
  double longest = 0;
  for (const auto& gpu : gpus_)
    if (const auto known = gpu->samples_us.find(reference_key); known != gpu->samples_us.end())
      longest = std::max(longest, timing::median(known->second));
  return longest;
}

double GpuSet::to_first(const Gpu& gpu, const std::string& reference_key) const {
  const auto known = gpu.samples_us.find(reference_key);
  const auto first = first_us_.find(reference_key);
  if (gpus_.size() == 1 || known == gpu.samples_us.end() || first == first_us_.end()) return 1;
  const double us = timing::median(known->second);
  return us > 0 ? first->second / us : 1;
}

std::vector<GpuUse> GpuSet::uses() {
  const std::lock_guard lock(mutex_);
  std::vector<GpuUse> out;
  for (const auto& gpu : gpus_) out.push_back(gpu->use);
  return out;
}

void GpuSet::lose(std::size_t gpu, const std::string& why) {
  std::string line;
  {
    const std::lock_guard lock(mutex_);
    Gpu& lost = *gpus_[gpu];
    if (!lost.use.lost.empty()) return;
    lost.use.lost = why.empty() ? "it failed" : why;
    std::erase(free_, gpu);
    const std::size_t others = left();
    line = fmt::format("cuda:{} failed and is left out: {}; {}", lost.ordinal, lost.use.lost,
                       others == 0   ? "no GPU is left"
                       : others == 1 ? "its work goes to the one GPU that is left"
                                     : fmt::format("its work goes to the {} others", others));
    moved_.notify_all();
  }
  trace(line);
  if (options_.warn) options_.warn(line);
}

class GpuSet::Turn {
 public:
  Turn(GpuSet& set, std::size_t gpu) : set_(&set), gpu_(gpu) {}
  Turn(Turn&& other) noexcept : set_(std::exchange(other.set_, nullptr)), gpu_(other.gpu_) {}
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  Turn& operator=(Turn&&) = delete;
  ~Turn() {
    if (set_ == nullptr) return;
    const std::lock_guard lock(set_->mutex_);
    if (set_->gpus_[gpu_]->use.lost.empty()) set_->free_.push_back(gpu_);
    set_->moved_.notify_all();
  }
  [[nodiscard]] std::size_t gpu() const { return gpu_; }

 private:
  GpuSet* set_;
  std::size_t gpu_;
};

Result<GpuSet::Turn> GpuSet::take(const Priority& priority) {
  std::unique_lock lock(mutex_);
  const auto mine = line_.join(priority, GpuLine::Clock::now(), free_.size() > 1);
  const auto ends = [&] {
    return cancelled_ || left() == 0 ||
           (!free_.empty() && line_.next(GpuLine::Clock::now()) == mine);
  };
  moved_.wait_until(lock, line_.ready(mine), ends);
  // Whoever leaves wakes the others; whose patience ends asks by itself.
  while (!moved_.wait_for(lock, GpuLine::patience(), ends)) {
  }
  const bool turn_came = !cancelled_ && left() > 0;
  if (turn_came)
    line_.take(mine);
  else
    line_.leave(mine);
  moved_.notify_all();
  if (cancelled_) return fail(ErrorCode::kInfrastructure, "cancelled");
  if (left() == 0) return fail(ErrorCode::kInfrastructure, "no GPU is left: " + who_failed());
  Turn turn(*this, free_.front());
  free_.pop_front();
  lock.unlock();
  return turn;
}

GpuAdmission GpuSet::admit(const protocol::MeasureRequest& request, double deadline_s,
                           const std::stop_token& stopping) {
  const std::string& key = request.timed.reference.key;
  if (gpus_.size() > 1) {
    const std::lock_guard lock(mutex_);
    admissions_.insert_or_assign(key, request);
  }
  std::vector<std::future<Result<protocol::MeasureReply>>> asked;
  std::vector<std::size_t> whom;
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    {
      const std::lock_guard lock(mutex_);
      if (!gpus_[i]->use.lost.empty()) continue;
    }
    whom.push_back(i);
    asked.push_back(
        std::async(gpus_.size() > 1 ? std::launch::async : std::launch::deferred, [&, i] {
          return gpus_[i]->client->measure(request, false, deadline_s, nullptr, stopping);
        }));
  }
  std::optional<Result<protocol::MeasureReply>> answer;
  std::vector<std::pair<std::size_t, std::string>> others;  // that did not end well
  for (std::size_t i = 0; i < asked.size(); ++i) {
    auto reply = asked[i].get();
    const bool ok = reply && reply->verdict == Verdict::kOk;
    if (ok) {
      const std::lock_guard lock(mutex_);
      gpus_[whom[i]]->samples_us[key] = reply->samples_us;
      first_us_.emplace(key, reply->time_us);
    } else {
      others.emplace_back(whom[i], !reply ? reply.error().message
                                          : fmt::format("the reference ended there as {}: {}",
                                                        to_string(reply->verdict), reply->detail));
    }
    const bool better = ok && answer && !(*answer && (*answer)->verdict == Verdict::kOk);
    if (!answer || better) answer = std::move(reply);
  }
  if (!answer) {
    const std::lock_guard lock(mutex_);
    return {.reply = fail(ErrorCode::kInfrastructure, "no GPU is left: " + who_failed())};
  }
  const bool well = *answer && (*answer)->verdict == Verdict::kOk;
  if (!well || is_cancelled()) others.clear();
  return {.reply = std::move(*answer), .unlike = std::move(others)};
}

void GpuSet::leave_out_unlike(const GpuAdmission& admission) {
  for (const auto& [gpu, why] : admission.unlike) lose(gpu, why);
}

Result<GpuSet::Measured> GpuSet::measure_alone(const protocol::MeasureRequest& request,
                                               const Priority& priority, double deadline_s,
                                               GateSeconds* gates, const StillWanted& wanted) {
  Gpu& gpu = *gpus_.front();
  const std::string& key = request.timed.reference.key;
  protocol::MeasureRequest own = request;
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = gpu.samples_us.find(key); known != gpu.samples_us.end())
      own.reference_samples_us = known->second;
  }
  // Encoded before the wait: while one candidate is measured the next one's bytes are ready.
  const auto message = protocol::frame(protocol::to_message(own));
  if (!message) return std::unexpected(message.error());
  StopWatch waiting(gates->wait);
  const auto turn = take(priority);
  waiting.stop();
  if (!turn) return std::unexpected(turn.error());
  if (wanted && !wanted()) return Measured{.given_up = true};
  const double before_s = gates->measure;
  auto reply = gpu.client->measure(*message, own.final_stage, deadline_s, gates);
  if (!reply) return std::unexpected(reply.error());
  const std::lock_guard lock(mutex_);
  ++gpu.use.measured;
  gpu.use.busy_s += gates->measure - before_s;
  // A runner that replaced another may have found others.
  if (!own.final_stage && reply->verdict == Verdict::kOk)
    gpu.samples_us[key] = reply->reference_samples_us;
  return Measured{std::move(*reply), timing::median(own.reference_samples_us), 1};
}

Result<protocol::Frame> GpuSet::message_for(const Gpu& gpu, const protocol::MeasureRequest& request,
                                            nlohmann::json& message) {
  const std::string& key = request.timed.reference.key;
  const std::lock_guard lock(mutex_);
  const auto known = gpu.samples_us.find(key);
  message["reference_samples_us"] =
      known != gpu.samples_us.end() ? known->second : std::vector<double>{};
  message["best_time_us"] = request.best_time_us / to_first(gpu, key);
  return protocol::frame(message);
}

Result<GpuSet::Measured> GpuSet::measure_on(Gpu& gpu, const protocol::MeasureRequest& request,
                                            const protocol::Frame& frame, double deadline_s,
                                            GateSeconds* gates) {
  const std::string& key = request.timed.reference.key;
  Measured measured;
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = gpu.samples_us.find(key); known != gpu.samples_us.end())
      measured.alone_us = timing::median(known->second);
  }
  const double before_s = gates->measure;
  auto reply = gpu.client->measure(frame, request.final_stage, deadline_s, gates);
  const std::lock_guard lock(mutex_);
  ++gpu.use.measured;
  gpu.use.busy_s += gates->measure - before_s;
  if (!reply) return std::unexpected(reply.error());
  measured.reply = std::move(*reply);
  const bool ok = measured.reply.verdict == Verdict::kOk;
  if (ok && !request.final_stage && !measured.reply.reference_samples_us.empty()) {
    gpu.samples_us[key] = measured.reply.reference_samples_us;
    first_us_.emplace(key, timing::median(measured.reply.reference_samples_us));
  }
  measured.to_first = to_first(gpu, key);
  if (ok && !request.final_stage) {
    scale(measured.reply, measured.to_first);
    measured.to_first = 1;
  }
  return measured;
}

std::string GpuSet::mistake_of(Gpu& gpu, const std::string& reference_key, double deadline_s) {
  std::optional<protocol::MeasureRequest> admission;
  {
    const std::lock_guard lock(mutex_);
    const auto known = admissions_.find(reference_key);
    if (known == admissions_.end()) return "";
    admission = known->second;
  }
  const auto reply = gpu.client->measure(*admission, false, deadline_s);
  if (!reply) return reply.error().message;
  return reply->verdict == Verdict::kOk ? "" : std::string(to_string(reply->verdict));
}

Result<GpuSet::Measured> GpuSet::measure(const protocol::MeasureRequest& request,
                                         const Priority& priority, double deadline_s,
                                         GateSeconds* gates, const StillWanted& wanted) {
  GateSeconds unused;
  if (gates == nullptr) gates = &unused;
  if (gpus_.size() == 1) return measure_alone(request, priority, deadline_s, gates, wanted);
  // Before the wait: a GPU that is free is not to idle meanwhile.
  nlohmann::json message = protocol::to_message(request);
  while (true) {
    StopWatch waiting(gates->wait);
    const auto turn = take(priority);
    waiting.stop();
    if (!turn) return std::unexpected(turn.error());
    if (wanted && !wanted()) return Measured{.given_up = true};
    Gpu& gpu = *gpus_[turn->gpu()];
    const auto frame = message_for(gpu, request, message);
    if (!frame) return std::unexpected(frame.error());
    auto measured = measure_on(gpu, request, *frame, deadline_s, gates);
    const bool well = !has_failed(measured);
    // One that was not waited for says nothing of the GPU, neither well nor ill.
    if (well && measured->reply.verdict != Verdict::kSlower) gpu.failures = 0;
    if (well || is_cancelled()) return measured;
    // A GPU that comes back was not the cause; where that goes on, the reference says.
    std::string why;
    if (const auto back = gpu.client->restart(); !back) {
      why = back.error().message;
    } else if (++gpu.failures >= kFailuresInARow) {
      if (const std::string mistake = mistake_of(gpu, request.timed.reference.key, deadline_s);
          !mistake.empty())
        why = fmt::format("{} candidates in a row failed there, and then the reference: {}",
                          kFailuresInARow, mistake);
      gpu.failures = 0;
    }
    if (why.empty() || is_cancelled()) return measured;
    lose(turn->gpu(), why);
  }
}

void GpuSet::freshen_soon() {
  const std::lock_guard lock(mutex_);
  const bool idles = gpus_.size() == 1 && line_.size() == 0 && !free_.empty() && !cancelled_;
  const bool busy = freshening_.valid() &&
                    freshening_.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
  if (!idles || busy) return;
  freshening_ =
      std::async(std::launch::async, [client = gpus_.front()->client.get()] { client->freshen(); });
}

void GpuSet::cancel() {
  {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
    moved_.notify_all();
  }
  for (auto& gpu : gpus_) gpu->client->cancel();
}

void GpuSet::resume() {
  for (auto& gpu : gpus_) gpu->client->resume();
  const std::lock_guard lock(mutex_);
  cancelled_ = false;
}

}  // namespace hone
