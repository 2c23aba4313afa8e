// `hone optimize --device cuda:0,1`, against a driver without a GPU (tests/fakes/fake_cuda.cpp).
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/e2e/process.h"

namespace hone::testing {
namespace {

namespace fs = std::filesystem;

// The fake GPU's kernels double.
constexpr const char* kDouble = R"CU(/* hone {
  "name": "scale", "sizes": {"N": 200000}, "check_sizes": [{"N": 1000}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["N"]},
              {"name": "y", "type": "f32", "shape": ["N"], "role": "out"}],
  "tunables": {"BLOCK": [32, 64, 96, 128, 160, 192, 224, 256], "ITEMS": [1, 2, 3, 4, 5, 6, 7, 8]},
  "launches": [{"kernel": "scale", "grid": ["ceildiv(N,BLOCK*ITEMS)"], "block": ["BLOCK"],
                "args": ["x", "y", "N"]}]
}
*/ extern "C" __global__ void scale(const float* x, float* y, int N) {
  for (int j = 0; j < ITEMS; ++j) {
    int i = (blockIdx.x * ITEMS + j) * BLOCK + threadIdx.x;
    if (i < N) y[i] = 2.0f * x[i];
  }
}
)CU";

class OptimizeOnSeveralGpus : public ::testing::Test {
 protected:
  void SetUp() override {
    task_ = folder_.write("scale.cu", kDouble);
    library_ = folder_.file("libcuda.so.1");
    fs::copy_file(HONE_BIN_DIR "/../fakes/libcuda.so.1", library_);
    std::ofstream(library_ + ".runs");
    setenv("HONE_LIBCUDA", library_.c_str(), 1);
  }
  void TearDown() override { unsetenv("HONE_LIBCUDA"); }

  void describe(const std::string& lines) const {
    std::ofstream(library_ + ".conf", std::ios::trunc) << lines;
  }
  /// Its runners see the files beside the driver.
  [[nodiscard]] ProcessResult optimize(const std::string& device) const {
    return hone({"optimize", task_, "--device", device, "--db", folder_.file("hone.db"), "--budget",
                 "40", "--seed", "1", "--finalists", "2", "--sandbox", "off", "--json", "-"});
  }
  TemporaryFolder folder_;
  std::string task_, library_;
};

TEST_F(OptimizeOnSeveralGpus, BothGetWork) {
  describe("gpus 3\nrun_ms 2\n");
  const auto run = optimize("cuda:0,2");
  ASSERT_EQ(run.status, 0) << run.err;
  const auto json = run.json();
  EXPECT_EQ(json["device"], "cuda:0,2");
  // They are of one model, which has one board.
  for (const char* device : {"cuda:0", "cuda:2", "cuda:all"}) {
    const auto board = hone({"leaderboard", "scale", "--device", device, "--db",
                             folder_.file("hone.db"), "--json", "-"});
    EXPECT_EQ(board.status, 0) << board.err;
    EXPECT_EQ(board.json()["boards"].size(), 1U) << device << board.out;
  }
  EXPECT_EQ(json["pace"]["evaluated"], 40);
  ASSERT_EQ(json["pace"]["gpus"].size(), 2U);
  for (const int i : {0, 1}) {
    EXPECT_EQ(json["pace"]["gpus"][i]["device"], i == 0 ? "cuda:0" : "cuda:2");
    EXPECT_GE(json["pace"]["gpus"][i]["measured"], 10);
    EXPECT_GT(json["pace"]["gpus"][i]["busy"], 0);
  }
  EXPECT_NE(run.err.find("% of the time (cuda:0 "), std::string::npos) << run.err;
}

TEST_F(OptimizeOnSeveralGpus, OneThatFailsDoesNotEndTheSearch) {
  describe("gpus 2\nrun_ms 5\nlost 1 150\n");
  const auto run = optimize("cuda:all");
  ASSERT_EQ(run.status, 0) << run.err;
  const auto json = run.json();
  EXPECT_EQ(json["device"], "cuda:0,1");
  EXPECT_EQ(json["pace"]["evaluated"], 40);
  EXPECT_EQ(json["counts"]["ok"], 40) << json["counts"];
  EXPECT_NE(json["pace"]["gpus"][1]["lost"], "");
  EXPECT_NE(run.err.find("hone: cuda:1 failed and is left out: "), std::string::npos) << run.err;
  EXPECT_NE(run.err.find("its work goes to the one GPU that is left"), std::string::npos);
}

TEST_F(OptimizeOnSeveralGpus, WhenAllFailTheErrorNamesThem) {
  describe("gpus 2\nrun_ms 5\nlost 0 150\nlost 1 150\n");
  const auto run = optimize("cuda:all");
  EXPECT_EQ(run.status, 3) << run.err;
  const auto json = run.json();
  const std::string message = json["error"].dump();
  EXPECT_NE(message.find("all GPUs of the search failed"), std::string::npos) << message;
  EXPECT_NE(message.find("cuda:1: "), std::string::npos) << message;
}

TEST_F(OptimizeOnSeveralGpus, ThatAreNotThereAreAnError) {
  describe("gpus 2\n");
  const auto run = optimize("cuda:0,2");
  EXPECT_EQ(run.status, 3);
  EXPECT_NE(run.err.find("there is no cuda:2: the GPUs are cuda:0 to cuda:1"), std::string::npos)
      << run.err;
  const auto twice = optimize("cuda:0,0");
  EXPECT_EQ(twice.status, 2);
  EXPECT_NE(twice.err.find("names cuda:0 twice"), std::string::npos) << twice.err;
}

TEST_F(OptimizeOnSeveralGpus, HelpSaysIt) {
  const auto run = hone({"optimize", "--help"});
  EXPECT_NE(run.out.find("cuda:0,2 or cuda:all"), std::string::npos) << run.out;
}

}  // namespace
}  // namespace hone::testing
