#include "rewriters/syntax/parse.h"

#include <gtest/gtest.h>

namespace hone::syntax {
namespace {

std::shared_ptr<const TranslationUnit> parsed(const std::string& source) {
  auto unit = parse(source);
  EXPECT_TRUE(unit.has_value()) << unit.error().message;
  return unit ? *unit : nullptr;
}

const char kMatmul[] = R"(#define TILE 16
extern "C" __global__ void matmul(const float* __restrict__ A, const float* B, float* C, int N) {
  __shared__ float tile[TILE][TILE + 1];
  int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= N) return;
  float sum = 0.0f;
#pragma unroll 4
  for (int k = 0; k < N; ++k) sum += A[row * N + k] * B[k * N + col];
  tile[threadIdx.y][threadIdx.x] = sum;
  C[row * N + col] = sum;
}
)";

TEST(Parse, ShowsKernelParametersAndLocals) {
  const auto unit = parsed(kMatmul);
  const Function* kernel = unit->find_function("matmul");
  ASSERT_NE(kernel, nullptr);
  EXPECT_TRUE(kernel->is_kernel);
  EXPECT_TRUE(kernel->is_extern_c);
  EXPECT_EQ(unit->text(kernel->range).substr(0, 10), "extern \"C\"");
  EXPECT_EQ(unit->text(kernel->range).back(), '}');
  EXPECT_EQ(unit->text(kernel->parameters_range),
            "const float* __restrict__ A, const float* B, float* C, int N");
  ASSERT_EQ(kernel->parameters.size(), 4u);
  EXPECT_TRUE(kernel->parameters[0]->type.is_restrict);
  EXPECT_TRUE(kernel->parameters[0]->type.element->is_const);
  EXPECT_EQ(kernel->parameters[0]->type.element->name, "float");
  EXPECT_EQ(unit->text(kernel->parameters[1]->declaration), "const float* B");
  ASSERT_EQ(kernel->locals.size(), 5u);
  const Variable& tile = *kernel->locals[0];
  EXPECT_EQ(tile.storage, Variable::Storage::kShared);
  EXPECT_EQ(tile.type.extent, 16);
  EXPECT_EQ(tile.type.element->extent, 17);
  EXPECT_EQ(unit->text(tile.declaration), "tile[TILE][TILE + 1]");
  EXPECT_EQ(unit->text(tile.type_range), "__shared__ float");
  EXPECT_TRUE(kernel->locals[1]->single_assignment());
  EXPECT_FALSE(kernel->locals[3]->single_assignment());  // sum
}

TEST(Parse, RangesCoverStatementsWithTheirSemicolons) {
  const auto unit = parsed(kMatmul);
  const Function* kernel = unit->find_function("matmul");
  for (const Stmt* statement : kernel->all_statements) {
    if (statement->kind == Stmt::Kind::kReturn) {
      EXPECT_EQ(unit->text(statement->range), "return;");
    }
    if (statement->kind != Stmt::Kind::kFor) continue;
    EXPECT_EQ(unit->text(statement->range),
              "for (int k = 0; k < N; ++k) sum += A[row * N + k] * B[k * N + col];");
    EXPECT_EQ(unit->text(statement->pragma), "#pragma unroll 4");
    EXPECT_EQ(unit->text(statement->init->range), "int k = 0;");
    EXPECT_EQ(unit->text(statement->expr->range), "k < N");
    EXPECT_EQ(unit->text(statement->step->range), "++k");
  }
}

TEST(Parse, MacroBodiesHaveNoRangeAndWholeMacrosDo) {
  const auto unit = parsed(
      "#define AT(r, c) ((r) * 8 + (c))\n"
      "__global__ void f(float* p, int i, int j) { p[AT(i, j)] = 1.0f; }\n");
  const Function* kernel = unit->find_function("f");
  bool saw_sum = false, saw_product = false, saw_i = false;
  for (const Expr* expr : kernel->all_expressions) {
    if (expr->kind == Expr::Kind::kBinary && expr->text == "+") {
      saw_sum = true;
      EXPECT_EQ(unit->text(expr->range), "AT(i, j)");
    }
    if (expr->kind == Expr::Kind::kBinary && expr->text == "*") {
      saw_product = true;
      EXPECT_FALSE(expr->range.valid());
    }
    if (expr->variable != nullptr && expr->variable->name == "i") {
      saw_i = true;
      EXPECT_EQ(unit->text(expr->range), "i");
    }
  }
  EXPECT_TRUE(saw_sum && saw_product && saw_i);
}

