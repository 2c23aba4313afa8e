// From global to shared memory.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "rewriters/affine/integers.h"
#include "rewriters/affine/strides.h"
#include "rewriters/schedules/contract/emit.h"

namespace hone::schedules::contract {

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

namespace {

/// The coefficient of an index in an element number in which it stands alone; nullopt: elsewhere
/// too.
std::optional<std::int64_t> plain_stride(Ref element, SymbolId symbol) {
  const auto [strides, others] = nest::strides_in(element, {symbol});
  if (std::ranges::any_of(others, [&](const nest::Term& term) { return term.atom->uses(symbol); }))
    return std::nullopt;
  return strides[0];
}

/// An element number as a part without k and a part of k alone; false: they are mixed.
bool separate(nest::Nodes& nodes, const Operand& operand, Ref element, Ref& fixed, Ref& of_k) {
  fixed = nodes.integer(element->constant);
  of_k = nodes.integer(0);
  for (const nest::Term& term : element->terms) {
    if (term.atom->uses(operand.k) && term.atom->uses(operand.outer)) return false;
    Ref& part = term.atom->uses(operand.k) ? of_k : fixed;
    part = nodes.add(part, nodes.scale(term.atom, term.coefficient));
  }
  return true;
}

}  // namespace

/// Where this thread's pieces come from and go to: text with $from and $to for the i-th.
struct Emitter::Paths {
  std::string before;  ///< statements ahead of the lambdas
  std::string loop;    ///< the loop over i and what it needs
  std::string setup_from, setup_to;
  std::string from, to;
  std::string along;  ///< how far the j-th element of a piece is from $to, when not side by side
};

Emitter::Paths Emitter::paths(bool is_a, const std::string& used) const {
  const Operand& operand = is_a ? c.a : c.b;
  const Tile& tile = is_a ? a : b;
  const int piece = tile.piece, threads = s.threads(), pieces = tile.pieces();
  const int along = (tile.along_k ? s.bk : tile.outer) / piece;
  const std::string letter = is_a ? "a" : "b", outer = is_a ? "m" : "n";
  const std::string run = piece == 1 ? "" : fmt::format(" * {}", piece);
  const bool loads = operand.value->kind == nest::Node::Kind::kLoad;
  const Ref element = loads ? operand.value->args[0] : nullptr;
  const auto outer_stride = loads ? plain_stride(element, operand.outer) : std::nullopt;
  const auto k_stride = loads ? plain_stride(element, operand.k) : std::nullopt;
  const int step = threads / along;  // between this thread's pieces, across
  const int rounds = static_cast<int>(nest::ceil_divide(pieces, threads));
  const bool regular = threads % along == 0 && (pieces % threads == 0 || rounds == 1) &&
                       (rounds == 1 || !tile.swizzled || step % 8 == 0);

  Holes holes = {{"letter", letter},
                 {"capital", is_a ? "A" : "B"},
                 {"outer", outer},
                 {"unroll", rounds > 16 ? "#pragma unroll 8" : "#pragma unroll"},
                 {"rounds", std::to_string(rounds)},
                 {"type", type_name(tile.type)},
                 {"step", std::to_string(step)},
                 {"along", fmt::format("thread % {}{}", along, run)},
                 {"across", fmt::format("thread / {}", along)}};
  Paths paths;
  paths.along = "j";
  if (tile.along_k && tile.k_rows) paths.along = fmt::format("j * {}", tile.stride);
  if (!regular) {
    holes["beyond"] = pieces % threads == 0 ? "" : fmt::format("if (piece >= {}) break;", pieces);
    holes["in_tile"] = tile.along_k ? fmt::format("{0}_k = piece % {1}{2}, {0}_{3} = piece / {1}",
                                                  letter, along, run, outer)
                                    : fmt::format("{0}_{3} = piece % {1}{2}, {0}_k = piece / {1}",
                                                  letter, along, run, outer);
    paths.loop = filled(R"($unroll
for (int i = 0; i < $rounds; ++i) {
  const int piece = i * kThreads + thread;
  $beyond
  const int $in_tile;
)",
                        holes);
  } else {
    const bool outer_moves = tile.along_k;
    holes["k_place"] = tile.along_k ? holes["along"] : holes["across"];
    holes["outer_place"] = tile.along_k ? holes["across"] : holes["along"];
    paths.before = filled(R"(const int $letter_k = $k_place, $letter_$outer = $outer_place;
const int place_$letter = $place;
)",
                          [&] {
                            Holes more = holes;
                            more["place"] = place(is_a, letter + "_" + outer, letter + "_k");
                            return more;
                          }());
    paths.loop = filled("$unroll\nfor (int i = 0; i < $rounds; ++i) {\n", holes);
    if (pieces < threads) paths.loop += fmt::format("  if (thread >= {}) break;\n", pieces);
    const int column_step = tile.k_rows && outer_moves ? step : 0;
    const int row_step = column_step != 0 ? 0 : step;
    const int row_size =
        tile.swizzled
            ? static_cast<int>(std::min<std::int64_t>(tile.columns, 128 / size_of(tile.type)))
            : tile.stride;
    const int each = row_step * row_size + column_step;
    paths.setup_to = filled(
        "$type* const to = &shared_$letter[stage * kElements$capital + place_$letter];\n", holes);
    paths.to = rounds == 1 ? "to" : fmt::format("to + i * {}", each);
    Ref fixed = nullptr, of_k = nullptr;
    const bool apart = loads && !(outer_stride && k_stride) && rounds <= 16 &&
                       separate(*c.nodes, operand, element, fixed, of_k);
    if (apart) {
      // What k does not change is found once.
      Printer print = printer("");
      const std::string buffer = parameter_name(operand.value->name);
      const std::string from_type = type_name(operand.value->type);
      const auto any = c.nodes->range(element);
      const std::string index = any && any->high <= INT32_MAX ? "int" : "long long";
      if (tile.along_k && rounds > 1) {
        paths.before += filled(R"($index offsets_$letter[$rounds];
#pragma unroll
for (int i = 0; i < $rounds; ++i) {
  const int $outer = $first + $letter_$outer + i * $step;
  offsets_$letter[i] = $fixed;
}
)",
                               [&] {
                                 Holes more = holes;
                                 more["index"] = index;
                                 more["first"] = outer + "_first";
                                 more["fixed"] = print.print_index(fixed);
                                 return more;
                               }());
        print.indices[operand.k] = fmt::format("(tile * kTileK + {}_k)", letter);
        paths.setup_from = fmt::format("const {}* const from = {} + ({});\n", from_type, buffer,
                                       print.print_index(of_k));
        paths.from = fmt::format("from + offsets_{}[i]", letter);
      } else {
        print.indices[operand.outer] = fmt::format("({0}_first + {1}_{0})", outer, letter);
        paths.before += fmt::format("const {}* const from_{} = {} + ({});\n", from_type, letter,
                                    buffer, print.print_index(fixed));
        paths.from = fmt::format("from_{} + ({})", letter, print.print_index(of_k));
      }
    }
    const std::string needs = used + " " + paths.from;
    const auto moving = [&](const std::string& name, bool moves, const std::string& first) {
      if (!mentions(needs, name) && !(loads && !apart && !(outer_stride && k_stride))) {
        return std::string();
      }
      return fmt::format("  const int {} = {} + {}_{}{};\n", name, first, letter, name,
                         moves && rounds > 1 ? fmt::format(" + i * {}", step) : "");
    };
    paths.loop +=
        moving(outer, outer_moves, outer + "_first") + moving("k", !outer_moves, "tile * kTileK");
    if (apart) return paths;
    if (loads && outer_stride && k_stride) {
      Printer print = printer("");
      print.indices[operand.outer] = fmt::format("({}_first + {}_{})", outer, letter, outer);
      print.indices[operand.k] = letter + "_k";
      holes["from_type"] = type_name(operand.value->type);
      holes["buffer"] = parameter_name(operand.value->name);
      holes["first"] = print.print_index(element);
      const std::int64_t each_tile = s.bk * *k_stride;
      const bool wide = each_tile * (ceil_divide(c.k_size, s.bk)) > INT32_MAX;
      holes["each_tile"] = fmt::format("{}{}", wide ? "(long long)" : "", each_tile);
      const std::int64_t apart = step * (outer_moves ? *outer_stride : *k_stride);
      paths.before += filled("const $from_type* const from_$letter = $buffer + ($first);\n", holes);
      paths.setup_from =
          filled("const $from_type* const from = from_$letter + tile * $each_tile;\n", holes);
      paths.from = rounds == 1
                       ? "from"
                       : fmt::format("from + i * {}{}",
                                     apart * rounds > INT32_MAX ? "(long long)" : "", apart);
      return paths;
    }
  }
  if (paths.to.empty()) {
    paths.to = filled("&shared_$letter[stage * kElements$capital + $place]", [&] {
      Holes more = holes;
      more["place"] = place(is_a, letter + "_" + outer, letter + "_k");
      return more;
    }());
    paths.loop += filled(
        "  const int k = tile * kTileK + $letter_k, $outer = $outer_first + $letter_$outer;\n",
        [&] {
          Holes more = holes;
          more["outer_first"] = outer + "_first";
          return more;
        }());
  }
  if (loads) {
    Printer print = printer("");
    paths.from =
        fmt::format("&{}[{}]", parameter_name(operand.value->name), print.print_index(element));
  }
  return paths;
}

