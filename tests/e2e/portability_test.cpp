// How a candidate fares on other devices, as `hone leaderboard` and `hone show` tell it.
#include <gtest/gtest.h>

#include "candidates/store/store.h"
#include "candidates/task_reader.h"
#include "tests/e2e/process.h"

namespace hone::testing {
namespace {

class Portability : public ::testing::Test {
 protected:
  void SetUp() override {
    auto task = read_task(HONE_SOURCE_DIR "/baselines/gelu/gelu.cu");
    ASSERT_TRUE(task) << task.error().message;
    task_ = std::move(*task);
    auto store = Store::open(db_);
    ASSERT_TRUE(store) << store.error().message;
    store_ = std::move(*store);
    ASSERT_TRUE(store_->put_task(task_));
  }

  void put(char digit, const std::string& name, const std::string& arch, double speedup,
           Verdict verdict = Verdict::kOk) {
    CandidateRecord record;
    record.program_hash = std::string(32, digit);
    record.task_hash = task_.hash();
    record.program = task_.reference;
    record.origin = "variant";
    Evaluation evaluation;
    evaluation.verdict = verdict;
    evaluation.final_stage = true;
    if (verdict != Verdict::kOk) evaluation.detail = "wants 228 KiB of shared memory";
    auto& m = evaluation.measurement;
    m.modelled = name.starts_with("emulated");
    m.time_us = 100;
    m.reference_time_us = 100 * speedup;
    m.speedup = m.ci95_low = m.ci95_high = speedup;
    const std::string device = m.modelled ? "emu:" + arch : "cuda:0";
    ASSERT_TRUE(
        store_->put(0, record, evaluation,
                    {device, name, arch, "NVRTC 13.0", "", "0.1.0", m.modelled, "best-effort"}));
  }

  TemporaryFolder folder_;
  std::string db_ = folder_.file("hone.db");
  Task task_;
  std::unique_ptr<Store> store_;
};

TEST_F(Portability, TheBoardSaysHowEachFaresElsewhere) {
  put('a', "NVIDIA H200", "sm_90", 3);
  put('b', "NVIDIA H200", "sm_90", 2);
  EXPECT_EQ(hone({"leaderboard", "--db", db_}).out.find("elsewhere"), std::string::npos);
  put('a', "NVIDIA A100", "sm_80", 1.83);
  put('a', "NVIDIA A6000", "sm_86", 0, Verdict::kLaunchError);
  put('b', "NVIDIA H100", "sm_90", 1.5);
  put('a', "emulated sm_80 (A100 profile)", "sm_80", 9);

  const auto text = hone({"leaderboard", "--device", "NVIDIA H200", "--db", db_}).out;
  EXPECT_NE(text.find("  elsewhere                        recipe\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  sm_80 1.83x, sm_86 launch_error  (hand-written)\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("  NVIDIA H100 1.50x                (hand-written)\n"), std::string::npos)
      << text;
  EXPECT_EQ(text.find("9.00x"), std::string::npos) << text;  // the emulator's word on the A100

  const auto rows = hone({"leaderboard", "--device", "NVIDIA H200", "--db", db_, "--json", "-"})
                        .json()["boards"][0]["rows"];
  const auto& elsewhere = rows[0]["elsewhere"];
  ASSERT_EQ(elsewhere.size(), 2U) << elsewhere;
  EXPECT_EQ(elsewhere[0]["device"], "cuda:0");
  EXPECT_EQ(elsewhere[0]["device_name"], "NVIDIA A100");
  EXPECT_EQ(elsewhere[0]["arch"], "sm_80");
  EXPECT_EQ(elsewhere[0]["modelled"], false);
  EXPECT_EQ(elsewhere[0]["verdict"], "ok");
  EXPECT_EQ(elsewhere[0]["speedup"], 1.83);
  EXPECT_EQ(elsewhere[0]["ci95"], nlohmann::json({1.83, 1.83}));
  EXPECT_EQ(elsewhere[1]["verdict"], "launch_error");
  EXPECT_EQ(elsewhere[1]["detail"], "wants 228 KiB of shared memory");
  EXPECT_TRUE(elsewhere[1]["speedup"].is_null());
  EXPECT_TRUE(elsewhere[1]["ci95"].is_null());
  const auto modelled = hone({"leaderboard", "--device", "emu:sm_80", "--db", db_, "--json", "-"})
                            .json()["boards"][0]["rows"][0];
  EXPECT_TRUE(modelled["elsewhere"].empty());
}

TEST_F(Portability, ShowListsEveryDevice) {
  put('a', "NVIDIA H200", "sm_90", 3);
  put('a', "emulated sm_80 (A100 profile)", "sm_80", 9);
  put('a', "NVIDIA A6000", "sm_86", 0, Verdict::kLaunchError);
  const auto show = hone({"show", "aaaa", "--db", db_});
  ASSERT_EQ(show.status, 0) << show.err;
  EXPECT_NE(show.out.find("measured  NVIDIA A6000 (sm_86, NVRTC 13.0): launch_error: wants 228 KiB "
                          "of shared memory\n"
                          "measured  NVIDIA H200 (sm_90, NVRTC 13.0): 100.00 us, 3.000x [3.000, "
                          "3.000]\n"
                          "modelled  emulated sm_80 (A100 profile) (sm_80, NVRTC 13.0): 100.00 us, "
                          "9.000x [9.000, 9.000]\n"),
            std::string::npos)
      << show.out;
  const auto finals = hone({"show", "aaaa", "--db", db_, "--json", "-"}).json()["finals"];
  ASSERT_EQ(finals.size(), 3U);
  EXPECT_EQ(finals[0]["verdict"], "launch_error");
  EXPECT_EQ(finals[1]["time_us"], 100);
  EXPECT_EQ(finals[2]["modelled"], true);
}

}  // namespace
}  // namespace hone::testing
