#include "evaluator/fill/fill.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <span>

#include "evaluator/check/compare.h"
#include "evaluator/check/finite.h"
#include "evaluator/check/local.h"
#include "evaluator/compile/compile.h"
#include "evaluator/device/cuda/helper_kernels.h"
#include "evaluator/device/emulator/emulator.h"
#include "evaluator/fill/formula_cpu.h"

namespace hone::fill {
namespace {

ConcreteBuffer buffer(ScalarType type, Fill fill, std::int64_t n) {
  return {"x", type, {n}, Role::kIn, std::move(fill)};
}

std::vector<std::uint8_t> bytes_of(const ConcreteBuffer& b, std::uint64_t seed = 7) {
  const auto source = Source::open(b, seed);
  EXPECT_TRUE(source);
  std::vector<std::uint8_t> out(static_cast<std::size_t>(b.bytes()));
  (*source)->read(0, out.data(), out.size());
  return out;
}

template <class T>
std::vector<T> values(const ConcreteBuffer& b, std::uint64_t seed = 7) {
  const auto bytes = bytes_of(b, seed);
  std::vector<T> out(bytes.size() / sizeof(T));
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

// These bits are what recorded results were computed from: they must never change.
TEST(Fill, KnownAnswers) {
  const auto u = values<std::uint32_t>(buffer(ScalarType::kF32, {Fill::Kind::kUniform, -1, 1}, 3));
  const auto n = values<std::uint32_t>(buffer(ScalarType::kF32, {Fill::Kind::kNormal, 0, 1}, 3));
  const auto i = values<std::int32_t>(buffer(ScalarType::kI32, {Fill::Kind::kIntegers, -5, 5}, 3));
  EXPECT_EQ(u, (std::vector<std::uint32_t>{0x3F260582U, 0x3C518BB0U, 0x3F5E648EU}));
  EXPECT_EQ(n, (std::vector<std::uint32_t>{0xBEBC6E00U, 0x3F2F1900U, 0xBDD5D800U}));
  EXPECT_EQ(i, (std::vector<std::int32_t>{1, -1, 1}));
}

TEST(Fill, AnyRangeIsTheSame) {
  for (const auto type : {ScalarType::kF32, ScalarType::kF64, ScalarType::kBf16, ScalarType::kU8}) {
    const auto b = buffer(type, {Fill::Kind::kNormal, 0, 2}, 100);
    const auto whole = bytes_of(b);
    const auto source = *Source::open(b, 7);
    for (std::size_t offset = 0; offset < 20; ++offset) {
      for (std::size_t size : {1U, 3U, 8U, 17U}) {
        std::vector<std::uint8_t> part(size);
        source->read(offset, part.data(), size);
        EXPECT_EQ(std::memcmp(part.data(), whole.data() + offset, size), 0);
      }
    }
  }
}

TEST(Fill, RepeatingContentsAreThoseOfTheBeginning) {
  const auto large = buffer(ScalarType::kF32, {Fill::Kind::kNormal, 0, 2}, 2'000'000);
  const auto plain = *Source::open(large, 7), repeating = *Source::open_repeating(large, 7);
  const std::uint64_t period = 4 * 262147;
  for (const std::uint64_t offset : {0UL, 5UL, period - 3, period + 1, 6 * period + 12}) {
    std::vector<std::uint8_t> want(64), got(64);
    for (std::size_t i = 0; i < want.size(); ++i)
      plain->read((offset + i) % period, want.data() + i, 1);
    repeating->read(offset, got.data(), got.size());
    EXPECT_EQ(got, want) << offset;
  }
  // What counts from the start does not repeat.
  const auto iota = buffer(ScalarType::kI32, {Fill::Kind::kIota, 0, 1}, 2'000'000);
  std::int32_t last = 0;
  (*Source::open_repeating(iota, 7))
      ->read(4 * 1'999'999ULL, reinterpret_cast<std::uint8_t*>(&last), sizeof last);
  EXPECT_EQ(last, values<std::int32_t>(iota).back());
}

TEST(Fill, SeedAndNameDecide) {
  auto b = buffer(ScalarType::kF32, {}, 64);
  EXPECT_NE(bytes_of(b, 1), bytes_of(b, 2));
  auto other = b;
  other.name = "y";
  EXPECT_NE(bytes_of(b, 1), bytes_of(other, 1));
  EXPECT_EQ(bytes_of(b, 1), bytes_of(b, 1));
}

TEST(Fill, Distributions) {
  const auto u = values<float>(buffer(ScalarType::kF32, {Fill::Kind::kUniform, 2, 6}, 100000));
  double sum = 0;
  for (const float v : u) {
    ASSERT_GE(v, 2);
    ASSERT_LE(v, 6);
    sum += v;
  }
  EXPECT_NEAR(sum / 100000, 4, 0.02);
  const auto n = values<double>(buffer(ScalarType::kF64, {Fill::Kind::kNormal, 1, 3}, 100000));
  double mean = 0, square = 0;
  for (const double v : n) {
    mean += v;
    square += v * v;
  }
  mean /= 100000;
  EXPECT_NEAR(mean, 1, 0.05);
  EXPECT_NEAR(std::sqrt(square / 100000 - mean * mean), 3, 0.05);
  std::map<int, int> seen;
  for (const auto v :
       values<std::int8_t>(buffer(ScalarType::kI8, {Fill::Kind::kIntegers, -2, 2}, 5000)))
    ++seen[v];
  EXPECT_EQ(seen.size(), 5U);
  EXPECT_EQ(seen.begin()->first, -2);
  EXPECT_EQ(seen.rbegin()->first, 2);
}

TEST(Fill, ConstantsAndIota) {
  EXPECT_EQ(values<float>(buffer(ScalarType::kF32, {Fill::Kind::kConstant, 2.5, 0}, 2)),
            (std::vector<float>{2.5F, 2.5F}));
  EXPECT_EQ(values<std::int64_t>(buffer(ScalarType::kI64, {Fill::Kind::kIota, 10, -3}, 3)),
            (std::vector<std::int64_t>{10, 7, 4}));
  EXPECT_EQ(values<std::uint16_t>(buffer(ScalarType::kF16, {Fill::Kind::kIota, 0, 0.5}, 3)),
            (std::vector<std::uint16_t>{0, 0x3800, 0x3C00}));
  EXPECT_EQ(values<std::uint8_t>(buffer(ScalarType::kBool, {Fill::Kind::kConstant, 1, 0}, 2)),
            (std::vector<std::uint8_t>{1, 1}));
  EXPECT_EQ(values<std::uint8_t>(buffer(ScalarType::kU8, {Fill::Kind::kIota, 254, 1}, 4)),
            (std::vector<std::uint8_t>{254, 255, 0, 1}));
}

TEST(Fill, FilesAreCheckedAndRead) {
  const std::string path = testing::TempDir() + "/hone_fill.bin";
  std::ofstream(path, std::ios::binary) << "abcdefgh";
  auto b = buffer(ScalarType::kU8, {Fill::Kind::kFile, 0, 0, path}, 8);
  EXPECT_EQ(bytes_of(b), (std::vector<std::uint8_t>{'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'}));
  b.shape = {9};
  const auto shorter = Source::open(b, 1);
  ASSERT_FALSE(shorter);
  EXPECT_EQ(shorter.error().code, ErrorCode::kInvalidInput);
  EXPECT_NE(shorter.error().message.find("8 bytes; the buffer needs 9"), std::string::npos);
  b.fill.path = "/no/such/file";
  EXPECT_FALSE(Source::open(b, 1));
  b.fill.path = "sha256:" + std::string(64, 'a') + "/m.pt2";
  const auto sent = Source::open(b, 1);
  ASSERT_FALSE(sent);
  EXPECT_NE(sent.error().message.find("was sent to a service as 'm.pt2'"), std::string::npos)
      << sent.error().message;
  unlink(path.c_str());
}

TEST(Fill, RoundsToTf32WhateverTheContentsComeFrom) {
  const std::string path = testing::TempDir() + "/hone_fill_tf32.bin";
  const std::vector<float> given = {1, 1 + 0x1p-11F, -1 - 0x1p-11F, 3.14159274F, 1e-30F, 0};
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(given.data()),
             static_cast<std::streamsize>(given.size() * sizeof(float)));
  auto from_file = buffer(ScalarType::kF32, {Fill::Kind::kFile, 0, 0, path}, 6);
  from_file.fill.tf32 = true;
  const auto rounded = values<float>(from_file);
  EXPECT_EQ(rounded[1], 1 + 0x1p-10F);
  EXPECT_EQ(rounded[2], -1 - 0x1p-10F);
  EXPECT_EQ(rounded[3], 3.140625F);
  EXPECT_EQ(rounded[5], 0);
  // A range that begins and ends within elements.
  const auto source = *Source::open(from_file, 7);
  std::vector<std::uint8_t> part(9);
  source->read(3, part.data(), part.size());
  EXPECT_EQ(0, std::memcmp(part.data(), reinterpret_cast<const char*>(rounded.data()) + 3, 9));
  unlink(path.c_str());

  auto random = buffer(ScalarType::kF32, {Fill::Kind::kNormal, 0, 1}, 100);
  const auto plain = values<float>(random);
  random.fill.tf32 = true;
  const auto fewer = values<float>(random);
  random.type = ScalarType::kF64;
  random.fill.through = ScalarType::kF32;
  const auto wide = values<double>(random);
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, plain[i]);
    EXPECT_EQ(__builtin_bit_cast(std::uint32_t, fewer[i]), hone_f32_to_tf32(bits));
    EXPECT_EQ(wide[i], double{fewer[i]});
  }
}

