// Tensor cores through mma.sync: m16n8k16 of f16 and bf16, m16n8k32 of 8-bit floats, m16n8k8 of
// tf32 once or three times.
#include <fmt/format.h>

#include "rewriters/schedules/contract/emit.h"
#include "rewriters/schedules/printing/instructions.h"

namespace hone::schedules::contract {
namespace {

constexpr const char* kMmaKernel = R"(
$what
// Each warp keeps $wm x $wn sums.$in_runs
__global__ void __launch_bounds__($bounds) $prefixcontract($params) {
  $constants
  $shared
  $where
  $range

  const int lane = thread % 32, warp = thread / 32;
  const int warp_m = warp / kWarpsN * kWarpM, warp_n = warp % kWarpsN * kWarpN;

  $moves
  unsigned frag_a[2][kBlocksM][4], frag_b[2][kBlocksN][2];  // of this step of k and of the next
  float sums[kBlocksM][kBlocksN][4] = {};
  $runs
  const auto read = [&](int to, int stage, int k) {
    const $type_a* const tile_a = &shared_a[stage * kElementsA];
    const $type_b* const tile_b = &shared_b[stage * kElementsB];
#pragma unroll
    for (int i = 0; i < kBlocksM; ++i) {
      $read_a
    }
#pragma unroll
    for (int j = 0; j < kBlocksN; j += 2) {
      $read_b
    }
  };

  $first_tiles
  int stage = 0, fill = kStages - 1;
  for (int tile = 0; tile < tiles; ++tile) {
    $wait
    const bool more = tile + kStages - 1 < tiles;
    if (more) {
      const int next = first_tile + tile + kStages - 1;
      $start
    }
    $commit
    $before
    read(0, stage, 0);
#pragma unroll
    for (int step = 0; step < kTileK / kStep; ++step) {
      const int now = step % 2;
      if (step + 1 < kTileK / kStep) read(1 - now, stage, (step + 1) * kStep);
      $multiply
    }
    $after
    $if_end
    stage = stage + 1 == kStages ? 0 : stage + 1;
    fill = fill + 1 == kStages ? 0 : fill + 1;
  }

  $store
#pragma unroll
  for (int i = 0; i < kBlocksM; ++i) {
    const int m = m_first + warp_m + i * 16 + lane / 4;
    $write
  }
}
)";

constexpr const char* kMmaWriteTwo = R"(#pragma unroll
for (int j = 0; j < kBlocksN; ++j) {
  const int n = n_first + warp_n + j * 8 + lane % 4 * 2;
  store(m, n, $left);
  store(m + 8, n, $right);
}
)";

// Outputs of two bytes: a pair of lanes fills a sector.
constexpr const char* kMmaWriteFour =
    R"(// Two lanes swap halves, so that each has four neighbours of one row.
const bool odd = lane % 2 != 0;
#pragma unroll
for (int l = 0; l < kBlocksN; ++l) {
  const int half = l % 2;
  const float* const left = &sums[i][l / 2 * 2][half * 2];
  const float* const right = &sums[i][l / 2 * 2 + 1][half * 2];
  const float got0 = __shfl_xor_sync(0xffffffffu, odd ? left[0] : right[0], 1);
  const float got1 = __shfl_xor_sync(0xffffffffu, odd ? left[1] : right[1], 1);
  const int n = n_first + warp_n + l / 2 * 16 + (odd ? 6 : 0) + lane % 4 * 2;
  store(m + half * 8, n,
        {odd ? got0 : left[0], odd ? got1 : left[1], odd ? right[0] : got0, odd ? right[1] : got1});
}
)";

constexpr const char* kMultiplyOnce = R"(#pragma unroll
for (int i = 0; i < kBlocksM; ++i) {
#pragma unroll
  for (int j = 0; j < kBlocksN; ++j) $prefixmultiply($added[i][j], frag_a[now][i], frag_b[now][j]);
}
)";

constexpr const char* kRoundFirst = R"(#pragma unroll
for (int i = 0; i < kBlocksM; ++i)
#pragma unroll
  for (int l = 0; l < 4; ++l) frag_a[now][i][l] = $prefixrounded(frag_a[now][i][l]);
