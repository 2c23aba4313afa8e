// From global to shared memory.
#include <fmt/format.h>

#include "rewriters/generators/contract/emit.h"

namespace hone::generators::contract {

std::string Emitter::place(bool is_a, const std::string& outer, const std::string& k) const {
  const Tile& tile = is_a ? a : b;
  const std::string& row = tile.k_rows ? k : outer;
  const std::string& column = tile.k_rows ? outer : k;
  if (tile.swizzled) {
    return fmt::format("{}swizzled<{}, {}, {}>({}, {})", prefix, tile.rows, tile.columns,
                       16 / size_of(tile.type), row, column);
  }
  const bool name = row.find(' ') == row.npos;
  return fmt::format("{} * {} + {}", name ? row : "(" + row + ")", tile.stride, column);
}

Emitter::Move Emitter::move(bool is_a) const {
  const Operand& operand = is_a ? c.a : c.b;
  const Tile& tile = is_a ? a : b;
  const std::string letter = is_a ? "a" : "b", outer = is_a ? "m" : "n";
  const std::string capital = is_a ? "A" : "B";
  const int pieces = tile.pieces(), threads = s.threads();
  const std::int64_t outer_size = is_a ? c.m_size : c.n_size;

  const std::string type = type_name(tile.type);
  Printer print = printer("");
  std::string inside;
  const auto require = [&](const std::string& condition) {
    inside += (inside.empty() ? "" : " && ") + condition;
  };
  if (outer_size % tile.outer != 0) require(fmt::format("{} < k{}", outer, is_a ? "M" : "N"));
  if (c.k_size % s.bk != 0) require("k < kK");
  const bool masked = !operand.mask->is_constant();
  const bool by_element = masked && tile.piece > 1;
  if (masked && !by_element) require("(" + print.print(operand.mask) + ")");

  const int piece = tile.piece;
  const std::string run = piece == 1 ? "" : fmt::format(" * {}", piece);
  const int along = (tile.along_k ? s.bk : tile.outer) / piece;
  std::string place_of_piece;
  Holes holes = {
      {"prefix", prefix},
      {"letter", letter},
      {"capital", capital},
      {"outer", outer},
      {"type", type},
      {"rounds", std::to_string((pieces + threads - 1) / threads)},
      {"piece", std::to_string(piece)},
      {"beyond", pieces % threads == 0 ? "" : fmt::format("if (piece >= {}) break;", pieces)},
      {"along", fmt::format("piece % {}{}", along, run)},
      {"across", fmt::format("piece / {}", along)},
      {"in_tile", tile.along_k ? fmt::format("tile_k = piece % {}{}, tile_{} = piece / {}", along,
                                             run, outer, along)
                               : fmt::format("tile_{} = piece % {}{}, tile_k = piece / {}", outer,
                                             along, run, along)},
      {"place", place(is_a, "tile_" + outer, "tile_k")},
      {"bytes", std::to_string(piece * static_cast<int>(size_of(tile.type)))},
  };
  holes["loop"] = filled(R"(#pragma unroll
for (int i = 0; i < $rounds; ++i) {
  const int piece = i * kThreads + thread;
  $beyond
  const int $in_tile;
)",
                         holes);
  holes["at"] = filled("const int k = tile * kTileK + tile_k, $outer = $outer_first + tile_$outer;",
                       {{"outer", outer}, {"outer_first", outer + "_first"}});

  Move result;
  if (tile.async) {
    const std::string buffer = parameter_name(operand.value->op);
    holes["element"] = print.print_index(operand.value->args[0]);
    holes["buffer"] = buffer;
    holes["copy"] = filled(
        inside.empty()
            ? "$prefixcopy<$bytes>(to, &$buffer[$element]);"
            : "$prefixcopy<$bytes>(to, inside ? &$buffer[$element] : $buffer, inside);",
        holes);
    holes["inside"] = inside.empty() ? "" : "const bool inside = " + inside + ";";
    result.definition = filled(R"(// A tile of $capital straight to shared memory, $bytes bytes a time; zeros beyond the edges.
const auto copy_$letter = [&](int stage, int tile) {
  $loop
    $at
    $inside
    $type* const to = &shared_$letter[stage * kElements$capital + $place];
    $copy
  }
};
)",
                               holes);
    result.start = fmt::format("copy_{}(fill, next);", letter);
    return result;
  }

  const ScalarType loaded = operand.value->type;
  holes["zero"] = tile.type == ScalarType::kF16    ? "__float2half(0.0f)"
                  : tile.type == ScalarType::kBf16 ? "__float2bfloat16(0.0f)"
                                                   : literal(0, tile.type);
  if (tile.vector) {
    holes["from"] = type_name(loaded);
    holes["element"] = print.print_index(operand.value->args[0]);
    holes["buffer"] = parameter_name(operand.value->op);
    holes["if_inside"] = inside.empty() ? "" : "if (" + inside + ") ";
    print.known[operand.value] = loaded == ScalarType::kF16    ? "__half2float(got.at[j])"
                                 : loaded == ScalarType::kBf16 ? "__bfloat162float(got.at[j])"
                                                               : "got.at[j]";
    std::string value =
        loaded == tile.type ? "got.at[j]" : stored(operand.value, tile.type, print);
    if (by_element) {
      // The mask of each element: its own index.
      Printer own = printer("");
      own.indices[tile.along_k ? c.k : operand.outer] =
          fmt::format("({} + j)", tile.along_k ? "k" : outer);
      value = fmt::format("{} ? {} : {}", own.print(operand.mask), value, holes["zero"]);
    }
    holes["value"] = value;
    holes["fetch"] = filled(R"($prefixpack<$from, $piece> got = {};
$if_insidegot = *reinterpret_cast<const $prefixpack<$from, $piece>*>(&$buffer[$element]);
#pragma unroll
for (int j = 0; j < $piece; ++j) staged_$letter[i][j] = $value;
)",
                            holes);
  } else {
    const std::string value = stored(operand.value, tile.type, print);
    holes["fetch"] = fmt::format(
        "staged_{}[i][0] = {};", letter,
        inside.empty() ? value : fmt::format("{} ? {} : {}", inside, value, holes["zero"]));
  }
  const bool keeps_vector = tile.vector && tile.along_k != tile.k_rows;
  holes["keep"] = filled(keeps_vector ? R"($prefixpack<$type, $piece> out;
#pragma unroll
for (int j = 0; j < $piece; ++j) out.at[j] = staged_$letter[i][j];
*reinterpret_cast<$prefixpack<$type, $piece>*>(&shared_$letter[stage * kElements$capital + $place]) = out;
)"
                                      : R"(#pragma unroll
for (int j = 0; j < $piece; ++j) shared_$letter[stage * kElements$capital + $place_j] = staged_$letter[i][j];
)",
                         [&] {
                           Holes more = holes;
                           more["place_j"] = place(
                               is_a, tile.along_k || piece == 1 ? "tile_" + outer
                                                                : "(tile_" + outer + " + j)",
                               tile.along_k && piece > 1 ? "(tile_k + j)" : "tile_k");
                           return more;
                         }());
  result.definition = filled(R"(// A tile of $capital through registers: fetched early, put in shared memory late.
$type staged_$letter[$rounds][$piece];
const auto fetch_$letter = [&](int tile) {
  $loop
    $at
    $fetch
  }
};
const auto keep_$letter = [&](int stage) {
  $loop
    $keep
  }
};
)",
                             holes);
  result.start = fmt::format("fetch_{}(next);", letter);
  result.end = fmt::format("keep_{}(fill);", letter);
  return result;
}

}  // namespace hone::generators::contract
