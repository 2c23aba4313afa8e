// `hone init` on files as people have them: what it takes from host code, what it leaves out, what
// it says of its guesses and of what it cannot take.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "candidates/task_reader.h"
#include "engine/rewriting/init/choose.h"
#include "engine/rewriting/init/gather.h"
#include "engine/rewriting/init/init_task.h"

namespace hone {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// As hone itself hands a file over: headers that are not there are left out.
std::string gathered(const std::string& source) {
  std::string name = (fs::temp_directory_path() / "hone-init-XXXXXX").string();
  const fs::path folder = mkdtemp(name.data());
  std::ofstream(folder / "file.cu") << source;
  const auto result = init::gather(folder / "file.cu", {});
  fs::remove_all(folder);
  return result.value().text;
}

InitResult made(const std::string& source, const std::string& kernel = "",
                const std::map<std::string, std::string>& defines = {}) {
  const auto result = init_task({gathered(source), "file.cu", defines, kernel});
  if (!result) throw std::runtime_error(result.error().message);
  for (const InitResult::Attempt& one : result->attempts) {
    const auto task =
        parse_task("/* hone " + one.task.dump() + " */\n" + result->source, "file.cu");
    EXPECT_TRUE(task) << task.error().message << "\n" << result->source;
  }
  return *result;
}

std::string refusal(const std::string& source, const std::string& kernel = "") {
  const auto result = init_task({gathered(source), "file.cu", {}, kernel});
  EXPECT_FALSE(result);
  return result ? "" : result.error().message;
}

const Json& task(const InitResult& result) { return result.attempts.front().task; }

Json buffer(const InitResult& result, const std::string& name) {
  for (const Json& one : task(result)["buffers"])
    if (one["name"] == name) return one;
  throw std::runtime_error("no buffer " + name + " in " + task(result).dump());
}

bool notes(const InitResult& result, const std::string& text) {
  for (const std::string& note : result.attempts.front().notes)
    if (note.find(text) != std::string::npos) return true;
  return false;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

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

TEST(InitTask, OnlyTheFileSaysWhatTheFileSays) {
  const InitResult result = made(R"CU(
__global__ void twice(const float* a, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = 2 * a[i];
})CU");
  EXPECT_TRUE(notes(result, "size n: nothing in the file says its value"));
  EXPECT_FALSE(notes(result, "(the file says"));
  EXPECT_TRUE(notes(result, "; 33554432 is a guess")) << task(result).dump();
}

TEST(InitTask, OtherKernelsOfTheFileAreNotThisOnesCode) {
  const InitResult result = made(R"CU(
__device__ float root(float x) { return sqrtf(x); }
__device__ void put(float* y, float v) { extern __shared__ float d[]; d[threadIdx.x] = v; y[threadIdx.x] = d[threadIdx.x]; }
template <class T> __global__ void first(const T* x, T* t, int n) {
  extern __shared__ float s[];
  int i = blockIdx.x * 64 + threadIdx.x; s[threadIdx.x] = 0;
  if (i < n) t[i] = x[i] + s[threadIdx.x];
}
__global__ void second(const float* t, float* y, int n) { int i = blockIdx.x * 64 + threadIdx.x; if (i < n) y[i] = root(t[i]); }
__global__ void third(const float* y, float* z) { put(z, y[threadIdx.x]); }
int main() { int n = 1 << 24; float *x, *t, *y, *z;
  cudaMalloc(&x, n * 4); cudaMalloc(&t, n * 4); cudaMalloc(&y, n * 4); cudaMalloc(&z, 64 * 4);
  first<float><<<n / 64, 64, 256>>>(x, t, n); second<<<n / 64, 64>>>(t, y, n); third<<<1, 64>>>(y, z); })CU");
  ASSERT_EQ(task(result)["launches"].size(), 3U) << task(result).dump();
  EXPECT_FALSE(notes(result, "shared_bytes of second")) << task(result).dump();
  EXPECT_FALSE(task(result)["launches"][1].contains("shared_bytes"));
  EXPECT_TRUE(notes(result, "shared_bytes of third"));
  EXPECT_FALSE(notes(result, "buffer x: filled from 0.1"));
}

TEST(InitTask, SaysWhichCheckSizesAreTakenWhereNoSmallOnesHold) {
  const InitResult result = made(R"CU(
#define ROWS 32768
__global__ void scan(const double* a, double* x, int n) {
  int s = blockIdx.x * blockDim.x + threadIdx.x; if (s >= n) return;
  double t = 0;
  for (int i = 0; i < ROWS; ++i) { t += a[i * n + s]; x[i * n + s] = t; }
}
int main() { int n = 1024; double *a, *x; cudaMalloc(&a, 8 * n * ROWS); cudaMalloc(&x, 8 * n * ROWS);
  scan<<<n / 128, 128>>>(a, x, n); })CU");
  EXPECT_FALSE(task(result).contains("check_sizes"));
  EXPECT_FALSE(notes(result, "no small sizes were found"));
  EXPECT_TRUE(notes(result, "`hone` takes n = ")) << task(result).dump();
}

constexpr char kHistogram[] = R"CU(
__global__ void hist(const unsigned char* img, unsigned* bins, size_t n) {
  __shared__ unsigned local[256];
  local[threadIdx.x] = 0; __syncthreads();
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)blockDim.x * gridDim.x) atomicAdd(&local[img[i]], 1u);
  __syncthreads();
  atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}
