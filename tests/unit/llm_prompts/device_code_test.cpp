#include "rewriters/llm/reply/device_code.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "candidates/task_reader.h"

namespace hone::llm {
namespace {

void expect_fine(const std::string& source) {
  EXPECT_EQ(find_host_code(source, "").value_or(""), "") << source;
}

void expect_refused(const std::string& source, const std::string& reason) {
  const auto found = find_host_code(source, "");
  ASSERT_TRUE(found.has_value()) << source;
  EXPECT_TRUE(found->contains(reason)) << *found;
}

TEST(DeviceCode, IsFine) {
  expect_fine(R"(#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include "mma.h"
#include <cuda/barrier>
#include <cuda/std/limits>
#include <cooperative_groups/reduce.h>
#  include <math.h>
#define BLOCK 64
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#pragma unroll 4
#elif 1
#error "none"
#endif
using namespace cooperative_groups;
template <int kN, class F = Op<float, 2>> __global__ void __launch_bounds__(256, 2) k(float* x) {
  extern __shared__ __align__(16) char memory[];
  const std::size_t n = std::min(1, 2) + cuda::std::numeric_limits<int>::max();
  x[n] = x[1] * 1'000 >> 3 << 2 ? 'a' : '\'';
  asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %0, 0;\n\t@p ld.global.f32 %1, [%2];\n}"
               :: "r"(1), "f"(x[0]), "l"(x));
  cudaGridDependencySynchronize();
  int main = 3, domain(int), cublas = main;  // main( and cudaMalloc in a comment
  const char* text = "cudaMalloc(<<<";
  F<G<H<int>>> f; cuCadd(a, b); at(3); open(1);
}
struct __attribute__((aligned(16), packed)) S { [[nodiscard]] int f(); };
)");
}

TEST(DeviceCode, HostCodeIsRefused) {
  expect_refused("void f() {\n k<<<1, 2>>>(); }", "line 2: '<<<'");
  expect_refused("int main() {}", "'main' is host code");
  expect_refused("int main (void) {}", "'main'");
  expect_refused("__host__ __device__ float f();", "'__host__'");
  expect_refused("__managed__ int x;", "'__managed__'");
  expect_refused("void f() { cudaMalloc(&p, 3); }", "'cudaMalloc'");
  expect_refused("cudaStream_t s;", "'cudaStream_t'");
  expect_refused("void f() { cuMemAlloc(&p, 3); }", "'cuMemAlloc'");
  expect_refused("void f() { cublasSgemm(h); }", "'cublasSgemm'");
  expect_refused("std::vector<int> v;", "'std::vector'");
  expect_refused("::std::thread t;", "'std::thread'");
  expect_refused("std\n::\nifstream f;", "'std::ifstream'");
  expect_refused("using namespace std;", "'std' as a whole");
  expect_refused("int f() { return system(\"ls\"); }", "'system' is a function of the host");
  expect_refused("FILE* f = fopen(\"x\", \"r\");", "'fopen'");
  expect_refused("torch::Tensor f(torch::Tensor x);", "'torch'");
  expect_refused("PYBIND11_MODULE(a, m) {}", "'PYBIND11_MODULE'");
  expect_refused("cuda\\\nMalloc(&p, 3);", "'cudaMalloc'");
  expect_refused("#define F cudaMalloc\n", "'cudaMalloc'");
}

TEST(DeviceCode, HeadersAreFew) {
  expect_refused("#include <vector>\n", "#include <vector>");
  expect_refused("\n#include </etc/passwd>\n", "line 2: #include </etc/passwd>");
  expect_refused("#include \"/etc/passwd\"\n", "/etc/passwd");
  expect_refused("#include \"../secret.h\"\n", "../secret.h");
  expect_refused("#include <cuda/../../x>\n", "cuda/../../x");
  expect_refused("#include <cuda/std/../../../x>\n", "x");
  expect_refused("#include <torch/extension.h>\n", "torch/extension.h");
  expect_refused("#include FILE_NAME\n", "needs a header's name");
  expect_refused("#include\n", "needs a header's name");
  expect_refused("#inc\\\nlude <vector>\n", "<vector>");
  expect_refused("%:include <vector>\n", "<vector>");
  expect_refused("/* a */ # /* b */ include /* c */ <vector>\n", "<vector>");
  expect_refused("int a;\n  #\tinclude<vector>", "<vector>");
  expect_refused("#include_next <math.h>\n", "#include_next");
  expect_refused("#import <math.h>\n", "#import");
}

