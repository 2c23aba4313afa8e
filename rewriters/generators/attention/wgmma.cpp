// Hopper's tensor cores: a warpgroup of 128 threads has 64 queries. While it makes weights of one
// tile's scores, the tensor cores multiply the tile before with its values, and the queries with
// the next keys.
#include <fmt/format.h>

#include "rewriters/generators/attention/emit.h"
#include "rewriters/generators/printing/instructions.h"
#include "rewriters/generators/printing/warpgroup.h"

namespace hone::generators::attention {
namespace {

constexpr const char* kWgmmaKernel = R"(
$what
// Each warpgroup of 128 threads has 64 queries. With g = lane / 4 and t = lane % 4, a lane keeps
// the sums of rows g and g + 8 of a warp's 16, and of columns 2 * t and 2 * t + 1 of each 8.
__global__ void __launch_bounds__($bounds) $prefixattention($params) {
  $constants
  $shared
  $where
  $range

  $copies
  const float nothing = $nothing;
  const int lane = thread % 32, warp_row = thread / 32 * 16;
  float $buffers, sums[kColumnsHere / 2] = {};  // sums: of weights times values
  unsigned weights[kTileK / 16][4];                       // rounded to $kind
  // A weight is 2^(logit - shift). The shift is the largest logit so far, or up to kSlack less, so
  // that sums seldom have to follow it.
  float shift[2] = {kLeast, kLeast}, total[2] = {};  // of each row; the sum of weights
  float shrink[2];

  const auto multiply_scores = [&](float (&scores)[kTileK / 2], int stage) {
    const $type_q* const query = &shared_query[thread / 128 * 64 * 64];
    const $type_k* const keys = &shared_key[stage * kElementsK];
#pragma unroll
    for (int d = 0; d < kDepthHere; d += 16) {
      $prefixscore(scores, $prefixdescriptor<16>(query + d / 64 * (kTileQ * 64) + d % 64),
                   $prefixdescriptor<16>(keys + d / 64 * (kTileK * 64) + d % 64), d != 0);
    }
    $prefixwgmma_commit();
  };
  const auto multiply_values = [&](int stage) {
    const $type_v* const values = &shared_values[stage * kElementsV];
#pragma unroll
    for (int j = 0; j < kTileK / 16; ++j)
      $prefixweigh(sums, weights[j], $prefixdescriptor<kTileK * 128>(values + j * 16 * 64), true);
    $prefixwgmma_commit();
  };
  // Scores to weights that are not rounded yet; has a row of the warp another shift?
  const auto weigh = [&](float (&scores)[kTileK / 2], int tile) {
    $mask
    bool grows = false;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float top = scores[2 * half];
#pragma unroll
      for (int j = 0; j < kTileK / 8; ++j)
        top = fmaxf(top, fmaxf(scores[j * 4 + 2 * half], scores[j * 4 + 2 * half + 1]));
      top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));
      top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 2));
      const float before = shift[half];
      shift[half] = top * kScale > before + kSlack ? top * kScale : before;
      grows = grows || shift[half] != before;
      shrink[half] = $prefixpower(before - shift[half]);
      total[half] *= shrink[half];
#pragma unroll
      for (int j = 0; j < kTileK / 8; ++j) {
#pragma unroll
        for (int l = 0; l < 2; ++l) {
          float& score = scores[j * 4 + 2 * half + l];
          score = $prefixpower(score * kScale - shift[half]);
          total[half] += score;
        }
      }
    }
    return __any_sync(0xffffffffu, grows) != 0;
  };
  const auto round = [&](float (&scores)[kTileK / 2]) {
#pragma unroll
    for (int j = 0; j < kTileK / 16; ++j) {
#pragma unroll
      for (int l = 0; l < 4; ++l)
        weights[j][l] = $prefixpair(scores[j * 8 + l * 2], scores[j * 8 + l * 2 + 1]);
      $prefixsettle(weights[j]);
    }
  };

  const auto follow = [&](bool grows) {
    if (grows) {
#pragma unroll
      for (int i = 0; i < kColumnsHere / 2; ++i) sums[i] *= shrink[i / 2 % 2];
      $prefixsettle(sums);
    }
  };
  $loop
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float sum = total[half];
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    sum += __shfl_xor_sync(0xffffffffu, sum, 2);
    const float inverse = 1.0f / sum;
    const int q = q_first + warp_row + half * 8 + lane / 4;
#pragma unroll
    for (int n = 0; n < kColumnsHere / 8; ++n) {
      const int e = n * 8 + lane % 4 * 2;
      $write
    }
  }
}
)";

constexpr const char* kOneAhead = R"(if (first_tile < end_tile) {
  copy_query();
  copy_key(0, first_tile);
  $commit
#pragma unroll
  for (int i = 0; i < kStages - 1; ++i) {
    if (first_tile + i + 1 < end_tile) copy_key(i + 1, first_tile + i + 1);
    if (first_tile + i < end_tile) copy_values(i, first_tile + i);
    $commit
  }
  $wait_first
  $prefixpublish();
  __syncthreads();
  $prefixwgmma_begin();
  multiply_scores(scores, 0);
  $prefixwgmma_wait<0>();
  $prefixsettle(scores);
  weigh(scores, first_tile);
  round(scores);
  int before = kStages - 1, stage = 0, next = 1;  // where tiles lie
  for (int tile = first_tile; tile + 1 < end_tile; ++tile) {
    $wait_ring
    $prefixpublish();
    __syncthreads();
    $prefixwgmma_begin();
    multiply_scores(scores, next);
    multiply_values(stage);
    // Everyone is done with this tile's keys, and with the values before.
    if (tile + kStages < end_tile) copy_key(stage, tile + kStages);
    if (tile + kStages - 1 < end_tile) copy_values(before, tile + kStages - 1);
    $commit
    $prefixwgmma_wait<1>();
    $prefixsettle(scores);
    const bool grows = weigh(scores, tile + 1);
    $prefixwgmma_wait<0>();
    $prefixsettle(sums);
    follow(grows);
    round(scores);
    before = stage;
    stage = next;
    next = next + 1 == kStages ? 0 : next + 1;
  }
  $wait_all
  $prefixpublish();
  __syncthreads();
  $prefixwgmma_begin();
  multiply_values(stage);
  $prefixwgmma_wait<0>();
  $prefixsettle(sums);
}
)";

