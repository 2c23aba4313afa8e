// What is refused of products, sums, fragments and outputs.
#include <fmt/format.h>

#include <algorithm>

#include "rewriters/schedules/printing/emit.h"
#include "rewriters/tile/operands.h"
#include "rewriters/tile/verifier.h"

namespace hone::tile {

bool Verifier::depends_on_group(nest::Ref value) const {
  return std::ranges::any_of(of_group_, [&](SymbolId symbol) { return value->uses(symbol); });
}

void Verifier::check(const ReadFragments& read) {
  if (!is_place(read.ring, program_.rings.size()) ||
      !is_place(read.tile, ring(read.ring).tiles.size()))
    return refuse("fragments of what is not there");
  const SharedTile& tile = ring(read.ring).tiles[static_cast<std::size_t>(read.tile)];
  if (!state(read.ring).full)
    return refuse(fmt::format("'{}' is read before it is full", tile.name));
  if (read.rounded && read.rest >= 0)
    return refuse(fmt::format("nothing is left of '{}', which is rounded", tile.name));
  if (read.rounded && !is_rounded(read.ring, read.tile))
    return refuse(fmt::format("'{}' is not rounded by its copies", tile.name));
  if (!fill_fragments(tile, read.fragments, read.rest)) return;
  check_rows(read.row, tile);
  read_by_warps(read.ring);
}

void Verifier::check(const ReadPatch& read) {
  if (!is_place(read.ring, program_.rings.size()) ||
      !is_place(read.tile, ring(read.ring).tiles.size()) ||
      !is_place(read.fragments, program_.fragments.size()) ||
      (read.rest >= 0 && !is_place(read.rest, program_.fragments.size())) || read.from == nullptr ||
      read.row == nullptr || read.there == nullptr || read.rest == read.fragments)
    return refuse("fragments of what is not there");
  const SharedTile& tile = ring(read.ring).tiles[static_cast<std::size_t>(read.tile)];
  if (!state(read.ring).full)
    return refuse(fmt::format("'{}' is read before it is full", tile.name));
  if (tile.type != ScalarType::kF32 || tile.layout.rank() != 2 || tile.layout.swizzle() != 0 ||
      tile.layout.dimension(1).size() != 1 || tile.layout.extent(1) % 8 != 0)
    return refuse(fmt::format("'{}' is no patch of f32: {}", tile.name, tile.layout.describe()));
  if (read.rest < 0 && !is_rounded(read.ring, read.tile))
    return refuse(fmt::format("'{}' is not rounded by its copies", tile.name));
  const std::int64_t k = tile.layout.extent(1);
  for (const int at : {read.fragments, read.rest}) {
    if (at < 0) continue;
    const Fragments& to = program_.fragments[static_cast<std::size_t>(at)];
    if (to.type != ScalarType::kF32 || read.first < 0 || read.first % 8 != 0 ||
        read.first + k > to.columns)
      return refuse(fmt::format("{} of k of '{}' are read to {} columns of {} of '{}' from {} on",
                                k, tile.name, to.columns, to_string(to.type), to.name, read.first));
    check_unread(at);
    rounded_[static_cast<std::size_t>(at)] = true;
  }
  const auto rows = program_.nodes->range(read.row), from = program_.nodes->range(read.from);
  const bool placed = role_->warp_groups <= program_.nodes->extent(program_.group) && rows &&
                      from && read.width > 0 && read.across >= 0 && read.down >= 0 &&
                      rows->low >= 0 && from->low >= 0;
  const std::int64_t last = placed ? rows->high + 63 : 0;
  const std::int64_t reach = placed ? from->high + last / read.width * read.down +
                                          std::min(last, read.width - 1) * read.across +
                                          (k - 1) * tile.layout.dimension(1)[0].stride
                                    : 0;
  if (!placed || reach >= tile.layout.reach())
    return refuse(fmt::format("'{}' is read beyond its end, at {} of {}", tile.name, reach,
                              tile.layout.reach()));
  read_by_warps(read.ring);
}

bool Verifier::is_rounded(int ring, int tile) const {
  bool rounded = true;
  for (const Role& role : program_.roles)
    for_each_operation(role.body, [&](const Operation& operation) {
      const auto* copy = std::get_if<BulkCopy>(&operation.is);
      if (copy != nullptr && copy->ring == ring && copy->tile == tile &&
          is_place(copy->view, program_.views.size()))
        rounded = rounded && program_.views[static_cast<std::size_t>(copy->view)].as_tf32;
    });
  return rounded;
}

bool Verifier::fill_fragments(const SharedTile& tile, int fragments, int rest) {
  if (!is_place(fragments, program_.fragments.size()) ||
      (rest >= 0 && !is_place(rest, program_.fragments.size())) || rest == fragments) {
    refuse("fragments of what is not there");
    return false;
  }
  for (const int at : {fragments, rest}) {
    if (at < 0) continue;
    const Fragments& to = program_.fragments[static_cast<std::size_t>(at)];
    if (const std::string why = read_mistake(tile, to); !why.empty()) {
      refuse(why);
      return false;
    }
    check_unread(at);
    rounded_[static_cast<std::size_t>(at)] = true;
  }
  return true;
}

void Verifier::check_unread(int fragments) {
  for (const Underway& one : underway_)
    if (one.fragments == fragments)
      refuse(fmt::format("'{}' are written while products read them",
                         program_.fragments[static_cast<std::size_t>(fragments)].name));
}

void Verifier::check_rows(nest::Ref row, const SharedTile& tile) {
  const auto rows = row == nullptr ? nest::Range{} : program_.nodes->range(row);
  if (role_->warp_groups > program_.nodes->extent(program_.group) || !rows || rows->low < 0 ||
      rows->high + 64 > tile.layout.extent(0))
    refuse(fmt::format("role '{}' multiplies rows that '{}' may not have", role_->name, tile.name));
}

void Verifier::check(const Multiply& multiply) {
  if (!is_place(multiply.ring, program_.rings.size()) ||
      !is_place(multiply.b, ring(multiply.ring).tiles.size()) ||
      !is_place(multiply.sums, program_.sums.size()))
    return refuse("a product of what is not there");
  if (multiply.fragments >= 0) return check_from_registers(multiply);
  const int a_ring = multiply.a_ring < 0 ? multiply.ring : multiply.a_ring;
  if (!is_place(a_ring, program_.rings.size()) || !is_place(multiply.a, ring(a_ring).tiles.size()))
    return refuse("a product of what is not there");
  const SharedTile& a = ring(a_ring).tiles[static_cast<std::size_t>(multiply.a)];
  const SharedTile& b = ring(multiply.ring).tiles[static_cast<std::size_t>(multiply.b)];
  const Sums& sums = program_.sums[static_cast<std::size_t>(multiply.sums)];
  if (!state(multiply.ring).full || !state(a_ring).full)
    return refuse(fmt::format("'{}' and '{}' are multiplied before they are full", a.name, b.name));
  if (const std::string why = product_mistake(a, b, sums.columns); !why.empty()) return refuse(why);
  // The sums, addresses, and what a loop needs.
  const int registers = registers_of(*role_);
  if (sums.columns / 2 + 40 > registers)
    refuse(fmt::format("{} registers of sums do not fit role '{}', which has {}", sums.columns / 2,
                       role_->name, registers));
  check_rows(multiply.a_row, a);
  started(multiply, {a.type, b.type, is_along_k(a) ? 1 : 0, is_along_k(b)});
  state(a_ring).multiplied = true;
  underway_.back().rings.insert(a_ring);
}

void Verifier::check_from_registers(const Multiply& multiply) {
  if (!is_place(multiply.fragments, program_.fragments.size()))
    return refuse("a product of what is not there");
  const auto at = static_cast<std::size_t>(multiply.fragments);
  const Fragments& a = program_.fragments[at];
  const SharedTile& b = ring(multiply.ring).tiles[static_cast<std::size_t>(multiply.b)];
  if (!state(multiply.ring).full || !rounded_[at])
    return refuse(fmt::format("'{}' and '{}' are multiplied before they are full", a.name, b.name));
  if (const std::string why =
          product_mistake(a, b, program_.sums[static_cast<std::size_t>(multiply.sums)].columns);
      !why.empty())
    return refuse(why);
  started(multiply, {a.type, b.type, -1, is_along_k(b)});
}

void Verifier::started(const Multiply& multiply, const Kind& kind) {
  const auto [other, fresh] = products_.try_emplace(multiply.sums, kind);
  if (!fresh && other->second != kind)
    refuse(fmt::format("'{}' are sums of products of two kinds",
                       program_.sums[static_cast<std::size_t>(multiply.sums)].name));
  // What an instruction reads and writes has to fit before roles give and take registers.
  const int columns = program_.sums[static_cast<std::size_t>(multiply.sums)].columns;
  const int compiled = program_.registers_at_launch(limits_.registers);
  if (columns / 2 + 30 > compiled)
    refuse(
        fmt::format("{} registers of sums are written at once; of {} threads the compiler "
                    "gives each {}",
                    columns / 2, program_.threads(), compiled));
  const bool never =
      multiply.fresh == nullptr || (multiply.fresh->is_constant() && multiply.fresh->constant == 0);
  if (!never) begun_.insert(multiply.sums);
  state(multiply.ring).multiplied = true;
  underway_.push_back({multiply.sums, multiply.fragments, {multiply.ring}});
}

void Verifier::ended(std::size_t left) {
  while (underway_.size() > left) underway_.erase(underway_.begin());
}

bool Verifier::is_underway(int sums) const {
  return std::ranges::any_of(underway_, [&](const Underway& one) { return one.sums == sums; });
}

void Verifier::check(const Await& await) {
  if (await.left < 0 || (await.left > 0 && unknown_))
    refuse(
        fmt::format("role '{}' waits for all but {} products where it is not known how many "
                    "are on their way",
                    role_->name, await.left));
  ended(static_cast<std::size_t>(std::max(await.left, 0)));
  if (await.left == 0) unknown_ = false;
}

void Verifier::check(const TakeTurn&) {
  if (role_->warp_groups < 2) refuse(fmt::format("role '{}' takes turns alone", role_->name));
  if (turn_) refuse(fmt::format("role '{}' takes a turn that it has", role_->name));
  turn_ = true;
}

void Verifier::check(const PassTurn&) {
  if (!turn_) refuse(fmt::format("role '{}' passes a turn that it does not have", role_->name));
  turn_ = false;
}

bool Verifier::at_rest(int sums) {
  if (!is_place(sums, program_.sums.size())) {
    refuse("sums that are not there");
  } else if (is_underway(sums)) {
    refuse(fmt::format("'{}' are touched while products are on their way",
                       program_.sums[static_cast<std::size_t>(sums)].name));
  } else {
    return true;
  }
  return false;
}

void Verifier::check_reads(nest::Ref value, int in_lanes) {
  if (value == nullptr) return;
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    const Rows& rows = program_.rows[r];
    if (!mentions(value, rows.value)) continue;
    if (rows_[r] == RowsState::kNothing)
      refuse(fmt::format("rows '{}' have no value yet", rows.name));
    if (rows_[r] == RowsState::kInLanes && static_cast<int>(r) != in_lanes)
      refuse(fmt::format("rows '{}' are used where lanes have parts of them", rows.name));
  }
}

