#include "rewriters/tile/stream_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "rewriters/schedules/printing/instructions.h"
#include "rewriters/tile/copy_text.h"
#include "rewriters/tile/operands.h"

namespace hone::tile {
namespace {

using schedules::Code;
using schedules::filled;
using schedules::Holes;
using schedules::type_name;

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

constexpr const char* kFirstTiles = R"($definitions
#pragma unroll
for (int ahead = 0; ahead < $stages - 1; ++ahead) {
  if ($first + ahead < $end) {
    $start_ahead
    $end_ahead
  }
  $commit
}
)";

constexpr const char* kStream = R"(int $stage = 0, fill = $stages - 1;
for (int $round = $first; $round < $end; ++$round) {
  $wait
  const bool more = $round + $stages - 1 < $end;
  if (more) {
    const int next = $round + $stages - 1;
    $start_next
  }
  $commit
  $body
  $if_end
  $stage = $stage + 1 == $stages ? 0 : $stage + 1;
  fill = fill + 1 == $stages ? 0 : fill + 1;
}
)";

constexpr const char* kStreamOfThreads = R"($wait
$type* const here_a = $a + thread_m * $run;
$type* const here_b = $b + thread_n * $run;
$pack now_a[2][$runs_a], now_b[2][$runs_b];  // of this k and of the next
const auto read = [&](int to, int stage, int k) {
  $type* const line_a = here_a + stage * $elements_a + k * $line_a;
  $type* const line_b = here_b + stage * $elements_b + k * $line_b;
#pragma unroll
  for (int i = 0; i < $runs_a; ++i)
    now_a[to][i] = *reinterpret_cast<const $pack*>(line_a + i * $apart_a);
#pragma unroll
  for (int i = 0; i < $runs_b; ++i)
    now_b[to][i] = *reinterpret_cast<const $pack*>(line_b + i * $apart_b);
};
read(0, 0, 0);
int $stage = 0, fill = $stages - 1;
for (int $round = $first; $round < $end; ++$round) {
  const bool more = $round + $stages - 1 < $end;
#pragma unroll
  for (int k = 0; k < $ks; ++k) {
    if (k == $ks - 1) {
      $if_end
      $wait
      $stage = $stage + 1 == $stages ? 0 : $stage + 1;
      fill = fill + 1 == $stages ? 0 : fill + 1;
    }
    read((k + 1) % 2, $stage, (k + 1) % $ks);
    if (k == 0) {
      if (more) {
        const int next = $round + $stages - 1;
        $start_next
      }
      $commit
    }
#pragma unroll
    for (int i = 0; i < $rows; ++i) {
#pragma unroll
      for (int j = 0; j < $columns; ++j) {
        $sums[i * $columns + j] +=
            now_a[k % 2][i / $run].at[i % $run] * now_b[k % 2][j / $run].at[j % $run];
      }
    }
  }
  $body
}
)";

constexpr const char* kWarpMultiply = R"($fresh
const $type_a* const from_a = &$a[$stage * $elements_a];
const $type_b* const from_b = &$b[$stage * $elements_b];
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

/// "row + " of a product; nothing where the row is 0.
std::string from_row(schedules::Printer& values, nest::Ref row) {
  if (row->is_constant() && row->constant == 0) return "";
  return values.print_index(row) + " + ";
}

}  // namespace

std::string place_in(const SharedTile& tile, const std::string& prefix, const std::string& row,
                     const std::string& k) {
  const std::string& line = is_along_k(tile) ? row : k;
  const std::string& along = is_along_k(tile) ? k : row;
  if (tile.layout.swizzle() == 0) return fmt::format("{} * {} + {}", line, line_step(tile), along);
  return fmt::format(
      "{}swizzled<{}, {}, {}>({}, {})", prefix, tile.layout.extent(is_along_k(tile) ? 0 : 1),
      tile.layout.extent(is_along_k(tile) ? 1 : 0), 16 / size_of(tile.type), line, along);
}

const ThreadMultiply* multiply_adds_of(const Stream& stream) {
  return stream.body.empty() ? nullptr : std::get_if<ThreadMultiply>(&stream.body.front().is);
}

std::string thread_places(const Sums& sums) {
  return filled(
      R"(// A warp is 4 x 8 threads, interleaved: each shared load of half a warp asks 128 bytes at most.
const int thread_m = warp / $warps_n * 4 + lane / 16 * 2 + lane % 2;
const int thread_n = warp % $warps_n * 8 + lane / 2 % 8;
)",
      {{"warps_n", std::to_string(sums.across / 8)}});
}

std::string StreamText::elements(int ring, const SharedTile& tile) const {
  return std::to_string(p_.stage_step(ring, tile) / static_cast<std::int64_t>(size_of(tile.type)));
}