int main(int argc, char** argv) { size_t n = atoi(argv[1]); unsigned char* d; unsigned* b;
  cudaMalloc(&d, n); cudaMalloc(&b, 256 * 4); cudaMemset(b, 0, 256 * 4); hist<<<64, 256>>>(d, b, n); })CU";

TEST(InitTask, GrowsWhatALoopOverTheGridFollows) {
  const InitResult result = made(kHistogram);
  EXPECT_GT(task(result)["sizes"]["n"], 1 << 24);
  EXPECT_FALSE(notes(result, "one run takes about"));
}

TEST(InitTask, SaysWhichSizesWereNotMadeLarger) {
  const InitResult result = made(R"CU(
__global__ void first(const float* x, float* y, int n) { if (threadIdx.x < n) y[threadIdx.x] = x[threadIdx.x]; }
int main() { int n = 64; float *x, *y; cudaMalloc(&x, n * 4); cudaMalloc(&y, n * 4); first<<<1, 64>>>(x, y, n); })CU");
  EXPECT_TRUE(notes(result, "larger values of n were not tried")) << task(result).dump();
}

int line_of(const std::string& text, const std::string& part) {
  const auto at = text.find(part);
  return at == text.npos
             ? -1
             : 1 + static_cast<int>(std::count(
                       text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
}

TEST(InitChoice, FindingsTellLinesOfWhatIsWritten) {
  InitResult two;
  two.source = "first\nthe line that races\n";
  two.attempts = {{.task = Json{{"name", "bold"}}, .notes = {"one\nnote", "another\\"}},
                  {.task = Json{{"name", "careful"}}, .notes = {}}};
  const auto races = [](const std::string& text) -> Result<std::string> {
    return fmt::format("race, line {}", line_of(text, "the line that races"));
  };
  const auto chosen =
      init::choose_attempt(two, {"header missing.h"}, races, std::chrono::seconds(40));
  EXPECT_FALSE(chosen.clean);
  EXPECT_EQ(chosen.attempt.task["name"], "bold");
  EXPECT_EQ(chosen.attempt.notes.front(), "header missing.h");
  EXPECT_EQ(chosen.attempt.notes.back(), fmt::format("`hone check` finds something: race, line {}",
                                                     line_of(chosen.text, "the line that races")))
      << chosen.text;
}

TEST(InitChoice, IsTheFirstAttemptThatIsClean) {
  InitResult two;
  two.source = "x\n";
  two.attempts = {{.task = Json{{"name", "bold"}}, .notes = {}},
                  {.task = Json{{"name", "careful"}}, .notes = {"inout"}}};
  const auto bold_fails = [](const std::string& text) -> Result<std::string> {
    return has(text, "bold") ? "found" : "";
  };
  const auto chosen = init::choose_attempt(two, {}, bold_fails, std::chrono::seconds(40));
  EXPECT_TRUE(chosen.clean);
  EXPECT_TRUE(has(chosen.text, "careful"));
  EXPECT_EQ(chosen.attempt.notes, std::vector<std::string>{"inout"});
  EXPECT_TRUE(has(init::choose_attempt(two, {}, {}, std::chrono::seconds(40)).text, "bold"));
  const auto lacks = [](const std::string&) -> Result<std::string> {
    return std::unexpected(Error{ErrorCode::kEnvironment, "no emulator"});
  };
  const auto untried = init::choose_attempt(two, {}, lacks, std::chrono::seconds(40));
  EXPECT_TRUE(untried.clean);
  EXPECT_EQ(untried.attempt.notes,
            std::vector<std::string>{"not tried on the emulator: no emulator"});
}

TEST(InitTask, KeepsASizeThatALaunchOfFixedExtentBounds) {
  const std::string kernels = R"CU(
__global__ void partial(const float* x, float* p, int n) {
  __shared__ float s[256];
  int t = threadIdx.x, i = blockIdx.x * 256 + t;
  s[t] = i < n ? x[i] : 0; __syncthreads();
  for (int k = 128; k > 0; k /= 2) { if (t < k) s[t] += s[t + k]; __syncthreads(); }
  if (t == 0) p[blockIdx.x] = s[0];
}
__global__ void total(const float* p, float* y, int n) {
  __shared__ float s[256];
  int t = threadIdx.x; float own = 0;
  LOAD
  s[t] = own; __syncthreads();
  for (int k = 128; k > 0; k /= 2) { if (t < k) s[t] += s[t + k]; __syncthreads(); }
  if (t == 0) y[0] = s[0];
}
int main() { int n = 1 << 16; int blocks = (n + 255) / 256; float *x, *p, *y;
  cudaMalloc(&x, n * 4); cudaMalloc(&p, blocks * 4); cudaMalloc(&y, 4);
  partial<<<blocks, 256>>>(x, p, n); total<<<1, 256>>>(p, y, blocks); })CU";
  const auto with = [&](const std::string& load) {
    std::string source = kernels;
    source.replace(source.find("LOAD"), 4, load);
    return made(source);
  };
  const InitResult one = with("if (t < n) own = p[t];");
  EXPECT_EQ(task(one)["sizes"]["n"], 1 << 16) << task(one).dump();
  EXPECT_TRUE(notes(one, "size n: 65536 is kept, since with more total, whose grid is fixed"));
  EXPECT_FALSE(notes(one, "at the largest sizes that fit"));
  for (const char* loop : {"for (int i = t; i < n; i += 256) own += p[i];",
                           "int i = t; while (i < n) { own += p[i]; i += blockDim.x; }"}) {
    const InitResult all = with(loop);
    EXPECT_GT(task(all)["sizes"]["n"], 1 << 20) << loop;
    EXPECT_FALSE(notes(all, "is kept")) << loop;
  }
}

TEST(InitTask, SaysWhatADefaultStandsFor) {
  const InitResult result = made(R"CU(
__global__ void add(const float* a, const float* b, const float* c, const float* d, const int* e, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a[i] + b[i] + c[i] + d[i] + e[i];
}
int main() { int n = 1 << 24; float *a, *b, *c, *d, *y, *h = (float*)malloc(n * 4), *ones = (float*)malloc(n * 4); int* e;
  for (int i = 0; i < n; ++i) h[i] = (float)i / n;
  for (int i = 0; i < n; ++i) ones[i] = 1.0f;
  cudaMalloc(&a, n * 4); cudaMalloc(&b, n * 4); cudaMalloc(&c, n * 4); cudaMalloc(&d, n * 4); cudaMalloc(&e, n * 4); cudaMalloc(&y, n * 4);
  cudaMemcpy(a, h, n * 4, cudaMemcpyHostToDevice); cudaMemcpy(b, ones, n * 4, cudaMemcpyHostToDevice);
  add<<<(n + 255) / 256, 256>>>(a, b, c, d, e, y, n); })CU");
  EXPECT_TRUE(notes(
      result,
      "buffer a: the host fills it with values that are not followed here; -1 to 1 stands here"));
  EXPECT_TRUE(notes(result, "buffer b: the host fills it with 1; -1 to 1 stands here"));
  EXPECT_TRUE(
      notes(result, "buffers c, d: nothing in the file says the values; -1 to 1 is a guess"));
  EXPECT_TRUE(notes(result, "buffer e: nothing in the file says the values; 0 to 100 is a guess"));
  EXPECT_FALSE(notes(result, "buffer y"));
}

TEST(InitTask, SaysWhatTheHostFillsWhereTheKernelsDomainDecides) {
  const InitResult result = made(R"CU(
__global__ void root(const float* a, const float* b, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = sqrtf(a[i]) + b[i];
}
int main() { int n = 1 << 24; float *a, *b, *y; cudaMallocManaged(&a, n * 4); cudaMallocManaged(&b, n * 4); cudaMallocManaged(&y, n * 4);
  for (int i = 0; i < n; ++i) { a[i] = 2.0f; b[i] = rand() / (float)RAND_MAX * 2 - 1; }
  root<<<(n + 255) / 256, 256>>>(a, b, y, n); })CU");
  EXPECT_TRUE(notes(result,
                    "buffer a: filled from 0.1 to 1, since the kernel takes roots, logarithms or "
                    "quotients; the host fills it with 2"));
  EXPECT_TRUE(notes(result, "quotients; the host fills it with values from -1 to 1"));
}

TEST(InitTask, SaysWhichGuessesBecamePlainNumbers) {
  const InitResult result = made(R"CU(
__global__ void walk(const int* edges, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = edges[i % 4];
}
int main(int argc, char** argv) { int n = 1 << 24, e; FILE* f = fopen(argv[1], "r"); fscanf(f, "%d", &e);
  int* ed; float* y; cudaMalloc(&ed, 4 * e); cudaMalloc(&y, 4 * n); walk<<<(n + 255) / 256, 256>>>(ed, y, n); })CU");
  EXPECT_EQ(buffer(result, "edges")["shape"].dump(), "[1024]");
  EXPECT_TRUE(notes(result,
                    "e: nothing in the file says its value (file.cu:6); 1024 is a guess, in the "
                    "length of edges"));
}

TEST(InitTask, SaysWhichArgumentsFollowTheProgramsOwn) {
  const auto with = [](const std::string& flag) {
    return made(R"CU(
__global__ void k(float* y, bool flag, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = flag ? i : 1;
}
int main(int argc, char** argv) { int n = argc > 2 ? atoi(argv[2]) : 1 << 24; float* y; cudaMalloc(&y, n * 4);
  bool all = argc > 1 && n > 0; k<<<(n + 255) / 256, 256>>>(y, )CU" +
                flag + ", n); }");
  };
  for (const char* flag : {"argc > 1", "all", "!(argc > 1)"})
    EXPECT_TRUE(
        notes(with(flag), fmt::format("argument flag of k: `{}` depends on the arguments", flag)))
        << flag;
  EXPECT_FALSE(notes(with("n > 1"), "depends on the arguments"));
  EXPECT_FALSE(notes(with("true"), "depends on the arguments"));
}

TEST(InitTask, SaysWhichStructsBecameNumbers) {
  const InitResult result = made(R"CU(
struct Body { float x, y, z, mass; };
__global__ void step(const Body* bodies, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = bodies[i].mass;
}
int main() { int n = 1 << 24; Body* b; float* y; cudaMalloc(&b, n * sizeof(Body)); cudaMalloc(&y, n * 4);
  step<<<(n + 255) / 256, 256>>>(b, y, n); })CU");
  EXPECT_TRUE(notes(result, "buffer bodies: a Body is 4 numbers of type f32 here"));
  EXPECT_FALSE(notes(result, "buffer y:"));
}

TEST(InitTask, WhatIsWrittenBeforeItIsReadIsTriedAsAnOutput) {
  const std::string kernel = R"CU(
__global__ void k(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  FIRST
  y[i] *= 2;
}
int main() { int n = 1 << 24; float *x, *y, *h = (float*)malloc(n * 4); cudaMalloc(&x, n * 4); cudaMalloc(&y, n * 4);
  HOST k<<<(n + 255) / 256, 256>>>(x, y, n); })CU";
  const auto roles = [&](const std::string& first, const std::string& host = "") {
    std::string source = kernel;
    source.replace(source.find("FIRST"), 5, first);
    source.replace(source.find("HOST"), 4, host);
    std::vector<std::string> all;
    for (const InitResult::Attempt& one : made(source).attempts)
      if (all.empty() || all.back() != one.task["buffers"][1]["role"])
        all.push_back(one.task["buffers"][1]["role"]);
    return fmt::format("{}", fmt::join(all, " ")).substr(0, 9);
  };
  EXPECT_EQ(roles("y[i] = x[i];"), "out inout");
  EXPECT_EQ(roles("y[i] = x[i] + y[i];"), "inout");
  EXPECT_EQ(roles("y[i] += x[i];"), "inout");
  EXPECT_EQ(roles("y[i] = x[i];", "cudaMemcpy(y, h, n * 4, cudaMemcpyHostToDevice);"), "inout");
}

TEST(InitTask, StoresThroughIndicesTryAPermutation) {
  const auto with = [](const std::string& body, const std::string& length = "n") {
    return made(R"CU(
__global__ void k(const int* p, const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) )CU" +
                body + R"CU(;
}
int main() { int n = 1 << 24; int* p; float *x, *y; cudaMalloc(&p, n * 4); cudaMalloc(&x, n * 4);
  cudaMalloc(&y, )CU" +
                length + R"CU( * 4); k<<<(n + 255) / 256, 256>>>(p, x, y, n); })CU");
  };
  const InitResult scatter = with("y[p[i]] = x[i]");
  EXPECT_EQ(buffer(scatter, "p")["fill"], "permutation");
  EXPECT_TRUE(notes(scatter, "buffer p: a permutation, since its values are where y is stored to"));
  EXPECT_EQ(scatter.attempts.back().task["buffers"][0]["fill"].dump(),
            R"({"integers":[0,"n - 1"]})");
  EXPECT_EQ(buffer(with("y[p[i]] += x[i]"), "p")["fill"], "permutation");
  for (const InitResult& other :
       {with("y[i] = x[p[i]]"), with("atomicAdd(&y[p[i]], x[i])"),
        with("atomicAdd(y + p[i], x[i])"), with("y[p[i]] = x[i]", "2 * n")})
    EXPECT_TRUE(buffer(other, "p")["fill"].contains("integers")) << buffer(other, "p").dump();
}

