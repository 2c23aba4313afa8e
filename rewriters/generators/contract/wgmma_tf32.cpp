// tf32x3 on Hopper's tensor cores: A from registers, B from two planes in shared memory, since
// wgmma takes tf32 only where k runs along the rows.
#include <fmt/format.h>

#include "rewriters/generators/contract/emit.h"
#include "rewriters/generators/printing/instructions.h"
#include "rewriters/generators/printing/warpgroup.h"

namespace hone::generators::contract {
namespace {

constexpr const char* kWgmmaTf32Kernel = R"(
$what
// x * y is big_x * big_y + big_x * small_y + small_x * big_y, big being x rounded to tf32 and small
// what is left. A warpgroup of 128 threads keeps 64 x $bn sums, splits its rows of A in registers,
// and all split B for the next tile while the tensor cores are at this one. What those have added
// over two tiles goes to sums that are rounded to nearest$what_is_lost.
__global__ void __launch_bounds__($threads) $prefixcontract($params) {
  $constants
  constexpr int kSteps = kTileK / 8;
  // B's halves, of the tile that is multiplied, the one before, and the next.
  constexpr int kPlane = kTileN * kTileK, kPlanes = 3;
  extern __shared__ __align__(1024) unsigned char $prefixshared[];
  float* const planes = reinterpret_cast<float*>($prefixshared);
  float* const shared_a = planes + kPlanes * 2 * kPlane;
  float* const shared_b = shared_a + kStages * kElementsA;
  $where
  $range

  const int lane = thread % 32, warp = thread / 32;
  $moves
  const auto split_b = [&](int stage, int plane) {
    const float* const from = &shared_b[stage * kElementsB];
    float* const big = planes + plane * 2 * kPlane;
    float* const small = big + kPlane;
    $split_b
  };

  unsigned frag_a[2][kSteps][4], small_a[2][kSteps][4];  // of this tile and of the last
  float $parts[kTileN / 2] = {}, sums[kTileN / 2] = {};
  $first_tiles
  $wait
  if (tiles > 0) split_b(0, 0);
  $prefixpublish();
  __syncthreads();

  int stage = 0, fill = kStages - 1, plane = 0;
  for (int pair = 0; pair < tiles; pair += 2) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int tile = pair + half;
      if (half == 1 && tile == tiles) break;
      const int next_stage = stage + 1 == kStages ? 0 : stage + 1;
      const int next_plane = plane + 1 == kPlanes ? 0 : plane + 1;
      const float* const tile_a = &shared_a[stage * kElementsA];
#pragma unroll
      for (int step = 0; step < kSteps; ++step) {
        const int k = step * 8;
        $read_a
#pragma unroll
        for (int l = 0; l < 4; ++l)
          $prefixsplit(frag_a[half][step][l], small_a[half][step][l], frag_a[half][step][l]);
      }
      const float* const big_b = planes + plane * 2 * kPlane;
      $prefixwgmma_begin();
#pragma unroll
      for (int step = 0; step < kSteps; ++step) {
        $prefixmultiply($parts, small_a[half][step], $prefixdescriptor<16>(big_b + step * 8), $adds);
        $prefixmultiply($parts, frag_a[half][step], $prefixdescriptor<16>(big_b + kPlane + step * 8), true);
      }
#pragma unroll
      for (int step = 0; step < kSteps; ++step)
        $prefixmultiply($parts, frag_a[half][step], $prefixdescriptor<16>(big_b + step * 8), true);
      $prefixwgmma_commit();

      const bool more = tile + kStages - 1 < tiles;
      if (more) {
        const int next = first_tile + tile + kStages - 1;
        $start
      }
      $commit
      if (tile + 1 < tiles) split_b(next_stage, next_plane);
      if (half == 0 && tile + 1 < tiles) {
        $prefixwgmma_wait<1>();
      } else {
        $prefixwgmma_wait<0>();
        $prefixsettle($parts);
#pragma unroll
        for (int i = 0; i < kTileN / 2; ++i) $add_up
      }
      $if_end
      $wait_only
      $prefixpublish();
      __syncthreads();
      stage = next_stage;
      plane = next_plane;
      fill = fill + 1 == kStages ? 0 : fill + 1;
    }
  }

