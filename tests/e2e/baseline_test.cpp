// `hone baseline`, `hone describe` and what the leaderboard makes of them, without a GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "candidates/store/store.h"
#include "candidates/task_reader.h"
#include "tests/e2e/process.h"

namespace hone::testing {
namespace {

const std::string kMatmul = std::string(HONE_SOURCE_DIR) + "/baselines/matmul/matmul.cu";
const std::string kGelu = std::string(HONE_SOURCE_DIR) + "/baselines/gelu/gelu.cu";
constexpr const char* kGpu = "NVIDIA H200";

class Baseline : public ::testing::Test {
 protected:
  void SetUp() override {
    auto task = read_task(kMatmul);
    ASSERT_TRUE(task) << task.error().message;
    task_ = std::move(*task);
  }

  /// A measured finalist, as a search on a GPU would leave it.
  void put_measured(double time_us) {
    auto store = Store::open(db_);
    ASSERT_TRUE(store) << store.error().message;
    ASSERT_TRUE((*store)->put_task(task_));
    CandidateRecord record;
    record.program_hash = std::string(32, 'a');
    record.task_hash = task_.hash();
    record.task_name = task_.name;
    record.program = task_.reference;
    record.origin = "variant";
    Evaluation evaluation;
    evaluation.verdict = Verdict::kOk;
    evaluation.final_stage = true;
    auto& m = evaluation.measurement;
    m.time_us = time_us;
    m.reference_time_us = 3 * time_us;
    m.speedup = m.ci95_low = m.ci95_high = 3;
    ASSERT_TRUE((*store)->put(
        0, record, evaluation,
        {"cuda:0", kGpu, "sm_90", "NVRTC 13.0", "13.0", "0.1.0", false, "best-effort"}));
  }

  [[nodiscard]] std::string file(const std::string& hash) const {
    const auto result = [&](const char* kind, const char* samples) {
      return std::string(R"({"task": "matmul", "task_hash": ")") + hash + R"(", "kind": ")" + kind +
             R"(", "precision": "f32", "samples_us": )" + samples + "}";
    };
    return folder_.write("torch.json",
                         std::string(R"({"format": "hone baselines 1", "device": "cuda:0",
                           "device_name": "NVIDIA H200", "versions": "torch 2.11.0", "results": [)") +
                             result("torch eager", "[299, 300, 301]") + "," +
                             result("torch.compile", "[50, 50, 50]") + "]}");
  }

  TemporaryFolder folder_;
  std::string db_ = folder_.file("hone.db");
  Task task_;
};

TEST_F(Baseline, AnImportShowsOnTheMeasuredBoard) {
  put_measured(100);
  auto board = hone({"leaderboard", "--db", db_, "--json", "-"}).json()["boards"][0];
  EXPECT_TRUE(board["baselines"].empty());
  EXPECT_FALSE(board["rows"][0].contains("speedup_against"));

  const auto import =
      hone({"baseline", kMatmul, kGelu, "--from", file(task_.hash()), "--db", db_, "--json", "-"});
  ASSERT_EQ(import.status, 0) << import.err;
  ASSERT_EQ(import.json()["baselines"].size(), 2U);
  EXPECT_EQ(import.json()["baselines"][0]["time_us"], 300);
  EXPECT_NE(import.err.find("holds no time of the task 'gelu'"), std::string::npos) << import.err;

  board = hone({"leaderboard", "--db", db_, "--json", "-"}).json()["boards"][0];
  ASSERT_EQ(board["baselines"].size(), 2U);
  EXPECT_EQ(board["baselines"][0]["kind"], "torch eager");
  EXPECT_EQ(board["baselines"][0]["versions"], "torch 2.11.0");
  EXPECT_EQ(board["baselines"][0]["ci95_us"], nlohmann::json({299, 301}));
  EXPECT_EQ(board["rows"][0]["speedup_against"],
            nlohmann::json({{"torch eager", 3.0}, {"torch.compile", 0.5}}));
  const auto text = hone({"leaderboard", "--db", db_}).out;
  EXPECT_NE(text.find("x torch eager  x torch.compile"), std::string::npos) << text;
  EXPECT_NE(text.find("        3.00x            0.50x"), std::string::npos) << text;
  EXPECT_NE(text.find("torch eager 300.00 us (f32, torch 2.11.0)"), std::string::npos) << text;
}

TEST_F(Baseline, AModelledBoardShowsNone) {
  const auto run = hone(
      {"optimize", kMatmul, "--device", "emu:sm_90", "--budget", "3", "--db", db_, "--json", "-"});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_TRUE(run.json()["speedup_against"].empty());
  ASSERT_EQ(hone({"baseline", kMatmul, "--from", file(task_.hash()), "--db", db_}).status, 0);
  const auto again = hone(
      {"optimize", kMatmul, "--device", "emu:sm_90", "--budget", "3", "--db", db_, "--json", "-"});
  EXPECT_TRUE(again.json()["speedup_against"].empty());
  EXPECT_EQ(again.err.find("against others"), std::string::npos) << again.err;
  const auto board = hone({"leaderboard", "--db", db_, "--json", "-"}).json()["boards"][0];
  EXPECT_EQ(board["modelled"], true);
  EXPECT_TRUE(board["baselines"].empty());
  EXPECT_EQ(hone({"leaderboard", "--db", db_}).out.find("torch"), std::string::npos);
}

TEST_F(Baseline, BadInputIsOneClearErrorAndStoresNothing) {
  const auto refuses = [&](std::vector<std::string> arguments, const std::string& why) {
    arguments.insert(arguments.end(), {"--db", db_});
    const auto run = hone(arguments);
    EXPECT_EQ(run.status, 2) << run.err;
    EXPECT_NE(run.err.find(why), std::string::npos) << run.err;
    EXPECT_EQ(std::ranges::count(run.err, '\n'), 1) << run.err;
  };
  const std::string other = file(std::string(32, '0'));
  refuses({"baseline", kMatmul, "--from", other}, "of another version of the task");
  refuses({"baseline", kGelu, "--from", other}, "holds no time of the task 'gelu'");
  refuses({"baseline", kMatmul, "--from", folder_.write("bad.json", "{]")}, "is no JSON object");
  refuses({"baseline", kMatmul, "--from", folder_.file("none.json")}, "there is no such file");
  refuses({"baseline", kMatmul, "--device", "emu:sm_90"}, "never modelled");
  refuses({"baseline", kGelu}, "is not one matrix product of two buffers");
  auto store = Store::open(db_);
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_TRUE((*store)->baselines(task_.hash(), kGpu)->empty());
}

// The fake GPU's kernels double (tests/fakes); so does a product with a matrix of one two.
constexpr const char* kDouble = R"CU(/* hone {
  "name": "double", "sizes": {"N": 200000}, "check_sizes": [{"N": 1000}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["N", 1]},
              {"name": "two", "type": "f32", "shape": [1, 1], "fill": 2},
              {"name": "y", "type": "f32", "shape": ["N", 1], "role": "out"}],
  "launches": [{"kernel": "scale", "grid": ["ceildiv(N,256)"], "block": [256],
                "args": ["x", "y", "N"]}],
  "torch": "torch.matmul(x, two)" }
