// mma.sync in every shape and type: random fragments in, and each element of the result compared
// with a scalar computation. Layouts are written here as the PTX ISA states them, shape by shape.
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "evaluator/device/emulator/lanes/dot.h"
#include "tests/unit/emulator/harness.h"

namespace hone::emulator {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

struct Shape {
  const char* text;  ///< after mma.sync.aligned.
  int m, n, k;
  const char* a;
  const char* b;
  const char* c;
  friend std::ostream& operator<<(std::ostream& out, const Shape& s) { return out << s.text; }
};

int bits_of(const std::string& type) {
  if (type == "f64") return 64;
  if (type == "f32" || type == "tf32" || type == "s32") return 32;
  if (type == "f16" || type == "bf16") return 16;
  if (type == "b1") return 1;
  return type == "s4" || type == "u4" ? 4 : 8;
}
bool is_float(const std::string& type) {
  return type == "f16" || type == "bf16" || type == "tf32" || type == "e4m3" || type == "e5m2";
}

struct Cell {
  int row, column;
};

// PTX ISA, "Matrix Fragments for mma.<shape>". i: index of the element in the lane's fragment.
Cell place_a(const Shape& s, int lane, int i) {
  const int g = lane >> 2;
  const int t = lane % 4;
  const int bits = bits_of(s.a);
  if (bits == 64) {
    if (s.m == 8) return {g, t};
    if (s.k == 4) return {i == 0 ? g : g + 8, t};
    if (s.k == 8) return {i % 2 == 0 ? g : g + 8, i < 2 ? t : t + 4};
    return {i % 2 == 0 ? g : g + 8, i / 2 * 4 + t};
  }
  if (bits == 32) {
    if (s.k == 4) return {i == 0 ? g : g + 8, t};
    return {i == 0 || i == 2 ? g : g + 8, i < 2 ? t : t + 4};
  }
  if (bits == 16) {
    if (s.k == 8) return {i < 2 ? g : g + 8, t * 2 + (i & 1)};
    return {i < 2 || (i >= 4 && i < 6) ? g : g + 8, t * 2 + (i & 1) + (i >= 4 ? 8 : 0)};
  }
  if (bits == 8) {
    if (s.m == 8) return {g, t * 4 + i};
    if (s.k == 16) return {i < 4 ? g : g + 8, t * 4 + (i & 3)};
    return {i < 4 || (i >= 8 && i < 12) ? g : g + 8, t * 4 + (i & 3) + (i < 8 ? 0 : 16)};
  }
  if (bits == 4) {
    if (s.m == 8) return {g, t * 8 + i};
    if (s.k == 32) return {i < 8 ? g : g + 8, t * 8 + (i & 7)};
    return {i < 8 || (i >= 16 && i < 24) ? g : g + 8, t * 8 + (i & 7) + (i < 16 ? 0 : 32)};
  }
  if (s.m == 8) return {g, t * 32 + i};
  if (s.k == 128) return {i < 32 ? g : g + 8, t * 32 + (i & 31)};
  return {i < 32 || (i >= 64 && i < 96) ? g : g + 8, t * 32 + (i & 31) + (i < 64 ? 0 : 128)};
}

Cell place_b(const Shape& s, int lane, int i) {
  const int g = lane >> 2;
  const int t = lane % 4;
  switch (bits_of(s.b)) {
    case 64:
      return {s.k == 4 ? t : i * 4 + t, g};
    case 32:
      return {i == 0 ? t : t + 4, g};
    case 16:
      return {i < 2 ? t * 2 + i : t * 2 + (i & 1) + 8, g};
    case 8:
      return {i < 4 ? t * 4 + i : t * 4 + (i & 3) + 16, g};
    case 4:
      return {i < 8 ? t * 8 + i : t * 8 + (i & 7) + 32, g};
    default:
      return {i < 32 ? t * 32 + i : t * 32 + (i & 31) + 128, g};
  }
}

Cell place_c(const Shape&, int lane, int i) {
  return {i < 2 ? lane >> 2 : (lane >> 2) + 8, lane % 4 * 2 + (i & 1)};
}

/// A matrix of raw elements.
struct Matrix {
  int rows = 0, columns = 0;
  std::vector<u64> cells;
  Matrix(int r, int c) : rows(r), columns(c), cells(static_cast<std::size_t>(r * c)) {}
  u64& operator()(int r, int c) { return cells[static_cast<std::size_t>(r * columns + c)]; }
};

template <class Place>
std::vector<u32> to_fragments(Matrix& m, int bits, Place place) {
  const int each = m.rows * m.columns / 32;
  const int words = each * bits / 32;
  std::vector<u32> out(static_cast<std::size_t>(words) * 32);
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < each; ++i) {
      const Cell c = place(lane, i);
      const u64 v = m(c.row, c.column);
      if (bits == 64) {
        out[lane * words + 2 * i] = static_cast<u32>(v);
        out[lane * words + 2 * i + 1] = static_cast<u32>(v >> 32);
      } else {
        out[lane * words + i * bits / 32] |= static_cast<u32>(v) << (i * bits % 32);
      }
    }
  return out;
}

