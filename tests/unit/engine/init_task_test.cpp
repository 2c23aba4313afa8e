// `hone init` on files as people have them: what it takes from host code, what it leaves out, what
// it says of its guesses and of what it cannot take.
#include "tests/unit/engine/init_fixture.h"

namespace hone {
namespace {

using namespace init_test;

constexpr char kWholeFile[] = R"CU(
#include <chrono>
#include <cstdio>
#include <vector>
#include "missing_helper.h"
#define SCALE 2.0f
#define UNUSED 7
#define CHECK(call) do { cudaError_t e = (call); if (e != cudaSuccess) { printf("%s\n", cudaGetErrorString(e)); exit(1); } } while (0)
struct Timer { std::chrono::high_resolution_clock::time_point begin; void start() { begin = std::chrono::high_resolution_clock::now(); } };
static float host_helper(float x) { return x + 1; }
__device__ float twice(float x) { return SCALE * x; }
__global__ void scale(const float* in, float* out, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = twice(in[i]);
}
int main(int argc, char** argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1 << 24;
  const int threads = 128;
  size_t bytes = n * sizeof(float);
  std::vector<float> h(n);
  for (int i = 0; i < n; ++i) h[i] = rand() / (float)RAND_MAX;
  float *d_in, *d_out;
  CHECK(cudaMalloc(&d_in, bytes));
  CHECK(cudaMalloc((void**)&d_out, bytes));
  CHECK(cudaMemcpy(d_in, h.data(), bytes, cudaMemcpyHostToDevice));
  Timer timer; timer.start();
  undeclared_function(d_in, n);
  some::missing<int> thing(3);
  for (int r = 0; r < 100; ++r) scale<<<(n + threads - 1) / threads, threads>>>(d_in, d_out, n);
  CHECK(cudaMemcpy(h.data(), d_out, bytes, cudaMemcpyDeviceToHost));
  printf("%f\n", host_helper(h[0]));
}
)CU";

TEST(InitTask, TakesAWholeFileApart) {
  const InitResult result = made(kWholeFile);
  EXPECT_TRUE(has(result.source, "float twice(float x)")) << result.source;
  EXPECT_TRUE(has(result.source, "#define SCALE 2.0f"));
  for (const char* gone : {"main", "Timer", "CHECK", "host_helper", "UNUSED", "#include"})
    EXPECT_FALSE(has(result.source, gone)) << gone << " in\n" << result.source;
  EXPECT_EQ(task(result)["launches"][0]["grid"][0], "ceildiv(n, 128)");
  EXPECT_EQ(task(result)["launches"][0]["block"][0], 128);
  EXPECT_EQ(task(result)["launches"][0]["args"].dump(), R"(["in","out","n"])");
  EXPECT_EQ(buffer(result, "in")["shape"].dump(), R"(["n"])");
  EXPECT_EQ(buffer(result, "in")["fill"].dump(), R"({"uniform":[0.0,1.0]})");
  EXPECT_EQ(buffer(result, "out")["role"], "out");
  EXPECT_TRUE(notes(result, "in a loop (file.cu:"));
}

TEST(InitTask, SizesAreTheFilesUnlessARunWouldBeTooShort) {
  EXPECT_EQ(task(made(kWholeFile))["sizes"]["n"], 1 << 25);
  std::string small = kWholeFile;
  small.replace(small.find("1 << 24"), 7, "1000000");
  const InitResult result = made(small);
  EXPECT_GT(task(result)["sizes"]["n"], 1 << 24);
  EXPECT_TRUE(notes(result, "made larger")) << task(result).dump();
  EXPECT_TRUE(notes(result, "the file says 1000000"));
}

TEST(InitTask, FollowsArgumentsThatMustBeGiven) {
  const InitResult result = made(R"CU(
__global__ void add(float* a, int rows, int columns) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < columns && y < rows) a[y * columns + x] += 1;
}
int main(int argc, char** argv) {
  if (argc != 4) { printf("usage\n"); exit(1); }
  int rows, columns, block;
  rows = atoi(argv[1]); columns = atoi(argv[2]); block = atoi(argv[3]);
  float* d; cudaMalloc(&d, rows * columns * sizeof(float));
  dim3 threads(block, block);
  dim3 blocks(ceil(columns / (float)block), (rows - 1) / block + 1);
  add<<<blocks, threads>>>(d, rows, columns);
})CU");
  EXPECT_EQ(task(result)["launches"][0]["block"].dump(), "[16,16]");
  EXPECT_EQ(task(result)["launches"][0]["grid"].dump(),
            R"j(["ceildiv(columns, 16)","ceildiv(rows, 16)"])j");
  EXPECT_EQ(buffer(result, "a")["shape"].dump(), R"(["rows","columns"])");
  EXPECT_EQ(buffer(result, "a")["role"], "inout");
  EXPECT_TRUE(notes(result, "size rows: nothing in the file says its value"));
  EXPECT_TRUE(notes(result, "block: nothing in the file says this extent"));
}

