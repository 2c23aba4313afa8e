// Kernels from CUDA C++: wmma in every type and layout, ldmatrix and mma.sync in a whole matrix
// product, and what the checkers say when they are misused.
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

std::shared_ptr<const Module> tensor() { return kernels("tensor_sm_80.ptx"); }

// ---- wmma ----

struct Tile {
  const char* name;
  const char* input;
  const char* result;
  int m, n, k;
  friend std::ostream& operator<<(std::ostream& out, const Tile& t) { return out << t.name; }
};

int bits_of(const std::string& type) {
  if (type == "f64") return 64;
  if (type == "f32" || type == "tf32" || type == "s32") return 32;
  if (type == "f16" || type == "bf16") return 16;
  return type == "s4" || type == "u4" ? 4 : 8;
}

void put(std::vector<std::uint8_t>& to, const std::string& type, std::size_t at, int v) {
  const auto store = [&](auto x) { std::memcpy(to.data() + at * sizeof x, &x, sizeof x); };
  const auto f = static_cast<float>(v);
  if (type == "f64") return store(static_cast<double>(v));
  if (type == "f32" || type == "tf32") return store(f);
  if (type == "s32") return store(v);
  if (type == "f16") return store(half_bits(f));
  if (type == "bf16") return store(static_cast<u16>(std::bit_cast<u32>(f) >> 16));
  if (bits_of(type) == 8) return store(static_cast<std::uint8_t>(v));
  to[at / 2] |= static_cast<std::uint8_t>((v & 15) << (at % 2 * 4));
}
double get(const std::vector<std::uint8_t>& from, const std::string& type, std::size_t at) {
  const auto load = [&](auto x) {
    std::memcpy(&x, from.data() + at * sizeof x, sizeof x);
    return x;
  };
  if (type == "f64") return load(0.0);
  if (type == "f32") return load(0.0f);
  if (type == "s32") return load(0);
  return half_value(load(u16{}));
}

class Wmma : public testing::TestWithParam<Tile> {};

// 2 (A B + C) with small integers: exact, whatever the order. Rows are longer than the tile.
TEST_P(Wmma, EveryLayout) {
  const Tile& t = GetParam();
  const std::string in = t.input;
  const std::string out = t.result;
  for (const char* layouts : {"rr", "rc", "cr", "cc"}) {
    if (bits_of(in) < 8 && std::string(layouts) != "rc") continue;
    for (const bool row_c : {true, false}) {
      std::mt19937 random(5);
      const bool row_a = layouts[0] == 'r';
      const bool row_b = layouts[1] == 'r';
      const int pad = bits_of(in) < 8 ? 32 : 16;
      const int lda = (row_a ? t.k : t.m) + pad;
      const int ldb = (row_b ? t.n : t.k) + pad;
      const int ldc = (row_c ? t.n : t.m) + 8;
      const auto at = [](int r, int c, int ld, bool row) {
        return static_cast<std::size_t>(row ? r * ld + c : c * ld + r);
      };
      std::vector<std::uint8_t> a(static_cast<std::size_t>(lda) * 32 * bits_of(in) / 8);
      std::vector<std::uint8_t> b(static_cast<std::size_t>(ldb) * 32 * bits_of(in) / 8);
      std::vector<std::uint8_t> c(static_cast<std::size_t>(ldc) * 32 * bits_of(out) / 8);
      std::vector<int> va(t.m * t.k);
      std::vector<int> vb(t.k * t.n);
      std::vector<int> vc(t.m * t.n);
      const auto value = [&] {
        const int v = static_cast<int>(random() % 9) - 4;
        return in[0] == 'u' ? v + 4 : v;
      };
      for (int r = 0; r < t.m; ++r)
        for (int k = 0; k < t.k; ++k) put(a, in, at(r, k, lda, row_a), va[r * t.k + k] = value());
      for (int k = 0; k < t.k; ++k)
        for (int n = 0; n < t.n; ++n) put(b, in, at(k, n, ldb, row_b), vb[k * t.n + n] = value());
      for (int r = 0; r < t.m; ++r)
        for (int n = 0; n < t.n; ++n) put(c, out, at(r, n, ldc, row_c), vc[r * t.n + n] = value());
      Launch launch(fmt::format("wmma_{}_{}", t.name, layouts), {1, 1, 1}, {32, 1, 1});
      launch.in("a", a).in("b", b).in("c", c).out("d", c.size());
      launch.value(lda).value(ldb).value(ldc).value(row_c ? 1 : 0);
      const RunReport report = launch.run(tensor());
      ASSERT_EQ(report.verdict, Verdict::kOk) << report.detail;
      EXPECT_EQ(report.counters.tensor_flops, 2u * static_cast<u32>(t.m * t.n * t.k));
      const auto d = launch.read<std::uint8_t>("d", c.size());
      for (int r = 0; r < t.m; ++r)
        for (int n = 0; n < t.n; ++n) {
          int want = vc[r * t.n + n];
          for (int k = 0; k < t.k; ++k) want += va[r * t.k + k] * vb[k * t.n + n];
          ASSERT_EQ(get(d, out, at(r, n, ldc, row_c)), 2 * want)
              << layouts << " row " << r << " column " << n;
        }
      // Beyond the tile nothing was written.
      const std::size_t beyond = at(row_c ? 0 : t.m, row_c ? t.n : 0, ldc, row_c);
      EXPECT_EQ(launch.memory().first_unwritten(launch.address("d") + beyond * bits_of(out) / 8, 1),
                0);
    }
  }
}

