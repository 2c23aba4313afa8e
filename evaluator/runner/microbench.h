// The measure mode's half of `hone calibrate`: loads the microbenchmarks and runs one at a time.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "evaluator/device/cuda/gpu.h"
#include "evaluator/protocol/calibrate_messages.h"

namespace hone::runner {

class Microbench {
 public:
  explicit Microbench(cuda::Gpu& gpu) : gpu_(gpu) {}

  /// Two zeroed buffers of `bytes`, halved until they fit.
  [[nodiscard]] Result<protocol::BenchDevice> load(const std::string& cubin, std::int64_t bytes);
  [[nodiscard]] protocol::BenchReply run(const protocol::BenchRequest& request);

 private:
  cuda::Outcome<void> launch(const protocol::BenchRequest& request);
  cuda::Outcome<protocol::BenchReply> run_all(const protocol::BenchRequest& request);

  cuda::Gpu& gpu_;
  CUmodule module_ = nullptr;
  std::map<std::string, CUfunction> kernels_;
  CUdeviceptr out_ = 0, a_ = 0, b_ = 0;
};

}  // namespace hone::runner