Emitter::Move Emitter::move(bool is_a) const {
  const Operand& operand = is_a ? c.a : c.b;
  const Tile& tile = is_a ? a : b;
  const std::string letter = is_a ? "a" : "b", outer = is_a ? "m" : "n";
  const std::int64_t outer_size = is_a ? c.m_size : c.n_size;
  const int piece = tile.piece;

  Printer print = printer("");
  std::string inside;
  const auto require = [&](const std::string& condition) {
    inside += (inside.empty() ? "" : " && ") + condition;
  };
  if (outer_size % tile.outer != 0) require(fmt::format("{} < k{}", outer, is_a ? "M" : "N"));
  if (c.k_size % s.bk != 0) require("k < kK");
  const bool masked = !operand.mask->is_constant();
  const bool by_element = masked && piece > 1;
  if (masked && !by_element) require("(" + print.print(operand.mask) + ")");

  Holes holes = {
      {"prefix", prefix},
      {"letter", letter},
      {"capital", is_a ? "A" : "B"},
      {"type", type_name(tile.type)},
      {"rounds", std::to_string(nest::ceil_divide(tile.pieces(), s.threads()))},
      {"piece", std::to_string(piece)},
      {"inside", inside},
      {"bytes", std::to_string(piece * static_cast<int>(size_of(tile.type)))},
  };
  Move result;
  if (tile.async) {
    const Paths paths = this->paths(is_a, inside);
    holes["before"] = paths.before;
    holes["setup"] = paths.setup_to + paths.setup_from;
    holes["loop"] = paths.loop;
    holes["copy"] = fmt::format("{}copy<{}>({}, {}{});", prefix, holes["bytes"], paths.to,
                                paths.from, inside.empty() ? "" : ", " + inside);
    result.definition = filled(
        R"(// A tile of $capital straight to shared memory, $bytes bytes a time; zeros beyond the edges.
$before
const auto copy_$letter = [&](int stage, int tile) {
  $setup
  $loop
    $copy
  }
};
)",
        holes);
    result.start = fmt::format("copy_{}(fill, next);", letter);
    return result;
  }

  const ScalarType loaded = operand.value->type;
  holes["zero"] = from_float(tile.type, literal(0, tile.type));
  std::string value;
  if (tile.vector) {
    print.known[operand.value] = in_compute_type(loaded, "got.at[j]");
    value = loaded == tile.type ? "got.at[j]" : stored(print, tile.type, operand.value);
    if (by_element) {
      // The mask of each element: its own index.
      Printer own = printer("");
      own.indices[tile.along_k ? c.k : operand.outer] =
          fmt::format("({} + j)", tile.along_k ? "k" : outer);
      value = fmt::format("{} ? {} : {}", own.print(operand.mask), value, holes["zero"]);
    }
  } else if (operand.value->kind != nest::Node::Kind::kLoad) {
    value = stored(print, tile.type, operand.value);
  }
  const Paths paths = this->paths(is_a, inside + " " + value);
  holes["before"] = paths.before;
  holes["setup_from"] = paths.setup_from;
  holes["setup_to"] = paths.setup_to;
  holes["loop"] = paths.loop;
  holes["keep_loop"] = paths.loop;
  if (paths.setup_to.empty()) {
    // Places are made from the pieces alone.
    holes["keep_loop"] = paths.loop.substr(0, paths.loop.rfind("  const int k = tile"));
  } else if (const auto end = paths.loop.find("  const int "); end != paths.loop.npos) {
    holes["keep_loop"] = paths.loop.substr(0, end);
  }
  holes["from"] = paths.from;
  holes["to"] = paths.to;
  holes["along"] = paths.along;
  holes["value"] = value;
  if (tile.vector) {
    holes["from_type"] = type_name(loaded);
    holes["if_inside"] = inside.empty() ? "" : "if (" + inside + ") ";
    holes["fetch"] = filled(R"($prefixpack<$from_type, $piece> got = {};
$if_insidegot = *reinterpret_cast<const $prefixpack<$from_type, $piece>*>($from);
#pragma unroll
for (int j = 0; j < $piece; ++j) staged_$letter[i][j] = $value;
)",
                            holes);
  } else {
    if (value.empty()) {
      print.known[operand.value] = in_compute_type(loaded, fmt::format("*({})", paths.from));
      value = loaded == tile.type ? fmt::format("*({})", paths.from)
                                  : stored(print, tile.type, operand.value);
    }
    holes["fetch"] = fmt::format(
        "staged_{}[i][0] = {};", letter,
        inside.empty() ? value : fmt::format("{} ? {} : {}", inside, value, holes["zero"]));
  }
  const bool keeps_vector = tile.vector && tile.along_k != tile.k_rows;
  holes["keep"] = filled(keeps_vector ? R"($prefixpack<$type, $piece> made;
#pragma unroll
for (int j = 0; j < $piece; ++j) made.at[j] = staged_$letter[i][j];
*reinterpret_cast<$prefixpack<$type, $piece>*>($to) = made;
)"
                                      : R"(#pragma unroll