TEST(Parse, ErrorsNameTheirPlace) {
  const auto unit = parse("__global__ void f(float* p) {\n  p[0] = undefined_name;\n}\n");
  ASSERT_FALSE(unit.has_value());
  EXPECT_EQ(unit.error().code, ErrorCode::kInvalidInput);
  EXPECT_EQ(unit.error().message.substr(0, 5), "2:10:") << unit.error().message;
}

TEST(Parse, RefusesHostCodeByName) {
  const auto unit = parse("__global__ void f(float* p) {}\nint main() { return 0; }\n");
  ASSERT_FALSE(unit.has_value());
  EXPECT_NE(unit.error().message.find("host function 'main'"), std::string::npos)
      << unit.error().message;
}

TEST(Parse, AcceptsTheHeadersItStandsInFor) {
  parsed(R"(
#include <cuda_runtime.h>
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <mma.h>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cmath>
#include <cstdint>
#include <cfloat>
#include <climits>
namespace cg = cooperative_groups;
using namespace nvcuda;
__global__ void f(const half* a, const __nv_bfloat16* b, float* c, uint32_t n) {
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc;
  wmma::fill_fragment(acc, 0.0f);
  wmma::load_matrix_sync(fa, a, 16);
  wmma::store_matrix_sync(c, acc, 16, wmma::mem_row_major);
  half h = __hadd(a[0], __float2half(1.0f)) * a[1];
  h += a[2];
  __half2 h2 = __hfma2(__float2half2_rn(1.f), make_half2(h, h), __half2half2(h));
  float x = __half2float(h) + static_cast<float>(a[3]) + (float)b[0] + __low2float(h2);
  x = cg::reduce(warp, x, cg::plus<float>());
  x += __shfl_xor_sync(0xffffffff, x, 16) + std::max(x, 1.0f) + fmaxf(x, FLT_MAX) + expf(-x);
  block.sync();
  if (x > INT_MAX && !isnan(x)) x = -INFINITY;
  float4 v = reinterpret_cast<const float4*>(c)[threadIdx.x];
  v.x = rsqrtf(v.y) + std::sqrt(v.z) + pow(v.w, 2) + M_PI;
  atomicAdd(&c[n], v.x);
  atomicMax(reinterpret_cast<int*>(c), __float_as_int(x));
  c[blockIdx.x] = min(x, 3.f) + min(n, 4u) + __ldg(c + 1) + v.x + __fdividef(x, 2.f);
  printf("%d\n", (int)n);
  assert(n > 0);
})");
}

TEST(Parse, TemplatesAreShownAsTheirPattern) {
  const auto unit = parsed(R"(
template <typename T, int BLOCK>
__global__ void scale(const T* __restrict__ in, T* out, int n) {
  __shared__ T tile[BLOCK];
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i < n) out[i] = in[i] * T(2);
})");
  const Function* kernel = unit->find_function("scale<float, 256>");
  ASSERT_NE(kernel, nullptr);
  EXPECT_TRUE(kernel->is_template);
  EXPECT_TRUE(kernel->parameters[0]->type.is_pointer());
  EXPECT_EQ(unit->text(kernel->range).substr(0, 9), "template ");
}

TEST(Parse, FindsFunctionsOfNamespaces) {
  const auto unit = parsed(
      "namespace a { struct S {}; template <class F> __global__ void f(F) {} __device__ void "
      "twice() {} }\n"
      "namespace b { __device__ void twice() {} }\n");
  const Function* kernel = unit->find_function("a::f<a::S>");
  ASSERT_NE(kernel, nullptr);
  EXPECT_TRUE(kernel->is_kernel);
  EXPECT_EQ(unit->find_function("a::twice"), nullptr) << "there are two";
}

TEST(Parse, RepeatedParsesShareTheirResult) {
  EXPECT_EQ(parsed(kMatmul).get(), parsed(kMatmul).get());
}

/// A search returns to programs that it has not seen for hundreds of others.
TEST(Parse, ManyResultsAreKept) {
  const auto all = [] {
    for (int i = 0; i < 800; ++i)
      (void)parsed("__device__ int f() { return " + std::to_string(i) + "; }\n");
  };
  all();
  const std::size_t once = parse_count();
  all();
  EXPECT_EQ(parse_count(), once);
}

}  // namespace
}  // namespace hone::syntax
