// What is refused before any CUDA is printed.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "rewriters/generators/printing/emit.h"
#include "rewriters/tile/operands.h"
#include "rewriters/tile/program.h"

namespace hone::tile {
namespace {

/// What the rows of a role have.
enum class RowsState {
  kNothing,
  kWhole,    ///< each row its value
  kInLanes,  ///< each lane what its own elements give
};

/// A product on its way.
struct Underway {
  int sums = -1, fragments = -1;
  std::set<int> rings;  ///< from whose stages it reads
  bool operator==(const Underway&) const = default;
};

/// Where one role is in a ring.
struct RingState {
  bool acquired = false;
  bool full = false;
  bool multiplied = false;  ///< the full stage
  /// Of each tile of the acquired stage, which elements were copied.
  std::vector<std::vector<bool>> copied = {};
  /// What has to be the same after each round of a loop.
  bool operator==(const RingState& other) const {
    return acquired == other.acquired && full == other.full && copied == other.copied;
  }
};

class Verifier {
 public:
  Verifier(const Program& program, const Limits& limits) : program_(program), limits_(limits) {}

  Result<void> run() {
    check_threads();
    for (const Ring& ring : program_.rings) check_ring(ring);
    if (!why_.empty()) return refused("tile program: " + why_);  // what follows looks into these
    for (const Role& role : program_.roles) {
      role_ = &role;
      states_.assign(program_.rings.size(), {});
      rows_.assign(program_.rows.size(), RowsState::kNothing);
      rounded_.assign(program_.fragments.size(), false);
      gathered_.assign(program_.elements.size(), false);
      underway_.clear();
      unreleased_.clear();
      read_.clear();
      by_warps_.clear();
      unknown_ = turn_ = false;
      of_group_ = {program_.group};
      check_registers(role);
      walk(role.body);
      if (turn_) refuse(fmt::format("role '{}' ends in its turn", role.name));
      for (std::size_t r = 0; r < states_.size(); ++r) {
        if (states_[r].acquired || states_[r].full)
          refuse(fmt::format("role '{}' ends with a stage of ring '{}' in its hands", role.name,
                             program_.rings[r].name));
      }
      if (!underway_.empty() || !unreleased_.empty())
        refuse(fmt::format("role '{}' ends while its products are on their way", role.name));
    }
    for (std::size_t r = 0; r < program_.rings.size(); ++r) {
      if (producers_[static_cast<int>(r)].size() != 1)
        refuse(fmt::format("ring '{}' is filled by {} roles; it must be one",
                           program_.rings[r].name, producers_[static_cast<int>(r)].size()));
      if (!consumers_.contains(static_cast<int>(r)))
        refuse(fmt::format("nobody reads ring '{}'", program_.rings[r].name));
    }
    if (!why_.empty()) return refused("tile program: " + why_);
    return {};
  }

 private:
  /// The first reason is kept.
  void refuse(std::string why) {
    if (why_.empty()) why_ = std::move(why);
  }

  void check_threads() {
    const int threads = program_.threads();
    if (limits_.compute_capability != 90)
      refuse(
          fmt::format("what is printed here is for sm_90, not sm_{}", limits_.compute_capability));
    if (threads < 1 || threads > 1024)
      return refuse(fmt::format("{} threads; a block has 1 to 1024", threads));
    if (program_.cluster < 1 || program_.cluster > 8 || program_.grid < 1 ||
        program_.grid % program_.cluster != 0)
      refuse(fmt::format("clusters of {} blocks; 1 to 8 that divide the grid of {}",
                         program_.cluster, program_.grid));
    if (program_.shared_bytes() > limits_.shared_bytes)
      refuse(fmt::format("{} bytes of shared memory; a block has {}", program_.shared_bytes(),
                         limits_.shared_bytes));
    // What a thread has before any role gives or takes.
    const int each = program_.registers_at_launch(limits_.registers);
    int given = 0, roles = 0;
    for (const Role& role : program_.roles) {
      given += role.warp_groups * 128 * role.registers;
      roles += role.registers > 0 ? 1 : 0;
      if (role.registers != 0 &&
          (role.registers < 24 || role.registers > 256 || role.registers % 8))
        refuse(fmt::format("role '{}' has {} registers; 24 to 256 in steps of 8", role.name,
                           role.registers));
    }
    if (roles != 0 && roles != static_cast<int>(program_.roles.size()))
      refuse("some roles say how many registers they have, others not");
    if (given > each * threads)
      refuse(fmt::format("the roles have {} registers; there are {}", given, each * threads));
  }

