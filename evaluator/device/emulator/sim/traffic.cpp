// What memory accesses cost: address patterns, banks, sectors, the L1 and the footprint.
#include <algorithm>
#include <bit>
#include <cstring>

#include "evaluator/device/emulator/sim/block.h"

namespace hone::emulator {
namespace {
constexpr std::size_t kAtomicLinesKept = 4096;
// Of the SM [cycles].
constexpr std::uint64_t kFenceOfBlock = 10, kFenceOfDevice = 18, kFenceOfSystem = 160;
constexpr int kMergedLines = 8;  // of stores that leave the SM as one: blocked_4, blocked_16
constexpr double kAtomicLatency = 1.45;  // of the L2's, where the result is asked for: chain_atomic
/// Finds a line among those so far, of which there are at most 64.
class LineTable {
 public:
  /// Its place in `lines`; `count`, where the caller is to put it: it was not there.
  template <class Line>
  int find(Line line, const Line* lines, int count) {
    std::uint64_t at = static_cast<std::uint64_t>(line) * 0x9E3779B97F4A7C15ull >> 57;
    while (place_[at] && lines[place_[at] - 1] != line) at = (at + 1) & 127;
    if (place_[at]) return place_[at] - 1;
    place_[at] = static_cast<std::uint8_t>(count + 1);
    return count;
  }

