// A compiled program in a GPU's context, bound to buffers.
#pragma once

#include <memory>
#include <vector>

#include "evaluator/device/cuda/gpu.h"
#include "evaluator/device/cuda/library_matmul.h"
#include "evaluator/protocol/messages.h"

namespace hone::cuda {

/// Owns its module: destroying it unloads the code and its `__device__` variables. A Runnable with
/// a library call has no module: the call runs in the launches' place.
class LoadedProgram {
 public:
  [[nodiscard]] static Outcome<std::unique_ptr<LoadedProgram>> load(
      Gpu& gpu, const protocol::Runnable& runnable);
  ~LoadedProgram();
  LoadedProgram(const LoadedProgram&) = delete;
  LoadedProgram& operator=(const LoadedProgram&) = delete;

  /// Packs the arguments of every launch; `addresses` holds one per buffer of the program.
  [[nodiscard]] Outcome<void> bind(const std::vector<std::uint64_t>& addresses);

  /// Queues every launch.
  [[nodiscard]] Outcome<void> launch() { return launch(0, launches()); }
  /// Of a library call 1.
  [[nodiscard]] std::size_t launches() const { return library_ ? 1 : functions_.size(); }
  /// Queues those from `from` on, up to but without `end`.
  [[nodiscard]] Outcome<void> launch(std::size_t from, std::size_t end);

 private:
  LoadedProgram(Gpu& gpu, const protocol::Runnable& runnable) : gpu_(gpu), runnable_(runnable) {}

  Gpu& gpu_;
  const protocol::Runnable& runnable_;  ///< outlives this
  CUmodule module_ = nullptr;
  std::unique_ptr<LibraryMatmul> library_;  ///< instead of a module and launches
  std::vector<CUfunction> functions_;       ///< per launch
  struct Arguments {
    std::vector<std::uint8_t> block;
    std::vector<void*> starts;  ///< of each in the block, and a null
  };
  std::vector<Arguments> arguments_;  ///< per launch
};

}  // namespace hone::cuda
