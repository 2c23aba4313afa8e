// What is refused before any CUDA is printed: threads, rings and copies.
#include <fmt/format.h>

#include <algorithm>

#include "rewriters/tile/operands.h"
#include "rewriters/tile/verifier.h"

namespace hone::tile {
namespace {

/// Whether a bulk copy from this innermost coordinate is a fault wherever its symbols are: all
/// terms are multiples of 16 bytes, and the constant is not.
bool never_aligned(nest::Ref coordinate, ScalarType type) {
  const std::int64_t step = 16 / static_cast<std::int64_t>(size_of(type));
  return coordinate->constant % step != 0 &&
         std::ranges::all_of(coordinate->terms,
                             [&](const nest::Term& term) { return term.coefficient % step == 0; });
}

}  // namespace

Result<void> Verifier::run() {
  check_threads();
  for (std::size_t r = 0; r < program_.rings.size(); ++r) check_ring(static_cast<int>(r));
  if (!why_.empty()) return refused("tile program: " + why_);  // what follows looks into these
  for (const Role& role : program_.roles) {
    role_ = &role;
    states_.assign(program_.rings.size(), {});
    rows_.assign(program_.rows.size(), RowsState::kNothing);
    rounded_.assign(program_.fragments.size(), false);
    underway_.clear();
    unreleased_.clear();
    read_.clear();
    by_warps_.clear();
    for_each_operation(role.body, [&](const Operation& operation) {
      if (const auto* read = std::get_if<ReadFragments>(&operation.is))
        by_warps_.insert(read->ring);
      if (const auto* patch = std::get_if<ReadPatch>(&operation.is)) by_warps_.insert(patch->ring);
      if (const auto* split = std::get_if<SplitTile>(&operation.is)) by_warps_.insert(split->ring);
    });
    begun_.clear();
    for (std::size_t s = 0; streams() && s < program_.sums.size(); ++s)
      begun_.insert(static_cast<int>(s));  // as 0
    unknown_ = turn_ = false;
    stream_ = nullptr;
    in_when_ = false;
    if (streams()) check_streaming(role);
    of_group_ = {program_.group, program_.warp};
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
    if (streamed_.contains(static_cast<int>(r))) continue;
    if (producers_[static_cast<int>(r)].size() != 1)
      refuse(fmt::format("ring '{}' is filled by {} roles; it must be one", program_.rings[r].name,
                         producers_[static_cast<int>(r)].size()));
    if (!consumers_.contains(static_cast<int>(r)))
      refuse(fmt::format("nobody reads ring '{}'", program_.rings[r].name));
  }
  if (!why_.empty()) return refused("tile program: " + why_);
  return {};
}

void Verifier::refuse(std::string why) {
  if (why_.empty()) why_ = std::move(why);
}

void Verifier::check_threads() {
  const int threads = program_.threads();
  if (!streams() && limits_.compute_capability != 90)
    refuse(fmt::format("what is printed here is for sm_90, not sm_{}", limits_.compute_capability));
  for (const Sums& sums : program_.sums) {
    if ((sums.of != SumsOf::kWarpGroup) != streams()) {
      refuse(fmt::format(
          "'{}' are sums of {}; those of warps and threads are for roles that stream", sums.name,
          sums.of == SumsOf::kWarpGroup ? "a warp group"
          : sums.of == SumsOf::kWarp    ? "a warp"
                                        : "a thread"));
    }
  }
  if (!program_.rows.empty() && program_.sums.empty())
    refuse("rows of sums, of which there are none");
  // Of a thread's sums no row is known.
  for (const Sums& sums : program_.sums) {
    const auto check = [&](const std::string& name, int rows) {
      if (rows != sums.warp_rows()) {
        refuse(fmt::format("'{}' are {} rows of each warp, '{}' have {}", name, rows, sums.name,
                           sums.warp_rows()));
      }
    };
    for (const Rows& rows : program_.rows) check(rows.name, rows.warp_rows);
    if (!program_.rows.empty() && sums.of != program_.sums[0].of) {
      refuse(fmt::format("lanes have rows of '{}' and of '{}' in unlike ways", sums.name,
                         program_.sums[0].name));
    }
    for (const Fragments& fragments : program_.fragments)
      check(fragments.name, fragments.warp_rows);
  }
  if (threads < 1 || threads > 1024)
    return refuse(fmt::format("{} threads; a block has 1 to 1024", threads));
  if (program_.cluster < 1 || program_.cluster > 8 || program_.grid < 1 ||
      program_.grid % program_.cluster != 0)
    refuse(fmt::format("clusters of {} blocks; 1 to 8 that divide the grid of {}", program_.cluster,
                       program_.grid));
  if (program_.shared_bytes() > limits_.shared_bytes)
    refuse(fmt::format("{} bytes of shared memory; a block has {}", program_.shared_bytes(),
                       limits_.shared_bytes));
  // What a thread has before any role gives or takes.
  const int each = program_.registers_at_launch(limits_.registers);
  int given = 0, roles = 0;
  for (const Role& role : program_.roles) {
    given += role.threads() * role.registers;
    roles += role.registers > 0 ? 1 : 0;
    if (role.registers != 0 && (role.registers < 24 || role.registers > 256 || role.registers % 8))
      refuse(fmt::format("role '{}' has {} registers; 24 to 256 in steps of 8", role.name,
                         role.registers));
  }
  if (roles != 0 && roles != static_cast<int>(program_.roles.size()))
    refuse("some roles say how many registers they have, others not");
  if (given > each * threads)
    refuse(fmt::format("the roles have {} registers; there are {}", given, each * threads));
}

void Verifier::check_ring(int number) {
  const Ring& ring = this->ring(number);
  if (ring.stages < 1)
    refuse(fmt::format("ring '{}' has {} stages; at least 1", ring.name, ring.stages));
  for (const SharedTile& tile : ring.tiles) {
    bool empty = false;
    for (std::size_t d = 0; d < tile.layout.rank(); ++d) empty |= tile.layout.dimension(d).empty();
    if (empty || tile.layout.rank() != 2)
      refuse(fmt::format("tile '{}' has {} dimensions; it must have 2, none empty", tile.name,
                         tile.layout.rank()));
    else if (!program_.is_streamed(number) && tile.layout.reach() != tile.layout.elements()) {
      refuse(fmt::format("tile '{}' has gaps: {}", tile.name, tile.layout.describe()));
    }
  }
}

void Verifier::check_registers(const Role& role) {
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
  for (const int at : sums) kept += program_.sums[static_cast<std::size_t>(at)].count();
  for (const int at : fragments)
    kept += program_.fragments[static_cast<std::size_t>(at)].registers();
  // Addresses, rows, and what a loop needs.
  if (sums.size() > 1 && kept + 32 > registers_of(role))
    refuse(fmt::format("{} registers of sums and fragments do not fit role '{}', which has {}",
                       kept, role.name, registers_of(role)));
}

int Verifier::registers_of(const Role& role) const {
  return role.registers > 0 ? role.registers : program_.registers_at_launch(limits_.registers);
}

void Verifier::walk(const Body& body) {
  for (const Operation& operation : body)
    std::visit([&](const auto& one) { check(one); }, operation.is);
}

bool Verifier::is_place(int place, std::size_t count) {
  return place >= 0 && static_cast<std::size_t>(place) < count;
}

bool Verifier::has_ring(int ring) {
  if (is_place(ring, program_.rings.size())) return true;
  refuse("a ring that is not there");
  return false;
}

void Verifier::check(const Define& define) {
  if (define.value != nullptr && depends_on_group(define.value)) of_group_.insert(define.symbol);
}

void Verifier::check(const Loop& loop) {
  const std::vector<RingState> before = states_;
  const std::string& name = program_.nodes->symbol(loop.symbol).name;
  const std::vector<Underway> started = underway_;
  const std::vector<RowsState> rows = rows_;
  const std::set<int> begun = begun_;
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
    refuse(fmt::format("warp groups may take unlike numbers of turns in the loop over '{}'", name));
  if (turn_ != turn)
    refuse(fmt::format("a round of the loop over '{}' does not pass the turn that it takes", name));
  if (underway_ != started || rows_ != rows || !std::ranges::includes(begun_, begun)) {
    // What the second round finds is what all later ones do.
    const std::vector<Underway> after = underway_;
    walk(loop.body);
    if (underway_ != after)
      refuse(
          fmt::format("every round of the loop over '{}' leaves more products on their way", name));
    unknown_ = unknown_ || underway_ != started;
  }
}

void Verifier::check(const Acquire& acquire) {
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

void Verifier::check(const BulkCopy& copy) {
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
    return refuse(fmt::format("a copy of '{}' is for a cluster, which there is not", view.buffer));
  if (shared && copy.step_by_rank.size() != copy.to.size())
    return refuse(
        fmt::format("a copy of '{}' is divided by a step for each coordinate", view.buffer));
  if (copy.from.size() != view.shape.size())
    return refuse(fmt::format("copy of '{}' begins at {} coordinates; it has {} dimensions",
                              view.buffer, copy.from.size(), view.shape.size()));
  if (!copy.from.empty() && never_aligned(copy.from.back(), view.type))
    return refuse(fmt::format(
        "copy of '{}' does not begin at a multiple of 16 bytes of its innermost dimension",
        view.buffer));
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

void Verifier::check(const SplitTile& split) {
  const bool placed = is_place(split.ring, program_.rings.size()) &&
                      is_place(split.to_ring, program_.rings.size()) &&
                      is_place(split.tile, ring(split.ring).tiles.size()) &&
                      is_place(split.rest, ring(split.to_ring).tiles.size());
  if (!placed || split.ring == split.to_ring) return refuse("a split of what is not there");
  const SharedTile& tile = ring(split.ring).tiles[static_cast<std::size_t>(split.tile)];
  if (!state(split.ring).full)
    return refuse(fmt::format("'{}' is split before it is full", tile.name));
  if (!state(split.to_ring).acquired)
    return refuse(fmt::format("'{}' is split to a stage that is not empty", tile.name));
  const SharedTile& to = ring(split.to_ring).tiles[static_cast<std::size_t>(split.rest)];
  if (const std::string why = split_mistake(tile, to, role_->warp_groups * 128); !why.empty())
    return refuse(why);
  auto& written = state(split.to_ring).copied[static_cast<std::size_t>(split.rest)];
  if (std::ranges::count(written, true) != 0)
    refuse(fmt::format("a part of '{}' is written twice", to.name));
  written.assign(written.size(), true);
  if (!is_along_k(tile)) {
    refuse(fmt::format("'{}' lies along its rows, and is split as if wgmma read it itself",
                       tile.name));
    return;
  }
  read_by_warps(split.ring);
}

void Verifier::read_by_warps(int at) {
  if (program_.cluster > 1)
    refuse(fmt::format("warps read ring '{}' by themselves, which blocks of a cluster share",
                       ring(at).name));
  state(at).multiplied = true;
}

void Verifier::check(const Commit& commit) {
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

void Verifier::check(const Wait& wait) {
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

void Verifier::check(const Advance& advance) {
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

void Verifier::check(const Drain& drain) {
  if (!has_ring(drain.ring)) return;
  if (state(drain.ring).full || !unreleased_.contains(drain.ring))
    refuse(fmt::format("ring '{}' is drained where there is no last stage", ring(drain.ring).name));
  ended(0);
  unknown_ = false;
  unreleased_.erase(drain.ring);
}

void Verifier::check(const Release& release) {
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

Result<void> verify(const Program& program, const Limits& limits) {
  return Verifier(program, limits).run();
}

}  // namespace hone::tile
