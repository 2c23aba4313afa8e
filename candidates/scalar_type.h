// The element types a buffer may have, and the roles and fills of buffers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hone {

/// kE4m3 and kE5m2: the 8-bit floats of cuda_fp8.h. Conversions to them saturate, to 448 and to
/// 57344; the first has no infinity.
enum class ScalarType {
  kF32,
  kF64,
  kF16,
  kBf16,
  kE4m3,
  kE5m2,
  kI32,
  kI64,
  kI8,
  kU8,
  kU32,
  kU64,
  kBool
};

[[nodiscard]] std::string_view to_string(ScalarType type);  ///< "f32", "bf16", "bool", ...
[[nodiscard]] std::optional<ScalarType> parse_scalar_type(std::string_view text);
[[nodiscard]] std::size_t size_of(ScalarType type);  // [B]
[[nodiscard]] bool is_float(ScalarType type);
[[nodiscard]] constexpr bool is_fp8(ScalarType type) {
  return type == ScalarType::kE4m3 || type == ScalarType::kE5m2;
}
/// f16, bf16 and 8-bit floats: what is computed with them is computed in f32.
[[nodiscard]] constexpr bool is_narrow_float(ScalarType type) {
  return type == ScalarType::kF16 || type == ScalarType::kBf16 || is_fp8(type);
}
/// Of an `#include`: the CUDA header that declares the type, "cuda_fp8.h"; empty: it needs none.
[[nodiscard]] std::string_view header_of(ScalarType type);
[[nodiscard]] std::string_view cuda_name(ScalarType type);  ///< "float", "__half", "long long", ...

/// in: read only. out: written, its first contents are poison. inout: filled, then read and
/// written. scratch: a temporary whose contents do not count; first contents are poison.
enum class Role { kIn, kOut, kInOut, kScratch };
/// Buffers that are compared.
[[nodiscard]] constexpr bool is_output(Role role) {
  return role == Role::kOut || role == Role::kInOut;
}
[[nodiscard]] std::string_view to_string(Role role);
[[nodiscard]] std::optional<Role> parse_role(std::string_view text);

/// First contents of an `in` or `inout` buffer; see evaluator/fill for the exact bits.
struct Fill {
  enum class Kind {
    kUniform,
    kNormal,
    kIntegers,
    kConstant,
    kIota,
    kFile,
    kTails,   ///< in [a, b]: most values near zero (or near a), few large
    kEither,  ///< a or b
    /// a, b, the middle, and of 0, 1, -1 and the tiniest (integers: powers of two and their
    /// neighbours) what lies in [a, b]
    kEdges,
    kMultiples,  ///< multiples of `step` in [a, b]
    // Of each row, that is along the last extent:
    kSorted,       ///< never decreasing, the first a and the last b
    kPermutation,  ///< the integers from 0, in some order
    kOneHot,       ///< one 1, the others 0
    // Of each matrix, that is of the last two extents: zeros on the other side; condition about 2.
    kLowerTriangle,
    kUpperTriangle,
    // Of integers:
    kEqual,    ///< one value of [a, b] everywhere
    kFalling,  ///< of each row: never increasing, the first b and the last a
    kRuns,     ///< of [a, b], in runs of 16 to 1024 equal elements
    // Floats:
    /// b or -b at one place of each row and column of the first matrix and of some others, where
    /// that is one; else 0
    kSparse,
    /// Multiples of the power of two b between two neighbours of a 16-bit type, and what by itself
    /// changes no float of that size; `form` says which is where.
    kTies,
  };
  Kind kind = Kind::kUniform;
  double a = -1;     ///< low; normal: mean; constant: value; iota: start
  double b = 1;      ///< high, integers: inclusive; normal: standard deviation; iota: step
  std::string path;  ///< file: raw little-endian elements, absolute path; or see sent_file.h
  double step = 0;   ///< multiples
  std::optional<ScalarType> through;  ///< rounded to this floating type first
  bool tf32 = false;  ///< f32 and f64, files too: then rounded to TF32 (kTf32Rounding)
  /// a and b of an integer type to the bit; only where a double does not hold them.
  std::optional<std::array<std::uint64_t, 2>> exact;
  /// Of an integer type, and the task says nothing: then any value of the type may come.
  bool unstated = false;
  /// Sorted, permutation, one-hot, ties: which of several forms, see evaluator/fill/formula.h.
  int form = 0;
  /// Uniform, normal, integers, iota: how the elements hang on one another or on those of another
  /// buffer, whose name `like` is; see evaluator/fill/formula.h.
  int pattern = 0;
  std::string like;
  /// Multiples of elements of that buffer: its ends and how many elements it has.
  double like_a = 0, like_b = 0;
  std::int64_t like_count = 0;
  std::int64_t offset = 0;  // file: of the first element [B]

  bool operator==(const Fill&) const = default;
};

}  // namespace hone