TEST(InitTask, SaysWhichVariablesOfTheDeviceTheHostFills) {
  const InitResult result = made(R"CU(
__device__ float table[4];
__device__ float unused[4];
__global__ void k(float2* z, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = table[i % 4] + z[i].x;
}
int main() { int n = 1 << 22; float h[4] = {1, 2, 1, 3}, *y; float2* z; cudaMallocManaged(&z, n * sizeof(float2)); cudaMalloc(&y, n * 4);
  for (int i = 0; i < n; ++i) z[i] = make_float2(1, 2);
  cudaMemcpyToSymbol(table, h, sizeof(h)); cudaMemcpyToSymbol(unused, h, sizeof(h)); k<<<(n + 255) / 256, 256>>>(z, y, n); })CU");
  EXPECT_TRUE(notes(result, "__device__ table: the host fills it (file.cu:10)"));
  EXPECT_FALSE(notes(result, "unused"));
  EXPECT_TRUE(notes(result, "buffer z: the host fills it with values that are not followed here"));
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

/// A folder that goes with the test.
class Gather : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "hone-init-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path write(const fs::path& name, const std::string& text) {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  fs::path folder_;
};

TEST_F(Gather, TakesHeadersBesideAndOfFolders) {
  const fs::path file =
      write("a.cu",
            "#include \"b.h\"\n#include <far.h>\n#include <vector>\n#include \"no.h\"\nint end;\n");
  write("b.h", "#pragma once\n#include \"a.cu\"\nint b;\n");
  write("inc/far.h", "#include \"../b.h\"\nint far;\n");
  const auto gathered = init::gather(file, {folder_ / "inc"});
  ASSERT_TRUE(gathered) << gathered.error().message;
  EXPECT_TRUE(has(gathered->text, "int b;"));
  EXPECT_TRUE(has(gathered->text, "int far;"));
  EXPECT_TRUE(has(gathered->text, "#ifndef HONE_ONCE_"));
  EXPECT_FALSE(has(gathered->text, "#include \"no.h\""));
  ASSERT_EQ(gathered->notes.size(), 1U);
  EXPECT_TRUE(has(gathered->notes[0], "no.h"));
  EXPECT_FALSE(has(init::gather(file, {})->text, "int far;"));
}