TEST(Fill, HalfConversionIsRightForEveryValue) {
  for (std::uint32_t h = 0; h < 0x10000; ++h) {
    const float f = std::bit_cast<float>(hone_f16_to_f32(h));
    if (std::isnan(f)) continue;
    EXPECT_EQ(hone_f32_to_f16(std::bit_cast<std::uint32_t>(f)), h);
  }
  const auto half = [](float f) { return hone_f32_to_f16(std::bit_cast<std::uint32_t>(f)); };
  EXPECT_EQ(half(65519.0F), 0x7BFFU);
  EXPECT_EQ(half(65520.0F), 0x7C00U);
  EXPECT_EQ(half(1.0F + 1.0F / 2048), 0x3C00U);  // tie to even
  EXPECT_EQ(half(1.0F + 3.0F / 2048), 0x3C02U);
  EXPECT_EQ(half(std::ldexp(1.0F, -25)), 0U);
  EXPECT_EQ(half(std::ldexp(1.5F, -25)), 1U);
}

/// Runs one helper kernel, as NVRTC compiles it for the GPU, on the emulator.
class HelperKernels : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const auto program = compile::compile_program(
        {cuda::helper_source(), {}, cuda::helper_kernel_names(), "sm_90", true});
    if (program.verdict != Verdict::kOk) {
      reason_ = program.log;
      return;
    }
    auto parsed = emulator::Module::parse(program.ptx);
    if (parsed) {
      module_ = *parsed;
    } else {
      reason_ = parsed.error().message;
    }
  }
  /// Not in SetUpTestSuite: what fails there skips the tests.
  void SetUp() override { ASSERT_TRUE(module_) << reason_; }
  static void TearDownTestSuite() { module_.reset(); }

  template <class... Arguments>
  emulator::RunReport run(const char* name, Arguments... arguments) {
    emulator::LaunchConfig config;
    config.kernel = name;
    config.grid = {3, 1, 1};
    config.block = {256, 1, 1};
    (append(config.parameters, arguments), ...);
    return emulator::run(*module_, config, memory_, {});
  }

  static emulator::Memory::PageSource zeros() {
    return [](std::uint64_t, std::uint8_t* out, std::size_t size) { std::memset(out, 0, size); };
  }

  template <class T>
  static void append(std::vector<std::uint8_t>& block, T value) {
    block.resize((block.size() + alignof(T) - 1) / alignof(T) * alignof(T));
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(&value);
    block.insert(block.end(), bytes, bytes + sizeof value);
  }

  static std::shared_ptr<const emulator::Module> module_;
  static std::string reason_;
  emulator::Memory memory_;
};
std::shared_ptr<const emulator::Module> HelperKernels::module_;
std::string HelperKernels::reason_;