TEST(DeviceCode, PreprocessorTricksAreRefused) {
  expect_refused("#embed \"/etc/passwd\"\n", "#embed");
  expect_refused("#if __has_include(\"/etc/passwd\")\n#endif", "__has_include");
  expect_refused("#if __has_embed(\"/etc/passwd\")\n#endif", "__has_embed");
  expect_refused("#line 3 \"other.cu\"\n", "#line");
  expect_refused("# 3 \"other.cu\"\n", "#3 is not accepted");
  expect_refused("_Pragma(\"once\")", "'_Pragma'");
  expect_refused("#pragma comment(lib, \"x\")\n", "#pragma comment");
  expect_refused("#pragma push_macro(\"x\")\n", "#pragma push_macro");
  expect_refused("#ident \"x\"\n", "#ident");
  expect_refused("int a; ?\?/\nint b;", "trigraphs");
  expect_refused("int \\u0061;", "a stray '\\'");
}

TEST(DeviceCode, AttributesAndAssemblyOfSectionsAreRefused) {
  expect_refused("__attribute__((section(\".init\"))) int x;", "'section'");
  expect_refused("__attribute__((unused, constructor)) void f();", "'constructor'");
  expect_refused("[[gnu::section(\".init\")]] int x;", "'section'");
  expect_refused("#define A __attribute__((__weak__))\n", "'__weak__'");
  expect_refused("__declspec(dllexport) int x;", "'__declspec'");
  expect_refused("asm(\".section .init\");", "asm with '.section'");
  expect_refused("asm volatile (\".sec\" \"tion .init\");", "asm with '.section'");
  expect_refused("__asm__(\"add.s32 a, b, c;\\n\\t.file 1 \\\"x\\\"\");", "asm with '.file'");
  expect_refused("asm(R\"(nop;\n .visible .entry f() {})\");", "asm with '.visible'");
  expect_refused("void f() { asm(\"{ .extern .func g; }\" ::: \"memory\"); }", "'.extern'");
}

TEST(DeviceCode, TextThatMisleadsIsRefused) {
  expect_refused("int a; // \u202E gone", "U+202E");
  expect_refused("int a\u200B;", "U+200B");
  expect_refused("int a;\n\x01", "line 2: a character that cannot be seen");
  expect_refused("int a; /* never ends", "has no end");
  expect_refused("auto s = R\"(never ends", "has no end");
  expect_refused("int a;\n```\nint b;", "line 2: a stray '`'");
  EXPECT_EQ(find_host_code("const char* s = \"漢\";", "").value_or(""), "");
}

TEST(DeviceCode, WhatTheUserWroteIsNotHeldAgainstAModel) {
  const std::string base = "#include <vector>\n__host__ __device__ int f() { return std::abs(1); }";
  EXPECT_EQ(find_host_code(base + "\nint g;", base).value_or(""), "");
  EXPECT_TRUE(find_host_code(base + "\nstd::vector<int> v;", base).has_value());
  EXPECT_TRUE(find_host_code(base + "\n#include <thread>", base).has_value());
  // Some things nobody needs.
  EXPECT_TRUE(find_host_code("#embed \"x\"\n", "#embed \"x\"\n").has_value());
}

TEST(DeviceCode, EveryBaselineIsDeviceCode) {
  int seen = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(HONE_SOURCE_DIR "/baselines")) {
    if (entry.path().extension() != ".cu") continue;
    std::stringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    EXPECT_EQ(find_host_code(text.str(), "").value_or(""), "") << entry.path();
    const auto task = read_task(entry.path());
    ASSERT_TRUE(task.has_value());
    for (const Launch& launch : task->reference.launches) {
      const Kernels kernels = kernels_of(text.str());
      EXPECT_TRUE(kernels.has(launch.kernel) && !kernels.by_macro) << launch.kernel;
    }
    ++seen;
  }
  EXPECT_GT(seen, 10);
}

TEST(KernelsOf, FindsNames) {
  const Kernels kernels = kernels_of(R"(// __global__ void no(
template <int N> __global__ void __launch_bounds__(32 * (N), 2) a(int) {}
extern "C" __global__ __cluster_dims__(2, 1, 1) void b() {}
__launch_bounds__(128) __global__ void c(float* x) {}
__global__ void d();
#define NAME e
)");
  EXPECT_EQ(kernels.names, (std::vector<std::string>{"a", "b", "c", "d"}));
  EXPECT_FALSE(kernels.by_macro);
  EXPECT_TRUE(kernels.has("ns::a<3>"));
  EXPECT_TRUE(kernels.has("a <3>"));
  EXPECT_FALSE(kernels.has("e"));
  EXPECT_TRUE(kernels_of("#define K(n) __global__ void n()\nK(f) {}").has("f"));
}

}  // namespace
}  // namespace hone::llm