// There is one more tile of keys than of values.
constexpr const char* kTwoAhead = R"(if (first_tile < end_tile) {
  copy_query();
  copy_key(0, first_tile);
  if (first_tile + 1 < end_tile) copy_key(1, first_tile + 1);
  $commit
#pragma unroll
  for (int i = 0; i < kStages - 1; ++i) {
    if (first_tile + i + 2 < end_tile) copy_key(i + 2, first_tile + i + 2);
    if (first_tile + i < end_tile) copy_values(i, first_tile + i);
    $commit
  }
  $wait_first
  $prefixpublish();
  __syncthreads();
  $prefixwgmma_begin();
  multiply_scores(scores, 0);
  $prefixwgmma_wait<0>();
  $prefixsettle(scores);
  if (first_tile + 1 < end_tile) {
    $prefixwgmma_begin();
    multiply_scores(others, 1);
    weigh(scores, first_tile);
    $prefixwgmma_wait<0>();
    $prefixsettle(others);
  } else {
    weigh(scores, first_tile);
  }
  round(scores);
  int before = kStages - 1, stage = 0;  // where values lie
  int done = 0, ahead = 2;              // where keys lie
  // One tile's values, the scores of the second after it if there is one, the weights of the first.
  const auto step = [&](int tile, float (&ready)[kTileK / 2], float (&coming)[kTileK / 2], bool more) {
    $wait_ring
    $prefixpublish();
    __syncthreads();
    $prefixwgmma_begin();
    if (more) multiply_scores(coming, ahead);
    multiply_values(stage);
    // Everyone is done with this tile's keys, and with the values before.
    if (tile + kStages + 1 < end_tile) copy_key(done, tile + kStages + 1);
    if (tile + kStages - 1 < end_tile) copy_values(before, tile + kStages - 1);
    $commit
    const bool grows = weigh(ready, tile + 1);
    $prefixwgmma_wait<0>();
    $prefixsettle(sums);
    if (more) $prefixsettle(coming);
    follow(grows);
    round(ready);
    before = stage;
    stage = stage + 1 == kStages ? 0 : stage + 1;
    done = done == kStages ? 0 : done + 1;
    ahead = ahead == kStages ? 0 : ahead + 1;
  };
  int tile = first_tile;
  for (; tile + 3 < end_tile; tile += 2) {
    step(tile, others, scores, true);
    step(tile + 1, scores, others, true);
  }
  if (tile + 2 < end_tile) {
    step(tile, others, scores, true);
    step(tile + 1, scores, others, false);
  } else if (tile + 1 < end_tile) {
    step(tile, others, scores, false);
  }
  $wait_all
  $prefixpublish();
  __syncthreads();
  $prefixwgmma_begin();
  multiply_values(stage);
  $prefixwgmma_wait<0>();
  $prefixsettle(sums);
}
)";

constexpr const char* kWgmmaMask = R"(const int tile_k = tile * kTileK;
$if_masked{
#pragma unroll
  for (int i = 0; i < kTileK / 2; ++i) {
    const int q = $q, k = tile_k + i / 4 * 8 + lane % 4 * 2 + i % 2;
    const float score = scores[i];
    scores[i] = $logit;
  }
}
)";

}  // namespace

std::string wgmma_kernel(const Emitter& emit) {
  const Schedule& s = emit.s;
  const int columns = padded_columns(emit.a, s.pipe), depth = padded_depth(emit.a, s.pipe);
  const std::string kind = kind_of(emit.query.type);
  Holes holes = emit.holes();
  holes["kind"] = kind;
  holes["wait_first"] = holes["commit"].empty() ? "" : filled("$prefixwait<kStages - 1>();", holes);
  const bool spare = emit.a.queries % s.rows != 0;
  const std::string q = "q_first + warp_row + i / 2 % 2 * 8 + lane / 4";
  holes["q"] = spare ? "min(" + q + ", kQueries - 1)" : q;
  holes["mask"] = emit.masks() || emit.makes_logits() ? filled(kWgmmaMask, holes) : "";
  std::string write = emit.write(2, "sums[n * 4 + half * 2 + j]");
  if (spare) {
    write = filled("if ($row_exists) {\n  $write\n}\n",
                   {{"row_exists", emit.row_exists()}, {"write", write}});
  }
  holes["write"] = write;
  const bool two = s.ahead == 2;
  holes["buffers"] = two ? "scores[kTileK / 2], others[kTileK / 2]" : "scores[kTileK / 2]";
  holes["loop"] = filled(two ? kTwoAhead : kOneAhead, holes);
  return warpgroup_helpers(emit.prefix) +
         warpgroup_multiply({.n = s.keys, .kind = kind, .name = "score"}, emit.prefix) +
         warpgroup_multiply({.n = columns,
                             .kind = kind,
                             .b_k_rows = true,
                             .a_in_registers = true,
                             .name = "weigh"},
                            emit.prefix) +
         pair_function(emit.prefix, "pair", emit.query.type) +
         emit.with_constants(filled(kWgmmaKernel, holes),
                             {{"kDepthHere", depth}, {"kColumnsHere", columns}});
}

}  // namespace hone::generators::attention