const Tile kTiles[] = {
    {"f16_f32_16x16x16", "f16", "f32", 16, 16, 16},
    {"f16_f16_16x16x16", "f16", "f16", 16, 16, 16},
    {"f16_f32_32x8x16", "f16", "f32", 32, 8, 16},
    {"f16_f16_8x32x16", "f16", "f16", 8, 32, 16},
    {"f16_f32_8x32x16", "f16", "f32", 8, 32, 16},
    {"bf16_f32_16x16x16", "bf16", "f32", 16, 16, 16},
    {"bf16_f32_32x8x16", "bf16", "f32", 32, 8, 16},
    {"bf16_f32_8x32x16", "bf16", "f32", 8, 32, 16},
    {"tf32_f32_16x16x8", "tf32", "f32", 16, 16, 8},
    {"f64_f64_8x8x4", "f64", "f64", 8, 8, 4},
    {"s8_s32_16x16x16", "s8", "s32", 16, 16, 16},
    {"u8_s32_32x8x16", "u8", "s32", 32, 8, 16},
    {"s8_s32_8x32x16", "s8", "s32", 8, 32, 16},
    {"s4_s32_8x8x32", "s4", "s32", 8, 8, 32},
    {"u4_s32_8x8x32", "u4", "s32", 8, 8, 32},
};
INSTANTIATE_TEST_SUITE_P(Tiles, Wmma, testing::ValuesIn(kTiles),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(WmmaBits, XorAndAnd) {
  std::mt19937 random(9);
  std::vector<u32> a(32);
  std::vector<u32> b(32);
  for (u32& v : a) v = random();
  for (u32& v : b) v = random();
  Launch launch("wmma_b1", {1, 1, 1}, {32, 1, 1});
  launch.in("a", a).in("b", b).out("d", 512);
  const RunReport report = launch.run(tensor());
  ASSERT_EQ(report.verdict, Verdict::kOk) << report.detail;
  const auto d = launch.read<int>("d", 128);
  for (int r = 0; r < 8; ++r)
    for (int n = 0; n < 8; ++n) {
      int differ = 0;
      int both = 0;
      for (int w = 0; w < 4; ++w) {
        differ += std::popcount(a[r * 4 + w] ^ b[n * 4 + w]);
        both += std::popcount(a[r * 4 + w] & b[n * 4 + w]);
      }
      EXPECT_EQ(d[r * 8 + n], differ);
      EXPECT_EQ(d[64 + r * 8 + n], both);
    }
}

TEST(WmmaMisuse, PointersAndStrides) {
  const auto run = [](int lda, std::size_t shift) {
    Launch launch("wmma_f16_f32_16x16x16_rr", {1, 1, 1}, {32, 1, 1});
    launch.in("a", std::vector<u16>(1024));
    launch.config().parameters.clear();
    launch.value(launch.address("a") + shift);
    launch.in("b", std::vector<u16>(1024)).in("c", std::vector<float>(1024)).out("d", 4096);
    launch.value(lda).value(16).value(16).value(1);
    return launch.run(tensor());
  };
  EXPECT_EQ(run(16, 0).verdict, Verdict::kOk);
  RunReport r = run(20, 0);
  EXPECT_EQ(r.verdict, Verdict::kFault);
  EXPECT_NE(r.detail.find("a multiple of 8 elements, not 20"), std::string::npos) << r.detail;
  r = run(16, 8);
  EXPECT_EQ(r.verdict, Verdict::kFault);
  EXPECT_NE(r.detail.find("misaligned matrix"), std::string::npos) << r.detail;
  r = run(1024, 0);
  EXPECT_EQ(r.verdict, Verdict::kFault);
  EXPECT_NE(r.detail.find("out-of-bounds read"), std::string::npos) << r.detail;
}

TEST(WmmaMatmul, SharedTiles) {
  const int m = 64;
  const int n = 96;
  const int k = 64;
  std::mt19937 random(2);
  std::vector<u16> a(m * k);
  std::vector<u16> b(k * n);
  for (u16& v : a) v = half_bits(static_cast<float>(random() % 17) - 8);
  for (u16& v : b) v = half_bits(static_cast<float>(random() % 17) - 8);
  Launch launch("wmma_matmul", {3, 2, 1}, {128, 1, 1});
  launch.in("a", a).in("b", b).out("c", m * n * 4).value(n).value(k);
  const RunReport report = launch.run(tensor());
  ASSERT_EQ(report.verdict, Verdict::kOk) << report.detail;
  EXPECT_EQ(report.counters.tensor_flops, 2u * m * n * k);
  const auto c = launch.read<float>("c", m * n);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      float want = 0;
      for (int l = 0; l < k; ++l) want += half_value(a[i * k + l]) * half_value(b[l * n + j]);
      ASSERT_EQ(c[i * n + j], want) << i << " " << j;
    }
}

