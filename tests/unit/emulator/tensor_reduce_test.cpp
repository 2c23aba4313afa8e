// cp.reduce.async.bulk.tensor: the tensor map says of what type the elements are.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "tests/unit/emulator/harness.h"

namespace hone::emulator {
namespace {

struct alignas(64) MapBytes {
  std::array<std::uint8_t, 128> bytes;
};
constexpr int kWidth = 20, kHeight = 6, kPitch = 24;

/// The box of 8 x 4 at (first, 3), of the default half of it beyond both edges, holds 3 i - 40 at
/// its word i.
struct Outcome {
  RunReport report;
  std::vector<std::uint32_t> before = std::vector<std::uint32_t>(kPitch * kHeight), after;
};
Outcome reduce(const std::string& op, TensorMapSpec::Type type, int first = 16) {
  Outcome o;
  for (std::size_t i = 0; i < o.before.size(); ++i)
    o.before[i] = static_cast<std::uint32_t>(static_cast<int>(i * 11 % 97) - 48);
  Launch l("k", {1, 1, 1}, {32, 1, 1});
  l.in("tensor", o.before);
  l.config().parameters.clear();
  TensorMapSpec s;
  s.type = type;
  s.rank = 2;
  s.address = l.address("tensor");
  s.sizes = {kWidth, kHeight};
  s.strides = {kPitch * 4};
  s.box = {8, 4};
  const auto map = encode_tiled_tensor_map(s);
  EXPECT_TRUE(map);
  l.value(MapBytes{*map});
  o.report = l.run(load(fmt::format(R"(.version 8.4
.target sm_90a
.address_size 64
.visible .entry k(.param .align 64 .b8 map[128])
{{
.reg .pred %p<4>; .reg .b32 %r<16>; .reg .b64 %x<8>;
.shared .align 128 .b8 tile[128];
mov.b64 %x0, map;
cvta.param.u64 %x0, %x0;
mov.u32 %r0, tile;
mov.u32 %r1, %tid.x;
mad.lo.u32 %r2, %r1, 4, %r0;
mad.lo.s32 %r3, %r1, 3, -40;
st.shared.b32 [%r2], %r3;
fence.proxy.async.shared::cta;
bar.sync 0;
setp.ne.u32 %p0, %r1, 0;
@%p0 bra END;
mov.u32 %r4, {};
mov.u32 %r5, 3;
cp.reduce.async.bulk.tensor.2d.global.shared::cta.{}.tile.bulk_group [%x0, {{%r4, %r5}}], [%r0];
cp.async.bulk.commit_group;
cp.async.bulk.wait_group 0;
END:
ret;
}}
)",
                                    first, op)));
  o.after = l.read<std::uint32_t>("tensor", o.before.size());
  return o;
}

TEST(TensorReduce, EachOperationByTheTypeOfTheMap) {
  using u32 = std::uint32_t;
  using Type = TensorMapSpec::Type;
  struct Case {
    const char* op;
    Type type;
    std::function<u32(u32, u32)> want;
  };
  const auto less = [](u32 a, u32 b) {
    return static_cast<std::int32_t>(a) < static_cast<std::int32_t>(b);
  };
  const Case cases[] = {
      {"add", Type::kU32, [](u32 a, u32 b) { return a + b; }},
      {"min", Type::kS32, [&](u32 a, u32 b) { return less(a, b) ? a : b; }},
      {"max", Type::kS32, [&](u32 a, u32 b) { return less(a, b) ? b : a; }},
      {"min", Type::kU32, [](u32 a, u32 b) { return std::min(a, b); }},
      {"inc", Type::kU32, [](u32 a, u32 b) { return a >= b ? 0 : a + 1; }},
      {"dec", Type::kU32, [](u32 a, u32 b) { return a == 0 || a > b ? b : a - 1; }},
      {"and", Type::kU32, [](u32 a, u32 b) { return a & b; }},
      {"or", Type::kS32, [](u32 a, u32 b) { return a | b; }},
      {"xor", Type::kU32, [](u32 a, u32 b) { return a ^ b; }}};
  for (const Case& c : cases) {
    const Outcome o = reduce(c.op, c.type);
    ASSERT_EQ(o.report.verdict, Verdict::kOk) << c.op << ": " << o.report.detail;
    for (int y = 0; y < kHeight; ++y)
      for (int x = 0; x < kPitch; ++x) {
        const u32 old = o.before[y * kPitch + x];
        const bool inside = x >= 16 && x < kWidth && y >= 3;
        const u32 with = static_cast<u32>(3 * ((y - 3) * 8 + x - 16) - 40);
        EXPECT_EQ(o.after[y * kPitch + x], inside ? c.want(old, with) : old)
            << c.op << " at " << x << "," << y;
      }
  }
}

TEST(TensorReduce, BeginsAtAMultipleOf16Bytes) {
  const Outcome o = reduce("add", TensorMapSpec::Type::kU32, 14);
  EXPECT_EQ(o.report.verdict, Verdict::kFault);
  EXPECT_TRUE(o.report.detail.contains("misaligned tensor copy: its innermost coordinate is 14"))
      << o.report.detail;
  EXPECT_EQ(o.after, o.before);
}

TEST(TensorReduce, AnOperationThatTheTypeLacksIsReported) {
  for (const char* op : {"min", "xor", "inc"}) {
    const Outcome o = reduce(op, TensorMapSpec::Type::kF32);
    EXPECT_NE(o.report.verdict, Verdict::kOk) << op;
    EXPECT_NE(o.report.detail.find("the type of the tensor map does not have"), std::string::npos)
        << o.report.detail;
  }
}

}  // namespace
}  // namespace hone::emulator
