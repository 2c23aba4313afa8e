#include "rewriters/syntax/analysis.h"

#include <gtest/gtest.h>

#include "rewriters/syntax/parse.h"

namespace hone::syntax {
namespace {

hone::Expr size(const std::string& text) { return *hone::Expr::parse(text); }

/// A program of one launch, whose arguments are buffers ("A") and size expressions ("=N").
struct Analysed {
  Program program;
  std::shared_ptr<const TranslationUnit> unit;
  std::vector<KernelInfo> infos;

  Analysed(const std::string& source, const std::string& kernel,
           const std::vector<std::string>& args, const std::string& grid = "4",
           const std::string& block = "128") {
    program.source = source;
    Launch launch;
    launch.kernel = kernel;
    launch.grid = {size(grid)};
    launch.block = {size(block)};
    for (const std::string& text : args) {
      Argument argument;
      if (text[0] == '=') {
        argument.kind = Argument::Kind::kExpr;
        argument.expr = size(text.substr(1));
      } else {
        argument.buffer = text;
        if (program.find_buffer(text) == nullptr) program.buffers.push_back({text});
      }
      launch.args.push_back(argument);
    }
    program.launches.push_back(launch);
    auto parsed = parse(program);
    EXPECT_TRUE(parsed.has_value()) << parsed.error().message;
    if (!parsed) return;
    unit = *parsed;
    auto result = analyse(*unit, program);
    EXPECT_TRUE(result.has_value()) << result.error().message;
    if (result) infos = std::move(*result);
  }

  const KernelInfo& info() const { return infos.at(0); }
  const Variable& variable(const std::string& name) const {
    for (const Variable* v : info().function->parameters)
      if (v->name == name) return *v;
    for (const Variable* v : info().function->locals)
      if (v->name == name) return *v;
    throw std::runtime_error("no variable " + name);
  }
  const Access& access(const std::string& text) const {
    for (const Access& a : info().accesses)
      if (unit->text(a.expr->range) == text) return a;
    throw std::runtime_error("no access " + text);
  }
  const Stmt& statement(const std::string& prefix) const {
    for (const Stmt* s : info().function->all_statements)
      if (s->range.valid() && unit->text(s->range).starts_with(prefix)) return *s;
    throw std::runtime_error("no statement " + prefix);
  }
};

const char kMatmul[] = R"(
__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  int col = threadIdx.x + blockDim.x * blockIdx.x;
  if (row < M && col < N) {
    float sum = 0.0f;
    for (int k = 0; k < K; k++) {
      sum += A[row * K + k] * B[k * N + col];
    }
    C[row * N + col] = sum;
  }
}
)";

TEST(Analysis, PolynomialsExpandLocalsAndKeepProducts) {
  Analysed a(kMatmul, "matmul", {"A", "B", "C", "=M", "=N", "=K"});
  const auto index = a.access("A[row * K + k]").index;
  ASSERT_TRUE(index.has_value());
  EXPECT_EQ(index->coefficient("k#0"), Polynomial::constant(1));
  EXPECT_EQ(index->coefficient("threadIdx.y"), Polynomial::symbol("K#0"));
  EXPECT_FALSE(index->uses("threadIdx.x"));
  const auto other = a.access("B[k * N + col]").index;
  EXPECT_EQ(other->coefficient("k#0"), Polynomial::symbol("N#0"));
  EXPECT_EQ(other->coefficient("threadIdx.x"), Polynomial::constant(1));
  EXPECT_EQ(a.access("C[row * N + col]").kind, Access::Kind::kWrite);
  EXPECT_EQ(a.access("A[row * K + k]").loop, a.info().loops[0].get());
}

TEST(Analysis, TripCountsFollowTheLaunches) {
  Analysed a(kMatmul, "matmul", {"A", "B", "C", "=M", "=N", "=2*K"});
  ASSERT_EQ(a.info().loops.size(), 1u);
  EXPECT_EQ(a.info().loops[0]->site, "matmul/loop0");
  EXPECT_EQ(a.info().trip_count(*a.info().loops[0], {{"M", 3}, {"N", 5}, {"K", 7}}), 14);
}

