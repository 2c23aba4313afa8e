// `hone bench`: every task of a folder, once.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/e2e/process.h"

namespace hone::testing {
namespace {

std::string task(const std::string& name, const std::string& body) {
  return R"CU(/* hone {
  "name": ")CU" +
         name + R"CU(", "sizes": {"N": 4096}, "check_sizes": [{"N": 100}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["N"]},
              {"name": "y", "type": "f32", "shape": ["N"], "role": "out"}],
  "launches": [{"kernel": "k", "grid": ["ceildiv(N,128)"], "block": [128], "args": ["x", "y", "N"]}]
}
*/
__global__ void k(const float* x, float* y, int N) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) )CU" +
         body + "\n}\n";
}

class BenchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_.file("tasks/deeper"));
    folder_.write("tasks/a.cu", task("doubled", "y[i] = 2.0f * x[i];"));
    folder_.write("tasks/deeper/b.cu", task("halved", "y[i] = 0.5f * x[i];"));
    folder_.write("tasks/plain.cu", "__global__ void none() {}\n");
    folder_.write("tasks/numbers.json", "[1, 2, 3]\n");
  }
  ProcessResult bench(std::vector<std::string> more = {}) {
    std::vector<std::string> all = {
        "bench", folder_.file("tasks"),   "--device", "emu:sm_90", "--budget", "6", "--quiet",
        "--db",  folder_.file("hone.db"), "--json",   "-"};
    all.insert(all.end(), more.begin(), more.end());
    return hone(all);
  }

  TemporaryFolder folder_;
};

TEST_F(BenchTest, SearchesEveryTaskOnceAndStoresTheTable) {
  const ProcessResult first = bench();
  ASSERT_EQ(first.status, 0) << first.err;
  const auto document = first.json();
  ASSERT_EQ(document["rows"].size(), 2U) << document;
  EXPECT_EQ(document["rows"][0]["task"], "doubled");
  EXPECT_EQ(document["rows"][1]["task"], "halved");
  EXPECT_EQ(document["rows"][0]["evaluated"], 6);
  EXPECT_EQ(document["taken_over"], 0);
  EXPECT_EQ(document["summary"]["tasks"], 2);
  EXPECT_TRUE(document["summary"]["modelled"]);
  EXPECT_NE(first.err.find("geometric mean"), std::string::npos);

  folder_.write("tasks/c.cu", task("added", "y[i] = 1.0f + x[i];"));
  const auto second = bench().json();
  EXPECT_EQ(second["taken_over"], 2);
  EXPECT_EQ(second["rows"].size(), 3U);
  EXPECT_EQ(second["bench"], document["bench"]);
  EXPECT_EQ(second["rows"][0], document["rows"][0]);

  const auto other = bench({"--seed", "2"}).json();
  EXPECT_EQ(other["taken_over"], 0) << "another seed is another bench";
  EXPECT_NE(other["bench"], document["bench"]);
  EXPECT_EQ(bench({"--again"}).json()["taken_over"], 0);

  const auto overview =
      hone({"leaderboard", "--all-tasks", "--db", folder_.file("hone.db"), "--json", "-"}).json();
  ASSERT_EQ(overview["overviews"].size(), 1U) << overview;
  EXPECT_EQ(overview["overviews"][0]["rows"].size(), 3U);
}

TEST_F(BenchTest, ATaskThatFailsIsARowAndOneThatCannotBeReadIsNamed) {
  folder_.write("tasks/b_faults.cu", task("faults", "y[i + 100000] = x[i];"));
  folder_.write("tasks/c_bad.cu", "/* hone { \"name\": 3 } */\n");
  const ProcessResult result = bench();
  EXPECT_EQ(result.status, 1);
  const auto document = result.json();
  ASSERT_EQ(document["rows"].size(), 3U) << document;
  EXPECT_EQ(document["rows"][1]["task"], "faults");
  EXPECT_NE(document["rows"][1]["error"].get<std::string>().find("the reference faults"),
            std::string::npos)
      << document["rows"][1];
  EXPECT_EQ(document["rows"][1]["candidate"], "");
  EXPECT_EQ(document["left_out"].size(), 1U);
  EXPECT_NE(result.err.find("c_bad.cu:1:"), std::string::npos) << result.err;
}

TEST_F(BenchTest, AnUnknownStrategyIsRefusedBeforeTheFirstTask) {
  const ProcessResult result = bench({"--strategy", "foo"});
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.err.find("no strategy is called 'foo'; there are evolve, "), std::string::npos)
      << result.err;
  EXPECT_NE(result.err.find(", random"), std::string::npos) << result.err;
  EXPECT_FALSE(std::filesystem::exists(folder_.file("hone.db")));
}

TEST_F(BenchTest, ModulesAreTasksAndAFileIsOne) {
  TemporaryFolder modules;
  std::filesystem::copy_file(
      std::string(HONE_SOURCE_DIR) + "/tests/pytorch/fixtures/joined_scan.pt2",
      modules.file("joined_scan.pt2"));
  for (const std::string name : {"", "joined_scan.pt2"}) {
    const ProcessResult result = hone({"bench", modules.file(name), "--device", "emu:sm_90",
                                       "--budget", "1", "--db", folder_.file("modules.db")});
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_NE(result.out.find("joined_scan"), std::string::npos) << result.out;
  }
  const ProcessResult result =
      hone({"bench", folder_.file("tasks/plain.cu"), "--device", "emu:sm_90"});
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.err.find("no .cu file with a task comment"), std::string::npos) << result.err;
}

TEST_F(BenchTest, AFolderWithoutTasksSaysWhatWouldBeOne) {
  TemporaryFolder empty;
  const ProcessResult result = hone({"bench", empty.file(""), "--device", "emu:sm_90"});
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.err.find("no .cu file with a task comment"), std::string::npos) << result.err;
  EXPECT_EQ(hone({"bench", empty.file("gone"), "--device", "emu:sm_90"}).status, 3);
}

}  // namespace
}  // namespace hone::testing
