// cuBLAS and cuBLASLt, opened at run time. Used in runners of the mode "library" alone.
//
// NVIDIA's headers for them are no dependency of the build: what is used of their C interface is
// declared here, with the names and the values of cublas_api.h and cublasLt.h (CUDA 12 and 13).
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "candidates/result.h"

namespace hone::cuda {

using CublasStatus = int;  // 0: success
using CublasHandle = struct CublasContext*;
using CublasLtHandle = struct CublasLtContext*;
using CublasLtObject = void*;  // a descriptor, a layout or a preference

// cublasOperation_t
inline constexpr int kOpN = 0, kOpT = 1;
// cudaDataType
inline constexpr int kCudaR32F = 0, kCudaR64F = 1, kCudaR16F = 2, kCudaR16BF = 14;
// cublasComputeType_t
inline constexpr int kCompute32F = 68, kCompute64F = 70, kCompute32FFastTf32 = 77;
// cublasGemmAlgo_t
inline constexpr int kGemmDefault = -1;
// cublasLtMatmulDescAttributes_t
inline constexpr int kMatmulDescTransA = 3, kMatmulDescTransB = 4;
// cublasLtMatrixLayoutAttribute_t
inline constexpr int kLayoutBatchCount = 5, kLayoutStridedBatchOffset = 6;
// cublasLtMatmulPreferenceAttributes_t
inline constexpr int kPreferenceMaxWorkspaceBytes = 1;

/// cublasLtMatmulHeuristicResult_t
struct CublasLtHeuristic {
  std::uint64_t algorithm[8] = {};
  std::size_t workspace_bytes = 0;
  CublasStatus state = 0;
  float waves = 0;
  int reserved[4] = {};
};

struct Cublas {
  CublasStatus (*create)(CublasHandle*) = nullptr;
  CublasStatus (*set_stream)(CublasHandle, CUstream) = nullptr;
  CublasStatus (*set_workspace)(CublasHandle, void*, std::size_t bytes) = nullptr;
  CublasStatus (*get_version)(CublasHandle, int*) = nullptr;
  const char* (*get_status_string)(CublasStatus) = nullptr;
  CublasStatus (*sgemv)(CublasHandle, int op, int m, int n, const float* alpha, const void* a,
                        int lda, const void* x, int incx, const float* beta, void* y,
                        int incy) = nullptr;
  CublasStatus (*dgemv)(CublasHandle, int op, int m, int n, const double* alpha, const void* a,
                        int lda, const void* x, int incx, const double* beta, void* y,
                        int incy) = nullptr;
  CublasStatus (*gemm)(CublasHandle, int op_a, int op_b, int m, int n, int k, const void* alpha,
                       const void* a, int type_a, int lda, const void* b, int type_b, int ldb,
                       const void* beta, void* c, int type_c, int ldc, int compute,
                       int algorithm) = nullptr;
  CublasStatus (*gemm_batched)(CublasHandle, int op_a, int op_b, int m, int n, int k,
                               const void* alpha, const void* a, int type_a, int lda,
                               long long stride_a, const void* b, int type_b, int ldb,
                               long long stride_b, const void* beta, void* c, int type_c, int ldc,
                               long long stride_c, int batch, int compute, int algorithm) = nullptr;

  CublasStatus (*lt_create)(CublasLtHandle*) = nullptr;
  CublasStatus (*lt_desc_create)(CublasLtObject*, int compute, int scale_type) = nullptr;
  CublasStatus (*lt_desc_set)(CublasLtObject, int what, const void*, std::size_t bytes) = nullptr;
  CublasStatus (*lt_desc_destroy)(CublasLtObject) = nullptr;
  CublasStatus (*lt_layout_create)(CublasLtObject*, int type, std::uint64_t rows,
                                   std::uint64_t columns, std::int64_t ld) = nullptr;
  CublasStatus (*lt_layout_set)(CublasLtObject, int what, const void*, std::size_t bytes) = nullptr;
  CublasStatus (*lt_layout_destroy)(CublasLtObject) = nullptr;
  CublasStatus (*lt_preference_create)(CublasLtObject*) = nullptr;
  CublasStatus (*lt_preference_set)(CublasLtObject, int what, const void*,
                                    std::size_t bytes) = nullptr;
  CublasStatus (*lt_preference_destroy)(CublasLtObject) = nullptr;
  CublasStatus (*lt_heuristic)(CublasLtHandle, CublasLtObject desc, CublasLtObject a,
                               CublasLtObject b, CublasLtObject c, CublasLtObject d,
                               CublasLtObject preference, int requested, CublasLtHeuristic*,
                               int* found) = nullptr;
  CublasStatus (*lt_matmul)(CublasLtHandle, CublasLtObject desc, const void* alpha, const void* a,
                            CublasLtObject layout_a, const void* b, CublasLtObject layout_b,
                            const void* beta, const void* c, CublasLtObject layout_c, void* d,
                            CublasLtObject layout_d, const std::uint64_t* algorithm,
                            void* workspace, std::size_t bytes, CUstream) = nullptr;

  std::string path;
  [[nodiscard]] std::string describe(CublasStatus status) const;

  /// Opens the libraries, once: HONE_LIBCUBLAS (the path of libcublas), CUDA's folders, the
  /// loader's path. kEnvironment says what is missing.
  [[nodiscard]] static const Result<Cublas>& get();
};

}  // namespace hone::cuda
