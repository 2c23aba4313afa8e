// Steps without effect leave a recipe, with an evaluator that knows what each is worth.
#include "engine/service/reduce_recipe.h"

#include <gtest/gtest.h>

#include <sstream>

#include "candidates/hash.h"
#include "candidates/task_reader.h"
#include "engine/rewriting/local_rewriting.h"
#include "engine/service/workers.h"
#include "rewriters/core/rewriter.h"

namespace hone {
namespace {

constexpr const char* kTask = R"CU(/* hone {
  "name": "rows", "sizes": {"M": 4096, "N": 256}, "check_sizes": [{"M": 3, "N": 40}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["M", "N"]},
              {"name": "y", "type": "f32", "shape": ["M"], "role": "out"}],
  "launches": [{"kernel": "rows", "grid": ["ceildiv(M,128)"], "block": [128],
                "args": ["x", "y", "M", "N"]}]
}
*/ __global__ void rows(const float* x, float* y, int M, int N) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < M) {
    float sum = 0.0f;
    for (int k = 0; k < N; ++k) sum += x[i * N + k];
    y[i] = sum;
  }
}
)CU";

/// A microsecond for each mark that is worth something and missing. What is worth nothing does not
/// change the machine code either, where `tells_code`.
class Worth final : public Evaluator {
 public:
  const DeviceInfo& info() const override { return info_; }
  Result<Evaluation> admit(const EvaluationRequest&) override { return Evaluation{}; }
  Result<Evaluation> evaluate(const EvaluationRequest& request) override {
    ++calls_;
    Evaluation evaluation;
    evaluation.verdict = Verdict::kOk;
    double time_us = 1000;
    std::string code = "code";
    for (const auto& [mark, worth] : worth_) {
      const bool there = request.timed.candidate.source.contains(mark);
      if (!there) time_us += worth;
      if (there && worth != 0) code += mark;
    }
    evaluation.measurement.time_us = time_us;
    if (tells_code_) evaluation.code_hash = content_hash(code);
    return evaluation;
  }
  Result<Ceilings> measure_ceilings() override { return Ceilings{}; }
  void use_ceilings(const Ceilings&) override {}
  void cancel() override {}
  void resume() override {}

  std::map<std::string, double> worth_;
  bool tells_code_ = false;
  std::atomic<int> calls_ = 0;

 private:
  DeviceInfo info_ = {"worth", "sm_90", "", "none", 132, 1LL << 36, 0, 0};
};

class ReduceRecipe : public testing::Test {
 protected:
  /// The first thing that this rewriter proposes after `recipe`, with its first values.
  Step propose(const Recipe& recipe, const std::string& rewriter) {
    const auto proposals = builder_->space().proposals(recipe);
    for (const Proposal& proposal : *proposals)
      if (proposal.rewriter == rewriter)
        return proposal.step(std::vector<std::size_t>(proposal.parameters.size()));
    ADD_FAILURE() << "nothing of " << rewriter;
    return {};
  }
  Recipe recipe_of(std::initializer_list<const char*> names) {
    Recipe recipe;
    for (const char* name : names) recipe.push_back(propose(recipe, name));
    return recipe;
  }
  Contender contender(const Recipe& recipe, double time_us) {
    const auto made = builder_->space().rewritten(recipe);
    EXPECT_TRUE(made) << made.error().message;
    Contender c;
    c.candidate.program_hash = made->hash;
    c.candidate.program = made->program;
    c.candidate.recipe = recipe;
    c.time_us = time_us;
    return c;
  }
  std::vector<CandidateRecord> reduced(const std::vector<Contender>& contenders, int wanted,
                                       const std::string& device = "emu:sm_90") {
    LocalTarget local(*DeviceSpec::parse(device), evaluator_, 2);
    const Target target = local.target();
    std::uint64_t next_id = 0;
    ReductionStage stage{target, *builder_, next_id, 7, target.device.modelled()};
    stage.given_up = [&] { return given_up_; };
    stage.report = [] {};
    stage.known = [&](const std::string& hash) -> std::optional<double> {
      const auto known = known_.find(hash);
      return known == known_.end() ? std::nullopt : std::optional(known->second);
    };
    stage.remake = [](const CandidateRecord& base, Recipe recipe, Rewritten made) {
      CandidateRecord candidate = base;
      candidate.recipe = std::move(recipe);
      candidate.program = std::move(made.program);
      candidate.program_hash = std::move(made.hash);
      return candidate;
    };
    return reduce_recipes(stage, contenders, wanted);
  }
  static std::string names(const CandidateRecord& candidate) {
    std::string text;
    for (const Step& step : candidate.recipe) text += (text.empty() ? "" : " ") + step.rewriter;
    return text;
  }

  Task task_ = *parse_task(kTask, "rows.cu");
  LocalRewriting rewriting_;
  std::unique_ptr<RequestBuilder> builder_ =
      *RequestBuilder::make(rewriting_, task_, target_limits("sm_90"), {}, {});
  Worth evaluator_;
  std::map<std::string, double> known_;
  bool given_up_ = false;
};

TEST_F(ReduceRecipe, AStepThatIsWorthNothingGoesAndTheOthersStay) {
  evaluator_.worth_ = {{"__restrict__", 10}, {"#pragma unroll", 0}};
  const auto left = reduced({contender(recipe_of({"unroll", "restrict-const"}), 1000)}, 5);
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(names(left[0]), "restrict-const");
  EXPECT_FALSE(left[0].program.source.contains("#pragma unroll"))
      << "the shorter program is ranked";
}

