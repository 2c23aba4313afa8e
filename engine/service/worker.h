// A node's devices at the service of a coordinator: pulls evaluations through Redis, evaluates them
// in this process's evaluators and their confined children, answers.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/queue/broker.h"
#include "engine/queue/log_event.h"
#include "engine/service/input_cache.h"
#include "engine/service/metrics.h"
#include "evaluator/device_spec.h"
#include "evaluator/evaluator.h"

namespace hone {

struct WorkerDeviceOptions {
  DeviceSpec spec;
  Evaluator* evaluator = nullptr;  ///< of that device; outlives the worker
  int at_once = 1;                 ///< evaluations
};

struct WorkerOptions {
  std::string id;  ///< unique among the workers; see messages.h
  std::string host;
  std::vector<WorkerDeviceOptions> devices;
  InputCacheOptions inputs;                  ///< that tasks read from files
  Log log;                                   ///< from any thread
  double idle_s = 10;                        ///< without work for so long, the log says so
  Metrics* metrics = nullptr;                ///< engine/service/METRICS.md; null: nobody reads them
  const std::atomic<bool>* drain = nullptr;  ///< takes nothing new, finishes, returns
  const std::atomic<bool>* stop = nullptr;   ///< hands back what is at work, returns
};

/// Until told to end. Errors: kEnvironment, when the server refuses the worker; kInvalidInput for
/// an id that is none.
[[nodiscard]] Result<void> run_worker(queue::Broker& broker, const WorkerOptions& options);

}  // namespace hone