TEST_F(HelperKernels, FillGivesTheSameBitsAsTheCpu) {
  const std::vector<Fill> fills = {{Fill::Kind::kUniform, -1, 1},
                                   {Fill::Kind::kUniform, 0.1, 0.7},
                                   {Fill::Kind::kNormal, 0.5, 3},
                                   {Fill::Kind::kIntegers, -7, 9},
                                   {Fill::Kind::kConstant, 3.7, 0},
                                   {Fill::Kind::kIota, -2, 0.25},
                                   {Fill::Kind::kTails, -1, 2},
                                   {Fill::Kind::kTails, 0.5, 1},
                                   {Fill::Kind::kEither, -1, 0.3},
                                   {Fill::Kind::kEdges, -0.5, 2},
                                   {Fill::Kind::kMultiples, -1, 1, "", 1.0 / 2048},
                                   {Fill::Kind::kUniform, -1, 1, "", 0, ScalarType::kF32},
                                   {Fill::Kind::kNormal, 0, 1, "", 0, ScalarType::kF32, true},
                                   {Fill::Kind::kSorted, 0, 90},
                                   {Fill::Kind::kSorted, 0, 1e6},
                                   {Fill::Kind::kOneHot, 0, 0},
                                   {Fill::Kind::kPermutation, 0, 0},
                                   {Fill::Kind::kLowerTriangle, 0, 0},
                                   {Fill::Kind::kUpperTriangle, 0, 0},
                                   {.kind = Fill::Kind::kIntegers, .exact = {{3, ~0ULL >> 1}}},
                                   {.kind = Fill::Kind::kSorted, .exact = {{3, ~0ULL >> 1}}},
                                   {Fill::Kind::kEqual, -7, 900},
                                   {Fill::Kind::kFalling, 0, 90},
                                   {Fill::Kind::kRuns, -7, 900},
                                   {.kind = Fill::Kind::kEdges, .exact = {{0, ~0ULL}}},
                                   {.kind = Fill::Kind::kEither, .exact = {{0, ~0ULL}}},
                                   {Fill::Kind::kSparse, -1, 1},
                                   {Fill::Kind::kSparse, 0, 2},
                                   {Fill::Kind::kTies, 0, 1},
                                   {.kind = Fill::Kind::kTies, .a = 0, .b = 1, .form = 1},
                                   {.kind = Fill::Kind::kTies, .a = 0, .b = -0.5, .form = 2},
                                   {.kind = Fill::Kind::kTies, .a = 0, .b = 0.5, .form = 3},
                                   {.kind = Fill::Kind::kSorted, .a = 0, .b = 1e6, .form = 1},
                                   {.kind = Fill::Kind::kSorted, .a = 0, .b = 90, .form = 2},
                                   {.kind = Fill::Kind::kSorted, .a = 0, .b = 90, .form = 3},
                                   {.kind = Fill::Kind::kSorted, .a = 0, .b = 90, .form = 4},
                                   {.kind = Fill::Kind::kPermutation, .form = 1},
                                   {.kind = Fill::Kind::kPermutation, .form = 2},
                                   {.kind = Fill::Kind::kPermutation, .form = 3},
                                   {.kind = Fill::Kind::kPermutation, .form = 4},
                                   {.kind = Fill::Kind::kOneHot, .form = 1},
                                   {.kind = Fill::Kind::kOneHot, .form = 2},
                                   {.kind = Fill::Kind::kOneHot, .form = 3},
                                   {.kind = Fill::Kind::kOneHot, .form = 4}};
  const auto applies = [](const Fill& f, ScalarType type) {
    if (f.exact) return size_of(type) == 8 && !is_float(type);
    if (f.kind == Fill::Kind::kPermutation) return !is_float(type);
    if (f.kind >= Fill::Kind::kSparse) return is_float(type);
    if (f.kind == Fill::Kind::kSorted || f.kind == Fill::Kind::kOneHot) return true;
    if (f.kind >= Fill::Kind::kEqual) return !is_float(type);
    const bool both = f.kind == Fill::Kind::kEither || f.kind == Fill::Kind::kEdges;
    return is_float(type) || both || (f.kind <= Fill::Kind::kFile && !f.through);
  };
  for (int t = 0; t <= static_cast<int>(ScalarType::kBool); ++t) {
    for (const auto& f : fills) {
      if (!applies(f, static_cast<ScalarType>(t))) continue;
      auto b = buffer(static_cast<ScalarType>(t), f, 1000);
      b.shape = {2, 20, 25};
      const auto want = bytes_of(b, 99);
      const auto at = memory_.allocate("x", want.size(), false, zeros());
      const auto report =
          run("hone_fill_kernel", at, std::uint64_t{1000}, std::uint64_t{0}, formula_of(b, 99));
      ASSERT_EQ(report.verdict, Verdict::kOk) << report.detail;
      std::vector<std::uint8_t> got(want.size());
      ASSERT_TRUE(memory_.read(at, got.data(), got.size()));
      EXPECT_EQ(got, want) << to_string(b.type) << " fill " << static_cast<int>(f.kind);
    }
  }
}

