// The measure mode of hone-runner: checks and times programs on the real GPU.
//
// What a candidate can see while it runs: the inputs, its own poisoned outputs, its scratch. The
// reference runs after it, into memory that is wiped before any candidate runs again, from inputs
// generated afresh. Code is loaded anew between check and timing.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "evaluator/device/cuda/gpu.h"
#include "evaluator/device/cuda/loaded_program.h"
#include "evaluator/protocol/measure_messages.h"

namespace hone::runner {

class Measure {
 public:
  explicit Measure(cuda::Gpu& gpu) : gpu_(gpu) {}
  [[nodiscard]] protocol::MeasureReply handle(const protocol::MeasureRequest& request);

 private:
  protocol::MeasureReply admit(const protocol::MeasureRequest& request);
  protocol::MeasureReply evaluate(const protocol::MeasureRequest& request);

  cuda::Gpu& gpu_;
  std::map<std::string, std::vector<double>> reference_samples_;  ///< [us], by runnable key
};

}  // namespace hone::runner
