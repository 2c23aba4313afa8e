#include "evaluator/compile/compile.h"

#include <gtest/gtest.h>

#include <fstream>

#include "evaluator/compile/include_check.h"
#include "evaluator/compile/locate.h"
#include "evaluator/compile/ptx_entries.h"
#include "evaluator/compile/ptxas_log.h"

namespace hone::compile {
namespace {

CompiledProgram build(const std::string& source, std::vector<std::string> kernels,
                      std::map<std::string, std::string> defines = {}) {
  return compile_program({source, std::move(defines), std::move(kernels), "sm_90"});
}

constexpr const char* kScale = R"(
extern "C" __global__ void scale(const float* __restrict__ x, float* y, int n, float a) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + BIAS;
}
template <class T> __global__ void copy(const T* x, T* y) { y[threadIdx.x] = x[threadIdx.x]; }
)";

TEST(Compile, GivesCodeNamesParametersAndResources) {
  const auto p = build(kScale, {"scale", "copy<double>"}, {{"BIAS", "1.0f"}});
  ASSERT_EQ(p.verdict, Verdict::kOk) << p.log;
  EXPECT_FALSE(p.cubin.empty());
  EXPECT_NE(p.ptx.find(".entry scale"), std::string::npos);
  EXPECT_NE(p.ptx.find(".loc"), std::string::npos) << "line information is missing";
  const auto* scale = p.find("scale");
  ASSERT_NE(scale, nullptr);
  EXPECT_EQ(scale->lowered_name, "scale");
  ASSERT_EQ(scale->parameters.size(), 4U);
  EXPECT_EQ(scale->parameters[0].bytes, 8);
  EXPECT_EQ(scale->parameters[2].offset, 16);
  EXPECT_EQ(scale->parameters[3].kind, KernelParameter::Kind::kFloat);
  EXPECT_EQ(scale->parameter_bytes, 24);
  EXPECT_GT(scale->resources.registers, 0);
  const auto* copy = p.find("copy<double>");
  ASSERT_NE(copy, nullptr);
  EXPECT_EQ(copy->parameters[0].type, "double const*");
  EXPECT_GT(copy->resources.registers, 0);
}

TEST(Compile, SharedMemoryAndLaunchBoundsAreReported) {
  const auto p = build(R"(
__global__ void __launch_bounds__(128) k(float* y) {
  __shared__ float s[256];
  s[threadIdx.x] = y[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = s[255 - threadIdx.x];
})",
                       {"k"});
  ASSERT_EQ(p.verdict, Verdict::kOk) << p.log;
  EXPECT_EQ(p.kernels[0].resources.max_threads, 128);
  EXPECT_EQ(p.kernels[0].resources.static_shared_bytes, 1024);
}

TEST(Compile, SpillsAreReported) {
  const auto p = build(R"(
__global__ void __launch_bounds__(1024, 2) k(volatile float* y) {
  float a[64];
  #pragma unroll
  for (int i = 0; i < 64; ++i) a[i] = y[i * 1024 + threadIdx.x];
  __syncthreads();
  #pragma unroll
  for (int i = 0; i < 64; ++i) y[i * 1024 + 1023 - threadIdx.x] = a[i];
})",
                       {"k"});
  ASSERT_EQ(p.verdict, Verdict::kOk) << p.log;
  EXPECT_LE(p.kernels[0].resources.registers, 32);
  EXPECT_GT(p.kernels[0].resources.spill_bytes, 0);
}

TEST(Compile, FirstErrorNamesTheLineAndShowsIt) {
  const std::string source = "__global__ void k(float* y) {\n  y[0] = undefined_thing;\n}\n";
  const auto p = build(source, {"k"});
  EXPECT_EQ(p.verdict, Verdict::kCompileError);
  EXPECT_FALSE(p.missing_kernel);
  const auto line = first_error(p.log, source);
  EXPECT_NE(line.find("line 2: identifier \"undefined_thing\" is undefined"), std::string::npos)
      << line;
  EXPECT_NE(line.find("`y[0] = undefined_thing;`"), std::string::npos) << line;
}

TEST(Compile, MissingKernelListsWhatThereIs) {
  const auto p = build(kScale, {"scaled"}, {{"BIAS", "0"}});
  EXPECT_EQ(p.verdict, Verdict::kCompileError);
  EXPECT_TRUE(p.missing_kernel);
  EXPECT_NE(p.log.find("no kernel 'scaled'"), std::string::npos) << p.log;
  EXPECT_NE(p.log.find("scale"), std::string::npos) << p.log;
}

TEST(Compile, ADeviceFunctionIsNoKernel) {
  const auto p = build(
      "__device__ void helper(float* y) { y[0] = 1; }\n"
      "__global__ void k(float* y) { helper(y); }",
      {"helper"});
  EXPECT_EQ(p.verdict, Verdict::kCompileError);
  EXPECT_TRUE(p.missing_kernel) << p.log;
}

TEST(Compile, UsualHeadersWork) {
  const auto p = build(R"(
#include <cuda_runtime.h>
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <math.h>
#include <float.h>
#include <stdint.h>
#include <stdio.h>
#include "assert.h"
__global__ void k(float* y, const __half* h) {
  uint32_t i = threadIdx.x;
  y[i] = fmaxf(-FLT_MAX, expf(__half2float(h[i]))) * (float)M_PI + INFINITY;
})",
                       {"k"});
  EXPECT_EQ(p.verdict, Verdict::kOk) << p.log;
}

