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
$once
#pragma unroll
for (int ahead = 0; ahead < $stages - 1; ++ahead) {
  if ($first + ahead < $end) {
    $start_ahead
    $end_ahead
  }
  $commit
}
)";

constexpr const char* kBefore = R"($wait
$before
)";

// Each of two tiles is copied while the other one is read.
constexpr const char* kExchanged = R"($definitions
$once
if ($first < $end) {
  $start_first
}
$commit
$if_before
for (int $round = $first; $round < $end; ++$round) {
  $wait
  $start_second
  $commit
  $body
  $wait
  if ($round + 1 < $end) {
    $start_next
  }
  $commit
  $exchanged
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

void StreamText::write(const Stream& stream, const Called& ring, const Called& once,
                       const Bodies& bodies, Code& code) {
  std::string definitions, start_once, start_ahead, end_ahead, start_next, end_next;
  std::vector<std::string> starts;  // of each tile's copies
  const std::string& round = values_.indices.at(stream.symbol);
  const std::string first = values_.print_index(stream.first);
  const std::string ahead = first == "0" ? "ahead" : first + " + ahead";
  bool async = false;
  const auto copied = [&](int at, const CopyTile& copy, const Called& called) {
    swizzled_ = swizzled_ || tile(at, copy.tile).layout.swizzle() != 0;
    async = async || copy.way == CopyWay::kAsync;
    packs_ = packs_ || copy.piece > 1;
    const CopyText::Copied text = CopyText(p_, values_, names_, parameters_, stream, at, copy,
                                           called.tiles[static_cast<std::size_t>(copy.tile)])
                                      .text();
    definitions += text.definition;
    return text;
  };
  for (const CopyTile& copy : stream.once)
    start_once += copied(stream.once_ring, copy, once).copy + "();\n";
  starts.resize(stream.copies.size());
  for (const CopyTile& copy : stream.copies) {
    const CopyText::Copied text = copied(stream.ring, copy, ring);
    starts[static_cast<std::size_t>(copy.tile)] = text.copy;
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
  const bool exchanges = p_.rings[static_cast<std::size_t>(stream.ring)].stages == 1;
  const std::string wait = exchanges ? "0" : ring.stages + " - 2";
  Holes holes = {
      {"stage", ring.stage},
      {"stages", ring.stages},
      {"round", round},
      {"first", first},
      {"end", values_.print_index(stream.end)},
      {"definitions", definitions},
      {"once", start_once},
      {"start_ahead", start_ahead},
      {"end_ahead", end_ahead},
      {"start_next", start_next},
      {"if_end", end_next.empty() ? "" : "if (more) {\n" + end_next + "}\n"},
      {"commit", async ? p_.prefix + "commit();" : ""},
      {"wait", (async ? fmt::format("{}wait<{}>();\n", p_.prefix, wait) : std::string()) +
                   "__syncthreads();"},
      {"before", bodies.before},
      {"body", bodies.body},
      {"exchanged", bodies.exchanged}};
  const std::string before = bodies.before.empty() ? "" : filled(kBefore, holes);
  if (exchanges) {
    holes["if_before"] = before;
    holes["start_first"] = fmt::format("{}(0, {});", starts[0], first);
    holes["start_second"] = fmt::format("{}(0, {});", starts[1], round);
    holes["start_next"] = fmt::format("{}(0, {} + 1);", starts[0], round);
    code.lines(filled(kExchanged, holes));
    return;
  }
  std::string text = filled(kFirstTiles, holes) + before;
  if (const ThreadMultiply* multiply = multiply_adds_of(stream)) {
    holes.merge(multiply_adds(*multiply, ring, bodies.sums));
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
  const auto in_stage = [&](int of, const Called& called, const SharedTile& tile) {
    return p_.rings[static_cast<std::size_t>(of)].stages == 1
               ? "0"
               : called.stage + " * " + elements(of, tile);
  };
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
                 {"read_b", read_of_b(b, "from_b", from_row(values_, multiply.b_row), frag_b,
                                      !fragments.empty())}};
  if (fragments.empty()) {
    const Called& called = in_ring ? ring : a_ring;
    holes["from_a"] =
        fmt::format("const {}* const from_a = &{}[{}];", type_name(a.type),
                    called.tiles[static_cast<std::size_t>(multiply.a)], in_stage(at_a, called, a));
    holes["read_a"] = read_of_a(a, "from_a", from_row(values_, multiply.a_row), frag_a);
  } else {
    holes["from_a"] = "";
  }
  holes["fresh"] = multiply.fresh
                       ? fmt::format("#pragma unroll\nfor (int i = 0; i < {}; ++i) {}[i] = 0.0f;",
                                     sums.count(), name)
                       : "";
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
                  from_row(values_, read.row), fmt::format("{}[i * {} + step]", to, steps))}}));
}

void StreamText::rounds(const RoundSums& round) {
  if (p_.fragments[static_cast<std::size_t>(round.fragments)].type != ScalarType::kF32) return;
  rounded_ = true;
  split_ = split_ || round.rest >= 0;
}

std::string StreamText::helpers() const {
  const Holes holes = {{"prefix", p_.prefix}};
  std::string text;
  if (async_) text += schedules::async_copies(p_.prefix, schedules::SharedPlace::kPointer);
  if (swizzled_) text += filled(kSwizzled, holes);
  if (matrices_) text += schedules::matrix_loads(p_.prefix, transposed_);
  text += product_;
  if (rounded_) text += schedules::tf32_roundings(p_.prefix, split_);
  return text;
}

}  // namespace hone::tile
