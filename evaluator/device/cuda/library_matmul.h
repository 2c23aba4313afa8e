// A matrix product of cuBLAS or cuBLASLt, bound to buffers: what a LoadedProgram launches for a
// Runnable with a library call.
#pragma once

#include <memory>
#include <vector>

#include "evaluator/device/cuda/cublas.h"
#include "evaluator/device/cuda/gpu.h"
#include "evaluator/library_call.h"

namespace hone::cuda {

/// "cuBLAS 13.1.0 (path)": opens the library and creates its handles in the GPU's context, which
/// they then keep for the process's life. kEnvironment when there is no such library.
[[nodiscard]] Result<std::string> open_libraries(Gpu& gpu);

class LibraryMatmul {
 public:
  /// `buffers` outlives this and holds what `call` names. Fails as a launch error.
  [[nodiscard]] static Outcome<std::unique_ptr<LibraryMatmul>> load(
      Gpu& gpu, const MatmulCall& call, const std::vector<ConcreteBuffer>& buffers);
  ~LibraryMatmul();
  LibraryMatmul(const LibraryMatmul&) = delete;
  LibraryMatmul& operator=(const LibraryMatmul&) = delete;

  /// One address per buffer.
  void bind(const std::vector<std::uint64_t>& addresses) { addresses_ = addresses; }
  /// Queues the product.
  [[nodiscard]] Outcome<void> launch();

 private:
  LibraryMatmul(Gpu& gpu, const MatmulCall& call) : gpu_(gpu), call_(call) {}
  [[nodiscard]] Outcome<void> choose_algorithm();
  [[nodiscard]] CublasStatus launch_gemv();
  [[nodiscard]] CublasStatus launch_gemm();
  [[nodiscard]] CublasStatus launch_lt();
  [[nodiscard]] void* address(int buffer) const {
    return reinterpret_cast<void*>(addresses_[static_cast<std::size_t>(buffer)]);
  }

  Gpu& gpu_;
  const MatmulCall call_;
  int type_ = kCudaR32F, out_type_ = kCudaR32F;
  int compute_ = kCompute32F;
  bool gemv_ = false;
  std::vector<std::uint64_t> addresses_;
  // The row-major product as a column-major one: out^T = B^T A^T.
  int op_first_ = kOpN, op_second_ = kOpN, ld_first_ = 1, ld_second_ = 1;
  // cuBLASLt alone:
  CublasLtObject desc_ = nullptr, layout_first_ = nullptr, layout_second_ = nullptr,
                 layout_out_ = nullptr;
  CublasLtHeuristic algorithm_;
};

}  // namespace hone::cuda