  void check_ring(const Ring& ring) {
    if (ring.stages < 1)
      refuse(fmt::format("ring '{}' has {} stages; at least 1", ring.name, ring.stages));
    for (const SharedTile& tile : ring.tiles) {
      bool empty = false;
      for (std::size_t d = 0; d < tile.layout.rank(); ++d)
        empty |= tile.layout.dimension(d).empty();
      if (empty || tile.layout.rank() != 2)
        refuse(fmt::format("tile '{}' has {} dimensions; it must have 2, none empty", tile.name,
                           tile.layout.rank()));
      else if (tile.layout.reach() != tile.layout.elements())
        refuse(fmt::format("tile '{}' has gaps: {}", tile.name, tile.layout.describe()));
    }
  }

  /// All that a role keeps in registers from product to product.
  void check_registers(const Role& role) {
    std::set<int> sums, fragments;
    for_each_operation(role.body, [&](const Operation& operation) {
      if (const auto* add = std::get_if<AddRuns>(&operation.is);
          add && is_place(add->sums, program_.sums.size()))
        sums.insert(add->sums);
      const auto* multiply = std::get_if<Multiply>(&operation.is);
      if (multiply == nullptr) return;
      if (is_place(multiply->sums, program_.sums.size())) sums.insert(multiply->sums);
      if (is_place(multiply->fragments, program_.fragments.size()))
        fragments.insert(multiply->fragments);
    });
    int kept = 0;
    for (const int at : sums) kept += program_.sums[static_cast<std::size_t>(at)].columns / 2;
    for (const int at : fragments)
      kept += program_.fragments[static_cast<std::size_t>(at)].registers();
    // Addresses, rows, and what a loop needs.
    if (sums.size() > 1 && kept + 32 > registers_of(role))
      refuse(fmt::format("{} registers of sums and fragments do not fit role '{}', which has {}",
                         kept, role.name, registers_of(role)));
  }
  [[nodiscard]] int registers_of(const Role& role) const {
    return role.registers > 0 ? role.registers : program_.registers_at_launch(limits_.registers);
  }

  void walk(const Body& body) {
    for (const Operation& operation : body)
      std::visit([&](const auto& one) { check(one); }, operation.is);
  }

  static bool is_place(int place, std::size_t count) {
    return place >= 0 && static_cast<std::size_t>(place) < count;
  }
  bool has_ring(int ring) {
    if (is_place(ring, program_.rings.size())) return true;
    refuse("a ring that is not there");
    return false;
  }
  RingState& state(int ring) { return states_.at(static_cast<std::size_t>(ring)); }
  const Ring& ring(int at) const { return program_.rings.at(static_cast<std::size_t>(at)); }

  void check(const Define& define) {
    if (define.value != nullptr && depends_on_group(define.value)) of_group_.insert(define.symbol);
  }
  /// Whether warp groups of a role may have different values of this.
  bool depends_on_group(nest::Ref value) const {
    return std::ranges::any_of(of_group_, [&](SymbolId symbol) { return value->uses(symbol); });
  }

  void check(const Loop& loop) {
    const std::vector<RingState> before = states_;
    const std::string& name = program_.nodes->symbol(loop.symbol).name;
    const std::vector<Underway> started = underway_;
    const std::vector<RowsState> rows = rows_;
    const bool turn = turn_;
    walk(loop.body);
    if (states_ != before)
      refuse(fmt::format("a round of the loop over '{}' does not leave the rings as it found them",
                         name));
    bool turns = false;
    for_each_operation(loop.body, [&](const Operation& operation) {
      turns |= std::holds_alternative<TakeTurn>(operation.is);
    });
    if (turns &&
        (depends_on_group(loop.first) || depends_on_group(loop.end) || depends_on_group(loop.step)))
      refuse(
          fmt::format("warp groups may take unlike numbers of turns in the loop over '{}'", name));
    if (turn_ != turn)
      refuse(
          fmt::format("a round of the loop over '{}' does not pass the turn that it takes", name));
    if (underway_ != started || rows_ != rows) {
      // What the second round finds is what all later ones do.
      const std::vector<Underway> after = underway_;
      walk(loop.body);
      if (underway_ != after)
        refuse(fmt::format("every round of the loop over '{}' leaves more products on their way",
                           name));
      unknown_ = unknown_ || underway_ != started;
    }
  }

  void check(const Acquire& acquire) {
    if (!has_ring(acquire.ring)) return;
    RingState& at = state(acquire.ring);
    if (at.acquired || at.full)
      refuse(fmt::format("ring '{}' is acquired where a stage of it is in hand",
                         ring(acquire.ring).name));
    const bool written = program_.is_written(acquire.ring);
    if (!written && !role_->one_thread)
      refuse(fmt::format("ring '{}' is filled by all threads of role '{}'; bulk copies need one",
                         ring(acquire.ring).name, role_->name));
    if (written && role_->one_thread)
      refuse(fmt::format("ring '{}' is written by one thread alone of role '{}'",
                         ring(acquire.ring).name, role_->name));
    if (written && program_.cluster > 1)
      refuse(fmt::format("ring '{}' is written in each block of a cluster; only copies are shared",
                         ring(acquire.ring).name));
    if (read_.contains(acquire.ring))
      refuse(fmt::format("role '{}' reads ring '{}', which it fills", role_->name,
                         ring(acquire.ring).name));
    at = {.acquired = true};
    for (const SharedTile& tile : ring(acquire.ring).tiles)
      at.copied.emplace_back(static_cast<std::size_t>(tile.layout.elements()));
    producers_[acquire.ring].insert(role_->name);
  }

