// What is refused before any CUDA is printed.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "rewriters/tile/operands.h"
#include "rewriters/tile/program.h"

namespace hone::tile {
namespace {

/// Where one role is in a ring.
struct RingState {
  bool acquired = false;
  bool full = false;
  bool multiplied = false;  ///< the full stage
  /// Of each tile of the acquired stage, which elements were copied.
  std::vector<std::vector<bool>> copied = {};
  bool operator==(const RingState&) const = default;
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
      multiplying_.clear();
      unreleased_.clear();
      walk(role.body);
      for (std::size_t r = 0; r < states_.size(); ++r) {
        if (states_[r].acquired || states_[r].full)
          refuse(fmt::format("role '{}' ends with a stage of ring '{}' in its hands", role.name,
                             program_.rings[r].name));
      }
      if (!multiplying_.empty() || !unreleased_.empty())
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
    if (ring.stages < 2)
      refuse(fmt::format("ring '{}' has {} stages; at least 2", ring.name, ring.stages));
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

  void walk(const Body& body) {
    for (const Operation& operation : body)
      std::visit([&](const auto& one) { check(one); }, operation.is);
  }

  static bool is_place(int place, std::size_t count) {
    return place >= 0 && static_cast<std::size_t>(place) < count;
  }
  RingState& state(int ring) { return states_.at(static_cast<std::size_t>(ring)); }
  const Ring& ring(int at) const { return program_.rings.at(static_cast<std::size_t>(at)); }

  void check(const Define&) {}

  void check(const Loop& loop) {
    const std::vector<RingState> before = states_;
    walk(loop.body);
    if (states_ != before)
      refuse(fmt::format("a round of the loop over '{}' does not leave the rings as it found them",
                         program_.nodes->symbol(loop.symbol).name));
  }

