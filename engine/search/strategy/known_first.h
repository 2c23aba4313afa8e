// A strategy that first asks what is known to be fast, from earlier searches.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include "engine/search/strategy/strategy.h"

namespace hone {

class KnownFirst final : public Strategy {
 public:
  KnownFirst(std::unique_ptr<Strategy> rest, const std::vector<Recipe>& known)
      : rest_(std::move(rest)), count_(known.size()), known_(known.begin(), known.end()) {}
  [[nodiscard]] std::string_view name() const override { return rest_->name(); }
  Recipe ask() override;
  void tell(const Outcome& outcome) override;
  [[nodiscard]] std::size_t pioneers() const override { return count_ + rest_->pioneers(); }
  /// Some of what is known was not told of yet.
  [[nodiscard]] bool waits() const;

 private:
  const std::unique_ptr<Strategy> rest_;
  const std::size_t count_;
  mutable std::mutex mutex_;  ///< of what follows
  std::deque<Recipe> known_;
  std::unordered_set<std::string> in_flight_;  ///< keys of known ones
};

}  // namespace hone