TEST_F(HelperKernels, CompareAgreesWithTheCpu) {
  std::vector<float> want(700), got(700);
  for (std::size_t i = 0; i < want.size(); ++i) {
    want[i] = std::sin(static_cast<float>(i));
    got[i] = want[i] * (1 + 1e-6F * static_cast<float>(i % 7));
  }
  got[123] += 1;
  got[456] = std::nanf("");
  const std::size_t size = want.size() * 4;
  const auto pw = memory_.allocate("want", size, true, zeros());
  const auto pg = memory_.allocate("got", size, true, zeros());
  const auto pr = memory_.allocate("result", 56, true, zeros());
  const auto ps = memory_.allocate("sums", 64, true, zeros());
  ASSERT_TRUE(memory_.write(pw, want.data(), size));
  ASSERT_TRUE(memory_.write(pg, got.data(), size));
  std::uint64_t result[3] = {0, ~0ULL, 0};
  ASSERT_TRUE(memory_.write(pr, result, sizeof result));
  auto report = run("hone_squares_kernel", pw, std::uint64_t{700}, 0, hone_limit(0), ps, ps + 32);
  ASSERT_EQ(report.verdict, Verdict::kOk) << report.detail;
  report = run("hone_rms_kernel", ps, ps + 32, 3, pr + 24);
  ASSERT_EQ(report.verdict, Verdict::kOk) << report.detail;
  double rms = 0;
  ASSERT_TRUE(memory_.read(pr + 24, &rms, sizeof rms));
  const auto bytes = [](const std::vector<float>& v) {
    return std::span(reinterpret_cast<const std::uint8_t*>(v.data()), v.size() * 4);
  };
  const auto cpu = check::compare(bytes(want), bytes(got), ScalarType::kF32, {1e-4, 1e-5});
  ASSERT_TRUE(cpu);
  EXPECT_NEAR(rms, cpu->rms, 1e-12);
  report = run("hone_compare_kernel", pw, 0, pg, 0, std::uint64_t{700}, pr + 24, 1e-4, 1e-5,
               int{HONE_NEVER}, 1.0, pr);
  ASSERT_EQ(report.verdict, Verdict::kOk) << report.detail;
  double rest[2] = {};
  ASSERT_TRUE(memory_.read(pr + 32, rest, sizeof rest));
  EXPECT_NEAR(std::sqrt(rest[0] / 700) / cpu->rms, cpu->norm_error, 1e-12);
  EXPECT_EQ(rest[1], 700);
  ASSERT_TRUE(memory_.read(pr, result, sizeof result));
  EXPECT_EQ(result[0], 2U);
  EXPECT_EQ(static_cast<std::int64_t>(result[0]), cpu->mismatches);
  EXPECT_EQ(static_cast<std::int64_t>(result[1]), cpu->first_mismatch);
  EXPECT_EQ(std::bit_cast<double>(result[2]), cpu->max_rel_error);
}

