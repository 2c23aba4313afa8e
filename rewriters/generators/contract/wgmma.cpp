// Hopper's tensor cores: a warpgroup of 128 threads multiplies 64 x N x 16 straight from shared
// memory, while it goes on.
#include <fmt/format.h>

#include "rewriters/generators/contract/emit.h"
#include "rewriters/generators/printing/instructions.h"
#include "rewriters/generators/printing/warpgroup.h"

namespace hone::generators::contract {
namespace {

constexpr const char* kWgmmaKernel = R"(
$what
// Each warpgroup of 128 threads keeps $wm x $bn sums. A stage is filled again two tiles after it was
// multiplied: by then every warpgroup has waited for that product, while the next one runs.$in_runs
__global__ void __launch_bounds__($threads) $prefixcontract($params) {
  $constants
  $shared
  $where
  $range

  const int lane = thread % 32, warp = thread / 32;
  const int group_m = warp / 4 * kGroupM;
  $moves
  float sums[kBlocksM][kTileN / 2] = {};
  $runs
  $first_tiles
  int stage = 0, fill = kStages - 2;
  for (int tile = 0; tile < tiles; ++tile) {
    $wait
    $prefixwgmma_begin();
#pragma unroll
    for (int k = 0; k < kTileK; k += 16)
#pragma unroll
      for (int i = 0; i < kBlocksM; ++i)
        $prefixmultiply($added[i],
                        $prefixdescriptor<$leap_a>(&shared_a[stage * kElementsA + $at_a]),
                        $prefixdescriptor<$leap_b>(&shared_b[stage * kElementsB + $at_b]), true);
    $prefixwgmma_commit();
    const bool more = tile + kStages - 2 < tiles;
    if (more) {
      const int next = first_tile + tile + kStages - 2;
      $start
    }
    $commit
    $wait_one
    $if_end
    stage = stage + 1 == kStages ? 0 : stage + 1;
    fill = fill + 1 == kStages ? 0 : fill + 1;
  }
  $prefixwgmma_wait<0>();
#pragma unroll
  for (int i = 0; i < kBlocksM; ++i) $prefixsettle($added[i]);

  $store
#pragma unroll
  for (int i = 0; i < kBlocksM; ++i) {
    const int m = m_first + group_m + i * 64 + warp % 4 * 16 + lane / 4;
    $write
  }
}
)";

constexpr const char* kWgmmaWriteTwo = R"(#pragma unroll
for (int j = 0; j < kTileN / 8; ++j) {
  const int n = n_first + j * 8 + lane % 4 * 2;
  store(m, n, $left);
  store(m + 8, n, $right);
}
)";

// Outputs of two bytes: a pair of lanes fills a sector.
constexpr const char* kWgmmaWriteFour =
    R"(// Two lanes swap halves, so that each has four neighbours of one row.
const bool odd = lane % 2 != 0;
#pragma unroll
for (int l = 0; l < kTileN / 8; ++l) {
  const int half = l % 2, at = l / 2 * 8 + half * 2;
  const float left[2] = {sums[i][at], sums[i][at + 1]};
  const float right[2] = {sums[i][at + 4], sums[i][at + 5]};
  const float got0 = __shfl_xor_sync(0xffffffffu, odd ? left[0] : right[0], 1);
  const float got1 = __shfl_xor_sync(0xffffffffu, odd ? left[1] : right[1], 1);
  const int n = n_first + l / 2 * 16 + (odd ? 6 : 0) + lane % 4 * 2;
  store(m + half * 8, n,
        {odd ? got0 : left[0], odd ? got1 : left[1], odd ? right[0] : got0, odd ? right[1] : got1});
}
)";

constexpr const char* kWgmmaFold = R"(if ((tile + 1) % $tiles_of_run == 0) {
  $prefixwgmma_wait<0>();
#pragma unroll
  for (int i = 0; i < kBlocksM; ++i) {
    $prefixsettle(runs[i]);
#pragma unroll
    for (int l = 0; l < kTileN / 2; ++l) $prefixfold(sums[i][l], runs[i][l]);
  }
} else {
  $prefixwgmma_wait<1>();
}
)";

}  // namespace

std::string wgmma_kernel(const Emitter& emit) {
  const Schedule& s = emit.s;
  const int width = emit.store_width();
  Holes holes = emit.holes(width);
  const bool runs = emit.in_runs();
  holes["left"] = emit.totals("[i]", "j * 4", 2);
  holes["right"] = emit.totals("[i]", "j * 4 + 2", 2);
  holes["tiles_of_run"] = std::to_string(tiles_of_run(s));
  holes["runs"] = runs ? "float runs[kBlocksM][kTileN / 2] = {};  // of this run of terms" : "";
  holes["in_runs"] = emit.about_runs();
  holes["wait_one"] = filled(runs ? kWgmmaFold : "$prefixwgmma_wait<1>();", holes);
  holes["write"] = filled(width == 4 ? kWgmmaWriteFour : kWgmmaWriteTwo, holes);
  holes["wm"] = std::to_string(s.wm);
  holes["bn"] = std::to_string(s.bn);
  // 16 of k: two groups of eight rows on, or 32 bytes; 64 rows or columns: a band, or 64 rows.
  holes["at_a"] = emit.a.k_rows ? "k * 64 + (group_m / 64 + i) * (64 * kTileK)"
                                : "(group_m + i * 64) * kTileK + k";
  holes["at_b"] = emit.b.k_rows ? "k * 64" : "k";
  holes["leap_a"] = emit.a.k_rows ? std::to_string(64 * s.bk * 2) : "16";
  holes["leap_b"] = emit.b.k_rows ? std::to_string(64 * s.bk * 2) : "16";
  const std::string wait = emit.uses_async() ? "$prefixwait<kStages - 3>();\n" : "";
  holes["wait"] = filled(wait + "$prefixpublish();\n__syncthreads();", holes);
  holes["if_end"] = holes["end"].empty() ? "" : filled("if (more) {\n  $end\n}", holes);
  const auto early = holes["first_tiles"].find("kStages - 1");
  holes["first_tiles"].replace(early, 11, "kStages - 2");
  const Warpgroup warpgroup{.n = s.bn,
                            .k = 16,
                            .kind = kind_of(emit.a.type),
                            .a_k_rows = emit.a.k_rows,
                            .b_k_rows = emit.b.k_rows};
  return warpgroup_helpers(emit.prefix) + warpgroup_multiply(warpgroup, emit.prefix) +
         emit.with_constants(filled(kWgmmaKernel, holes),
                             {{"kGroupM", s.wm}, {"kBlocksM", s.wm / 64}});
}

}  // namespace hone::generators::contract
