// A stranger's source made fit to stand beside another.
#include "candidates/export/source.h"

#include <gtest/gtest.h>

namespace hone::exporting {
namespace {

using Strings = std::vector<std::string>;

TEST(ExportSource, IncludesAreHoistedFromCodeOnly) {
  const auto split = split_includes(
      "#include <cuda_fp16.h>\n  #  include /* why */ \"mma.h\"  // so\n"
      "// #include <a>\n/*\n#include <b>\n*/\nconst char* s = \"\\\n#include <c>\";\n"
      "const char* r = R\"(\n#include <d>\n)\";\n#include <cuda_fp16.h>\n#include MACRO\n"
      "int x; #include <e>\n");
  EXPECT_EQ(split.includes, (Strings{"<cuda_fp16.h>", "\"mma.h\""}));
  for (const char* kept : {"<a>", "<b>", "<c>", "<d>", "MACRO", "<e>"}) {
    EXPECT_NE(split.body.find(kept), std::string::npos) << kept;
  }
  EXPECT_EQ(split.body.find("fp16"), std::string::npos);
}

TEST(ExportSource, MacrosAreFound) {
  EXPECT_EQ(macros_of("#define A 1\n # define B(x) \\\n #define NOT x\n//#define C\n\"#define D\"\n"
                      "#ifdef E\n#define /**/ F\n#endif\n"),
            (std::set<std::string>{"A", "B", "F"}));
}

TEST(ExportSource, LinkageBecomesCpp) {
  EXPECT_EQ(with_cpp_linkage("extern \"C\" __global__ void k();"),
            "extern \"C++\" __global__ void k();");
  EXPECT_EQ(with_cpp_linkage("extern /**/ \"C\" { int a; }"), "extern /**/ \"C++\" { int a; }");
  EXPECT_EQ(with_cpp_linkage("#define API extern \"C\"\n"), "#define API extern \"C++\"\n");
  for (const char* kept : {"// extern \"C\"\n", "f(\"C\");", "extern \"C++\" {}",
                           "const char* s = \"extern \\\"C\\\"\";", "extern int a;"}) {
    EXPECT_EQ(with_cpp_linkage(kept), kept);
  }
}

TEST(ExportSource, OverloadsOfCudasFunctionsAreFound) {
  EXPECT_EQ(overloaded_builtins("__device__ float atomicMax(float* a, float b) { return b; }\n"
                                "__device__ float2 max(float2 a, float2 b);\n"
                                "__global__ void norm(float* x) { x[0] = exp(x[0]); }\n"
                                "__global__ void sqrt(float* x) {}\n"),
            (Strings{"atomicMax", "max"}));
}

TEST(ExportSource, KernelBodiesAreGuarded) {
  const std::string guarded = guard_bodies(
      "template <int N> __global__ void __launch_bounds__(N * (2)) k(int* a /* { */) { a[0] = 1; "
      "}\n"
      "__global__ void declared(int);\n__device__ int table[] = {1, 2};\n"
      "__device__ int plain(int x) { return x; }\n"
      "__device__ int special(int x) { asm(\"wgmma.fence;\"); return x; }\n",
      "COND", "mark 1");
  EXPECT_NE(guarded.find("k(int* a /* { */) {\n#if COND  // mark 1\n a[0] = 1; \n"
                         "#endif  // mark 1\n}"),
            std::string::npos)
      << guarded;
  EXPECT_NE(guarded.find("__device__ int plain(int x) { return x; }"), std::string::npos);
  EXPECT_NE(guarded.find("{1, 2}"), std::string::npos);
  EXPECT_NE(guarded.find("return x; \n#else  // mark 1\n__builtin_unreachable();\n"
                         "#endif  // mark 1\n}"),
            std::string::npos)
      << guarded;
}

TEST(ExportSource, ArchitectureSpecificSourcesAreKnown) {
  EXPECT_TRUE(is_arch_specific("void f() { asm volatile(\"x\"); }"));
  EXPECT_TRUE(is_arch_specific("#include <cooperative_groups.h>\n"));
  EXPECT_TRUE(is_arch_specific("__reduce_add_sync(m, 1)"));
  EXPECT_FALSE(is_arch_specific(
      "// asm\n__global__ void k(float* x) { x[0] = __shfl_sync(~0u, x[0], 0); }"));
  EXPECT_TRUE(needs_arch_features("asm(\"wgmma.mma_async.sync\");"));
  EXPECT_TRUE(needs_arch_features("#define S \"setmaxnreg.inc\"\n"));
  EXPECT_FALSE(needs_arch_features("asm(\"mma.sync\"); // wgmma"));
}

TEST(ExportSource, StandardHeadersAreWrittenOutForNvrtc) {
  const std::string text = with_std_headers(
      "#include <cstdint>\n#include <cuda_fp16.h>\n#pragma once\n// #include <cfloat>\nuint32_t "
      "x;\n");
  EXPECT_EQ(text.find("#include <cstdint>"), std::string::npos);
  EXPECT_EQ(text.find("#include <stdint.h>"), std::string::npos);
  EXPECT_EQ(text.find("#pragma once"), std::string::npos);
  EXPECT_NE(text.find("typedef unsigned int uint32_t;"), std::string::npos);
  EXPECT_NE(text.find("#include <cuda_fp16.h>"), std::string::npos);
  EXPECT_NE(text.find("// #include <cfloat>"), std::string::npos);
  EXPECT_EQ(text.find("#define INFINITY"), std::string::npos);
  EXPECT_NE(with_std_headers("float x = INFINITY;").find("#define INFINITY"), std::string::npos);
}

}  // namespace
}  // namespace hone::exporting
