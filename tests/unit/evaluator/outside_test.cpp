// Candidates that look at the clock.
#include "evaluator/check/outside.h"

#include <gtest/gtest.h>

#include <string>

namespace hone::check {
namespace {

constexpr const char* kPlain =
    "\t.loc\t1 7 3\n\tmov.u32 \t%r1, %tid.x;\n\tmov.u32 %r2, %smid;\n\tadd.s64 %rd1, %rd2, 8;\n";
constexpr const char* kClock = "$L1:\t@%p1 mov.u64 \t%rd1, %clock64;\n";

TEST(LooksOutside, NamesWhatTheCandidateAloneReads) {
  EXPECT_EQ(looks_outside(kPlain, kPlain), "");
  EXPECT_EQ(looks_outside(kPlain, kClock), "%clock64");
  EXPECT_EQ(looks_outside(kPlain, "{mov.u32 %r1,%globaltimer_lo;}"), "%globaltimer_lo");
  EXPECT_EQ(looks_outside(kPlain, "add.u32 %r1, %r2, %pm3; mov.u32 %r3, %clock;"), "%pm3");
  EXPECT_EQ(looks_outside(kPlain, "  // mov.u32 %r1, %clock;\n/* %clock */"), "");
  EXPECT_EQ(looks_outside(kPlain, "/*\n// */ mov.u64 %rd1, %clock64;"), "%clock64");
  EXPECT_EQ(looks_outside(kPlain, ".loc 1 1 1 mov.u64 %rd1, %clock64;"), "%clock64");
}

TEST(LooksOutside, WhatTheReferenceReadsIsAllowed) {
  EXPECT_EQ(looks_outside(kClock, kClock), "");
  EXPECT_EQ(looks_outside(kClock, std::string(kClock) + "mov.u64 %rd2, %gridid;"), "%gridid");
}

TEST(LooksOutside, WhoWaitsAtABarrierOfLibcuMayLookHowLong) {
  const std::string timer = "mov.u64 %rd2, %globaltimer;";
  EXPECT_EQ(looks_outside(kPlain, timer), "%globaltimer");
  EXPECT_EQ(looks_outside(kPlain, timer + "mbarrier.try_wait.shared.b64 p, [%r1], %rd3;"), "");
}

}  // namespace
}  // namespace hone::check