TEST_F(Gather, MessagesNameTheHeaderAndItsLine) {
  const fs::path file =
      write("a.cu", "#include \"k.h\"\n__global__ void ok(float* y) { y[0] = f(1); }\n");
  write("k.h", "\n__device__ float f(float x) { return wrong; }\n");
  const auto gathered = init::gather(file, {});
  ASSERT_TRUE(gathered);
  const auto result = init_task({gathered->text, file.string(), {}, ""});
  ASSERT_FALSE(result);
  EXPECT_TRUE(has(result.error().message, (folder_ / "k.h").string() + ":2: use of undeclared"))
      << result.error().message;
}

TEST_F(Gather, ReadsNoDevicesNoAbsolutePathsAndNoMoreThanItsLimit) {
  const fs::path file =
      write("a.cu", "#include \"/etc/passwd\"\n#include \"big.h\"\n/*\n#include \"b.h\"\n*/\n");
  write("b.h", "int commented;\n");
  write("big.h", std::string((1 << 20) + 1, 'x'));
  const auto gathered = init::gather(file, {});
  ASSERT_TRUE(gathered);
  EXPECT_FALSE(has(gathered->text, "root:"));
  EXPECT_FALSE(has(gathered->text, "xxxx"));
  EXPECT_FALSE(has(gathered->text, "int commented"));
  const fs::path many = write("many.cu", [] {
    std::string text;
    for (int i = 0; i < 20; ++i) text += "#include \"half.h\"\n";
    return text;
  }());
  write("half.h", "//" + std::string((1 << 19), 'x') + "\n");
  EXPECT_FALSE(init::gather(many, {}));
}

