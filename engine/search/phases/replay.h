// What an earlier process of the same job was told, while a strategy asks for it again. It costs
// none of the time that is left.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "candidates/measurement.h"

namespace hone::search {

class Replay {
 public:
  /// By program hash; empty: there was no earlier process.
  explicit Replay(std::map<std::string, Evaluation> earlier) : earlier_(std::move(earlier)) {}

  [[nodiscard]] bool empty() const { return earlier_.empty(); }
  /// Null: this program must be evaluated. A crash may have been the machine's fault.
  [[nodiscard]] const Evaluation* find(const std::string& hash) const {
    const auto found = earlier_.find(hash);
    const bool usable = found != earlier_.end() && found->second.verdict != Verdict::kCrash;
    return usable ? &found->second : nullptr;
  }
  /// All at once; nothing is left.
  [[nodiscard]] std::map<std::string, Evaluation> take() { return std::exchange(earlier_, {}); }

  /// The strategy was asked once more.
  void asked(bool was_told_earlier) {
    ++since_last_;
    if (!was_told_earlier) return;
    ++told_;
    since_last_ = 0;
  }
  /// More of it is expected: two windows without any say that it will not come.
  [[nodiscard]] bool going_on(std::size_t window) const {
    return told_ < earlier_.size() && since_last_ < 2 * window;
  }

 private:
  std::map<std::string, Evaluation> earlier_;
  std::size_t told_ = 0, since_last_ = 0;
};

}  // namespace hone::search