template <class Place>
void from_fragments(const std::vector<u32>& in, Matrix& m, int bits, Place place) {
  const int each = m.rows * m.columns / 32;
  const int words = each * bits / 32;
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < each; ++i) {
      const Cell c = place(lane, i);
      if (bits == 64)
        m(c.row, c.column) = in[lane * words + 2 * i] | u64{in[lane * words + 2 * i + 1]} << 32;
      else
        m(c.row, c.column) = (in[lane * words + i * bits / 32] >> (i * bits % 32)) &
                             (bits == 32 ? 0xFFFFFFFFu : (1u << bits) - 1);
    }
}

/// A kernel that loads a lane's fragments, multiplies, and stores the result.
std::string kernel_text(const Shape& s, const std::string& target) {
  const auto words = [](int elements, const char* type) { return elements * bits_of(type) / 1024; };
  const int na = words(s.m * s.k, s.a);
  const int nb = words(s.n * s.k, s.b);
  const int nc = words(s.m * s.n, s.c);
  const bool wide = std::string(s.a) == "f64";
  std::string body;
  const auto fragment = [&](const char* name, int n, const char* pointer) {
    std::string list;
    const int regs = wide ? n / 2 : n;
    for (int i = 0; i < regs; ++i) {
      body += fmt::format("ld.global.{} %{}{}, [{}+{}];\n", wide ? "b64" : "b32", name, i, pointer,
                          i * (wide ? 8 : 4));
      list += fmt::format("{}%{}{}", i ? "," : "", name, i);
    }
    return "{" + list + "}";
  };
  body += fmt::format(R"(
mov.u32 %r0, %tid.x;
ld.param.u64 %rd0, [pa]; ld.param.u64 %rd1, [pb]; ld.param.u64 %rd2, [pc]; ld.param.u64 %rd3, [pd];
mad.wide.u32 %rd0, %r0, {}, %rd0; mad.wide.u32 %rd1, %r0, {}, %rd1;
mad.wide.u32 %rd2, %r0, {}, %rd2; mad.wide.u32 %rd3, %r0, {}, %rd3;
)",
                      na * 4, nb * 4, nc * 4, nc * 4);
  const std::string a = fragment("a", na, "%rd0");
  const std::string b = fragment("b", nb, "%rd1");
  const std::string c = fragment("c", nc, "%rd2");
  body += fmt::format("mma.sync.aligned.{} {}, {}, {}, {};\n", s.text, c, a, b, c);
  const int regs = wide ? nc / 2 : nc;
  for (int i = 0; i < regs; ++i)
    body +=
        fmt::format("st.global.{} [%rd3+{}], %c{};\n", wide ? "b64" : "b32", i * (wide ? 8 : 4), i);
  return fmt::format(R"(.version 8.0
.target {}
.address_size 64
.visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pd)
{{
.reg .b32 %r<4>; .reg .b64 %rd<8>; .reg .{} %a<16>, %b<16>, %c<16>;
{}ret;
}}
)",
                     target, wide ? "b64" : "b32", body);
}

