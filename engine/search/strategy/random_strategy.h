// Random walks through the space: the baseline any other strategy has to beat.
#pragma once

#include <mutex>

#include "engine/search/random.h"
#include "engine/search/strategy/strategy.h"
#include "engine/search/strategy/unlocked.h"

namespace hone {

class RandomStrategy final : public Strategy {
 public:
  RandomStrategy(Space& space, std::uint64_t seed, double /*reference_time_us*/ = 0)
      : space_(space), random_(seed) {}
  std::string_view name() const override { return "random"; }
  Recipe ask() override;
  void tell(const Outcome&) override {}

 private:
  static constexpr std::size_t kMaxSteps = 6;
  Space& space_;
  std::mutex mutex_;  ///< of what follows
  Random random_;
};

}  // namespace hone
