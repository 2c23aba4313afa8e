// `hone check`: what it finds, how it points at it, and how it ends.
#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "tests/e2e/process.h"

namespace hone::testing {
namespace {

/// A task whose kernel has this body; lines are counted from the comment's first.
std::string task(const std::string& body) {
  return R"CU(/* hone {
  "name": "shift", "sizes": {"N": 4096}, "check_sizes": [{"N": 128}, {"N": 64}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["N"]},
              {"name": "y", "type": "f32", "shape": ["N"], "role": "out"}],
  "launches": [{"kernel": "shift", "grid": ["ceildiv(N,64)"], "block": [64], "args": ["x", "y", "N"]}]
}
*/
extern "C" __global__ void shift(const float* x, float* y, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
)CU" + body +
         "}\n";
}
constexpr int kBodyLine = 10;

class Check : public ::testing::Test {
 protected:
  ProcessResult check(const std::string& body, std::vector<std::string> more = {}) {
    const std::string file = folder_.write("shift.cu", task(body));
    std::vector<std::string> command = {"check", file, "--json", folder_.file("out.json")};
    command.insert(command.end(), more.begin(), more.end());
    return hone(command);
  }
  [[nodiscard]] nlohmann::json json() const {
    const auto text = run_process({"/bin/cat", folder_.file("out.json")});
    return text.json();
  }
  TemporaryFolder folder_;
};