float decode(const std::string& type, u64 raw) {
  const auto input = type == "f16"    ? DotInput::kF16
                     : type == "bf16" ? DotInput::kBF16
                     : type == "tf32" ? DotInput::kTF32
                     : type == "e4m3" ? DotInput::kE4M3
                                      : DotInput::kE5M2;
  return dot_value(input, static_cast<u32>(raw));
}

std::int64_t integer(const std::string& type, u64 raw) {
  if (type == "s8") return static_cast<std::int8_t>(raw);
  if (type == "s4") return static_cast<std::int64_t>(raw & 15) - (raw & 8 ? 16 : 0);
  return static_cast<std::int64_t>(raw);
}

struct Product {
  Matrix a, b, c, d;
};

Product multiply(const Shape& s, Matrix a, Matrix b, Matrix c, const char* arch = "sm_90") {
  const auto module = load(kernel_text(s, "sm_90"));
  Launch launch("k", {1, 1, 1}, {32, 1, 1});
  const int bc = bits_of(s.c);
  const auto fa = to_fragments(a, bits_of(s.a), [&](int l, int i) { return place_a(s, l, i); });
  const auto fb = to_fragments(b, bits_of(s.b), [&](int l, int i) { return place_b(s, l, i); });
  const auto fc = to_fragments(c, bc, [&](int l, int i) { return place_c(s, l, i); });
  launch.in("a", fa).in("b", fb).in("c", fc).out("d", fc.size() * 4);
  RunOptions options;
  options.profile = find_profile(arch);
  const RunReport report = launch.run(module, options);
  EXPECT_EQ(report.verdict, Verdict::kOk) << report.detail;
  EXPECT_EQ(report.counters.tensor, 1u);
  EXPECT_EQ(report.counters.tensor_flops,
            std::string(s.a) == "b1" ? 0u : 2u * static_cast<u64>(s.m * s.n * s.k));
  Matrix d(s.m, s.n);
  from_fragments(launch.read<u32>("d", fc.size()), d, bc,
                 [&](int l, int i) { return place_c(s, l, i); });
  return {std::move(a), std::move(b), std::move(c), std::move(d)};
}

class Mma : public testing::TestWithParam<Shape> {};

TEST_P(Mma, SmallIntegersAreExact) {
  const Shape& s = GetParam();
  const std::string ta = s.a;
  const std::string tb = s.b;
  const std::string tc = s.c;
  std::mt19937 random(7);
  // Small integers: every sum is exact in every format, so the order of adding does not matter.
  const auto raw = [](const std::string& type, int v) -> u64 {
    if (type == "f64") return std::bit_cast<u64>(static_cast<double>(v));
    if (type == "f32" || type == "tf32") return std::bit_cast<u32>(static_cast<float>(v));
    if (type == "bf16") return std::bit_cast<u32>(static_cast<float>(v)) >> 16;
    if (type == "f16") return half_bits(static_cast<float>(v));
    if (type == "e5m2") return half_bits(static_cast<float>(v)) >> 8;
    if (type == "e4m3") {
      for (u64 b = 0; b < 256; ++b)
        if (decode("e4m3", b) == static_cast<float>(v)) return b;
    }
    return static_cast<u64>(v) & (bits_of(type) == 32 ? 0xFFFFFFFFu : (1u << bits_of(type)) - 1);
  };
  const auto fill = [&](Matrix m, const std::string& type, int range) {
    const bool positive = type[0] == 'u' || type == "b1";
    for (u64& cell : m.cells) {
      const int v = type == "b1" ? static_cast<int>(random() & 1)
                    : positive   ? static_cast<int>(random() % (range + 1))
                                 : static_cast<int>(random() % (2 * range + 1)) - range;
      cell = raw(type, v);
    }
    return m;
  };
  const Matrix a = fill(Matrix(s.m, s.k), ta, 3);
  const Matrix b = fill(Matrix(s.k, s.n), tb, 3);
  const Matrix c = fill(Matrix(s.m, s.n), tc, 50);
  const auto value = [&](const std::string& type, u64 v) -> double {
    if (type == "f64") return std::bit_cast<double>(v);
    if (type == "f32") return std::bit_cast<float>(static_cast<u32>(v));
    if (type == "s32") return static_cast<std::int32_t>(v);
    return is_float(type) ? decode(type, v) : static_cast<double>(integer(type, v));
  };
  Product p = multiply(s, a, b, c);
  for (int i = 0; i < s.m; ++i)
    for (int j = 0; j < s.n; ++j) {
      double want = value(tc, p.c(i, j));
      for (int k = 0; k < s.k; ++k) {
        const double x = value(ta, p.a(i, k));
        const double y = value(tb, p.b(k, j));
        want += ta == "b1" && !std::string(s.text).ends_with("and.popc") ? std::abs(x - y) : x * y;
      }
      ASSERT_EQ(value(tc, p.d(i, j)), want) << "row " << i << " column " << j;
    }
}

