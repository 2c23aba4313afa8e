// What is refused before any CUDA is printed.
#include <fmt/format.h>

#include <map>
#include <set>

#include "rewriters/tile/operands.h"
#include "rewriters/tile/program.h"

namespace hone::tile {
namespace {

/// Where one role is in a ring.
struct RingState {
  bool acquired = false;
  bool full = false;
  std::int64_t copied = 0;  ///< elements of the acquired stage
  bool operator==(const RingState&) const = default;
};

class Verifier {
 public:
  Verifier(const Program& program, const Limits& limits) : program_(program), limits_(limits) {}

  Result<void> run() {
    check_threads();
    for (const Ring& ring : program_.rings) check_ring(ring);
    for (const Role& role : program_.roles) {
      role_ = &role;
      states_.assign(program_.rings.size(), {});
      multiplying_.clear();
      walk(role.body);
      for (std::size_t r = 0; r < states_.size(); ++r) {
        if (states_[r].acquired || states_[r].full)
          refuse(fmt::format("role '{}' ends with a stage of ring '{}' in its hands", role.name,
                             program_.rings[r].name));
      }
      if (!multiplying_.empty())
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
      refuse(fmt::format("bulk copies and wgmma are for sm_90, not sm_{}",
                         limits_.compute_capability));
    if (threads < 1 || threads > 1024)
      return refuse(fmt::format("{} threads; a block has 1 to 1024", threads));
    if (program_.shared_bytes() > limits_.shared_bytes)
      refuse(fmt::format("{} bytes of shared memory; a block has {}", program_.shared_bytes(),
                         limits_.shared_bytes));
    // What a thread has before any role gives or takes.
    const int each = std::min(255, limits_.registers / threads / 8 * 8);
    int given = 0, roles = 0;
    for (const Role& role : program_.roles) {
      given += role.warp_groups * 128 * role.registers;
      roles += role.registers > 0 ? 1 : 0;
      if (role.registers != 0 &&
          (role.registers < 24 || role.registers > 256 || role.registers % 8))
        refuse(fmt::format("role '{}' has {} registers; 24 to 256 in steps of 8", role.name,
                           role.registers));
      if (role.registers == 0) continue;
      if (role.registers > each && given > each * threads)
        refuse(fmt::format("role '{}' takes registers that no other gives", role.name));
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
      if (tile.layout.rank() != 2)
        refuse(fmt::format("tile '{}' has {} dimensions; it must have 2", tile.name,
                           tile.layout.rank()));
      else if (tile.layout.reach() != tile.layout.elements())
        refuse(fmt::format("tile '{}' has gaps: {}", tile.name, tile.layout.describe()));
    }
  }

  void walk(const Body& body) {
    for (const Operation& operation : body)
      std::visit([&](const auto& one) { check(one); }, operation.is);
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
    producers_[acquire.ring].insert(role_->name);
  }

  void check(const BulkCopy& copy) {
    RingState& at = state(copy.ring);
    const SharedTile& tile = ring(copy.ring).tiles.at(static_cast<std::size_t>(copy.tile));
    const View& view = program_.views.at(static_cast<std::size_t>(copy.view));
    if (!at.acquired)
      return refuse(fmt::format("'{}' is copied to before its stage is empty", tile.name));
    if (const std::string why = copy_mistake(view, tile, copy.to); !why.empty())
      return refuse(fmt::format("copy of '{}' to '{}': {}", view.buffer, tile.name, why));
    if (copy.from.size() != view.shape.size())
      return refuse(fmt::format("copy of '{}' begins at {} coordinates; it has {} dimensions",
                                view.buffer, copy.from.size(), view.shape.size()));
    std::int64_t elements = 1;
    for (const std::int64_t extent : view.box) elements *= extent;
    at.copied += elements;
  }

  void check(const Commit& commit) {
    RingState& at = state(commit.ring);
    std::int64_t wanted = 0;
    for (const SharedTile& tile : ring(commit.ring).tiles) wanted += tile.layout.elements();
    if (!at.acquired || at.copied != wanted)
      refuse(fmt::format("ring '{}' is committed with {} of {} elements copied",
                         ring(commit.ring).name, at.copied, wanted));
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
    const Ring& of = ring(multiply.ring);
    const SharedTile& a = of.tiles.at(static_cast<std::size_t>(multiply.a));
    const SharedTile& b = of.tiles.at(static_cast<std::size_t>(multiply.b));
    const Sums& sums = program_.sums.at(static_cast<std::size_t>(multiply.sums));
    if (!state(multiply.ring).full)
      return refuse(
          fmt::format("'{}' and '{}' are multiplied before they are full", a.name, b.name));
    if (const std::string why = product_mistake(a, b, sums.columns); !why.empty())
      return refuse(why);
    // The sums, addresses, and what a loop needs.
    const int registers = role_->registers > 0
                              ? role_->registers
                              : std::min(255, limits_.registers / program_.threads() / 8 * 8);
    if (sums.columns / 2 + 40 > registers)
      refuse(fmt::format("{} registers of sums do not fit role '{}', which has {}",
                         sums.columns / 2, role_->name, registers));
    multiplying_.insert(multiply.sums);
  }

  void check(const Release& release) {
    RingState& at = state(release.ring);
    if (!at.full)
      refuse(fmt::format("ring '{}' is released where no stage of it is in hand",
                         ring(release.ring).name));
    at.full = false;
    unreleased_.insert(release.ring);
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
  }

  const Program& program_;
  const Limits& limits_;
  const Role* role_ = nullptr;
  std::vector<RingState> states_;
  std::set<int> multiplying_;  ///< sums of products on their way
  std::set<int> unreleased_;   ///< rings whose last stage is for Drain
  std::map<int, std::set<std::string>> producers_;
  std::set<int> consumers_;
  std::string why_;
};

}  // namespace

std::int64_t SharedTile::bytes() const {
  const std::int64_t bytes = layout.reach() * static_cast<std::int64_t>(size_of(type));
  return (bytes + 1023) / 1024 * 1024;
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
  return bytes;
}

Result<void> verify(const Program& program, const Limits& limits) {
  return Verifier(program, limits).run();
}

}  // namespace hone::tile
