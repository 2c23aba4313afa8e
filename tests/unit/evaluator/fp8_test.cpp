// 8-bit floats as the formula of fills has them, against their definition (Micikevicius and others,
// "FP8 formats for deep learning", 2022): a sign, exponent and mantissa of 4 and 3 or 5 and 2 bits.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "candidates/program.h"
#include "evaluator/check/compare.h"
#include "evaluator/check/exact.h"
#include "evaluator/check/narrow_products.h"
#include "evaluator/compile/compile.h"
#include "evaluator/device/emulator/emulator.h"
#include "evaluator/fill/fill.h"
#include "evaluator/fill/formula_cpu.h"
#include "evaluator/fill/input_sets.h"

namespace hone {
namespace {

struct Format {
  ScalarType type;
  int digits, bias;
  unsigned largest;  ///< the bits of the largest number

  [[nodiscard]] int number() const { return static_cast<int>(type); }
  [[nodiscard]] double value(unsigned bits) const {
    const int exponent = static_cast<int>(bits & 0x7F) >> digits;
    const int mantissa = static_cast<int>(bits) & ((1 << digits) - 1);
    double size = std::ldexp(exponent == 0 ? mantissa : mantissa + (1 << digits),
                             std::max(exponent, 1) - bias - digits);
    if ((bits & 0x7F) > largest) {
      const bool infinite = type == ScalarType::kE5m2 && (bits & 0x7F) == 0x7C;
      size = infinite ? HUGE_VAL : NAN;
    }
    return (bits & 0x80) != 0 ? -size : size;
  }
};
constexpr Format kFormats[] = {{ScalarType::kE4m3, 3, 7, 0x7E}, {ScalarType::kE5m2, 2, 15, 0x7B}};

std::uint64_t encode(const Format& format, double v) {
  return hone_encode_float(format.number(), v);
}

TEST(Fp8, AllValues) {
  for (const Format& format : kFormats) {
    SCOPED_TRACE(to_string(format.type));
    for (unsigned bits = 0; bits < 256; ++bits) {
      const double want = format.value(bits), got = hone_decode(format.number(), bits);
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(got)) << bits;
        EXPECT_EQ(encode(format, got), 0x7FU) << bits;
        continue;
      }
      EXPECT_EQ(got, want) << bits;
      EXPECT_EQ(std::signbit(got), std::signbit(want)) << bits;
      if (std::isfinite(want)) EXPECT_EQ(encode(format, got), bits);
    }
  }
}

TEST(Fp8, RoundsToNearestAndTiesToEven) {
  for (const Format& format : kFormats) {
    SCOPED_TRACE(to_string(format.type));
    for (unsigned bits = 0; bits < format.largest; ++bits) {
      const double low = format.value(bits), high = format.value(bits + 1);
      const double middle = (low + high) / 2;
      for (const double sign : {1.0, -1.0}) {
        const unsigned of_sign = sign < 0 ? 0x80 : 0;
        EXPECT_EQ(encode(format, sign * middle), of_sign + bits + bits % 2) << middle;
        EXPECT_EQ(encode(format, sign * std::nextafter(static_cast<float>(middle), 0.0F)),
                  of_sign + bits);
        EXPECT_EQ(encode(format, sign * std::nextafter(static_cast<float>(middle), 1e9F)),
                  of_sign + bits + 1);
      }
    }
  }
}

TEST(Fp8, SaturatesAndKeepsNan) {
  for (const Format& format : kFormats) {
    const double largest = format.value(format.largest);
    for (const double beyond : {largest * 1.01, largest * 1.06, largest * 2, 1e30, HUGE_VAL}) {
      EXPECT_EQ(encode(format, beyond), format.largest) << beyond;
      EXPECT_EQ(encode(format, -beyond), 0x80 + format.largest) << beyond;
    }
    EXPECT_EQ(encode(format, std::numeric_limits<float>::denorm_min()), 0U);
    EXPECT_EQ(encode(format, NAN), 0x7FU);
  }
  EXPECT_EQ(kFormats[0].value(0x7E), 448);
  EXPECT_EQ(kFormats[1].value(0x7B), 57344);
}

constexpr std::string_view kConversions = R"CU(
#include <cuda_fp8.h>
extern "C" __global__ void convert(const float* x, float* values, unsigned char* e4m3,
                                   unsigned char* e5m2, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < 256) {
    __nv_fp8_e4m3 a;
    __nv_fp8_e5m2 b;
    a.__x = b.__x = static_cast<unsigned char>(i);
    values[i] = float(a);
    values[256 + i] = float(b);
  }
  if (i >= n) return;
  e4m3[i] = __nv_fp8_e4m3(x[i]).__x;
  e5m2[i] = __nv_fp8_e5m2(x[i]).__x;
}
)CU";

