// The calibration against the profile in the tree, on the GPU that it was made on.
#include "evaluator/calibrate/calibrate.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

namespace hone::calibrate {
namespace {

TEST(CalibrateOnTheGpu, AgreesWithTheBuiltInProfile) {
  const auto c = calibrate(0, {}, [](const std::string&) {});
  if (!c) {
    if (std::getenv("HONE_REQUIRE_GPU") != nullptr) FAIL() << c.error().message;
    GTEST_SKIP() << c.error().message;
  }
  EXPECT_GT(c->measured.size(), 50U);
  EXPECT_LT(c->seconds, 60);
  const auto again = emulator::parse_profile(emulator::to_text(c->profile), "measured");
  EXPECT_TRUE(again) << again.error().message;
  const auto& p = c->profile.profile;
  if (p.name != "H200") GTEST_SKIP() << "the tree has no measured profile of a " << p.name;
  for (const auto& w : c->warnings) ADD_FAILURE() << w;
  const auto* built_in = emulator::find_profile("sm_90/H200");
  for (const std::string& name : c->measured) {
    const auto* f = emulator::find_field(name);
    const double here = f->get(p), there = f->get(*built_in);
    EXPECT_LE(here, 2 * there) << name;
    EXPECT_GE(here, there / 2) << name;
  }
}

}  // namespace
}  // namespace hone::calibrate
