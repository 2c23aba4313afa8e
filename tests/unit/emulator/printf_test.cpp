// The text of printf in kernels.
#include "tests/unit/emulator/harness.h"

namespace hone::emulator {
namespace {

TEST(Printf, FormatsAsCudaDoes) {
  Launch l("prints", {1, 1, 1}, {3, 1, 1});
  l.value(42);
  const RunReport report = l.run(kernels("printf_sm_90.ptx"));
  EXPECT_EQ(report.verdict, Verdict::kOk) << report.detail;
  EXPECT_EQ(report.output,
            "plain text, 100%\n"
            "-7 8 4000000000|   42|42   |00042|+42\n"
            "ff FF 0xff 10 -5000000000 18000000000000000000 -3\n"
            "1.500000 2.72    3.142|1e-10 1.234568e+04 5.000000E-01\n"
            "word|     right|left  |cu|ok\n"
            "    42|2.2\n"
            "5 6 0x1234\n"
            "[0][1][2]");
  EXPECT_FALSE(report.output_cut);
}

TEST(Printf, ReturnsItsArgumentCount) {
  Launch l("counts", {1, 1, 1}, {2, 1, 1});
  l.out("out", 8);
  const RunReport report = l.run(kernels("printf_sm_90.ptx"));
  EXPECT_EQ(report.verdict, Verdict::kOk) << report.detail;
  EXPECT_EQ(l.read<int>("out", 2), (std::vector<int>{2, 2}));
  EXPECT_EQ(report.output, "1 2\n1 2\n");
}

TEST(Printf, IsBounded) {
  Launch l("floods", {1, 1, 1}, {32, 1, 1});
  l.value(2000);
  const RunReport report = l.run(kernels("printf_sm_90.ptx"));
  EXPECT_EQ(report.verdict, Verdict::kOk) << report.detail;
  EXPECT_TRUE(report.output_cut);
  EXPECT_LE(report.output.size(), 1U << 20);
  EXPECT_GT(report.output.size(), 1'000'000U);
}

}  // namespace
}  // namespace hone::emulator