// ---- ldmatrix and mma.sync ----

struct Matmul {
  RunReport report;
  std::vector<float> c, want;
};

Matmul mma_matmul(int sync, int swizzle, const RunOptions& options = {}) {
  const int m = 128;
  const int n = 64;
  const int k = 96;
  std::vector<float> fa(m * k);
  std::vector<float> fb(k * n);
  std::vector<u16> a(m * k);
  std::vector<u16> b(k * n);
  std::mt19937 random(4);
  std::normal_distribution<float> normal;
  for (int i = 0; i < m * k; ++i) fa[i] = half_value(a[i] = 0x3000 + random() % 0x0C00);
  for (int i = 0; i < k * n; ++i)
    fb[i] = half_value(b[i] = (0x3000 + random() % 0x0C00) | (random() % 2 ? 0x8000 : 0));
  Launch launch("mma_matmul", {1, 2, 1}, {128, 1, 1});
  launch.in("A", a).in("B", b).out("C", m * n * 4).value(n).value(k).value(sync).value(swizzle);
  Matmul result;
  result.report = launch.run(tensor(), options);
  result.c = launch.read<float>("C", m * n);
  result.want.resize(m * n);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      double sum = 0;
      for (int l = 0; l < k; ++l) sum += double{fa[i * k + l]} * fb[l * n + j];
      result.want[i * n + j] = static_cast<float>(sum);
    }
  return result;
}

TEST(MmaMatmul, SwizzledTiles) {
  const Matmul r = mma_matmul(1, 1);
  ASSERT_EQ(r.report.verdict, Verdict::kOk) << r.report.detail;
  // 96 products of at most 1, six truncating steps of a unit in the last place of at most 64 each.
  for (std::size_t i = 0; i < r.c.size(); ++i)
    ASSERT_NEAR(r.c[i], r.want[i], 6 * 64 * 0x1p-23) << i;
  // 64x64x32 a step, 3 steps, 2 blocks: four warps of 16 mma each, twice.
  EXPECT_EQ(r.report.counters.tensor, 4u * 16 * 3 * 2);
  const double cycles = 384 * 2048 / find_profile("sm_90")->tensor_f16_fma;
  EXPECT_NEAR(static_cast<double>(r.report.counters.tensor_cycles), cycles, 0.02 * cycles);
}