const Shape kShapes[] = {
    {"m16n8k8.row.col.f32.f16.f16.f32", 16, 8, 8, "f16", "f16", "f32"},
    {"m16n8k8.row.col.f16.f16.f16.f16", 16, 8, 8, "f16", "f16", "f16"},
    {"m16n8k16.row.col.f32.f16.f16.f32", 16, 8, 16, "f16", "f16", "f32"},
    {"m16n8k16.row.col.f16.f16.f16.f16", 16, 8, 16, "f16", "f16", "f16"},
    {"m16n8k8.row.col.f32.bf16.bf16.f32", 16, 8, 8, "bf16", "bf16", "f32"},
    {"m16n8k16.row.col.f32.bf16.bf16.f32", 16, 8, 16, "bf16", "bf16", "f32"},
    {"m16n8k4.row.col.f32.tf32.tf32.f32", 16, 8, 4, "tf32", "tf32", "f32"},
    {"m16n8k8.row.col.f32.tf32.tf32.f32", 16, 8, 8, "tf32", "tf32", "f32"},
    {"m16n8k16.row.col.f32.e4m3.e5m2.f32", 16, 8, 16, "e4m3", "e5m2", "f32"},
    {"m16n8k32.row.col.f32.e4m3.e4m3.f32", 16, 8, 32, "e4m3", "e4m3", "f32"},
    {"m16n8k32.row.col.f32.e5m2.e4m3.f32", 16, 8, 32, "e5m2", "e4m3", "f32"},
    {"m16n8k32.row.col.f16.e5m2.e5m2.f16", 16, 8, 32, "e5m2", "e5m2", "f16"},
    {"m8n8k16.row.col.s32.s8.s8.s32", 8, 8, 16, "s8", "s8", "s32"},
    {"m16n8k16.row.col.s32.s8.u8.s32", 16, 8, 16, "s8", "u8", "s32"},
    {"m16n8k32.row.col.s32.u8.s8.s32", 16, 8, 32, "u8", "s8", "s32"},
    {"m16n8k32.row.col.satfinite.s32.s8.s8.s32", 16, 8, 32, "s8", "s8", "s32"},
    {"m8n8k32.row.col.s32.s4.u4.s32", 8, 8, 32, "s4", "u4", "s32"},
    {"m16n8k32.row.col.s32.u4.s4.s32", 16, 8, 32, "u4", "s4", "s32"},
    {"m16n8k64.row.col.s32.s4.s4.s32", 16, 8, 64, "s4", "s4", "s32"},
    {"m8n8k128.row.col.s32.b1.b1.s32.xor.popc", 8, 8, 128, "b1", "b1", "s32"},
    {"m16n8k128.row.col.s32.b1.b1.s32.and.popc", 16, 8, 128, "b1", "b1", "s32"},
    {"m16n8k256.row.col.s32.b1.b1.s32.xor.popc", 16, 8, 256, "b1", "b1", "s32"},
    {"m8n8k4.row.col.f64.f64.f64.f64", 8, 8, 4, "f64", "f64", "f64"},
    {"m16n8k4.row.col.f64.f64.f64.f64", 16, 8, 4, "f64", "f64", "f64"},
    {"m16n8k8.row.col.f64.f64.f64.f64", 16, 8, 8, "f64", "f64", "f64"},
    {"m16n8k16.row.col.f64.f64.f64.f64", 16, 8, 16, "f64", "f64", "f64"},
};
INSTANTIATE_TEST_SUITE_P(Shapes, Mma, testing::ValuesIn(kShapes), [](const auto& info) {
  std::string name = info.param.text;
  for (char& ch : name)
    if (ch == '.') ch = '_';
  return name;
});