  void check(const BulkCopy& copy) {
    if (!is_place(copy.ring, program_.rings.size()) ||
        !is_place(copy.tile, ring(copy.ring).tiles.size()) ||
        !is_place(copy.view, program_.views.size()))
      return refuse("a copy of what is not there");
    RingState& at = state(copy.ring);
    const SharedTile& tile = ring(copy.ring).tiles[static_cast<std::size_t>(copy.tile)];
    const View& view = program_.views[static_cast<std::size_t>(copy.view)];
    if (!at.acquired)
      return refuse(fmt::format("'{}' is copied to before its stage is empty", tile.name));
    if (program_.is_written(copy.ring))
      return refuse(fmt::format("'{}' is copied to, and threads write its ring", tile.name));
    const bool shared = !copy.step_by_rank.empty();
    if (shared && program_.cluster == 1)
      return refuse(
          fmt::format("a copy of '{}' is for a cluster, which there is not", view.buffer));
    if (shared && copy.step_by_rank.size() != copy.to.size())
      return refuse(
          fmt::format("a copy of '{}' is divided by a step for each coordinate", view.buffer));
    if (copy.from.size() != view.shape.size())
      return refuse(fmt::format("copy of '{}' begins at {} coordinates; it has {} dimensions",
                                view.buffer, copy.from.size(), view.shape.size()));
    std::int64_t elements = 1;
    for (const std::int64_t extent : view.box) elements *= extent;
    for (int rank = 0; rank < (shared ? program_.cluster : 1); ++rank) {
      std::vector<std::int64_t> to = copy.to;
      for (std::size_t d = 0; shared && d < to.size(); ++d) to[d] += rank * copy.step_by_rank[d];
      if (const std::string why = copy_mistake(view, tile, to); !why.empty())
        return refuse(fmt::format("copy of '{}' to '{}': {}", view.buffer, tile.name, why));
      auto& copied = at.copied[static_cast<std::size_t>(copy.tile)];
      const std::int64_t first = tile.layout.offset(to);
      for (std::int64_t i = first; i < first + elements; ++i) {
        if (copied[static_cast<std::size_t>(i)])
          return refuse(fmt::format("a part of '{}' is copied twice", tile.name));
        copied[static_cast<std::size_t>(i)] = true;
      }
    }
  }

  void check(const SplitTile& split) {
    const bool placed = is_place(split.ring, program_.rings.size()) &&
                        is_place(split.to_ring, program_.rings.size()) &&
                        is_place(split.tile, ring(split.ring).tiles.size());
    if (!placed || split.ring == split.to_ring || (split.big < 0 && split.rest < 0))
      return refuse("a split of what is not there");
    const SharedTile& tile = ring(split.ring).tiles[static_cast<std::size_t>(split.tile)];
    if (!state(split.ring).full)
      return refuse(fmt::format("'{}' is split before it is full", tile.name));
    if (!state(split.to_ring).acquired)
      return refuse(fmt::format("'{}' is split to a stage that is not empty", tile.name));
    for (const int at : {split.big, split.rest})
      if (at >= 0 && !fill(split.to_ring, at, tile)) return;
    if (split.big < 0 && !is_along_k(tile))
      return refuse(fmt::format("'{}' lies along its rows, and is split as if wgmma read it itself",
                                tile.name));
    read_by_warps(split.ring);
  }
  /// Each warp of a block tells those of its own block.
  void read_by_warps(int at) {
    if (program_.cluster > 1)
      refuse(fmt::format("warps read ring '{}' by themselves, which blocks of a cluster share",
                         ring(at).name));
    state(at).multiplied = true;
    by_warps_.insert(at);
  }