TEST_F(HelperKernels, TheLocalRuleIsTheCpus) {
  constexpr std::uint64_t kCount = 1200;
  std::vector<float> want(kCount), got(kCount);
  std::vector<double> truth(kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    const float size = i / 300 % 2 == 1 ? 1e-4F : 1;
    want[i] = size * std::sin(static_cast<float>(i));
    got[i] = i % 5 == 0 ? 0 : want[i];
    truth[i] = want[i] * (1 + 1e-3 * static_cast<double>(i % 3));
  }
  want[17] = std::nanf("");
  const auto bytes = [](const auto& v) {
    return std::span(reinterpret_cast<const std::uint8_t*>(v.data()), v.size() * sizeof(v[0]));
  };
  const auto pw = memory_.allocate("want", 4 * kCount, true, zeros());
  const auto pg = memory_.allocate("got", 4 * kCount, true, zeros());
  const auto pt = memory_.allocate("truth", 8 * kCount, true, zeros());
  const auto pr = memory_.allocate("result", 24, true, zeros());
  ASSERT_TRUE(memory_.write(pw, want.data(), 4 * kCount));
  ASSERT_TRUE(memory_.write(pg, got.data(), 4 * kCount));
  ASSERT_TRUE(memory_.write(pt, truth.data(), 8 * kCount));
  const check::Elements w{bytes(want), ScalarType::kF32}, g{bytes(got), ScalarType::kF32},
      t{bytes(truth), ScalarType::kF64};
  for (const std::uint64_t width : {2, 10, 300, 600}) {
    for (const bool explained : {false, true}) {
      const auto cpu = check::compare_locally(w, g, static_cast<std::int64_t>(width), 0.5,
                                              {1e-3, 1e-6}, explained ? w : check::Elements{},
                                              explained ? t : check::Elements{});
      ASSERT_TRUE(cpu);
      std::uint64_t result[3] = {0, ~0ULL, 0};
      ASSERT_TRUE(memory_.write(pr, result, sizeof result));
      const auto report = run("hone_local_kernel", pw, 0, pg, 0, explained ? pw : 0, 0,
                              explained ? pt : 0, 1, kCount, width, 0.5, 1e-3, 1e-6, pr);
      ASSERT_EQ(report.verdict, Verdict::kOk) << report.detail;
      ASSERT_TRUE(memory_.read(pr, result, sizeof result));
      EXPECT_GT(cpu->mismatches, 0);
      EXPECT_EQ(static_cast<std::int64_t>(result[0]), cpu->mismatches);
      EXPECT_EQ(static_cast<std::int64_t>(result[1]), cpu->first_mismatch);
      EXPECT_EQ(static_cast<std::int64_t>(result[2]), cpu->off);
    }
  }
}

