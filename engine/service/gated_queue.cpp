#include "engine/service/gated_queue.h"

#include <algorithm>
#include <exception>
#include <utility>

namespace hone {
namespace {

using std::chrono::milliseconds;

/// What only the GPU can tell: the emulator lacks an instruction or runs too long, or its model
/// finds the candidate faster than can be.
bool is_the_gpus(const Evaluation& gates) {
  return gates.verdict == Verdict::kUnsupported || gates.verdict == Verdict::kTimeout ||
         gates.verdict == Verdict::kTampering;
}

}  // namespace

GatedQueue::GatedQueue(std::unique_ptr<SearchQueue> gpu, std::unique_ptr<SearchQueue> emulators,
                       std::function<int()> capacity)
    : gpu_(std::move(gpu)),
      emulators_(std::move(emulators)),
      capacity_(std::move(capacity)),
      forwarder_([this](const std::stop_token& stopping) { forward(stopping); }) {}

bool GatedQueue::submit(Work work) {
  const bool at_the_gates = work.kind == Work::Kind::kEvaluate &&
                            work.request.stage == Stage::kQuick && take_in(work, capacity_());
  if (!at_the_gates) return gpu_->submit(std::move(work));
  const std::uint64_t id = work.id;
  work.request.measure_first = false;
  work.request.screen_above_us = 0;
  work.request.best_time_us = 0;
  if (emulators_->submit(std::move(work))) return true;
  // They have just been given up, or all is cancelled.
  std::optional<Work> own = take_out(id);
  return !own || gpu_->submit(std::move(*own));
}

/// Is there room for it at the gates? Then a copy of it waits there.
bool GatedQueue::take_in(const Work& work, int capacity) {
  const std::lock_guard lock(mutex_);
  if (failures_ >= kMostFailures || static_cast<int>(at_the_gates_.size()) >= capacity)
    return false;
  at_the_gates_[work.id] = work;
  return true;
}

std::optional<Work> GatedQueue::take_out(std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  const auto found = at_the_gates_.find(id);
  if (found == at_the_gates_.end()) return std::nullopt;
  Work work = std::move(found->second);
  at_the_gates_.erase(found);
  return work;
}

std::optional<Done> GatedQueue::next_result(milliseconds timeout) {
  auto done = gpu_->next_result(timeout);
  if (!done) return done;
  const std::lock_guard lock(mutex_);
  const auto passed = passed_.find(done->id);
  if (passed == passed_.end()) return done;
  if (done->evaluation) {
    Evaluation& evaluation = *done->evaluation;
    evaluation.modelled_us = passed->second.measurement.time_us;
    evaluation.max_rel_error = std::max(evaluation.max_rel_error, passed->second.max_rel_error);
    evaluation.reference_error = passed->second.reference_error;
    evaluation.gates += passed->second.gates;
  }
  passed_.erase(passed);
  return done;
}

void GatedQueue::cancel() {
  emulators_->cancel();
  {
    const std::lock_guard lock(mutex_);
    at_the_gates_.clear();
    passed_.clear();
  }
  gpu_->cancel();
}

void GatedQueue::resume() {
  gpu_->resume();
  emulators_->resume();
}

void GatedQueue::forward(const std::stop_token& stopping) {
  while (!stopping.stop_requested()) {
    auto done = emulators_->next_result(milliseconds(100));
    if (done) {
      const std::uint64_t id = done->id;
      try {
        take(std::move(*done));
      } catch (const std::exception& e) {  // no memory left, say
        gpu_->post({id, fail(ErrorCode::kInfrastructure, e.what())});
      }
    }
    if (failures_ >= kMostFailures || (!done && capacity_() == 0)) give_up_on_the_emulators();
  }
}

/// One that idles may as well measure what the model gives no chance.
bool GatedQueue::gpu_is_busy() {
  const std::lock_guard lock(mutex_);
  return passed_.size() >= kBusyGpu;
}

/// The last of them is gone, or they fail.
void GatedQueue::give_up_on_the_emulators() {
  std::unordered_map<std::uint64_t, Work> left;
  {
    const std::lock_guard lock(mutex_);
    left.swap(at_the_gates_);
  }
  if (left.empty()) return;
  emulators_->cancel();
  emulators_->resume();
  for (auto& [id, work] : left) submit_to_gpu(std::move(work));
}

void GatedQueue::submit_to_gpu(Work work) {
  const std::uint64_t id = work.id;
  if (!gpu_->submit(std::move(work)))
    gpu_->post({id, fail(ErrorCode::kInfrastructure, "cancelled")});
}

void GatedQueue::take(Done done) {
  std::optional<Work> work = take_out(done.id);
  if (!work) return;  // cancelled, or given up meanwhile
  failures_ = done.evaluation ? 0 : failures_ + 1;
  if (done.evaluation && !is_the_gpus(*done.evaluation)) {
    ++judged_;
    Evaluation& gates = *done.evaluation;
    const double modelled_us = gates.measurement.time_us;
    const bool screened = work->request.screen_above_us > 0 &&
                          modelled_us > work->request.screen_above_us && gpu_is_busy();
    if (gates.verdict != Verdict::kOk || screened) {
      gates.measurement = {};
      gates.screened = gates.verdict == Verdict::kOk;
      if (gates.screened) gates.modelled_us = modelled_us;
      gpu_->post(std::move(done));
      return;
    }
    work->request.checks.clear();
    work->request.measure_first = false;
    work->request.screen_above_us = 0;
    const std::lock_guard lock(mutex_);
    passed_[done.id] = std::move(gates);
  }
  submit_to_gpu(std::move(*work));
}

}  // namespace hone
