// A block's turns: which of its warps runs next, and when the block gives way to others.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "evaluator/device/emulator/sim/async.h"
#include "evaluator/device/emulator/sim/block.h"
#include "evaluator/device/emulator/sim/block_kinds.h"

namespace hone::emulator {
namespace {
constexpr int kPollRounds = 2;            // with every warp polling, before other blocks run
constexpr std::uint64_t kEvenTurn = 256;  // [warp instructions]
constexpr std::uint64_t kLongTurn = 64;   // who polls does so in less
// A seeded schedule holds a warp back for up to 64 or 65536 warp instructions of the whole run.
constexpr std::uint64_t kLeastHeld = 64, kHeldDoublings = 11;
constexpr std::uint64_t kWatched = 1 << 14;
constexpr std::uint64_t kHoldsWarp = 128, kHoldsBlock = 32;  // one turn of so many
}  // namespace

std::array<std::uint32_t, 3> block_of(const LaunchConfig& launch, std::uint64_t number) {
  const auto& size = launch.cluster;
  const std::uint64_t in_cluster = std::uint64_t{size[0]} * size[1] * size[2];
  const std::uint64_t cluster = number / in_cluster;
  const std::uint64_t rank = number % in_cluster;
  const std::uint64_t nx = launch.grid[0] / size[0];
  const std::uint64_t ny = launch.grid[1] / size[1];
  return {static_cast<std::uint32_t>(cluster % nx * size[0] + rank % size[0]),
          static_cast<std::uint32_t>(cluster / nx % ny * size[1] + rank / size[0] % size[1]),
          static_cast<std::uint32_t>(cluster / nx / ny * size[2] + rank / size[0] / size[1])};
}

void Block::start(std::uint64_t number) {
  place_ = number;
  id_ = block_of(*run_.launch, number);
  start_warps();
  start_tracking(static_cast<std::uint32_t>(number));
  clocks_.reset();
  for (LaneStores& stores : lane_stores_) stores.forget();
  arrived_.fill(0);
  expected_.fill(0);
  held_.clear();
  async_reads_.clear();
  finished_reads_.clear();
  raced_ = false;
  executed_ = 0;
  if (async_) async_->reset();
  if (check_races_ || check_init_) shadow_.reset();
  // What lies in an array's padding is read with its last elements, and used by nobody.
  if (check_init_) {
    for (const Extent& v : module_.functions[run_.function].variables) {
      if (v.space != Space::kShared || v.padding == 0) continue;
      const std::uint32_t from = v.offset + v.bytes;
      std::memset(shadow_.written() + (from >> shadow_.shift()), 1, v.padding >> shadow_.shift());
    }
  }
  std::memset(shared_.data(), 0xFF, shared_.size());  // not zero: nobody may rely on it
  if (counting_) {
    l1_.clear();
    enter_sm(number);
  }
  rounding_salt = run_.memory->rounding_salt;
  shared_free_.clear();
  for (std::size_t i = 0; i < order_.size(); ++i) order_[i] = static_cast<std::uint32_t>(i);
  const std::uint64_t seed = run_.options->schedule_seed;
  seeded_ = seed != 0;
  preempt_ = ~0ull;
  gives_way_ = false;
  late_.clear();
  held_at_ = ~0ull;
  quiet_turns_ = 0;
  idle_turns_ = 0;
  executed_seen_ = ~0ull;
  hold_ = Hold{};
  for (Warp& w : warps_) w.hold = Hold{};
  for (Warp& w : warps_) w.words[0] = w.words[1] = Word{};
  // Of its own, so that a block's schedule does not hang on what others do.
  if (seeded_) dice_ = Dice(Dice(seed).next() ^ number);
}

void Block::enter_sm(std::uint64_t number) {
  sm_l1_ = nullptr;
  if (run_.sm_l1_bytes == 0 || run_.blocks_of_sm < 2) return;
  const auto count = static_cast<std::uint64_t>(run_.profile->sm_count);
  std::size_t at = number % count;  // where all blocks run
  if (run_.chosen < run_.blocks_in_grid) {
    at = run_.last_number + 1 == number ? (run_.last_sm + 1) % count : 0;
    run_.last_number = number;
    run_.last_sm = at;
  }
  if (run_.sms.size() <= at) run_.sms.resize(at + 1);
  RunState::Sm& sm = run_.sms[at];
  if (sm.blocks == 0)
    sm.l1.resize(run_.sm_l1_bytes);
  else if (sm.blocks >= run_.blocks_of_sm) {
    sm.l1.clear();
    sm.blocks = 0;
  }
  ++sm.blocks;
  sm_l1_ = &sm.l1;
}

void Block::shuffle_warps() {
  for (std::size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[dice_.below(i)]);
}

// Sometimes a handful of instructions, so that warps meet in the middle of a phase; mostly more,
// and now and then to the next barrier.
std::uint64_t Block::turn_length() {
  if (run_.options->share_counters) return kEvenTurn;
  switch (dice_.below(8)) {
    case 0:
      return 1 + dice_.below(8);
    case 1:
    case 2:
      return 8 + dice_.below(64);
    case 3:
      return 1 << 16;
    default:
      return 64 + dice_.below(1024);
  }
}

void Block::hold(Hold& h, std::uint64_t one_of) {
  if (run_.delayed > RunState::kMostDelayed || run_.options->share_counters ||
      dice_.below(one_of) != 0)
    return;
  h.since = run_.executed;
  h.until = run_.executed + dice_.below(kLeastHeld << dice_.below(kHeldDoublings));
}

bool Block::is_held(Hold& h) {
  if (h.until > run_.executed) return true;
  if (h.since != 0) run_.delayed += run_.executed - std::exchange(h.since, 0);
  return false;
}

void Block::end_holds() {
  hold_.until = 0;
  for (Warp& w : warps_) w.hold.until = 0;
}

void Block::note_word(Warp& w, const Inst& in, std::uint32_t mask) {
  const std::uint64_t address = address_[std::countr_zero(mask)];
  if (in.space == Space::kShared || in.esize < 4 || window(address) != Space::kGlobal ||
      !find_span(address, in.esize))
    return;
  w.words[1] = w.words[0];
  w.words[0] = {address, 0, in.esize};
  std::memcpy(&w.words[0].value, span_.data + (address - span_.lo), in.esize);
}

void Block::begin_watch(Warp& w) {
  const Word& word = w.words[dice_.below(2)];
  if (run_.watch.word.address != 0 || word.address == 0) return;
  run_.watch = {word, place_, w.index, false, false};
  w.hold.until = run_.executed + kWatched;
}

void Block::look_at_watch() {
  Watch& watch = run_.watch;
  std::uint64_t value = 0;
  if (!find_span(watch.word.address, watch.word.bytes)) return;
  std::memcpy(&value, span_.data + (watch.word.address - span_.lo), watch.word.bytes);
  if (value != watch.word.value)
    watch.changed = true;
  else if (std::exchange(watch.changed, false))
    watch.returned = dice_.below(2) == 0;
}

// Has nobody run since this block could do nothing for being held?
bool Block::nothing_else_runs() { return std::exchange(held_at_, run_.executed) == run_.executed; }

Progress Block::advance() {
  int polls = 0;
  std::uint64_t rounds = !seeded_ ? ~0ull : run_.options->share_counters ? 1 : 1 + dice_.below(8);
  quiet_turns_ = run_.changes == std::exchange(changes_seen_, run_.changes) ? quiet_turns_ + 1 : 0;
  idle_turns_ = run_.executed == std::exchange(executed_seen_, run_.executed) ? idle_turns_ + 1 : 0;
  if (!late_.empty()) land_some_late();
  if (!run_.tears.empty()) go_on_tearing();
  if (run_.watch.returned && run_.watch.block != place_) return Progress::kTurn;
  if (others_wait() || run_.watch.returned) end_holds();
  if (seeded_ && !is_held(hold_)) hold(hold_, kHoldsBlock);
  if (is_held(hold_) && !nothing_else_runs()) return Progress::kTurn;
  while (true) {
    bool progress = false;
    bool polling = true;
    bool held = false, torn = false;
    std::size_t live = 0;
    if (seeded_) shuffle_warps();
    for (const std::uint32_t index : order_) {
      Warp& w = warps_[index];
      if (w.done()) continue;
      if (run_.watch.returned && !is_watched(w)) {
        ++live;
        continue;
      }
      if (w.torn) {
        torn = true;
        ++live;
        continue;
      }
      if (seeded_ && w.barrier < 0 && !run_.watch.returned) {
        if (!is_held(w.hold)) hold(w.hold, kHoldsWarp);
        if (is_held(w.hold)) {
          held = true;
          ++live;
          continue;
        }
      }
      if (w.barrier < 0) {
        if (seeded_) preempt_ = turn_length();
        if (is_watched(w)) run_.watch = Watch{};
        const std::uint64_t before = run_.executed;
        if (!run_warp(w)) return Progress::kFailed;
        if (!w.spinning && run_.executed - before >= kLongTurn) ++run_.worked;
        progress = true;
        polling = polling && w.spinning && !w.done() && w.barrier < 0;
      }
      if (!w.done()) ++live;
    }
    if (release_barriers()) {
      progress = true;
      polling = false;
    }
    if (run_.failure.verdict != Verdict::kOk) return Progress::kFailed;
    if (live == 0 && !late_.empty()) return Progress::kTurn;
    if (live == 0) break;
    if (!progress && run_.watch.returned) {  // all others give way to the warp that is watched
      if (run_.watch.block != place_) return Progress::kTurn;
      run_.watch = Watch{};  // it waits for them
      continue;
    }
    if (!progress && held) {
      if (!nothing_else_runs()) return Progress::kTurn;
      end_holds();
      continue;
    }
    if (!progress && torn) return Progress::kTurn;
    if (!progress && async_) {
      const Async::Stuck stuck = async_->stuck();
      if (stuck == Async::Stuck::kFailed) return Progress::kFailed;
      if (stuck == Async::Stuck::kCluster) return Progress::kWaiting;
      if (stuck == Async::Stuck::kWoken) continue;
    }
    if (!progress) {
      for (Warp& w : warps_) {
        if (w.done()) continue;
        const Inst& in = module_.functions[w.barrier_function].code[w.barrier_inst];
        fail(FindingKind::kBarrier, missing_at_barrier(w), w, std::countr_zero(w.alive), in);
        return Progress::kFailed;
      }
    }
    polls = polling ? polls + 1 : 0;
    if (polls >= kPollRounds) return Progress::kPolling;
    if (--rounds == 0 || std::exchange(gives_way_, false)) return Progress::kTurn;
  }
  if (async_ && !async_->finish()) return Progress::kFailed;
  if (!settle_held() || !wgmma_agree()) return Progress::kFailed;
  finish_block();
  return Progress::kFinished;
}

void Block::note_run() {
  Counters& c = run_.counters;
  const auto note = [&](BlockRuns& run, std::uint64_t& runs, std::uint64_t& bends,
                        std::uint64_t& bends_squared) {
    if (place_ != run.next && run.blocks > 0) {
      const double mean = run.sum / run.blocks, bend = run.before[0] - 2 * run.before[1] + mean;
      ++runs;
      if (++run.runs > 2) {
        ++bends;
        bends_squared += static_cast<std::uint64_t>(bend * bend);
      }
      run.before[0] = std::exchange(run.before[1], mean);
      run.sum = run.blocks = 0;
    }
    run.next = place_ + 1;
    run.sum += static_cast<double>(executed_);
    ++run.blocks;
    run.all_sum += static_cast<double>(executed_);
    ++run.all_blocks;
  };
  note(run_.block_runs[run_.kinds ? (*run_.kinds)[place_] : std::uint8_t{0}], c.runs, c.run_bends,
       c.run_bends_squared);
  note(run_.mixed_runs, c.mixed_runs, c.mixed_bends, c.mixed_bends_squared);
}

void Block::finish_block() {
  Moment last;
  for (const Warp& w : warps_) {
    last.not_before(w.moment());
    run_.counters.warp_path_sum += w.time() - std::min(w.idle, w.time());
  }
  ended_ = launch_time(last.with_waits());
  run_.counters.critical_path_sum += last.at;
  run_.counters.given_path_sum += std::min(last.given, last.at);
  run_.given_by_dram += last.far;
  run_.counters.critical_path_cycles = std::max(run_.counters.critical_path_cycles, last.at);
  keep_longest(run_.counters, executed_, place_);
  if (counting_) note_run();
  run_.counters.blocks++;
  run_.counters.warps += warps_.size();
  if (tracking_ == Tracking::kMarks && touches_.merge()) run_.met = true;
}

std::optional<Finding> Block::waiting_for() const {
  if (async_) {
    if (auto where = async_->waiting_for()) return where;
  }
  for (const Warp& w : warps_) {
    if (w.done() || w.barrier >= 0 || !w.polled) continue;
    const int lane = w.alive >> w.polled_lane & 1 ? w.polled_lane : std::countr_zero(w.alive);
    return finding_at(FindingKind::kTimeout, fmt::format("polls {}", describe(w.polled_address)), w,
                      lane, w.polled);
  }
  return std::nullopt;
}

}  // namespace hone::emulator
