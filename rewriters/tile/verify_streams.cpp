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
         std::holds_alternative<When>(operation.is);
}

bool belongs_around_stream(const Operation& operation) {
  return std::holds_alternative<Define>(operation.is) ||
         std::holds_alternative<Stream>(operation.is) ||
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
  if (program_.roles.size() != 1 || program_.rings.size() != 1 || role.one_thread ||
      role.registers != 0 || program_.cluster != 1 || !program_.stagings.empty() ||
      !program_.views.empty())
    refuse(fmt::format("role '{}' streams, and is not alone with one ring", role.name));
  for (const Operation& operation : role.body) {
    if (!belongs_around_stream(operation))
      refuse(fmt::format("role '{}' streams, and does what such a role does not", role.name));
  }
}

void Verifier::check(const Stream& stream) {
  if (!has_ring(stream.ring)) return;
  const Ring& ring = this->ring(stream.ring);
  // The first copies of a second one would meet the last readers of the one before.
  if (!streamed_.insert(stream.ring).second)
    return refuse(fmt::format("ring '{}' is streamed twice", ring.name));
  if (ring.stages < 2) {
    return refuse(
        fmt::format("ring '{}' is streamed in {} stages; at least 2", ring.name, ring.stages));
  }
  if (stream.first == nullptr || stream.end == nullptr)
    return refuse(fmt::format("ring '{}' is streamed from and to what is not said", ring.name));
  if (depends_on_group(stream.first) || depends_on_group(stream.end))
    return refuse(fmt::format("warps may stream ring '{}' in unlike numbers of rounds", ring.name));
  std::vector<int> times(ring.tiles.size());
  for (const CopyTile& copy : stream.copies) {
    if (!is_place(copy.tile, ring.tiles.size())) return refuse("a copy of what is not there");
    ++times[static_cast<std::size_t>(copy.tile)];
    check_copy(copy, ring);
  }
  for (std::size_t t = 0; t < times.size(); ++t) {
    if (times[t] != 1)
      refuse(fmt::format("'{}' is copied {} times a round", ring.tiles[t].name, times[t]));
  }
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
  walk(stream.body);
  stream_ = nullptr;
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
  if (!is_of_stream(multiply.ring, multiply.a, multiply.b, multiply.sums)) return;
  const auto& tiles = ring(multiply.ring).tiles;
  const SharedTile& a = tiles[static_cast<std::size_t>(multiply.a)];
  const SharedTile& b = tiles[static_cast<std::size_t>(multiply.b)];
  const Sums& sums = program_.sums[static_cast<std::size_t>(multiply.sums)];
  if (const std::string why = product_mistake(multiply, a, b, sums); !why.empty())
    return refuse(why);
  const int needs = is_fp8(a.type) ? 89 : 80;
  if (limits_.compute_capability < needs) {
    refuse(fmt::format("mma.sync of {} is for sm_{} and later, not sm_{}", to_string(a.type), needs,
                       limits_.compute_capability));
  }
  const bool all_warps =
      program_.warp >= 0 && program_.nodes->extent(program_.warp) * 32 == program_.threads();
  for (const auto& [first, count, tile] :
       {std::tuple{multiply.a_row, sums.rows, &a}, {multiply.b_row, sums.columns, &b}}) {
    const auto range = first == nullptr ? std::nullopt : program_.nodes->range(first);
    if (!all_warps || !range || range->low < 0 || range->high + count > tile->layout.extent(0))
      return refuse(fmt::format("warps multiply rows that '{}' may not have", tile->name));
  }
  const std::pair types(a.type, b.type);
  if (multiplied_ && *multiplied_ != types) {
    refuse(fmt::format("mma.sync of {} by {} and of {} by {} in one program",
                       to_string(multiplied_->first), to_string(multiplied_->second),
                       to_string(a.type), to_string(b.type)));
  }
  multiplied_ = types;
}

void Verifier::check(const ThreadMultiply& multiply) {
  if (!is_of_stream(multiply.ring, multiply.a, multiply.b, multiply.sums)) return;
  const auto& tiles = ring(multiply.ring).tiles;
  if (const std::string why = product_mistake(
          tiles[static_cast<std::size_t>(multiply.a)], tiles[static_cast<std::size_t>(multiply.b)],
          program_.sums[static_cast<std::size_t>(multiply.sums)], program_.threads());
      !why.empty())
    refuse(why);
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
