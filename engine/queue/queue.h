// Work goes to workers, results come back. A search sees one end, workers the other.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "candidates/measurement.h"
#include "candidates/result.h"
#include "evaluator/evaluator.h"

namespace hone {

struct Work {
  std::uint64_t id = 0;  ///< unique within the queue; a result carries it back
  EvaluationRequest request;
  enum class Kind {
    kEvaluate,  ///< through every gate
    kAdmit,     ///< the task itself: the request's candidate is its reference
  };
  Kind kind = Kind::kEvaluate;
  std::string worker = {};  ///< the only one that may do it; empty: any
};

/// "admission", "search" or "final": what metrics call it.
[[nodiscard]] constexpr std::string_view stage_of(Work::Kind kind,
                                                  const EvaluationRequest& request) {
  if (kind == Work::Kind::kAdmit) return "admission";
  return request.stage == Stage::kFinal ? "final" : "search";
}

struct Done {
  std::uint64_t id = 0;
  Result<Evaluation> evaluation;
  std::string worker = {};  ///< that evaluated; empty: of this process, or none
};

/// The search's end. Thread-safe.
class SearchQueue {
 public:
  virtual ~SearchQueue() = default;
  /// Blocks while the queue is full. False when cancelled or closed.
  virtual bool submit(Work work) = 0;
  /// The next result in order of completion; empty when closed, after `timeout` or wake().
  virtual std::optional<Done> next_result(std::chrono::milliseconds timeout) = 0;
  /// Ends one waiting for a result, the present or else the next one: there is other news.
  virtual void wake() = 0;
  /// A result that needs no worker: next_result() gives it like the others.
  virtual void post(Done done) = 0;
  /// Drops what no worker has begun and waits for the rest, which returns soon, with errors; until
  /// resume() nothing is taken.
  virtual void cancel() = 0;
  virtual void resume() = 0;
};

/// The workers' end. Thread-safe.
class WorkerQueue {
 public:
  virtual ~WorkerQueue() = default;
  /// The next piece of work; empty when closed or after `timeout`.
  virtual std::optional<Work> take(std::chrono::milliseconds timeout) = 0;
  virtual void complete(Done done) = 0;
  /// Wakes everybody; takes and gives no more work.
  virtual void close() = 0;
};

}  // namespace hone
