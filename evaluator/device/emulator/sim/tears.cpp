// Of a seeded schedule: an ordered store of more than eight bytes is made to be seen in parts. Its
// words are stored one after another, in rising order where the seed is even and in falling order
// where it is odd, and the warp that stores them waits after each until another warp has looked
// where the next one is to come. So two seeds that follow each other show what takes one word of a
// lane's store for a sign of another. Words of different lanes, and three words of which two are
// signs of the third, late.cpp takes apart by chance.
#include <algorithm>
#include <bit>
#include <utility>

#include "evaluator/device/emulator/sim/block.h"

namespace hone::emulator {
namespace {
// Of one instruction in a launch: so many are enough, seen by others or not.
constexpr std::uint32_t kEnoughSeen = 24, kEnoughTorn = 256;
constexpr std::size_t kMostAtOnce = 512;
// Who looks first may not be the one that is misled: the first few times it takes until all others
// wait, or so many turns of the block.
constexpr std::uint32_t kSeenByAll = 8;
constexpr int kTurnsSeenByAll = 32, kTurnsSeen = 2;
// Where others go on and nobody looks [warp instructions], and how often in a launch.
constexpr std::uint64_t kUnseenFor = 1 << 19;
constexpr std::uint32_t kMostUnseen = 16;
// Turns of the block in which all others wait, too. A schedule may hold them back in the first.
constexpr int kTurnsInVain = 8;
}  // namespace

bool Block::is_torn(const Inst& in) {
  if (!seeded_ || !is_in_parts(in) || run_.options->share_counters ||
      run_.tears.size() >= kMostAtOnce || run_.never_looked_at >= kMostUnseen)
    return false;
  TornBefore& before = run_.torn[&in];
  if (before.seen >= kEnoughSeen || before.times >= kEnoughTorn) return false;
  ++before.times;
  return true;
}

void Block::tear(Warp& w, const Inst& in, std::uint32_t mask) {
  Tear tear{.block = place_, .warp = w.index, .store = &in, .parts = {}, .since = run_.executed};
  for (std::uint32_t m = mask; m; m &= m - 1) {
    const auto pieces = pieces_of(w, in, std::countr_zero(m), kSeenTogether);
    tear.parts.resize(pieces.size());
    for (std::size_t i = 0; i < pieces.size(); ++i) tear.parts[i].push_back(pieces[i]);
  }
  // The last one comes first.
  if (run_.options->schedule_seed % 2 == 0) std::ranges::reverse(tear.parts);
  for (const LateStore& s : tear.parts.back()) land(s);
  tear.parts.pop_back();
  run_.tears.push_back(std::move(tear));
  w.torn = true;
  vain_turns_ = 0;
}

void Block::note_looked(const Warp& w, std::uint32_t mask, std::uint32_t bytes) {
  for (Tear& tear : run_.tears) {
    if (tear.seen || (tear.block == place_ && tear.warp == w.index)) continue;
    const auto is_there = [&](const LateStore& s) {
      for (std::uint32_t m = mask; m; m &= m - 1) {
        const std::uint64_t at = address_[std::countr_zero(m)];
        if (s.address < at + bytes && at < s.address + s.bytes) return true;
      }
      return false;
    };
    tear.seen = std::ranges::any_of(tear.parts.back(), is_there);
    if (tear.seen) ++run_.torn[tear.store].seen;
  }
}

void Block::go_on_tearing() {
  const std::uint64_t moves = run_.changes + run_.worked;
  vain_turns_ = moves == std::exchange(moves_seen_, moves) ? vain_turns_ + 1 : 0;
  std::erase_if(run_.tears, [&](Tear& tear) {
    if (tear.block != place_) return false;
    const bool in_vain = vain_turns_ >= kTurnsInVain;
    const bool by_all = run_.torn[tear.store].seen <= kSeenByAll;
    const bool enough = tear.seen ? ++tear.turns >= (by_all ? kTurnsSeenByAll : kTurnsSeen)
                                  : run_.executed - tear.since >= kUnseenFor;
    if (!in_vain && !enough) return false;
    if (!in_vain && !tear.seen) ++run_.never_looked_at;
    for (const LateStore& s : tear.parts.back()) land(s);
    tear.parts.pop_back();
    tear.since = run_.executed;
    tear.seen = false;
    tear.turns = 0;
    if (!tear.parts.empty()) return false;
    warps_[static_cast<std::size_t>(tear.warp)].torn = false;
    return true;
  });
}

}  // namespace hone::emulator