constexpr char kPipeline[] = R"CU(
__global__ void first(const float* x, float* t, int n) { int i = blockIdx.x * 256 + threadIdx.x; if (i < n) t[i] = x[i] * 2; }
__global__ void second(const float* t, float* y, int n) { int i = blockIdx.x * 256 + threadIdx.x; if (i < n) y[i] = t[i] + 1; }
__global__ void other(float* z, int n) { int i = blockIdx.x * 256 + threadIdx.x; if (i < n) z[i] = i; }
int main() {
  const int n = 1 << 20;
  float *x, *t, *y, *z, *h = (float*)malloc(n * 4);
  cudaMalloc(&x, n * 4); cudaMalloc(&t, n * 4); cudaMalloc(&y, n * 4); cudaMalloc(&z, n * 4);
  cudaMemcpy(x, h, n * 4, cudaMemcpyHostToDevice);
  first<<<n / 256, 256>>>(x, t, n);
  second<<<n / 256, 256>>>(t, y, n);
  other<<<n / 256, 256>>>(z, n);
  cudaMemcpy(h, y, n * 4, cudaMemcpyDeviceToHost);
})CU";

TEST(InitTask, LaunchesThatHandBuffersOnAreAPipeline) {
  const InitResult result = made(kPipeline);
  ASSERT_EQ(task(result)["launches"].size(), 2U);
  EXPECT_EQ(task(result)["launches"][1]["kernel"], "second");
  EXPECT_EQ(buffer(result, "t")["role"], "scratch");
  EXPECT_EQ(buffer(result, "y")["role"], "out");
  EXPECT_FALSE(has(result.source, "other"));
  EXPECT_TRUE(notes(result, "--kernel other"));
  EXPECT_EQ(task(result)["constraints"][0], "n % 256 == 0");
  for (const Json& at : task(result)["check_sizes"]) EXPECT_EQ(at["n"].get<int>() % 256, 0);
}

TEST(InitTask, KernelPicksOne) {
  const InitResult result = made(kPipeline, "other");
  ASSERT_EQ(task(result)["launches"].size(), 1U);
  EXPECT_EQ(task(result)["launches"][0]["kernel"], "other");
  EXPECT_EQ(refusal(kPipeline, "third"),
            "file.cu: no kernel 'third'; there are first, second, other");
}

TEST(InitTask, TemplatesAreLaunchedWithTheTypeOfTheLaunch) {
  const InitResult result = made(R"CU(
template <typename T, int kBlock> __global__ void fill(T* out, T value, int n) {
  int i = blockIdx.x * kBlock + threadIdx.x;
  if (i < n) out[i] = value;
}
template <typename T> void run(int n) {
  T* d; cudaMallocManaged(&d, n * sizeof(T));
  fill<T, 64><<<(n + 63) / 64, 64>>>(d, T(3), n);
}
int main() { run<double>(1 << 24); })CU");
  EXPECT_EQ(task(result)["launches"][0]["kernel"], "fill<double, 64>");
  EXPECT_TRUE(has(fmt::format("{}", fmt::join(result.attempts.front().notes, "\n")),
                  "kernel fill<double, 64>: a template, with the arguments of the launch at"));
  EXPECT_EQ(buffer(result, "out")["type"], "f64");
  EXPECT_EQ(buffer(result, "out")["shape"].dump(), R"(["n"])");
}