/// What NVRTC makes of cuda_fp8.h, run by the emulator: instructions from sm_89 on, integers
/// before.
TEST(Fp8, CudaConvertsAsTheFormulaDoes) {
  std::vector<float> x = {0.0F, -0.0F, HUGE_VALF, -HUGE_VALF, NAN, 1e30F, 1e-30F};
  for (const Format& format : kFormats) {
    for (unsigned bits = 0; bits < format.largest; ++bits) {
      const auto middle = static_cast<float>((format.value(bits) + format.value(bits + 1)) / 2);
      for (const float v : {static_cast<float>(format.value(bits)), middle,
                            std::nextafter(middle, 0.0F), std::nextafter(middle, 1e9F)}) {
        x.push_back(v);
        x.push_back(-v);
      }
    }
    for (const double factor : {1.0, 1.03, 1.0625, 1.07, 1.125, 1.13, 2.0})
      x.push_back(static_cast<float>(factor * format.value(format.largest)));
  }
  const auto n = static_cast<int>(x.size());
  for (const char* arch : {"sm_80", "sm_89", "sm_90"}) {
    SCOPED_TRACE(arch);
    CompileJob job{.source = std::string(kConversions), .arch = arch};
    job.kernels = {"convert"};
    job.code_for = CodeFor::kEmulator;
    const CompiledProgram compiled = compile::compile_program(job);
    ASSERT_EQ(compiled.verdict, Verdict::kOk) << compiled.log;
    const auto module = emulator::Module::parse(compiled.ptx);
    ASSERT_TRUE(module) << module.error().message;
    emulator::Memory memory;
    const auto zeros = [](std::uint64_t, std::uint8_t* to, std::size_t size) {
      std::memset(to, 0, size);
    };
    const auto from_x = [&](std::uint64_t offset, std::uint8_t* to, std::size_t size) {
      std::memcpy(to, reinterpret_cast<const std::uint8_t*>(x.data()) + offset, size);
    };
    const std::uint64_t in = memory.allocate("x", x.size() * 4, true, from_x),
                        values = memory.allocate("values", 2048, false, zeros),
                        e4m3 = memory.allocate("e4m3", x.size(), false, zeros),
                        e5m2 = memory.allocate("e5m2", x.size(), false, zeros);
    emulator::LaunchConfig config;
    config.kernel = compiled.find("convert")->lowered_name;
    config.grid[0] = static_cast<std::uint32_t>((n + 255) / 256);
    config.block[0] = 256;
    for (const std::uint64_t address : {in, values, e4m3, e5m2}) {
      const auto* bytes = reinterpret_cast<const std::uint8_t*>(&address);
      config.parameters.insert(config.parameters.end(), bytes, bytes + 8);
    }
    const auto* count = reinterpret_cast<const std::uint8_t*>(&n);
    config.parameters.insert(config.parameters.end(), count, count + 4);
    const emulator::RunReport report = emulator::run(**module, config, memory, {});
    ASSERT_EQ(report.verdict, Verdict::kOk) << report.detail;
    for (int f = 0; f < 2; ++f) {
      const Format& format = kFormats[f];
      std::vector<float> got(256);
      ASSERT_TRUE(memory.read(values + static_cast<std::uint64_t>(f) * 1024,
                              reinterpret_cast<std::uint8_t*>(got.data()), 1024));
      for (unsigned bits = 0; bits < 256; ++bits) {
        const double want = format.value(bits);
        EXPECT_TRUE(std::isnan(want) ? std::isnan(got[bits]) : got[bits] == want) << bits;
      }
      std::vector<std::uint8_t> back(x.size());
      ASSERT_TRUE(memory.read(f == 0 ? e4m3 : e5m2, back.data(), back.size()));
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double v = format.value(back[i]);
        if (std::isnan(x[i]))
          EXPECT_TRUE(std::isnan(v));
        else
          EXPECT_EQ(back[i], encode(format, x[i])) << to_string(format.type) << " of " << x[i];
      }
    }
  }
}

ConcreteProgram with_inputs_of(ScalarType type, ScalarType out) {
  ConcreteProgram program;
  program.buffers = {{"x", type, {64, 512}, Role::kIn, {Fill::Kind::kUniform, -1, 1}},
                     {"w", type, {64, 512}, Role::kIn, {Fill::Kind::kNormal, 0, 1}},
                     {"y", out, {64, 64}, Role::kOut, {}}};
  return program;
}