bool Verifier::mentions(nest::Ref value, nest::Ref leaf) {
  bool found = false;
  nest::for_each(value, [&](nest::Ref node) { found |= node == leaf; });
  return found;
}

void Verifier::check(const MapSums& map) {
  if (map.awaits && map.unless == nullptr)
    refuse("sums that are mapped in any case are waited for by Await");
  if (map.awaits ? !is_place(map.sums, program_.sums.size()) : !at_rest(map.sums))
    return refuse("sums that are not there");
  if (map.value == nullptr) return refuse("sums become what is not said");
  const Sums& sums = program_.sums[static_cast<std::size_t>(map.sums)];
  if (sums.of == SumsOf::kThread)
    return refuse(
        fmt::format("'{}' are sums of threads, whose places a map does not know", sums.name));
  if (streams() && map.awaits)
    return refuse(
        fmt::format("'{}' are waited for in a stream, whose products have ended", sums.name));
  const bool kept = map.unless != nullptr || (map.sum != nullptr && mentions(map.value, map.sum));
  if (!kept) begun_.insert(map.sums);
  check_reads(map.value, -1);
  check_reads(map.unless, -1);
  if ((map.row_symbol >= 0 && map.row == nullptr) ||
      (map.column_symbol >= 0 && map.column == nullptr))
    refuse(fmt::format("'{}' are mapped by places that are not known",
                       program_.sums[static_cast<std::size_t>(map.sums)].name));
}

