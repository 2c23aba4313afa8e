// How threads bring tiles to shared memory.
#include <fmt/format.h>

#include <algorithm>

#include "rewriters/affine/integers.h"
#include "rewriters/schedules/printing/text.h"
#include "rewriters/tile/copy_text.h"
#include "rewriters/tile/operands.h"
#include "rewriters/tile/stream_text.h"

namespace hone::tile {
namespace {

using nest::Node;
using nest::Ref;
using schedules::filled;
using schedules::Holes;
using schedules::type_name;

/// Offsets of a thread's pieces that stay in registers, at most.
constexpr int kMostOffsets = 16;

/// The terms of an element's number by what changes them.
struct Parts {
  Ref fixed, of_round, of_piece, of_both;
};

Parts parts_of(nest::Nodes& nodes, Ref element, SymbolId round, SymbolId piece) {
  const Ref none = nodes.integer(0);
  Parts parts{nodes.integer(element->constant), none, none, none};
  for (const nest::Term& term : element->terms) {
    const bool by_round = term.atom->uses(round), by_piece = term.atom->uses(piece);
    Ref& part = by_round ? (by_piece ? parts.of_both : parts.of_round)
                         : (by_piece ? parts.of_piece : parts.fixed);
    part = nodes.add(part, nodes.scale(term.atom, term.coefficient));
  }
  return parts;
}

bool is_nothing(Ref integer) { return integer->is_constant() && integer->constant == 0; }

/// Whether an index from `first` on, of which a tile has `count`, stays below `size`.
bool stays_below(nest::Nodes& nodes, Ref first, std::int64_t count, std::int64_t size) {
  const auto range = nodes.range(first);
  return range && range->high + count <= size;
}

}  // namespace

CopyText::CopyText(const Program& program, schedules::Printer& values, schedules::Names& names,
                   const std::map<std::string, std::string>& parameters, const Stream& stream,
                   int ring, const CopyTile& copy, std::string shared)
    : p_(program),
      values_(values),
      parameters_(parameters),
      stream_(stream),
      ring_(ring),
      copy_(copy),
      tile_(p_.rings[static_cast<std::size_t>(ring)].tiles[static_cast<std::size_t>(copy.tile)]),
      shared_(std::move(shared)),
      threads_(p_.threads()),
      pieces_(tile_.layout.elements() / copy.piece),
      along_(tile_.layout.extent(copy.along_k ? 1 : 0) / copy.piece),
      rounds_(nest::ceil_divide(pieces_, threads_)) {
  for (const char* what : {"copy", "fetch", "keep"})
    called_[what] = names.fresh(fmt::format("{}_{}", what, shared_));
  for (const char* what : {"row", "k", "place", "from", "offsets", "staged"})
    called_[what] = names.fresh(fmt::format("{}_{}", shared_, what));
  across_ = threads_ / along_;
  // Each thread's pieces lie below each other, at places that the swizzle turns alike.
  regular_ = threads_ % along_ == 0 && (pieces_ % threads_ == 0 || rounds_ == 1) &&
             (rounds_ == 1 || tile_.layout.swizzle() == 0 || across_ % 8 == 0);
  make_loop();
}

/// The loop over a thread's pieces: where each goes, and what it is of.
void CopyText::make_loop() {
  nest::Nodes& nodes = *p_.nodes;
  const std::string run = copy_.piece == 1 ? "" : fmt::format(" * {}", copy_.piece);
  const bool many = rounds_ > kMostOffsets || copy_.way == CopyWay::kAtOnce;
  Holes holes = {{"unroll", many ? "#pragma unroll 8" : "#pragma unroll"},
                 {"rounds", std::to_string(rounds_)},
                 {"threads", std::to_string(threads_)},
                 {"pieces", std::to_string(pieces_)},
                 {"type", type_name(tile_.type)},
                 {"shared", shared_},
                 {"stage", ring_ != stream_.ring
                               ? ""
                               : fmt::format("stage * {} + ",
                                             p_.stage_step(ring_, tile_) /
                                                 static_cast<std::int64_t>(size_of(tile_.type)))}};
  for (const auto& [what, name] : called_) holes["its_" + what] = name;
  const std::string counted = regular_ ? "thread" : "piece";
  const std::string along = fmt::format("{} % {}{}", counted, along_, run);
  const std::string across = fmt::format("{} / {}", counted, along_);
  holes["in_row"] = copy_.along_k ? across : along;
  holes["in_k"] = copy_.along_k ? along : across;
  holes["place"] = place_in(tile_, p_.prefix, called_["row"], called_["k"]);
  const std::string places = "const int $its_row = $in_row, $its_k = $in_k;\n";
  loop_ = "$unroll\nfor (int i = 0; i < $rounds; ++i) {\n";
  const SymbolId in_row = nodes.new_symbol(called_["row"], tile_.layout.extent(0));
  const SymbolId in_k = nodes.new_symbol(called_["k"], tile_.layout.extent(1));
  const SymbolId piece = nodes.new_symbol("i", rounds_);
  values_.indices[in_row] = called_["row"];
  values_.indices[in_k] = called_["k"];
  values_.indices[piece] = "i";
  row_ = nodes.add(copy_.row, nodes.index(in_row));
  k_ = nodes.add(copy_.k, nodes.index(in_k));
  along_tile_ = is_along_k(tile_) == copy_.along_k ? "j" : fmt::format("j * {}", line_step(tile_));
  if (!regular_) {
    loop_ += "  const int piece = i * $threads + thread;\n";
    if (pieces_ % threads_ != 0) loop_ += "  if (piece >= $pieces) break;\n";
    loop_ = filled(loop_ + "  " + places, holes);
    to_ = filled("&$shared[$stage$place]", holes);
    from_element();
    return;
  }
  if (pieces_ < threads_) loop_ += "  if (thread >= $pieces) break;\n";
  loop_ = filled(loop_, holes);
  before_ = filled(places + "const int $its_place = $place;\n", holes);
  setup_to_ = filled("$type* const to = &$shared[$stage$its_place];\n", holes);
  const std::int64_t step =
      copy_.along_k ? tile_.layout.offset({across_, 0}) : tile_.layout.offset({0, across_});
  to_ = rounds_ == 1 ? "to" : fmt::format("to + i * {}", step);
  if (rounds_ > 1) {
    Ref& moves = copy_.along_k ? row_ : k_;
    moves = nodes.add(moves, nodes.scale(nodes.index(piece), across_));
  }
  from_parts(piece);
}

/// The element's address whole, by `row` and `k`.
void CopyText::from_element() {
  if (copy_.value->kind != Node::Kind::kLoad) return;
  name_indices();
  from_ = fmt::format("&{}[{}]", parameters_.at(copy_.value->name),
                      values_.print_index(copy_.value->args[0]));
}

/// The address in parts, each where it changes last.
void CopyText::from_parts(SymbolId piece) {
  if (copy_.value->kind != Node::Kind::kLoad) return;
  // What says where to read is read only where its own conditions hold.
  if (copy_.value->args[0]->has_load) return from_element();
  nest::Nodes& nodes = *p_.nodes;
  const Ref element =
      nodes.substitute(copy_.value->args[0], {{copy_.row_symbol, row_}, {copy_.k_symbol, k_}});
  const Parts parts = parts_of(nodes, element, stream_.symbol, piece);
  const std::string type = fmt::format("const {}* const", type_name(copy_.value->type));
  const std::string& base = called_["from"];
  before_ += fmt::format(
      "{} {} = {}{};\n", type, base, parameters_.at(copy_.value->name),
      is_nothing(parts.fixed) ? "" : fmt::format(" + ({})", values_.print_index(parts.fixed)));
  from_ = base;
  if (!is_nothing(parts.of_round)) {
    setup_from_ =
        fmt::format("{} from = {} + ({});\n", type, base, values_.print_index(parts.of_round));
    from_ = "from";
  }
  const auto add = [&](const std::string& offset) { from_ += " + " + offset; };
  if (!is_nothing(parts.of_piece)) {
    const bool plain = std::ranges::all_of(parts.of_piece->terms, [](const nest::Term& term) {
      return term.atom->kind == Node::Kind::kIndex;
    });
    if (plain || rounds_ > kMostOffsets) {
      add(fmt::format("({})", values_.print_index(parts.of_piece)));
    } else {
      const std::string& offsets = called_["offsets"];
      before_ +=
          fmt::format("{} {}[{}];\n#pragma unroll\nfor (int i = 0; i < {}; ++i) {}[i] = {};\n",
                      schedules::variable_type(nodes, parts.of_piece), offsets, rounds_, rounds_,
                      offsets, values_.print_index(parts.of_piece));
      add(offsets + "[i]");
    }
  }
  if (!is_nothing(parts.of_both)) add(fmt::format("({})", values_.print_index(parts.of_both)));
}

void CopyText::name_indices() {
  values_.indices[copy_.row_symbol] = "row";
  values_.indices[copy_.k_symbol] = "k";
}

/// Conditions for all of a piece, and `row` and `k` where a text mentions them.
std::string CopyText::inside() {
  nest::Nodes& nodes = *p_.nodes;
  std::string inside;
  const auto require = [&](const std::string& condition) {
    inside += (inside.empty() ? "" : " && ") + condition;
  };
  if (!stays_below(nodes, copy_.row, tile_.layout.extent(0), copy_.rows))
    require(fmt::format("row < {}", copy_.rows));
  if (!stays_below(nodes, copy_.k, tile_.layout.extent(1), copy_.ks))
    require(fmt::format("k < {}", copy_.ks));
  if (!copy_.mask->is_constant() && copy_.piece == 1)
    require("(" + values_.print(copy_.mask) + ")");
  return inside;
}

std::string CopyText::indices_for(const std::string& text) {
  std::string lines;
  for (const auto& [name, value] : {std::pair{"row", row_}, std::pair{"k", k_}}) {
    if (schedules::mentions(text, name))
      lines += fmt::format("  const int {} = {};\n", name, values_.print_index(value));
  }
  return lines;
}

/// What the tile has of what was loaded: element j of `got`, or what `from` points to.
std::string CopyText::value() {
  const ScalarType loaded = copy_.value->type;
  const bool loads = copy_.value->kind == Node::Kind::kLoad;
  const std::string got = copy_.piece > 1 ? "got.at[j]" : fmt::format("*({})", from_);
  if (!loads) return schedules::stored(values_, tile_.type, copy_.value);
  if (loaded == tile_.type) return got;
  schedules::Printer knows = values_;
  knows.known[copy_.value] = schedules::in_compute_type(loaded, got);
  return schedules::stored(knows, tile_.type, copy_.value);
}

CopyText::Copied CopyText::text() {
  name_indices();
  const std::string inside = this->inside();
  Holes holes = {
      {"prefix", p_.prefix},
      {"what", shared_},
      {"type", type_name(tile_.type)},
      {"rounds", std::to_string(rounds_)},
      {"piece", std::to_string(copy_.piece)},
      {"bytes", std::to_string(copy_.piece * static_cast<int>(size_of(tile_.type)))},
      {"round", values_.indices.at(stream_.symbol)},
      {"parameters",
       ring_ != stream_.ring ? "" : "int stage, int " + values_.indices.at(stream_.symbol)},
      {"before", before_},
      {"setup_to", setup_to_},
      {"setup_from", setup_from_},
      {"to", to_},
      {"along", along_tile_}};
  for (const auto& [what, name] : called_) holes["its_" + what] = name;
  if (copy_.way == CopyWay::kAsync) {
    holes["loop"] = loop_ + indices_for(inside + from_);
    holes["copy"] = fmt::format("{}copy<{}>({}, {}{});", p_.prefix, holes["bytes"], to_, from_,
                                inside.empty() ? "" : ", " + inside);
    return {
        filled(R"(// $what straight to shared memory, $bytes bytes a time; zeros beyond the edges.
$before
const auto $its_copy = [&]($parameters) {
  $setup_to
  $setup_from
  $loop
    $copy
  }
};
)",
               holes),
        called_["copy"], false};
  }
  const std::string zero = schedules::from_float(tile_.type, schedules::literal(0, tile_.type));
  std::string value = this->value();
  const bool at_once = copy_.way == CopyWay::kAtOnce;
  holes["array"] = at_once ? called_["staged"] : called_["staged"] + "[i]";
  if (copy_.piece > 1) {
    if (!copy_.mask->is_constant()) {
      // The mask of each element: its own index.
      schedules::Printer own = values_;
      own.indices[copy_.along_k ? copy_.k_symbol : copy_.row_symbol] =
          copy_.along_k ? "(k + j)" : "(row + j)";
      own.on_load = [&](Ref load) -> std::string {
        const std::string& name = parameters_.at(load->name);
        return name == load->name ? "" : schedules::load_from(name, own, load);
      };
      // Beyond the edges the mask has no element.
      const std::string within = inside.empty() ? "" : "(" + inside + ") && ";
      value = fmt::format("{}{} ? {} : {}", within, own.print(copy_.mask), value, zero);
    }
    holes["pack"] =
        fmt::format("{}pack<{}, {}>", p_.prefix, type_name(copy_.value->type), copy_.piece);
    holes["if_inside"] = inside.empty() ? "" : "if (" + inside + ") ";
    holes["from"] = from_;
    holes["value"] = value;
    holes["fetch"] = filled(R"($pack got = {};
$if_insidegot = *reinterpret_cast<const $pack*>($from);
#pragma unroll
for (int j = 0; j < $piece; ++j) $array[j] = $value;
)",
                            holes);
  } else {
    holes["fetch"] =
        fmt::format("{}[0] = {};", holes["array"],
                    inside.empty() ? value : fmt::format("{} ? {} : {}", inside, value, zero));
  }
  const bool together = copy_.piece > 1 && along_tile_ == "j";
  holes["keep"] = filled(together ? R"($prefixpack<$type, $piece> made;
#pragma unroll
for (int j = 0; j < $piece; ++j) made.at[j] = $array[j];
*reinterpret_cast<$prefixpack<$type, $piece>*>($to) = made;
)"
                                  : R"(#pragma unroll
for (int j = 0; j < $piece; ++j) ($to)[$along] = $array[j];
)",
                         holes);
  holes["loop"] = loop_ + indices_for(holes["fetch"]);
  holes["keep_loop"] = loop_;
  if (at_once) {
    return {filled(R"(// $what through registers.
$before
const auto $its_copy = [&]($parameters) {
  $setup_to
  $setup_from
  $loop
    $type $its_staged[$piece];
    $fetch
    $keep
  }
};
)",
                   holes),
            called_["copy"], false};
  }
  return {filled(R"(// $what through registers: fetched early, put in shared memory late.
$before
$type $its_staged[$rounds][$piece];
const auto $its_fetch = [&](int $round) {
  $setup_from
  $loop
    $fetch
  }
};
const auto $its_keep = [&](int stage) {
  $setup_to
  $keep_loop
    $keep
  }
};
)",
                 holes),
          "", true, called_["fetch"], called_["keep"]};
}

}  // namespace hone::tile