  void check(const Gather& gather) {
    if (!is_place(gather.elements, program_.elements.size()) || gather.value == nullptr ||
        gather.row == nullptr || gather.k == nullptr)
      return refuse("elements of what is not there");
    const Elements& to = program_.elements[static_cast<std::size_t>(gather.elements)];
    if (role_->one_thread)
      return refuse(fmt::format("'{}' are in the registers of one thread alone", to.name));
    const int threads = role_->warp_groups * 128;
    if (to.k != line_of(ScalarType::kF32) || to.rows < 8 || to.rows % 8 != 0 ||
        (to.order == Elements::Order::kFragments ? to.rows != 64 : to.rows * to.k % threads != 0))
      return refuse(fmt::format("{} threads do not divide {} x {} elements of '{}'", threads,
                                to.rows, to.k, to.name));
    nest::for_each(gather.value, [&](nest::Ref node) {
      if (node->kind == nest::Node::Kind::kLoad &&
          std::ranges::none_of(program_.parameters, [&](const Program::Parameter& one) {
            return one.buffer == node->op && !one.written;
          }))
        refuse(fmt::format("'{}' reads '{}', which is no parameter to read", to.name, node->op));
    });
    gathered_[static_cast<std::size_t>(gather.elements)] = true;
  }
  /// Elements that have values, in the order that their user needs.
  bool has_elements(int at, bool for_fragments) {
    if (!is_place(at, program_.elements.size())) {
      refuse("elements of what is not there");
      return false;
    }
    const Elements& elements = program_.elements[static_cast<std::size_t>(at)];
    if (!gathered_[static_cast<std::size_t>(at)])
      refuse(fmt::format("'{}' have no values yet", elements.name));
    if ((elements.order == Elements::Order::kFragments) != for_fragments)
      refuse(fmt::format("'{}' are not in the order of {}", elements.name,
                         for_fragments ? "fragments" : "a tile"));
    return true;
  }

  void check(const RoundElements& round) {
    if (!has_elements(round.elements, true)) return;
    if (!is_place(round.fragments, program_.fragments.size()) ||
        (round.rest >= 0 && !is_place(round.rest, program_.fragments.size())) ||
        round.rest == round.fragments)
      return refuse("fragments of what is not there");
    const Elements& from = program_.elements[static_cast<std::size_t>(round.elements)];
    const SharedTile tile{from.name, ScalarType::kF32,
                          wgmma_operand(from.rows, from.k, true, ScalarType::kF32)};
    for (const int at : {round.fragments, round.rest}) {
      if (at < 0) continue;
      const Fragments& to = program_.fragments[static_cast<std::size_t>(at)];
      if (const std::string why = read_mistake(tile, to); !why.empty()) return refuse(why);
      check_unread(at);
      rounded_[static_cast<std::size_t>(at)] = true;
    }
  }

  void check(const WriteTile& write) {
    if (!has_ring(write.ring) || !has_elements(write.elements, false)) return;
    const Elements& from = program_.elements[static_cast<std::size_t>(write.elements)];
    if (!state(write.ring).acquired)
      return refuse(fmt::format("'{}' are written to a stage that is not empty", from.name));
    const SharedTile tile{from.name, ScalarType::kF32,
                          wgmma_operand(from.rows, from.k, true, ScalarType::kF32)};
    for (const int at : {write.big, write.rest})
      if (at >= 0 && !fill(write.ring, at, tile)) return;
  }
  /// A tile of the acquired stage is written with what has this type and shape.
  bool fill(int to_ring, int at, const SharedTile& from) {
    if (!is_place(at, ring(to_ring).tiles.size())) {
      refuse("a split of what is not there");
      return false;
    }
    const SharedTile& to = ring(to_ring).tiles[static_cast<std::size_t>(at)];
    auto& written = state(to_ring).copied[static_cast<std::size_t>(at)];
    if (const std::string why = split_mistake(from, to, role_->warp_groups * 128); !why.empty()) {
      refuse(why);
      return false;
    }
    if (std::ranges::count(written, true) != 0)
      refuse(fmt::format("a part of '{}' is written twice", to.name));
    written.assign(written.size(), true);
    return true;
  }

  void check(const ReadFragments& read) {
    if (!is_place(read.ring, program_.rings.size()) ||
        !is_place(read.tile, ring(read.ring).tiles.size()) ||
        !is_place(read.fragments, program_.fragments.size()) ||
        (read.rest >= 0 && !is_place(read.rest, program_.fragments.size())) ||
        read.rest == read.fragments)
      return refuse("fragments of what is not there");
    const SharedTile& tile = ring(read.ring).tiles[static_cast<std::size_t>(read.tile)];
    if (!state(read.ring).full)
      return refuse(fmt::format("'{}' is read before it is full", tile.name));
    for (const int at : {read.fragments, read.rest}) {
      if (at < 0) continue;
      const Fragments& to = program_.fragments[static_cast<std::size_t>(at)];
      if (const std::string why = read_mistake(tile, to); !why.empty()) return refuse(why);
      check_unread(at);
      rounded_[static_cast<std::size_t>(at)] = true;
    }
    check_rows(read.row, tile);
    read_by_warps(read.ring);
  }
  /// Nobody multiplies these fragments, which are about to be written.
  void check_unread(int fragments) {
    for (const Underway& one : underway_)
      if (one.fragments == fragments)
        refuse(fmt::format("'{}' are written while products read them",
                           program_.fragments[static_cast<std::size_t>(fragments)].name));
  }
  /// 64 rows from `row` on are in the tile, whatever the warp group.
  void check_rows(nest::Ref row, const SharedTile& tile) {
    const auto rows = row == nullptr ? nest::Range{} : program_.nodes->range(row);
    if (role_->warp_groups > program_.nodes->extent(program_.group) || !rows || rows->low < 0 ||
        rows->high + 64 > tile.layout.extent(0))
      refuse(
          fmt::format("role '{}' multiplies rows that '{}' may not have", role_->name, tile.name));
  }

