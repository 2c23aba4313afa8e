// What the store keeps beside results: ceilings, jobs, the fence, baselines.
#include <cmath>

#include "tests/unit/candidates/store_fixture.h"

namespace hone {
namespace {

using test::candidate;
using test::emulated;
using test::failed;
using test::gpu;
using test::hash_of;
using test::StoreTest;
using test::timed;

BaselineTime baseline(const std::string& kind, double time_us) {
  BaselineTime b;
  b.kind = kind;
  b.device = "cuda:0";
  b.device_name = gpu().device_name;
  b.time_us = time_us;
  b.ci95_low = time_us - 1;
  b.ci95_high = time_us + 1;
  b.samples_us = {time_us - 1, time_us, time_us + 1};
  b.precision = "f32";
  b.versions = "torch 2.11.0";
  return b;
}

TEST_F(StoreTest, CeilingsArePerDeviceAndDriver) {
  Ceilings c;
  c.dram_bytes_per_s = 4.1e12;
  c.l2_bytes = 60 << 20;
  c.uncertainty = 0.07;
  c.source = "measured";
  ASSERT_TRUE(store_->put_ceilings("NVIDIA H200", "13.0", c));
  c.dram_bytes_per_s = 4.2e12;
  ASSERT_TRUE(store_->put_ceilings("NVIDIA H200", "13.0", c));
  auto found = store_->ceilings("NVIDIA H200", "13.0");
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->measured_at.size(), 24U);
  (*found)->measured_at.clear();
  EXPECT_EQ(**found, c);
  found = store_->ceilings("NVIDIA H200", "13.1");
  ASSERT_TRUE(found);
  EXPECT_FALSE(*found);
}

TEST_F(StoreTest, AJobHasOneRunPerDeviceAndItsResultsUntilItEnds) {
  (void)begin(gpu());
  const auto run = store_->begin_run(task_.hash(), gpu(), 1, "evolve", "job");
  ASSERT_TRUE(run);
  EXPECT_EQ(*store_->begin_run(task_.hash(), gpu(), 1, "evolve", "job"), *run);
  EXPECT_NE(*store_->begin_run(task_.hash(), emulated(), 1, "evolve", "job"), *run);
  EXPECT_NE(*store_->begin_run(task_.hash(), gpu(), 1, "evolve", "other"), *run);
  Evaluation quick = timed(2);
  quick.final_stage = false;
  put(*run, hash_of('a'), quick);
  quick.measurement.speedup = 3;
  put(*run, hash_of('a'), quick);
  put(*run, hash_of('b'), failed(Verdict::kWrongResult));
  put(*run, hash_of('c'), timed(4));
  reopen();
  auto results = store_->run_results(*run);
  ASSERT_TRUE(results) << results.error().message;
  ASSERT_EQ(results->size(), 2U);
  EXPECT_EQ(results->at(hash_of('a')).measurement.speedup, 2);  // what the search was told
  EXPECT_EQ(results->at(hash_of('b')).verdict, Verdict::kWrongResult);
  ASSERT_TRUE(store_->end_run(*run, "done"));
  EXPECT_EQ(store_->run_results(*run)->size(), 2U);  // the job itself may not have ended yet
  ASSERT_TRUE(store_->forget_jobs({"job"}));
  EXPECT_EQ(store_->run_results(*run)->size(), 2U);
  ASSERT_TRUE(store_->forget_job("job"));
  EXPECT_TRUE(store_->run_results(*run)->empty());
  put(*run, hash_of('d'), quick);
  ASSERT_TRUE(store_->forget_jobs({}));
  EXPECT_TRUE(store_->run_results(*run)->empty());
}

TEST_F(StoreTest, WhoLostTheFenceWritesNoMore) {
  const std::int64_t run = begin(gpu());
  auto other = Store::open(file());
  ASSERT_TRUE(other);
  ASSERT_TRUE(store_->take_fence(1));
  put(run, hash_of('a'), timed(2));
  ASSERT_TRUE((*other)->take_fence(2));
  EXPECT_TRUE((*other)->end_run(run, "done"));
  const auto late = store_->put(run, candidate(task_, hash_of('b')), timed(2), gpu());
  ASSERT_FALSE(late);
  EXPECT_NE(late.error().message.find("another process"), std::string::npos);
  EXPECT_FALSE(store_->find_candidate("bbbbbbbbbbbb"));
  EXPECT_FALSE(store_->take_fence(2));
  EXPECT_FALSE(store_->take_fence(1));
  reopen();
  put(run, hash_of('b'), timed(2));  // who takes no fence is not kept out
}

TEST_F(StoreTest, BaselinesArePerTaskDeviceAndKindAndTheLastOneStands) {
  put(begin(gpu()), hash_of('a'), timed(2), gpu());
  ASSERT_TRUE(store_->put_baseline(task_.hash(), baseline("torch eager", 30)));
  ASSERT_TRUE(store_->put_baseline(task_.hash(), baseline("torch eager", 20)));
  ASSERT_TRUE(store_->put_baseline(task_.hash(), baseline("cublas", 7)));
  BaselineTime elsewhere = baseline("cublas", 5);
  elsewhere.device_name = "NVIDIA A100";
  ASSERT_TRUE(store_->put_baseline(task_.hash(), elsewhere));
  reopen();
  const auto found = store_->baselines(task_.hash(), gpu().device_name);
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ(found->size(), 2u);
  EXPECT_EQ((*found)[0].kind, "cublas");
  const BaselineTime& eager = (*found)[1];
  EXPECT_EQ(eager.kind, "torch eager");
  EXPECT_EQ(eager.device, "cuda:0");
  EXPECT_EQ(eager.device_name, gpu().device_name);
  EXPECT_EQ(eager.time_us, 20);
  EXPECT_EQ(eager.ci95_low, 19);
  EXPECT_EQ(eager.ci95_high, 21);
  EXPECT_EQ(eager.samples_us, (std::vector<double>{19, 20, 21}));
  EXPECT_EQ(eager.precision, "f32");
  EXPECT_EQ(eager.versions, "torch 2.11.0");
  EXPECT_EQ(eager.stored_at.size(), 24u);
  EXPECT_TRUE(store_->baselines(std::string(32, '0'), gpu().device_name)->empty());
  EXPECT_EQ(store_->boards({})->front().baselines.size(), 2u);
}

TEST_F(StoreTest, AModelledBoardHasNoBaselines) {
  Provenance odd = emulated();
  odd.device_name = gpu().device_name;  // even under the same name
  put(begin(odd), hash_of('a'), timed(2), odd);
  ASSERT_TRUE(store_->put_baseline(task_.hash(), baseline("cublas", 7)));
  ASSERT_EQ(store_->boards({})->size(), 1u);
  EXPECT_TRUE(store_->boards({})->front().baselines.empty());
}

TEST_F(StoreTest, ABaselineThatIsNoMeasurementIsRefused) {
  ASSERT_TRUE(store_->put_task(task_));
  const auto refuses = [&](auto change) {
    BaselineTime b = baseline("cublas", 7);
    change(b);
    const auto put = store_->put_baseline(task_.hash(), b);
    EXPECT_FALSE(put);
    if (!put) {
      EXPECT_EQ(put.error().code, ErrorCode::kInvalidInput);
    }
  };
  refuses([](BaselineTime& b) { b.device = "emu:sm_90"; });
  refuses([](BaselineTime& b) { b.device_name.clear(); });
  refuses([](BaselineTime& b) { b.kind.clear(); });
  refuses([](BaselineTime& b) { b.time_us = 0; });
  refuses([](BaselineTime& b) { b.ci95_high = NAN; });
  refuses([](BaselineTime& b) { b.samples_us = {1, -1}; });
  EXPECT_FALSE(store_->put_baseline("no such task", baseline("cublas", 7)));
  EXPECT_TRUE(store_->baselines(task_.hash(), gpu().device_name)->empty());
}

}  // namespace
}  // namespace hone
