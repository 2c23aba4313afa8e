// A task whose kernel sums the rows of a matrix, steps for it, and an evaluator that knows what
// each step is worth: for tests of what is done with recipes, where no kernel need run.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "candidates/recipe.h"
#include "candidates/task.h"
#include "engine/rewriting/local_rewriting.h"
#include "engine/search/requests/requests.h"
#include "evaluator/evaluator.h"

namespace hone {

/// Every program passes but those that hold `wrong_with_`. It takes `base_us_`, and more for each
/// text of `worth_` that its source lacks. What is worth nothing does not change the machine code
/// either, where `tells_code_`.
class TextEvaluator final : public Evaluator {
 public:
  const DeviceInfo& info() const override { return info_; }
  Result<Evaluation> admit(const EvaluationRequest&) override { return Evaluation{}; }
  Result<Evaluation> evaluate(const EvaluationRequest& request) override;
  Result<Ceilings> measure_ceilings() override { return Ceilings{}; }
  void use_ceilings(const Ceilings&) override {}
  void cancel() override {}
  void resume() override {}

  /// Of the evaluations until now, in order. While none is in flight.
  [[nodiscard]] const std::vector<Stage>& stages() const { return stages_; }

  double base_us_ = 1000;
  std::map<std::string, double> worth_;  ///< [us] by text
  bool tells_code_ = false;
  std::string wrong_with_;  ///< empty: none

 private:
  std::mutex mutex_;
  std::vector<Stage> stages_;
  DeviceInfo info_ = {"text", "sm_90", "", "none", 132, 1LL << 36, 0, 0};
};

class RowSums : public testing::Test {
 protected:
  RowSums();

  /// The first thing that this rewriter proposes after `recipe`, with its first values.
  Step propose(const Recipe& recipe, const std::string& rewriter);
  /// Each step proposed after those before it.
  Recipe recipe_of(std::initializer_list<const char*> rewriters);
  /// Unrolls a loop that the last steps of `recipe` made, so that it is not legal without them.
  Step unroll_of_a_new_loop(const Recipe& recipe);

  Task task_;
  LocalRewriting rewriting_;
  std::unique_ptr<RequestBuilder> builder_;
  TextEvaluator evaluator_;
};

}  // namespace hone
