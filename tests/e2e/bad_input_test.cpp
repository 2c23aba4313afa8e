// Every kind of bad input ends in one clear line, the right exit status and an empty database.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/e2e/process.h"

namespace hone::testing {
namespace {

std::string task(
    const std::string& launch, const std::string& kernel,
    const std::string& sizes = R"CU("sizes": {"N": 4096}, "check_sizes": [{"N": 100}])CU") {
  return "/* hone {\n  \"name\": \"t\", " + sizes + R"CU(,
  "buffers": [{"name": "x", "type": "f32", "shape": ["N"]},
              {"name": "y", "type": "f32", "shape": ["N"], "role": "out"}],
  "launches": [)CU" +
         launch + "]\n} */\n" + kernel;
}

const std::string kLaunch =
    R"CU({"kernel": "scale", "grid": ["ceildiv(N,128)"], "block": [128], "args": ["x", "y", "N"]
})CU";
std::string kernel(const std::string& body) {
  return "__device__ int counter;\n__global__ void scale(const float* x, float* y, int N) {\n"
         "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n" +
         body + "\n}\n";
}
const std::string kGood = kernel("  if (i < N) y[i] = 2.0f * x[i];");

struct Case {
  const char* name;
  std::string text;
  int status;
  std::vector<std::string> says;  ///< each must be in the message
};

void PrintTo(const Case& test, std::ostream* out) { *out << test.name; }

class BadInput : public ::testing::TestWithParam<Case> {};