TEST(InitTask, MacrosFollowTheCommandLine) {
  const std::string source = R"CU(
#ifndef BLOCK
#define BLOCK 64
#endif
#define TWO(x) ((x) * FACTOR)
__global__ void k(float* y, int n) {
  __shared__ float tile[BLOCK];
  int i = blockIdx.x * BLOCK + threadIdx.x;
  tile[threadIdx.x] = i;
#ifdef EXTRA
  tile[threadIdx.x] += 1;
#endif
  if (i < n) y[i] = TWO(tile[threadIdx.x]);
}
int main() { int n = 1 << 24; float* y; cudaMalloc(&y, n * sizeof *y); k<<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(y, n); })CU";
  const InitResult plain = made(source, "", {{"FACTOR", "3"}});
  EXPECT_EQ(task(plain)["launches"][0]["block"][0], 64);
  EXPECT_TRUE(has(plain.source, "#define FACTOR 3")) << plain.source;
  EXPECT_TRUE(has(plain.source, "#define TWO(x)"));
  EXPECT_FALSE(has(plain.source, "+= 1"));
  const InitResult other = made(source, "", {{"FACTOR", "3"}, {"BLOCK", "96"}, {"EXTRA", "1"}});
  EXPECT_EQ(task(other)["launches"][0]["block"][0], 96);
  EXPECT_TRUE(has(other.source, "#define BLOCK 96"));
  EXPECT_TRUE(has(other.source, "+= 1"));
  EXPECT_TRUE(has(refusal(source), "undeclared identifier 'FACTOR'"));
}

TEST(InitTask, ConstantsOfTheKernelAreNoSizes) {
  const InitResult result = made(R"CU(
#define N 4096
__global__ void k(float* y) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < N) y[i] = i; }
int main() { float* y; cudaMalloc(&y, N * sizeof(float)); k<<<N / 256, 256>>>(y); })CU");
  EXPECT_TRUE(task(result)["sizes"].empty()) << task(result).dump();
  EXPECT_EQ(buffer(result, "y")["shape"].dump(), "[4096]");
  EXPECT_TRUE(notes(result, "at the sizes that the source fixes"));
}

TEST(InitTask, DynamicSharedMemoryComesFromTheLaunch) {
  const std::string kernel = R"CU(
__global__ void sum(const float* x, float* y) {
  extern __shared__ float s[];
  s[threadIdx.x] = x[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) { float t = 0; for (int i = 0; i < blockDim.x; ++i) t += s[i]; y[blockIdx.x] = t; }
})CU";
  const std::string host = R"CU(
int main() { int n = 1 << 22; float *x, *y; cudaMalloc(&x, n * 4); cudaMalloc(&y, n / 128 * 4);
  sum<<<n / 128, 128, 2 * 128 * sizeof(float)>>>(x, y); })CU";
  EXPECT_EQ(task(made(kernel + host))["launches"][0]["shared_bytes"], 1024);
  const InitResult bare = made(kernel);
  EXPECT_EQ(task(bare)["launches"][0]["shared_bytes"], 1024);
  EXPECT_TRUE(notes(bare, "extern __shared__"));
}

TEST(InitTask, RecordsBecomeTheirNumbers) {
  const InitResult result = made(R"CU(
#include <string>
struct Body { float x, y, z, mass; };
struct Params { int n; float dt; float* out; Params() {} Params(int a) : n(a) { name(); } std::string name() { return ""; } };
__global__ void step(const Body* bodies, Params p) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < p.n) p.out[i] = bodies[i].mass * p.dt;
}
int main() {
  Params p; p.n = 1 << 20; p.dt = 0.5f;
  Body* bodies; cudaMalloc(&bodies, p.n * sizeof(Body)); cudaMalloc(&p.out, p.n * sizeof(float));
  step<<<(p.n + 255) / 256, 256>>>(bodies, p);
})CU");
  EXPECT_EQ(buffer(result, "bodies")["type"], "f32");
  EXPECT_EQ(buffer(result, "bodies")["shape"].dump(), R"(["n",4])");
  EXPECT_EQ(task(result)["launches"][0]["args"].dump(), R"(["bodies","n",0.5,"p_out"])");
  EXPECT_TRUE(has(result.source, "int p_n, float p_dt, float * p_out")) << result.source;
  EXPECT_FALSE(has(result.source, "string")) << result.source;
  EXPECT_TRUE(notes(result, "a Params by value"));
}