void StreamText::write(const Stream& stream, const Called& ring, const std::string& sums,
                       const std::string& body, Code& code) {
  std::string definitions, start_ahead, end_ahead, start_next, end_next;
  const std::string& round = values_.indices.at(stream.symbol);
  const std::string first = values_.print_index(stream.first);
  const std::string ahead = first == "0" ? "ahead" : first + " + ahead";
  bool async = false;
  for (const CopyTile& copy : stream.copies) {
    swizzled_ = swizzled_ || tile(stream.ring, copy.tile).layout.swizzle() != 0;
    async = async || copy.way == CopyWay::kAsync;
    packs_ = packs_ || copy.piece > 1;
    const CopyText::Copied text = CopyText(p_, values_, names_, parameters_, stream, copy,
                                           ring.tiles[static_cast<std::size_t>(copy.tile)])
                                      .text();
    definitions += text.definition;
    if (!text.in_two) {
      start_ahead += fmt::format("{}(ahead, {});\n", text.copy, ahead);
      start_next += fmt::format("{}(fill, next);\n", text.copy);
      continue;
    }
    start_ahead += fmt::format("{}({});\n", text.fetch, ahead);
    end_ahead += fmt::format("{}(ahead);\n", text.keep);
    start_next += fmt::format("{}(next);\n", text.fetch);
    end_next += fmt::format("{}(fill);\n", text.keep);
  }
  async_ = async_ || async;
  Holes holes = {{"stage", ring.stage},
                 {"stages", ring.stages},
                 {"round", round},
                 {"first", first},
                 {"end", values_.print_index(stream.end)},
                 {"definitions", definitions},
                 {"start_ahead", start_ahead},
                 {"end_ahead", end_ahead},
                 {"start_next", start_next},
                 {"if_end", end_next.empty() ? "" : "if (more) {\n" + end_next + "}\n"},
                 {"commit", async ? p_.prefix + "commit();" : ""},
                 {"wait", (async ? fmt::format("{}wait<{} - 2>();\n", p_.prefix, ring.stages)
                                 : std::string()) +
                              "__syncthreads();"},
                 {"body", body}};
  std::string text = filled(kFirstTiles, holes);
  if (const ThreadMultiply* multiply = multiply_adds_of(stream)) {
    holes.merge(multiply_adds(*multiply, ring, sums));
    text += filled(kStreamOfThreads, holes);
  } else {
    text += filled(kStream, holes);
  }
  code.lines(text);
}

Holes StreamText::multiply_adds(const ThreadMultiply& multiply, const Called& ring,
                                const std::string& name) {
  packs_ = true;
  const SharedTile& a = tile(multiply.ring, multiply.a);
  const SharedTile& b = tile(multiply.ring, multiply.b);
  const Sums& sums = p_.sums[static_cast<std::size_t>(multiply.sums)];
  const int run = sums.run();
  const auto apart = [&](const SharedTile& tile, int each) {
    return std::to_string(tile.layout.extent(0) / (each / run));
  };
  return {{"type", "const " + std::string(type_name(a.type))},
          {"pack", fmt::format("{}pack<{}, {}>", p_.prefix, type_name(a.type), run)},
          {"a", ring.tiles[static_cast<std::size_t>(multiply.a)]},
          {"b", ring.tiles[static_cast<std::size_t>(multiply.b)]},
          {"elements_a", elements(multiply.ring, a)},
          {"elements_b", elements(multiply.ring, b)},
          {"line_a", std::to_string(line_step(a))},
          {"line_b", std::to_string(line_step(b))},
          {"apart_a", apart(a, sums.rows)},
          {"apart_b", apart(b, sums.columns)},
          {"run", std::to_string(run)},
          {"runs_a", std::to_string(sums.rows / run)},
          {"runs_b", std::to_string(sums.columns / run)},
          {"rows", std::to_string(sums.rows)},
          {"columns", std::to_string(sums.columns)},
          {"ks", std::to_string(a.layout.extent(1))},
          {"sums", name}};
}