TEST_F(HelperKernels, WhatIsNotFiniteIsComparedAndCountedAsOnTheCpu) {
  std::vector<float> want(700, 1.5F), got;
  want[3] = want[600] = std::nanf("");
  want[77] = INFINITY;
  got = want;
  got[78] = -INFINITY;
  const std::size_t size = want.size() * 4;
  const auto bytes = [](const std::vector<float>& v) {
    return std::span(reinterpret_cast<const std::uint8_t*>(v.data()), v.size() * 4);
  };
  const auto pw = memory_.allocate("want", size, true, zeros());
  const auto pg = memory_.allocate("got", size, true, zeros());
  const auto pr = memory_.allocate("result", 56, true, zeros());
  const auto ps = memory_.allocate("sums", 64, true, zeros());
  ASSERT_TRUE(memory_.write(pw, want.data(), size));
  ASSERT_TRUE(memory_.write(pg, got.data(), size));
  std::uint64_t result[2] = {0, ~0ULL};
  ASSERT_TRUE(memory_.write(pr, result, sizeof result));
  ASSERT_EQ(run("hone_non_finite_kernel", pw, std::uint64_t{700}, 0, pr).verdict, Verdict::kOk);
  ASSERT_TRUE(memory_.read(pr, result, sizeof result));
  const auto found = check::non_finite_of(bytes(want), ScalarType::kF32);
  EXPECT_EQ(result[0], 3U);
  EXPECT_EQ(result[1], 3U);
  EXPECT_EQ(found.count, 3);
  EXPECT_EQ(found.first, 3);
  for (const auto rule :
       {NonFinite::kNever, NonFinite::kFew, NonFinite::kMadeUp, NonFinite::kSame}) {
    const auto cpu = check::compare(bytes(want), bytes(got), ScalarType::kF32, {1e-4, 1e-5, rule});
    ASSERT_TRUE(cpu);
    EXPECT_EQ(cpu->mismatches, rule == NonFinite::kNever ? 4 : 1);
    const auto [equality, least] = check::rule_of(rule);
    const std::uint64_t fresh[3] = {0, ~0ULL, 0};
    ASSERT_TRUE(memory_.write(pr, fresh, sizeof fresh));
    ASSERT_EQ(
        run("hone_squares_kernel", pw, std::uint64_t{700}, 0, hone_limit(0), ps, ps + 32).verdict,
        Verdict::kOk);
    ASSERT_EQ(run("hone_rms_kernel", ps, ps + 32, 3, pr + 24).verdict, Verdict::kOk);
    ASSERT_EQ(run("hone_compare_kernel", pw, 0, pg, 0, std::uint64_t{700}, pr + 24, 1e-4, 1e-5,
                  equality, least, pr)
                  .verdict,
              Verdict::kOk);
    ASSERT_TRUE(memory_.read(pr, result, sizeof result));
    EXPECT_EQ(static_cast<std::int64_t>(result[0]), cpu->mismatches);
    EXPECT_EQ(static_cast<std::int64_t>(result[1]), cpu->first_mismatch);
  }
}

