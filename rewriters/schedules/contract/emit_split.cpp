// Sums that several blocks share: where each block's part goes, and the kernel that adds them up.
#include <fmt/format.h>

#include <algorithm>

#include "rewriters/affine/integers.h"
#include "rewriters/schedules/contract/emit.h"
#include "rewriters/schedules/nests.h"
#include "rewriters/schedules/products.h"

namespace hone::schedules::contract {

Buffer Emitter::partial_sums() const {
  using Shape = std::vector<std::int64_t>;
  return scratch_of({partial,
                     c.total_type,
                     shared > 0 ? Shape{s.tail, shared, s.bm, s.bn}
                                : Shape{s.split_k, c.batch_size, c.m_size, c.n_size},
                     Role::kScratch,
                     {}});
}

std::string Emitter::partial_store(int width, const Holes& given) const {
  Holes holes = given;
  holes["partial"] = partial;
  if (shared > 0) {
    holes["last"] = std::to_string(shared);
    holes["less"] = whole == 0 ? "" : " - kWhole";
    return filled(R"(const int in_tile = (m - m_first) * kTileN + n_run - n_first;
const int tile = slice * $last + ordinal$less;
*reinterpret_cast<$pack*>(&$partial[tile * (kTileM * kTileN) + in_tile]) = sum;
)",
                  holes);
  }
  holes["width"] = std::to_string(width);
  const bool wide = c.m_size * c.n_size * c.batch_size * s.split_k > INT32_MAX;
  holes["base"] = fmt::format("(({}slice * {} + {}) * kM + m) * kN", wide ? "(long long)" : "",
                              c.batch_size, c.batch_size == 1 ? "0" : "batch");
  return filled(c.n_size % width == 0
                    ? R"(*reinterpret_cast<$pack*>(&$partial[$base + n_run]) = sum;
)"
                    : R"(#pragma unroll
for (int j = 0; j < $width; ++j) {
  if (n_run + j < kN) $partial[$base + n_run + j] = sum.at[j];
}
)",
                holes);
}

std::string Emitter::second_kernel() const {
  if (shared > 0) return finish_tail();
  return s.split_k > 1 ? finish_slices() : "";
}

std::string Emitter::finish_slices() const {
  const int width = c.n_size % 4 == 0 ? 4 : 1;
  const std::int64_t runs = c.batch_size * c.m_size * (c.n_size / width);
  const bool wide = c.batch_size * c.m_size * c.n_size * s.split_k > INT32_MAX;
  const std::string index = wide ? "long long" : "int";
  return filled(R"(
// Adds up what the $split slices have summed, and finishes each output.
__global__ void __launch_bounds__(256) $prefixfinish($params) {
  constexpr int kM = $m, kRunsN = $runs_n;
  const $index run = blockIdx.x * ($index)256 + threadIdx.x;
  if (run >= $runs) return;
  const int n_run = run % kRunsN * $width, m = run / kRunsN % kM;
  $batch
  $pack sum = *reinterpret_cast<const $pack*>(&$partial[run * $width]);
#pragma unroll
  for (int slice = 1; slice < $split; ++slice) {
    const $pack more = *reinterpret_cast<const $pack*>(&$partial[($index)$total * slice + run * $width]);
#pragma unroll
    for (int j = 0; j < $width; ++j) sum.at[j] += more.at[j];
  }
  $body
}
)",
                {{"split", std::to_string(s.split_k)},
                 {"prefix", prefix},
                 {"params", parameters(false)},
                 {"m", std::to_string(c.m_size)},
                 {"runs_n", std::to_string(c.n_size / width)},
                 {"runs", std::to_string(runs)},
                 {"width", std::to_string(width)},
                 {"index", index},
                 {"total", std::to_string(c.batch_size * c.m_size * c.n_size)},
                 {"partial", partial},
                 {"batch", c.batch_size == 1 ? ""
                                             : fmt::format("const int batch = run / {};",
                                                           c.m_size * (c.n_size / width))},
                 {"pack", pack(type_name(c.total_type), std::to_string(width))},
                 {"body", finished(std::to_string(width), c.contiguous_n >= width, "sum")}});
}

std::string Emitter::finish_tail() const {
  const int width = c.n_size % 4 == 0 ? 4 : 1;
  const std::string kernel = filled(
      R"(
// Adds up what the blocks have summed that share a tile of the last wave, and finishes each output.
__global__ void __launch_bounds__(256) $prefixfinish($params) {
  $constants
  constexpr int kRuns = kTileM * kTileN / $width;  // of a tile
  const int number = blockIdx.x * 256 + threadIdx.x, run = number % kRuns;
  if (number >= $last * kRuns) return;
  const int ordinal = $whole + number / kRuns;
  $place
  const int m = m_first + run / (kTileN / $width), n_run = n_first + run % (kTileN / $width) * $width;
  if (m >= kM || n_run >= kN) return;
  $pack sum = *reinterpret_cast<const $pack*>(&$partial[number * $width]);
#pragma unroll
  for (int slice = 1; slice < $slices; ++slice) {
    const $pack more = *reinterpret_cast<const $pack*>(
        &$partial[slice * ($last * kTileM * kTileN) + number * $width]);
#pragma unroll
    for (int j = 0; j < $width; ++j) sum.at[j] += more.at[j];
  }
  $body
}
)",
      {{"prefix", prefix},
       {"params", parameters(false)},
       {"width", std::to_string(width)},
       {"last", std::to_string(shared)},
       {"whole", std::to_string(whole)},
       {"slices", std::to_string(s.tail)},
       {"partial", partial},
       {"place", tile_place("ordinal")},
       {"pack", pack(type_name(c.total_type), std::to_string(width))},
       {"body", finished(std::to_string(width), c.contiguous_n >= width, "sum")}});
  return with_constants(kernel, {});
}

GeneratedLaunch Emitter::second_launch() const {
  const int width = c.n_size % 4 == 0 ? 4 : 1;
  const std::int64_t outputs =
      shared > 0 ? shared * s.bm * s.bn : c.batch_size * c.m_size * c.n_size;
  GeneratedLaunch launch;
  launch.kernel = prefix + "finish";
  launch.grid = {ceil_divide(outputs / width, 256)};
  launch.block = {256};
  launch.args = buffers(false);
  return launch;
}

}  // namespace hone::schedules::contract