TEST_F(Gather, JoinsLaunchesThatAnEditorTookApart) {
  const auto gathered =
      init::gather(write("a.cu", "k << < 1, 32 >> > (x);\nA<B<C<int>> > y;\n"), {});
  ASSERT_TRUE(gathered);
  EXPECT_TRUE(has(gathered->text, "k <<< 1, 32 >>> (x);"));
  EXPECT_TRUE(has(gathered->text, "A<B<C<int>> > y;"));
}

TEST_F(Gather, SkipsByteOrderMarksAndReadsWhatIsNoUtf8AsLatin1) {
  write("h.h", "\xEF\xBB\xBFint h;  // \xB5s\n");
  const auto gathered = init::gather(write("a.cu",
                                           "\xEF\xBB\xBF#include \"h.h\"\nint a;  // Gr\xF6\xDF"
                                           "e\n"),
                                     {});
  ASSERT_TRUE(gathered) << gathered.error().message;
  EXPECT_FALSE(has(gathered->text, "\xEF\xBB\xBF"));
  EXPECT_TRUE(has(gathered->text, "int h;  // \xC2\xB5s\n")) << gathered->text;
  EXPECT_TRUE(has(gathered->text,
                  "int a;  // Gr\xC3\xB6\xC3\x9F"
                  "e\n"))
      << gathered->text;
  EXPECT_TRUE(gathered->notes.empty());
  // UTF-8 stays as it is; a NUL is still no text.
  const auto good = init::gather(write("u.cu",
                                       "// Gr\xC3\xB6\xC3\x9F"
                                       "e\n"),
                                 {});
  ASSERT_TRUE(good);
  EXPECT_TRUE(has(good->text,
                  "// Gr\xC3\xB6\xC3\x9F"
                  "e\n"));
  EXPECT_FALSE(init::gather(write("n.cu", std::string("int\0a;\xFF", 8)), {}));
}

}  // namespace
}  // namespace hone
