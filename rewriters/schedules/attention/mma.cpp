// Tensor cores through mma.sync. A warp owns rows of queries: it multiplies them with a tile of
// keys, makes weights of the scores where they are, in registers, and multiplies those with the
// tile's values.
#include <fmt/format.h>

#include "rewriters/schedules/attention/emit.h"
#include "rewriters/schedules/printing/instructions.h"

namespace hone::schedules::attention {
namespace {

constexpr const char* kMmaKernel = R"(
$what
// Each warp has $warp_rows queries. With g = lane / 4 and t = lane % 4, a lane keeps the sums of rows g and
// g + 8 of each 16, and of columns 2 * t and 2 * t + 1 of each 8.
__global__ void __launch_bounds__($bounds) $prefixattention($params) {
  $constants
  $shared
  $where
  $range

  $copies
  const float nothing = $nothing;
  const int lane = thread % 32, warp_row = thread / 32 * kWarpQ;
  // Where this lane reads its parts of operands from.
  const unsigned query_at = $prefixaddress(&shared_query[$lane_q]);
  const unsigned keys_at = $prefixaddress(&shared_key[$lane_k]);
  const unsigned values_at = $prefixaddress(&shared_values[$lane_v]);
  // A weight is 2^(kScale * (score - shift)). The shift is the largest score so far, or up to kSlack
  // less, so that sums seldom have to follow it.
  float sums[kBlocksQ][kBlocksE][4] = {};        // of weights times values
  float shift[kBlocksQ][2], total[kBlocksQ][2];  // of each row; the sum of weights
#pragma unroll
  for (int i = 0; i < kBlocksQ; ++i)
#pragma unroll
    for (int half = 0; half < 2; ++half) shift[i][half] = kLeast, total[i][half] = 0.0f;

  $first_tiles
  $read_query
  $stages
  for (int tile = first_tile; tile < end_tile; ++tile) {
    $start_tile
    float scores[kBlocksQ][kBlocksK][4] = {};
    const unsigned keys = keys_at + stage * (kElementsK * $size);
    $multiply_scores
    $middle
    $mask
    $softmax
    const unsigned values = values_at + stage * (kElementsV * $size);
    $multiply_values
    $end_tile
  }

#pragma unroll
  for (int i = 0; i < kBlocksQ; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float sum = total[i][half];
      sum += __shfl_xor_sync(0xffffffffu, sum, 1);
      sum += __shfl_xor_sync(0xffffffffu, sum, 2);
      const float inverse = 1.0f / sum;
      const int q = q_first + warp_row + i * 16 + half * 8 + lane / 4;
#pragma unroll
      for (int n = 0; n < kBlocksE; ++n) {
        const int e = n * 8 + lane % 4 * 2;
        $write
      }
    }
  }
}
)";

constexpr const char* kMmaMask = R"(const int tile_k = tile * kTileK;
$if_masked{
#pragma unroll
  for (int i = 0; i < kBlocksQ; ++i)
#pragma unroll
    for (int j = 0; j < kBlocksK; ++j)
#pragma unroll
      for (int l = 0; l < 4; ++l) {
        const int q = $q, k = tile_k + j * 8 + lane % 4 * 2 + l % 2;
        const float score = scores[i][j][l];
        scores[i][j][l] = $logit;
      }
}
)";

constexpr const char* kSoftmax = R"(bool grows = false, far = false;
float shrink[kBlocksQ][2];
#pragma unroll
for (int i = 0; i < kBlocksQ; ++i) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float top = scores[i][0][2 * half];
#pragma unroll
    for (int j = 0; j < kBlocksK; ++j)
      top = fmaxf(top, fmaxf(scores[i][j][2 * half], scores[i][j][2 * half + 1]));
    top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));
    top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 2));
    const float before = shift[i][half];
    shift[i][half] = top - before > kSlack ? top : before;
    grows = grows || shift[i][half] != before;
    shrink[i][half] = $prefixpower((before - shift[i][half]) * kScale);
    far = far || fabsf(shift[i][half]) >= kFar;
  }
}
if (__any_sync(0xffffffffu, grows)) {
#pragma unroll
  for (int i = 0; i < kBlocksQ; ++i)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      total[i][half] *= shrink[i][half];
#pragma unroll
      for (int n = 0; n < kBlocksE; ++n)
#pragma unroll
        for (int l = 0; l < 2; ++l) sums[i][n][2 * half + l] *= shrink[i][half];
    }
}
// f32 may round shift * kScale by 2^-14 or more where it is 1024 or more: the weight would be off by
// such a part of it. There the shift is subtracted from the scores first, before kScale multiplies.
far = __any_sync(0xffffffffu, far) != 0;
const float left = far ? 0.0f : kScale;
if (far) {
#pragma unroll
  for (int i = 0; i < kBlocksQ; ++i)
#pragma unroll
    for (int j = 0; j < kBlocksK; ++j)
#pragma unroll
      for (int l = 0; l < 4; ++l) scores[i][j][l] -= shift[i][l / 2];
}
#pragma unroll
for (int i = 0; i < kBlocksQ; ++i)
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float rest = shift[i][half] * left;
#pragma unroll
    for (int j = 0; j < kBlocksK; ++j)
