// Turns recipes and programs of one task into evaluation requests: the candidate and the reference
// at the timed sizes and at every check size. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "candidates/recipe.h"
#include "candidates/result.h"
#include "candidates/task.h"
#include "engine/search/strategy/space.h"
#include "evaluator/evaluator.h"

namespace hone {

class CheckCosts;

/// What a candidate must not know.
struct RequestSecrets {
  std::uint64_t sizes = 0;   ///< chooses the hidden sizes
  std::uint64_t inputs = 0;  ///< fills the buffers in the quick stage's checks
  std::uint64_t places = 0;  ///< of the final stage; see EvaluationRequest::places
};

class RequestBuilder {
 public:
  /// `rewriting` and `task` must outlive the builder. Errors: an expression of the task that fails
  /// at some sizes. `costs` bounds the sizes that are chosen here; null: their elements do.
  [[nodiscard]] static Result<std::unique_ptr<RequestBuilder>> make(
      Rewriting& rewriting, const Task& task, const TargetLimits& target,
      std::vector<std::string> disabled, const RequestSecrets& secrets = {},
      CheckCosts* costs = nullptr);

  /// The space at the timed sizes.
  [[nodiscard]] Space& space() { return *timed_; }

  /// kRefused when the recipe does not replay. At a check size where it does not (a width that does
  /// not divide it, say) a task that allows specialisation is checked at the nearest sizes that
  /// share enough divisors of the timed ones; without specialisation that is a refusal. The quick
  /// stage checks with one of a few contents of the buffers, so that what the reference answers is
  /// known after a while, and another set of inputs at the smallest size in turns, and
  /// tiny values where a step approximates functions; the final stage
  /// adds every set there, and the hidden sizes. Where it is a model's step or an edit by hand that
  /// does not replay, no size is replaced or left out.
  [[nodiscard]] Result<EvaluationRequest> for_recipe(const Recipe& recipe, std::uint64_t seed,
                                                     Stage stage = Stage::kQuick);

  /// Likewise; `timed` is what the recipe yields at the timed sizes.
  [[nodiscard]] Result<EvaluationRequest> for_rewritten(const Program& timed, const Recipe& recipe,
                                                        std::uint64_t seed,
                                                        Stage stage = Stage::kQuick) const;

  /// Whether what a model's edits give at the timed sizes is the very text that some check runs, as
  /// no rule vouches for it; true where the recipe has none.
  [[nodiscard]] bool checks_edits_as_timed(const Recipe& recipe) const;

  /// The same program at all sizes: hand-written variants, for which nobody vouches, and the
  /// reference itself.
  [[nodiscard]] Result<EvaluationRequest> for_program(const Program& program, std::uint64_t seed,
                                                      Stage stage = Stage::kQuick) const;

 private:
  struct CheckSpace {
    Bindings sizes;
    ConcreteProgram reference;
    std::unique_ptr<Space> space;
    bool in_part = false;  ///< see CheckCase
  };
  /// One size, and sizes nearby with ever more divisors of the timed ones, each with more work.
  using Ladder = std::vector<CheckSpace>;

  RequestBuilder(Rewriting& rewriting, const Task& task) : rewriting_(rewriting), task_(task) {}
  [[nodiscard]] Result<CheckSpace> check_space(const Bindings& sizes) const;
  [[nodiscard]] Result<Ladder> ladder(std::vector<Bindings> rungs) const;
  /// The recipe at one size.
  [[nodiscard]] Result<CheckCase> check_case(const Ladder& ladder, const Recipe& recipe,
                                             std::uint64_t seed) const;
  /// The first of the rungs at which the recipe replays; where none is, the last.
  [[nodiscard]] const CheckSpace& checked_at(const Ladder& ladder, const Recipe& recipe) const;
  [[nodiscard]] bool unproved_refuses(const CheckSpace& check, const Recipe& recipe) const;
  [[nodiscard]] bool applies(InputSet set, const EvaluationRequest& request) const;
  void vary_inputs(EvaluationRequest& request, Stage stage) const;
  void add_tiny_values(EvaluationRequest& request) const;
  [[nodiscard]] Result<std::size_t> add_checks(EvaluationRequest& request, const Recipe& recipe,
                                               std::uint64_t seed, Stage stage) const;
  void add_largest(EvaluationRequest& request, const Recipe& recipe) const;
  /// Which of a few contents of the buffers a quick stage's request has.
  [[nodiscard]] std::uint64_t quick_inputs(std::uint64_t seed) const;
  /// Of the buffers of the i-th check.
  [[nodiscard]] std::uint64_t check_seed(std::uint64_t seed, Stage stage, std::size_t i) const;
  [[nodiscard]] EvaluationRequest blank(std::uint64_t seed) const;

  Rewriting& rewriting_;
  const Task& task_;
  TargetLimits target_;
  std::shared_ptr<SpaceMemory> memory_ = std::make_shared<SpaceMemory>();
  RequestSecrets secrets_;
  double flops_ = 0;
  ConcreteProgram timed_reference_;
  std::unique_ptr<Space> timed_;
  std::vector<Ladder> checks_, hidden_;
  std::vector<Ladder> remainders_;    ///< of 64, one rung each; for what no rule vouches for
  std::size_t smallest_ = 0;          ///< of checks_
  std::vector<InputSet> input_sets_;  ///< that say something of this task
};

/// What a recipe's steps need, which their rules vouch for; with a step that a model or a person
/// wrote, all that the task allows.
[[nodiscard]] MathLevel claimed_math(const Recipe& recipe, const Task& task);

/// Gives the request inputs that nobody could have prepared for. What is modelled keeps its timed
/// inputs, so that a seed repeats the numbers of a run.
void keep_secret(EvaluationRequest& request, bool modelled);

/// `check` with each size raised to a multiple of the largest power of two, up to `most`, that
/// divides the timed size.
[[nodiscard]] Bindings aligned_sizes(const Bindings& check, const Bindings& timed,
                                     std::int64_t most = 64);

}  // namespace hone
