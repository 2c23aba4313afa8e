#include <gtest/gtest.h>

#include "rewriters/syntax/parse.h"

namespace hone::syntax {
namespace {

Program program(const std::string& source, const std::string& kernel = "f") {
  Program result;
  result.source = source;
  Launch launch;
  launch.kernel = kernel;
  launch.grid = launch.block = {hone::Expr(1)};
  result.launches.push_back(launch);
  return result;
}

std::string hash(const std::string& source, const std::string& kernel = "f") {
  return structural_hash(program(source, kernel));
}

TEST(StructuralHash, IgnoresCommentsSpacingAndNames) {
  const std::string one = hash("__global__ void f(float* x, int n) { x[threadIdx.x] = n; }");
  EXPECT_EQ(one, hash("// a note\n__global__ void f( float* x, int n ) {\n x[threadIdx.x] = n; }"));
  EXPECT_EQ(one, hash("__global__ void g(float* out, int k) { out[threadIdx.x] = k; }", "g"));
}

TEST(StructuralHash, SeesLiteralsOperatorsMembersAndDefines) {
  const std::string one = hash("__global__ void f(float4* x) { x[0].x = 1.0f; }");
  EXPECT_NE(one, hash("__global__ void f(float4* x) { x[0].x = 2.0f; }"));
  EXPECT_NE(one, hash("__global__ void f(float4* y) { y[0].y = 1.0f; }"));
  EXPECT_NE(one, hash("__global__ void f(float4* x) { x[0].x += 1.0f; }"));
  Program with_define = program("__global__ void f(float4* x) { x[0].x = 1.0f; }");
  with_define.defines["BLOCK"] = "64";
  EXPECT_NE(one, structural_hash(with_define));
  Program other_launch = program("__global__ void f(float4* x) { x[0].x = 1.0f; }");
  other_launch.launches[0].block = {hone::Expr(2)};
  EXPECT_NE(one, structural_hash(other_launch));
}

TEST(StructuralHash, DirectivesKeepTheirLinesAndSpaces) {
  const std::string body = "__global__ void f(float* x) { x[0] = A; }";
  EXPECT_NE(hash("#define A (1)\n" + body), hash("#define A(x) (1)\n" + body));
  EXPECT_NE(hash("#define A 1\n" + body), hash("#define A 1.0f\n" + body));
}

TEST(StructuralHash, WorksOnSourcesThatDoNotParse) {
  EXPECT_NE(hash("__global__ void f(float* x) { x[0] = nope; }"),
            hash("__global__ void f(float* x) { x[0] = nope2; }"));
}

TEST(Formatted, KeepsCommentsAndPragmas) {
  EXPECT_EQ(
      formatted(
          "/* hone {\n  \"a\":   1 } */\n__global__ void f(float*x,int n){\n#pragma unroll 4\n"
          "for(int i=0;i<n;++i){x[i]=0;}}\n"),
      "/* hone {\n  \"a\":   1 } */\n__global__ void f(float* x, int n) {\n#pragma unroll 4\n"
      "  for (int i = 0; i < n; ++i) {\n    x[i] = 0;\n  }\n}\n");
}

}  // namespace
}  // namespace hone::syntax