// ---- how sums are rounded (lanes/dot.h) ----

/// One dot product in row 0, column 0: its result's bits.
u32 one_sum(const char* arch, const Shape& s, const std::vector<float>& a,
            const std::vector<float>& b, u32 c) {
  const auto raw = [&](float v) -> u64 {
    if (std::string(s.a) == "f16") return half_bits(v);
    if (std::string(s.a) == "e5m2") return half_bits(v) >> 8;
    return std::bit_cast<u32>(v) >> (std::string(s.a) == "bf16" ? 16 : 0);
  };
  Matrix ma(s.m, s.k);
  Matrix mb(s.k, s.n);
  Matrix mc(s.m, s.n);
  for (std::size_t k = 0; k < a.size(); ++k) {
    ma(0, static_cast<int>(k)) = raw(a[k]);
    mb(static_cast<int>(k), 0) = raw(b[k]);
  }
  mc(0, 0) = c;
  Product p = multiply(s, ma, mb, mc, arch);
  return static_cast<u32>(p.d(0, 0));
}

const Shape kF16 = kShapes[2];
const Shape kF16Half = kShapes[3];
const Shape kBf16 = kShapes[5];
const Shape kE5m2 = {"m16n8k32.row.col.f32.e5m2.e5m2.f32", 16, 8, 32, "e5m2", "e5m2", "f32"};

TEST(MmaRounding, CutsTowardsZero) {
  // 1 + 2^-24 + 2^-24: to nearest even would give 1, an exact sum 1 + 2^-23.
  const u32 one = std::bit_cast<u32>(1.0f);
  const std::vector<float> a = {0x1p-12f, 0x1p-12f};
  const std::vector<float> b = {0x1p-12f, 0x1p-12f};
  EXPECT_EQ(one_sum("sm_80", kF16, a, b, one), one + 1);  // 24 places: both survive
  EXPECT_EQ(one_sum("sm_90", kF16, a, b, one), one + 1);
  // 2^-25 each, four of them make 2^-23 only where a 25th place is kept.
  const std::vector<float> c(4, 0x1p-12f);
  const std::vector<float> d(4, 0x1p-13f);
  EXPECT_EQ(one_sum("sm_80", kF16, c, d, one), one);
  EXPECT_EQ(one_sum("sm_89", kF16, c, d, one), one);
  EXPECT_EQ(one_sum("sm_90", kF16, c, d, one), one + 1);
  // What is cut is cut towards zero, for both signs: -1 - 3 * 2^-25 is -1.
  const std::vector<float> e = {-0x1p-12f, -0x1p-12f, -0x1p-12f};
  EXPECT_EQ(one_sum("sm_90", kF16, e, {0x1p-13f, 0x1p-13f, 0x1p-13f}, one | 0x80000000u),
            one | 0x80000000u);
}

TEST(MmaRounding, AChunkIsAddedAtOnce) {
  // 2^-24 twice, in different halves of k = 16: each is lost alone when the sum is rounded between
  // them (sm_80: chunks of 8), together they make a bit (sm_90: chunks of 16).
  const u32 one = std::bit_cast<u32>(1.0f);
  std::vector<float> a(16, 0.0f);
  std::vector<float> b(16, 0.0f);
  a[0] = a[8] = b[0] = b[8] = 0x1p-12f;
  EXPECT_EQ(one_sum("sm_80", kF16, a, b, one), one);
  EXPECT_EQ(one_sum("sm_90", kF16, a, b, one), one + 1);
}

