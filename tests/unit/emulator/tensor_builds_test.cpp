// The builds of the tensor-core loops for different CPUs give the same bits.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstdint>
#include <random>
#include <vector>

#include "evaluator/device/emulator/lanes/dot.h"

namespace hone::emulator {
namespace dot_baseline {
DotLoops loops();
}
namespace dot_avx2 {
DotLoops loops();
}
namespace {

using u32 = std::uint32_t;
constexpr int kK = 32;

struct Registers {
  std::array<std::array<u32, 32>, 8> values{};
  explicit Registers(unsigned seed = 0) {
    std::mt19937 random(seed);
    if (seed != 0)
      for (auto& r : values)
        for (u32& v : r) v = random();
  }
  [[nodiscard]] std::array<const u32*, 8> in() const {
    std::array<const u32*, 8> p;
    for (std::size_t i = 0; i < 8; ++i) p[i] = values[i].data();
    return p;
  }
  [[nodiscard]] std::array<u32*, 8> out() {
    std::array<u32*, 8> p;
    for (std::size_t i = 0; i < 8; ++i) p[i] = values[i].data();
    return p;
  }
};

/// The rows that mean something of a tile whose columns are 16 long.
std::vector<u32> rows_of(const std::vector<u32>& tile, bool tall) {
  std::vector<u32> kept;
  for (std::size_t i = 0; i < tile.size(); ++i)
    if (tall || i % 16 < 8) kept.push_back(tile[i]);
  return kept;
}

/// Whatever a build makes of the same input, one after the other.
std::vector<u32> fragments(const DotLoops& loops, int bits, bool tall) {
  const int regs = tall ? 4 : 2;
  const int k = 4 * (32 / bits) * (tall ? regs / 2 : regs);
  const Registers registers(7);
  const auto r = registers.in();
  std::vector<u32> a(static_cast<std::size_t>(k) * 16);
  std::vector<u32> b(static_cast<std::size_t>(k) * 8);
  std::vector<float> values(b.size());
  loops.fragment_a(bits, regs, tall, r.data(), a.data());
  loops.fragment_b(bits, 2, k, r.data() + 4, b.data());
  std::vector<u32> all = rows_of(a, tall);
  all.insert(all.end(), b.begin(), b.end());
  for (const bool is_signed : {false, true}) {
    loops.convert_integer(is_signed, bits, b.data(), k * 8, values.data());
    for (const float v : values) all.push_back(static_cast<u32>(static_cast<std::int64_t>(v)));
  }
  return all;
}

std::vector<u32> sums(const DotLoops& loops, bool half, bool tall) {
  const Registers registers(11);
  const auto r = registers.in();
  std::vector<u32> c(8 * 16);
  loops.load_sums(half, tall, r.data(), c.data());
  Registers back;
  loops.store_sums(half, tall, c.data(), back.out().data());
  std::vector<u32> all = rows_of(c, tall);
  for (const auto& reg : back.values) all.insert(all.end(), reg.begin(), reg.end());
  return all;
}

std::vector<u32> products(const DotLoops& loops, DotModel::Output output, int chunk) {
  std::mt19937 random(13);
  std::vector<u32> raw(kK * 16 + kK * 8);
  for (u32& v : raw) v = random() & 0xBFFF;  // f16 below 2 in size
  std::vector<float> value(raw.size());
  std::vector<std::int16_t> exponent(raw.size());
  EXPECT_TRUE(loops.convert(DotInput::kF16, raw.data(), kK * 24, value.data(), exponent.data()));
  DotModel model;
  model.output = output;
  model.chunk = chunk;
  std::vector<float> c(8 * 16);
  for (std::size_t i = 0; i < c.size(); ++i) c[i] = 0.25f * static_cast<float>(i % 7) - 0.5f;
  std::array<bool, 128> redo{};
  EXPECT_FALSE(loops.dot(model, 8, kK, value.data(), exponent.data(), value.data() + kK * 16,
                         exponent.data() + kK * 16, c.data(), redo.data()));
  std::vector<u32> all;
  for (const float v : c) all.push_back(std::bit_cast<u32>(v));
  for (int i = 0; i < kK * 24; ++i) value[i] = static_cast<float>(static_cast<int>(raw[i] & 255));
  for (const bool saturate : {false, true}) {
    std::vector<std::int32_t> n(8 * 16, 0x7FFF0000);
    loops.integer(8, kK, value.data(), value.data() + kK * 16, saturate, n.data());
    all.insert(all.end(), n.begin(), n.end());
  }
  return all;
}

void expect_same(const DotLoops& loops) {
  const DotLoops plain = dot_baseline::loops();
  for (const bool tall : {false, true}) {
    for (const int bits : {4, 8, 16, 32})
      EXPECT_EQ(fragments(loops, bits, tall), fragments(plain, bits, tall)) << bits << tall;
    for (const bool half : {false, true})
      EXPECT_EQ(sums(loops, half, tall), sums(plain, half, tall)) << half << tall;
  }
  using Output = DotModel::Output;
  for (const Output output : {Output::kF32, Output::kE8M13, Output::kF16})
    for (const int chunk : {4, 8, 16})
      EXPECT_EQ(products(loops, output, chunk), products(plain, output, chunk)) << chunk;
}

TEST(TensorBuilds, TheBestAgreesWithThePortable) { expect_same(dot_loops()); }

TEST(TensorBuilds, Avx2AgreesWithThePortable) {
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) GTEST_SKIP();
  expect_same(dot_avx2::loops());
#else
  GTEST_SKIP();
#endif
}

// What goes in comes out, for every f16 there is but NaNs' bits.
TEST(TensorBuilds, SumsComeBackAsTheyWere) {
  const DotLoops& loops = dot_loops();
  for (u32 first = 0; first < 0x10000; first += 128) {
    Registers given;
    for (u32 i = 0; i < 64; ++i)
      given.values[i / 32][i % 32] = (first + 2 * i) | (first + 2 * i + 1) << 16;
    std::vector<u32> c(8 * 16);
    loops.load_sums(true, true, given.in().data(), c.data());
    Registers back;
    loops.store_sums(true, true, c.data(), back.out().data());
    const auto expected = [](u32 h) { return (h & 0x7FFF) > 0x7C00 ? 0x7FFFu : h; };
    for (u32 i = 0; i < 64; ++i) {
      const u32 v = given.values[i / 32][i % 32];
      EXPECT_EQ(back.values[i / 32][i % 32], expected(v & 0xFFFF) | expected(v >> 16) << 16);
    }
  }
}

}  // namespace
}  // namespace hone::emulator
