// StreamText for the products of warps: what lanes read of tiles, and what they multiply.
#include <fmt/format.h>

#include "rewriters/schedules/printing/instructions.h"
#include "rewriters/tile/copy_text.h"
#include "rewriters/tile/operands.h"
#include "rewriters/tile/stream_text.h"

namespace hone::tile {
namespace {

using schedules::Code;
using schedules::filled;
using schedules::Holes;
using schedules::type_name;

constexpr const char* kWarpMultiply = R"($fresh
$from_a
const $type_b* const from_b = &$b[$at_b];
unsigned frag_a[2][$blocks_m][4], frag_b[2][$blocks_n][2];  // of this step of k and of the next
const auto read = [&](int to, int k) {
#pragma unroll
  for (int i = 0; i < $blocks_m; ++i) {
    $read_a
  }
#pragma unroll
  for (int j = 0; j < $blocks_n; j += 2) {
    $read_b
  }
};
read(0, 0);
#pragma unroll
for (int step = 0; step < $steps; ++step) {
  const int now = step % 2;
  if (step + 1 < $steps) read(1 - now, (step + 1) * $step);
  $multiply
}
)";

constexpr const char* kOneByOne = R"($fresh
$from_a
const $type_b* const from_b = &$b[$at_b];
#pragma unroll
for (int step = 0; step < $steps; ++step) {
  const int k = step * $step;
  $fragments_a
  #pragma unroll
  for (int j = 0; j < $blocks_n; j += 2) {
    $fragments_b
    #pragma unroll
    for (int i = 0; i < $blocks_m; ++i) {
      float* const to = &$sums[(i * $blocks_n + j) * 4];
      $products
    }
  }
}
)";

constexpr const char* kOneByOneInParts = R"(const $type_b* const from_b = &$b[$at_b];
#pragma unroll
for (int j = 0; j < $blocks_n; j += 2) {
  float part[$blocks_m][8] = {};
  #pragma unroll
  for (int step = 0; step < $steps; ++step) {
    const int k = step * $step;
    $fragments_b
    #pragma unroll
    for (int i = 0; i < $blocks_m; ++i) {
      float* const to = part[i];
      $products
    }
  }
  #pragma unroll
  for (int i = 0; i < $blocks_m; ++i) {
    #pragma unroll
    for (int l = 0; l < 8; ++l) $sums[(i * $blocks_n + j) * 4 + l] += part[i][l];
  }
}
)";

constexpr const char* kOnce = R"(#pragma unroll
for (int i = 0; i < $blocks_m; ++i) {
#pragma unroll
  for (int j = 0; j < $blocks_n; ++j)
    $prefixmultiply(&$sums[(i * $blocks_n + j) * 4], frag_a[now][i], frag_b[now][j]);
}
)";

constexpr const char* kRoundFirst = R"(#pragma unroll
for (int i = 0; i < $blocks_m; ++i)
#pragma unroll
  for (int l = 0; l < 4; ++l) frag_a[now][i][l] = $prefixrounded(frag_a[now][i][l]);
#pragma unroll
for (int j = 0; j < $blocks_n; ++j)
#pragma unroll
  for (int l = 0; l < 2; ++l) frag_b[now][j][l] = $prefixrounded(frag_b[now][j][l]);
)";

constexpr const char* kThrice = R"(unsigned small_b[$blocks_n][2];
#pragma unroll
for (int j = 0; j < $blocks_n; ++j) {
#pragma unroll
  for (int l = 0; l < 2; ++l) $prefixsplit(frag_b[now][j][l], small_b[j][l], frag_b[now][j][l]);
}
#pragma unroll
for (int i = 0; i < $blocks_m; ++i) {
  unsigned small_a[4];
#pragma unroll
  for (int l = 0; l < 4; ++l) $prefixsplit(frag_a[now][i][l], small_a[l], frag_a[now][i][l]);
  float* const row = &$sums[i * $blocks_n * 4];
#pragma unroll
  for (int j = 0; j < $blocks_n; ++j) $prefixmultiply(&row[j * 4], small_a, frag_b[now][j]);
#pragma unroll
  for (int j = 0; j < $blocks_n; ++j) $prefixmultiply(&row[j * 4], frag_a[now][i], small_b[j]);
#pragma unroll
  for (int j = 0; j < $blocks_n; ++j) $prefixmultiply(&row[j * 4], frag_a[now][i], frag_b[now][j]);
}
)";