TEST(MmaRounding, LargestExponentIsOfTheFactors) {
  // 1.5 * 1.5 counts as exponent 0 though it is above 2: 2.25 - 2.25 + 2^-25 keeps the small one.
  std::vector<float> a = {1.5f, -1.5f, 0x1p-12f};
  std::vector<float> b = {1.5f, 1.5f, 0x1p-13f};
  EXPECT_EQ(one_sum("sm_90", kF16, a, b, 0), std::bit_cast<u32>(0x1p-25f));
  EXPECT_EQ(one_sum("sm_80", kF16, a, b, 0), 0u);
}

TEST(MmaRounding, HalfResultsAreRoundedToNearestEven) {
  // 1 + 2^-11 is a tie, 1 + 3 * 2^-11 another, 1 + 2^-11 + 2^-20 is above one.
  const u32 one = half_bits(1.0f);
  EXPECT_EQ(one_sum("sm_90", kF16Half, {0x1p-5f}, {0x1p-6f}, one), one);
  EXPECT_EQ(one_sum("sm_90", kF16Half, {3 * 0x1p-5f}, {0x1p-6f}, one), one + 2);
  EXPECT_EQ(one_sum("sm_90", kF16Half, {0x1p-5f, 0x1p-10f}, {0x1p-6f, 0x1p-10f}, one), one + 1);
  EXPECT_EQ(one_sum("sm_90", kF16Half, {65504.0f}, {1.0f}, half_bits(16.0f)), 0x7C00u);
  EXPECT_EQ(one_sum("sm_90", kF16Half, {0x1p-14f}, {0x1p-10f}, 0), 1u);  // subnormal
}

TEST(MmaRounding, Fp8KeepsThirteenPlacesOnAda) {
  const u32 one = std::bit_cast<u32>(1.0f);
  const std::vector<float> a = {0x1p-7f};
  EXPECT_EQ(one_sum("sm_89", kE5m2, a, {0x1p-6f}, one), std::bit_cast<u32>(1 + 0x1p-13f));
  EXPECT_EQ(one_sum("sm_89", kE5m2, a, {0x1p-7f}, one), one);
  EXPECT_EQ(one_sum("sm_90", kE5m2, a, {0x1p-7f}, one), std::bit_cast<u32>(1 + 0x1p-14f));
}

TEST(MmaRounding, Fp8OnHopperAddsTheSumLast) {
  // 1 + 1.5 * 2^-24 is rounded to nearest, not cut: a plain addition.
  const u32 one = std::bit_cast<u32>(1.0f);
  EXPECT_EQ(one_sum("sm_90", kE5m2, {1.5f * 0x1p-12f}, {0x1p-12f}, one), one + 1);
  // Elements 0, 1 of each four in one product, 2, 3 in the other, the lower ones first: what the
  // first leaves, 1 + 2^-23, loses a little to the second's cut at 1 + 2^-23 - 2^-25.
  const std::vector<float> a = {1.0f, 0x1p-12f, -0x1p-12f, 0, 0};
  const std::vector<float> b = {1.0f, 0x1p-11f, 0x1p-13f, 0, 0};
  EXPECT_EQ(one_sum("sm_90", kE5m2, a, b, 0), one);
  EXPECT_EQ(one_sum("sm_90", kE5m2, {1.0f, 0x1p-12f, 0, 0, -0x1p-12f}, b, 0), one + 1);
}

TEST(MmaRounding, InfinitiesAndNans) {
  const float inf = std::numeric_limits<float>::infinity();
  const u32 nan = 0x7FFFFFFFu;
  EXPECT_EQ(one_sum("sm_90", kF16, {inf}, {1.0f}, 0), std::bit_cast<u32>(inf));
  EXPECT_EQ(one_sum("sm_90", kF16, {inf}, {-1.0f}, 0), std::bit_cast<u32>(-inf));
  EXPECT_EQ(one_sum("sm_90", kF16, {inf}, {0.0f}, 0), nan);
  EXPECT_EQ(one_sum("sm_90", kF16, {inf, inf}, {1.0f, -1.0f}, 0), nan);
  EXPECT_EQ(one_sum("sm_90", kF16, {1.0f}, {1.0f}, std::bit_cast<u32>(-inf)),
            std::bit_cast<u32>(-inf));
  EXPECT_EQ(one_sum("sm_90", kF16, {1.0f}, {1.0f}, 0x7FC00000u), nan);
  // Beyond what a float holds, and far below: bf16 has a float's exponents.
  EXPECT_EQ(one_sum("sm_90", kBf16, {0x1p100f}, {0x1p100f}, 0), std::bit_cast<u32>(inf));
  EXPECT_EQ(one_sum("sm_90", kBf16, {0x1p100f, -0x1p100f}, {0x1p100f, 0x1p100f}, 0), 0u);
  EXPECT_EQ(one_sum("sm_90", kBf16, {0x1p-70f}, {0x1p-70f}, 0), std::bit_cast<u32>(0x1p-140f));
}

