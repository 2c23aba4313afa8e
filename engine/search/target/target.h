// What a search works for: a device, and the queue to whoever evaluates on it.
#pragma once

#include <cstddef>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/queue/queue.h"
#include "evaluator/device_spec.h"
#include "evaluator/evaluator.h"

namespace hone {

/// One of those who evaluate for a target.
struct TargetWorker {
  std::string id;
  std::size_t devices = 0;
  bool there = true;  ///< false: silent, and may come back
};

struct Target {
  DeviceSpec device;
  DeviceInfo info;
  std::size_t window = 1;  ///< evaluations that may be in flight; what works best
  SearchQueue& queue;
  /// How many time candidates independently of each other: final stages at once.
  std::size_t devices = 1;
  /// Of this process: its GPUs and what they have done, by now. Empty: no GPUs of this process.
  std::function<std::vector<GpuUse>()> gpus = {};
  /// Of a service. Empty: this process evaluates.
  std::function<std::vector<TargetWorker>()> workers = {};
  /// Compiles a request's programs before it is submitted; blocks (Evaluator::compile_ahead).
  /// Empty: nothing is compiled before it is submitted, as on an emulated device and in a service.
  std::function<void(const EvaluationRequest&, const std::stop_token&)> compile_ahead = {};
  /// Says that a worker's word was not believed; there where `workers` is.
  std::function<void(const std::string& worker, const std::string& why)> report_disagreement = {};
};

/// Recipes in flight on emu: devices. A fixed number, so that what the strategy knew when it was
/// asked does not depend on the machine.
inline constexpr std::size_t kModelledWindow = 24;

/// How many GPUs measure at once for a target, at least 1.
[[nodiscard]] std::size_t gpus_of(const Target& target);

/// Of several GPUs of this process: why none is left. Empty: there is one.
[[nodiscard]] std::string all_gpus_lost(const Target& target);

/// Has one piece of work done, while nothing else is in flight. `give_up` ends the waiting, with
/// kInfrastructure; it may be empty.
[[nodiscard]] Result<Evaluation> evaluate_and_wait(SearchQueue& queue, Work work,
                                                   const std::function<bool()>& give_up = {});

}  // namespace hone
