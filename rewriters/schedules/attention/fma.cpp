// One multiply-add per thread. Sixteen threads share eight queries: each has a sixteenth of a
// tile's keys, then a sixteenth of the columns; weights go through shared memory in between.
#include <fmt/format.h>

#include "rewriters/schedules/attention/emit.h"

namespace hone::schedules::attention {
namespace {

constexpr const char* kFmaKernel = R"(
$what
// Each thread has $rows queries by $keys keys, then by $columns columns.
__global__ void __launch_bounds__($bounds) $prefixattention($params) {
  $constants
  $shared
  float* const shared_weights = shared_values + kStages * kElementsV;  // a row is of one key
  $where
  $range

  $copies
  const float nothing = $nothing;
  const int part = thread % 16, first_row = thread / 16 * kRows, first_key = part * kEach;
  float sums[kRows][kGroups][kWidth] = {};  // of weights times values
  float shift[kRows], total[kRows];         // the largest score so far, the sum of weights
#pragma unroll
  for (int i = 0; i < kRows; ++i) shift[i] = kLeast, total[i] = 0.0f;

  $first_tiles
  $stages
  for (int tile = first_tile; tile < end_tile; ++tile) {
    $start_tile
    float scores[kRows][kEach] = {};
    const float* const keys = &shared_key[stage * kElementsK + first_key];
#pragma unroll 4
    for (int d = 0; d < kDepth; ++d) {
      float query[kRows], key[kEach];
#pragma unroll
      for (int i = 0; i < kRows; ++i) query[i] = shared_query[d * kStrideQ + first_row + i];
#pragma unroll
      for (int j = 0; j < kEach; ++j) key[j] = keys[d * kStrideK + j];
#pragma unroll
      for (int i = 0; i < kRows; ++i)
#pragma unroll
        for (int j = 0; j < kEach; ++j) scores[i][j] += query[i] * key[j];
    }
    $middle
    $mask
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      float top = scores[i][0];
#pragma unroll
      for (int j = 1; j < kEach; ++j) top = fmaxf(top, scores[i][j]);
#pragma unroll
      for (int other = 1; other < 16; other *= 2)
        top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, other));
      // What was summed so far has weights for a smaller maximum.
      const float before = shift[i];
      shift[i] = fmaxf(before, top);
      const float shrink = $prefixpower((before - shift[i]) * kScale);
      total[i] *= shrink;
#pragma unroll
      for (int n = 0; n < kGroups; ++n)
#pragma unroll
        for (int l = 0; l < kWidth; ++l) sums[i][n][l] *= shrink;
#pragma unroll
      for (int j = 0; j < kEach; ++j) {
        const float weight = $prefixpower((scores[i][j] - shift[i]) * kScale);
        total[i] += weight;
        scores[i][j] = weight;
      }
    }
    // A warp's threads read only what they wrote.
    __syncwarp();
#pragma unroll
    for (int j = 0; j < kEach; ++j)
#pragma unroll
      for (int i = 0; i < kRows; ++i)
        shared_weights[(first_key + j) * kStrideW + first_row + i] = scores[i][j];
    __syncwarp();
    const float* const values = &shared_values[stage * kElementsV + part * kWidth];
#pragma unroll 4
    for (int k = 0; k < kTileK; ++k) {
      float weight[kRows], value[kGroups][kWidth];
#pragma unroll
      for (int i = 0; i < kRows; ++i) weight[i] = shared_weights[k * kStrideW + first_row + i];
#pragma unroll
      for (int n = 0; n < kGroups; ++n)
#pragma unroll
        for (int l = 0; l < kWidth; ++l) value[n][l] = values[k * kStrideV + n * 16 * kWidth + l];
#pragma unroll
      for (int i = 0; i < kRows; ++i)
#pragma unroll
        for (int n = 0; n < kGroups; ++n)
#pragma unroll
          for (int l = 0; l < kWidth; ++l) sums[i][n][l] += weight[i] * value[n][l];
    }
    $end_tile
  }

#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    float sum = total[i];
#pragma unroll
    for (int other = 1; other < 16; other *= 2) sum += __shfl_xor_sync(0xffffffffu, sum, other);
    const float inverse = 1.0f / sum;
    const int q = q_first + first_row + i;
#pragma unroll
    for (int n = 0; n < kGroups; ++n) {
      const int e = (n * 16 + part) * kWidth;
      $write
    }
  }
}
)";

constexpr const char* kFmaMask = R"(const int tile_k = tile * kTileK;
$if_masked{
#pragma unroll
  for (int i = 0; i < kRows; ++i)
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      const int q = $q, k = tile_k + first_key + j;
      const float score = scores[i][j];
      scores[i][j] = $logit;
    }
}
)";

}  // namespace

std::string fma_kernel(const Emitter& emit) {
  const Schedule& s = emit.s;
  const int columns = padded_columns(emit.a, s.pipe), rows = Schedule::kFmaRows;
  const int width = columns % 64 == 0 ? 4 : columns % 32 == 0 ? 2 : 1;
  const bool spare = emit.a.queries % s.rows != 0;
  Holes holes = emit.holes();
  holes["rows"] = std::to_string(rows);
  holes["keys"] = std::to_string(s.keys / 16);
  holes["columns"] = std::to_string(columns / 16);
  holes["q"] = spare ? "min(q_first + first_row + i, kQueries - 1)" : "q_first + first_row + i";
  holes["mask"] = emit.masks() || emit.makes_logits() ? filled(kFmaMask, holes) : "";
  holes["write"] = emit.write(width, "sums[i][n][j]");
  return emit.with_constants(filled(kFmaKernel, holes), {{"kRows", rows},
                                                         {"kEach", s.keys / 16},
                                                         {"kGroups", columns / 16 / width},
                                                         {"kWidth", width},
                                                         {"kStrideW", s.rows + 4}});
}

}  // namespace hone::schedules::attention
