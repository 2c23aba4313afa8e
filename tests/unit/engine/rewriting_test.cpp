// hone's own view of the rewriters: a child must answer as the rewriters in this process would.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "candidates/task_reader.h"
#include "engine/rewriting/local_rewriting.h"
#include "engine/rewriting/messages.h"
#include "engine/rewriting/remote_rewriting.h"
#include "engine/rewriting/watch.h"
#include "engine/search/strategy/moves.h"
#include "engine/search/strategy/space.h"
#include "rewriters/syntax/parse.h"

namespace hone {
namespace {

Task baseline(const std::string& name) {
  const auto task =
      read_task(std::string(HONE_SOURCE_DIR) + "/baselines/" + name + "/" + name + ".cu");
  if (!task) throw std::runtime_error(task.error().message);
  return *task;
}

std::vector<std::size_t> middle_of(const Proposal& proposal) {
  std::vector<std::size_t> choice;
  for (const Parameter& p : proposal.parameters) choice.push_back(p.domain.size() / 2);
  return choice;
}

std::string text(const std::vector<Proposal>& proposals) {
  return nlohmann::json(proposals).dump();
}

TEST(RemoteRewriting, AnswersAsALocalOne) {
  LocalRewriting local;
  RemoteRewriting remote;
  for (const char* name : {"matmul", "softmax"}) {
    const Task task = baseline(name);
    for (const Bindings& sizes : {task.sizes, task.check_sizes.front()}) {
      const RewriteContext context{&task, sizes, target_limits("sm_90")};
      const auto expected = local.proposals(context, task.reference);
      const auto proposals = remote.proposals(context, task.reference);
      ASSERT_TRUE(expected && proposals);
      ASSERT_FALSE(expected->empty());
      EXPECT_EQ(text(*expected), text(*proposals));
      for (const Proposal& proposal : *expected) {
        const Step step = proposal.step(middle_of(proposal));
        const auto one = local.apply(context, task.reference, step, true);
        const auto other = remote.apply(context, task.reference, step, true);
        ASSERT_EQ(one.has_value(), other.has_value()) << to_string(step);
        if (!one) {
          EXPECT_EQ(one.error().message, other.error().message);
          continue;
        }
        EXPECT_EQ(one->program, other->program) << to_string(step);
        EXPECT_EQ(one->hash, other->hash) << to_string(step);
        const auto next = local.proposals(context, one->program);
        const auto remote_next = remote.proposals(context, one->program);
        ASSERT_TRUE(next && remote_next);
        EXPECT_EQ(text(*next), text(*remote_next));
      }
    }
    const RewriteContext timed{&task, task.sizes, target_limits("sm_90")};
    const auto lift = local.lifted(timed, task.reference);
    const auto remote_lift = remote.lifted(timed, task.reference);
    ASSERT_TRUE(lift && remote_lift);
    EXPECT_EQ(lift->nests, remote_lift->nests);
    EXPECT_GT(lift->facts.at("operations"), 0);
    EXPECT_EQ(lift->facts, remote_lift->facts);
    EXPECT_EQ(lift->structure.size(), 32U);
    EXPECT_EQ(lift->structure, remote_lift->structure);
    EXPECT_EQ(*local.hash(task.reference, ""), *remote.hash(task.reference, ""));
    EXPECT_EQ(local.formatted(task.reference.source), remote.formatted(task.reference.source));
    EXPECT_TRUE(remote.validate(task.reference, "task.cu"));
    Program wrong = task.reference;
    wrong.launches[0].kernel = "nothing";
    const auto one = local.validate(wrong, "task.cu");
    const auto other = remote.validate(wrong, "task.cu");
    ASSERT_FALSE(one || other);
    EXPECT_EQ(one.error().code, other.error().code);
    EXPECT_EQ(one.error().message, other.error().message);
  }
}

TEST(RemoteRewriting, InitAnswersAsALocalOne) {
  LocalRewriting local;
  RemoteRewriting remote;
  const std::string good = "__global__ void k(float* y, const float* x, int n) { y[0] = x[n]; }\n";
  const auto one = local.init({good, "folder/kernel.cu", {}, ""});
  const auto other = remote.init({good, "folder/kernel.cu", {}, ""});
  ASSERT_TRUE(one && other);
  EXPECT_EQ(one->source, other->source);
  ASSERT_EQ(one->attempts.size(), other->attempts.size());
  for (std::size_t i = 0; i < one->attempts.size(); ++i) {
    EXPECT_EQ(one->attempts[i].task.dump(), other->attempts[i].task.dump());
    EXPECT_EQ(one->attempts[i].notes, other->attempts[i].notes);
  }
  EXPECT_EQ(other->attempts.front().task["name"], "kernel");
  const auto bad = remote.init({"__global__ void k(\n", "folder/kernel.cu", {}, ""});
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message,
            local.init({"__global__ void k(\n", "folder/kernel.cu", {}, ""}).error().message);
}

TEST(RemoteRewriting, WithoutAProgramThereIsAnEnvironmentError) {
  RemoteRewritingOptions options;
  options.program = "/nowhere/hone";
  RemoteRewriting remote(options);
  const auto hash = remote.hash(baseline("softmax").reference, "task.cu");
  ASSERT_FALSE(hash);
  EXPECT_EQ(hash.error().code, ErrorCode::kEnvironment);
  EXPECT_EQ(remote.formatted("int   x;"), "int   x;");
}

TEST(RemoteRewriting, ASlowRequestTimesOutOrIsCancelledSoon) {
  const std::string slow =
      "template <int A, int B, int C> struct T { static constexpr unsigned v = T<A - 1, B, C>::v + "
      "T<A, B - 1, C>::v + T<A, B, C - 1>::v; };\n"
      "template <int B, int C> struct T<0, B, C> { static constexpr unsigned v = 1; };\n"
      "template <int A, int C> struct T<A, 0, C> { static constexpr unsigned v = 1; };\n"
      "template <int A, int B> struct T<A, B, 0> { static constexpr unsigned v = 1; };\n"
      "__global__ void k(float* y) { y[0] = T<300, 300, 300>::v; }\n";
  RemoteRewritingOptions options;
  options.timeout_s = 1;
  RemoteRewriting remote(options);
  const auto late = remote.init({slow, "slow.cu", {}, ""});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().message,
            "slow.cu: this source cannot be read: parsing it takes more than 1 s");

