// What `hone init` says of its guesses, and which of several readings of a file it takes.
#include "tests/unit/engine/init_fixture.h"

namespace hone {
namespace {

using namespace init_test;

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

}  // namespace
}  // namespace hone