void Verifier::check(const MapRows& map) {
  if (!is_place(map.rows, rows_.size()) || map.value == nullptr)
    return refuse("rows that are not there");
  check_reads(map.value, map.rows);
  RowsState& state = rows_[static_cast<std::size_t>(map.rows)];
  const bool kept = mentions(map.value, program_.rows[static_cast<std::size_t>(map.rows)].value);
  if (!kept || state != RowsState::kInLanes) state = RowsState::kWhole;
}

void Verifier::check(const ReduceRows& reduce) {
  if (!is_place(reduce.rows, rows_.size())) return refuse("rows that are not there");
  if (!at_rest(reduce.sums)) return;
  if (reduce.op != Op::kMax && reduce.op != Op::kAdd)
    return refuse(fmt::format("rows are folded by 'max' or '+', not '{}'", info(reduce.op).name));
  RowsState& state = rows_[static_cast<std::size_t>(reduce.rows)];
  const Rows& rows = program_.rows[static_cast<std::size_t>(reduce.rows)];
  if (reduce.onto && state == RowsState::kNothing)
    refuse(fmt::format("rows '{}' have no value yet", rows.name));
  // A sum counts four times what all lanes of a row have.
  if (reduce.onto && reduce.op == Op::kAdd && !reduce.in_lanes)
    refuse(fmt::format("rows '{}' are added to by each lane of theirs", rows.name));
  if (reduce.onto && !reduce.in_lanes && state == RowsState::kInLanes)
    refuse(fmt::format("rows '{}' are used where lanes have parts of them", rows.name));
  state = reduce.in_lanes ? RowsState::kInLanes : RowsState::kWhole;
}