TEST_P(BadInput, IsOneClearMessageAndNoRow) {
  const Case& test = GetParam();
  const TemporaryFolder folder;
  const std::string file = folder.write("task.cu", test.text);
  const std::string db = folder.file("hone.db");
  const auto run = hone({"optimize", file, "--device", "emu:sm_90", "--budget", "5", "--db", db,
                         "--quiet", "--json", "-"});
  EXPECT_EQ(run.status, test.status) << run.out << run.err;
  // Beside it, where this machine refuses a layer of the sandbox, one line that says so.
  const auto about_the_sandbox = run.err.starts_with("hone: the sandbox does without") ? 1 : 0;
  EXPECT_EQ(std::ranges::count(run.err, '\n'), 1 + about_the_sandbox) << run.err;
  for (const std::string& text : test.says) {
    EXPECT_NE(run.err.find(text), std::string::npos) << "wanted '" << text << "' in: " << run.err;
  }
  EXPECT_TRUE(run.json().contains("error")) << run.out;
  const auto board = hone({"leaderboard", "--db", db, "--json", "-"});
  if (board.status == 0) {
    EXPECT_TRUE(board.json()["boards"].empty()) << board.out;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Tasks, BadInput,
    ::testing::Values(
        Case{"NotJson", "/* hone { \"name\": } */\n" + kGood, 2, {"task.cu:1:"}},
        Case{"NoComment", kGood, 2, {"task.cu", "hone init"}}, Case{"Empty", "", 2, {"task.cu"}},
        Case{"MissingKernel", task(kLaunch, "__device__ int f() { return 1; }\n"), 2, {"kernel"}},
        Case{
            "MisspeltKernel",
            task(
                R"CU({"kernel": "scael", "grid": ["ceildiv(N,128)"], "block": [128], "args": ["x", "y", "N"]})CU",
                kGood),
            2,
            {"launches[0]", "scael", "scale"}},
        Case{
            "ArgumentCount",
            task(
                R"CU({"kernel": "scale", "grid": ["ceildiv(N,128)"], "block": [128], "args": ["x", "y"]})CU",
                kGood),
            2,
            {"launches[0].args", "2 arguments", "3"}},
        Case{
            "ArgumentType",
            task(
                R"CU({"kernel": "scale", "grid": ["ceildiv(N,128)"], "block": [128], "args": ["N", "y", "N"]})CU",
                kGood),
            2,
            {"launches[0].args[0]", "pointer"}},
        Case{
            "BufferForScalar",
            task(
                R"CU({"kernel": "scale", "grid": ["ceildiv(N,128)"], "block": [128], "args": ["x", "y", "y"]})CU",
                kGood),
            2,
            {"launches[0].args[2]", "scalar"}},
        Case{
            "UnknownName",
            task(
                R"CU({"kernel": "scale", "grid": ["ceildiv(M,128)"], "block": [128], "args": ["x", "y", "N"]})CU",
                kGood),
            2,
            {"launches[0].grid[0]", "M"}},
        Case{
            "BlockTooLarge",
            task(
                R"CU({"kernel": "scale", "grid": ["ceildiv(N,2048)"], "block": [2048], "args": ["x", "y", "N"]})CU",
                kGood),
            2,
            {"launches[0]", "1024"}},
        Case{
            "SharedTooLarge",
            task(
                R"CU({"kernel": "scale", "grid": ["ceildiv(N,128)"], "block": [128], "shared_bytes": 1000000, "args": ["x", "y", "N"]})CU",
                kGood),
            2,
            {"launches[0]", "shared", "232448"}},
        Case{"SizeZero",
             task(kLaunch, kGood, R"CU("sizes": {"N": 0}, "check_sizes": [{"N": 100}])CU"),
             2,
             {"N"}},
        Case{"TooLargeForMemory",
             task(kLaunch, kGood,
                  R"CU("sizes": {"N": 200000000000}, "check_sizes": [{"N": 100}])CU"),
             2,
             {"memory"}},
        Case{"DoesNotCompile",
             task(kLaunch, kernel("  if (i < N) y[i] = undeclared;")),
             1,
             {"task.cu:", "undeclared"}},
        Case{"Faults", task(kLaunch, kernel("  y[i] = 2.0f * x[i];")), 1, {"out-of-bounds"}},
        Case{"Hangs",
             task(kLaunch, kernel("  while (x[0] == x[0]) { if (counter == 7) return; }")),
             1,
             {""}},
        Case{"WritesNothing", task(kLaunch, kernel("")), 1, {"y"}},
        Case{"WritesHalf", task(kLaunch, kernel("  if (i < N / 2) y[i] = 2.0f * x[i];")), 1, {"y"}},
        Case{"UnknownKey",
             task(kLaunch, kGood,
                  R"CU("sizse": {"N": 1}, "sizes": {"N": 4096}, "check_sizes": [{"N": 100}])CU"),
             2,
             {"sizse", "sizes"}}),
    [](const auto& info) { return std::string(info.param.name); });

// NVRTC decides what is CUDA: a source that only our own parser cannot read is still a task.
TEST(UnreadableForTheRules, IsStillATaskWithItsTunables) {
  const TemporaryFolder folder;
  const std::string text = task(kLaunch,
                                "__device__ float fetch(cudaTextureObject_t table, int i) {\n"
                                "  return tex1Dfetch<float>(table, i);\n}\n" +
                                    kGood);
  const auto run =
      hone({"optimize", folder.write("task.cu", text), "--device", "emu:sm_90", "--budget", "3",
            "--db", folder.file("hone.db"), "--quiet", "--json", "-"});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_NE(run.err.find("only its tunables are searched"), std::string::npos) << run.err;
}

TEST(BadCommandLine, AnUnwritableJsonFileIsNoticedBeforeTheSearch) {
  const TemporaryFolder folder;
  const auto run = hone({"optimize", folder.write("t.cu", task(kLaunch, kGood)), "--device",
                         "emu:sm_90", "--budget", "1h", "--db", folder.file("hone.db"), "--json",
                         folder.file("absent/folder/out.json")});
  EXPECT_EQ(run.status, 3);
  EXPECT_NE(run.err.find("out.json"), std::string::npos) << run.err;
}

TEST(BadCommandLine, EndsWithStatusTwo) {
  const TemporaryFolder folder;
  const std::string good = folder.write("t.cu", task(kLaunch, kGood));
  const std::string db = folder.file("hone.db");
  EXPECT_EQ(hone({}).status, 2);
  EXPECT_EQ(hone({"optimise"}).status, 2);
  EXPECT_EQ(hone({"optimize"}).status, 2);
  EXPECT_EQ(hone({"optimize", folder.file("absent.cu")}).status, 2);
  EXPECT_EQ(hone({"optimize", good, "--budget", "soon", "--db", db}).status, 2);
  EXPECT_NE(hone({"optimize", good, "--arch", "sm_90"}).err.find("did you mean --device?"),
            std::string::npos);
  EXPECT_EQ(
      hone({"optimize", good, "--strategy", "magic", "--device", "emu:sm_90", "--db", db}).status,
      2);
  EXPECT_EQ(hone({"optimize", good, "--device", "tpu:0", "--db", db}).status, 2);
  EXPECT_EQ(hone({"optimize", good, "--device", "emu:sm_12", "--db", db}).status, 2);
  EXPECT_EQ(hone({"optimize", good, "--without", "magic", "--db", db}).status, 2);
  EXPECT_EQ(hone({"show", "zz", "--db", folder.file("absent.db")}).status, 2);
  EXPECT_EQ(
      hone({"leaderboard", "--db", folder.write("no.db", "this is not a database, at all")}).status,
      3);
  EXPECT_EQ(hone({"--help"}).status, 0);
  EXPECT_EQ(hone({"optimize", "--help"}).status, 0);
}

}  // namespace
}  // namespace hone::testing