  void check(const Commit& commit) {
    if (!has_ring(commit.ring)) return;
    RingState& at = state(commit.ring);
    std::int64_t wanted = 0, copied = 0;
    for (const SharedTile& tile : ring(commit.ring).tiles) wanted += tile.layout.elements();
    for (const auto& tile : at.copied) copied += std::ranges::count(tile, true);
    if (!at.acquired || copied != wanted)
      refuse(fmt::format("ring '{}' is committed with {} of {} elements copied",
                         ring(commit.ring).name, copied, wanted));
    at = {};
  }

  void check(const Wait& wait) {
    if (!has_ring(wait.ring)) return;
    RingState& at = state(wait.ring);
    if (at.acquired || at.full)
      refuse(fmt::format("ring '{}' is waited for where a stage of it is in hand",
                         ring(wait.ring).name));
    if (role_->one_thread)
      refuse(fmt::format("one thread alone of role '{}' reads ring '{}'", role_->name,
                         ring(wait.ring).name));
    if (producers_[wait.ring].contains(role_->name))
      refuse(fmt::format("role '{}' reads ring '{}', which it fills", role_->name,
                         ring(wait.ring).name));
    at.full = true;
    consumers_.insert(wait.ring);
    read_.insert(wait.ring);
  }

  void check(const Multiply& multiply) {
    if (!is_place(multiply.ring, program_.rings.size()) ||
        !is_place(multiply.b, ring(multiply.ring).tiles.size()) ||
        !is_place(multiply.sums, program_.sums.size()))
      return refuse("a product of what is not there");
    if (multiply.fragments >= 0) return check_from_registers(multiply);
    const int a_ring = multiply.a_ring < 0 ? multiply.ring : multiply.a_ring;
    if (!is_place(a_ring, program_.rings.size()) ||
        !is_place(multiply.a, ring(a_ring).tiles.size()))
      return refuse("a product of what is not there");
    const SharedTile& a = ring(a_ring).tiles[static_cast<std::size_t>(multiply.a)];
    const SharedTile& b = ring(multiply.ring).tiles[static_cast<std::size_t>(multiply.b)];
    const Sums& sums = program_.sums[static_cast<std::size_t>(multiply.sums)];
    if (!state(multiply.ring).full || !state(a_ring).full)
      return refuse(
          fmt::format("'{}' and '{}' are multiplied before they are full", a.name, b.name));
    if (const std::string why = product_mistake(a, b, sums.columns); !why.empty())
      return refuse(why);
    // The sums, addresses, and what a loop needs.
    const int registers = registers_of(*role_);
    if (sums.columns / 2 + 40 > registers)
      refuse(fmt::format("{} registers of sums do not fit role '{}', which has {}",
                         sums.columns / 2, role_->name, registers));
    check_rows(multiply.a_row, a);
    started(multiply, {a.type, b.type, is_along_k(a) ? 1 : 0, is_along_k(b)});
    state(a_ring).multiplied = true;
    underway_.back().rings.insert(a_ring);
  }

  void check_from_registers(const Multiply& multiply) {
    if (!is_place(multiply.fragments, program_.fragments.size()))
      return refuse("a product of what is not there");
    const auto at = static_cast<std::size_t>(multiply.fragments);
    const Fragments& a = program_.fragments[at];
    const SharedTile& b = ring(multiply.ring).tiles[static_cast<std::size_t>(multiply.b)];
    if (!state(multiply.ring).full || !rounded_[at])
      return refuse(
          fmt::format("'{}' and '{}' are multiplied before they are full", a.name, b.name));
    if (const std::string why =
            product_mistake(a, b, program_.sums[static_cast<std::size_t>(multiply.sums)].columns);
        !why.empty())
      return refuse(why);
    started(multiply, {a.type, b.type, -1, is_along_k(b)});
  }