constexpr const char* kHalfWarpMultiply = R"($fresh
const float* const from_a = &$a[$at_a + $rowlane / 16 * $rows];
const float* const from_b = &$b[$at_b + lane % 16 * $run];
#pragma unroll 4
for (int k = 0; k < $ks; ++k) {
  float one[$rows], other[$columns];
  #pragma unroll
  for (int i = 0; i < $rows; ++i) one[i] = from_a[k * $line_a + i];
  #pragma unroll
  for (int j = 0; j < $columns; ++j)
    other[j] = from_b[k * $line_b + j / $run * $apart + j % $run];
  #pragma unroll
  for (int i = 0; i < $rows; ++i) {
    #pragma unroll
    for (int j = 0; j < $columns; ++j) $sums[i * $columns + j] += one[i] * other[j];
  }
}
)";

constexpr const char* kKeepSums = R"(// A warp's threads read only what they wrote.
__syncwarp();
float* const to = &$to[$rowlane / 16 * $rows + lane % 16 * $of_thread];
#pragma unroll
for (int j = 0; j < $columns; ++j) {
  #pragma unroll
  for (int i = 0; i < $rows; ++i)
    to[$place + i] = $sums[i * $columns + j];
}
__syncwarp();
)";

/// "row + " of a product; nothing where the row is 0.
std::string rows_from(schedules::Printer& values, nest::Ref row) {
  if (row->is_constant() && row->constant == 0) return "";
  return values.print_index(row) + " + ";
}

/// The lines that set sums to 0, where that is asked.
std::string set_to_0(const std::string& sums, int count) {
  return fmt::format("#pragma unroll\nfor (int i = 0; i < {}; ++i) {}[i] = 0.0f;", count, sums);
}

}  // namespace

std::string StreamText::in_stage(int ring, const Called& called, const SharedTile& tile) const {
  return p_.rings[static_cast<std::size_t>(ring)].stages == 1
             ? "0"
             : called.stage + " * " + elements(ring, tile);
}

/// How lanes find what they read of a: 16 rows by one step of k.
std::string StreamText::read_of_a(const SharedTile& tile, const std::string& from,
                                  const std::string& row, const std::string& to) {
  const int half = 16 / static_cast<int>(size_of(tile.type));
  const std::string place = place_in(tile, p_.prefix, "row", "column");
  const auto with = [&](const char* text) {
    return filled(text, {{"prefix", p_.prefix},
                         {"from", from},
                         {"row", row},
                         {"to", to},
                         {"half", std::to_string(half)},
                         {"place", place}});
  };
  if (is_along_k(tile)) {
    matrices_ = true;
    return with(R"(const int row = $rowi * 16 + lane % 16, column = k + lane / 16 * $half;
$prefixmatrices($to, &$from[$place]);
)");
  }
  if (tile.type == ScalarType::kF32) {
    return with(R"(#pragma unroll
for (int l = 0; l < 4; ++l) {
  const int row = $rowi * 16 + lane / 4 + l % 2 * 8, column = k + lane % 4 + l / 2 * 4;
  $to[l] = __float_as_uint($from[$place]);
}
)");
  }
  matrices_ = transposed_ = true;
  return with(R"(const int row = $rowi * 16 + lane / 8 % 2 * 8;
const int column = k + lane / 16 * 8 + lane % 8;
$prefixmatrices_transposed($to, &$from[$place]);
)");
}

/// Of b: one step of k by two times 8 columns.
std::string StreamText::read_of_b(const SharedTile& tile, const std::string& from,
                                  const std::string& row, const std::string& to, bool as_rounded) {
  const int half = 16 / static_cast<int>(size_of(tile.type));
  const std::string place = place_in(tile, p_.prefix, "row", "column");
  const auto with = [&](const std::string& text) {
    return filled(text, {{"prefix", p_.prefix},
                         {"from", from},
                         {"row", row},
                         {"to", to},
                         {"half", std::to_string(half)},
                         {"in_step", as_rounded ? "lane % 4 * 2 + l % 2" : "lane % 4 + l % 2 * 4"},
                         {"place", place}});
  };
  if (tile.type == ScalarType::kF32 && !is_along_k(tile)) {
    return with(R"(#pragma unroll
for (int l = 0; l < 4; ++l) {
  const int row = $rowj * 8 + lane / 4 + l / 2 * 8, column = k + $in_step;
  $to = __float_as_uint($from[$place]);
}
)");
  }
  matrices_ = true;
  transposed_ = transposed_ || !is_along_k(tile);
  const std::string where = is_along_k(tile)
                                ? R"(const int row = $rowj * 8 + lane / 16 * 8 + lane % 8;
const int column = k + lane / 8 % 2 * $half;
unsigned pair[4];
$prefixmatrices(pair, &$from[$place]);
)"
                                : R"(const int row = $rowj * 8 + lane / 16 * 8;