void Verifier::check(const FoldRows& fold) {
  if (!is_place(fold.rows, rows_.size())) return refuse("rows that are not there");
  RowsState& state = rows_[static_cast<std::size_t>(fold.rows)];
  if (state != RowsState::kInLanes)
    refuse(fmt::format("rows '{}' are folded where lanes have no parts of them",
                       program_.rows[static_cast<std::size_t>(fold.rows)].name));
  state = RowsState::kWhole;
}

void Verifier::check(const RoundSums& round) {
  if (!at_rest(round.sums)) return;
  if (!is_place(round.fragments, program_.fragments.size()))
    return refuse("fragments that are not there");
  const Fragments& to = program_.fragments[static_cast<std::size_t>(round.fragments)];
  const Sums& from = program_.sums[static_cast<std::size_t>(round.sums)];
  if (to.columns != from.columns || to.columns % 16 != 0 || from.of == SumsOf::kHalfWarp) {
    refuse(fmt::format("{} columns of '{}' are rounded to {} of '{}'", from.columns, from.name,
                       to.columns, to.name));
  }
  const bool tf32 = streams() && to.type == ScalarType::kF32;
  if (to.type != ScalarType::kF16 && to.type != ScalarType::kBf16 && !tf32) {
    refuse(fmt::format("'{}' are rounded to {}; wgmma reads f16 and bf16", from.name,
                       to_string(to.type)));
  }
  check_unread(round.fragments);
  rounded_[static_cast<std::size_t>(round.fragments)] = true;
  if (round.rest < 0) return;
  const bool is_there = is_place(round.rest, program_.fragments.size()) && tf32;
  if (!is_there || round.rest == round.fragments ||
      program_.fragments[static_cast<std::size_t>(round.rest)].type != to.type ||
      program_.fragments[static_cast<std::size_t>(round.rest)].columns != to.columns)
    return refuse(fmt::format("nothing takes what rounding to '{}' leaves", to.name));
  rounded_[static_cast<std::size_t>(round.rest)] = true;
}

void Verifier::check(const AddRuns& add) {
  if (!at_rest(add.sums) || !at_rest(add.runs)) return;
  const Sums& sums = program_.sums[static_cast<std::size_t>(add.sums)];
  const Sums& runs = program_.sums[static_cast<std::size_t>(add.runs)];
  if (add.sums == add.runs || sums.columns != runs.columns || sums.rows != runs.rows ||
      sums.type != ScalarType::kF32 || runs.type != ScalarType::kF32 || sums.of != runs.of) {
    refuse(fmt::format("'{}' are added to '{}': others of f32 and of as many rows and columns",
                       runs.name, sums.name));
  }
  for (const int at : {add.sums, add.runs}) {
    if (!begun_.contains(at))
      refuse(fmt::format("'{}' are added to '{}' before anything has set '{}'", runs.name,
                         sums.name, program_.sums[static_cast<std::size_t>(at)].name));
  }
  if (add.forget) added_.insert(add.runs);
}

