// Bulk and tensor copies: what lands where, and what a tensor map must be.
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <numeric>

#include "tests/unit/emulator/harness.h"

namespace hone::emulator {
namespace {

const char* const kFile = "bulk_sm_90.ptx";

struct alignas(64) MapBytes {
  std::array<std::uint8_t, 128> bytes;
};

void expect_ok(const RunReport& r) {
  EXPECT_EQ(r.verdict, Verdict::kOk) << to_string(r.verdict) << ": " << r.detail;
}

MapBytes encode(const TensorMapSpec& spec) {
  const auto bytes = encode_tiled_tensor_map(spec);
  EXPECT_TRUE(bytes) << bytes.error().message;
  return {bytes ? *bytes : std::array<std::uint8_t, 128>{}};
}

TEST(Bulk, LoadsAddsAndStores) {
  const int n = 5;
  const auto in = ramp(n * 256);
  Launch l("add_one", {1, 1, 1}, {256, 1, 1});
  l.in("in", in).out("out", n * 1024).value(n);
  const RunReport r = l.run(kernels(kFile));
  expect_ok(r);
  const auto got = l.read<float>("out", n * 256);
  for (int i = 0; i < n * 256; ++i) EXPECT_EQ(got[i], in[i] + 1) << i;
  EXPECT_EQ(r.counters.global_load_sectors, n * 32);
  EXPECT_EQ(r.counters.global_store_sectors, n * 32);
}

TEST(Bulk, Reduces) {
  const auto in = ramp(192);
  Launch l("add_to", {3, 1, 1}, {64, 1, 1});
  l.in("in", in).in("sum", std::vector<float>(64, 10));
  expect_ok(l.run(kernels(kFile)));
  const auto got = l.read<float>("sum", 64);
  for (int i = 0; i < 64; ++i) EXPECT_FLOAT_EQ(got[i], 10 + in[i] + in[64 + i] + in[128 + i]);
}

// A 100 x 40 matrix of ints, its rows 112 ints apart.
struct Matrix {
  static constexpr int kWidth = 100, kHeight = 40, kPitch = 112;
  std::vector<int> data = std::vector<int>(kPitch * kHeight);
  Matrix() { std::iota(data.begin(), data.end(), 1); }
  [[nodiscard]] int at(int x, int y) const {
    return x < 0 || y < 0 || x >= kWidth || y >= kHeight ? 0 : data[y * kPitch + x];
  }
  static TensorMapSpec spec(std::uint64_t address) {
    TensorMapSpec s;
    s.type = TensorMapSpec::Type::kS32;
    s.rank = 2;
    s.address = address;
    s.sizes = {kWidth, kHeight};
    s.strides = {kPitch * 4};
    return s;
  }
};

/// A buffer in the memory of a launch whose parameters come later.
template <class T>
std::uint64_t place(Launch& l, const std::string& name, const std::vector<T>& data) {
  l.in(name, data);
  l.config().parameters.clear();
  return l.address(name);
}

// PTX ISA, "swizzling modes": 16-byte pieces of lines of 128 bytes change places.
int swizzled_word(TensorMapSpec::Swizzle swizzle, int row_bytes, int x, int y) {
  const int byte = y * row_bytes + x * 4;
  const int line = byte / 128;
  const int piece = byte / 16 % 8;
  int to = piece;
  if (swizzle == TensorMapSpec::Swizzle::k128B) to = piece ^ (line % 8);
  if (swizzle == TensorMapSpec::Swizzle::k64B) to = piece ^ (line % 4);
  if (swizzle == TensorMapSpec::Swizzle::k32B) to = piece ^ (line % 2);
  return line * 32 + to * 4 + x % 4;
}

TEST(TensorCopy, TilesInEachSwizzle) {
  using Swizzle = TensorMapSpec::Swizzle;
  const Matrix matrix;
  for (const auto& [swizzle, width] : std::initializer_list<std::pair<Swizzle, int>>{
           {Swizzle::kNone, 64}, {Swizzle::k32B, 8}, {Swizzle::k64B, 16}, {Swizzle::k128B, 32}}) {
    const int height = 16;
    Launch l("tile", {1, 1, 1}, {64, 1, 1});
    TensorMapSpec spec = Matrix::spec(place(l, "matrix", matrix.data));
    spec.box = {static_cast<std::uint32_t>(width), height};
    spec.swizzle = swizzle;
    // Over the right and the lower edge.
    const int x = 80;
    const int y = 30;
    l.shared(16384).value(encode(spec)).out("out", width * height * 4);
    l.value(x).value(y).value(width * height);
    const RunReport report = l.run(kernels(kFile));
    expect_ok(report);
    // Each row asks for its sectors once, whatever pieces a swizzle cuts it into.
    std::uint64_t sectors = 0;
    for (int j = y; j < Matrix::kHeight; ++j) {
      const std::uint64_t first = l.address("matrix") + 4U * (j * Matrix::kPitch + x),
                          end = first + 4U * std::min(width, Matrix::kWidth - x);
      sectors += (end - 1) / 32 - first / 32 + 1;
    }
    EXPECT_EQ(report.counters.global_load_sectors, sectors) << width;
    const auto got = l.read<int>("out", width * height);
    for (int j = 0; j < height; ++j)
      for (int i = 0; i < width; ++i)
        EXPECT_EQ(got[swizzled_word(swizzle, width * 4, i, j)], matrix.at(x + i, y + j))
            << width << ": " << i << "," << j;
  }
}

TEST(TensorCopy, StartsBeforeTheTensorAndSkipsElements) {
  const Matrix matrix;
  Launch l("tile", {1, 1, 1}, {64, 1, 1});
  TensorMapSpec spec = Matrix::spec(place(l, "matrix", matrix.data));
  spec.box = {8, 12};
  spec.element_strides = {1, 3};
  l.shared(4096).value(encode(spec)).out("out", 8 * 4 * 4).value(-4).value(-6).value(8 * 4);
  expect_ok(l.run(kernels(kFile)));
  const auto got = l.read<int>("out", 8 * 4);
  for (int j = 0; j < 4; ++j)
    for (int i = 0; i < 8; ++i) EXPECT_EQ(got[j * 8 + i], matrix.at(i - 4, 3 * j - 6));
}

TEST(TensorCopy, FillsWithNan) {
  Launch l("tile", {1, 1, 1}, {64, 1, 1});
  const Matrix matrix;
  TensorMapSpec spec = Matrix::spec(place(l, "matrix", matrix.data));
  spec.type = TensorMapSpec::Type::kF32;
  spec.fill = TensorMapSpec::Fill::kNan;
  spec.sizes[0] = 98;
  spec.box = {4, 2};
  l.shared(4096).value(encode(spec)).out("out", 32).value(96).value(0).value(8);
  expect_ok(l.run(kernels(kFile)));
  const auto got = l.read<float>("out", 8);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(std::isnan(got[i]), i % 4 >= 2) << i;
}

/// The nearest number with 10 bits after its first one; ties go away from zero.
float as_tf32(float value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const int exponent = std::max(std::ilogb(value), -126);
  return static_cast<float>(
      std::ldexp(std::round(std::ldexp(double{value}, 10 - exponent)), exponent - 10));
}

TEST(TensorCopy, RoundsToTf32InEachSwizzle) {
  using Swizzle = TensorMapSpec::Swizzle;
  // All signs and exponents, infinity and NaN, too; ties, what carries to the next exponent.
  std::vector<std::uint32_t> data(Matrix::kPitch * Matrix::kHeight);
  std::uint32_t state = 1;
  for (std::uint32_t& bits : data) {
    state = state * 1664525 + 1013904223;
    bits = state;
    if (state >> 8 & 1) bits = (bits & 0xFFFFE000) | 0x1000;
    if ((state >> 9 & 7) == 0) bits |= 0x007FF000;
    if ((state >> 12 & 15) == 0) bits &= 0x807FFFFF;
    if ((state >> 16 & 31) == 0) bits |= 0x7F800000;
    if ((state >> 16 & 63) == 0) bits &= 0xFF800001;
  }
  for (const auto& [swizzle, width] : std::initializer_list<std::pair<Swizzle, int>>{
           {Swizzle::kNone, 64}, {Swizzle::k32B, 8}, {Swizzle::k64B, 16}, {Swizzle::k128B, 32}}) {
    for (const auto& [x, y] : {std::pair{80, 30}, {-4, -3}, {8, 16}}) {
      const int height = 16;
      Launch l("tile", {1, 1, 1}, {64, 1, 1});
      TensorMapSpec spec = Matrix::spec(place(l, "matrix", data));
      spec.type = TensorMapSpec::Type::kTf32;
      spec.box = {static_cast<std::uint32_t>(width), height};
      spec.swizzle = swizzle;
      l.shared(16384).value(encode(spec)).out("out", width * height * 4);
      l.value(x).value(y).value(width * height);
      expect_ok(l.run(kernels(kFile)));
      const auto got = l.read<std::uint32_t>("out", width * height);
      for (int j = 0; j < height; ++j) {
        for (int i = 0; i < width; ++i) {
          const int column = x + i, row = y + j;
          const bool inside =
              column >= 0 && row >= 0 && column < Matrix::kWidth && row < Matrix::kHeight;
          const float from =
              inside ? std::bit_cast<float>(data[row * Matrix::kPitch + column]) : 0.0F;
          const std::uint32_t bits = got[swizzled_word(swizzle, width * 4, i, j)];
          if (std::isnan(from))
            EXPECT_TRUE(std::isnan(std::bit_cast<float>(bits))) << std::hex << bits;
          else
            EXPECT_EQ(bits, std::bit_cast<std::uint32_t>(as_tf32(from))) << from;
          EXPECT_EQ(bits & 0x1FFF, 0U) << from;
        }
      }
    }
  }
}

TEST(TensorCopy, OutThroughTf32IsUnknown) {
  Launch l("tile_out", {1, 1, 1}, {64, 1, 1});
  TensorMapSpec spec = Matrix::spec(place(l, "matrix", Matrix().data));
  spec.type = TensorMapSpec::Type::kTf32;
  spec.box = {32, 4};
  l.shared(4096).value(encode(spec)).value(0).value(0).value(128);
  const RunReport report = l.run(kernels(kFile));
  EXPECT_EQ(report.verdict, Verdict::kUnsupported);
  EXPECT_TRUE(report.detail.contains("a tensor map of tf32")) << report.detail;
}

TEST(TensorCopy, ThreeDimensions) {
  std::vector<int> data(8 * 6 * 5);
  std::iota(data.begin(), data.end(), 1);
  Launch l("tile_3d", {1, 1, 1}, {64, 1, 1});
  TensorMapSpec spec;
  spec.type = TensorMapSpec::Type::kU32;
  spec.rank = 3;
  spec.address = place(l, "data", data);
  spec.sizes = {8, 6, 5};
  spec.strides = {32, 192};
  spec.box = {4, 3, 2};
  l.shared(4096).value(encode(spec)).out("out", 96).value(4).value(4).value(3).value(24);
  expect_ok(l.run(kernels(kFile)));
  const auto got = l.read<int>("out", 24);
  for (int z = 0; z < 2; ++z)
    for (int y = 0; y < 3; ++y)
      for (int x = 0; x < 4; ++x)
        EXPECT_EQ(got[z * 12 + y * 4 + x],
                  y + 4 < 6 ? data[(z + 3) * 48 + (y + 4) * 8 + x + 4] : 0);
}

TEST(TensorCopy, StoresWhatIsInside) {
  Launch l("tile_out", {1, 1, 1}, {64, 1, 1});
  const Matrix matrix;
  TensorMapSpec spec = Matrix::spec(place(l, "matrix", matrix.data));
  spec.box = {32, 4};
  spec.swizzle = TensorMapSpec::Swizzle::k128B;
  l.shared(4096).value(encode(spec)).value(92).value(38).value(128);
  expect_ok(l.run(kernels(kFile)));
  const auto got = l.read<int>("matrix", matrix.data.size());
  for (int y = 0; y < Matrix::kHeight; ++y)
    for (int x = 0; x < Matrix::kPitch; ++x) {
      const bool written = x >= 92 && x < Matrix::kWidth && y >= 38;
      const int want = written ? 1000 + swizzled_word(spec.swizzle, 128, x - 92, y - 38)
                               : matrix.data[y * Matrix::kPitch + x];
      EXPECT_EQ(got[y * Matrix::kPitch + x], want) << x << "," << y;
    }
}

// Of elements of 4 B, an innermost coordinate must be a multiple of 4.
TEST(TensorCopy, BeginsAtAMultipleOf16Bytes) {
  using Swizzle = TensorMapSpec::Swizzle;
  using Type = TensorMapSpec::Type;
  const Matrix matrix;
  const auto copy = [&](const char* kernel, Type type, Swizzle swizzle, int x) {
    Launch l(kernel, {1, 1, 1}, {64, 1, 1});
    TensorMapSpec spec = Matrix::spec(place(l, "matrix", matrix.data));
    spec.type = type;
    spec.swizzle = swizzle;
    spec.box = {8, 4};
    l.shared(4096).value(encode(spec));
    if (kernel == std::string("tile")) l.out("out", 128);
    l.value(x).value(-1).value(32);
    return l.run(kernels(kFile));
  };
  for (const char* kernel : {"tile", "tile_out"})
    for (const Type type : {Type::kS32, Type::kF32, Type::kTf32})
      for (const Swizzle swizzle : {Swizzle::kNone, Swizzle::k32B})
        for (const int x : {1, 2, 3, -1, 101, -9}) {
          const RunReport report = copy(kernel, type, swizzle, x);
          EXPECT_EQ(report.verdict, Verdict::kFault) << kernel << " at " << x;
          EXPECT_TRUE(report.detail.contains(fmt::format(
              "misaligned tensor copy: its innermost coordinate is {}, of elements of 4 B", x)))
              << report.detail;
        }
  for (const int x : {0, 4, -4, -8, 100, 104}) {
    expect_ok(copy("tile", Type::kF32, Swizzle::k32B, x));
    expect_ok(copy("tile_out", Type::kF32, Swizzle::k32B, x));
  }
}

// The same coordinate is a multiple of 16 B or not as the elements are large.
TEST(TensorCopy, BeginsAtAMultipleOf16BytesOfItsElements) {
  using Type = TensorMapSpec::Type;
  for (const auto& [type, bytes] : {std::pair{Type::kU8, 1}, {Type::kBF16, 2}, {Type::kF64, 8}}) {
    for (const int x : {1, 2, 4, 8, 16, -2}) {
      Launch l("tile", {1, 1, 1}, {64, 1, 1});
      TensorMapSpec spec = Matrix::spec(place(l, "matrix", Matrix().data));
      spec.type = type;
      spec.sizes[0] = 48;
      spec.box = {static_cast<std::uint32_t>(16 / bytes), 2};
      l.shared(4096).value(encode(spec)).out("out", 32).value(x).value(0).value(8);
      const RunReport report = l.run(kernels(kFile));
      EXPECT_EQ(report.verdict, x * bytes % 16 == 0 ? Verdict::kOk : Verdict::kFault)
          << x << " of " << bytes << " B: " << report.detail;
    }
  }
}

TEST(TensorCopy, NeedsAMapOfItsRank) {
  const Matrix matrix;
  Launch none("tile", {1, 1, 1}, {32, 1, 1});
  none.shared(4096).value(MapBytes{}).out("out", 64).value(0).value(0).value(16);
  EXPECT_NE(none.run(kernels(kFile)).detail.find("no tensor map at"), std::string::npos);
  Launch other("tile_3d", {1, 1, 1}, {32, 1, 1});
  TensorMapSpec spec = Matrix::spec(place(other, "matrix", matrix.data));
  spec.box = {4, 4};
  other.shared(4096).value(encode(spec)).out("out", 64).value(0).value(0).value(0).value(16);
  EXPECT_NE(other.run(kernels(kFile)).detail.find("a 3d copy through a tensor map of rank 2"),
            std::string::npos);
}

TEST(TensorMap, RefusesWhatTheDriverRefuses) {
  TensorMapSpec good = Matrix::spec(0x1000);
  good.box = {32, 4};
  EXPECT_TRUE(encode_tiled_tensor_map(good));
  const auto refused = [&](auto change, const char* why) {
    TensorMapSpec bad = good;
    change(bad);
    const auto r = encode_tiled_tensor_map(bad);
    ASSERT_FALSE(r) << why;
    EXPECT_NE(r.error().message.find(why), std::string::npos) << r.error().message;
  };
  refused([](auto& s) { s.rank = 6; }, "rank 6");
  refused([](auto& s) { s.address += 8; }, "not a multiple of 16");
  refused([](auto& s) { s.sizes[1] = 0; }, "size 0 of dimension 1");
  refused([](auto& s) { s.strides[0] = 100; }, "stride of 100 B in dimension 1");
  refused([](auto& s) { s.box[0] = 257; }, "box of 257");
  refused([](auto& s) { s.box[0] = 3; }, "12 B, which is no multiple of 16");
  refused([](auto& s) { s.element_strides[1] = 9; }, "element stride 9");
  refused([](auto& s) { s.swizzle = TensorMapSpec::Swizzle::k64B; }, "takes at most 64");
  refused([](auto& s) { s.fill = TensorMapSpec::Fill::kNan; }, "floating-point");
}

}  // namespace
}  // namespace hone::emulator
