// Does the checker notice mistakes? 200 mutants of right programs go through the checks that a
// candidate passes. Every one must be caught, or be listed as equivalent with its proof.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <set>

#include "engine/results/text_diff.h"
#include "engine/rewriting/local_rewriting.h"
#include "engine/search/random.h"
#include "engine/search/requests/requests.h"
#include "evaluator/evaluator.h"
#include "rewriters/syntax/edit.h"
#include "rewriters/syntax/parse.h"
#include "tests/mutants/equivalents.h"
#include "tests/mutants/mutate.h"
#include "tests/mutants/programs.h"

namespace hone::mutants {
namespace {

constexpr std::size_t kMutants = 200;
constexpr std::uint64_t kSeed = 1;

std::uint64_t number_from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// Other mutants, for a person who looks for holes: then survivors are listed, and none is known.
std::uint64_t seed() {
  static const std::uint64_t value = number_from_environment("HONE_MUTANTS_SEED", kSeed);
  return value;
}

/// How many of the mutants are the task's.
std::size_t share(std::size_t task, std::size_t tasks) {
  return kMutants * (task + 1) / tasks - kMutants * task / tasks;
}

Evaluator& evaluator() {
  static std::unique_ptr<Evaluator> instance = [] {
    EvaluatorOptions options;
    options.runner_path = std::string(HONE_BIN_DIR) + "/hone-runner";
    options.compile_processes = options.check_processes = 1;
    options.check_timeout_s = 40;  // beside other tests attention takes more than 20
    auto opened = Evaluator::open(*DeviceSpec::parse("emu:sm_90"), options);
    if (!opened) throw std::runtime_error(opened.error().message);
    return std::move(*opened);
  }();
  return *instance;
}

struct Mutant {
  Operator op = Operator::kArithmetic;
  const RightProgram* original = nullptr;
  Program program;
  std::string description;
};

/// Draws mutants of one task: the operator drawn least so far, the programs in turns, any place.
class Drawer {
 public:
  Drawer(const std::vector<RightProgram>& programs, std::size_t first_operator, std::uint64_t seed)
      : first_operator_(first_operator), random_(seed) {
    for (const RightProgram& program : programs) {
      auto unit = syntax::parse(program.program);
      if (!unit) throw std::runtime_error(unit.error().message);
      seen_.insert(syntax::structural_hash(program.program));
      pools_.push_back({&program, *unit, mutations(**unit)});
    }
  }

  /// Empty when there are no more. One that Clang does not read, or that is the structure of one
  /// seen before, is passed over.
  std::optional<Mutant> draw() {
    for (const Operator op : least_used_first()) {
      for (std::size_t turn = 0; turn < pools_.size(); ++turn) {
        if (auto mutant = draw(pools_[(counted_ + turn) % pools_.size()], op)) return mutant;
      }
    }
    return std::nullopt;
  }

  /// The mutant drawn last was a program; without this call another of its kind is drawn.
  void count(Operator op) {
    ++used_[static_cast<std::size_t>(op)];
    ++counted_;
  }

 private:
  struct Pool {
    const RightProgram* original;
    std::shared_ptr<const syntax::TranslationUnit> unit;
    std::vector<Mutation> mutations;
  };

  [[nodiscard]] std::vector<Operator> least_used_first() const {
    std::vector<Operator> order;
    for (std::size_t i = 0; i < kOperators; ++i)
      order.push_back(static_cast<Operator>((first_operator_ + i) % kOperators));
    std::ranges::stable_sort(order, {},
                             [&](Operator op) { return used_[static_cast<std::size_t>(op)]; });
    return order;
  }

  std::optional<Mutant> draw(Pool& pool, Operator op) {
    while (true) {
      std::vector<std::size_t> places;
      for (std::size_t i = 0; i < pool.mutations.size(); ++i) {
        if (pool.mutations[i].op == op) places.push_back(i);
      }
      if (places.empty()) return std::nullopt;
      const std::size_t place = places[random_.index(places.size())];
      const Mutation mutation = pool.mutations[place];
      pool.mutations.erase(pool.mutations.begin() + static_cast<std::ptrdiff_t>(place));
      syntax::Edits edits(*pool.unit);
      edits.replace(mutation.range, mutation.text);
      auto source = edits.apply();
      if (!source) continue;
      Mutant mutant{op, pool.original, pool.original->program, description(*pool.unit, mutation)};
      mutant.program.source = std::move(*source);
      if (!syntax::parse(mutant.program)) continue;
      if (seen_.insert(syntax::structural_hash(mutant.program)).second) return mutant;
    }
  }

  std::size_t first_operator_;
  Random random_;
  std::vector<Pool> pools_;
  std::set<std::string> seen_;
  std::array<int, kOperators> used_{};
  std::size_t counted_ = 0;
};

/// Counts over all tasks that this process ran; printed when it ends.
class Table : public testing::Environment {
 public:
  void add(Operator op, const std::string& outcome) {
    ++counts_[op][outcome];
    ++counts_of_outcomes_[outcome];
  }
  void TearDown() override {
    if (counts_.empty()) return;
    std::string header = fmt::format("| {:<16} |", "operator");
    for (const auto& [outcome, count] : counts_of_outcomes_)
      header += fmt::format(" {} |", outcome);
    fmt::print("{}\n", header);
    for (const auto& [op, counts] : counts_) print(std::string(to_string(op)), counts);
    print("all", counts_of_outcomes_);
  }