TEST_F(HelperKernels, HashGuardAndUnwritten) {
  std::vector<std::uint8_t> a(1003, 0xC5), b(1003, 0x5A);
  const auto pa = memory_.allocate("a", a.size(), true, zeros());
  const auto pb = memory_.allocate("b", b.size(), true, zeros());
  const auto pr = memory_.allocate("result", 8, true, zeros());
  const auto result = [&] {
    std::uint64_t value = 0;
    EXPECT_TRUE(memory_.read(pr, &value, 8));
    return value;
  };
  const auto reset = [&](std::uint64_t value) { ASSERT_TRUE(memory_.write(pr, &value, 8)); };
  ASSERT_TRUE(memory_.write(pa, a.data(), a.size()));
  ASSERT_TRUE(memory_.write(pb, b.data(), b.size()));
  const std::uint64_t n = a.size();

  const std::uint64_t key = 0x1234567890ULL;
  reset(0);
  ASSERT_EQ(run("hone_hash_kernel", pa, n, pr, key + 1).verdict, Verdict::kOk);
  const auto with_another_key = result();
  reset(0);
  ASSERT_EQ(run("hone_hash_kernel", pa, n, pr, key).verdict, Verdict::kOk);
  const auto before = result();
  EXPECT_NE(before, with_another_key);
  for (const std::size_t place : {0U, 500U, 1002U}) {
    auto changed = a;
    changed[place] ^= 1;
    ASSERT_TRUE(memory_.write(pa, changed.data(), changed.size()));
    reset(0);
    ASSERT_EQ(run("hone_hash_kernel", pa, n, pr, key).verdict, Verdict::kOk);
    EXPECT_NE(result(), before) << place;
    reset(~0ULL);
    ASSERT_EQ(run("hone_guard_kernel", pa, n, 0xC5, pr).verdict, Verdict::kOk);
    EXPECT_EQ(result(), place);
  }
  ASSERT_TRUE(memory_.write(pa, a.data(), a.size()));
  reset(~0ULL);
  ASSERT_EQ(run("hone_unwritten_kernel", pa, pb, n, 0xC5, 0x5B, pr).verdict, Verdict::kOk);
  EXPECT_EQ(result(), ~0ULL);
  ASSERT_EQ(run("hone_unwritten_kernel", pa, pb, n, 0xC5, 0x5A, pr).verdict, Verdict::kOk);
  EXPECT_EQ(result(), 0U);
}

}  // namespace
}  // namespace hone::fill