TEST(InitTask, RecordsOfSeveralTypesAreRefused) {
  const std::string message = refusal(R"CU(
struct Mixed { float x; int id; };
__global__ void k(Mixed* m) { m[threadIdx.x].x = m[threadIdx.x].id; }
int main() { Mixed* m; cudaMalloc(&m, 32 * sizeof(Mixed)); k<<<1, 32>>>(m); })CU");
  EXPECT_TRUE(has(message, "file.cu:4: parameter 'm' of kernel 'k' is 'Mixed *'")) << message;
}

TEST(InitTask, IndexBuffersStayInRange) {
  const InitResult result = made(R"CU(
__global__ void gather(const int* at, const float* table, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int j = at[i];
  y[i] = table[j];
}
int main() { int n = 1 << 22, m = 5000; int* at; float *table, *y;
  cudaMalloc(&at, n * sizeof(int)); cudaMalloc(&table, 5000 * sizeof(float)); cudaMalloc(&y, n * sizeof(float));
  gather<<<(n + 255) / 256, 256>>>(at, table, y, n); })CU");
  EXPECT_EQ(buffer(result, "at")["fill"].dump(), R"({"integers":[0,4999]})");
  EXPECT_TRUE(
      notes(result, "buffer at: integers from 0 to 4999, since its values are indices into table"));
}

TEST(InitTask, IndicesReachTheWholeTableAtEverySize) {
  const InitResult result = made(R"CU(
__global__ void gather(const int* at, const float* table, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = table[at[i]];
}
int main() { int n = 1 << 22; int* at; float *table, *y;
  cudaMalloc(&at, n * sizeof(int)); cudaMalloc(&table, 4 * n * sizeof(float)); cudaMalloc(&y, n * sizeof(float));
  gather<<<(n + 255) / 256, 256>>>(at, table, y, n); })CU");
  const Json fill = buffer(result, "at")["fill"]["integers"];
  ASSERT_TRUE(fill.is_array() && fill.size() == 2) << fill.dump();
  ASSERT_TRUE(fill[1].is_string()) << fill.dump();
  const auto last = Expr::parse(fill[1].get<std::string>());
  ASSERT_TRUE(last) << fill.dump();
  EXPECT_EQ(last->eval({{"n", 1000}}).value_or(0), 3999) << fill.dump();
}

TEST(InitTask, ConstantMemoryStartsWithValues) {
  const InitResult result = made(R"CU(
__constant__ float taps[3];
__global__ void k(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * taps[i % 3];
}
int main() { int n = 1 << 22; float h[3] = {1, 2, 1}, *x, *y; cudaMalloc(&x, n * 4); cudaMalloc(&y, n * 4);
  cudaMemcpyToSymbol(taps, h, sizeof(h)); k<<<(n + 255) / 256, 256>>>(x, y, n); })CU");
  EXPECT_TRUE(has(result.source, "taps[3] = {0.375f")) << result.source;
  EXPECT_TRUE(notes(result, "__constant__ taps: the host fills it (file.cu:2)"));
}

TEST(InitTask, AProductGuardIsOneLengthOfSeveralSizes) {
  const InitResult result = made(R"CU(
__global__ void gelu(float* out, const float* inp, int B, int T, int C) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < B * T * C) out[i] = inp[i] * 0.5f;
})CU");
  EXPECT_EQ(buffer(result, "out")["shape"].dump(), R"(["B","T","C"])");
  EXPECT_EQ(task(result)["launches"][0]["grid"].dump(), R"j(["ceildiv(B*T*C, 256)"])j");
  EXPECT_TRUE(notes(result, "buffer inp: its length [\"B\",\"T\",\"C\"] is a guess"));
}

TEST(InitTask, BlocksFollowTheKernelsTiles) {
  const InitResult result = made(R"CU(
__global__ void copy(const float* x, float* y, int rows, int columns) {
  __shared__ float tile[8][33];
  int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 8 + threadIdx.y;
  if (c < columns && r < rows) { tile[threadIdx.y][threadIdx.x] = x[r * columns + c]; y[r * columns + c] = tile[threadIdx.y][threadIdx.x]; }
})CU");
  EXPECT_EQ(task(result)["launches"][0]["block"][1], 8);
  EXPECT_TRUE(notes(result, "block of copy"));
}