void Verifier::check(const ShareSums& share) {
  if (!at_rest(share.sums) || !at_rest(share.shared)) return;
  const Sums& sums = program_.sums[static_cast<std::size_t>(share.sums)];
  const Sums& shared = program_.sums[static_cast<std::size_t>(share.shared)];
  if (program_.cluster == 1)
    refuse(
        fmt::format("'{}' are shared by the blocks of a cluster, which there is not", sums.name));
  if (sums.of != SumsOf::kWarpGroup || shared.of != SumsOf::kWarpGroup ||
      sums.type != ScalarType::kF32 || shared.type != ScalarType::kF32 ||
      shared.columns * program_.cluster != sums.columns || shared.columns % 8 != 0)
    refuse(
        fmt::format("{} columns of '{}' are shared by {} blocks as {} of '{}': each has as many, "
                    "a multiple of 8 of f32",
                    sums.columns, sums.name, program_.cluster, shared.columns, shared.name));
  if (!is_place(share.staging, program_.stagings.size()))
    return refuse(fmt::format("'{}' are shared by a staging that is not there", sums.name));
  const Staging& staging = program_.stagings[static_cast<std::size_t>(share.staging)];
  if (staging.warp_groups != role_->warp_groups || staging.tile.type != ScalarType::kF32 ||
      staging.tile.layout != exchanged_sums(sums.columns))
    refuse(fmt::format("'{}' are shared by '{}', which is {} for {} warp groups", sums.name,
                       staging.tile.name, staging.tile.layout.describe(), staging.warp_groups));
  if (!begun_.contains(share.sums))
    refuse(fmt::format("'{}' are shared before anything has set them", sums.name));
  if (role_->one_thread)
    refuse(fmt::format("one thread alone of role '{}' shares '{}'", role_->name, sums.name));
  begun_.erase(share.sums);
  begun_.insert(share.shared);
}

void Verifier::check(const Store& store) {
  if (!is_place(store.sums, program_.sums.size()) || store.value == nullptr)
    return refuse("a store of what is not there");
  if (is_underway(store.sums) || (store.runs >= 0 && is_underway(store.runs)))
    refuse("sums are stored while products are on their way");
  const auto written = [&](const Program::Parameter& one) {
    return one.buffer == store.buffer && one.written;
  };
  const bool by_threads = store.staging < 0 || store.view < 0;
  if (by_threads && (store.element == nullptr || store.row == nullptr || store.column == nullptr ||
                     std::ranges::none_of(program_.parameters, written)))
    refuse(fmt::format("a store to '{}', which is no place to write to", store.buffer));
  if (store.runs >= 0 && !is_place(store.runs, program_.sums.size()))
    return refuse("sums are stored with runs that are not there");
  if (store.runs >= 0) {
    const Sums& sums = program_.sums[static_cast<std::size_t>(store.sums)];
    const Sums& runs = program_.sums[static_cast<std::size_t>(store.runs)];
    if (runs.columns != sums.columns || runs.rows != sums.rows || runs.type != sums.type ||
        runs.of != sums.of)
      refuse("sums are stored with runs of other rows, columns or types");
  }
  if (added_.contains(store.runs))
    refuse(fmt::format("sums are stored with '{}', which they have already",
                       program_.sums[static_cast<std::size_t>(store.runs)].name));
  if (store.contiguous < 1) refuse("a store of no elements");
  check_places(store, by_threads);
  // The next tile's outputs are other sums.
  begun_.erase(store.sums);
  begun_.erase(store.runs);
  check_beside(store);
  if (store.staging >= 0) store.view < 0 ? check_turned(store) : check_staged(store);
  if (store.adds) check_adds(store);
}

void Verifier::check_places(const Store& store, bool by_threads) {
  if (store.places.empty()) return;
  if (!by_threads || store.empty == nullptr)
    refuse(fmt::format("a store to '{}' of several places by copies, or of no value for them",
                       store.buffer));
  for (const Place& place : store.places) {
    const auto begin = place.begin == nullptr ? std::nullopt : program_.nodes->range(place.begin);
    if (place.symbol < 0 || !begin || begin->low < 0 || begin->high > place.own ||
        place.own >= place.end)
      refuse(fmt::format("a store to '{}' whose places are not around its own", store.buffer));
  }
}

void Verifier::check_adds(const Store& store) {
  if (store.staging < 0 || store.view < 0)
    refuse(fmt::format("outputs are added to '{}' by threads; only copies add", store.buffer));
  if (store.type != ScalarType::kF32)
    refuse(fmt::format("outputs of {} are added to '{}', where they would be rounded twice",
                       to_string(store.type), store.buffer));
  nest::for_each(store.value, [&](nest::Ref node) {
    if (node->kind == nest::Node::Kind::kLoad && node != store.sum && node->name == store.buffer)
      refuse(fmt::format("outputs are added to '{}', which their value reads", store.buffer));
  });
}