  RemoteRewriting patient;
  const auto begin = std::chrono::steady_clock::now();
  {
    const RewritingWatch watch(patient, nullptr, 1);
    const auto cancelled = patient.init({slow, "slow.cu", {}, ""});
    ASSERT_FALSE(cancelled);
    EXPECT_FALSE(is_lasting(cancelled.error()));
    EXPECT_TRUE(watch.fired());
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  EXPECT_TRUE(patient.init({"__global__ void k(float* y) { y[0] = 1; }\n", "good.cu", {}, ""}));
}

/// Answers with large programs, or not at all.
class FakeRewriting final : public Rewriting {
 public:
  Result<Rewritten> apply(const RewriteContext&, const Program& program, const Step& step,
                          bool) override {
    ++calls;
    if (cancelled) return fail(ErrorCode::kInfrastructure, "cancelled");
    Rewritten rewritten{program, std::string(32, 'a')};
    rewritten.program.source = std::string(16U << 20, step.site.empty() ? ' ' : step.site[0]);
    return rewritten;
  }
  Result<std::vector<Proposal>> proposals(const RewriteContext&, const Program&) override {
    if (cancelled) return fail(ErrorCode::kInfrastructure, "cancelled");
    Proposal proposal{"fake", 1, "a", {{"x", {std::int64_t{1}}}}, MathLevel::kExact, ""};
    Proposal empty = proposal;
    empty.parameters[0].domain.clear();
    Proposal loose = proposal;
    loose.math = MathLevel::kReduced;
    return std::vector<Proposal>{proposal, empty, loose};
  }
  Result<schedules::Explanation> lifted(const RewriteContext&, const Program&) override {
    return schedules::Explanation{};
  }
  Result<NestOutputs> executed(const RewriteContext&, const Program&, std::uint64_t,
                               const std::stop_token&) override {
    return NestOutputs{};
  }
  Result<void> validate(const Program&, const std::string&) override { return {}; }
  Result<std::string> hash(const Program&, const std::string&) override { return "a"; }
  std::string formatted(const std::string& source) override { return source; }
  Result<InitResult> init(const InitRequest&) override { return InitResult{}; }
  void cancel() override { cancelled = true; }
  void resume() override { cancelled = false; }
  int calls = 0;
  bool cancelled = false;
};

TEST(Space, ForgetsOldProgramsAndKeepsNoCancelledAnswers) {
  const Task task = baseline("softmax");
  FakeRewriting rewriting;
  const auto memory = std::make_shared<SpaceMemory>();
  Space space(rewriting, {&task, task.sizes, target_limits("sm_90")}, {.memory = memory});
  for (int i = 0; i < 40; ++i) {
    Step step;
    step.site = std::to_string(i);
    EXPECT_TRUE(space.program({step}));
    EXPECT_LE(memory->bytes, SpaceMemory::kLimit);
  }
  EXPECT_GT(memory->bytes, SpaceMemory::kLimit / 2);
  EXPECT_EQ(rewriting.calls, 40);
  Step step;
  step.site = "new";
  rewriting.cancel();
  EXPECT_FALSE(space.program({step}));
  EXPECT_TRUE(space.proposals({})->empty());
  rewriting.resume();
  EXPECT_TRUE(space.program({step}));
  ASSERT_EQ(space.proposals({})->size(), 1U);  // not those without a choice, or too loose
  EXPECT_EQ(rewriting.calls, 42);
  EXPECT_TRUE(space.program({step}));
  EXPECT_EQ(rewriting.calls, 42);
}

/// A program has the sites of its steps, in the order of the alphabet, behind the task's source.
class SortingRewriting final : public Rewriting {
 public:
  Result<Rewritten> apply(const RewriteContext& context, const Program& program, const Step& step,
                          bool) override {
    ++applied;
    if (step.site == "z") return refused("no such site");
    const std::size_t own = context.task->reference.source.size();
    std::string sites = program.source.substr(own) + step.site;
    std::ranges::sort(sites);
    Rewritten made{program, sites};
    made.program.source = program.source.substr(0, own) + sites;
    return made;
  }
  Result<std::vector<Proposal>> proposals(const RewriteContext&, const Program&) override {
    ++asked;
    return std::vector<Proposal>{{"fake", 1, "a", {{"x", {std::int64_t{1}}}}, MathLevel::kExact}};
  }
  Result<schedules::Explanation> lifted(const RewriteContext&, const Program&) override {
    return schedules::Explanation{};
  }
  Result<NestOutputs> executed(const RewriteContext&, const Program&, std::uint64_t,
                               const std::stop_token&) override {
    return NestOutputs{};
  }
  Result<void> validate(const Program&, const std::string&) override { return {}; }
  Result<std::string> hash(const Program&, const std::string&) override { return ""; }
  std::string formatted(const std::string& source) override { return source; }
  Result<InitResult> init(const InitRequest&) override { return InitResult{}; }
  void cancel() override {}
  void resume() override {}
  int applied = 0, asked = 0;
};

Recipe recipe_of(const std::string& sites) {
  Recipe recipe;
  for (const char site : sites) {
    recipe.emplace_back().rewriter = "fake";
    recipe.back().site = std::string(1, site);
  }
  return recipe;
}

/// An admission that finds the lift to be wrong leaves the generators out, whose steps may have
/// been asked for meanwhile.
TEST(Space, WhoIsDisabledProposesNothingFromThenOn) {
  const Task task = baseline("softmax");
  LocalRewriting rewriting;
  Space space(rewriting, {&task, task.sizes, target_limits("sm_90")});
  const auto count = [&](const std::string& rewriter, const Recipe& recipe) {
    return std::ranges::count(*space.proposals(recipe), rewriter, &Proposal::rewriter);
  };
  Recipe one;
  for (const Proposal& proposal : *space.proposals({}))
    if (one.empty() && count("generate-rowwise", {proposal.step(middle_of(proposal))}) > 0)
      one = {proposal.step(middle_of(proposal))};
  const auto others = static_cast<std::ptrdiff_t>(space.proposals({})->size());
  const auto of_them = count("generate-rowwise", {});
  ASSERT_GT(of_them, 0);
  ASSERT_GT(count("generate-rowwise", one), 0);
  space.disable("generate-rowwise");
  EXPECT_EQ(count("generate-rowwise", {}), 0);
  EXPECT_EQ(count("generate-rowwise", one), 0);
  EXPECT_EQ(static_cast<std::ptrdiff_t>(space.proposals({})->size()), others - of_them);
}

TEST(Space, RecipesThatMeetInOneProgramShareWhatFollows) {
  const Task task = baseline("softmax");
  SortingRewriting rewriting;
  Space space(rewriting, {&task, task.sizes, target_limits("sm_90")}, {.hashes = true});
  const auto first = space.rewritten(recipe_of("abcd"));
  ASSERT_TRUE(first);
  EXPECT_EQ(rewriting.applied, 4);
  const auto proposals = space.proposals(recipe_of("ab"));
  // b, and a after it: there it meets the first recipe.
  const auto second = space.rewritten(recipe_of("bacd"));
  ASSERT_TRUE(second);
  EXPECT_EQ(rewriting.applied, 6);
  EXPECT_EQ(second->hash, "abcd");
  EXPECT_EQ(second->program, first->program);
  EXPECT_EQ(space.proposals(recipe_of("ba")), proposals);
  EXPECT_EQ(rewriting.asked, 1);
  // A refusal is remembered, also on the other way to it.
  const auto refused = space.rewritten(recipe_of("abz"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "fake(z): no such site");
  EXPECT_EQ(rewriting.applied, 7);
  EXPECT_FALSE(space.replays(recipe_of("bazd")));
  EXPECT_EQ(rewriting.applied, 7);
}

TEST(LocalRewriting, ParsesAResultOnlyForItsHash) {
  const Task task = baseline("softmax");
  LocalRewriting rewriting;
  RewriteContext context{&task, task.sizes, target_limits("sm_90")};
  const auto offered = rewriting.proposals(context, task.reference);
  ASSERT_TRUE(offered);
  const auto bounds = std::ranges::find(*offered, "launch-bounds", &Proposal::rewriter);
  ASSERT_NE(bounds, offered->end());
  const Step step = bounds->step(middle_of(*bounds));
  context.sizes = task.check_sizes.front();
  syntax::forget_parsed();
  ASSERT_TRUE(rewriting.hash(task.reference, ""));
  const std::size_t before = syntax::parse_count();
  ASSERT_TRUE(rewriting.apply(context, task.reference, step, /*with_hash=*/false));
  EXPECT_EQ(syntax::parse_count(), before);  // the reference is parsed already
  ASSERT_TRUE(rewriting.apply(context, task.reference, step, /*with_hash=*/true));
  EXPECT_EQ(syntax::parse_count(), before + 1);
}

TEST(Space, AnswersSeveralThreadsAsItAnswersOne) {
  const Task task = baseline("matmul");
  LocalRewriting rewriting;
  const RewriteContext context{&task, task.sizes, target_limits("sm_90")};
  Space one(rewriting, context, {.hashes = true}), shared(rewriting, context, {.hashes = true});
  std::vector<Recipe> recipes;
  Random random(5);
  const auto roots = one.proposals({});
  for (int i = 0; i < 24; ++i) {
    Recipe recipe = {random_step((*roots)[random.index(roots->size())], random)};
    if (const auto more = one.proposals(recipe); !more->empty())
      recipe.push_back(random_step((*more)[random.index(more->size())], random));
    recipes.push_back(std::move(recipe));
  }
  std::vector<std::jthread> threads;
  std::atomic<int> different = 0;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (std::size_t i = 0; i < recipes.size(); ++i) {
        const Recipe& recipe = recipes[(i + 6 * static_cast<std::size_t>(thread)) % recipes.size()];
        const auto here = shared.rewritten(recipe);
        static std::mutex mutex;
        const std::lock_guard lock(mutex);
        const auto there = one.rewritten(recipe);
        if (here.has_value() != there.has_value() ||
            (here && (here->hash != there->hash || !(here->program == there->program))))
          ++different;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(different, 0);
}

TEST(RewritingMessages, WhatIsNoAnswerIsAnError) {
  using nlohmann::json;
  const auto proposals = [](const char* parameters, const char* starts, const char* math) {
    return fmt::format(R"([{{"rewriter":"a","version":1,"site":"s","parameters":{},"starts":{},
                             "math":"{}","description":""}}])",
                       parameters, starts, math);
  };
  const char* const two = R"([{"name":"x","domain":[1,2]},{"name":"y","domain":["a"]}])";
  EXPECT_TRUE(proposals_from_json(json::parse(proposals(two, "[[1,0],[0,0]]", "exact"))));
  for (const std::string& bad :
       {std::string("1"), std::string("{}"), std::string("[1]"), std::string("[{}]"),
        proposals(R"([{"name":"x"}])", "[]", "exact"), proposals("[]", "[]", "wild"),
        proposals(R"([{"name":"x","domain":[1.5]}])", "[]", "exact"),
        proposals(two, "[0]", "exact"), proposals(two, "[[0]]", "exact"),
        proposals(two, "[[0,1]]", "exact"), proposals(two, "[[0,0,0]]", "exact")}) {
    EXPECT_FALSE(proposals_from_json(json::parse(bad))) << bad;
  }
  EXPECT_FALSE(rewriting::hash_from({{"hash", "abc"}}));
  EXPECT_FALSE(rewriting::hash_from({{"hash", std::string(32, 'X')}}));
  EXPECT_TRUE(rewriting::hash_from({{"hash", std::string(32, 'f')}}));
  EXPECT_FALSE(rewriting::init_result_from({{"task", "[]"}, {"notes", json::array()}}));
  EXPECT_FALSE(rewriting::init_result_from({{"task", "{}"}, {"notes", {1}}}));
  json lift = {{"nests", ""}, {"refusals", json::array()}, {"sites", ""}, {"structure", ""}};
  EXPECT_TRUE(rewriting::explanation_from(lift));
  lift["facts"] = {{"points", "many"}};
  EXPECT_FALSE(rewriting::explanation_from(lift));
  lift["facts"] = json::array({1});
  EXPECT_FALSE(rewriting::explanation_from(lift));
  EXPECT_FALSE(rewriting::target_from(json::object()));
  EXPECT_FALSE(rewriting::sizes_from({{"N", "x"}}));
  EXPECT_TRUE(rewriting::failure_of(json(1)));
  EXPECT_EQ(rewriting::failure_of({{"refused", 3}})->message, "unreadable error");
  EXPECT_FALSE(rewriting::failure_of(json::object()));
}

}  // namespace
}  // namespace hone