TEST_F(ReduceRecipe, AModelledStepStaysForAnyGain) {
  evaluator_.worth_ = {{"__restrict__", 10}, {"#pragma unroll", 0.001}};
  const auto left = reduced({contender(recipe_of({"unroll", "restrict-const"}), 1000)}, 5);
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(names(left[0]), "unroll restrict-const");
}

TEST_F(ReduceRecipe, AMeasuredStepMustWinMoreThanTheNoise) {
  evaluator_.worth_ = {{"__restrict__", 100}, {"#pragma unroll", 2}};
  const auto left =
      reduced({contender(recipe_of({"unroll", "restrict-const"}), 1000)}, 5, "cuda:0");
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(names(left[0]), "restrict-const");
}

TEST_F(ReduceRecipe, WhatBecomesOneProgramIsOneFinalistAndTheNextTakesItsPlace) {
  evaluator_.worth_ = {{"__restrict__", 10}, {"#pragma unroll", 0}, {"__launch_bounds__", 5}};
  const auto left = reduced({contender(recipe_of({"unroll", "restrict-const"}), 1005),
                             contender(recipe_of({"restrict-const"}), 1005),
                             contender(recipe_of({"launch-bounds", "unroll"}), 1010)},
                            2);
  ASSERT_EQ(left.size(), 2U);
  EXPECT_EQ(names(left[0]), "restrict-const");
  EXPECT_EQ(names(left[1]), "launch-bounds");
}

TEST_F(ReduceRecipe, TheSameMachineCodeIsTheSameProgramWhateverItsTime) {
  evaluator_.worth_ = {{"__restrict__", 10}, {"#pragma unroll", 0}};
  evaluator_.tells_code_ = true;
  const auto left = reduced({contender(recipe_of({"restrict-const", "unroll"}), 1000),
                             contender(recipe_of({"unroll", "restrict-const"}), 1000)},
                            5);
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(names(left[0]), "restrict-const");
}

TEST_F(ReduceRecipe, ALaterStepThatNeedsAnEarlierKeepsIt) {
  Recipe recipe = recipe_of({"coarsen-threads"});
  const auto before = builder_->space().proposals({}), after = builder_->space().proposals(recipe);
  for (const Proposal& proposal : *after) {
    const bool known = std::ranges::any_of(*before, [&](const Proposal& other) {
      return other.rewriter == proposal.rewriter && other.site == proposal.site;
    });
    if (proposal.rewriter != "unroll" || known) continue;
    recipe.push_back(proposal.step(std::vector<std::size_t>(proposal.parameters.size())));
    break;
  }
  ASSERT_EQ(recipe.size(), 2U) << "no loop of its own to unroll";
  // What the last step writes that was not there before is all that is worth something.
  const std::string before_it = contender({recipe[0]}, 0).candidate.program.source;
  std::istringstream lines(contender(recipe, 0).candidate.program.source);
  for (std::string line; std::getline(lines, line);)
    if (line.contains("#pragma unroll") && !before_it.contains(line + "\n"))
      evaluator_.worth_ = {{line + "\n", 10}};
  ASSERT_EQ(evaluator_.worth_.size(), 1U);
  const auto left = reduced({contender(recipe, 1000)}, 5);
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(names(left[0]), "coarsen-threads unroll");
}

TEST_F(ReduceRecipe, WhatTheSearchFoundMuchSlowerIsNotTriedAgain) {
  evaluator_.worth_ = {{"__restrict__", 100}, {"#pragma unroll", 100}};
  const Recipe recipe = recipe_of({"unroll", "restrict-const"});
  for (std::size_t i = 0; i < 2; ++i)
    known_[contender({recipe[i]}, 0).candidate.program_hash] = 1100;
  ASSERT_EQ(reduced({contender(recipe, 1000)}, 5).size(), 1U);
  EXPECT_EQ(evaluator_.calls_, 1) << "the whole recipe alone";
}

TEST_F(ReduceRecipe, WhoGivesUpGetsWhatIsThere) {
  given_up_ = true;
  const Recipe recipe = recipe_of({"unroll", "restrict-const"});
  const auto left = reduced({contender(recipe, 1000)}, 5);
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].recipe, recipe);
}

TEST(Contenders, EachMachineCodeOnceByItsShortestRecipe) {
  const auto made = [](char hash, double time_us, std::size_t steps, const std::string& code,
                       int registers = 32) {
    Contender c;
    c.candidate.program_hash = std::string(32, hash);
    c.candidate.recipe.resize(steps);
    c.time_us = time_us;
    c.code_hash = code;
    c.registers = registers;
    return c;
  };
  Contenders best;
  EXPECT_TRUE(best.add(made('a', 10, 3, "x")));
  EXPECT_FALSE(best.add(made('b', 10, 4, "x"))) << "the same with more steps";
  EXPECT_TRUE(best.add(made('c', 10, 1, "x")));
  EXPECT_FALSE(best.add(made('d', 10, 2, "y")));
  EXPECT_FALSE(best.add(made('e', 10, 1, "z", 40)));
  EXPECT_FALSE(best.add(made('f', 12, 0, "")));
  EXPECT_FALSE(best.add(made('g', 12, 0, ""))) << "of no known code: another program";
  std::string order;
  for (const Contender& c : best.ranked()) order += c.candidate.program_hash[0];
  EXPECT_EQ(order, "cedfg");
}

}  // namespace
}  // namespace hone