#pragma unroll
for (int j = 0; j < kBlocksN; ++j)
#pragma unroll
  for (int l = 0; l < 2; ++l) frag_b[now][j][l] = $prefixrounded(frag_b[now][j][l]);
)";

constexpr const char* kMultiplyThrice = R"(unsigned small_b[kBlocksN][2];
#pragma unroll
for (int j = 0; j < kBlocksN; ++j) {
#pragma unroll
  for (int l = 0; l < 2; ++l) $prefixsplit(frag_b[now][j][l], small_b[j][l], frag_b[now][j][l]);
}
#pragma unroll
for (int i = 0; i < kBlocksM; ++i) {
  unsigned small_a[4];
#pragma unroll
  for (int l = 0; l < 4; ++l) $prefixsplit(frag_a[now][i][l], small_a[l], frag_a[now][i][l]);
#pragma unroll
  for (int j = 0; j < kBlocksN; ++j) $prefixmultiply($parts[i][j], small_a, frag_b[now][j]);
#pragma unroll
  for (int j = 0; j < kBlocksN; ++j) $prefixmultiply($parts[i][j], frag_a[now][i], small_b[j]);
#pragma unroll
  for (int j = 0; j < kBlocksN; ++j) $prefixmultiply($parts[i][j], frag_a[now][i], frag_b[now][j]);
}
)";

constexpr const char* kAddParts = R"(#pragma unroll
for (int i = 0; i < kBlocksM; ++i)
#pragma unroll
  for (int j = 0; j < kBlocksN; ++j)
#pragma unroll
    for (int l = 0; l < 4; ++l) sums[i][j][l] += parts[i][j][l];
)";

constexpr const char* kMmaFold = R"(if ((tile + 1) % $tiles_of_run == 0) {
#pragma unroll
  for (int i = 0; i < kBlocksM; ++i)
#pragma unroll
    for (int j = 0; j < kBlocksN; ++j)
#pragma unroll
      for (int l = 0; l < 4; ++l) $prefixfold(sums[i][j][l], runs[i][j][l]);
}
)";

/// How lanes find what they read of A: 16 rows by one step of k.
std::string read_a(const Emitter& emit, bool narrow) {
  const int half = 16 / static_cast<int>(size_of(emit.a.type));
  if (narrow && emit.a.k_rows) {
    return fmt::format(
        "#pragma unroll\n"
        "for (int l = 0; l < 4; ++l) {{\n"
        "  const int row = warp_m + i * 16 + lane / 4 + l % 2 * 8, column = k + lane % 4 + l / 2 * "
        "4;\n"
        "  frag_a[to][i][l] = __float_as_uint(tile_a[{}]);\n"
        "}}",
        emit.place(true, "row", "column"));
  }
  if (emit.a.k_rows) {
    return fmt::format(
        "const int row = warp_m + i * 16 + lane / 8 % 2 * 8, column = k + lane / 16 * 8 + lane % "
        "8;\n"
        "{}matrices_transposed(frag_a[to][i], &tile_a[{}]);",
        emit.prefix, emit.place(true, "row", "column"));
  }
  return fmt::format(
      "const int row = warp_m + i * 16 + lane % 16, column = k + lane / 16 * {};\n"
      "{}matrices(frag_a[to][i], &tile_a[{}]);",
      half, emit.prefix, emit.place(true, "row", "column"));
}