TEST(MmaMatmul, BankConflictsAreCounted) {
  const auto swizzled = mma_matmul(1, 1).report.counters;
  const auto plain = mma_matmul(1, 0).report.counters;
  EXPECT_EQ(swizzled.shared_loads, plain.shared_loads);
  // Swizzled, ldmatrix takes one cycle a matrix: 4 for x4, 2 for x2. Plain, A's rows of 64 B are 4
  // to a bank group and B's of 128 B are 8.
  const auto loads = [](std::uint64_t a, std::uint64_t b) {
    return 2u * 3 * 4 * 2 * (2 * a + 4 * b);
  };
  EXPECT_EQ(plain.shared_wavefronts - swizzled.shared_wavefronts, loads(16, 16) - loads(4, 2))
      << swizzled.shared_wavefronts << " " << plain.shared_wavefronts;
}

TEST(MmaMatmul, RaceWithoutBarrier) {
  const Matmul r = mma_matmul(0, 1);
  EXPECT_EQ(r.report.verdict, Verdict::kRace) << r.report.detail;
}

TEST(LdMatrix, Patterns) {
  Launch launch("matrix_patterns", {1, 1, 1}, {32, 1, 1});
  launch.out("out", 13 * 128).value(0).value(32);
  const RunReport report = launch.run(tensor());
  ASSERT_EQ(report.verdict, Verdict::kOk) << report.detail;
  const auto out = launch.read<u32>("out", 13 * 32);
  // Element (row, column) of matrix q is q * 64 + row * 8 + column.
  const auto pair = [](int q, int row, int column, bool transposed) {
    const auto cell = [&](int r, int c) {
      return static_cast<u32>(q * 64 + (transposed ? c * 8 + r : r * 8 + c));
    };
    return cell(row, column) | cell(row, column + 1) << 16;
  };
  for (int lane = 0; lane < 32; ++lane) {
    const int row = lane / 4;
    const int column = lane % 4 * 2;
    for (int q = 0; q < 4; ++q) {
      EXPECT_EQ(out[q * 32 + lane], pair(q, row, column, false));
      EXPECT_EQ(out[(4 + q) * 32 + lane], pair(q, row, column, true));
    }
    EXPECT_EQ(out[8 * 32 + lane], pair(0, row, column, false));
    EXPECT_EQ(out[9 * 32 + lane], pair(1, row, column, false));
    EXPECT_EQ(out[10 * 32 + lane], pair(0, row, column, true));
    EXPECT_EQ(out[11 * 32 + lane], pair(0, row, column, false));
    EXPECT_EQ(out[12 * 32 + lane], pair(1, row, column, true));
  }
}

TEST(LdMatrix, Misuse) {
  const auto run = [](int offset, int rows) {
    Launch launch("matrix_patterns", {1, 1, 1}, {32, 1, 1});
    launch.out("out", 13 * 128).value(offset).value(rows);
    return launch.run(tensor());
  };
  RunReport r = run(8, 32);
  EXPECT_EQ(r.verdict, Verdict::kFault);
  EXPECT_NE(r.detail.find("misaligned read of 16 B"), std::string::npos) << r.detail;
  r = run(64, 32);
  EXPECT_EQ(r.verdict, Verdict::kFault);
  EXPECT_NE(r.detail.find("out-of-bounds read of 16 B"), std::string::npos) << r.detail;
  EXPECT_NE(r.detail.find("thread (29,0,0)"), std::string::npos) << r.detail;
  r = run(0, 24);  // the fourth matrix was never written
  EXPECT_EQ(r.verdict, Verdict::kFault);
  EXPECT_NE(r.detail.find("uninitialised"), std::string::npos) << r.detail;
}

TEST(StMatrix, UndoesLdMatrix) {
  std::vector<u32> in(128);
  for (u32 i = 0; i < 128; ++i) in[i] = i * 2 | (i * 2 + 1) << 16;
  Launch launch("stmatrix_patterns", {1, 1, 1}, {32, 1, 1});
  launch.in("in", in).out("out", 3 * 512);
  const RunReport report = launch.run(kernels("tensor_hopper_sm_90a.ptx"));
  ASSERT_EQ(report.verdict, Verdict::kOk) << report.detail;
  const auto out = launch.read<u32>("out", 3 * 128);
  for (u32 i = 0; i < 128; ++i) {
    EXPECT_EQ(out[i], in[i]);
    EXPECT_EQ(out[128 + i], in[i]);
    EXPECT_EQ(out[256 + i], i < 64 ? in[64 + i] : 0);
  }
}

}  // namespace
}  // namespace hone::emulator