TEST(InitTask, BordersThatStayUnwrittenHaveACarefulAttempt) {
  const InitResult result = made(R"CU(
__global__ void blur(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i > 0 && i < n - 1) y[i] = x[i - 1] + x[i + 1];
}
int main() { int n = 1 << 24; float *x, *y; cudaMalloc(&x, n * 4); cudaMalloc(&y, n * 4);
  blur<<<(n + 255) / 256, 256>>>(x, y, n); })CU");
  bool careful = false;
  for (const InitResult::Attempt& one : result.attempts) {
    for (const Json& b : one.task["buffers"])
      careful = careful || (b["name"] == "y" && b.value("role", "") == "inout");
  }
  EXPECT_TRUE(careful);
}

TEST(InitTask, SaysWhatToCut) {
  EXPECT_TRUE(
      has(refusal("__global__ void k() { printf(\"hello\\n\"); }\nint main() { k<<<1, 1>>>(); }\n"),
          "file.cu:2: kernel 'k' writes to no memory"));
  EXPECT_TRUE(has(
      refusal(
          "float host(float x) { return x; }\n__global__ void k(float* y) { y[0] = host(1); }\n"),
      "file.cu:2: no matching function for call to 'host'"));
  EXPECT_TRUE(has(refusal("__global__ void k(float* y) {\n  y[0] = unknown_thing;\n}\n"),
                  "file.cu:2: use of undeclared identifier 'unknown_thing'"));
  EXPECT_TRUE(
      has(refusal("int main() { return 0; }\n"), "file.cu: no __global__ function in the source"));
  EXPECT_TRUE(has(refusal("template <class T> __global__ void k(T* y) { y[0] = 1; }\n"),
                  "kernel 'k' is a template that nothing launches"));
}

constexpr char kFunctor[] = R"CU(
namespace ops {
struct Scale { float f; __device__ float operator()(float x) const { return f * x; } };
struct Twice { __device__ float operator()(float x) const { return 2 * x; } };
template <class F> __global__ void apply(F f, const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = f(x[i]);
}
}
class Solver {
  float *x, *y; int n;
 public:
  Solver(int n_) : n(n_) { cudaMalloc(&x, n * sizeof(float)); cudaMalloc(&y, n * sizeof(float)); }
  template <class F> void run(F f) { ops::apply<<<(n + 255) / 256, 256>>>(f, x, y, n); }
};
int main() { Solver s(1 << 20); RUN })CU";

InitResult functor(const std::string& run) {
  std::string source = kFunctor;
  source.replace(source.find("RUN"), 3, run);
  return made(source);
}

TEST(InitTask, KernelsOfNamespacesTakeFunctorsApart) {
  const InitResult scale = functor("s.run(ops::Scale{3.f});");
  EXPECT_EQ(task(scale)["launches"][0]["kernel"], "ops::apply<ops::Scale>");
  EXPECT_EQ(task(scale)["launches"][0]["args"].dump(), R"([3.0,"x","y","n_"])");
  EXPECT_TRUE(has(scale.source, "apply(float f_f, const float* x")) << scale.source;
  EXPECT_TRUE(notes(scale, "parameter f of apply: a Scale by value; its members"));
  const InitResult twice = functor("s.run(ops::Twice{});");
  EXPECT_EQ(task(twice)["launches"][0]["args"].dump(), R"(["x","y","n_"])");
  EXPECT_TRUE(has(twice.source, "apply(const float* x")) << twice.source;
  EXPECT_TRUE(notes(twice, "it has no members"));
}

TEST(InitTask, FunctorsThatDifferNameTheKernelsLine) {
  std::string source = kFunctor;
  source.replace(source.find("RUN"), 3, "s.run(ops::Scale{3.f}); s.run(ops::Twice{});");
  const std::string message = refusal(source);
  EXPECT_TRUE(has(message, "file.cu:5: parameter 'f' is another class in each launch")) << message;
  EXPECT_TRUE(has(refusal(R"CU(
namespace a { __global__ void k(float* y, int n) { int i = threadIdx.x; if (i < n) y[i] = i; } }
namespace b { __global__ void k(float* y, int n) { int i = threadIdx.x; if (i < n) y[i] += i; } }
int main() { float* y; cudaMalloc(&y, 64 * 4); a::k<<<1, 64>>>(y, 64); b::k<<<1, 64>>>(y, 64); })CU"),
                  "file.cu:4: the kernels that are launched include 2 of the name 'k'"));
}

}  // namespace
}  // namespace hone