/// No set and no form of it makes a NaN, or leaves the range of a uniform fill but where it says
/// so.
TEST(Fp8, FillsAreNumbers) {
  for (const Format& format : kFormats) {
    const ConcreteProgram own = with_inputs_of(format.type, ScalarType::kBf16);
    for (const InputSet set : input_sets_of(own)) {
      for (int form = 0; form < forms_of(set); ++form) {
        const ConcreteProgram program = with_inputs(own, set, static_cast<std::uint64_t>(form));
        for (int b = 0; b < 2; ++b) {
          const ConcreteBuffer& buffer = program.buffers[static_cast<std::size_t>(b)];
          std::vector<std::uint8_t> bytes(static_cast<std::size_t>(buffer.bytes()));
          ASSERT_EQ(bytes.size(), 64U * 512U);
          (*fill::Source::open(buffer, 5))->read(0, bytes.data(), bytes.size());
          for (const std::uint8_t bits : bytes) {
            const double v = format.value(bits);
            ASSERT_TRUE(std::isfinite(v)) << to_string(set) << " form " << form << " of " << b;
            if (b == 0 && set != InputSet::kFar)
              ASSERT_TRUE(v >= -1 && v <= 1) << to_string(set) << " form " << form << ": " << v;
          }
        }
      }
    }
  }
}

TEST(Fp8, ComparedByTheirOwnStep) {
  // One step of e4m3 is an eighth of a power of two.
  const std::vector<std::uint8_t> want = {0x38, 0x38, 0x40}, near = {0x39, 0x38, 0x40},
                                  far = {0x3A, 0x38, 0x40};
  const auto mismatches = [&](const std::vector<std::uint8_t>& got) {
    return check::compare(want, ScalarType::kE4m3, got, ScalarType::kE4m3, {0.13, 1e-2})
        ->mismatches;
  };
  EXPECT_EQ(mismatches(want), 0);
  EXPECT_EQ(mismatches(near), 0);
  EXPECT_EQ(mismatches(far), 1);
  EXPECT_EQ(mismatches({0x7F, 0x38, 0x40}), 1);
}

TEST(Fp8, ProductsOfFewerBitsAreNoticed) {
  const auto narrow = [](ScalarType type, const char* opcode) {
    return check::narrow_products(with_inputs_of(type, ScalarType::kBf16), "", opcode);
  };
  const char* const e4m3 = "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%f1};";
  const char* const e5m2 = "mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32 {%f1};";
  EXPECT_EQ(narrow(ScalarType::kE4m3, e4m3), "");
  EXPECT_EQ(narrow(ScalarType::kE4m3, e5m2), "e5m2");
  EXPECT_EQ(narrow(ScalarType::kE5m2, e5m2), "");
  EXPECT_EQ(narrow(ScalarType::kBf16, e4m3), "e4m3");
}

/// Weights of 8 bits times activations of f32 keep f32's rules; a scale or a bias changes nothing.
TEST(Fp8, AWiderOperandKeepsItsRules) {
  const auto with = [](ScalarType other, std::vector<std::int64_t> shape) {
    ConcreteProgram p;
    p.source = "__global__ void k() {}";
    p.buffers = {{"a", ScalarType::kE4m3, {64, 64}, Role::kIn, {}},
                 {"b", other, std::move(shape), Role::kIn, {}},
                 {"y", ScalarType::kF32, {64, 64}, Role::kOut, {}}};
    return p;
  };
  const char* const bf16 = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f1};";
  const char* const e4m3 = "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%f1};";
  for (const auto& mixed : {with(ScalarType::kF32, {64, 64}), with(ScalarType::kF32, {64})}) {
    EXPECT_FALSE(multiplies_fp8(mixed.buffers));
    EXPECT_TRUE(check::can_be_exact(mixed, ""));
    EXPECT_EQ(check::narrow_products(mixed, "", bf16), "bf16");
  }
  auto alone = with(ScalarType::kE5m2, {64, 64});
  for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{}, {1, 1}, {64}}) {
    if (!shape.empty()) alone.buffers.push_back({"more", ScalarType::kF32, shape, Role::kIn, {}});
    EXPECT_TRUE(multiplies_fp8(alone.buffers));
    EXPECT_FALSE(check::can_be_exact(alone, ""));
    EXPECT_EQ(check::narrow_products(alone, "", e4m3), "");
  }
  alone.buffers.push_back({"wide", ScalarType::kF32, {64, 64}, Role::kIn, {}});
  EXPECT_FALSE(multiplies_fp8(alone.buffers));
}

}  // namespace
}  // namespace hone