#pragma unroll
      for (int l = 0; l < 2; ++l) {
        float& score = scores[i][j][2 * half + l];
        score = $prefixpower(fmaf(score, kScale, -rest));
        total[i][half] += score;
      }
  }
)";

constexpr const char* kReadQuery = R"(unsigned query[kBlocksQ][kStepsD][4];
#pragma unroll
for (int i = 0; i < kBlocksQ; ++i)
#pragma unroll
  for (int step = 0; step < kStepsD; ++step) {
    $read
  }
)";

constexpr const char* kScores = R"(#pragma unroll
for (int step = 0; step < kStepsD; ++step) {
  $read_query
#pragma unroll
  for (int j = 0; j < kBlocksK; j += 2) {
    unsigned pair[4];
    $read_key
#pragma unroll
    for (int i = 0; i < kBlocksQ; ++i) {
      $prefixmultiply(scores[i][j], $query, pair[0], pair[1]);
      $prefixmultiply(scores[i][j + 1], $query, pair[2], pair[3]);
    }
  }
}
)";

constexpr const char* kQueryHere = R"(unsigned query[kBlocksQ][4];
#pragma unroll
for (int i = 0; i < kBlocksQ; ++i) {
  $read
}
)";

// A lane's sums of two blocks of keys are, rounded, what it holds of a 16 x 16 operand.
constexpr const char* kValues = R"(#pragma unroll
for (int j = 0; j < kBlocksK; j += 2) {
  unsigned weights[kBlocksQ][4];
#pragma unroll
  for (int i = 0; i < kBlocksQ; ++i)
#pragma unroll
    for (int l = 0; l < 4; ++l)
      weights[i][l] = $prefixpair(scores[i][j + l / 2][l % 2 * 2], scores[i][j + l / 2][l % 2 * 2 + 1]);
#pragma unroll
  for (int n = 0; n < kBlocksE; n += 2) {
    unsigned pair[4];
    $read_values
#pragma unroll
    for (int i = 0; i < kBlocksQ; ++i) {
      $prefixmultiply(sums[i][n], weights[i], pair[0], pair[1]);
      $prefixmultiply(sums[i][n + 1], weights[i], pair[2], pair[3]);
    }
  }
}
)";

/// How lanes read fragments of a tile: from an address of the lane's own, plus what all share.
struct Reading {
  std::string lane;    ///< element of the tile
  std::string offset;  ///< further elements
  bool transposed = false;
};

/// A left operand: 16 rows from `row` on, two runs of 16 bytes from `column` on.
Reading read_left(const Emitter& emit) {
  if (emit.query.transposed) {
    return {"(lane / 16 * 8 + lane % 8) * kStrideQ + warp_row + lane / 8 % 2 * 8",
            "step * 16 * kStrideQ + i * 16", true};
  }
  const bool narrow = emit.query.type == ScalarType::kF32;
  return {fmt::format("(warp_row + lane % 16) * kStrideQ + lane / 16 * {}", narrow ? 4 : 8),
          fmt::format("i * 16 * kStrideQ + step * {}", narrow ? 8 : 16)};
}