TEST(MmaRounding, FastAndScalarAgree) {
  std::mt19937 random(11);
  const DotLoops& loops = dot_loops();
  for (int round = 0; round < 600; ++round) {
    const auto type = static_cast<DotInput>(random() % 5);
    const bool bytes = type == DotInput::kE4M3 || type == DotInput::kE5M2;
    DotModel model;
    model.fraction_bits = bytes && random() % 2 ? 13 : 24 + static_cast<int>(random() % 2);
    model.chunk = bytes ? (model.fraction_bits == 13 ? 32 : 16) : 4 << random() % 3;
    model.output = (type == DotInput::kF16 || bytes) && random() % 2 ? DotModel::Output::kF16
                   : model.fraction_bits == 13                       ? DotModel::Output::kE8M13
                                                                     : DotModel::Output::kF32;
    const int k = bytes ? 32 : 16;
    std::vector<u32> ra(k * 16);
    std::vector<u32> rb(k * 8);
    const int spread = static_cast<int>(random() % 12) + 1;
    const auto element = [&]() -> u32 {
      if (random() % 16 == 0) return 0;
      const float mantissa = 1.0f + static_cast<float>(random() % 1024) * 0x1p-10f;
      const float v = std::ldexp(random() % 2 ? mantissa : -mantissa,
                                 static_cast<int>(random() % spread) - spread / 2);
      if (type == DotInput::kTF32) return std::bit_cast<u32>(v);
      if (type == DotInput::kBF16) return std::bit_cast<u32>(v) >> 16;
      if (type == DotInput::kF16) return random() % 8 ? half_bits(v) : random() % 1024;
      const u32 byte = random() & 0xFF;
      return std::isfinite(dot_value(type, byte)) ? byte : 0x11;
    };
    for (u32& v : ra) v = element();
    for (u32& v : rb) v = element();
    std::vector<float> c(8 * 16);
    for (float& v : c) {
      v = std::ldexp(static_cast<float>(random() % 2048) - 1024,
                     static_cast<int>(random() % 8) - 9);
      if (random() % 200 == 0) v = -std::numeric_limits<float>::infinity();
    }
    std::vector<float> va(ra.size());
    std::vector<float> vb(rb.size());
    std::vector<std::int16_t> ea(ra.size());
    std::vector<std::int16_t> eb(rb.size());
    ASSERT_TRUE(loops.convert(type, ra.data(), k * 16, va.data(), ea.data()));
    ASSERT_TRUE(loops.convert(type, rb.data(), k * 8, vb.data(), eb.data()));
    const std::vector<float> before = c;
    bool redo[32];
    loops.dot(model, 8, k, va.data(), ea.data(), vb.data(), eb.data(), c.data(), redo);
    for (int at = 0; at < 8 * 16; ++at) {
      if (redo[at / loops.lanes]) continue;
      const float want = dot_slow(model, type, type, k, ra.data() + at % 16, 16,
                                  rb.data() + at / 16 * k, before[at]);
      ASSERT_EQ(std::bit_cast<u32>(c[at]), std::bit_cast<u32>(want)) << round << " " << at;
    }
  }
}

