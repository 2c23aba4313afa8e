// Processes of one final evaluation, started for it and ended with it: the shared ones have read
// other candidates' sources. Nothing that they say goes into or comes from the cache.
#pragma once

#include <algorithm>
#include <atomic>
#include <deque>

#include "evaluator/evaluator_impl.h"

namespace hone {

struct EvaluatorImpl::FinalRunners {
  explicit FinalRunners(EvaluatorImpl& evaluator)
      : candidate("compile", compilers(evaluator), evaluator.options_),
        reference("compile", 1, evaluator.options_),
        modeller("emulate", 1, evaluator.options_),
        owner(evaluator) {
    for (int i = 0; i < evaluator.final_check_processes(); ++i)
      emulators.emplace_back("emulate", 1, evaluator.options_);
    const std::lock_guard lock(owner.mutex_);
    owner.final_runners_.insert(this);
    if (owner.cancelled_) cancel();
  }
  ~FinalRunners() {
    const std::lock_guard lock(owner.mutex_);
    owner.final_runners_.erase(this);
  }
  FinalRunners(const FinalRunners&) = delete;
  FinalRunners& operator=(const FinalRunners&) = delete;

  [[nodiscard]] Effort for_candidate() { return {.own = &candidate, .serial = serial}; }
  [[nodiscard]] Effort for_reference() { return {.own = &reference, .serial = serial + 1}; }

  void cancel() {
    for (auto* pool : {&candidate, &reference, &modeller}) pool->cancel();
    for (auto& pool : emulators) pool.cancel();
  }

  pool::RunnerPool candidate, reference;
  /// Of one process each: what is asked of it once more, it may know. At least one.
  std::deque<pool::RunnerPool> emulators;
  pool::RunnerPool modeller;  ///< of the reference alone
  EvaluatorImpl& owner;
  const std::uint64_t serial = next_serial();

 private:
  /// What a GPU runs is compiled well, for several check sizes: a large kernel takes a second each.
  static int compilers(const EvaluatorImpl& evaluator) {
    return evaluator.gpu_ ? std::clamp(evaluator.cores_ / 2, 1, 6) : 1;
  }
  static std::uint64_t next_serial() {
    static std::atomic<std::uint64_t> last = 0;
    return last += 2;
  }
};

}  // namespace hone
