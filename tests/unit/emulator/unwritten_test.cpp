// What a kernel left unwritten, as the end of a run tells it: Memory::first_unwritten; and how much
// memory there is.
#include "tests/unit/emulator/harness.h"

namespace hone::emulator {
namespace {

constexpr const char* kVectors = "checkers/uninitialised_vectors.ptx";

TEST(Memory, BeyondItsLimitThereIsNone) {
  Memory memory;
  const std::uint64_t a = memory.allocate("a", 64 << 20, true, {});
  const int one = 1;
  EXPECT_TRUE(memory.write(a, &one, sizeof one));
  const std::uint64_t page = memory.live_bytes();
  memory.limit(3 * page);
  EXPECT_TRUE(memory.write(a + page, &one, sizeof one));
  EXPECT_TRUE(memory.write(a + 2 * page, &one, sizeof one));
  EXPECT_THROW((void)memory.write(a + 3 * page, &one, sizeof one), std::bad_alloc);
  EXPECT_TRUE(memory.write(a + 8, &one, sizeof one));
  EXPECT_EQ(memory.live_bytes(), 3 * page);
  memory.renew(a, {});
  EXPECT_TRUE(memory.write(a + 3 * page, &one, sizeof one));
  memory.limit(~std::uint64_t{0});
  for (int i = 4; i < 9; ++i) EXPECT_TRUE(memory.write(a + i * page, &one, sizeof one));
}

TEST(Unwritten, ElementsOfAVectorThatHoldNothing) {
  for (const int threads : {1, 4}) {
    Launch launch("left_open", {1, 1, 1}, {32, 1, 1});
    launch.out("y", 256);
    RunOptions options;
    options.threads = threads;
    options.threads_after = 0;
    EXPECT_EQ(launch.run(kernels(kVectors), options).verdict, Verdict::kOk);
    EXPECT_EQ(launch.memory().first_unwritten(launch.address("y"), 256), 4);
    EXPECT_EQ(launch.memory().first_unwritten(launch.address("y") + 8, 4), -1);
  }
}

TEST(Unwritten, ElementsOfAVectorThatHoldNothingOverWhatWasThere) {
  Launch launch("left_open", {1, 1, 1}, {16, 1, 1});
  launch.in("y", ramp(64));
  EXPECT_EQ(launch.memory().first_unwritten(launch.address("y"), 256), -1);
  EXPECT_EQ(launch.run(kernels(kVectors)).verdict, Verdict::kOk);
  EXPECT_EQ(launch.memory().first_unwritten(launch.address("y"), 256), 4);
  EXPECT_EQ(launch.memory().first_unwritten(launch.address("y") + 128, 128), -1);
  const float again = 1;
  for (int i = 0; i < 16; ++i)
    EXPECT_TRUE(launch.memory().write(launch.address("y") + 8 * i + 4, &again, 4));
  EXPECT_EQ(launch.memory().first_unwritten(launch.address("y"), 256), -1);
}

TEST(Unwritten, NothingOfWhatWasOverwritten) {
  Launch launch("overwritten", {1, 1, 1}, {32, 1, 1});
  launch.out("y", 512);
  EXPECT_EQ(launch.run(kernels(kVectors)).verdict, Verdict::kOk);
  EXPECT_EQ(launch.memory().first_unwritten(launch.address("y"), 512), -1);
  const auto y = launch.read<float>("y", 128);
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], 0.5F * static_cast<float>(i % 2));
}

}  // namespace
}  // namespace hone::emulator
