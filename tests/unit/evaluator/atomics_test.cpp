#include "evaluator/check/atomics.h"

#include <gtest/gtest.h>

namespace hone::check {
namespace {

TEST(Atomics, SharedMemoryIsNone) {
  EXPECT_FALSE(uses_atomics("ld.shared.f32 %f1, [%r1];\n\tst.shared.f32 [%r1], %f1;\n"));
  EXPECT_FALSE(uses_atomics("shared.f32\n// red.global.add\n.visible .entry red.x()"));
  EXPECT_FALSE(uses_atomics(""));
}

TEST(Atomics, AreFoundWhereverAStatementBegins) {
  EXPECT_TRUE(uses_atomics("\tatom.global.add.f32 %f1, [%rd1], %f2;\n"));
  EXPECT_TRUE(uses_atomics("\t@%p1 red.global.add.f32 [%rd1], %f2;"));
  EXPECT_TRUE(uses_atomics("{ .reg .f32 t; @!p red.global.add.f32 [a], t; }"));
  EXPECT_TRUE(uses_atomics("$L__BB0_1: red.shared.add.u32 [%r1], 1;"));
  EXPECT_TRUE(uses_atomics("\tcp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [a], 4;"));
  EXPECT_TRUE(uses_atomics("ld.shared.f32 %f1, [%r1]; cp.reduce.async.bulk.global [a], [b], 4;"));
}

TEST(Atomics, SoAreAccessesThatOtherThreadsMaySee) {
  EXPECT_FALSE(exchanges_words("ld.global.f32 %f1, [%rd1]; st.shared.f32 [%r1], %f1;"));
  EXPECT_TRUE(exchanges_words("@%p1 red.global.add.f32 [%rd1], %f2;"));
  EXPECT_TRUE(exchanges_words("\tld.volatile.global.u32 %r1, [%rd1];"));
  EXPECT_TRUE(exchanges_words("@%p2 st.release.gpu.u32 [%rd1], %r1;"));
  EXPECT_TRUE(exchanges_words("ld.global.cv.u32 %r1, [%rd1];"));
  EXPECT_TRUE(exchanges_words("membar.gl;"));
  EXPECT_FALSE(exchanges_words("fence.proxy.async; fence.mbarrier_init.release.cluster;"));
}

}  // namespace
}  // namespace hone::check
