// wgmma: every type, swizzle and orientation against a plain product, with shared memory laid out
// here piece by piece; a kernel from CUDA C++ used rightly and wrongly.
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <random>

#include "evaluator/device/emulator/lanes/dot.h"
#include "tests/unit/emulator/harness.h"

namespace hone::emulator {
namespace {

using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

struct Case {
  const char* types;  ///< d.a.b
  const char* d;
  const char* a;
  const char* b;
  int n, k;
  int pieces;  ///< of 16 bytes in a swizzled row: 1, 2, 4, 8
  bool a_across, b_across;
  bool a_registers = false;
};

int bytes_of(const std::string& type) {
  return type == "tf32" ? 4 : type == "f16" || type == "bf16" ? 2 : 1;
}
u32 raw(const std::string& type, int v) {
  const auto f = static_cast<float>(v);
  if (type == "tf32") return std::bit_cast<u32>(f);
  if (type == "bf16") return std::bit_cast<u32>(f) >> 16;
  if (type == "f16") return half_bits(f);
  if (type == "e5m2") return half_bits(f) >> 8;
  if (type == "e4m3")
    for (u32 b = 0; b < 256; ++b)
      if (dot_value(DotInput::kE4M3, b) == f) return b;
  return static_cast<u32>(v) & 0xFF;
}

/// Where element (row, k) of an operand lies, from its start, and the descriptor that says so.
struct Layout {
  int pieces, element;
  bool across;
  int leading = 0, stride = 0;
  int step = 0;  ///< pieces that the start is moved along k
  Layout(int w, const std::string& type, bool rows_lie, int rows)
      : pieces(w), element(bytes_of(type)), across(rows_lie) {
    if (across) {
      // Atoms of w pieces of rows by 8 steps of k: the next 8 steps follow, then the next rows.
      stride = w == 1 ? 256 : 128 * w;
      leading = w == 1 ? 128 : 256 * w;
    } else if (w == 1) {
      stride = 128;  // 8 rows by 16 bytes, then the next rows, then the next piece of k
      leading = rows * 16;
    } else {
      stride = 128 * w;
      leading = 16;
      step = w > 2 ? 2 : 0;
    }
  }
  [[nodiscard]] int turned(int row) const {  // which pieces change places in this row
    return pieces == 8 ? row % 8 : pieces == 4 ? row % 8 / 2 : pieces == 2 ? row % 8 / 4 : 0;
  }
  [[nodiscard]] int at(int row, int k) const {
    const int each = 16 / element;
    if (across) {
      const int p = row / each;
      const int inside = row % each * element;
      if (pieces == 1) return p * stride + k % 8 * 16 + k / 8 * leading + inside;
      return p / pieces * leading + k / 8 * stride + k % 8 * 16 * pieces +
             ((p % pieces) ^ turned(k)) * 16 + inside;
    }
    const int c = k / each + step;
    const int inside = k % each * element;
    if (pieces == 1) return row / 8 * stride + row % 8 * 16 + c * leading + inside;
    return row / 8 * stride + row % 8 * 16 * pieces + (c ^ turned(row)) * 16 + inside;
  }
  [[nodiscard]] u64 descriptor(int base) const {
    const u64 mode = pieces == 8 ? 1 : pieces == 4 ? 2 : pieces == 2 ? 3 : 0;
    return static_cast<u64>((base + step * 16) >> 4) | static_cast<u64>(leading >> 4) << 16 |
           static_cast<u64>(stride >> 4) << 32 | mode << 62;
  }
};

constexpr int kStartB = 16 * 1024;
constexpr int kSharedBytes = 64 * 1024;

std::string kernel_text(const Case& c, bool keep_d, int scale_a, int scale_b) {
  const bool half = std::string(c.d) == "f16";
  const int results = half ? c.n / 4 : c.n / 2;
  const int bytes = bytes_of(c.a);
  std::string list;
  std::string load;
  std::string store;
  for (int i = 0; i < results; ++i) {
    list += fmt::format("{}%d{}", i ? "," : "", i);
    load += fmt::format("ld.global.b32 %d{}, [%rd3+{}];\n", i, i * 4);
    store += fmt::format("st.global.b32 [%rd3+{}], %d{};\n", i * 4, i);
  }
  std::string tail;
  if (std::string(c.d) != "s32") tail += fmt::format(", {}, {}", scale_a, scale_b);
  if (bytes == 2 && !c.a_registers) tail += c.a_across ? ", 1" : ", 0";
  if (bytes == 2) tail += c.b_across ? ", 1" : ", 0";
  return fmt::format(R"(.version 8.0
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 mem[];
.visible .entry k(.param .u64 image, .param .u64 fa, .param .u64 pd, .param .u64 da, .param .u64 db)
{{
.reg .pred %p<3>; .reg .b32 %r<8>, %a<4>, %d<128>; .reg .b64 %rd<8>;
mov.u32 %r0, %tid.x;
ld.param.u64 %rd0, [image]; ld.param.u64 %rd2, [fa]; ld.param.u64 %rd3, [pd];
ld.param.u64 %rd4, [da]; ld.param.u64 %rd5, [db];
mad.wide.u32 %rd3, %r0, {}, %rd3;
mad.wide.u32 %rd2, %r0, 16, %rd2;
mov.u32 %r1, mem; shl.b32 %r2, %r0, 2;
add.u32 %r1, %r1, %r2; mul.wide.u32 %rd1, %r0, 4; add.u64 %rd0, %rd0, %rd1;
mov.u32 %r3, 0;
COPY: ld.global.b32 %r4, [%rd0]; st.shared.b32 [%r1], %r4;
add.u64 %rd0, %rd0, 512; add.u32 %r1, %r1, 512; add.u32 %r3, %r3, 512;
setp.lt.u32 %p0, %r3, {}; @%p0 bra COPY;
ld.global.v4.b32 {{%a0,%a1,%a2,%a3}}, [%rd2];
{}
fence.proxy.async.shared::cta;
bar.sync 0;
wgmma.fence.sync.aligned;
mov.u32 %r5, {}; setp.ne.u32 %p1, %r5, 0;
wgmma.mma_async.sync.aligned.m64n{}k{}.{} {{{}}}, {}, %rd5, %p1{};
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
{}ret;
}}
)",
                     results * 4, kSharedBytes, load, keep_d ? 1 : 0, c.n, c.k, c.types, list,
                     c.a_registers ? "{%a0,%a1,%a2,%a3}" : "%rd4", tail, store);
}

void check(const Case& c, bool keep_d, int scale_a, int scale_b) {
  SCOPED_TRACE(fmt::format("{} n{} pieces {} across {}{} registers {} d {} scales {} {}", c.types,
                           c.n, c.pieces, c.a_across, c.b_across, c.a_registers, keep_d, scale_a,
                           scale_b));
  const std::string ta = c.a;
  const std::string tb = c.b;
  const bool half = std::string(c.d) == "f16";
  const bool ints = std::string(c.d) == "s32";
  std::mt19937 random(static_cast<u32>(c.n + c.k + c.pieces));
  const Layout la(c.pieces, ta, c.a_across, 64);
  const Layout lb(c.pieces, tb, c.b_across, c.n);
  std::vector<std::uint8_t> image(kSharedBytes, 0xA5);
  std::vector<int> a(64 * c.k);
  std::vector<int> b(c.k * c.n);
  const auto place = [&](const Layout& l, int base, const std::string& type, int row, int k,
                         int v) {
    const u32 bits = raw(type, v);
    std::memcpy(image.data() + base + l.at(row, k), &bits, l.element);
  };
  const auto value = [&](const std::string& type) {
    const int v = static_cast<int>(random() % 7) - 3;
    return type == "u8" ? v + 3 : v;
  };
  for (int i = 0; i < 64; ++i)
    for (int k = 0; k < c.k; ++k) place(la, 0, ta, i, k, a[i * c.k + k] = value(ta));
  for (int j = 0; j < c.n; ++j)
    for (int k = 0; k < c.k; ++k) place(lb, kStartB, tb, j, k, b[k * c.n + j] = value(tb));
  // A's fragments as mma.sync has them.
  std::vector<u32> fa(128 * 4);
  const int each = 4 / bytes_of(ta);
  for (int t = 0; t < 128; ++t)
    for (int r = 0; r < 4; ++r)
      for (int i = 0; i < each; ++i) {
        const int row = t / 32 * 16 + t % 32 / 4 + r % 2 * 8;
        const int k = t % 4 * each + i + r / 2 * 4 * each;
        fa[t * 4 + r] |= raw(ta, a[row * c.k + k]) << (i * bytes_of(ta) * 8);
      }
  // PTX ISA, accumulator fragment of m64nN: register i, row and column.
  const int results = half ? c.n / 4 : c.n / 2;
  std::vector<u32> d(128 * results);
  const auto cell = [&](int t, int i) {
    return std::pair{t / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8, i / 4 * 8 + t % 4 * 2 + i % 2};
  };
  std::vector<int> before(64 * c.n);
  for (int t = 0; t < 128; ++t)
    for (int i = 0; i < c.n / 2; ++i) {
      const auto [row, column] = cell(t, i);
      const int v = before[row * c.n + column] = static_cast<int>(random() % 41) - 20;
      if (half)
        d[t * results + i / 2] |= static_cast<u32>(half_bits(static_cast<float>(v)))
                                  << (i % 2 * 16);
      else
        d[t * results + i] = ints ? static_cast<u32>(v) : std::bit_cast<u32>(static_cast<float>(v));
    }
  Launch launch("k", {1, 1, 1}, {128, 1, 1});
  launch.shared(kSharedBytes).in("image", image).in("fa", fa).in("d", d);
  launch.value(la.descriptor(0)).value(lb.descriptor(kStartB));
  const RunReport report = launch.run(load(kernel_text(c, keep_d, scale_a, scale_b)));
  ASSERT_EQ(report.verdict, Verdict::kOk) << report.detail;
  EXPECT_EQ(report.counters.tensor_flops, 2u * 64 * static_cast<u64>(c.n) * c.k);
  const auto out = launch.read<u32>("d", d.size());
  for (int t = 0; t < 128; ++t)
    for (int i = 0; i < c.n / 2; ++i) {
      const auto [row, column] = cell(t, i);
      int want = 0;
      for (int k = 0; k < c.k; ++k) want += a[row * c.k + k] * b[k * c.n + column];
      want = want * scale_a * scale_b + (keep_d ? before[row * c.n + column] : 0);
      const u32 bits =
          half ? out[t * results + i / 2] >> (i % 2 * 16) & 0xFFFF : out[t * results + i];
      const float got = half   ? half_value(static_cast<u16>(bits))
                        : ints ? static_cast<float>(static_cast<std::int32_t>(bits))
                               : std::bit_cast<float>(bits);
      ASSERT_EQ(got, static_cast<float>(want)) << "row " << row << " column " << column;
    }
}

TEST(Wgmma, EveryTypeAndSwizzle) {
  for (const int pieces : {1, 2, 4, 8}) {
    check({"f32.f16.f16", "f32", "f16", "f16", 64, 16, pieces, false, false}, true, 1, 1);
    check({"f16.f16.f16", "f16", "f16", "f16", 24, 16, pieces, false, false}, true, 1, 1);
    check({"f32.bf16.bf16", "f32", "bf16", "bf16", 256, 16, pieces, false, false}, true, 1, 1);
    check({"f32.tf32.tf32", "f32", "tf32", "tf32", 40, 8, pieces, false, false}, true, 1, 1);
    check({"f32.e4m3.e5m2", "f32", "e4m3", "e5m2", 64, 32, pieces, false, false}, true, 1, 1);
    check({"f16.e5m2.e4m3", "f16", "e5m2", "e4m3", 16, 32, pieces, false, false}, true, 1, 1);
    check({"s32.s8.u8", "s32", "s8", "u8", 96, 32, pieces, false, false}, true, 1, 1);
    check({"satfinite.s32.u8.s8", "s32", "u8", "s8", 8, 32, pieces, false, false}, true, 1, 1);
  }
}

TEST(Wgmma, RowsThatLieAcross) {
  for (const int pieces : {1, 2, 4, 8}) {
    for (const bool a : {false, true})
      for (const bool b : {false, true})
        check({"f32.f16.f16", "f32", "f16", "f16", 128, 16, pieces, a, b}, true, 1, 1);
    check({"f32.bf16.bf16", "f32", "bf16", "bf16", 64, 16, pieces, true, true}, false, 1, 1);
  }
}

TEST(Wgmma, AFromRegistersAndScales) {
  check({"f32.f16.f16", "f32", "f16", "f16", 64, 16, 8, false, true, true}, true, 1, 1);
  check({"f32.tf32.tf32", "f32", "tf32", "tf32", 32, 8, 4, false, false, true}, false, -1, 1);
  check({"s32.s8.s8", "s32", "s8", "s8", 32, 32, 2, false, false, true}, false, 1, 1);
  check({"f32.e4m3.e4m3", "f32", "e4m3", "e4m3", 32, 32, 1, false, false, true}, true, 1, -1);
  check({"f32.f16.f16", "f32", "f16", "f16", 8, 16, 1, false, false}, false, -1, -1);
}

// What threads stored is read by another proxy: the tensor cores may see what was there before.
TEST(Wgmma, WithoutAProxyFenceIsARace) {
  const Case c{"f32.f16.f16", "f32", "f16", "f16", 64, 16, 8, false, false};
  const std::string fence = "fence.proxy.async.shared::cta;\n", barrier = "bar.sync 0;\n";
  const auto verdict = [&](const std::string& order) {
    std::string text = kernel_text(c, true, 1, 1);
    text.replace(text.find(fence), (fence + barrier).size(), order);
    Launch launch("k", {1, 1, 1}, {128, 1, 1});
    launch.shared(kSharedBytes).in("image", std::vector<std::uint8_t>(kSharedBytes));
    launch.in("fa", std::vector<u32>(128 * 4)).in("d", std::vector<u32>(128 * 32));
    const Layout layout(c.pieces, c.a, false, 64);
    launch.value(layout.descriptor(0)).value(layout.descriptor(kStartB));
    const RunReport report = launch.run(load(text));
    EXPECT_EQ(report.verdict == Verdict::kRace,
              report.detail.starts_with("missing fence.proxy.async: the wgmma reads"))
        << report.detail;
    return report.verdict;
  };
  EXPECT_EQ(verdict(fence + barrier), Verdict::kOk);
  EXPECT_EQ(verdict(barrier + fence), Verdict::kOk);
  EXPECT_EQ(verdict(barrier), Verdict::kRace);
  // Of what others store after it, a fence knows nothing.
  EXPECT_EQ(verdict("setp.lt.u32 %p2, %r0, 64;\n@%p2 " + fence + barrier), Verdict::kRace);
}

RunReport matmul(int way, std::vector<float>* d = nullptr, std::vector<float>* want = nullptr) {
  std::mt19937 random(6);
  std::vector<u16> a(64 * 64);
  std::vector<u16> b(64 * 64);
  for (u16& v : a) v = half_bits(static_cast<float>(random() % 9) - 4);
  for (u16& v : b) v = half_bits(static_cast<float>(random() % 9) - 4);
  Launch launch("wgmma_matmul", {1, 1, 1}, {128, 1, 1});
  launch.in("A", a).in("B", b).out("D", 64 * 64 * 4).value(way);
  RunReport report = launch.run(kernels("tensor_hopper_sm_90a.ptx"));
  if (d) {
    *d = launch.read<float>("D", 64 * 64);
    want->assign(64 * 64, 0);
    for (int i = 0; i < 64; ++i)
      for (int j = 0; j < 64; ++j)
        for (int k = 0; k < 64; ++k)
          (*want)[i * 64 + j] += half_value(a[i * 64 + k]) * half_value(b[k * 64 + j]);
  }
  return report;
}

TEST(WgmmaMatmul, SwizzledTiles) {
  for (const int way : {0, 3, 8}) {
    std::vector<float> d;
    std::vector<float> want;
    const RunReport report = matmul(way, &d, &want);
    ASSERT_EQ(report.verdict, Verdict::kOk) << way << " " << report.detail;
    EXPECT_EQ(d, want) << way;
    EXPECT_EQ(report.counters.tensor, 16u);
  }
}

TEST(WgmmaMatmul, Misuse) {
  const auto expect = [](int way, Verdict verdict, const char* part) {
    const RunReport report = matmul(way);
    EXPECT_EQ(report.verdict, verdict) << way << " " << report.detail;
    EXPECT_NE(report.detail.find(part), std::string::npos) << way << " " << report.detail;
  };
  expect(1, Verdict::kFault, "before its wait_group");
  expect(2, Verdict::kRace, "is written while a wgmma");
  expect(4, Verdict::kFault, "before any wgmma.fence");
  expect(5, Verdict::kFault, "did not run the same wgmma");
  expect(6, Verdict::kFault, "out-of-bounds");
  expect(7, Verdict::kFault, "uninitialised value of shared");
}

}  // namespace
}  // namespace hone::emulator