*/ extern "C" __global__ void scale(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2.0f * x[i];
}
)CU";

TEST_F(Baseline, CublasIsMeasuredAndStored) {
  setenv("HONE_LIBCUDA", HONE_BIN_DIR "/../fakes/libcuda.so.1", 1);
  setenv("HONE_LIBCUBLAS", HONE_BIN_DIR "/../fakes/libcublas.so.13", 1);
  const std::string file = folder_.write("double.cu", kDouble);
  const auto run = hone({"baseline", file, kGelu, "--db", db_, "--json", "-"});
  setenv("HONE_LIBCUBLAS", "/nowhere/libcublas.so.13", 1);
  const auto missing = hone({"baseline", file, "--db", db_});
  unsetenv("HONE_LIBCUDA");
  unsetenv("HONE_LIBCUBLAS");
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_NE(run.err.find("left out: gelu"), std::string::npos) << run.err;
  const auto baselines = run.json()["baselines"];
  ASSERT_EQ(baselines.size(), 2U);
  EXPECT_EQ(baselines[0]["kind"], "cublas");
  EXPECT_EQ(baselines[1]["kind"], "cublasLt");
  for (const auto& baseline : baselines) {
    EXPECT_EQ(baseline["verdict"], "ok");
    EXPECT_NEAR(baseline["time_us"].get<double>(), 1000, 0.1);
    EXPECT_NEAR(baseline["reference_time_us"].get<double>(), 100, 0.1);
    EXPECT_EQ(baseline["precision"], "f32");
    EXPECT_EQ(baseline["versions"], "cuBLAS 13.1.0, driver 13.0");
  }
  auto store = Store::open(db_);
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_EQ((*store)->baselines(read_task(file)->hash(), "Fake GPU")->size(), 2U);
  EXPECT_EQ(missing.status, 3);
  EXPECT_NE(missing.err.find("HONE_LIBCUBLAS="), std::string::npos) << missing.err;
}

TEST_F(Baseline, DescribeSaysWhatScriptsNeed) {
  const auto run = hone({"describe", kMatmul, "--json", "-"});
  ASSERT_EQ(run.status, 0) << run.err;
  const auto json = run.json();
  EXPECT_EQ(json["task"], "matmul");
  EXPECT_EQ(json["task_hash"], task_.hash());
  EXPECT_EQ(json["torch"], "torch.matmul(A, B)");
  EXPECT_EQ(json["math"], "reassociate");
  ASSERT_EQ(json["buffers"].size(), 3U);
  EXPECT_EQ(json["buffers"][0]["shape"], nlohmann::json({2048, 2048}));
  EXPECT_EQ(json["buffers"][0]["fill"], "uniform");
  EXPECT_EQ(json["buffers"][2]["role"], "out");
  EXPECT_NE(hone({"describe", kMatmul}).out.find("matmul<<<[128, 128, 1], [16, 16, 1]>>>"),
            std::string::npos);
  EXPECT_EQ(hone({"describe", folder_.file("none.cu")}).status, 2);
}

}  // namespace
}  // namespace hone::testing