TEST(Compile, StandardCppHeadersWork) {
  const auto p = build(R"(
#include <cstdint>
#include <cmath>
#include <cfloat>
#include <climits>
#include <limits>
#include <type_traits>
#include <cooperative_groups.h>
__global__ void k(float* y) {
  static_assert(std::is_same<float, float>::value);
  std::uint32_t i = threadIdx.x;
  y[i] = std::numeric_limits<float>::max() * sqrtf(y[i]);
})",
                       {"k"});
  EXPECT_EQ(p.verdict, Verdict::kOk) << p.log;
}

TEST(Compile, HostFilesAreOutOfReach) {
  const std::string secret = testing::TempDir() + "/hone_secret.h";
  std::ofstream(secret) << "int secret_word;\n";
  for (const std::string directive :
       {"#include \"/etc/passwd\"", "#include </etc/passwd>", "#include \"../../../etc/passwd\"",
        "#inc\\\nlude \"/etc/passwd\"", "%:include \"/etc/passwd\"",
        "# /* */ include \"/etc/passwd\"", "#define F \"/etc/passwd\"\n#include F",
        "#if __has_include(\"/etc/passwd\")\n#endif", "#embed \"/etc/passwd\"",
        "const char* s = R\"x(\" /*)x\";\n#include \"/etc/passwd\"\n// */",
        "#include \"etc/passwd\"",
        "constexpr auto c = L'\"'; constexpr char s[] = \"/*\";\n#include \"/etc/passwd\"\n// */",
        "constexpr auto c = u8'\"'; constexpr char s[] = \"/*\";\n#include \"/etc/passwd\"\n// */",
        "constexpr int n = 1'000; constexpr int m = 0x1'F'\n;\n#include \"/etc/passwd\""}) {
    const auto p = build(std::string(directive) + "\n__global__ void k() {}", {"k"});
    EXPECT_EQ(p.verdict, Verdict::kCompileError) << directive;
    EXPECT_NE(p.log.find("line "), std::string::npos) << p.log;
    EXPECT_EQ(p.log.find("root:"), std::string::npos) << p.log;
  }
  const auto p = build("#include \"" + secret + "\"\n__global__ void k() {}", {"k"});
  EXPECT_EQ(p.verdict, Verdict::kCompileError);
  EXPECT_EQ(p.log.find("secret_word"), std::string::npos);
}

TEST(Compile, CommentsAndStringsAreNoDirectives) {
  const auto p = build(
      "/*\n#include \"/etc/passwd\"\n*/\n// \\\n#include \"/etc/passwd\"\n"
      "__global__ void k(int* y) { const char* s = \"/*\"; y[0] = s[0] + 1'000 + 0x1'F'F; }\n/* */",
      {"k"});
  EXPECT_EQ(p.verdict, Verdict::kOk) << p.log;
}

TEST(Compile, OddSourcesAreErrorsNotAccidents) {
  EXPECT_EQ(build("", {"k"}).verdict, Verdict::kCompileError);
  EXPECT_EQ(build(std::string("int x;\0", 7), {"k"}).verdict, Verdict::kCompileError);
  EXPECT_EQ(build("__global__ void k() {}", {""}).verdict, Verdict::kCompileError);
  EXPECT_EQ(build("__global__ void k() {}", {"k); int x = (1"}).verdict, Verdict::kCompileError);
  EXPECT_EQ(build("\xff\xfe garbage", {"k"}).verdict, Verdict::kCompileError);
}

TEST(PtxEntries, ReadsEveryKindOfParameter) {
  const auto entries = ptx_entries(R"(
.visible .entry _Z1kPfiDh(
	.param .u64 .ptr .align 1 _Z1k_param_0,
	.param .u32 _Z1k_param_1,
	.param .align 8 .b8 _Z1k_param_2[24],
	.param .f64 _Z1k_param_3
)
.maxntid 16, 16, 1
{ ret; }
.entry bare() { ret; })");
  ASSERT_EQ(entries.size(), 2U);
  ASSERT_EQ(entries[0].parameters.size(), 4U);
  EXPECT_TRUE(entries[0].parameters[0].pointer);
  EXPECT_EQ(entries[0].parameters[1].offset, 8);
  EXPECT_EQ(entries[0].parameters[2].offset, 16);
  EXPECT_EQ(entries[0].parameters[2].bytes, 24);
  EXPECT_EQ(entries[0].parameters[3].offset, 40);
  EXPECT_EQ(entries[0].parameter_bytes, 48);
  EXPECT_EQ(entries[0].max_threads, 256);
  EXPECT_EQ(entries[1].parameters.size(), 0U);
}

TEST(PtxEntries, MangledTypes) {
  EXPECT_EQ(parameter_types("_Z5scalePKfPfi"),
            (std::vector<std::string>{"float const*", "float*", "int"}));
  EXPECT_EQ(parameter_types("plain"), std::vector<std::string>{});
  EXPECT_EQ(parameter_types("_Z1kISt4pairIifEEvT_Pf").size(), 2U);
}

TEST(PtxasLog, OldAndNewForms) {
  const auto r = parse_ptxas_log(
      "ptxas info    : Compiling entry function 'a' for 'sm_90'\n"
      "ptxas info    : Function properties for a\n"
      "ptxas         .     8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads\n"
      "ptxas info    : Used 40 registers, used 1 barriers, 2048 bytes smem\n"
      "ptxas info    : Compiling entry function 'b' for 'sm_90'\n"
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 6 registers\n");
  ASSERT_EQ(r.size(), 2U);
  EXPECT_EQ(r.at("a").registers, 40);
  EXPECT_EQ(r.at("a").spill_bytes, 16);
  EXPECT_EQ(r.at("a").static_shared_bytes, 2048);
  EXPECT_EQ(r.at("b").registers, 6);
}

}  // namespace
}  // namespace hone::compile
