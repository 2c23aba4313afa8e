// cuBLAS and cuBLASLt on the GPU: every type and layout against a plain kernel.
#include "evaluator/library_bench.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace hone {
namespace {

struct Type {
  ScalarType type;
  const char* name;
  const char* accumulator;
  Tolerance tolerance;
};

/// One thread per element of C, with B or A transposed as the call says.
LibraryCase product(const Type& type, MatmulCall call) {
  LibraryCase one;
  auto& p = one.reference;
  p.source = fmt::format(
      R"(#include <cuda_bf16.h>
#include <cuda_fp16.h>
extern "C" __global__ void product(const {0}* A, const {0}* B, {0}* C, int m, int n, int k) {{
  int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y;
  if (j >= n) return;
  A += (size_t)blockIdx.z * {2};
  B += (size_t)blockIdx.z * {3};
  {1} sum = 0;
  for (int l = 0; l < k; ++l) sum += ({1})A[{4}] * ({1})B[{5}];
  C[((size_t)blockIdx.z * m + i) * n + j] = ({0})sum;
}})",
      type.name, type.accumulator, call.a_stride, call.b_stride,
      call.a_transposed ? "l * m + i" : "i * k + l", call.b_transposed ? "j * k + l" : "l * n + j");
  p.buffers = {{"A", type.type, {call.batch, call.m, call.k}, Role::kIn, {}},
               {"B", type.type, {call.batch, call.k, call.n}, Role::kIn, {}},
               {"C", type.type, {call.batch, call.m, call.n}, Role::kOut, {}}};
  p.launches = {{"product",
                 {(call.n + 127) / 128, call.m, call.batch},
                 {128, 1, 1},
                 0,
                 {BufferIndex{0}, BufferIndex{1}, BufferIndex{2}, call.m, call.n, call.k}}};
  one.call = call;
  one.call.a = 0;
  one.call.b = 1;
  one.call.out = 2;
  one.seed = 3;
  return one;
}

TEST(LibraryOnTheGpu, EveryTypeAndLayoutIsRight) {
  auto bench = LibraryBench::open(0, {});
  if (!bench) {
    if (std::getenv("HONE_REQUIRE_GPU") != nullptr) FAIL() << bench.error().message;
    GTEST_SKIP() << bench.error().message;
  }
  for (const Type& type : {Type{ScalarType::kF32, "float", "float", {1e-4, 1e-4}},
                           Type{ScalarType::kF64, "double", "double", {1e-10, 1e-10}},
                           Type{ScalarType::kF16, "__half", "float", {1e-2, 1e-2}},
                           Type{ScalarType::kBf16, "__nv_bfloat16", "float", {2e-2, 2e-2}}}) {
    for (const Library library : {Library::kCublas, Library::kCublasLt}) {
      for (int layout = 0; layout < 6; ++layout) {
        MatmulCall call{library, 0, 1, 2, 200, 96, 72};
        call.a_transposed = (layout & 1) != 0;
        call.b_transposed = (layout & 2) != 0;
        if (layout == 4) call.batch = 3;
        if (layout == 5) call.n = 1;
        if (call.batch > 1) {
          call.a_stride = call.m * call.k;
          call.b_stride = call.k * call.n;
        }
        LibraryRequest request;
        request.timed = product(type, call);
        request.tolerance = type.tolerance;
        const auto result = (*bench)->measure(request);
        ASSERT_TRUE(result) << result.error().message;
        EXPECT_EQ(result->verdict, Verdict::kOk)
            << type.name << " layout " << layout << " " << result->detail;
        EXPECT_GT(result->measurement.time_us, 0);
      }
    }
  }
}

}  // namespace
}  // namespace hone