/// How lanes find what they read of a: 16 rows by one step of k.
std::string StreamText::read_of_a(const SharedTile& tile, const std::string& from,
                                  const std::string& row) {
  const int half = 16 / static_cast<int>(size_of(tile.type));
  const std::string place = place_in(tile, p_.prefix, "row", "column");
  const auto with = [&](const char* text) {
    return filled(text, {{"prefix", p_.prefix},
                         {"from", from},
                         {"row", row},
                         {"half", std::to_string(half)},
                         {"place", place}});
  };
  if (is_along_k(tile)) {
    matrices_ = true;
    return with(R"(const int row = $rowi * 16 + lane % 16, column = k + lane / 16 * $half;
$prefixmatrices(frag_a[to][i], &$from[$place]);
)");
  }
  if (tile.type == ScalarType::kF32) {
    return with(R"(#pragma unroll
for (int l = 0; l < 4; ++l) {
  const int row = $rowi * 16 + lane / 4 + l % 2 * 8, column = k + lane % 4 + l / 2 * 4;
  frag_a[to][i][l] = __float_as_uint($from[$place]);
}
)");
  }
  matrices_ = transposed_ = true;
  return with(R"(const int row = $rowi * 16 + lane / 8 % 2 * 8;
const int column = k + lane / 16 * 8 + lane % 8;
$prefixmatrices_transposed(frag_a[to][i], &$from[$place]);
)");
}

/// Of b: one step of k by two times 8 columns.
std::string StreamText::read_of_b(const SharedTile& tile, const std::string& from,
                                  const std::string& row) {
  const int half = 16 / static_cast<int>(size_of(tile.type));
  const std::string place = place_in(tile, p_.prefix, "row", "column");
  const auto with = [&](const std::string& text) {
    return filled(text, {{"prefix", p_.prefix},
                         {"from", from},
                         {"row", row},
                         {"half", std::to_string(half)},
                         {"place", place}});
  };
  if (tile.type == ScalarType::kF32 && !is_along_k(tile)) {
    return with(R"(#pragma unroll
for (int l = 0; l < 4; ++l) {
  const int row = $rowj * 8 + lane / 4 + l / 2 * 8, column = k + lane % 4 + l % 2 * 4;
  frag_b[to][j + l / 2][l % 2] = __float_as_uint($from[$place]);
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
for (int l = 0; l < 4; ++l) frag_b[to][j + l / 2][l % 2] = pair[l];
)");
}

void StreamText::write(const WarpMultiply& multiply, const Called& ring, const std::string& name,
                       Code& code) {
  const SharedTile& a = tile(multiply.ring, multiply.a);
  const SharedTile& b = tile(multiply.ring, multiply.b);
  const Sums& sums = p_.sums[static_cast<std::size_t>(multiply.sums)];
  const bool tf32 = a.type == ScalarType::kF32;
  const std::int64_t step = wgmma_k(a.type);
  rounded_ = rounded_ || tf32;
  split_ = split_ || multiply.thrice;
  Holes holes = {{"prefix", p_.prefix},
                 {"sums", name},
                 {"stage", ring.stage},
                 {"type_a", type_name(a.type)},
                 {"type_b", type_name(b.type)},
                 {"a", ring.tiles[static_cast<std::size_t>(multiply.a)]},
                 {"b", ring.tiles[static_cast<std::size_t>(multiply.b)]},
                 {"elements_a", elements(multiply.ring, a)},
                 {"elements_b", elements(multiply.ring, b)},
                 {"blocks_m", std::to_string(sums.rows / 16)},
                 {"blocks_n", std::to_string(sums.columns / 8)},
                 {"steps", std::to_string(a.layout.extent(1) / step)},
                 {"step", std::to_string(step)},
                 {"read_a", read_of_a(a, "from_a", from_row(values_, multiply.a_row))},
                 {"read_b", read_of_b(b, "from_b", from_row(values_, multiply.b_row))}};
  holes["fresh"] = multiply.fresh
                       ? fmt::format("#pragma unroll\nfor (int i = 0; i < {}; ++i) {}[i] = 0.0f;",
                                     sums.count(), name)
                       : "";
  holes["multiply"] = filled(
      multiply.thrice ? std::string(kThrice) : (tf32 ? kRoundFirst : "") + std::string(kOnce),
      holes);
  const auto kind = [&](ScalarType type) { return tf32 ? "tf32" : schedules::kind_of(type); };
  product_ = schedules::warp_multiply({.k = static_cast<int>(step),
                                       .kind = kind(a.type),
                                       .kind_b = kind(b.type),
                                       .b_in_array = true},
                                      p_.prefix);
  code.block(filled(kWarpMultiply, holes));
}

std::string StreamText::helpers() const {
  const Holes holes = {{"prefix", p_.prefix}};
  std::string text;
  if (async_) text += schedules::async_copies(p_.prefix, schedules::SharedPlace::kPointer);
  if (swizzled_) text += filled(kSwizzled, holes);
  if (matrices_)
    text += schedules::matrix_loads(p_.prefix, schedules::SharedPlace::kPointer, transposed_);
  text += product_;
  if (rounded_) text += schedules::tf32_roundings(p_.prefix, split_);
  return text;
}

}  // namespace hone::tile
