// Device functions that stand before the kernels.
#include <fmt/format.h>

#include "rewriters/schedules/contract/emit.h"
#include "rewriters/schedules/printing/instructions.h"

namespace hone::schedules::contract {
namespace {

constexpr const char* kSwizzled = R"(
// Where an element of a tile is: bands of 128 bytes, in which the 16-byte pieces (kPiece elements)
// of each row change places, so that eight rows of one column lie in different banks.
template <int kRows, int kColumns, int kPiece>
__device__ __forceinline__ int $prefixswizzled(int row, int column) {
  constexpr int kBand = kColumns < 8 * kPiece ? kColumns : 8 * kPiece, kPieces = kBand / kPiece;
  const int turn = row / (8 / kPieces) % kPieces;
  return column / kBand * (kRows * kBand) + row * kBand +
         ((column % kBand / kPiece) ^ turn) * kPiece + column % kPiece;
}
)";

constexpr const char* kFold = R"(
// Adds a run's sum to the sum of the runs before. What that loses is the next run's beginning, so
// that nothing is lost in the end. (Kahan, Comm. ACM 8 (1965), 40.)
__device__ __forceinline__ void $prefixfold(float& sum, float& run) {
  const float more = sum + run;
  run = fabsf(more) <= 3.40282347e38f ? run - (more - sum) : 0.0f;
  sum = more;
}
// kCount neighbouring sums, with what is left of their runs.
template <int kCount>
__device__ __forceinline__ $prefixpack<double, kCount> $prefixtotals(const float* sums,
                                                                     const float* runs) {
  $prefixpack<double, kCount> totals;
#pragma unroll
  for (int j = 0; j < kCount; ++j) totals.at[j] = static_cast<double>(sums[j]) + runs[j];
  return totals;
}
)";

}  // namespace

std::string Emitter::helpers() const {
  const Holes holes = {{"prefix", prefix}};
  std::string text = pack_type(prefix);
  if (in_runs()) text += filled(kFold, holes);
  if (uses_async()) text += async_copies(prefix, SharedPlace::kPointer);
  if (a.swizzled || b.swizzled) text += filled(kSwizzled, holes);
  return text;
}

std::string Emitter::about_runs() const {
  if (!in_runs()) return "";
  return fmt::format(
      "\n// Terms are added in f32 in runs of {}, and these so that nothing of them is lost.",
      tiles_of_run(s) * s.bk);
}

std::string Emitter::totals(const std::string& at, const std::string& first, int count) const {
  if (in_runs())
    return fmt::format("{0}totals<{1}>(&sums{2}[{3}], &runs{2}[{3}])", prefix, count, at, first);
  std::string text;
  for (int j = 0; j < count; ++j) {
    text += fmt::format("{}sums{}[{}{}]", j == 0 ? "{" : ", ", at, first,
                        j == 0 ? "" : fmt::format(" + {}", j));
  }
  return text + "}";
}

}  // namespace hone::schedules::contract