  void check(const Acquire& acquire) {
    RingState& at = state(acquire.ring);
    if (at.acquired || at.full)
      refuse(fmt::format("ring '{}' is acquired where a stage of it is in hand",
                         ring(acquire.ring).name));
    if (!role_->one_thread)
      refuse(fmt::format("ring '{}' is filled by all threads of role '{}'; bulk copies need one",
                         ring(acquire.ring).name, role_->name));
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

  void check(const Commit& commit) {
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
    RingState& at = state(wait.ring);
    if (at.acquired || at.full)
      refuse(fmt::format("ring '{}' is waited for where a stage of it is in hand",
                         ring(wait.ring).name));
    if (role_->one_thread)
      refuse(fmt::format("one thread alone of role '{}' reads ring '{}'", role_->name,
                         ring(wait.ring).name));
    at.full = true;
    consumers_.insert(wait.ring);
  }

  void check(const Multiply& multiply) {
    if (!is_place(multiply.ring, program_.rings.size()) ||
        !is_place(multiply.a, ring(multiply.ring).tiles.size()) ||
        !is_place(multiply.b, ring(multiply.ring).tiles.size()) ||
        !is_place(multiply.sums, program_.sums.size()))
      return refuse("a product of what is not there");
    const Ring& of = ring(multiply.ring);
    const SharedTile& a = of.tiles[static_cast<std::size_t>(multiply.a)];
    const SharedTile& b = of.tiles[static_cast<std::size_t>(multiply.b)];
    const Sums& sums = program_.sums[static_cast<std::size_t>(multiply.sums)];
    if (!state(multiply.ring).full)
      return refuse(
          fmt::format("'{}' and '{}' are multiplied before they are full", a.name, b.name));
    if (const std::string why = product_mistake(a, b, sums.columns); !why.empty())
      return refuse(why);
    // The sums, addresses, and what a loop needs.
    const int registers =
        role_->registers > 0 ? role_->registers : program_.registers_at_launch(limits_.registers);
    if (sums.columns / 2 + 40 > registers)
      refuse(fmt::format("{} registers of sums do not fit role '{}', which has {}",
                         sums.columns / 2, role_->name, registers));
    const auto rows =
        multiply.a_row == nullptr ? lift::Range{} : program_.nodes->range(multiply.a_row);
    if (role_->warp_groups > program_.nodes->extent(program_.group) || !rows || rows->low < 0 ||
        rows->high + 64 > a.layout.extent(0))
      refuse(fmt::format("role '{}' multiplies rows that '{}' may not have", role_->name, a.name));
    const auto [other, fresh] =
        products_.try_emplace(multiply.sums, a.type, is_along_k(a), is_along_k(b));
    if (!fresh && other->second != std::tuple(a.type, is_along_k(a), is_along_k(b)))
      refuse(fmt::format("'{}' are sums of products of two kinds", sums.name));
    state(multiply.ring).multiplied = true;
    multiplying_.insert(multiply.sums);
  }

  void check(const Advance& advance) {
    RingState& at = state(advance.ring);
    if (!at.full || !at.multiplied)
      refuse(fmt::format("ring '{}' is advanced where no stage of it was multiplied",
                         ring(advance.ring).name));
    if (advance.nothing_before == nullptr)
      refuse(fmt::format("ring '{}' is advanced without a word on when there is no stage before",
                         ring(advance.ring).name));
    at = {};
    unreleased_.insert(advance.ring);
  }

  void check(const Drain& drain) {
    if (state(drain.ring).full || !unreleased_.contains(drain.ring))
      refuse(
          fmt::format("ring '{}' is drained where there is no last stage", ring(drain.ring).name));
    multiplying_.clear();
    unreleased_.erase(drain.ring);
  }

  void check(const Store& store) {
    if (multiplying_.contains(store.sums))
      refuse("sums are stored while products are on their way");
    if (store.contiguous < 1) refuse("a store of no elements");
    if (store.staging >= 0) check_staged(store);
  }

  /// A warp group writes its tile as wgmma would read it, which is how bulk copies of boxes of 64
  /// by 64 see it, too.
  void check_staged(const Store& store) {
    if (!is_place(store.staging, program_.stagings.size()) ||
        !is_place(store.view, program_.views.size()) || !is_place(store.sums, program_.sums.size()))
      return refuse("a store by what is not there");
    const auto& [warp_groups, tile] = program_.stagings[static_cast<std::size_t>(store.staging)];
    const View& view = program_.views[static_cast<std::size_t>(store.view)];
    const int columns = program_.sums[static_cast<std::size_t>(store.sums)].columns;
    const auto name = fmt::format("'{}'", tile.name);
    if (tile.type != store.type || size_of(store.type) != 2)
      return refuse(fmt::format("{} holds {} for outputs of {}; both must be the same 16 bits",
                                name, to_string(tile.type), to_string(store.type)));
    const std::int64_t staged = tile.layout.rank() == 2 ? tile.layout.extent(1) : 0;
    if (staged % 64 != 0 || staged == 0 || columns % staged != 0 ||
        tile.layout != wgmma_operand(64, staged, true))
      return refuse(
          fmt::format("{} does not lie as its copies read it: {}", name, tile.layout.describe()));
    if (store.contiguous < 2 || store.guard == nullptr || !store.guard->is_constant() ||
        store.guard->constant == 0)
      return refuse(fmt::format("outputs by {} that are not all there, side by side", name));
    const std::size_t rank = view.shape.size();
    if (view.buffer != store.buffer || rank < 2 || store.to.size() != rank ||
        view.shape[rank - 2] != store.rows || view.shape[rank - 1] != store.columns ||
        view.box[rank - 2] != 64 || view.box[rank - 1] != 64)
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
  std::set<int> multiplying_;  ///< sums of products on their way
  std::set<int> unreleased_;   ///< rings whose last stage is for Drain
  std::map<int, std::tuple<ScalarType, bool, bool>>
      products_;  ///< of each sums: type, orientations
  std::map<int, std::set<std::string>> producers_;
  std::set<int> consumers_;
  std::map<int, std::string> staging_users_;
  std::string why_;
};

}  // namespace

std::int64_t SharedTile::bytes() const {
  const std::int64_t bytes = layout.reach() * static_cast<std::int64_t>(size_of(type));
  return (bytes + 1023) / 1024 * 1024;
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