TEST(MmaInteger, WrapsOrSaturates) {
  Shape plain = {"m16n8k32.row.col.s32.s8.s8.s32", 16, 8, 32, "s8", "s8", "s32"};
  Shape finite = {"m16n8k32.row.col.satfinite.s32.s8.s8.s32", 16, 8, 32, "s8", "s8", "s32"};
  Matrix a(16, 32);
  Matrix b(32, 8);
  Matrix c(16, 8);
  for (u64& v : a.cells) v = 127;
  for (u64& v : b.cells) v = 127;
  for (u64& v : c.cells) v = 0x7FFFFFF0;
  EXPECT_EQ(multiply(plain, a, b, c).d(0, 0), 0x7FFFFFF0u + 32u * 127 * 127);
  EXPECT_EQ(multiply(finite, a, b, c).d(0, 0), 0x7FFFFFFFu);
  for (u64& v : b.cells) v = 0x80;
  for (u64& v : c.cells) v = 0x80000010;
  EXPECT_EQ(multiply(finite, a, b, c).d(3, 5), 0x80000000u);
}

TEST(MmaDouble, IsAChainOfFmas) {
  const Shape s = kShapes[std::size(kShapes) - 1];
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> uniform(-1, 1);
  Matrix a(16, 16);
  Matrix b(16, 8);
  Matrix c(16, 8);
  for (Matrix* m : {&a, &b, &c})
    for (u64& v : m->cells) v = std::bit_cast<u64>(uniform(random));
  Product p = multiply(s, a, b, c);
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 8; ++j) {
      double want = std::bit_cast<double>(p.c(i, j));
      for (int k = 0; k < 16; ++k)
        want = std::fma(std::bit_cast<double>(p.a(i, k)), std::bit_cast<double>(p.b(k, j)), want);
      ASSERT_EQ(std::bit_cast<double>(p.d(i, j)), want);
    }
}

// ---- misuse ----

std::string mma_under(const std::string& before, const std::string& guard = "") {
  return R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out)
{
.reg .pred %p<4>; .reg .b32 %r<8>; .reg .f32 %f<8>; .reg .b64 %rd<4>;
mov.u32 %r0, %tid.x; ld.param.u64 %rd0, [out]; mad.wide.u32 %rd0, %r0, 4, %rd0;
mov.b32 %r1, 0; mov.f32 %f0, 0f3F800000;
setp.lt.u32 %p1, %r0, 16;
)" + before +
         guard +
         R"( mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r1,%r1}, {%r1}, {%f0,%f0,%f0,%f0};
DONE: st.global.f32 [%rd0], %f0;
ret;
}
)";
}

RunReport run_misuse(const std::string& text, std::uint32_t threads) {
  Launch launch("k", {1, 1, 1}, {threads, 1, 1});
  launch.out("out", 4 * 64);
  return launch.run(load(text));
}

TEST(MmaMisuse, NeedsTheWholeWarp) {
  EXPECT_EQ(run_misuse(mma_under(""), 32).verdict, Verdict::kOk);
  RunReport r = run_misuse(mma_under("@%p1 bra DONE;\n"), 32);
  EXPECT_EQ(r.verdict, Verdict::kFault);
  EXPECT_NE(r.detail.find("never reach it"), std::string::npos) << r.detail;
  r = run_misuse(mma_under("@%p1 exit;\n"), 32);
  EXPECT_EQ(r.verdict, Verdict::kFault);
  EXPECT_NE(r.detail.find("lane 0 has exited"), std::string::npos) << r.detail;
  r = run_misuse(mma_under(""), 48);
  EXPECT_EQ(r.verdict, Verdict::kFault);
  EXPECT_NE(r.detail.find("this one has 16 threads"), std::string::npos) << r.detail;
  r = run_misuse(mma_under("", "@%p1"), 32);
  EXPECT_EQ(r.verdict, Verdict::kFault);
  EXPECT_NE(r.detail.find("predicated off in lane 16"), std::string::npos) << r.detail;
}

TEST(MmaMisuse, UnknownShapesAreUnsupported) {
  for (const char* name : {"mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32",
                           "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"}) {
    std::string text = mma_under("");
    const std::string plain = "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32";
    text.replace(text.find(plain), plain.size(), name);
    const RunReport r = run_misuse(text, 32);
    EXPECT_EQ(r.verdict, Verdict::kUnsupported);
    EXPECT_NE(r.detail.find(name), std::string::npos) << r.detail;
  }
}

}  // namespace
}  // namespace hone::emulator