/// Of B: one step of k by two times 8 columns.
std::string read_b(const Emitter& emit, bool narrow) {
  const int half = 16 / static_cast<int>(size_of(emit.b.type));
  if (narrow && emit.b.k_rows) {
    return fmt::format(
        "#pragma unroll\n"
        "for (int l = 0; l < 4; ++l) {{\n"
        "  const int row = warp_n + j * 8 + lane / 4 + l / 2 * 8, column = k + lane % 4 + l % 2 * "
        "4;\n"
        "  frag_b[to][j + l / 2][l % 2] = __float_as_uint(tile_b[{}]);\n"
        "}}",
        emit.place(false, "row", "column"));
  }
  std::string text;
  if (emit.b.k_rows) {
    text = fmt::format(
        "const int row = warp_n + j * 8 + lane / 16 * 8, column = k + lane / 8 % 2 * 8 + lane % "
        "8;\n"
        "unsigned pair[4];\n"
        "{}matrices_transposed(pair, &tile_b[{}]);\n",
        emit.prefix, emit.place(false, "row", "column"));
  } else {
    text = fmt::format(
        "const int row = warp_n + j * 8 + lane / 16 * 8 + lane % 8, column = k + lane / 8 % 2 * "
        "{};\n"
        "unsigned pair[4];\n"
        "{}matrices(pair, &tile_b[{}]);\n",
        half, emit.prefix, emit.place(false, "row", "column"));
  }
  return text +
         "#pragma unroll\nfor (int l = 0; l < 4; ++l) frag_b[to][j + l / 2][l % 2] = pair[l];";
}

}  // namespace

std::string mma_kernel(const Emitter& emit) {
  const Schedule& s = emit.s;
  const bool narrow = s.pipe == Pipe::kTf32 || s.pipe == Pipe::kTf32x3;
  const bool thrice = s.pipe == Pipe::kTf32x3;
  const int width = emit.store_width();
  Holes holes = emit.holes(width);
  holes["left"] = emit.totals("[i][j]", "0", 2);
  holes["right"] = emit.totals("[i][j]", "2", 2);
  holes["tiles_of_run"] = std::to_string(tiles_of_run(s));
  holes["write"] = filled(width == 4 ? kMmaWriteFour : kMmaWriteTwo, holes);
  holes["wm"] = std::to_string(s.wm);
  holes["wn"] = std::to_string(s.wn);
  holes["read_a"] = read_a(emit, narrow);
  holes["read_b"] = read_b(emit, narrow);
  const bool runs = emit.in_runs();
  const bool short_runs = adds_in_short_runs(emit.c, s.pipe);
  const int step = 32 / static_cast<int>(size_of(emit.a.type));  // of k
  if (short_runs) holes["added"] = "parts";
  holes["parts"] = runs ? "runs" : "parts";
  holes["runs"] = runs ? "float runs[kBlocksM][kBlocksN][4] = {};  // of this run of terms" : "";
  holes["in_runs"] = emit.about_runs();
  holes["before"] = (thrice && !runs) || short_runs
                        ? "float parts[kBlocksM][kBlocksN][4] = {};  // of this tile"
                        : "";
  holes["after"] =
      runs     ? filled(kMmaFold, holes)
      : thrice ? "// Rounded to nearest, which the tensor cores do not.\n" + std::string(kAddParts)
      : short_runs
          ? "// In f32: the tensor cores' own sums have 13 places.\n" + std::string(kAddParts)
          : "";
  holes["multiply"] = filled(thrice   ? kMultiplyThrice
                             : narrow ? std::string(kRoundFirst) + kMultiplyOnce
                                      : kMultiplyOnce,
                             holes);
  holes["if_end"] = holes["end"].empty() ? "" : filled("if (more) {\n  $end\n}", holes);
  std::string functions = matrix_loads(emit.prefix, SharedPlace::kPointer, !narrow) +
                          warp_multiply({.k = step,
                                         .kind = narrow ? "tf32" : kind_of(emit.a.type),
                                         .kind_b = narrow ? "tf32" : kind_of(emit.b.type),
                                         .b_in_array = true},
                                        emit.prefix);
  if (narrow) functions += tf32_roundings(emit.prefix, thrice);
  return functions + emit.with_constants(filled(kMmaKernel, holes), {{"kWarpM", s.wm},
                                                                     {"kWarpN", s.wn},
                                                                     {"kWarpsN", s.bn / s.wn},
                                                                     {"kBlocksM", s.wm / 16},
                                                                     {"kBlocksN", s.wn / 8},
                                                                     {"kStep", step}});
}

}  // namespace hone::schedules::contract
