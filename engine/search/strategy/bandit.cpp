#include "engine/search/strategy/bandit.h"

#include <algorithm>

namespace hone {
namespace {

// What both are taken to have gained and cost before anything is known: a tenth of the budget that
// made the best a third faster.
constexpr double kPriorGain = 0.3, kPriorCost = 0.1;
constexpr double kMemory = 0.995;  // of a credit, at each outcome of its own

}  // namespace

double Bandit::Credit::rate() const { return (gain + kPriorGain) / (cost + kPriorCost); }

void Bandit::tell(Arm arm, double gain, double cost) {
  Credit& credit = arm == Arm::kRules ? rules_ : model_;
  credit.gain = credit.gain * kMemory + std::max(0.0, gain);
  credit.cost = credit.cost * kMemory + std::max(0.0, cost);
}

double Bandit::share_of_model() const {
  const double model = model_.rate(), rules = rules_.rate();
  return std::clamp(model / (model + rules), kLeast, kMost);
}

}  // namespace hone
