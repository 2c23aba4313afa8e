// What is refused of streams: rings that one role fills and reads by itself.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "rewriters/affine/neighbours.h"
#include "rewriters/tile/operands.h"
#include "rewriters/tile/verifier.h"

namespace hone::tile {
namespace {

/// What may stand in a stream's body, where its ring is in all threads' hands.
bool belongs_in_stream(const Operation& operation) {
  return std::holds_alternative<WarpMultiply>(operation.is) ||
         std::holds_alternative<ThreadMultiply>(operation.is) ||
         std::holds_alternative<AddRuns>(operation.is) ||
         std::holds_alternative<When>(operation.is) ||
         std::holds_alternative<Exchange>(operation.is) ||
         std::holds_alternative<HalfWarpMultiply>(operation.is) ||
         std::holds_alternative<KeepSums>(operation.is) ||
         std::holds_alternative<MapSums>(operation.is) ||
         std::holds_alternative<MapRows>(operation.is) ||
         std::holds_alternative<ReduceRows>(operation.is) ||
         std::holds_alternative<RoundSums>(operation.is);
}

bool belongs_around_stream(const Operation& operation) {
  return std::holds_alternative<Define>(operation.is) ||
         std::holds_alternative<Stream>(operation.is) ||
         std::holds_alternative<MapSums>(operation.is) ||
         std::holds_alternative<MapRows>(operation.is) ||
         std::holds_alternative<FoldRows>(operation.is) ||
         std::holds_alternative<AddRuns>(operation.is) ||
         std::holds_alternative<When>(operation.is) || std::holds_alternative<Store>(operation.is);
}

/// What may stand under a condition: nothing that all threads do together.
bool belongs_in_when(const Operation& operation) {
  return std::holds_alternative<AddRuns>(operation.is) ||
         std::holds_alternative<Store>(operation.is);
}

}  // namespace

void Verifier::check_streaming(const Role& role) {
  bool alone = program_.roles.size() == 1;
  for (std::size_t r = 0; r < program_.rings.size(); ++r)
    alone = alone && program_.is_streamed(static_cast<int>(r));
  if (!alone || role.one_thread || role.registers != 0 || program_.cluster != 1 ||
      !program_.stagings.empty() || !program_.views.empty())
    refuse(fmt::format("role '{}' streams, and is not alone with the rings it fills", role.name));
  for (const Operation& operation : role.body) {
    if (!belongs_around_stream(operation))
      refuse(fmt::format("role '{}' streams, and does what such a role does not", role.name));
  }
}

void Verifier::check(const Stream& stream) {
  if (!has_ring(stream.ring)) return;
  const Ring& ring = this->ring(stream.ring);
  const bool again = !streamed_.empty();
  // The first copies of a second one would meet the last readers of the one before.
  if (!streamed_.insert(stream.ring).second)
    return refuse(fmt::format("ring '{}' is streamed twice", ring.name));
  if (again)
    return refuse(fmt::format("ring '{}' is streamed after another one, in one role", ring.name));
  if (stream.first == nullptr || stream.end == nullptr)
    return refuse(fmt::format("ring '{}' is streamed from and to what is not said", ring.name));
  if (depends_on_group(stream.first) || depends_on_group(stream.end))
    return refuse(fmt::format("warps may stream ring '{}' in unlike numbers of rounds", ring.name));
  check_copies(stream.copies, ring);
  check_exchanges(stream);
  for (const Operation& operation : stream.body) {
    if (!belongs_in_stream(operation)) {
      return refuse(
          fmt::format("the stream of ring '{}' does what does not belong there", ring.name));
    }
    if (std::holds_alternative<ThreadMultiply>(operation.is) &&
        &operation != &stream.body.front()) {
      return refuse(
          fmt::format("the stream of ring '{}' does not begin with its multiply-adds", ring.name));
    }
  }
  stream_ = &stream;
  check_once(stream);
  const std::vector<RowsState> rows = rows_;
  for (int round = 0; round < 2; ++round) {
    exchanged_ = false;
    walk(stream.body);
    if (rows_ == rows) break;  // else the second round finds what all later ones do
  }
  stream_ = nullptr;
}

void Verifier::check(const Exchange&) {
  if (stream_ == nullptr || in_when_) return refuse("tiles are exchanged in no round of a stream");
  exchanged_ = true;
}

void Verifier::check_exchanges(const Stream& stream) {
  const Ring& ring = this->ring(stream.ring);
  const auto times = std::ranges::count_if(stream.body, [](const Operation& operation) {
    return std::holds_alternative<Exchange>(operation.is);
  });
  if (ring.stages < 2 && times == 0) {
    refuse(fmt::format("ring '{}' is streamed in {} stages; at least 2", ring.name, ring.stages));
  }
  if (times > 0 && (times != 1 || ring.stages != 1 || ring.tiles.size() != 2)) {
    refuse(
        fmt::format("{} stages of {} tiles of ring '{}' are exchanged {} times; one of two, once",
                    ring.stages, ring.tiles.size(), ring.name, times));
  }
}

void Verifier::check_copies(const std::vector<CopyTile>& copies, const Ring& ring) {
  std::vector<int> times(ring.tiles.size());
  for (const CopyTile& copy : copies) {
    if (!is_place(copy.tile, ring.tiles.size())) return refuse("a copy of what is not there");
    ++times[static_cast<std::size_t>(copy.tile)];
    if (copy.way == CopyWay::kRegisters && ring.stages == 1) {
      refuse(fmt::format("'{}' has one stage, which nothing keeps in registers until it is empty",
                         ring.tiles[static_cast<std::size_t>(copy.tile)].name));
    }
    check_copy(copy, ring);
  }
  for (std::size_t t = 0; t < times.size(); ++t) {
    if (times[t] != 1)
      refuse(fmt::format("'{}' is copied {} times a round", ring.tiles[t].name, times[t]));
  }
}

void Verifier::check_once(const Stream& stream) {
  if (stream.once_ring < 0) {
    if (!stream.once.empty() || !stream.before.empty())
      refuse("tiles are copied once to a ring that is not there");
    return;
  }
  if (!has_ring(stream.once_ring)) return;
  const Ring& ring = this->ring(stream.once_ring);
  if (ring.stages != 1 || !streamed_.insert(stream.once_ring).second) {
    refuse(fmt::format("ring '{}' is filled once, and has {} stages or other copies", ring.name,
                       ring.stages));
  }
  check_copies(stream.once, ring);
  for (const CopyTile& copy : stream.once) {
    const auto is_of_round = [&](nest::Ref value) {
      return value != nullptr && value->uses(stream.symbol);
    };
    if (is_of_round(copy.value) || is_of_round(copy.mask) || is_of_round(copy.row) ||
        is_of_round(copy.k))
      refuse(fmt::format("ring '{}' is filled once by what each round has of its own", ring.name));
  }
  for (const Operation& operation : stream.before) {
    const auto* read = std::get_if<ReadFragments>(&operation.is);
    if (read == nullptr || read->ring != stream.once_ring) {
      return refuse(fmt::format("the stream of ring '{}' begins with what does not belong there",
                                this->ring(stream.ring).name));
    }
    check_of_warp(*read);
  }
}

void Verifier::check_of_warp(const ReadFragments& read) {
  if (!is_place(read.tile, ring(read.ring).tiles.size()) ||
      !is_place(read.fragments, program_.fragments.size()))
    return refuse("fragments of what is not there");
  const SharedTile& tile = ring(read.ring).tiles[static_cast<std::size_t>(read.tile)];
  const Fragments& to = program_.fragments[static_cast<std::size_t>(read.fragments)];
  if (size_of(tile.type) != 2 || to.type != tile.type || to.columns != tile.layout.extent(1) ||
      to.columns % 16 != 0 || read.rest >= 0 || read.rounded || !has_aligned_lines(tile)) {
    return refuse(fmt::format("'{}' of {} is not read as {} columns of {} of '{}'", tile.name,
                              to_string(tile.type), to.columns, to_string(to.type), to.name));
  }
  check_warp_rows(read.row, to.warp_rows, tile);
  rounded_[static_cast<std::size_t>(read.fragments)] = true;
}

void Verifier::check_warp_rows(nest::Ref first, int count, const SharedTile& tile) {
  const bool all_warps =
      program_.warp >= 0 && program_.nodes->extent(program_.warp) * 32 == program_.threads();
  const auto range = first == nullptr ? std::nullopt : program_.nodes->range(first);
  if (!all_warps || !range || range->low < 0 || range->high + count > tile.layout.extent(0))
    refuse(fmt::format("warps multiply rows that '{}' may not have", tile.name));
}

void Verifier::check_copy(const CopyTile& copy, const Ring& ring) {
  const SharedTile& tile = ring.tiles[static_cast<std::size_t>(copy.tile)];
  if (copy.value == nullptr || copy.mask == nullptr || copy.row == nullptr || copy.k == nullptr ||
      copy.row_symbol < 0 || copy.k_symbol < 0 || copy.row_symbol == copy.k_symbol)
    return refuse(fmt::format("'{}' is copied from what is not there", tile.name));
  if (const std::string why = copy_mistake(copy, tile); !why.empty()) return refuse(why);
  if (copy.way == CopyWay::kAsync && limits_.compute_capability < 80) {
    return refuse(
        fmt::format("cp.async is for sm_80 and later, not sm_{}", limits_.compute_capability));
  }
  check_reads_of(copy);
  const auto row = program_.nodes->range(copy.row), k = program_.nodes->range(copy.k);
  if (!row || !k || row->low < 0 || k->low < 0)
    refuse(fmt::format("'{}' may be copied from before the operand's beginning", tile.name));
  if (depends_on_group(copy.row) || depends_on_group(copy.k))
    refuse(fmt::format("warps may copy parts of '{}' from unlike places", tile.name));
}

void Verifier::check_reads_of(const CopyTile& copy) {
  for (const nest::Ref value : {copy.value, copy.mask}) {
    for (const nest::Ref load : nest::loads_in(value)) {
      if (std::ranges::find(program_.parameters, load->name, &Program::Parameter::buffer) ==
          program_.parameters.end())
        return refuse(fmt::format("'{}' is read, and is no parameter", load->name));
    }
  }
  if (copy.piece == 1) return;
  const SymbolId along = copy.along_k ? copy.k_symbol : copy.row_symbol;
  nest::Nodes& nodes = *program_.nodes;
  const int run = nest::longest_run(nodes, copy.value->args[0], along, copy.value->type);
  const std::int64_t size = copy.along_k ? copy.ks : copy.rows;
  if (run % copy.piece != 0 || size % copy.piece != 0) {
    refuse(fmt::format("'{}' is read {} at once, of which {} lie side by side in {}",
                       copy.value->name, copy.piece, run, size));
  }
}

bool Verifier::is_of_stream(int at, int a, int b, int sums) {
  if (stream_ == nullptr || stream_->ring != at || in_when_) {
    refuse("a product of a ring that is not streamed there");
    return false;
  }
  if (is_place(a, ring(at).tiles.size()) && is_place(b, ring(at).tiles.size()) &&
      is_place(sums, program_.sums.size()))
    return true;
  refuse("a product of what is not there");
  return false;
}

void Verifier::check(const WarpMultiply& multiply) {
  const bool in_registers = multiply.fragments >= 0;
  const int a_ring = multiply.a_ring < 0 ? multiply.ring : multiply.a_ring;
  const bool same_ring = a_ring == multiply.ring;
  if (!is_of_stream(multiply.ring, same_ring && !in_registers ? multiply.a : multiply.b, multiply.b,
                    multiply.sums))
    return;
  if (!same_ring &&
      (a_ring != stream_->once_ring || !is_place(multiply.a, ring(a_ring).tiles.size())))
    return refuse("a product of a ring that is not streamed there");
  if (in_registers && (!is_place(multiply.fragments, program_.fragments.size()) ||
                       multiply.rest >= static_cast<int>(program_.fragments.size())))
    return refuse("a product of what is not there");
  const SharedTile& b = ring(multiply.ring).tiles[static_cast<std::size_t>(multiply.b)];
  const Sums& sums = program_.sums[static_cast<std::size_t>(multiply.sums)];
  SharedTile a;
  if (in_registers) {  // as of a tile that lies as it should
    const Fragments& from = program_.fragments[static_cast<std::size_t>(multiply.fragments)];
    a = {from.name, from.type, padded_lines(from.warp_rows, from.columns, true, from.columns)};
  } else {
    a = ring(a_ring).tiles[static_cast<std::size_t>(multiply.a)];
  }
  if (const std::string why = product_mistake(multiply, a, b, sums); !why.empty())
    return refuse(why);
  check_operands(multiply);
  const int needs = is_fp8(a.type) ? 89 : 80;
  if (limits_.compute_capability < needs) {
    refuse(fmt::format("mma.sync of {} is for sm_{} and later, not sm_{}", to_string(a.type), needs,
                       limits_.compute_capability));
  }
  if (!in_registers) check_warp_rows(multiply.a_row, sums.rows, a);
  check_warp_rows(multiply.b_row, sums.columns, b);
  const std::pair types(a.type, b.type);
  if (multiplied_ && *multiplied_ != types) {
    refuse(fmt::format("mma.sync of {} by {} and of {} by {} in one program",
                       to_string(multiplied_->first), to_string(multiplied_->second),
                       to_string(a.type), to_string(b.type)));
  }
  multiplied_ = types;
}

void Verifier::check_operands(const WarpMultiply& multiply) {
  const bool in_registers = multiply.fragments >= 0;
  const bool of_ring = !in_registers && (multiply.a_ring < 0 || multiply.a_ring == multiply.ring);
  if (of_ring) check_uncopied(multiply.a);
  check_uncopied(multiply.b);
  if (multiply.in_parts && (!in_registers || multiply.ahead || multiply.fresh))
    refuse("products are added up by themselves of fragments only, one after the other, to sums");
  if (!in_registers) return;
  const Fragments& a = program_.fragments[static_cast<std::size_t>(multiply.fragments)];
  if (multiply.ahead) refuse(fmt::format("'{}' are read ahead, and are in registers", a.name));
  if (multiply.thrice != (multiply.rest >= 0))
    refuse(fmt::format("'{}' are multiplied without what rounding them has left", a.name));
  if (multiply.rest >= 0) {
    const Fragments& rest = program_.fragments[static_cast<std::size_t>(multiply.rest)];
    if (rest.type != a.type || rest.columns != a.columns || rest.warp_rows != a.warp_rows)
      refuse(fmt::format("'{}' are no rest of '{}', of which they have other columns or types",
                         rest.name, a.name));
  }
  for (const int at : {multiply.fragments, multiply.rest}) {
    if (at >= 0 && !rounded_[static_cast<std::size_t>(at)]) {
      refuse(fmt::format("'{}' are multiplied before they have a value",
                         program_.fragments[static_cast<std::size_t>(at)].name));
    }
  }
  const SharedTile& b = ring(multiply.ring).tiles[static_cast<std::size_t>(multiply.b)];
  if (a.type == ScalarType::kF32 && is_along_k(b))
    refuse(fmt::format("'{}' lies along k; of f32 its lines are read in another order", b.name));
}

void Verifier::check(const ThreadMultiply& multiply) {
  if (!is_of_stream(multiply.ring, multiply.a, multiply.b, multiply.sums)) return;
  const auto& tiles = ring(multiply.ring).tiles;
  if (ring(multiply.ring).stages == 1)
    refuse("multiply-adds read both tiles of a stage, of which one is copied");
  if (const std::string why = product_mistake(
          tiles[static_cast<std::size_t>(multiply.a)], tiles[static_cast<std::size_t>(multiply.b)],
          program_.sums[static_cast<std::size_t>(multiply.sums)], program_.threads());
      !why.empty())
    refuse(why);
}

void Verifier::check_uncopied(int tile) {
  const Ring& ring = this->ring(stream_->ring);
  if (ring.stages == 1 && tile != (exchanged_ ? 1 : 0)) {
    refuse(fmt::format("'{}' is multiplied where it is copied",
                       ring.tiles[static_cast<std::size_t>(tile)].name));
  }
}

void Verifier::check(const HalfWarpMultiply& multiply) {
  if (!is_of_stream(multiply.ring, multiply.b, multiply.b, multiply.sums)) return;
  if (!has_ring(multiply.a_ring)) return;
  if (!is_place(multiply.a, ring(multiply.a_ring).tiles.size()))
    return refuse("a product of what is not there");
  const SharedTile& a = ring(multiply.a_ring).tiles[static_cast<std::size_t>(multiply.a)];
  const SharedTile& b = ring(multiply.ring).tiles[static_cast<std::size_t>(multiply.b)];
  const Sums& sums = program_.sums[static_cast<std::size_t>(multiply.sums)];
  for (const SharedTile* tile : {&a, &b}) {
    if (const std::string why = half_warp_mistake(*tile, sums); !why.empty()) return refuse(why);
  }
  if (b.layout.extent(0) != std::int64_t{16} * sums.columns ||
      a.layout.extent(1) != b.layout.extent(1)) {
    return refuse(fmt::format("16 threads with {} columns each do not fill '{}' by '{}'",
                              sums.columns, a.name, b.name));
  }
  check_uncopied(multiply.b);
  check_warp_rows(multiply.a_row, sums.warp_rows(), a);
  if (multiply.a_ring == stream_->once_ring) return;
  const auto kept = kept_.find({multiply.a_ring, multiply.a});
  if (kept == kept_.end() || kept->second != multiply.a_row)
    refuse(fmt::format("'{}' is multiplied where the same warp has kept nothing", a.name));
}

void Verifier::check(const KeepSums& keep) {
  if (!has_ring(keep.ring)) return;
  const Ring& ring = this->ring(keep.ring);
  if (!is_place(keep.tile, ring.tiles.size()) || !is_place(keep.sums, program_.sums.size()))
    return refuse("sums are kept where nothing is");
  if (stream_ == nullptr || in_when_) return refuse("sums are kept in no round of a stream");
  if (ring.stages != 1 || keep.ring == stream_->ring || keep.ring == stream_->once_ring)
    return refuse(fmt::format("sums are kept in ring '{}', which is copied to", ring.name));
  const SharedTile& tile = ring.tiles[static_cast<std::size_t>(keep.tile)];
  const Sums& sums = program_.sums[static_cast<std::size_t>(keep.sums)];
  if (const std::string why = half_warp_mistake(tile, sums); !why.empty()) return refuse(why);
  nest::Nodes& nodes = *program_.nodes;
  const bool of_warps =
      program_.warp >= 0 && keep.row == nodes.scale(nodes.index(program_.warp), sums.warp_rows());
  if (!of_warps || tile.layout.extent(1) != std::int64_t{16} * sums.columns)
    return refuse(fmt::format("'{}' keeps more or less than each warp's own rows", tile.name));
  check_warp_rows(keep.row, sums.warp_rows(), tile);
  streamed_.insert(keep.ring);
  kept_[{keep.ring, keep.tile}] = keep.row;
}

void Verifier::check(const When& when) {
  if (when.condition == nullptr || in_when_)
    return refuse("a part of a program that runs under no condition of its own");
  if (!std::ranges::all_of(when.body, belongs_in_when))
    return refuse("what all threads do together is done under a condition");
  in_when_ = true;
  walk(when.body);
  in_when_ = false;
}

}  // namespace hone::tile