  /// The types of a and b, and how they lie.
  using Kind = std::tuple<ScalarType, ScalarType, int, bool>;
  void started(const Multiply& multiply, const Kind& kind) {
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
    state(multiply.ring).multiplied = true;
    underway_.push_back({multiply.sums, multiply.fragments, {multiply.ring}});
  }
  /// All but the last `left` products have ended.
  void ended(std::size_t left) {
    while (underway_.size() > left) underway_.erase(underway_.begin());
  }
  bool is_underway(int sums) const {
    return std::ranges::any_of(underway_, [&](const Underway& one) { return one.sums == sums; });
  }

  void check(const Advance& advance) {
    if (!has_ring(advance.ring)) return;
    RingState& at = state(advance.ring);
    if (!at.full || !at.multiplied)
      refuse(fmt::format("ring '{}' is advanced where no stage of it was multiplied",
                         ring(advance.ring).name));
    if (advance.nothing_before == nullptr)
      refuse(fmt::format("ring '{}' is advanced without a word on when there is no stage before",
                         ring(advance.ring).name));
    if (ring(advance.ring).stages < 2)
      refuse(fmt::format("ring '{}' is advanced with one stage in hand, and has {}; at least 2",
                         ring(advance.ring).name, ring(advance.ring).stages));
    if (by_warps_.contains(advance.ring))
      refuse(fmt::format("ring '{}' is advanced where warps read it; each of them releases it",
                         ring(advance.ring).name));
    ended(1);
    at = {};
    unreleased_.insert(advance.ring);
  }

  void check(const Drain& drain) {
    if (!has_ring(drain.ring)) return;
    if (state(drain.ring).full || !unreleased_.contains(drain.ring))
      refuse(
          fmt::format("ring '{}' is drained where there is no last stage", ring(drain.ring).name));
    ended(0);
    unknown_ = false;
    unreleased_.erase(drain.ring);
  }

  void check(const Await& await) {
    if (await.left < 0 || (await.left > 0 && unknown_))
      refuse(
          fmt::format("role '{}' waits for all but {} products where it is not known how many "
                      "are on their way",
                      role_->name, await.left));
    ended(static_cast<std::size_t>(std::max(await.left, 0)));
    if (await.left == 0) unknown_ = false;
  }

  void check(const Release& release) {
    if (!has_ring(release.ring)) return;
    RingState& at = state(release.ring);
    if (!at.full || !at.multiplied)
      refuse(fmt::format("ring '{}' is released where no stage of it was multiplied",
                         ring(release.ring).name));
    for (const Underway& one : underway_)
      if (one.rings.contains(release.ring))
        refuse(fmt::format("ring '{}' is released while products read its stage",
                           ring(release.ring).name));
    at = {};
  }

  void check(const TakeTurn&) {
    if (role_->warp_groups < 2) refuse(fmt::format("role '{}' takes turns alone", role_->name));
    if (turn_) refuse(fmt::format("role '{}' takes a turn that it has", role_->name));
    turn_ = true;
  }
  void check(const PassTurn&) {
    if (!turn_) refuse(fmt::format("role '{}' passes a turn that it does not have", role_->name));
    turn_ = false;
  }

