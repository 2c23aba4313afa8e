// Parts of the tensor cores' kernel for f32: operands rounded to tf32, or as two tf32 each.
#include <fmt/format.h>

#include "rewriters/schedules/attention/emit.h"
#include "rewriters/schedules/printing/instructions.h"

namespace hone::schedules::attention {
namespace {

constexpr const char* kElement = R"(
// The bits of a float in shared memory.
__device__ __forceinline__ unsigned $prefixelement(unsigned at) {
  unsigned bits;
  asm volatile("ld.shared.b32 %0, [%1];" : "=r"(bits) : "r"(at) : "memory");
  return bits;
}
)";

constexpr const char* kScoresOnce = R"(#pragma unroll
for (int step = 0; step < kStepsD; ++step) {
  $read_query
#pragma unroll
  for (int i = 0; i < kBlocksQ; ++i)
#pragma unroll
    for (int l = 0; l < 4; ++l) query[i][l] = $prefixrounded(query[i][l]);
#pragma unroll
  for (int j = 0; j < kBlocksK; j += 2) {
    unsigned pair[4];
    $read_key
#pragma unroll
    for (int l = 0; l < 4; ++l) pair[l] = $prefixrounded(pair[l]);
#pragma unroll
    for (int i = 0; i < kBlocksQ; ++i) {
      $prefixmultiply(scores[i][j], query[i], pair[0], pair[1]);
      $prefixmultiply(scores[i][j + 1], query[i], pair[2], pair[3]);
    }
  }
}
)";

constexpr const char* kScoresThrice = R"(#pragma unroll
for (int step = 0; step < kStepsD; ++step) {
  $read_query
  unsigned small[kBlocksQ][4];
#pragma unroll
  for (int i = 0; i < kBlocksQ; ++i)
#pragma unroll
    for (int l = 0; l < 4; ++l) $prefixsplit(query[i][l], small[i][l], query[i][l]);
#pragma unroll
  for (int j = 0; j < kBlocksK; j += 2) {
    unsigned pair[4], part[4];
    $read_key
#pragma unroll
    for (int l = 0; l < 4; ++l) $prefixsplit(pair[l], part[l], pair[l]);
#pragma unroll
    for (int i = 0; i < kBlocksQ; ++i)
#pragma unroll
      for (int l = 0; l < 2; ++l) {
        $prefixmultiply(scores[i][j + l], small[i], pair[2 * l], pair[2 * l + 1]);
        $prefixmultiply(scores[i][j + l], query[i], part[2 * l], part[2 * l + 1]);
        $prefixmultiply(scores[i][j + l], query[i], pair[2 * l], pair[2 * l + 1]);
      }
  }
}
)";

// A lane's sums are of keys 2 * t and 2 * t + 1, its part of a left operand of steps t and t + 4:
// steps count the keys in that order, values too.
constexpr const char* kValuesOnce = R"(#pragma unroll
for (int j = 0; j < kBlocksK; ++j) {
  unsigned weights[kBlocksQ][4];
#pragma unroll
  for (int i = 0; i < kBlocksQ; ++i)
#pragma unroll
    for (int l = 0; l < 4; ++l)
      weights[i][l] = $prefixrounded(__float_as_uint(scores[i][j][l % 2 * 2 + l / 2]));
#pragma unroll
  for (int n = 0; n < kBlocksE; ++n) {
    unsigned pair[2];
#pragma unroll
    for (int l = 0; l < 2; ++l)
      pair[l] = $prefixrounded($prefixelement(values + ($value_at) * 4));
#pragma unroll
    for (int i = 0; i < kBlocksQ; ++i) $prefixmultiply(sums[i][n], weights[i], pair[0], pair[1]);
  }
}
)";

constexpr const char* kValuesThrice =
    R"(unsigned weights[kBlocksQ][kBlocksK][4], small[kBlocksQ][kBlocksK][4];
#pragma unroll
for (int i = 0; i < kBlocksQ; ++i)
#pragma unroll
  for (int j = 0; j < kBlocksK; ++j)
#pragma unroll
    for (int l = 0; l < 4; ++l)
      $prefixsplit(weights[i][j][l], small[i][j][l], __float_as_uint(scores[i][j][l % 2 * 2 + l / 2]));
// The tile's sums first, then all: added in f32, which rounds to nearest where the tensor cores do
// not.
#pragma unroll
for (int n = 0; n < kBlocksE; ++n) {
  float parts[kBlocksQ][4] = {};
#pragma unroll
  for (int j = 0; j < kBlocksK; ++j) {
    unsigned pair[2], part[2];
#pragma unroll
    for (int l = 0; l < 2; ++l) $prefixsplit(pair[l], part[l], $prefixelement(values + ($value_at) * 4));
#pragma unroll
    for (int i = 0; i < kBlocksQ; ++i) {
      $prefixmultiply(parts[i], small[i][j], pair[0], pair[1]);
      $prefixmultiply(parts[i], weights[i][j], part[0], part[1]);
      $prefixmultiply(parts[i], weights[i][j], pair[0], pair[1]);
    }
  }
#pragma unroll
  for (int i = 0; i < kBlocksQ; ++i)
#pragma unroll
    for (int l = 0; l < 4; ++l) sums[i][n][l] += parts[i][l];
}
)";

}  // namespace

std::string tf32_scores(const Emitter& emit) {
  return emit.s.pipe == Pipe::kTf32x3 ? kScoresThrice : kScoresOnce;
}

std::string tf32_values(const Emitter& emit) {
  return emit.s.pipe == Pipe::kTf32x3 ? kValuesThrice : kValuesOnce;
}

std::string tf32_helpers(const Emitter& emit) {
  return filled(kElement, {{"prefix", emit.prefix}}) +
         tf32_roundings(emit.prefix, emit.s.pipe == Pipe::kTf32x3);
}

}  // namespace hone::schedules::attention