  $store
#pragma unroll
  for (int j = 0; j < kTileN / 8; ++j) {
    const int m = m_first + warp * 16 + lane / 4, n = n_first + j * 8 + lane % 4 * 2;
    store(m, n, $left);
    store(m + 8, n, $right);
  }
}
)";

// The same places as before.
constexpr const char* kSplitRows = R"(#pragma unroll
for (int i = 0; i < kPlane / 4 / kThreads; ++i) {
  const int at = (i * kThreads + thread) * 4;
  const $prefixpack<unsigned, 4> got = *reinterpret_cast<const $prefixpack<unsigned, 4>*>(from + at);
  $prefixpack<unsigned, 4> upper, lower;
#pragma unroll
  for (int j = 0; j < 4; ++j) $prefixsplit(upper.at[j], lower.at[j], got.at[j]);
  *reinterpret_cast<$prefixpack<unsigned, 4>*>(big + at) = upper;
  *reinterpret_cast<$prefixpack<unsigned, 4>*>(small + at) = lower;
}
)";

// Transposed: a warp takes four columns of all k, and writes each to every bank once.
constexpr const char* kSplitColumns = R"(#pragma unroll
for (int i = 0; i < kPlane / 4 / kThreads; ++i) {
  const int piece = i * kThreads + thread;
  const int k = piece % kTileK, n = piece / kTileK * 4;
  const $prefixpack<unsigned, 4> got =
      *reinterpret_cast<const $prefixpack<unsigned, 4>*>(from + k * $stride + n);
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    unsigned upper, lower;
    $prefixsplit(upper, lower, got.at[j]);
    const int at = $prefixswizzled<kTileN, kTileK, 4>(n + j, k);
    big[at] = __uint_as_float(upper);
    small[at] = __uint_as_float(lower);
  }
}
)";

}  // namespace

std::string wgmma_tf32_kernel(const Emitter& emit) {
  const Schedule& s = emit.s;
  Holes holes = emit.holes(2);
  const bool runs = emit.in_runs();
  holes["parts"] = runs ? "runs" : "parts";
  holes["adds"] = runs ? "true" : "half != 0 || step != 0";
  holes["add_up"] = runs ? filled("$prefixfold(sums[i], runs[i]);", holes) : "sums[i] += parts[i];";
  holes["what_is_lost"] = runs ? ", and what those lose is kept" : "";
  holes["left"] = emit.totals("", "j * 4", 2);
  holes["right"] = emit.totals("", "j * 4 + 2", 2);
  holes["bn"] = std::to_string(s.bn);
  holes["stride"] = std::to_string(emit.b.stride);
  holes["split_b"] = filled(emit.b.k_rows ? kSplitColumns : kSplitRows, holes);
  if (emit.a.k_rows) {
    holes["read_a"] = fmt::format(
        "#pragma unroll\n"
        "for (int l = 0; l < 4; ++l) {{\n"
        "  const int row = warp * 16 + lane / 4 + l % 2 * 8, column = k + lane % 4 + l / 2 * 4;\n"
        "  frag_a[half][step][l] = __float_as_uint(tile_a[{}]);\n"
        "}}",
        emit.place(true, "row", "column"));
  } else {
    holes["read_a"] = fmt::format(
        "const int row = warp * 16 + lane % 16, column = k + lane / 16 * 4;\n"
        "{}matrices(frag_a[half][step], &tile_a[{}]);",
        emit.prefix, emit.place(true, "row", "column"));
  }
  const std::string wait = emit.uses_async() ? "$prefixwait<kStages - 3>();" : "";
  holes["wait_only"] = filled(wait, holes);
  holes["wait"] = filled(wait + "\n__syncthreads();", holes);
  holes["if_end"] = holes["end"].empty() ? "" : filled("if (more) {\n  $end\n}", holes);
  const Warpgroup warpgroup{.n = s.bn, .k = 8, .kind = "tf32", .a_in_registers = true};
  return warpgroup_helpers(emit.prefix) + warpgroup_multiply(warpgroup, emit.prefix) +
         (emit.a.k_rows ? "" : matrix_loads(emit.prefix, SharedPlace::kPointer, false)) +
         tf32_roundings(emit.prefix, true) +
         emit.with_constants(filled(kWgmmaTf32Kernel, holes), {});
}

}  // namespace hone::generators::contract