const int column = k + lane / 8 % 2 * 8 + lane % 8;
unsigned pair[4];
$prefixmatrices_transposed(pair, &$from[$place]);
)";
  return with(where + R"(#pragma unroll
for (int l = 0; l < 4; ++l) $to = pair[l];
)");
}

/// Fragments of b, two times 8 columns of them, are read where they are multiplied.
std::string StreamText::one_by_one(const WarpMultiply& multiply, const SharedTile& b, Holes holes,
                                   const std::string& a, const std::string& rest) {
  const bool tf32 = b.type == ScalarType::kF32, in_registers = !a.empty();
  const std::string at = "[i * " + holes.at("steps") + " + step]";
  holes["frag_a"] = in_registers ? a + at : "frag_a[i]";
  holes["small_a"] = in_registers ? rest + at : "small_a[i]";
  const auto made = [&](const std::string& big, const std::string& small) {
    if (!tf32) return std::string();
    return multiply.thrice ? fmt::format("{0}split({1}, {2}, {1});", p_.prefix, big, small)
                           : fmt::format("{0} = {1}rounded({0});", big, p_.prefix);
  };
  const auto all_made = [&](int count, const std::string& one) {
    return one.empty() ? one
                       : fmt::format("#pragma unroll\nfor (int l = 0; l < {}; ++l) {}", count, one);
  };
  holes["make_a"] = all_made(4, made("frag_a[i][l]", "small_a[i][l]"));
  holes["make_b"] = all_made(4, made("frag_b[l / 2][l % 2]", "small_b[l / 2][l % 2]"));
  holes["declare_a"] = multiply.thrice ? filled(", small_a[$blocks_m][4]", holes) : "";
  holes["declare_b"] = multiply.thrice ? ", small_b[2][2]" : "";
  holes["fragments_a"] = in_registers ? ""
                                      : filled(R"(unsigned frag_a[$blocks_m][4]$declare_a;
#pragma unroll
for (int i = 0; i < $blocks_m; ++i) {
  $read_a
  $make_a
}
)",
                                               holes);
  holes["fragments_b"] = filled(R"(unsigned frag_b[2][2]$declare_b;
$read_b
$make_b
)",
                                holes);
  holes["products"] = filled(multiply.thrice ? R"(#pragma unroll
for (int l = 0; l < 2; ++l) {
  $prefixmultiply(to + l * 4, $small_a, frag_b[l]);
  $prefixmultiply(to + l * 4, $frag_a, small_b[l]);
  $prefixmultiply(to + l * 4, $frag_a, frag_b[l]);
}
)"
                                             : R"($prefixmultiply(to, $frag_a, frag_b[0]);
$prefixmultiply(to + 4, $frag_a, frag_b[1]);
)",
                             holes);
  return filled(multiply.in_parts ? kOneByOneInParts : kOneByOne, holes);
}

void StreamText::write(const WarpMultiply& multiply, const Called& ring, const Called& a_ring,
                       const std::string& name, const std::string& fragments,
                       const std::string& rest, Code& code) {
  const int at_a = multiply.a_ring < 0 ? multiply.ring : multiply.a_ring;
  const SharedTile& b = tile(multiply.ring, multiply.b);
  const SharedTile& a = fragments.empty() ? tile(at_a, multiply.a) : b;
  const Sums& sums = p_.sums[static_cast<std::size_t>(multiply.sums)];
  const bool tf32 = b.type == ScalarType::kF32;
  const std::int64_t step = wgmma_k(b.type);
  rounded_ = rounded_ || tf32;
  split_ = split_ || multiply.thrice;
  const bool in_ring = at_a == multiply.ring;
  const std::string frag_a = multiply.ahead ? "frag_a[to][i]" : "frag_a[i]";
  const std::string frag_b =
      multiply.ahead ? "frag_b[to][j + l / 2][l % 2]" : "frag_b[l / 2][l % 2]";
  Holes holes = {{"prefix", p_.prefix},
                 {"sums", name},
                 {"type_a", type_name(a.type)},
                 {"type_b", type_name(b.type)},
                 {"b", ring.tiles[static_cast<std::size_t>(multiply.b)]},
                 {"at_b", in_stage(multiply.ring, ring, b)},
                 {"blocks_m", std::to_string(sums.rows / 16)},
                 {"blocks_n", std::to_string(sums.columns / 8)},
                 {"steps", std::to_string(b.layout.extent(1) / step)},
                 {"step", std::to_string(step)},
                 {"read_b", read_of_b(b, "from_b", rows_from(values_, multiply.b_row), frag_b,
                                      !fragments.empty())}};
  if (fragments.empty()) {
    const Called& called = in_ring ? ring : a_ring;
    holes["from_a"] =
        fmt::format("const {}* const from_a = &{}[{}];", type_name(a.type),
                    called.tiles[static_cast<std::size_t>(multiply.a)], in_stage(at_a, called, a));
    holes["read_a"] = read_of_a(a, "from_a", rows_from(values_, multiply.a_row), frag_a);
  } else {
    holes["from_a"] = "";
  }
  holes["fresh"] = multiply.fresh ? set_to_0(name, sums.count()) : "";
  const auto kind = [&](ScalarType type) { return tf32 ? "tf32" : schedules::kind_of(type); };
  product_ = schedules::warp_multiply(
      {.k = static_cast<int>(step), .kind = kind(a.type), .kind_b = kind(b.type)}, p_.prefix);
  if (!multiply.ahead) {
    code.block(one_by_one(multiply, b, std::move(holes), fragments, rest));
    return;
  }
  holes["multiply"] = filled(
      multiply.thrice ? std::string(kThrice) : (tf32 ? kRoundFirst : "") + std::string(kOnce),
      holes);
  code.block(filled(kWarpMultiply, holes));
}

