// Device functions that kernels of several generators call, most of them one instruction each. Each
// gives the function's text; every name in it begins with `prefix`.
#pragma once

#include <string>

#include "candidates/scalar_type.h"

namespace hone::schedules {

/// pack<T, kCount>: values that are loaded and stored at once.
[[nodiscard]] std::string pack_type(const std::string& prefix);
/// address(pointer): where something is in shared memory, in 32 bits.
[[nodiscard]] std::string address_function(const std::string& prefix);

/// copy<kBytes>(to, from, inside), commit() and wait<kLeft>(): cp.async.
[[nodiscard]] std::string async_copies(const std::string& prefix);
/// matrices(to, row): ldmatrix. With `transposed`, matrices_transposed() as well.
[[nodiscard]] std::string matrix_loads(const std::string& prefix, bool transposed);

struct WarpMultiply {
  int k = 16;  ///< 8: tf32; 32: 8-bit floats
  std::string kind = "bf16";
  std::string kind_b = "bf16";
};
/// multiply(sum, a, b): mma.sync.
[[nodiscard]] std::string warp_multiply(const WarpMultiply& multiply, const std::string& prefix);

/// rounded(bits) and, with `split`, split(big, small, bits): f32 as one or two tf32.
[[nodiscard]] std::string tf32_roundings(const std::string& prefix, bool split);
/// A function of that name: two f32 rounded to `type`, in one register.
[[nodiscard]] std::string pair_function(const std::string& prefix, const std::string& name,
                                        ScalarType type);
/// power(x): an approximation of 2^x.
[[nodiscard]] std::string power_function(const std::string& prefix);

/// "f16", "bf16", "e4m3": what instructions call a type of 16 or 8 bits.
[[nodiscard]] std::string kind_of(ScalarType type);

}  // namespace hone::schedules