TEST(Analysis, AliasFollowsTheArguments) {
  Analysed a(kMatmul, "matmul", {"A", "A", "C", "=M", "=N", "=K"});
  EXPECT_TRUE(a.info().may_alias(a.variable("A"), a.variable("B")));
  EXPECT_FALSE(a.info().may_alias(a.variable("A"), a.variable("C")));
  EXPECT_EQ(a.info().buffer_of(a.variable("B"), a.program), a.program.find_buffer("A"));
}

TEST(Analysis, UnstableLocalsAreNotExpanded) {
  Analysed a(R"(
__global__ void f(float* x, int n) {
  int i = threadIdx.x;
  int before = i;
  i += 5;
  x[before] = 1.0f;
  while (i < n) { int now = i; x[now] = 2.0f; i += 32; }
})",
             "f", {"x", "=N"});
  EXPECT_EQ(a.access("x[before]").index, Polynomial::symbol("before#0"));
  EXPECT_EQ(a.access("x[now]").index, Polynomial::symbol("now#0"));
}

TEST(Analysis, PointerLocalsAreFollowedToTheirOrigin) {
  Analysed a(R"(
__global__ void f(const float* x, float* y, int n) {
  const float* row = x + blockIdx.x * n;
  float* out = &y[blockIdx.x * n];
  const float* moving = x;
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = row[i] + *moving;
  moving += n;
})",
             "f", {"x", "y", "=N"});
  const Access& read = a.access("row[i]");
  EXPECT_EQ(read.base, &a.variable("x"));
  EXPECT_EQ(read.written_base, &a.variable("row"));
  EXPECT_EQ(read.index->coefficient("blockIdx.x"), Polynomial::symbol("n#0"));
  EXPECT_EQ(a.access("out[i]").base, &a.variable("y"));
  EXPECT_EQ(a.access("*moving").base, &a.variable("moving"));
  EXPECT_TRUE(a.info().may_alias(a.variable("moving"), a.variable("x")));
  EXPECT_FALSE(a.info().may_alias(a.variable("moving"), a.variable("y")));
}

TEST(Analysis, GridStrideLoopsAreCanonical) {
  Analysed a(R"(
__global__ void f(float* x, int n) {
  int stride = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) x[i] *= 2.0f;
})",
             "f", {"x", "=N"});
  ASSERT_EQ(a.info().loops.size(), 1u);
  EXPECT_FALSE(a.info().loops[0]->step.has_value());
  EXPECT_NE(a.info().loops[0]->step_expr, nullptr);
  EXPECT_EQ(a.access("x[i]").kind, Access::Kind::kReadWrite);
}

TEST(Analysis, LoopsThatAreNotCanonical) {
  Analysed a(R"(
__global__ void f(float* x, int n, int m) {
  for (int s = 64; s > 0; s >>= 1) x[s] = 0.0f;
  for (int i = 0; i < n; ++i) if (x[i] > 0.0f) break;
  for (int i = 0; i < n; ++i) { n--; }
  for (int i = 0; i < m; ++i) { i += 2; }
  for (int i = 0; i < m; i += m) { x[i] = 1.0f; }
  for (int i = 0; i < (int)x[0]; ++i) { x[i] = 1.0f; }
  for (int i = 0; i < m; ++i) { if (i == 3) continue; x[i] = 1.0f; }
})",
             "f", {"x", "=N", "=N"});
  ASSERT_EQ(a.info().loops.size(), 1u);
  EXPECT_EQ(a.info().loops[0]->site, "f/loop6");
}

