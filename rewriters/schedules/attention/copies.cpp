// From global to shared memory.
#include <fmt/format.h>

#include "rewriters/schedules/attention/emit.h"

namespace hone::schedules::attention {

std::string Emitter::copy(Which which) const {
  const Operand& operand = operand_of(a, which);
  const Tile& tile = which == Which::kQuery ? query : which == Which::kKey ? key : values;
  const bool is_query = which == Which::kQuery;
  const std::int64_t rows = is_query ? a.queries : a.keys;
  const std::int64_t columns = which == Which::kValues ? a.columns : a.depth;
  const std::string row = is_query ? "q" : "k", column = which == Which::kValues ? "e" : "d";
  const int along = (tile.along_rows ? tile.rows : tile.columns) / tile.piece;
  const int threads = s.threads(), pieces = tile.pieces();
  const int rounds = (pieces + threads - 1) / threads;
  const std::string run = tile.piece == 1 ? "" : fmt::format(" * {}", tile.piece);
  Printer print = printer();

  std::string inside;
  const auto require = [&](const std::string& condition) {
    inside += (inside.empty() ? "" : " && ") + condition;
  };
  if (rows % tile.rows != 0) require(row + (is_query ? " < kQueries" : " < kKeys"));
  if (columns != tile.columns) require(column + (column == "e" ? " < kColumns" : " < kDepth"));

  const std::string name = is_query ? "query" : which == Which::kKey ? "key" : "values";
  const ScalarType loaded = operand.value->type;
  const bool plain = operand.value->kind == nest::Node::Kind::kLoad;
  const auto place = [&](const std::string& r, const std::string& c) {
    return tile.transposed ? fmt::format("{} * {} + {}", c, tile.stride, r)
                           : fmt::format("{} * {} + {}", r, tile.stride, c);
  };
  // Where this thread's pieces are: a step apart, where that is so.
  const std::string outer = tile.along_rows ? column : "row",
                    inner = tile.along_rows ? "row" : column;
  const bool regular = threads % along == 0 && (pieces % threads == 0 || rounds == 1);
  std::string before, in_tile, beyond;
  if (regular) {
    before = fmt::format("const int {0}_{1} = thread / {2}, {0}_{3} = thread % {2}{4};\n", name,
                         outer, along, inner, run);
    in_tile = fmt::format("{0} = {1}_{0}{2}, {3} = {1}_{3}", outer, name,
                          rounds == 1 ? "" : fmt::format(" + i * {}", threads / along), inner);
    if (pieces < threads) beyond = fmt::format("if (thread >= {}) break;", pieces);
  } else {
    in_tile = fmt::format("{0} = piece / {1}, {2} = piece % {1}{3}", outer, along, inner, run);
    if (pieces % threads != 0) beyond = fmt::format("if (piece >= {}) break;", pieces);
  }
  Holes holes = {{"prefix", prefix},
                 {"name", name},
                 {"what", is_query ? "The block's queries"
                                   : "A tile of " + std::string(name == "key" ? "keys" : name)},
                 {"type", type_name(tile.type)},
                 {"stage", is_query ? "" : "int stage, int tile"},
                 {"shared", is_query ? "shared_query"
                                     : fmt::format("shared_{} + stage * kElements{}", name,
                                                   which == Which::kKey ? "K" : "V")},
                 {"unroll", rounds > 16 ? "#pragma unroll 4" : "#pragma unroll"},
                 {"rounds", std::to_string(rounds)},
                 {"beyond", beyond},
                 {"row", row},
                 {"column", column},
                 {"first", is_query ? "q_first" : "tile * kTileK"},
                 {"in_tile", in_tile},
                 {"before", before},
                 {"number", regular ? "" : "const int piece = i * kThreads + thread;"},
                 {"bytes", std::to_string(tile.piece * static_cast<int>(size_of(tile.type)))},
                 {"place", place("row", column)},
                 {"comma_inside", inside.empty() ? "" : ", " + inside},
                 {"if_inside", inside.empty() ? "" : "if (" + inside + ") "},
                 {"piece", std::to_string(tile.piece)},
                 {"zero", from_float(tile.type, "0.0f")}};
  holes["to"] = filled("$type* const to = $shared;", holes);
  const std::string frame = R"($before
const auto copy_$name = [&]($stage) {
  $to
$unroll
  for (int i = 0; i < $rounds; ++i) {
    $number
    $beyond
    const int $in_tile;
    const int $row = $first + row;
    $move
  }
};
)";
  if (tile.async) {
    holes["from"] = fmt::format("&{}[{}]", parameter_name(operand.value->name),
                                print.print_index(operand.value->args[0]));
    // Of the i-th piece: further than the thread's first by a number, where that is so.
    const int step = threads / along * (tile.along_rows == tile.transposed ? tile.stride : 1);
    if (regular) {
      holes["before"] += fmt::format("const unsigned {}_to = {}address(&shared_{}[{}]);\n", name,
                                     prefix, name, place(name + "_row", name + "_" + column));
      holes["to"] = is_query
                        ? ""
                        : fmt::format("const unsigned to = {}_to + stage * (kElements{} * {});",
                                      name, which == Which::kKey ? "K" : "V", size_of(tile.type));
      holes["at"] =
          (is_query ? name + "_to" : "to") +
          (rounds == 1 ? ""
                       : fmt::format(" + i * {}", step * static_cast<int>(size_of(tile.type))));
    } else {
      holes["to"] = filled("const unsigned to = $prefixaddress($shared);", holes);
      holes["at"] = fmt::format("to + ({}) * {}", place("row", column), size_of(tile.type));
    }
    holes["move"] = filled("$prefixcopy<$bytes>($at, $from$comma_inside);", holes);
    return filled(
        "// $what straight to shared memory, $bytes bytes a time; zeros beyond the edges.\n" +
            frame,
        holes);
  }
  if (plain && tile.piece > 1) {
    holes["pack"] = fmt::format("{}pack<{}, {}>", prefix, type_name(loaded), tile.piece);
    holes["from"] = fmt::format("{}[{}]", parameter_name(operand.value->name),
                                print.print_index(operand.value->args[0]));
    print.known[operand.value] = in_compute_type(loaded, "got.at[j]");
    holes["value"] = loaded == tile.type ? "got.at[j]" : stored(print, tile.type, operand.value);
    holes["each"] =
        tile.along_rows ? place("(row + j)", column) : place("row", "(" + column + " + j)");
    holes["move"] = filled(R"($pack got = {};
$if_insidegot = *reinterpret_cast<const $pack*>(&$from);
#pragma unroll
for (int j = 0; j < $piece; ++j) to[$each] = $value;
)",
                           holes);
  } else {
    const std::string value = plain && loaded == tile.type
                                  ? fmt::format("{}[{}]", parameter_name(operand.value->name),
                                                print.print_index(operand.value->args[0]))
                                  : stored(print, tile.type, operand.value);
    holes["value"] = inside.empty() ? value : inside + " ? " + value + " : " + holes["zero"];
    holes["move"] = filled("to[$place] = $value;", holes);
  }
  return filled("// $what to shared memory; zeros beyond the edges.\n" + frame, holes);
}

}  // namespace hone::schedules::attention