void StreamText::write(const ReadFragments& read, const Called& ring, const std::string& to,
                       Code& code) {
  const SharedTile& from = tile(read.ring, read.tile);
  const Fragments& fragments = p_.fragments[static_cast<std::size_t>(read.fragments)];
  const std::int64_t step = wgmma_k(from.type), steps = fragments.columns / step;
  code.lines(filled(
      R"(#pragma unroll
for (int i = 0; i < $blocks; ++i) {
  #pragma unroll
  for (int step = 0; step < $steps; ++step) {
    const int k = step * $step;
    $read
  }
}
)",
      {{"blocks", std::to_string(fragments.warp_rows / 16)},
       {"steps", std::to_string(steps)},
       {"step", std::to_string(step)},
       {"read",
        read_of_a(from, ring.tiles[static_cast<std::size_t>(read.tile)],
                  rows_from(values_, read.row), fmt::format("{}[i * {} + step]", to, steps))}}));
}

void StreamText::rounds(const RoundSums& round) {
  if (p_.fragments[static_cast<std::size_t>(round.fragments)].type != ScalarType::kF32) return;
  rounded_ = true;
  split_ = split_ || round.rest >= 0;
}

void StreamText::write(const HalfWarpMultiply& multiply, const Called& ring, const Called& a_ring,
                       const std::string& name, Code& code) {
  const SharedTile& a = tile(multiply.a_ring, multiply.a);
  const SharedTile& b = tile(multiply.ring, multiply.b);
  const Sums& sums = p_.sums[static_cast<std::size_t>(multiply.sums)];
  code.block(
      filled(kHalfWarpMultiply, {{"fresh", multiply.fresh ? set_to_0(name, sums.count()) : ""},
                                 {"sums", name},
                                 {"a", a_ring.tiles[static_cast<std::size_t>(multiply.a)]},
                                 {"b", ring.tiles[static_cast<std::size_t>(multiply.b)]},
                                 {"at_a", in_stage(multiply.a_ring, a_ring, a)},
                                 {"at_b", in_stage(multiply.ring, ring, b)},
                                 {"row", rows_from(values_, multiply.a_row)},
                                 {"rows", std::to_string(sums.rows)},
                                 {"columns", std::to_string(sums.columns)},
                                 {"run", std::to_string(sums.run())},
                                 {"apart", std::to_string(16 * sums.run())},
                                 {"ks", std::to_string(b.layout.extent(1))},
                                 {"line_a", std::to_string(line_step(a))},
                                 {"line_b", std::to_string(line_step(b))}}));
}

void StreamText::write(const KeepSums& keep, const Called& ring, const std::string& name,
                       Code& code) {
  const SharedTile& to = tile(keep.ring, keep.tile);
  const Sums& sums = p_.sums[static_cast<std::size_t>(keep.sums)];
  const std::int64_t line = line_step(to), run = sums.run();
  code.block(filled(kKeepSums, {{"to", ring.tiles[static_cast<std::size_t>(keep.tile)]},
                                {"sums", name},
                                {"row", rows_from(values_, keep.row)},
                                {"rows", std::to_string(sums.rows)},
                                {"columns", std::to_string(sums.columns)},
                                {"of_thread", std::to_string(run * line)},
                                {"place", fmt::format("(j / {} * {} + j % {}) * {}", run, 16 * run,
                                                      run, line)}}));
}

}  // namespace hone::tile