/// A right operand: 16 columns by one step, two registers of the first eight, then two of the rest.
/// `outer` counts columns, `inner` what is summed; `by_outer`: a row of shared memory is of one
/// column.
Reading read_right(const Emitter& emit, const std::string& stride, bool by_outer,
                   const std::string& outer, const std::string& inner) {
  if (!by_outer) {
    return {fmt::format("(lane / 8 % 2 * 8 + lane % 8) * {} + lane / 16 * 8", stride),
            fmt::format("{} * {} + {}", inner, stride, outer), true};
  }
  const bool narrow = emit.key.type == ScalarType::kF32;
  return {
      fmt::format("(lane / 16 * 8 + lane % 8) * {} + lane / 8 % 2 * {}", stride, narrow ? 4 : 8),
      fmt::format("{} * {} + {}", outer, stride, inner)};
}

std::string text_of(const Emitter& emit, const Reading& reading, const std::string& to,
                    const std::string& from) {
  return fmt::format("{}matrices{}({}, {} + ({}) * {});", emit.prefix,
                     reading.transposed ? "_transposed" : "", to, from, reading.offset,
                     size_of(emit.query.type));
}

/// Scalars: the step's row t of eight is key 2 * t, row t + 4 key 2 * t + 1.
Reading tf32_values_place() {
  return {"lane % 4 * 2 * kStrideV + lane / 4", "(j * 8 + l) * kStrideV + n * 8"};
}

}  // namespace

std::string mma_kernel(const Emitter& emit) {
  const Schedule& s = emit.s;
  const bool narrow = s.pipe != Pipe::kMma;  // tf32
  Holes holes = emit.holes();
  holes["warp_rows"] = std::to_string(s.warp_rows);
  const Reading left = read_left(emit);
  const Reading keys = read_right(emit, "kStrideK", !emit.key.transposed, "j * 8",
                                  narrow ? "step * 8" : "step * 16");
  const Reading values =
      narrow ? tf32_values_place()
             : read_right(emit, "kStrideV", emit.values.transposed, "n * 8", "j * 8");
  holes["lane_q"] = left.lane;
  holes["lane_k"] = keys.lane;
  holes["lane_v"] = values.lane;
  holes["size"] = std::to_string(size_of(emit.query.type));
  holes["query"] = s.query_in_registers ? "query[i][step]" : "query[i]";
  holes["read"] = text_of(emit, left, holes["query"], "query_at");
  holes["read_query"] = "";
  holes["read_key"] = text_of(emit, keys, "pair", "keys");
  holes["read_values"] = text_of(emit, values, "pair", "values");
  holes["value_at"] = values.offset;
  Holes inner = holes;
  if (!s.query_in_registers) inner["read_query"] = filled(kQueryHere, holes);
  if (narrow) {
    holes["multiply_scores"] = filled(tf32_scores(emit), inner);
    holes["multiply_values"] = filled(tf32_values(emit), holes);
  } else {
    holes["multiply_scores"] = filled(kScores, inner);
    holes["multiply_values"] = filled(kValues, holes);
    if (s.query_in_registers) holes["read_query"] = filled(kReadQuery, holes);
  }
  const bool spare = emit.a.queries % s.rows != 0;
  const std::string q = "q_first + warp_row + i * 16 + l / 2 * 8 + lane / 4";
  holes["q"] = spare ? "min(" + q + ", kQueries - 1)" : q;
  holes["mask"] = emit.masks() || emit.makes_logits() ? filled(kMmaMask, holes) : "";
  holes["softmax"] = filled(kSoftmax, holes);
  holes["write"] = emit.write(2, "sums[i][n][half * 2 + j]");

  const std::string functions =
      matrix_loads(emit.prefix, SharedPlace::kAddress, !narrow) +
      warp_multiply({.k = narrow ? 8 : 16, .kind = narrow ? "tf32" : kind_of(emit.query.type)},
                    emit.prefix) +
      (narrow ? tf32_helpers(emit) : pair_function(emit.prefix, "pair", emit.query.type));
  return functions +
         emit.with_constants(filled(kMmaKernel, holes),
                             {{"kWarpQ", s.warp_rows},
                              {"kBlocksQ", s.warp_rows / 16},
                              {"kBlocksK", s.keys / 8},
                              {"kBlocksE", padded_columns(emit.a, s.pipe) / 8},
                              {"kStepsD", padded_depth(emit.a, s.pipe) / (narrow ? 8 : 16)}});
}

}  // namespace hone::schedules::attention
