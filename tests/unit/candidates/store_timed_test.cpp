// What searches timed, for those who learn from it.
#include <gtest/gtest.h>

#include "tests/unit/candidates/store_fixture.h"

namespace hone {
namespace {

class StoreTimed : public test::StoreTest {
 protected:
  std::vector<TimedCandidate> timed(const std::string& arch) {
    std::vector<TimedCandidate> all;
    const auto done =
        store_->timed_candidates(arch, [&](TimedCandidate one) { all.push_back(std::move(one)); });
    EXPECT_TRUE(done) << done.error().message;
    return all;
  }
};

TEST_F(StoreTimed, QuickStagesThatPassedWithTheirPrograms) {
  const std::int64_t measured = begin(test::gpu()), modelled = begin(test::emulated());
  Evaluation quick = test::timed(2, 50);
  quick.final_stage = false;
  quick.resources = {{"scale", 24, 8, 0, 512, 1024, 0.75}};
  put(measured, test::hash_of('a'), quick);
  put(measured, test::hash_of('b'), test::timed(2, 40));  // a final stage
  put(measured, test::hash_of('c'), test::failed(Verdict::kRace));
  put(modelled, test::hash_of('a'), quick, test::emulated());

  const auto all = timed("sm_90");
  ASSERT_EQ(all.size(), 2U);
  EXPECT_FALSE(all[0].modelled);
  EXPECT_EQ(all[0].device_name, "NVIDIA H200");
  EXPECT_EQ(all[0].task_hash, task_.hash());
  EXPECT_EQ(all[0].time_us, 50);
  EXPECT_EQ(all[0].program.source, "// " + test::hash_of('a'));
  ASSERT_EQ(all[0].resources.size(), 1U);
  EXPECT_EQ(all[0].resources[0].registers, 24);
  EXPECT_TRUE(all[1].modelled);
  EXPECT_TRUE(timed("sm_80").empty());
  EXPECT_EQ(store_->timed_architectures().value(), std::vector<std::string>{"sm_90"});
}

}  // namespace
}  // namespace hone