void Verifier::check_beside(const Store& store) {
  schedules::Printer knows_sum(*program_.nodes);
  knows_sum.known[store.sum] = "sum";
  const std::vector<schedules::Use> uses = schedules::uses_of(knows_sum, {store.value});
  for (const auto& [load, contiguous] : store.beside) {
    if (load == nullptr || load->kind != nest::Node::Kind::kLoad || contiguous < 2)
      return refuse("a store reads together what are no elements side by side");
    const auto use = std::ranges::find(uses, load, &schedules::Use::value);
    if (use == uses.end() || !use->certain)
      return refuse(fmt::format("elements of '{}' are read together, which the value may not read",
                                load->name));
    if (std::ranges::find(program_.parameters, load->name, &Program::Parameter::buffer) ==
        program_.parameters.end())
      return refuse(fmt::format("'{}' is read, and is no parameter", load->name));
  }
}

void Verifier::check_turned(const Store& store) {
  if (!is_place(store.staging, program_.stagings.size()))
    return refuse("a store by what is not there");
  const auto& [warp_groups, tile] = program_.stagings[static_cast<std::size_t>(store.staging)];
  const int columns = program_.sums[static_cast<std::size_t>(store.sums)].columns;
  if (role_->one_thread)
    return refuse(fmt::format("one thread alone of role '{}' stores by a staging", role_->name));
  const std::int64_t together = tile.layout.rank() == 2 ? tile.layout.extent(1) : 0;
  if (tile.type != ScalarType::kF32 || store.runs >= 0 || together < 8 || together % 8 != 0 ||
      columns % together != 0 || tile.layout != turned_outputs(together))
    return refuse(fmt::format("'{}' does not turn {} columns of f32: {}", tile.name, columns,
                              tile.layout.describe()));
  const auto [user, fresh] = staging_users_.try_emplace(store.staging, role_->name);
  if (role_->warp_groups > warp_groups || (!fresh && user->second != role_->name))
    return refuse(fmt::format("'{}' is for {} warp groups of one role", tile.name, warp_groups));
}

void Verifier::check_staged(const Store& store) {
  if (!is_place(store.staging, program_.stagings.size()) ||
      !is_place(store.view, program_.views.size()))
    return refuse("a store by what is not there");
  if (role_->one_thread)
    return refuse(fmt::format("one thread alone of role '{}' stores by a staging", role_->name));
  const auto& [warp_groups, tile] = program_.stagings[static_cast<std::size_t>(store.staging)];
  const View& view = program_.views[static_cast<std::size_t>(store.view)];
  const int columns = program_.sums[static_cast<std::size_t>(store.sums)].columns;
  const auto name = fmt::format("'{}'", tile.name);
  if (tile.type != store.type || (size_of(store.type) != 2 && store.type != ScalarType::kF32))
    return refuse(
        fmt::format("{} holds {} for outputs of {}; both must be f32, or the same 16 "
                    "bits",
                    name, to_string(tile.type), to_string(store.type)));
  const std::int64_t staged = tile.layout.rank() == 2 ? tile.layout.extent(1) : 0;
  const std::int64_t band = staged_columns(tile.type);
  if (staged % band != 0 || staged == 0 || columns % staged != 0 ||
      tile.layout != staged_outputs(staged, tile.type))
    return refuse(
        fmt::format("{} does not lie as its copies read it: {}", name, tile.layout.describe()));
  if (store.contiguous < 2 || store.guard == nullptr || !store.guard->is_constant() ||
      store.guard->constant == 0)
    return refuse(fmt::format("outputs by {} that are not all there, side by side", name));
  const std::size_t rank = view.shape.size();
  if (view.buffer != store.buffer || rank < 2 || store.to.size() != rank ||
      view.shape[rank - 2] != store.rows || view.shape[rank - 1] != store.columns ||
      view.box[rank - 2] != 64 || view.box[rank - 1] != band)
    return refuse(fmt::format("{} goes to a view of other rows and columns", name));
  if (view.as_tf32) return refuse(fmt::format("{} goes to a view as tf32", name));
  if (const std::string why = copy_mistake(view, tile, {0, 0}); !why.empty())
    return refuse(fmt::format("copy of {} to '{}': {}", name, view.buffer, why));
  const auto [user, fresh] = staging_users_.try_emplace(store.staging, role_->name);
  if (role_->warp_groups > warp_groups || (!fresh && user->second != role_->name))
    return refuse(fmt::format("{} is for {} warp groups of one role", name, warp_groups));
}

}  // namespace hone::tile