 private:
  using Counts = std::map<std::string, int>;
  void print(const std::string& name, const Counts& counts) const {
    std::string line = fmt::format("| {:<16} |", name);
    for (const auto& [outcome, all] : counts_of_outcomes_) {
      const auto found = counts.find(outcome);
      line += fmt::format(" {:>{}} |", found == counts.end() ? 0 : found->second, outcome.size());
    }
    fmt::print("{}\n", line);
  }
  std::map<Operator, Counts> counts_;
  Counts counts_of_outcomes_;
};
Table* const table = dynamic_cast<Table*>(testing::AddGlobalTestEnvironment(new Table));

class Mutants : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    auto task = task_of(GetParam());
    ASSERT_TRUE(task) << task.error().message;
    task_ = std::move(*task);
    auto builder = RequestBuilder::make(rewriting_, task_, target_limits("sm_90"), {},
                                        {.sizes = seed(), .inputs = seed() + 1});
    ASSERT_TRUE(builder) << builder.error().message;
    builder_ = std::move(*builder);
    auto programs = right_programs(GetParam(), task_);
    ASSERT_TRUE(programs) << programs.error().message;
    programs_ = std::move(*programs);
  }

  /// As a candidate is checked: quickly, and then as one that is to stand on the board.
  Result<Evaluation> evaluate(const Program& program, Random& random) {
    Result<Evaluation> evaluation;
    for (const Stage stage : {Stage::kQuick, Stage::kFinal}) {
      const auto request = builder_->for_program(program, random.bits(), stage);
      if (!request) return std::unexpected(request.error());
      evaluation = evaluator().evaluate(*request);
      if (!evaluation || evaluation->verdict != Verdict::kOk) break;
    }
    return evaluation;
  }

  /// The proof that a survivor computes the same; empty when there is none.
  std::string_view proof(const Mutant& mutant) {
    for (const Equivalent& known : equivalents()) {
      if (known.task == GetParam() && known.program == mutant.original->name &&
          known.description == mutant.description)
        return known.proof;
    }
    return "";
  }

  Task task_;
  LocalRewriting rewriting_;
  std::unique_ptr<RequestBuilder> builder_;
  std::vector<RightProgram> programs_;
};

TEST_P(Mutants, AreCaughtOrEquivalent) {
  const std::vector<std::string> tasks = task_names();
  const auto index = static_cast<std::size_t>(std::ranges::find(tasks, GetParam()) - tasks.begin());
  const std::size_t wanted = share(index, tasks.size());
  Random random(seed() * 1000 + index), of_inputs(seed() * 1000 + index + 500);
  for (const RightProgram& right : programs_) {
    const auto evaluation = evaluate(right.program, of_inputs);
    ASSERT_TRUE(evaluation) << evaluation.error().message;
    ASSERT_EQ(to_string(evaluation->verdict), "ok") << right.name << ": " << evaluation->detail;
  }

  Drawer drawer(programs_, index * wanted, random.bits());
  std::set<std::string> survivors;
  for (std::size_t counted = 0; counted < wanted;) {
    const auto mutant = drawer.draw();
    ASSERT_TRUE(mutant) << "only " << counted << " mutants";
    const auto evaluation = evaluate(mutant->program, of_inputs);
    ASSERT_TRUE(evaluation) << evaluation.error().message;
    if (evaluation->verdict == Verdict::kCompileError) continue;
    drawer.count(mutant->op);
    ++counted;
    const std::string where = mutant->original->name + " " + mutant->description;
    if (evaluation->verdict != Verdict::kOk) {
      table->add(mutant->op, std::string(to_string(evaluation->verdict)));
      fmt::print("{}: {}, {}: {}: {}\n", GetParam(), where, to_string(mutant->op),
                 to_string(evaluation->verdict), evaluation->detail);
      continue;
    }
    survivors.insert(where);
    const std::string_view why = proof(*mutant);
    table->add(mutant->op, why.empty() ? "missed" : "equivalent");
    const std::string diff =
        unified_diff(mutant->original->program.source, mutant->program.source, "right", "mutant");
    fmt::print("{}: {}, {}: {}\n{}", GetParam(), where, to_string(mutant->op),
               why.empty() ? "NOT CAUGHT" : why, diff);
    EXPECT_FALSE(why.empty()) << "not caught, and not known to be equivalent: " << where << "\n"
                              << diff;
  }
  if (seed() != kSeed) return;
  for (const Equivalent& known : equivalents()) {
    if (known.task != GetParam()) continue;
    const std::string where = fmt::format("{} {}", known.program, known.description);
    EXPECT_TRUE(survivors.contains(where)) << "listed, but not among the survivors: " << where;
  }
}

INSTANTIATE_TEST_SUITE_P(Tasks, Mutants, testing::ValuesIn(task_names()),
                         [](const auto& info) { return info.param; });

TEST(MutantsOfAllTasks, AreTwoHundred) {
  const std::size_t tasks = task_names().size();
  std::size_t sum = 0;
  for (std::size_t i = 0; i < tasks; ++i) sum += share(i, tasks);
  EXPECT_EQ(sum, kMutants);
  EXPECT_GE(tasks, 16U);
}

}  // namespace
}  // namespace hone::mutants
