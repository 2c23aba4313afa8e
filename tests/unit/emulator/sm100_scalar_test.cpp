// Scalar instructions that only sm_100 has, and so no H200's recording covers.
#include <bit>

#include "tests/unit/emulator/harness.h"

namespace hone::emulator {
namespace {

TEST(Sm100Scalar, PairsOfFloatsAndThreeInputs) {
  const auto module = load(R"(.version 8.6
.target sm_100
.address_size 64
.visible .entry k(.param .u64 out)
{
  .reg .b64 %x<9>; .reg .f32 %f<9>;
  ld.param.u64 %x0, [out];
  mov.b64 %x1, 0x400000003F800000;  // {1, 2}
  mov.b64 %x2, 0xC080000040400000;  // {3, -4}
  add.rn.f32x2 %x3, %x1, %x2;
  mul.f32x2 %x4, %x1, %x2;
  fma.rn.f32x2 %x5, %x1, %x2, %x1;
  st.global.v2.b64 [%x0], {%x3, %x4};
  st.global.b64 [%x0+16], %x5;
  mov.f32 %f1, 0f3F800000; mov.f32 %f2, 0f7FC00000; mov.f32 %f3, 0fC0000000;
  max.f32 %f4, %f1, %f2, %f3;
  min.f32 %f5, %f1, %f2, %f3;
  st.global.v2.f32 [%x0+24], {%f4, %f5};
  ret;
}
)");
  ASSERT_TRUE(module);
  Launch launch("k", {1, 1, 1}, {1, 1, 1});
  launch.out("out", 32);
  const RunReport report = launch.run(module);
  ASSERT_EQ(report.verdict, Verdict::kOk) << report.detail;
  EXPECT_EQ(launch.read<float>("out", 8), (std::vector<float>{4, -2, 3, -8, 4, -6, 1, -2}));
}

}  // namespace
}  // namespace hone::emulator
