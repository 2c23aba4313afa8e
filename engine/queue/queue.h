// Work goes to workers, results come back. The search sees only this interface.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "candidates/measurement.h"
#include "candidates/result.h"
#include "evaluator/evaluator.h"

namespace hone {

struct Work {
  std::uint64_t id = 0;  ///< unique within the queue; a result carries it back
  EvaluationRequest request;
};

struct Done {
  std::uint64_t id = 0;
  Result<Evaluation> evaluation;
};

/// Thread-safe. A closed queue takes no work and wakes everybody.
class Queue {
 public:
  virtual ~Queue() = default;
  /// Blocks while the queue is full. False when closed.
  virtual bool submit(Work work) = 0;
  /// Worker side: the next piece of work; empty when closed or after `timeout`.
  virtual std::optional<Work> take(std::chrono::milliseconds timeout) = 0;
  virtual void complete(Done done) = 0;
  /// Search side: the next result in order of completion; empty when closed or after `timeout`.
  virtual std::optional<Done> next_result(std::chrono::milliseconds timeout) = 0;
  virtual void close() = 0;
};

}  // namespace hone