  /// Whether these sums may be read and written.
  bool at_rest(int sums) {
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
  /// `in_lanes`: these rows may be folded in part.
  void check_reads(nest::Ref value, int in_lanes) {
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
  static bool mentions(nest::Ref value, nest::Ref leaf) {
    bool found = false;
    nest::for_each(value, [&](nest::Ref node) { found |= node == leaf; });
    return found;
  }

  void check(const MapSums& map) {
    if (map.awaits && map.unless == nullptr)
      refuse("sums that are mapped in any case are waited for by Await");
    if (map.awaits ? !is_place(map.sums, program_.sums.size()) : !at_rest(map.sums))
      return refuse("sums that are not there");
    if (map.value == nullptr) return refuse("sums become what is not said");
    check_reads(map.value, -1);
    check_reads(map.unless, -1);
    if ((map.row_symbol >= 0 && map.row == nullptr) ||
        (map.column_symbol >= 0 && map.column == nullptr))
      refuse(fmt::format("'{}' are mapped by places that are not known",
                         program_.sums[static_cast<std::size_t>(map.sums)].name));
  }
  void check(const MapRows& map) {
    if (!is_place(map.rows, rows_.size()) || map.value == nullptr)
      return refuse("rows that are not there");
    check_reads(map.value, map.rows);
    RowsState& state = rows_[static_cast<std::size_t>(map.rows)];
    const bool kept = mentions(map.value, program_.rows[static_cast<std::size_t>(map.rows)].value);
    if (!kept || state != RowsState::kInLanes) state = RowsState::kWhole;
  }
  void check(const ReduceRows& reduce) {
    if (!is_place(reduce.rows, rows_.size())) return refuse("rows that are not there");
    if (!at_rest(reduce.sums)) return;
    if (reduce.op != "max" && reduce.op != "+")
      return refuse(fmt::format("rows are folded by 'max' or '+', not '{}'", reduce.op));
    RowsState& state = rows_[static_cast<std::size_t>(reduce.rows)];
    const Rows& rows = program_.rows[static_cast<std::size_t>(reduce.rows)];
    if (reduce.onto && state == RowsState::kNothing)
      refuse(fmt::format("rows '{}' have no value yet", rows.name));
    // A sum counts four times what all lanes of a row have.
    if (reduce.onto && reduce.op == "+" && !reduce.in_lanes)
      refuse(fmt::format("rows '{}' are added to by each of four lanes", rows.name));
    if (reduce.onto && !reduce.in_lanes && state == RowsState::kInLanes)
      refuse(fmt::format("rows '{}' are used where lanes have parts of them", rows.name));
    state = reduce.in_lanes ? RowsState::kInLanes : RowsState::kWhole;
  }
  void check(const FoldRows& fold) {
    if (!is_place(fold.rows, rows_.size())) return refuse("rows that are not there");
    RowsState& state = rows_[static_cast<std::size_t>(fold.rows)];
    if (state != RowsState::kInLanes)
      refuse(fmt::format("rows '{}' are folded where lanes have no parts of them",
                         program_.rows[static_cast<std::size_t>(fold.rows)].name));
    state = RowsState::kWhole;
  }
  void check(const RoundSums& round) {
    if (!at_rest(round.sums)) return;
    if (!is_place(round.fragments, program_.fragments.size()))
      return refuse("fragments that are not there");
    const Fragments& to = program_.fragments[static_cast<std::size_t>(round.fragments)];
    const Sums& from = program_.sums[static_cast<std::size_t>(round.sums)];
    if (to.columns != from.columns || to.columns % 16 != 0)
      refuse(fmt::format("{} columns of '{}' are rounded to {} of '{}'", from.columns, from.name,
                         to.columns, to.name));
    if (to.type != ScalarType::kF16 && to.type != ScalarType::kBf16)
      refuse(fmt::format("'{}' are rounded to {}; wgmma reads f16 and bf16", from.name,
                         to_string(to.type)));
    check_unread(round.fragments);
    rounded_[static_cast<std::size_t>(round.fragments)] = true;
  }

  void check(const AddRuns& add) {
    if (!at_rest(add.sums) || !at_rest(add.runs)) return;
    const Sums& sums = program_.sums[static_cast<std::size_t>(add.sums)];
    const Sums& runs = program_.sums[static_cast<std::size_t>(add.runs)];
    if (add.sums == add.runs || sums.columns != runs.columns || add.fresh == nullptr)
      refuse(
          fmt::format("'{}' are added to '{}': others of as many columns, and a word on when "
                      "these begin",
                      runs.name, sums.name));
    if (add.forget) added_.insert(add.runs);
  }

  void check(const Store& store) {
    if (!is_place(store.sums, program_.sums.size()) || store.value == nullptr)
      return refuse("a store of what is not there");
    if (is_underway(store.sums) || (store.runs >= 0 && is_underway(store.runs)))
      refuse("sums are stored while products are on their way");
    const auto written = [&](const Program::Parameter& one) {
      return one.buffer == store.buffer && one.written;
    };
    if (store.staging < 0 &&
        (store.element == nullptr || store.row == nullptr || store.column == nullptr ||
         std::ranges::none_of(program_.parameters, written)))
      refuse(fmt::format("a store to '{}', which is no place to write to", store.buffer));
    if (store.runs >= 0 && (!is_place(store.runs, program_.sums.size()) ||
                            program_.sums[static_cast<std::size_t>(store.runs)].columns !=
                                program_.sums[static_cast<std::size_t>(store.sums)].columns))
      refuse("sums are stored with runs of other columns");
    if (added_.contains(store.runs))
      refuse(fmt::format("sums are stored with '{}', which they have already",
                         program_.sums[static_cast<std::size_t>(store.runs)].name));
    if (store.contiguous < 1) refuse("a store of no elements");
    check_beside(store);
    if (store.staging >= 0) check_staged(store);
    if (store.adds) check_adds(store);
  }

  /// In 16 bits what is added would be rounded once more than the nest says. And while copies add
  /// to a buffer, nobody may read it.
  void check_adds(const Store& store) {
    if (store.staging < 0)
      refuse(fmt::format("outputs are added to '{}' by threads; only copies add", store.buffer));
    if (store.type != ScalarType::kF32)
      refuse(fmt::format("outputs of {} are added to '{}', where they would be rounded twice",
                         to_string(store.type), store.buffer));
    nest::for_each(store.value, [&](nest::Ref node) {
      if (node->kind == nest::Node::Kind::kLoad && node != store.sum && node->op == store.buffer)
        refuse(fmt::format("outputs are added to '{}', which their value reads", store.buffer));
    });
  }

  /// What is read several at once is read before the value chooses, and by the kernel's pointers.
  void check_beside(const Store& store) {
    generators::Printer knows_sum(*program_.nodes);
    knows_sum.known[store.sum] = "sum";
    const std::vector<generators::Use> uses = generators::uses_of(knows_sum, {store.value});
    for (const auto& [load, contiguous] : store.beside) {
      if (load == nullptr || load->kind != nest::Node::Kind::kLoad || contiguous < 2)
        return refuse("a store reads together what are no elements side by side");
      const auto use = std::ranges::find(uses, load, &generators::Use::value);
      if (use == uses.end() || !use->certain)
        return refuse(fmt::format(
            "elements of '{}' are read together, which the value may not read", load->op));
      if (std::ranges::find(program_.parameters, load->op, &Program::Parameter::buffer) ==
          program_.parameters.end())
        return refuse(fmt::format("'{}' is read, and is no parameter", load->op));
    }
  }

  /// A warp group writes its tile in bands of 128 bytes, as bulk copies of boxes read it.
  void check_staged(const Store& store) {
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
    if (const std::string why = copy_mistake(view, tile, {0, 0}); !why.empty())
      return refuse(fmt::format("copy of {} to '{}': {}", name, view.buffer, why));
    const auto [user, fresh] = staging_users_.try_emplace(store.staging, role_->name);
    if (role_->warp_groups > warp_groups || (!fresh && user->second != role_->name))
      return refuse(fmt::format("{} is for {} warp groups of one role", name, warp_groups));
  }

  const Program& program_;
  const Limits& limits_;
  const Role* role_ = nullptr;
  std::vector<RingState> states_;
  std::vector<RowsState> rows_;
  std::vector<bool> rounded_;       ///< fragments that have values
  std::vector<bool> gathered_;      ///< elements that have
  std::vector<Underway> underway_;  ///< in the order of their start
  bool unknown_ = false;            ///< whether there may be fewer, where a loop has no rounds
  bool turn_ = false;               ///< the role has it
  std::set<SymbolId> of_group_;     ///< symbols that differ between its warp groups
  std::set<int> unreleased_;        ///< rings whose last stage is for Drain
  std::set<int> read_;              ///< rings that the role waits for
  std::set<int> by_warps_;          ///< rings whose tiles its warps read by themselves
  /// Of each sums: the type, how a and b lie (a: -1: in registers).
  std::set<int> added_;  ///< runs that sums have whole
  std::map<int, Kind> products_;
  std::map<int, std::set<std::string>> producers_;
  std::set<int> consumers_;
  std::map<int, std::string> staging_users_;
  std::string why_;
};

}  // namespace

void for_each_operation(const Body& body, const std::function<void(const Operation&)>& visit) {
  for (const Operation& operation : body) {
    visit(operation);
    if (const auto* loop = std::get_if<Loop>(&operation.is)) for_each_operation(loop->body, visit);
  }
}

std::int64_t SharedTile::bytes() const {
  const std::int64_t bytes = layout.reach() * static_cast<std::int64_t>(size_of(type));
  return (bytes + 1023) / 1024 * 1024;
}

bool Program::is_written(int ring) const { return writers(ring) > 1; }

int Program::writers(int ring) const {
  int warps = 0;
  for (const Role& role : roles) {
    bool writes = false;
    for_each_operation(role.body, [&](const Operation& operation) {
      const auto* split = std::get_if<SplitTile>(&operation.is);
      const auto* write = std::get_if<WriteTile>(&operation.is);
      writes |=
          (split != nullptr && split->to_ring == ring) || (write != nullptr && write->ring == ring);
    });
    warps += writes ? 4 * role.warp_groups : 0;
  }
  return std::max(1, warps);
}

int Program::registers_at_launch(int registers) const {
  return std::min(255, registers / threads() / 8 * 8);
}

int Program::threads() const {
  int threads = 0;
  for (const Role& role : roles) threads += 128 * role.warp_groups;
  return threads;
}

std::int64_t Program::stage_bytes(const Ring& ring) const {
  std::int64_t bytes = 0;
  for (const SharedTile& tile : ring.tiles)
    bytes += tile.layout.elements() * static_cast<std::int64_t>(size_of(tile.type));
  return bytes;
}

std::int64_t Program::shared_bytes() const {
  std::int64_t bytes = 0;
  for (const Ring& ring : rings) {
    for (const SharedTile& tile : ring.tiles) bytes += ring.stages * tile.bytes();
    bytes += ring.stages * 16;
  }
  for (const Staging& staging : stagings) bytes += staging.warp_groups * staging.tile.bytes();
  return bytes;
}

Result<void> verify(const Program& program, const Limits& limits) {
  return Verifier(program, limits).run();
}

}  // namespace hone::tile