TEST_F(Check, CleanTask) {
  const auto run = check("  if (i < n) y[i] = x[i];\n");
  EXPECT_EQ(run.status, 0) << run.out << run.err;
  EXPECT_NE(run.out.find("N=128: clean"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("N=64: clean"), std::string::npos) << run.out;
  EXPECT_EQ(json()["clean"], true);
  EXPECT_EQ(json()["runs"].size(), 2U);
}

TEST_F(Check, FindsTheSameWithAnyNumberOfThreads) {
  const std::string body =
      "  if (i == 100) y[n + 64] = 1;\n  if (i > 4000) y[i] = y[(i + 64) % n];\n"
      "  else y[i] = x[i];\n";
  nlohmann::json first;
  for (const char* threads : {"1", "2", "4"}) {
    const auto run = check(body, {"--timed", "--seeds", "5", "--threads", threads});
    EXPECT_EQ(run.status, 1) << run.out << run.err;
    if (first.is_null()) first = json();
    EXPECT_EQ(json(), first) << threads;
  }
  EXPECT_GE(first["runs"][0]["findings"].size(), 2U) << first.dump(1);
}

TEST_F(Check, RaceNamesBothSides) {
  const auto run =
      check("  __shared__ float s[64];\n  s[threadIdx.x] = x[i];\n  y[i] = s[63 - threadIdx.x];\n");
  EXPECT_EQ(run.status, 1) << run.out << run.err;
  const auto findings = json()["runs"][0]["findings"];
  ASSERT_FALSE(findings.empty()) << run.out;
  const auto& f = findings[0];
  EXPECT_EQ(f["kind"], "race");
  EXPECT_TRUE(run.out.starts_with("race: read of") || run.out.starts_with("race: write of"))
      << run.out;
  EXPECT_GT(f["place"]["ptx_line"].get<int>(), 0);
  std::set<int> lines{f["place"]["line"], f["other_place"]["line"]};
  EXPECT_EQ(lines, (std::set<int>{kBodyLine + 1, kBodyLine + 2})) << f;
  EXPECT_NE(run.out.find("shift.cu:" + std::to_string(kBodyLine + 1) + ": s[threadIdx.x] = x[i];"),
            std::string::npos)
      << run.out;
}

TEST_F(Check, OutOfBoundsAtEverySizeAndEveryPlace) {
  const auto run = check("  y[i + 1] = x[i];\n  y[i] = x[i - 1];\n");
  EXPECT_EQ(run.status, 1) << run.out << run.err;
  const auto result = json();
  ASSERT_EQ(result["runs"].size(), 2U);
  for (const auto& at : result["runs"]) {
    std::set<std::pair<std::string, int>> found;
    for (const auto& f : at["findings"])
      found.emplace(f["kind"].get<std::string>(), f["place"]["line"].get<int>());
    EXPECT_TRUE(found.contains({"out_of_bounds", kBodyLine})) << at;
    EXPECT_TRUE(found.contains({"out_of_bounds", kBodyLine + 1})) << at;
  }
  // Only what was asked for.
  EXPECT_EQ(check("  y[i + 1] = x[i];\n", {"--checks", "races"}).status, 0);
  EXPECT_EQ(check("  y[i + 1] = x[i];\n", {"--checks", "bounds"}).status, 1);
}

TEST_F(Check, UninitialisedAndPrintf) {
  const auto run = check("  if (i == 0) printf(\"n is %d\\n\", n);\n  y[i] += x[i];\n",
                         {"--size", "N=64", "--seeds", "2"});
  EXPECT_EQ(run.status, 1) << run.out << run.err;
  const auto result = json();
  ASSERT_EQ(result["runs"].size(), 1U);
  EXPECT_EQ(result["runs"][0]["findings"][0]["kind"], "uninitialised");
  EXPECT_EQ(result["runs"][0]["printf"], "n is 64\n");
  EXPECT_NE(run.out.find("n is 64"), std::string::npos) << run.out;
}

TEST_F(Check, AShuffleThatLanesNeverReachIsNamedAndNotTheBarrier) {
  const auto run = check(
      "  float v = x[i];\n"
      "  if (threadIdx.x & 16)\n"
      "    v += __shfl_xor_sync(0xffffffff, v, 1);\n"
      "  __syncthreads();\n"
      "  y[i] = v;\n",
      {"--size", "N=64"});
  EXPECT_EQ(run.status, 1) << run.out << run.err;
  const auto findings = json()["runs"][0]["findings"];
  ASSERT_EQ(findings.size(), 1U) << run.out;
  EXPECT_EQ(findings[0]["kind"], "warp_mask");
  EXPECT_EQ(findings[0]["place"]["line"], kBodyLine + 2) << run.out;
  EXPECT_EQ(findings[0]["other_place"]["line"], kBodyLine + 3) << run.out;
}

TEST_F(Check, ABarrierThatLanesNeverReachIsNamedAndNotTheShuffleAfterIt) {
  const auto run = check(
      "  float v = x[i];\n"
      "  if (threadIdx.x & 16)\n"
      "    __syncthreads();\n"
      "  v += __shfl_xor_sync(0xffffffff, v, 1);\n"
      "  y[i] = v;\n",
      {"--size", "N=64"});
  EXPECT_EQ(run.status, 1) << run.out << run.err;
  const auto findings = json()["runs"][0]["findings"];
  ASSERT_EQ(findings.size(), 1U) << run.out;
  EXPECT_EQ(findings[0]["kind"], "barrier");
  EXPECT_EQ(findings[0]["place"]["line"], kBodyLine + 2) << run.out;
}

TEST_F(Check, AnInactiveLanesValueNamesItsShuffle) {
  const auto run = check(
      "  if (threadIdx.x & 16) return;\n"
      "  float v = __shfl_xor_sync(0x0000ffff, x[i], 16);\n"
      "  v *= 2;\n"
      "  y[i] = v;\n",
      {"--size", "N=64"});
  EXPECT_EQ(run.status, 1) << run.out << run.err;
  EXPECT_NE(run.out.find("read by the shuffle at line " + std::to_string(kBodyLine + 1)),
            std::string::npos)
      << run.out;
}

TEST_F(Check, EndsWhenItsTimeIsOver) {
  const auto run = check(
      "  float s = 0;\n"
      "  for (int k = 0; k < 100000000; ++k) s += x[(i + k) % n];\n"
      "  y[i] = s;\n",
      {"--size", "N=64", "--timeout", "1"});
  EXPECT_EQ(run.status, 1) << run.out << run.err;
  EXPECT_NE(run.out.find("N=64: stopped after 1 s, in launch 1 of 1"), std::string::npos)
      << run.out;
  EXPECT_EQ(json()["runs"][0]["findings"].size(), 0U) << run.out;
}

TEST_F(Check, AnEndlessWaitHasAPlace) {
  const auto run = check(
      "  y[i] = x[i];\n"
      "  __syncthreads();\n"
      "  if (i == 0)\n"
      "    while (*(volatile float*)y == x[0]) {}\n",
      {"--size", "N=64"});
  EXPECT_EQ(run.status, 1) << run.out << run.err;
  const auto findings = json()["runs"][0]["findings"];
  ASSERT_EQ(findings.size(), 1U) << run.out;
  EXPECT_EQ(findings[0]["kind"], "timeout");
  EXPECT_EQ(findings[0]["place"]["line"], kBodyLine + 3) << run.out;
  EXPECT_TRUE(findings[0].contains("thread")) << findings[0];
  EXPECT_EQ(findings[0]["what"].get<std::string>().find("kernel"), std::string::npos)
      << findings[0];
}

TEST_F(Check, AnUnrolledLineIsOneFinding) {
  const auto run = check(
      "  #pragma unroll\n"
      "  for (int k = 0; k < 4; ++k)\n"
      "    y[i + k * n] = x[i];\n",
      {"--size", "N=64"});
  EXPECT_EQ(run.status, 1) << run.out << run.err;
  const auto findings = json()["runs"][0]["findings"];
  ASSERT_EQ(findings.size(), 1U) << run.out;
  EXPECT_EQ(findings[0]["places"], 3);
  EXPECT_EQ(findings[0]["count"], 3 * 64);
  EXPECT_NE(run.out.find("and 2 more at this line"), std::string::npos) << run.out;
}

TEST_F(Check, AnOutputThatIsNotWrittenWhole) {
  const std::string body = "  if (i < n - 8) y[i] = x[i];\n";
  const auto run = check(body, {"--size", "N=64"});
  EXPECT_EQ(run.status, 1) << run.out << run.err;
  EXPECT_EQ(json()["runs"][0]["verdict"], "wrong_result");
  EXPECT_NE(run.out.find("it leaves y[56] unwritten"), std::string::npos) << run.out;
  EXPECT_EQ(check(body, {"--size", "N=64", "--checks", "outputs"}).status, 1);
  EXPECT_EQ(check(body, {"--size", "N=64", "--checks", "races"}).status, 0);
}

TEST_F(Check, AnElementOfAVectorThatHoldsNothing) {
  const auto run = check(
      "  if (i % 2 == 0 && i < n)\n"
      "    asm volatile(\"{ .reg .f32 open; st.global.v2.f32 [%0], {%1, open}; }\"\n"
      "                 :: \"l\"(y + i), \"f\"(x[i]) : \"memory\");\n"
      "  if (i % 2 == 1 && i < n - 2) y[i] = x[i];\n",
      {"--size", "N=64"});
  EXPECT_EQ(run.status, 1) << run.out << run.err;
  EXPECT_NE(run.out.find("it leaves y[63] unwritten"), std::string::npos) << run.out;
}

TEST_F(Check, WrongUseSaysWhatToDo) {
  const std::string bare = folder_.write("bare.cu", "__global__ void k(float* x) { x[0] = 1; }\n");
  const auto run = hone({"check", bare});
  EXPECT_EQ(run.status, 2);
  EXPECT_NE(run.err.find("hone init"), std::string::npos) << run.err;
  EXPECT_EQ(check("  y[i] = x[i];\n", {"--size", "Q=1"}).status, 2);
  const auto luck = check("  y[i] = x[i];\n", {"--checks", "luck"});
  EXPECT_EQ(luck.status, 2);
  EXPECT_NE(luck.err.find("bounds, races, init, sync, outputs, out_of_bounds"), std::string::npos)
      << luck.err;
  EXPECT_EQ(check("  y[i] = x[i];\n", {"--arch", "sm_1"}).status, 2);
  EXPECT_EQ(check("  y[i] = undeclared;\n").status, 1);
}

TEST_F(Check, AVariant) {
  const std::string variant =
      folder_.write("variant.cu",
                    "extern \"C\" __global__ void shift(const float* x, float* y, int n) {\n"
                    "  y[blockIdx.x * 64 + threadIdx.x + 1] = x[threadIdx.x];\n}\n");
  const auto run = check("  y[i] = x[i];\n", {"--variant", variant});
  EXPECT_EQ(run.status, 1) << run.out << run.err;
  EXPECT_NE(run.out.find("variant.cu:2: y[blockIdx.x"), std::string::npos) << run.out;
}

}  // namespace
}  // namespace hone::testing
