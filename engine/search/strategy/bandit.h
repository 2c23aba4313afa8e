// Two ways to spend a search's budget: rules and a language model. Each is credited with what it
// gained, in log(time ratio) of the best, for what it cost, as a share of the budgets: seconds (or
// evaluations) and money count alike. Old news is forgotten slowly. Not thread-safe.
#pragma once

namespace hone {

class Bandit {
 public:
  enum class Arm { kRules, kModel };
  /// `cost` is a share of the whole budget, 0 to 1.
  void tell(Arm arm, double gain, double cost);
  /// Of the effort, what should go to the model: between the two bounds.
  [[nodiscard]] double share_of_model() const;

  static constexpr double kLeast = 0.1, kMost = 0.9;

 private:
  struct Credit {
    double gain = 0, cost = 0;
    [[nodiscard]] double rate() const;
  };
  Credit rules_, model_;
};

}  // namespace hone
