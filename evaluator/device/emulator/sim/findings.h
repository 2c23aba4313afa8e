// What the checkers of one run found: at most so many, one per instruction and kind, each with how
// often.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "evaluator/device/emulator/emulator.h"

namespace hone::emulator {

class FindingList {
 public:
  explicit FindingList(int limit = 1) : limit_(limit < 1 ? 1 : limit) {}
  /// More than the first one is wanted.
  [[nodiscard]] bool collects() const { return limit_ > 1; }
  [[nodiscard]] bool full() const { return list_.size() >= static_cast<std::size_t>(limit_); }
  /// Counts one more where this instruction already has one of the kind.
  bool again(FindingKind kind, std::uint32_t place, std::uint64_t times = 1) {
    const auto it = known_.find({static_cast<int>(kind), place});
    if (it == known_.end()) return false;
    list_[it->second].count += times;
    count(times);
    return true;
  }
  /// To be counted again that is kept elsewhere so far.
  void count(std::uint64_t times) { counted_ += times; }
  /// So many that more of them say nothing new, and each takes its time: the run ends.
  [[nodiscard]] bool worn_out() const { return counted_ >= kMostCounted; }
  static constexpr std::uint64_t kMostCounted = 1'000'000;
  void add(Finding finding, std::uint32_t place) {
    if (full()) return;
    count(finding.count);
    known_[{static_cast<int>(finding.kind), place}] = list_.size();
    list_.push_back(std::move(finding));
  }
  /// What ends the run, in place of a timeout that says less.
  void end_with(Finding finding) {
    if (!list_.empty() && list_.back().kind == FindingKind::kTimeout)
      list_.back() = std::move(finding);
    else
      list_.push_back(std::move(finding));
  }
  [[nodiscard]] std::vector<Finding> take() { return std::move(list_); }

 private:
  int limit_;
  std::vector<Finding> list_;
  std::uint64_t counted_ = 0;
  std::map<std::pair<int, std::uint32_t>, std::size_t> known_;
};

}  // namespace hone::emulator
