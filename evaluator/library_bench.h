// Times a vendor's library on a task, as a candidate of the final stage is timed: checked against
// the reference at every size, in a sandboxed process of its own, interleaved with the reference,
// with a flushed L2. For `hone baseline`.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "candidates/measurement.h"
#include "candidates/task.h"
#include "evaluator/evaluator.h"
#include "evaluator/library_call.h"

namespace hone {

class GpuClient;
namespace pool {
class RunnerPool;
}

/// One size: the reference, and the call that computes the same.
struct LibraryCase {
  ConcreteProgram reference;
  MatmulCall call;
  std::uint64_t seed = 0;  ///< of the fills
};

struct LibraryRequest {
  std::vector<LibraryCase> checks;
  LibraryCase timed;
  Tolerance tolerance;
  std::uint64_t seed = 0;
};

/// Single-threaded.
class LibraryBench {
 public:
  /// Errors: kEnvironment (no GPU, no NVRTC, no cuBLAS: says what to install).
  [[nodiscard]] static Result<std::unique_ptr<LibraryBench>> open(int ordinal,
                                                                  const EvaluatorOptions& options);
  ~LibraryBench();

  [[nodiscard]] const std::string& device_name() const { return device_name_; }
  /// "cuBLAS 13.1.0, driver 13.0"
  [[nodiscard]] const std::string& versions() const { return versions_; }

  /// A library that fails or is wrong at the task's tolerance is a verdict. Errors: kTaskFailed
  /// (the reference does not compile or run), kInfrastructure.
  [[nodiscard]] Result<Evaluation> measure(const LibraryRequest& request);

 private:
  LibraryBench(std::unique_ptr<GpuClient> gpu, const EvaluatorOptions& options);

  const EvaluatorOptions options_;
  std::unique_ptr<GpuClient> gpu_;
  std::unique_ptr<pool::RunnerPool> compilers_;
  std::string device_name_, versions_;
};

}  // namespace hone
