#include "evaluator/check/precise.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "candidates/characters.h"

namespace hone::check {
namespace {

/// CUDA's functions on float whose double form has the name without the final f.
constexpr std::string_view kSuffixed[] = {
    "acos",  "acosh",     "asin",   "asinh", "atan",      "atan2",  "atanh",   "cbrt",
    "ceil",  "copysign",  "cos",    "cosh",  "cospi",     "erf",    "erfc",    "erfcinv",
    "erfcx", "erfinv",    "exp",    "exp10", "exp2",      "expm1",  "fabs",    "fdim",
    "floor", "fma",       "fmax",   "fmin",  "fmod",      "hypot",  "ldexp",   "lgamma",
    "log",   "log10",     "log1p",  "log2",  "nearbyint", "norm3d", "normcdf", "pow",
    "rcbrt", "remainder", "rhypot", "rint",  "round",     "rsqrt",  "sin",     "sincos",
    "sinh",  "sinpi",     "sqrt",   "tan",   "tanh",      "tgamma", "trunc"};

/// Intrinsics of float and what computes the same in double.
constexpr std::pair<std::string_view, std::string_view> kIntrinsics[] = {
    {"__expf", "exp"},
    {"__exp10f", "exp10"},
    {"__logf", "log"},
    {"__log2f", "log2"},
    {"__log10f", "log10"},
    {"__sinf", "sin"},
    {"__cosf", "cos"},
    {"__tanf", "tan"},
    {"__powf", "pow"},
    {"__fadd_rn", "__dadd_rn"},
    {"__fsub_rn", "__dsub_rn"},
    {"__fmul_rn", "__dmul_rn"},
    {"__fmaf_rn", "__fma_rn"},
    {"__fdiv_rn", "__ddiv_rn"},
    {"__frcp_rn", "__drcp_rn"},
    {"__fsqrt_rn", "__dsqrt_rn"},
    {"__frsqrt_rn", "rsqrt"},
    {"__float2int_rn", "__double2int_rn"},
    {"__float2int_rz", "__double2int_rz"},
    {"__float2int_rd", "__double2int_rd"},
    {"__float2int_ru", "__double2int_ru"},
    {"__int2float_rn", "__int2double_rn"},
    {"__float2half", "__double2half"},
    {"__float2half_rn", "__double2half"},
    {"__float2bfloat16", "__double2bfloat16"},
    {"__float2bfloat16_rn", "__double2bfloat16"},
    {"make_float2", "make_double2"},
    {"make_float3", "make_double3"},
    {"make_float4", "make_double4"},
    {"float2", "double2"},
    {"float3", "double3"},
    {"float4", "double4"},
    {"float", "double"},
};

/// Where these stand, bits of floats or types without a double form may matter.
constexpr std::string_view kUnfit[] = {"asm",
                                       "union",
                                       "wmma",
                                       "half2",
                                       "bfloat162",
                                       "fp8x",
                                       "reinterpret_cast<int",
                                       "reinterpret_cast<unsigned",
                                       "memcpy",
                                       "bit_cast",
                                       "(int*)",
                                       "(unsigned*)",
                                       "(unsigned int*)",
                                       "char*)",  // bytes are counted, four to a float
                                       "char *)",
                                       "uint8_t*)",
                                       "uint8_t *)",
                                       "atomicCAS",
                                       "float1"};

/// On halves: rounded to halves.
constexpr std::string_view kHalfArithmetic[] = {
    "__hadd", "__hsub", "__hmul", "__hfma", "__hdiv", "__hneg", "__habs", "__hmax", "__hmin",
    "hexp",   "hlog",   "hsqrt",  "hrsqrt", "hrcp",   "hsin",   "hcos",   "htanh"};

/// Bits of floats: those of the float nearest to the double. A number that passes through them is
/// rounded to float there, as in the reference, and nowhere else.
constexpr std::string_view kThroughBits = R"CU(
__device__ __forceinline__ int hone_float_as_int(double v) { return __float_as_int((float)v); }
__device__ __forceinline__ unsigned hone_float_as_uint(double v) {
  return __float_as_uint((float)v);
}
__device__ __forceinline__ double hone_int_as_float(int v) { return __int_as_float(v); }
__device__ __forceinline__ double hone_uint_as_float(unsigned v) { return __uint_as_float(v); }
#define __float_as_int hone_float_as_int
#define __float_as_uint hone_float_as_uint
#define __int_as_float hone_int_as_float
#define __uint_as_float hone_uint_as_float
)CU";

std::string definitions(bool with_bits) {
  std::string out;
  if (with_bits) out += kThroughBits;
  for (const auto name : kSuffixed) out += fmt::format("#define {0}f {0}\n", name);
  for (const auto& [from, to] : kIntrinsics) out += fmt::format("#define {} {}\n", from, to);
  out += "#undef INFINITY\n#define INFINITY __builtin_bit_cast(double, 0x7ff0000000000000ULL)\n";
  out += "#undef NAN\n#define NAN __builtin_bit_cast(double, 0x7ff8000000000000ULL)\n";
  out += "#define __fdividef(a, b) ((a) / (b))\n";
  out += "#define __saturatef(a) fmin(fmax((a), 0.0), 1.0)\n";
  return out;
}

/// Not where it is a part of other names: __half2float is no packed half, bfloat16 no float1.
bool uses(std::string_view source, std::string_view word) {
  const bool packed = word == "half2" || word == "bfloat162";
  for (auto at = source.find(word); at != source.npos; at = source.find(word, at + 1)) {
    const bool converts = packed && source.substr(at + word.size()).starts_with("float");
    const bool brain = word == "float1" && at > 0 && source[at - 1] == 'b';
    if (!converts && !brain) return true;
  }
  return false;
}

/// Halves by themselves, not behind pointers: what is done with them is rounded as they are.
bool has_half_values(std::string_view source) {
  if (!source.contains("cuda_fp16") && !source.contains("cuda_bf16") &&
      !source.contains("cuda_fp8"))
    return false;
  for (const std::string_view type :
       {"__half", "half", "__nv_bfloat16", "nv_bfloat16", "__nv_fp8_e4m3", "__nv_fp8_e5m2"}) {
    for (auto at = source.find(type); at != source.npos; at = source.find(type, at + 1)) {
      if (at > 0 && is_word(source[at - 1])) continue;
      auto next = at + type.size();
      const auto end = next;
      while (next < source.size() && std::isspace(static_cast<unsigned char>(source[next])) != 0)
        ++next;
      if (next > end && next < source.size() && is_word(source[next]) &&
          !source.substr(next).starts_with("const") && !source.substr(next).starts_with("__"))
        return true;
    }
  }
  return false;
}

/// Past the last line that includes something: the headers must not see the definitions.
std::size_t after_includes(const std::string& source) {
  std::size_t at = 0;
  for (std::size_t line = 0; line < source.size();) {
    const std::size_t end = std::min(source.find('\n', line), source.size() - 1) + 1;
    std::size_t first = line;
    while (first < end && std::isspace(static_cast<unsigned char>(source[first])) != 0) ++first;
    if (first < end && source[first] == '#') {
      ++first;
      while (first < end && (source[first] == ' ' || source[first] == '\t')) ++first;
      if (source.compare(first, 7, "include") == 0) at = end;
    }
    line = end;
  }
  return at;
}

}  // namespace

bool rounds_through_bits(std::string_view source) {
  return source.contains("__float_as_") || source.contains("_as_float");
}

std::optional<ConcreteProgram> in_double(const ConcreteProgram& program) {
  if (program.source.find("float") == std::string::npos) return std::nullopt;
  const auto used = [&](auto word) { return uses(program.source, word); };
  if (std::ranges::any_of(kUnfit, used) || std::ranges::any_of(kHalfArithmetic, used) ||
      has_half_values(program.source))
    return std::nullopt;
  ConcreteProgram out = program;
  for (auto& buffer : out.buffers) {
    if (buffer.type != ScalarType::kF32) continue;
    if (buffer.fill.kind == Fill::Kind::kFile) return std::nullopt;
    buffer.fill.through = ScalarType::kF32;
    buffer.type = ScalarType::kF64;
  }
  for (auto& launch : out.launches) launch.shared_bytes *= 2;
  out.source.insert(after_includes(out.source), definitions(rounds_through_bits(program.source)));
  for (auto& [name, value] : out.defines)
    if (value == "float") value = "double";
  return out;
}

}  // namespace hone::check
