// The pipe of ordinary multiply-adds.
#include <fmt/format.h>

#include "rewriters/schedules/contract/emit.h"

namespace hone::schedules::contract {
namespace {

constexpr const char* kFmaKernel = R"(
$what
// Each thread keeps $tm x $tn sums, in kRunsM x kRunsN places of kRun x kRun.$in_runs
__global__ void __launch_bounds__($bounds) $prefixcontract($params) {
  $constants
  using Vector = $prefixpack<$type, kRun>;
  $shared
  $where
  $range

  // A warp is 4 x 8 threads, interleaved: each shared load of half a warp asks 128 bytes at most.
  const int lane = thread % 32, warp = thread / 32;
  const int thread_m = warp / $warps_n * 4 + lane / 16 * 2 + lane % 2;
  const int thread_n = warp % $warps_n * 8 + lane / 2 % 8;

  $moves
  Vector frag_a[2][kRunsM], frag_b[2][kRunsN];  // of this k and of the next
  Vector sums[kRunsM * kRun][kRunsN] = {};
  $runs
  const auto read = [&](int to, int stage, int k) {
    const $type* const row_a = &shared_a[stage * kElementsA + k * kStrideA + thread_m * kRun];
    const $type* const row_b = &shared_b[stage * kElementsB + k * kStrideB + thread_n * kRun];
#pragma unroll
    for (int i = 0; i < kRunsM; ++i)
      frag_a[to][i] = *reinterpret_cast<const Vector*>(row_a + i * (kTileM / kRunsM));
#pragma unroll
    for (int i = 0; i < kRunsN; ++i)
      frag_b[to][i] = *reinterpret_cast<const Vector*>(row_b + i * (kTileN / kRunsN));
  };

  $first_tiles
  $wait
  read(0, 0, 0);
  int stage = 0, fill = kStages - 1;
  for (int tile = 0; tile < tiles; ++tile) {
    const bool more = tile + kStages - 1 < tiles;
#pragma unroll
    for (int k = 0; k < kTileK; ++k) {
      if (k == kTileK - 1) {
        $if_end
        $wait
        stage = stage + 1 == kStages ? 0 : stage + 1;
        fill = fill + 1 == kStages ? 0 : fill + 1;
      }
      read((k + 1) % 2, stage, (k + 1) % kTileK);
      if (k == 0) {
        if (more) {
          const int next = first_tile + tile + kStages - 1;
          $start
        }
        $commit
      }
#pragma unroll
      for (int i = 0; i < kRunsM * kRun; ++i) {
#pragma unroll
        for (int j = 0; j < kRunsN * kRun; ++j) {
          $added[i][j / kRun].at[j % kRun] +=
              frag_a[k % 2][i / kRun].at[i % kRun] * frag_b[k % 2][j / kRun].at[j % kRun];
        }
      }
    }
    $fold
  }

  $store
#pragma unroll
  for (int i = 0; i < kRunsM * kRun; ++i) {
    const int m = m_first + i / kRun * (kTileM / kRunsM) + thread_m * kRun + i % kRun;
#pragma unroll
    for (int j = 0; j < kRunsN; ++j)
      store(m, n_first + j * (kTileN / kRunsN) + thread_n * kRun, $total);
  }
}
)";

constexpr const char* kFmaFold = R"(if ((tile + 1) % $tiles_of_run == 0) {
#pragma unroll
  for (int i = 0; i < kRunsM * kRun; ++i)
#pragma unroll
    for (int j = 0; j < kRunsN * kRun; ++j)
      $prefixfold(sums[i][j / kRun].at[j % kRun], runs[i][j / kRun].at[j % kRun]);
}
)";

}  // namespace

std::string fma_kernel(const Emitter& emit) {
  const Schedule& s = emit.s;
  const bool runs = emit.in_runs();
  const int v = sum_type(emit.c, s.pipe) == ScalarType::kF64 ? 2 : 4;
  Holes holes = emit.holes(v);
  holes["tm"] = std::to_string(s.tm);
  holes["tn"] = std::to_string(s.tn);
  holes["warps_n"] = std::to_string(s.bn / s.tn / 8);
  holes["if_end"] = holes["end"].empty() ? "" : filled("if (more) {\n  $end\n}", holes);
  holes["tiles_of_run"] = std::to_string(tiles_of_run(s));
  holes["runs"] = runs ? "Vector runs[kRunsM * kRun][kRunsN] = {};  // of this run of terms" : "";
  holes["fold"] = runs ? filled(kFmaFold, holes) : "";
  holes["total"] =
      runs ? filled("$prefixtotals<kRun>(sums[i][j].at, runs[i][j].at)", holes) : "sums[i][j]";
  holes["in_runs"] = emit.about_runs();
  return emit.with_constants(filled(kFmaKernel, holes), {{"kRun", v},
                                                         {"kRunsM", s.tm / v},
                                                         {"kRunsN", s.tn / v},
                                                         {"kStrideA", emit.a.stride},
                                                         {"kStrideB", emit.b.stride}});
}

}  // namespace hone::schedules::contract
