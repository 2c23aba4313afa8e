// One test per bug that was found through the command line, named after it.
#include <gtest/gtest.h>

#include "tests/e2e/process.h"

namespace hone::testing {
namespace {

std::string task(const std::string& sizes, const std::string& buffers, const std::string& launch,
                 const std::string& source) {
  return R"CU(/* hone {"name": "t", "sizes": )CU" + sizes + R"CU(, "buffers": [)CU" + buffers +
         R"CU(], "launches": [)CU" + launch + "]} */\n" + source;
}

const std::string kTwoBuffers = R"CU({"name": "x", "type": "f32", "shape": ["n"]},
  {"name": "y", "type": "f32", "shape": ["n"], "role": "out"})CU";

std::string launch(const std::string& kernel, const std::string& arguments) {
  return R"CU({"kernel": ")CU" + kernel +
         R"CU(", "grid": ["ceildiv(n,128)"], "block": [128], "args": [)CU" + arguments + "]}";
}
const std::string kLaunch = launch("add", R"("x", "y", "n")");

std::string add(const std::string& value) {
  return "__global__ void add(const float* x, float* y, int n) {\n"
         "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
         "  if (i < n) y[i] = " +
         value + ";\n}\n";
}

TEST(Regression, WrongOnlyAtTheTimedSize) {
  const TemporaryFolder folder;
  const std::string file = folder.write(
      "task.cu",
      task(R"({"n": 4096}, "check_sizes": [{"n": 256}])", kTwoBuffers, kLaunch, add("x[i] + 1")));
  const auto evaluate = [&](const std::string& value) {
    return hone({"evaluate", file, folder.write("variant.cu", add(value)), "--device", "emu:sm_90",
                 "--db", folder.file("hone.db"), "--json", "-"});
  };
  const auto wrong = evaluate("n > 1000 ? 0 : x[i] + 1");
  EXPECT_EQ(wrong.status, 1) << wrong.err;
  EXPECT_EQ(wrong.json().value("verdict", ""), "wrong_result") << wrong.out;
  EXPECT_EQ(evaluate("1 + x[i]").status, 0);
}

TEST(Regression, ARightF16AnswerIsNotRefusedOnInputsWithExactAnswers) {
  const TemporaryFolder folder;
  const auto source = [](const std::string& value) {
    return "#include <cuda_fp16.h>\n__global__ void f(const __half* x, __half* y, int n) {\n"
           "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
           "  if (i < n) y[i] = __float2half(" +
           value + ");\n}\n";
  };
  std::string buffers = kTwoBuffers;
  for (std::size_t at = 0; (at = buffers.find("f32", at)) != std::string::npos; ++at)
    buffers.replace(at, 3, "f16");
  const auto verdict = [&](const std::string& reference, const std::string& variant) {
    const std::string file =
        folder.write("task.cu", task(R"({"n": 4096}, "check_sizes": [{"n": 2048}])", buffers,
                                     launch("f", R"("x", "y", "n")"), source(reference)));
    return hone({"evaluate", file, folder.write("variant.cu", source(variant)), "--device",
                 "emu:sm_90", "--db", folder.file("hone.db"), "--json", "-"})
        .json();
  };
  const auto right = verdict("tanhf(__half2float(x[i]))", "1.0001f * tanhf(__half2float(x[i]))");
  EXPECT_EQ(right.value("verdict", ""), "ok") << right;
  // A product is exact there: a factor of fewer bits shows, whatever the tolerance.
  const auto wrong = verdict("2.0f * __half2float(x[i])", "2.002f * __half2float(x[i])");
  EXPECT_EQ(wrong.value("verdict", ""), "wrong_result") << wrong;
}

TEST(Regression, KernelNamedLikeAMathFunction) {
  const TemporaryFolder folder;
  std::string source = add("2 * x[i]");
  source.replace(source.find("add("), 4, "norm(");
  const std::string file = folder.write(
      "task.cu", task(R"({"n": 4096})", kTwoBuffers, launch("norm", R"("x", "y", "n")"), source));
  const auto run = hone({"optimize", file, "--device", "emu:sm_90", "--budget", "3", "--db",
                         folder.file("hone.db"), "--json", "-"});
  EXPECT_EQ(run.status, 0) << run.err;
}

TEST(Regression, GatherThatBeatsTheRoofDoesNotStopTheSearch) {
  const TemporaryFolder folder;
  const std::string file = folder.write(
      "task.cu",
      task(R"({"n": 4096, "V": 400000000}, "check_sizes": [{"n": 256, "V": 100}])",
           R"({"name": "id", "type": "i32", "shape": ["n"], "fill": {"integers": [0, 99]}},
             {"name": "table", "type": "f32", "shape": ["V"]},
             {"name": "y", "type": "f32", "shape": ["n"], "role": "out"})",
           launch("gather", R"("id", "table", "y", "n")"),
           "__global__ void gather(const int* id, const float* table, float* y, int n) {\n"
           "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
           "  if (i < n) y[i] = table[id[i]];\n}\n"));
  const auto run = hone({"optimize", file, "--device", "emu:sm_90", "--budget", "30", "--db",
                         folder.file("hone.db"), "--json", "-"});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.json().value("stop_reason", ""), "budget") << run.out;
  EXPECT_LE(run.json()["best"]["roof_fraction"].get<double>(), 1.0);
}

TEST(Regression, WhatIsWrongWithTheReferenceNamesItsFile) {
  const TemporaryFolder folder;
  const std::string file =
      folder.write("mine.cu", task(R"({"n": 4096})", kTwoBuffers, kLaunch, add("x[n + 9]")));
  const auto run = hone({"optimize", file, "--device", "emu:sm_90", "--budget", "3", "--db",
                         folder.file("hone.db"), "--quiet"});
  EXPECT_EQ(run.status, 1);
  EXPECT_NE(run.err.find("mine.cu: the reference faults"), std::string::npos) << run.err;
}

TEST(Regression, InitOfWhatIsNoFileIsRefused) {
  const TemporaryFolder folder;
  for (const std::string& path : {std::string("/dev/zero"), folder.file(".")}) {
    const auto run = hone({"init", path, "-o", folder.file("out.cu")});
    EXPECT_EQ(run.status, 2) << path;
    EXPECT_NE(run.err.find(path), std::string::npos) << run.err;
  }
}

}  // namespace
}  // namespace hone::testing
