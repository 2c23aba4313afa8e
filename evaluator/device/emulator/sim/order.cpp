#include "evaluator/device/emulator/sim/order.h"

#include <algorithm>
#include <bit>

namespace hone::emulator {
namespace {
constexpr std::uint64_t kMaxEntries = 64 << 20;                // 1 GiB, were all kept
constexpr std::uint64_t kSectorBytes = 32, kLoadsKept = 4096;  // 128 KiB of the L1
constexpr std::uint64_t kWarpsOfBlock = 64;  // keys of a block: 0 the whole, 1 + warp

std::uint64_t key_of(std::uint32_t block) { return block * kWarpsOfBlock; }
std::uint64_t key_of(std::uint32_t block, int warp) {
  return block * kWarpsOfBlock + 1 + static_cast<std::uint64_t>(warp);
}

std::uint32_t find(const Clock& clock, std::uint64_t key) {
  const auto it = std::lower_bound(clock.begin(), clock.end(), key,
                                   [](const auto& e, std::uint64_t k) { return e.first < k; });
  return it != clock.end() && it->first == key ? it->second : 0;
}

/// Does `large` know all that `small` knows?
bool covers(const Clock& large, const Clock& small) {
  if (large.size() < small.size()) return false;
  auto i = large.begin();
  for (const auto& [key, epoch] : small) {
    while (i != large.end() && i->first < key) ++i;
    if (i == large.end() || i->first != key || i->second < epoch) return false;
    ++i;
  }
  return true;
}

Clock merged(const Clock& a, const Clock& b) {
  Clock sum;
  sum.reserve(a.size() + b.size());
  auto i = a.begin();
  auto j = b.begin();
  while (i != a.end() && j != b.end()) {
    if (i->first < j->first) {
      sum.push_back(*i++);
    } else if (j->first < i->first) {
      sum.push_back(*j++);
    } else {
      sum.push_back({i->first, std::max(i->second, j->second)});
      ++i;
      ++j;
    }
  }
  sum.insert(sum.end(), i, a.end());
  sum.insert(sum.end(), j, b.end());
  return sum;
}
}  // namespace

ClockRef GlobalOrder::join(const ClockRef& a, const ClockRef& b) {
  if (!a || a == b) return b;
  if (!b) return a;
  for (const Joined& known : joined_)
    if (known.a == a && known.b == b) return known.sum;
  ClockRef sum;
  // The one that knew all of it stays, so that equal clocks are one object.
  if (covers(*a, *b)) {
    sum = a;
  } else if (covers(*b, *a)) {
    sum = b;
  } else {
    sum = std::make_shared<Clock>(merged(*a, *b));
    entries += sum->size();
    if (entries > kMaxEntries) gave_up = true;
  }
  joined_[next_joined_] = {a, b, sum};
  next_joined_ = (next_joined_ + 1) % joined_.size();
  return sum;
}

ClockRef* Published::piece(std::uint64_t number, bool make) {
  if (number == last_ && (at_last_ != nullptr || !make)) return at_last_;
  auto it = pieces_.find(number);
  if (it == pieces_.end() && make)
    it = pieces_.emplace(number, std::make_unique<ClockRef[]>(kWords)).first;
  last_ = number;
  at_last_ = it == pieces_.end() ? nullptr : it->second.get();
  return at_last_;
}

void BlockOrder::start(GlobalOrder& order, std::uint32_t block, std::size_t warps) {
  order_ = &order;
  block_ = block;
  warps_.assign(warps, WarpOrder{});
  forget_loads();
}

ClockRef BlockOrder::all_of(int warp) const {
  const WarpOrder& w = warps_[warp];
  auto own = std::make_shared<Clock>();
  if (w.joined) own->push_back({key_of(block_), w.joined});
  own->push_back({key_of(block_, warp), w.epoch});
  return order_->join(order_->join(w.fenced, w.seen), own);
}

void BlockOrder::fence(int warp) {
  WarpOrder& w = warps_[warp];
  w.fenced = all_of(warp);
  ++w.epoch;
  forget_loads();
  if (order_->in_cluster > 1) release_to_cluster(warp);
}

void BlockOrder::release_to_cluster(int warp) {
  ClockRef& released = order_->released[cluster()];
  released = order_->join(released, all_of(warp));
  ++warps_[warp].epoch;
  ++order_->time;
}

void BlockOrder::take_over_from_cluster(int warp) {
  WarpOrder& w = warps_[warp];
  const ClockRef& released = order_->released[cluster()];
  if (released == w.taken_from_cluster) return;
  w.taken_from_cluster = released;
  w.seen = order_->join(w.seen, released);
  w.acquired = order_->time;
}

void BlockOrder::meet(const std::vector<Arrival>& cluster) {
  for (const Arrival& a : cluster) {
    // Where every warp did, one entry for the block says it.
    if (a.released == a.all) a.block->barrier(a.all, a.all);
    for (std::uint32_t m = a.released; m; m &= m - 1) {
      a.block->release_to_cluster(std::countr_zero(m));
      if (a.released == a.all) break;
    }
  }
  for (const Arrival& a : cluster)
    for (std::uint32_t m = a.all; m; m &= m - 1)
      a.block->take_over_from_cluster(std::countr_zero(m));
}

void BlockOrder::barrier(std::uint32_t warps, std::uint32_t live) {
  ClockRef seen;
  ClockRef fenced;
  std::uint64_t acquired = 0;
  std::uint32_t epoch = 0;
  for (std::uint32_t m = warps; m; m &= m - 1) {
    const WarpOrder& w = warps_[std::countr_zero(m)];
    seen = order_->join(seen, w.seen);
    fenced = order_->join(fenced, w.fenced);
    acquired = std::max(acquired, w.acquired);
    epoch = std::max(epoch, w.epoch);
  }
  if (fenced) {
    // Where every warp fenced, one entry for the block says it.
    std::uint32_t all = ~0u;
    for (std::uint32_t m = live; m; m &= m - 1)
      all = std::min(all, find(*fenced, key_of(block_, std::countr_zero(m))));
    if (live && all > 0) {
      auto shorter = std::make_shared<Clock>();
      shorter->push_back({key_of(block_), std::max(all, find(*fenced, key_of(block_)))});
      for (const auto& e : *fenced) {
        const bool own = e.first / kWarpsOfBlock == block_;
        if (!own || (e.first != key_of(block_) && e.second > all)) shorter->push_back(e);
      }
      std::sort(shorter->begin(), shorter->end());
      if (*shorter != *fenced) fenced = std::move(shorter);
    }
  }
  for (std::uint32_t m = warps; m; m &= m - 1) {
    WarpOrder& w = warps_[std::countr_zero(m)];
    w.seen = seen;
    w.fenced = fenced;
    w.acquired = acquired;
    w.joined = epoch;
    w.epoch = epoch + 1;
  }
}

void BlockOrder::publish(int warp, std::uint64_t address, std::uint64_t bytes) {
  WarpOrder& w = warps_[warp];
  if (!w.fenced) return;
  if (w.published == w.fenced && w.published_at == address) return;
  for (std::uint64_t a = address / 4; a <= (address + bytes - 1) / 4; ++a) {
    ClockRef& place = order_->published.at(a);
    place = order_->join(place, w.fenced);
  }
  w.published = w.fenced;
  w.published_at = address;
  ++order_->time;
}

void BlockOrder::take_over(int warp, std::uint64_t address, std::uint64_t bytes) {
  WarpOrder& w = warps_[warp];
  for (std::uint64_t a = address / 4; a <= (address + bytes - 1) / 4; ++a) {
    const ClockRef* const place = order_->published.find(a);
    if (place == nullptr || *place == w.taken) continue;
    w.taken = *place;
    w.seen = order_->join(w.seen, w.taken);
    w.acquired = order_->time;
  }
}

bool BlockOrder::before(const GlobalStamp& s, int warp) const {
  const ClockRef& seen = warps_[warp].seen;
  if (!seen) return false;
  if (s.plural) return true;
  return find(*seen, key_of(s.block)) >= s.epoch || find(*seen, key_of(s.block, s.warp)) >= s.epoch;
}

void BlockOrder::note_atomic(int warp, int lane, std::uint64_t address, bool answers) {
  LastAtomic*& known = warps_[warp].last_atomic;
  if (known == nullptr) known = &order_->last_atomics[key_of(block_, warp)];
  LastAtomic& last = *known;
  last.address = address;
  last.lane = lane;
  last.number = ++order_->atomics;
  last.all_answered = last.all_answered && answers;
}

bool BlockOrder::answered_before(const GlobalStamp& s, int warp) const {
  const auto& all = order_->last_atomics;
  const auto its = all.find(key_of(s.block, s.warp)), own = all.find(key_of(block_, warp));
  return s.atomic && its != all.end() && own != all.end() && its->second.lane == s.lane &&
         its->second.address == own->second.address && its->second.number < own->second.number &&
         its->second.all_answered && own->second.all_answered;
}

bool BlockOrder::conflicts_between(const GlobalStamp& earlier, const GlobalStamp& now) const {
  if (earlier.ordered && now.ordered) return false;
  const bool together =
      (earlier.block - 1) / order_->in_cluster == (now.block - 1) / order_->in_cluster;
  if (together && earlier.of_cluster && now.of_cluster) return false;
  return !before(earlier, now.warp) && !answered_before(earlier, now.warp) && !order_->gave_up;
}

bool BlockOrder::stale(const GlobalCell& cell, std::uint64_t address) {
  if (loads_.empty()) loads_.resize(kLoadsKept);
  const std::uint64_t sector = address / kSectorBytes;
  Loaded& loaded = loads_[sector % kLoadsKept];
  if (loaded.sector != sector || loaded.fences != fences_) {
    loaded = {sector, fences_, order_->writes};
    return false;
  }
  const bool other = cell.writer.block != 0 && (cell.writer.block - 1) / order_->in_cluster !=
                                                   (block_ - 1) / order_->in_cluster;
  return other && cell.written_at > loaded.at && !order_->gave_up;
}

bool BlockOrder::write(GlobalCell& cell, const GlobalStamp& now, bool same) const {
  if (!same) cell.written_at = ++order_->writes;
  if (same) {
    const bool plural = conflicts(cell.writer, now);
    cell.writer = now;
    cell.writer.plural = plural;
    return false;
  }
  const bool others =
      cell.others_read != 0 && warps_[now.warp].acquired <= cell.others_read && !order_->gave_up;
  if (conflicts(cell.writer, now) || conflicts(cell.reader, now) || others) return true;
  cell.writer = now;
  cell.reader = GlobalStamp{};
  cell.others_read = 0;
  return false;
}

const GlobalStamp* BlockOrder::culprit(const GlobalCell& before, const GlobalStamp& now,
                                       bool write) const {
  if (conflicts(before.writer, now)) return &before.writer;
  if (write && conflicts(before.reader, now)) return &before.reader;
  return before.other_reader.block != 0 ? &before.other_reader : nullptr;
}

}  // namespace hone::emulator
