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

std::string StreamText::helpers() const {
  const Holes holes = {{"prefix", p_.prefix}};
  std::string text;
  if (async_) text += schedules::async_copies(p_.prefix);
  if (swizzled_) text += filled(kSwizzled, holes);
  if (matrices_) text += schedules::matrix_loads(p_.prefix, transposed_);
  text += product_;
  if (rounded_) text += schedules::tf32_roundings(p_.prefix, split_);
  return text;
}

}  // namespace hone::tile