TEST(Analysis, ThreadVariationFollowsDataAndControl) {
  Analysed a(R"(
__global__ void f(const float* x, float* y, const int* len, int n) {
  __shared__ float s[32];
  int tid = threadIdx.x;
  int uniform = n * 2 + blockIdx.x;
  int count = len[blockIdx.x];
  float own = x[tid];
  int chosen = 0;
  if (tid > 3) chosen = 1;
  int steps = 0;
  for (int i = tid; i < n; i += 32) steps++;
  int total = 0;
  for (int j = 0; j < n; ++j) total += j;
  float shared_value = s[0];
  float written = y[0];
  y[tid] = own + chosen + steps + total + count + shared_value + written + uniform;
})",
             "f", {"x", "y", "len", "=N"});
  const auto varies = [&](const std::string& name) {
    return a.info().varies_by_thread(*a.statement("y[tid] =").expr) && [&] {
      for (const Expr* e : a.info().function->all_expressions)
        if (e->variable != nullptr && e->variable->name == name)
          if (a.info().varies_by_thread(*e)) return true;
      return false;
    }();
  };
  EXPECT_TRUE(varies("tid"));
  EXPECT_FALSE(varies("uniform"));
  EXPECT_FALSE(varies("count"));
  EXPECT_TRUE(varies("own"));
  EXPECT_TRUE(varies("chosen"));
  EXPECT_TRUE(varies("steps"));
  EXPECT_FALSE(varies("total"));
  EXPECT_FALSE(varies("shared_value"));
  EXPECT_TRUE(varies("written"));
}

TEST(Analysis, UniformControlSeesEarlyReturnsAndBreaks) {
  Analysed a(R"(
__global__ void f(float* x, int n) {
  x[0] = 1.0f;
  if (blockIdx.x > 3) { x[1] = 2.0f; }
  if (threadIdx.x > 3) { x[2] = 3.0f; }
  for (int i = 0; i < n; ++i) { x[3] = 4.0f; }
  while (true) { x[4] = 5.0f; if (threadIdx.x == n) break; }
  if (threadIdx.x >= n) return;
  x[5] = 6.0f;
})",
             "f", {"x", "=N"});
  EXPECT_TRUE(a.info().uniform_control(a.statement("x[0]")));
  EXPECT_TRUE(a.info().uniform_control(a.statement("x[1]")));
  EXPECT_FALSE(a.info().uniform_control(a.statement("x[2]")));
  EXPECT_TRUE(a.info().uniform_control(a.statement("x[3]")));
  EXPECT_FALSE(a.info().uniform_control(a.statement("x[4]")));
  EXPECT_FALSE(a.info().uniform_control(a.statement("x[5]")));
}

TEST(Analysis, EffectsSeeWritesThroughCallsAndReferences) {
  Analysed a(R"(
__device__ void store(float* p, float v) { *p = v; }
__device__ void bump(int& i) { i++; }
__device__ float twice(float v) { return 2.0f * v; }
__global__ void f(float* x, int n) {
  int i = 0;
  { store(x, 1.0f); }
  { bump(i); }
  { i = (int)twice(i); }
  { __syncthreads(); }
})",
             "f", {"x", "=N"});
  const auto effects = [&](const std::string& text) { return effects_of(a.statement(text)); };
  EXPECT_TRUE(effects("{ store").writes_memory);
  EXPECT_EQ(effects("{ bump").writes.count(&a.variable("i")), 1u);
  EXPECT_FALSE(effects("{ i =").writes_memory);
  EXPECT_FALSE(effects("{ i =").unknown);
  EXPECT_TRUE(effects("{ __syncthreads").synchronises);
  EXPECT_TRUE(a.info().has_barrier);
  EXPECT_TRUE(a.info().has_unknown);  // store() writes memory that accesses cannot show
}

TEST(Analysis, SharedArraysAreFoldedRowMajor) {
  Analysed a(R"(
__global__ void f(float* x) {
  __shared__ float t[8][17];
  t[threadIdx.y][threadIdx.x] = x[0];
  __syncthreads();
  x[threadIdx.x] = t[threadIdx.x][threadIdx.y];
})",
             "f", {"x"});
  const Access& write = a.access("t[threadIdx.y][threadIdx.x]");
  EXPECT_EQ(write.kind, Access::Kind::kWrite);
  EXPECT_EQ(write.index->coefficient("threadIdx.y"), Polynomial::constant(17));
  EXPECT_EQ(write.indices.size(), 2u);
  EXPECT_EQ(a.info().accesses.size(), 4u);
}

