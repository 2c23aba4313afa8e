// What the warps of one block know of the other blocks of its cluster: up to which tick of each
// agent over there everything is ordered before them. Learnt from cluster barriers, which all warps
// take part in, and from mbarriers at which others arrived. Only what asynchronous work does to
// another block's shared memory is held against it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "evaluator/device/emulator/sim/shadow.h"

namespace hone::emulator {

/// Accesses of each agent of one block with a lower tick are known.
using SeenTicks = std::array<std::uint32_t, kAgents>;

inline void join_ticks(SeenTicks& into, const SeenTicks& from) {
  for (std::size_t k = 0; k < into.size(); ++k) into[k] = std::max(into[k], from[k]);
}
inline SeenTicks ticks_of(const ClockView& view) {
  SeenTicks ticks;
  std::copy_n(view.begin(), ticks.size(), ticks.begin());
  return ticks;
}

/// By rank; shorter than the cluster where nothing is known of the rest.
using ForeignTicks = std::vector<SeenTicks>;
inline void join_ticks(ForeignTicks& into, const ForeignTicks& from) {
  if (into.size() < from.size()) into.resize(from.size());
  for (std::size_t r = 0; r < from.size(); ++r) join_ticks(into[r], from[r]);
}

class ClusterOrder {
 public:
  void reset() {
    everybody_.clear();
    lessons_.clear();
  }
  /// All warps know this much of the block `rank`.
  void all_learn(std::size_t rank, const SeenTicks& ticks) {
    if (everybody_.size() <= rank) everybody_.resize(rank + 1);
    join_ticks(everybody_[rank], ticks);
  }
  /// `warp` does, from its present tick on, and whoever comes after that.
  void learn(const Clocks& own, int warp, const ForeignTicks& ticks) {
    if (ticks.empty()) return;
    const std::uint32_t now = own.tick(warp);
    Lesson* last = nullptr;
    std::size_t count = 0;
    Lesson* first = nullptr;
    Lesson* second = nullptr;
    for (Lesson& l : lessons_) {
      if (l.warp != warp) continue;
      if (!first)
        first = &l;
      else if (!second)
        second = &l;
      last = &l;
      ++count;
    }
    if (last && last->tick == now) {
      join_ticks(last->ticks, ticks);
      return;
    }
    if (count >= kKept) {  // earlier than true: what that misses is no invention
      join_ticks(first->ticks, second->ticks);
      lessons_.erase(lessons_.begin() + (second - lessons_.data()));
    }
    lessons_.push_back({warp, now, ticks});
  }
  /// What `warp` knows of every block.
  [[nodiscard]] ForeignTicks known(const Clocks& own, int warp) const {
    ForeignTicks all = everybody_;
    for (const Lesson& l : lessons_)
      if (l.warp == warp || own.ordered_across(l.warp, l.tick, warp)) join_ticks(all, l.ticks);
    return all;
  }
  [[nodiscard]] bool knows(const Clocks& own, int warp, std::size_t rank, int agent,
                           std::uint32_t tick) const {
    const auto among = [&](const ForeignTicks& t) {
      return rank < t.size() && tick < t[rank][static_cast<std::size_t>(agent)];
    };
    if (among(everybody_)) return true;
    return std::any_of(lessons_.begin(), lessons_.end(), [&](const Lesson& l) {
      return (l.warp == warp || own.ordered_across(l.warp, l.tick, warp)) && among(l.ticks);
    });
  }

 private:
  static constexpr std::size_t kKept = 32;  // of one warp
  struct Lesson {
    int warp = 0;
    std::uint32_t tick = 0;
    ForeignTicks ticks;
  };
  ForeignTicks everybody_;
  std::vector<Lesson> lessons_;
};

}  // namespace hone::emulator
