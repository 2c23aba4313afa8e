#include "rewriters/tile/tf32_text.h"

#include <fmt/format.h>

#include "rewriters/schedules/printing/instructions.h"
#include "rewriters/schedules/printing/text.h"
#include "rewriters/tile/operands.h"

namespace hone::tile {
namespace {

using schedules::filled;
using schedules::Holes;

constexpr const char* kReadAlongK = R"(const float* const from = $from;
const int row = $first + warp * 16 + lane % 16;
#pragma unroll
for (int j = 0; j < $eighths; ++j) {
  // The eighths of a row's 128 bytes are swizzled.
  $prefixmatrices($to[j], &from[row * 32 + ((j * 2 + lane / 16) ^ row % 8) * 4]);
  $make
  $settle
}
)";

constexpr const char* kReadAlongRows = R"(const float* const from = $from;
// Lanes of odd k ask for k + 4 first: no two lanes meet in a bank.
const bool odd = lane % 2 != 0;
#pragma unroll
for (int j = 0; j < $eighths; ++j) {
  #pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = $first + warp * 16 + half * 8 + lane / 4;
    unsigned got[2];
    #pragma unroll
    for (int l = 0; l < 2; ++l) {
      const int k = lane % 4 + (odd ? 4 - l * 4 : l * 4);
      const int line = row / 32 * 32 + j * 8 + k;
      got[l] = __float_as_uint(from[line * 32 + ((row % 32 / 4) ^ k) * 4 + row % 4]);
    }
    $to[j][half] = odd ? got[1] : got[0];
    $to[j][half + 2] = odd ? got[0] : got[1];
  }
  $make
  $settle
}
)";

// To the same places in the other tile.
constexpr const char* kSplit = R"(const float* const from = $from;
float* const rest = $rest;
#pragma unroll
for (int i = 0; i < $pieces; ++i) {
  const int at = (i * $threads + $thread) * 4;
  const $prefixpack<unsigned, 4> got = *reinterpret_cast<const $prefixpack<unsigned, 4>*>(&from[at]);
  $prefixpack<unsigned, 4> lower;
  #pragma unroll
  for (int l = 0; l < 4; ++l) lower.at[l] = $prefixleft(got.at[l]);
  *reinterpret_cast<$prefixpack<unsigned, 4>*>(&rest[at]) = lower;
}
)";

constexpr const char* kLeft = R"(
// What a product of tf32 leaves of x where it reads x itself: x less its upper 19 bits, as tf32.
__device__ __forceinline__ unsigned $prefixleft(unsigned bits) {
  return $prefixrounded(
      __float_as_uint(__uint_as_float(bits) - __uint_as_float(bits & 0xffffe000u)));
}
)";

}  // namespace

std::string Tf32Helpers::text(const std::string& prefix) const {
  std::string text;
  if (matrices) text += schedules::matrix_loads(prefix, false);
  if (rounded || split || left) text += schedules::tf32_roundings(prefix, split);
  if (left) text += filled(kLeft, {{"prefix", prefix}});
  return text;
}

std::string read_fragments(const SharedTile& tile, const ReadCall& call, const std::string& prefix,
                           Tf32Helpers& helpers) {
  const bool along_k = is_along_k(tile), rest = !call.rest.empty();
  if (rest || !call.rounded) (rest ? helpers.split : helpers.rounded) = true;
  helpers.matrices |= along_k;
  Holes holes = {{"prefix", prefix},        {"from", call.from},
                 {"first", call.first_row}, {"eighths", std::to_string(tile.layout.extent(1) / 8)},
                 {"to", call.to},           {"rest", call.rest}};
  const std::string each = rest           ? "$prefixsplit($to[j][l], $rest[j][l], $to[j][l]);"
                           : call.rounded ? ""
                                          : "$to[j][l] = $prefixrounded($to[j][l]);";
  holes["make"] =
      each.empty() ? "" : "#pragma unroll\nfor (int l = 0; l < 4; ++l) " + filled(each, holes);
  holes["settle"] = filled(
      rest ? "$prefixsettle($to[j]);\n$prefixsettle($rest[j]);" : "$prefixsettle($to[j]);", holes);
  return filled(along_k ? kReadAlongK : kReadAlongRows, holes);
}

std::string read_patch(const ReadPatch& read, const SharedTile& tile, const ReadCall& call,
                       const std::string& there, const std::string& prefix, Tf32Helpers& helpers) {
  const bool rest = !call.rest.empty();
  if (rest) helpers.split = true;
  const std::int64_t line = tile.layout.dimension(1)[0].stride;
  Holes holes = {{"prefix", prefix},
                 {"from", call.from},
                 {"row", call.first_row == "0" ? "" : call.first_row + " + "},
                 {"width", std::to_string(read.width)},
                 {"across", read.across == 1 ? "" : fmt::format(" * {}", read.across)},
                 {"down", std::to_string(read.down)},
                 {"line", std::to_string(line)},
                 {"lines", std::to_string(8 * line)},
                 {"half", std::to_string(4 * line)},
                 {"first", read.first == 0 ? "" : fmt::format("{} + ", read.first / 8)},
                 {"eighths", std::to_string(tile.layout.extent(1) / 8)},
                 {"to", call.to},
                 {"rest", call.rest},
                 {"there", there.empty() ? "" : there + " ? "},
                 {"else", there.empty() ? "" : " : 0u"}};
  holes["place"] = filled(
      read.down == 0 ? "row % $width$across" : "row / $width * $down + row % $width$across", holes);
  holes["split"] = rest ? filled(R"(#pragma unroll
for (int l = 0; l < 4; ++l) $prefixsplit($to[$firstj][l], $rest[$firstj][l], $to[$firstj][l]);
$prefixsettle($rest[$firstj]);
)",
                                 holes)
                        : "";
  return filled(R"(const float* const from = $from;
#pragma unroll
for (int half = 0; half < 2; ++half) {
  const int row = $rowwarp * 16 + half * 8 + lane / 4;
  const float* const at = &from[$place + lane % 4 * $line];
  #pragma unroll
  for (int j = 0; j < $eighths; ++j) {
    $to[$firstj][half] = $there__float_as_uint(at[j * $lines])$else;
    $to[$firstj][half + 2] = $there__float_as_uint(at[j * $lines + $half])$else;
  }
}
#pragma unroll
for (int j = 0; j < $eighths; ++j) {
  $split
  $prefixsettle($to[$firstj]);
}
)",
                holes);
}

std::string split_tile(const SharedTile& tile, const SplitCall& call, const std::string& prefix,
                       Tf32Helpers& helpers) {
  helpers.left = true;
  return filled(kSplit, {{"prefix", prefix},
                         {"from", call.from},
                         {"rest", call.rest},
                         {"threads", std::to_string(call.threads)},
                         {"thread", call.thread},
                         {"pieces", std::to_string(tile.layout.elements() / 4 / call.threads)}});
}

}  // namespace hone::tile