TEST(Analysis, DivisionAndRemainderStayAtoms) {
  Analysed a(R"(
__global__ void f(float* x, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  x[i / 256] = 0.0f;
  x[(4 * n) / 4] = 1.0f;
  x[i % n] = 2.0f;
})",
             "f", {"x", "=N"});
  const auto quotient = a.access("x[i / 256]").index;
  EXPECT_EQ(quotient->coefficient("blockIdx.x"), Polynomial::constant(1));
  EXPECT_TRUE(quotient->uses("threadIdx.x"));
  EXPECT_EQ(quotient->coefficient("threadIdx.x"), std::nullopt);
  EXPECT_EQ(a.access("x[(4 * n) / 4]").index, Polynomial::symbol("n#0"));
  EXPECT_TRUE(a.access("x[i % n]").index->uses("n#0"));
}

TEST(Analysis, LaunchedTemplateInstancesHaveKnownTypes) {
  Analysed a(R"(
template <typename T> __device__ T relu(T v) { return v > T(0) ? v : T(0); }
template <typename T, int VEC>
__global__ void k(const T* x, T* y) {
  for (int v = 0; v < VEC; ++v) y[threadIdx.x * VEC + v] = relu(x[threadIdx.x * VEC + v]);
})",
             "k<float, 4>", {"x", "y"});
  EXPECT_EQ(a.variable("x").type.element->name, "float");
  EXPECT_EQ(a.info().trip_count(*a.info().loops.at(0), {}), 4);
  EXPECT_EQ(a.access("x[threadIdx.x * VEC + v]").index->coefficient("threadIdx.x"),
            Polynomial::constant(4));
  EXPECT_FALSE(a.info().has_unknown);
}

TEST(Analysis, MemberFunctionsAreSeenThrough) {
  Analysed a(R"(
struct Counter { int n; __device__ void bump() { n++; } __device__ int get() const { return n; } };
__global__ void k(float* x) {
  Counter c{0};
  { x[0] = c.get(); }
  { c.bump(); }
})",
             "k", {"x"});
  EXPECT_FALSE(effects_of(a.statement("{ x[0]")).unknown);
  EXPECT_EQ(effects_of(a.statement("{ c.bump")).writes.count(&a.variable("c")), 1u);
  EXPECT_TRUE(a.variable("c").address_taken);
}

TEST(Analysis, LambdasAssemblyAndFencesAreUnknown) {
  for (const char* body :
       {"auto f = [=](int i) { return x[i]; }; x[0] = f(1);", "asm volatile(\"\" ::: \"memory\");",
        "__threadfence();", "goto end; end: x[0] = 1.0f;", "printf(\"%f\", x[0]);"}) {
    Analysed a(std::string("__global__ void k(float* x) { ") + body + " }", "k", {"x"});
    EXPECT_TRUE(a.info().has_unknown) << body;
  }
}

TEST(Analysis, ReferencesAreNeverSingleAssignment) {
  Analysed a(R"(
__global__ void k(float* x, int n) {
  float& slot = x[threadIdx.x];
  slot = 2.0f;
})",
             "k", {"x", "=4"});
  EXPECT_FALSE(a.variable("slot").single_assignment());
  bool writes_x = false;
  for (const Access& access : a.info().accesses) {
    writes_x |= access.base == &a.variable("x") && access.kind != Access::Kind::kRead;
  }
  EXPECT_TRUE(writes_x);
}

TEST(Analysis, FreshNamesDoNotCollide) {
  Analysed a("__global__ void f(float* tile, int tile_2) { tile[0] = tile_2; }", "f", {"x", "=1"});
  EXPECT_EQ(fresh_name(*a.unit, "tile"), "tile_3");
  EXPECT_EQ(fresh_name(*a.unit, "til"), "til");
}

}  // namespace
}  // namespace hone::syntax