 private:
  std::uint8_t place_[128] = {};  ///< + 1; 0: free
};

constexpr std::uint8_t kBitsOf4[16] = {0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4};
}  // namespace

Pattern& Block::pattern(const Inst& in, std::uint32_t mask) {
  Pattern& p = pattern_slot(in);
  if (p.inst != &in || p.mask != mask || !loops_.same_pattern(address_, p.shape.relative))
    reshape(p, in, mask);
  if (!p.analysed) analyse(p, in);
  return p;
}

void Block::reshape(Pattern& p, const Inst& in, std::uint32_t mask) {
  p.inst = &in;
  p.mask = mask;
  p.analysed = false;
  loops_.shape(address_, in.esize * in.vec, p.shape);
}

void Block::analyse(Pattern& p, const Inst& in) {
  p.analysed = true;
  p.phase = ~0u;
  p.distinct = 0;
  // A small hash table of the places so far; 0: free.
  std::uint8_t table[64] = {};
  for (std::uint32_t m = p.mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const std::uint64_t r = p.shape.relative[lane];
    std::uint64_t at = r * 0x9E3779B97F4A7C15ull >> 58;
    while (table[at] && p.address[table[at] - 1] != r) at = (at + 1) & 63;
    if (table[at]) {
      p.many[table[at] - 1] = true;
      ++p.lanes[table[at] - 1];
      continue;
    }
    const int k = p.distinct++;
    table[at] = static_cast<std::uint8_t>(k + 1);
    p.address[k] = r;
    p.lane[k] = static_cast<std::uint8_t>(lane);
    p.many[k] = false;
    p.lanes[k] = 1;
  }
  const bool words = in.esize * in.vec == 4 && ((address_[0] | p.shape.low_bits) & 3) == 0;
  p.cycles = words ? word_cycles(p) : 0;
  if (p.cycles == 0) p.cycles = bank_cycles(in, p.mask);
}

// A word for each lane: as bank_cycles, but of the distinct ones only; 0: ask that.
std::uint32_t Block::word_cycles(const Pattern& p) const {
  constexpr std::uint8_t kAllRemembered = 5;  // words of a bank that bank_cycles knows again
  std::uint8_t per_bank[32] = {};
  for (int k = 0; k < p.distinct; ++k) ++per_bank[(address_[0] + p.address[k]) >> 2 & 31];
  const std::uint8_t worst = *std::max_element(per_bank, per_bank + 32);
  return worst <= kAllRemembered ? worst : 0;
}

// Cycles an access occupies the 32 four-byte banks: distinct words per bank. Of 8 and 16 bytes,
// half and quarter warps go at once; of shared memory twice as many lanes where each asks for the
// same as the one beside it, or the next but one. Source: the micro-kernels shared_v2_* and
// shared_v4_*.
std::uint32_t Block::bank_cycles(const Inst& in, std::uint32_t mask) const {
  const std::uint32_t total = in.esize * in.vec;
  const std::uint32_t words = std::max(1u, total / 4);
  int lanes_at_once = static_cast<int>(32 / words);
  if (words > 1 && in.space != Space::kGlobal) {
    const auto pairs = [&](int apart) {
      for (int lane = 0; lane < 32; ++lane)
        if ((mask >> lane & 1) && (mask >> (lane ^ apart) & 1) &&
            address_[lane] != address_[lane ^ apart])
          return false;
      return true;
    };
    if (pairs(1) || pairs(2)) lanes_at_once *= 2;
  }
  std::uint32_t cycles = 0;
  for (std::uint32_t left = mask; left;) {
    const int now = std::countr_zero(left) / lanes_at_once;
    std::uint32_t used = 0;
    std::uint64_t word_of[32];
    std::uint64_t more[32][4];
    std::uint8_t count[32];
    std::uint32_t worst = 0;
    for (; left && std::countr_zero(left) / lanes_at_once == now; left &= left - 1) {
      const int lane = std::countr_zero(left);
      for (std::uint32_t w = 0; w < words; ++w) {
        const std::uint64_t word = (address_[lane] >> 2) + w;
        const auto bank = static_cast<std::uint32_t>(word & 31);
        if (!(used >> bank & 1)) {
          used |= 1u << bank;
          word_of[bank] = word;
          count[bank] = 1;
          worst = std::max(worst, 1u);
          continue;
        }
        if (word_of[bank] == word) continue;
        bool known = false;
        for (int j = 1; j < count[bank] && j < 5; ++j) known = known || more[bank][j - 1] == word;
        if (known) continue;
        if (count[bank] < 5) more[bank][count[bank] - 1] = word;
        worst = std::max<std::uint32_t>(worst, ++count[bank]);
      }
    }
    cycles += worst;
  }
  return std::max(cycles, 1u);
}

void Block::find_lines(Pattern& p, const Inst& in, std::uint32_t phase) {
  const std::uint32_t total = in.esize * in.vec;
  p.phase = phase;
  int n = 0;
  LineTable table;
  for (int d = 0; d < p.distinct; ++d) {
    const std::int64_t a = static_cast<std::int64_t>(p.address[d]) + phase;
    const std::int64_t l = a >> 7;
    const auto from = static_cast<std::uint32_t>((a >> 5) & 3);
    const auto to = static_cast<std::uint32_t>(((a + total - 1) >> 5) & 3);
    const int k = table.find(l, p.line, n);
    if (k == n) {
      p.line[n++] = l;
      p.sectors[k] = 0;
    }
    p.sectors[k] |= ((2u << to) - 1) & ~((1u << from) - 1);
  }
  p.lines = n;
  p.sector_count = 0;
  for (int k = 0; k < n; ++k) p.sector_count += kBitsOf4[p.sectors[k]];
}

// Distinct sectors of a global access: through the L1 model, and into the counters.
void Block::count_global(Warp& w, const Inst& in, bool store) {
  Pattern& p = current_pattern(in);
  const auto phase = static_cast<std::uint32_t>(address_[0] & 127);
  if (p.phase != phase) find_lines(p, in, phase);
  const std::uint64_t first = address_[0] >> 7;
  const int n = p.lines;
  Counters& c = run_.counters;
  if (store) {
    ++c.global_stores;
    w.stored = true;
    if (w.swapped != 0 && w.swapped == address_[0]) leave_turn(w);
    // Stores of one warp that follow each other, no load between them, into the same sectors
    // leave the SM as one.
    const bool follows = w.stored_lines == n && n <= kMergedLines;
    // Whole sectors, and one word of a warp, pass a slice without waiting (hot_word, hot_line).
    const bool partly =
        p.distinct > 1 &&
        static_cast<std::uint32_t>(p.distinct) * in.esize * in.vec < 32 * p.sector_count;
    for (int k = 0; k < n; ++k) {
      const std::uint64_t line = first + static_cast<std::uint64_t>(p.line[k]);
      const std::uint32_t before =
          follows && k < kStoresKept && w.stored_line[k] == line ? w.stored_sectors[k] : 0;
      c.global_store_sectors += kBitsOf4[p.sectors[k] & ~before];
      c.global_store_lines += before ? 0 : 1;
      if (partly && (p.sectors[k] & ~before))
        count_hot_store(line, kBitsOf4[p.sectors[k] & ~before]);
      if (k < kStoresKept) {
        w.stored_line[k] = line;
        w.stored_sectors[k] = static_cast<std::uint8_t>(before | p.sectors[k]);
      }
      if (p.sectors[k] & ~before) touch_line(line, p.sectors[k] & ~before);
    }
    w.stored_lines = n;
    return;
  }
  // Measured on an H200: max(bank conflict degree, 0.3 x distinct lines) cycles.
  run_.l1_wavefronts_x10 += std::max(10 * p.cycles, 3 * static_cast<std::uint32_t>(n));
  w.stored_lines = 0;
  ++c.global_loads;
  c.global_load_sectors += p.sector_count;
  c.global_load_lines += static_cast<std::uint64_t>(n);
  access_latency_ = static_cast<std::uint32_t>(run_.profile->l1_latency);
  std::uint32_t missed = 0;
  for (int k = 0; k < n; ++k) {
    const std::uint64_t line = first + static_cast<std::uint64_t>(p.line[k]);
    const std::uint32_t sectors = p.sectors[k];
    std::uint32_t missing = in.bypass_l1 ? sectors : l1_.access(line, sectors);
    if (!missing) continue;
    if (sm_l1_ && !in.bypass_l1) {
      const std::uint32_t found = sm_l1_->access(line, missing, number_);
      if (found && !run_.sm_is_warm)
        access_latency_ =
            std::max(access_latency_, static_cast<std::uint32_t>(run_.profile->l2_latency));
      missing &= ~found;
      if (!missing) continue;
    }
    c.l1_miss_sectors += kBitsOf4[missing];
    ++c.l1_miss_lines;
    ++missed;
    const std::uint64_t before = run_.touched_sectors;
    touch_line(line, missing);
    const double latency =
        run_.touched_sectors != before ? run_.profile->dram_latency : run_.profile->l2_latency;
    access_latency_ = std::max(access_latency_, static_cast<std::uint32_t>(latency));
  }
  // Lines leave the SM one after another; a few are hidden.
  constexpr std::uint32_t kHidden = 4, kLineCycles = 10;
  if (missed > kHidden) access_latency_ += kLineCycles * (missed - kHidden);
}

// Lanes on one word of shared memory, or on words of one bank, go one after another.
void Block::count_shared_atomic(std::uint32_t mask, std::uint64_t base) {
  Counters& c = run_.counters;
  if (touched_by_.empty()) touched_by_.resize(run_.shared_bytes / 4 + 1);
  if (++shared_atomic_ == 0) {
    std::fill(touched_by_.begin(), touched_by_.end(), 0);
    shared_atomic_ = 1;
  }
  std::uint32_t* const touched_by = touched_by_.data();
  const std::uint32_t now = shared_atomic_;
  std::uint8_t per_bank[32] = {};
  std::uint32_t repeats = 0;
  const auto one = [&](int lane) {
    const std::uint64_t word = (address_[lane] - base) >> 2;
    repeats += touched_by[word] == now;
    touched_by[word] = now;
    ++per_bank[word & 31];
  };
  if (mask == 0xFFFFFFFFu)
    for (int lane = 0; lane < 32; ++lane) one(lane);
  else
    for (std::uint32_t m = mask; m; m &= m - 1) one(std::countr_zero(m));
  std::uint8_t worst = 0;
  for (const std::uint8_t lanes : per_bank) worst = std::max(worst, lanes);
  c.atomic_serialised += repeats;
  ++c.atomics_shared;
  c.shared_atomic_cycles += worst;
  access_latency_ = static_cast<std::uint32_t>(run_.profile->shared_latency) + 2 * (worst - 1u);
}

// One lane after another on a word, whichever warp it is of; several words go together.
void Block::count_shared_loop(Warp& w, std::uint32_t mask, std::uint32_t bytes) {
  constexpr std::uint32_t kLoopCycles = 3;  // of shared memory, for a lane's load and its swap
  constexpr double kOf64Bits = 1.77;        // times as long: shared_double_block, shared_long_block
  const double of_32 = run_.profile->shared_atomic_same_address_float_cycles;
  const auto turn = static_cast<std::uint64_t>(bytes == 8 ? kOf64Bits * of_32 : of_32);
  std::uint64_t word[32];
  std::uint32_t lanes[32];
  int words = 0;
  LineTable table;
  for (std::uint32_t m = mask; m; m &= m - 1) {
    const std::uint64_t at = address_[std::countr_zero(m)] >> 2;
    const int k = table.find(at, word, words);
    if (k == words) {
      word[words++] = at;
      lanes[k] = 0;
    }
    ++lanes[k];
  }
  const std::uint64_t now = w.time();
  std::uint64_t end = now;
  std::uint32_t most = 0;
  for (int k = 0; k < words; ++k) {
    std::uint64_t& free = shared_free_[word[k]];
    free = std::max(free, now) + turn * lanes[k];
    end = std::max(end, free);
    most = std::max(most, lanes[k]);
  }
  ++run_.counters.atomics_shared;
  run_.counters.atomic_serialised += static_cast<std::uint32_t>(std::popcount(mask) - words);
  run_.counters.shared_atomic_cycles += std::uint64_t{kLoopCycles} * most;
  w.pause(end - now);
  access_latency_ = 4;
}

// A compare-and-swap that fits has a turn at its word, whichever warp it is of. Those of other
// warps that came no later have tried in vain at each turn that they had to wait for. An exchange,
// as one gives a lock back by, ends a turn.
void Block::count_shared_turns(Warp& w, const Inst& in, std::uint32_t mask, std::uint64_t base) {
  const bool swaps = static_cast<AtomicOp>(in.sub) == AtomicOp::kCas;
  if (!swaps && shared_free_.empty()) return;
  const auto turn =
      static_cast<std::uint64_t>(run_.profile->shared_atomic_same_address_float_cycles);
  const Slot expected = function_->extra[in.extra];
  const std::uint64_t now = w.time();
  std::uint64_t begin = now;
  for (std::uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const std::uint64_t at = address_[lane] - base, word = at >> 2;
    if (!swaps) {
      const auto known = shared_free_.find(word);
      if (known != shared_free_.end())
        known->second =
            std::max(known->second, now + static_cast<std::uint64_t>(run_.profile->shared_latency));
      continue;
    }
    std::uint64_t value = 0;
    std::memcpy(&value, shared_.data() + at, in.esize);
    if (value != (in.dst_wide ? reg64(expected)[lane] : std::uint64_t{reg32(expected)[lane]}))
      continue;
    std::uint64_t& free = shared_free_[word];
    const std::uint64_t start = std::max(free, now);
    if (start >= now + turn) {
      std::uint32_t alike = 0;
      for (std::uint32_t n = mask; n; n &= n - 1)
        alike += address_[std::countr_zero(n)] == address_[lane];
      run_.counters.shared_atomic_cycles += (start - now) / turn * alike;
    }
    free = start + turn;
    begin = std::max(begin, start);
    // Of the lanes on this word the first has it; the others do not fit any more.
    for (std::uint32_t n = m; n; n &= n - 1)
      if (address_[std::countr_zero(n)] == address_[lane] && n != m) m &= ~(n & -n);
  }
  w.pause(begin - now);
}

// Until what the warp stored has arrived; then the L1 forgets what it holds.
void Block::count_fence(Warp& w, const Inst& in) {
  const bool fence = in.kind == Kind::kFence;
  if (fence && in.sub == 1) {
    run_.counters.fence_cycles += kFenceOfBlock;
    return;
  }
  run_.counters.fence_cycles += fence && in.imm != 0 ? kFenceOfSystem : kFenceOfDevice;
  await_stores(w);
  forget_l1();
}

void Block::await_stores(Warp& w) {
  constexpr std::uint64_t kStored = 765;  // under load; MODEL.md
  const std::uint64_t before = w.time();
  w.pause(w.stored ? kStored : static_cast<std::uint64_t>(run_.profile->l2_latency));
  w.swapped_cycle += w.time() - before;  // what a lock costs has its fences in it
  w.stored = false;
}

void Block::count_membars(Warp& w, Membars membars) {
  if (membars == Membars::kNone) return;
  run_.counters.fence_cycles += kFenceOfDevice;
  await_stores(w);
  if (membars != Membars::kDeviceAndSystem) return;
  run_.counters.fence_cycles += kFenceOfSystem;
  await_stores(w);
  forget_l1();
}

void Block::forget_l1() {
  if (!l1_.empty()) l1_.clear();
  sm_l1_ = nullptr;
}

void Block::count_sleep(Warp& w, const Inst& in, std::uint32_t mask) {
  constexpr double kLonger = 1.5;             // at most twice, says the PTX ISA
  constexpr std::uint32_t kMost = 1'000'000;  // [ns]
  std::uint32_t longest = 0;
  const std::uint32_t* time = reg32(in.a);
  for (std::uint32_t m = mask; m; m &= m - 1)
    longest = std::max(longest, time[std::countr_zero(m)]);
  w.pause(static_cast<std::uint64_t>(kLonger * std::min(longest, kMost) * 1e-9 *
                                     run_.profile->clock_hz));
}

// A request for each line, which the L1 passes on; the L2 gets what it does not hold. Nobody waits.
void Block::count_prefetch(const Inst& in, std::uint32_t mask) {
  const bool fetches = in.sub == static_cast<std::uint8_t>(LineHint::kFetch);
  std::uint64_t line[32];
  std::uint32_t sectors[32];
  int lines = 0;
  LineTable table;
  const auto ask = [&](std::uint64_t at, std::uint32_t which) {
    ++run_.counters.l1_miss_lines;
    run_.l1_wavefronts_x10 += 10;
    if (!fetches) return;
    run_.counters.l1_miss_sectors += kBitsOf4[which];
    touch_line(at, which);
  };
  for (std::uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const std::uint64_t at = (in.addr_wide ? reg64(in.a)[lane] : std::uint64_t{reg32(in.a)[lane]}) +
                             static_cast<std::uint64_t>(in.imm);
    if (!find_span(at, 1)) continue;
    if (in.b != kNone) {
      constexpr std::uint64_t kMost = 1 << 20;  // more than fits anywhere [B]
      const std::uint64_t bytes = std::min<std::uint64_t>(reg32(in.b)[lane], kMost);
      for (std::uint64_t k = 0; k < bytes && find_span(at + k, 1); k += 128) ask((at + k) >> 7, 15);
      continue;
    }
    const int k = table.find(at >> 7, line, lines);
    if (k == lines) {
      line[lines++] = at >> 7;
      sectors[k] = 0;
    }
    sectors[k] |= 1u << (at >> 5 & 3);
  }
  for (int k = 0; k < lines; ++k) ask(line[k], sectors[k]);
}

// Counts the lines that are stored to again and again, in a table that forgets the others.
void Block::count_hot_store(std::uint64_t line, std::uint32_t sectors) {
  HotLine& hot = run_.hot[line * 0x9E3779B97F4A7C15ull >> 56];
  if (hot.line != line) {
    if (hot.score > 0) {
      --hot.score;
      return;
    }
    hot = {.line = line};
  }
  ++hot.score;
  hot.sectors += sectors;
  const std::uint64_t block = run_.counters.blocks + 1;
  hot.blocks += hot.last_block != block;
  hot.last_block = block;
}

// The words of a line that differ go together.
void Block::count_atomic(Warp& w, const Inst& in, std::uint32_t mask, bool shared) {
  const std::uint64_t base = in.space == Space::kGeneric ? kSharedBase : 0;
  const std::uint32_t bytes = in.esize * in.vec;
  const auto kind = static_cast<AtomicOp>(in.sub);
  const bool is_loop = kind != AtomicOp::kCas && kind != AtomicOp::kExch &&
                       (bytes != 4 || in.type.kind == Type::kFloat ||
                        in.type.kind == Type::kBFloat || in.type.packed);
  if (shared && !all_shared(bytes, base)) count_remote(in, mask);
  if (shared && is_loop) return count_shared_loop(w, mask, bytes);
  if (shared && bytes >= 4 && all_shared(bytes, base)) {
    const bool turns = kind == AtomicOp::kCas || kind == AtomicOp::kExch;
    if (turns && in.vec == 1) count_shared_turns(w, in, mask, base);
    return count_shared_atomic(mask, base);
  }
  Counters& c = run_.counters;
  std::uint64_t line[32];
  std::uint32_t lanes_of[32];  // of the line's most wanted word
  std::uint8_t sectors_of[32];
  std::uint32_t per_bank[32] = {};
  int lines = 0;
  LineTable table;
  const Pattern& p = pattern(in, mask);
  const auto distinct = static_cast<std::uint32_t>(p.distinct);
  c.atomic_serialised += static_cast<std::uint32_t>(std::popcount(mask)) - distinct;
  for (std::uint32_t d = 0; d < distinct; ++d) {
    const std::uint64_t a = address_[0] + p.address[d];
    const std::uint32_t lanes = p.lanes[d];
    per_bank[(a >> 2) & 31] += lanes;
    const int k = table.find(a >> 7, line, lines);
    if (k == lines) {
      line[lines++] = a >> 7;
      lanes_of[k] = 0;
      sectors_of[k] = 0;
      if (!shared) touch_line(a >> 7, 1u << ((a >> 5) & 3));
    }
    lanes_of[k] = std::max(lanes_of[k], lanes);
    sectors_of[k] |= static_cast<std::uint8_t>(1u << ((a >> 5) & 3));
  }
  if (shared) {
    ++c.atomics_shared;
    const std::uint32_t worst = *std::max_element(per_bank, per_bank + 32);
    c.shared_atomic_cycles += worst;
    access_latency_ = static_cast<std::uint32_t>(run_.profile->shared_latency) + 2 * (worst - 1);
    return;
  }
  ++c.atomics_global;
  const bool integer = in.type.kind != Type::kFloat && in.type.kind != Type::kBFloat;
  const auto op = static_cast<AtomicOp>(in.sub);
  const bool sums = op != AtomicOp::kCas && op != AtomicOp::kExch;
  if (integer && sums && lines == 1 &&
      lanes_of[0] == static_cast<std::uint32_t>(std::popcount(mask))) {
    ++c.atomics_combined;
    lanes_of[0] = 1;
  }
  c.atomic_lines += static_cast<std::uint64_t>(lines);
  // Sums of floats keep a line busy as if all of it were wanted (atomic_hot_ops_per_cycle).
  if (!integer) c.atomic_sectors += static_cast<std::uint64_t>(std::min(4 * lines, 32));
  for (int k = 0; k < lines; ++k) {
    c.atomic_repeats += lanes_of[k] - 1;
    if (integer) c.atomic_sectors += kBitsOf4[sectors_of[k]];
    note_atomic_line(line[k]);
  }
  // A loop of compare-and-swaps has a time of its own (turn_cycles in model.cpp).
  const double longer = op == AtomicOp::kCas ? 1 : kAtomicLatency;
  access_latency_ = in.noreturn ? 4 : static_cast<std::uint32_t>(longer * run_.profile->l2_latency);
}

void Block::note_atomic_line(std::uint64_t line) {
  std::uint64_t& known = known_lines_[line % known_lines_.size()];
  if (known == line || run_.atomic_lines.size() >= kAtomicLinesKept) return;
  known = line;
  run_.atomic_lines.insert(line);
  run_.counters.atomic_distinct_lines = run_.atomic_lines.size();
}

// The L2 does to each word what it does for an atomic without answer.
void Block::count_reduced_line(std::uint64_t line, std::uint32_t sectors, bool integer) {
  Counters& c = run_.counters;
  ++c.atomics_global;
  ++c.atomic_lines;
  c.atomic_sectors += integer ? kBitsOf4[sectors] : 4;
  note_atomic_line(line);
}

void Block::note_turn(Warp& w, const Inst& in, std::uint32_t mask) {
  constexpr std::size_t kWordsKept = 4096;
  const std::uint64_t word = address_[std::countr_zero(mask)];
  if (static_cast<AtomicOp>(in.sub) != AtomicOp::kCas) {
    if (word == w.swapped) leave_turn(w);
    return;
  }
  if (run_.turns.size() >= kWordsKept && !run_.turns.contains(word)) return;
  Turns& turns = run_.turns[word];
  if (turns.lanes == 0) turns.block = run_.counters.blocks;
  turns.several = turns.several || turns.block != run_.counters.blocks;
  for (std::uint32_t m = mask; m; m &= m - 1) turns.lanes += address_[std::countr_zero(m)] == word;
  w.swapped = word;
  w.swapped_cycle = std::max(w.cycle, w.latest);
}

void Block::leave_turn(Warp& w) {
  const auto turns = run_.turns.find(w.swapped);
  const std::uint64_t now = std::max(w.cycle, w.latest);
  if (turns != run_.turns.end()) {
    ++turns->second.released;
    turns->second.held += now - w.swapped_cycle;
  }
  w.swapped = 0;
}

void Block::touch_line(std::uint64_t line, std::uint32_t sectors) {
  run_.traffic_sectors += kBitsOf4[sectors];
  const std::uint64_t address = line << 7;
  if (!find_span(address, 1)) return;
  Page& page = *span_.page;
  if (page.epoch != run_.memory->epoch) {
    std::memset(page.touched, 0, sizeof page.touched);
    page.epoch = run_.memory->epoch;
  }
  const std::uint64_t sector = (address - span_.allocation->base) % kPageBytes / 32;
  std::uint64_t& word = page.touched[sector >> 6];
  const std::uint64_t bits = static_cast<std::uint64_t>(sectors) << (sector & 63);
  const std::uint32_t fresh = kBitsOf4[((bits & ~word) >> (sector & 63)) & 15];
  constexpr std::uint8_t kAlone[16] = {0, 1, 1, 0, 1, 2, 2, 1, 1, 2, 2, 1, 0, 1, 1, 0};
  const std::uint64_t first = sector & ~3ull;
  run_.lone_sectors += kAlone[((word | bits) >> (first & 63)) & 15];
  run_.lone_sectors -= kAlone[word >> (first & 63) & 15];
  run_.touched_sectors += fresh;
  span_.allocation->touched += fresh;
  word |= bits;
}

}  // namespace hone::emulator