for (int j = 0; j < $piece; ++j) ($to)[$along] = staged_$letter[i][j];
)",
                         holes);
  if (tile.direct) {
    // As many at a time as registers allow.
    std::string loop = paths.loop;
    const std::string all = "#pragma unroll\n";
    if (loop.starts_with(all)) loop.replace(0, all.size(), "#pragma unroll 8\n");
    holes["loop"] = loop;
    for (const char* part : {"fetch", "keep"}) {
      std::string& text = holes[part];
      const std::string staged = "staged_" + letter + "[i]";
      for (std::size_t at = 0; (at = text.find(staged, at)) != text.npos;)
        text.replace(at, staged.size(), "staged");
    }
    result.definition = filled(R"(// A tile of $capital through registers.
$before
const auto copy_$letter = [&](int stage, int tile) {
  $setup_to
  $setup_from
  $loop
    $type staged[$piece];
    $fetch
    $keep
  }
};
)",
                               holes);
    result.start = fmt::format("copy_{}(fill, next);", letter);
    return result;
  }
  result.definition =
      filled(R"(// A tile of $capital through registers: fetched early, put in shared memory late.
$before
$type staged_$letter[$rounds][$piece];
const auto fetch_$letter = [&](int tile) {
  $setup_from
  $loop
    $fetch
  }
};
const auto keep_$letter = [&](int stage) {
  $setup_to
  $keep_loop
    $keep
  }
};
)",
             holes);
  result.start = fmt::format("fetch_{}(next);", letter);
  result.end = fmt::format("keep_{}(fill);", letter);
  return result;
}

}  // namespace hone::schedules::contract
