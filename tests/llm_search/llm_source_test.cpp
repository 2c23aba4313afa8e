// When a model is asked, what it is shown, and what becomes of its replies: without a search.
#include "engine/llm/llm_source.h"

#include <gtest/gtest.h>

#include <fstream>
#include <mutex>
#include <sstream>

#include "candidates/task_reader.h"
#include "engine/rewriting/local_rewriting.h"
#include "rewriters/llm/model_steps.h"
#include "tests/unit/llm/scripted_server.h"

namespace hone::llm {
namespace {

using hone::testing::HeardRequest;
using hone::testing::http_reply;
using hone::testing::plain_reply;
using hone::testing::ScriptedServer;

const std::string kTasks = std::string(HONE_SOURCE_DIR) + "/tests/llm_search/tasks/";

std::string trick() {
  std::ifstream in(kTasks + "popcount.reply.md");
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

const std::string kEdit =
    "<<<<<<< SEARCH\n    if ((v >> bit) & 1u) count++;\n=======\n    count += (v >> bit) & 1u;\n"
    ">>>>>>> REPLACE\n";

class ModelSourceTest : public ::testing::Test {
 protected:
  ModelSourceTest() : task_(*read_task(kTasks + "popcount.cu")) {
    options_.in_order = true;
    settings_.model = "scripted";
    settings_.retries = 0;
    settings_.stream = false;
  }

  void answer(std::function<std::string(int)> answers) {
    server_ = std::make_unique<ScriptedServer>(
        ScriptedServer::answering([this, answers](const HeardRequest& request, int number) {
          const std::lock_guard lock(mutex_);
          const auto body = nlohmann::json::parse(request.body);
          heard_.push_back(body["messages"].back()["content"]);
          return answers(number);
        }));
    settings_.url = server_->url();
  }

  RewriteContext context(const Bindings& sizes) const {
    return {.task = &task_, .sizes = sizes, .target = target_limits("sm_90")};
  }

  LlmSource& source() {
    if (source_) return *source_;
    space_ = std::make_unique<Space>(rewriting_, context(task_.sizes));
    meter_ = std::make_unique<llm::Meter>(settings_, ledger_);
    client_ = std::move(*llm::Client::make(settings_, {}, *meter_));
    Tried reference;
    reference.time_us = 100;
    reference.speedup = 1;
    source_ = std::make_unique<LlmSource>(task_, *space_, *client_, *meter_, options_, "sm_90",
                                          "emu:sm_90", reference);
    return *source_;
  }

  std::size_t asked() {
    const std::lock_guard lock(mutex_);
    return heard_.size();
  }

  /// Asks until a question is sent, or for long.
  void ask() {
    const auto before = asked();
    for (int i = 0; i < 50 && asked() == before; ++i) source().go_on(0.9);
  }

  std::string outcome() {
    const auto replies = source().take_replies();
    return replies.empty() ? "" : replies.back().outcome;
  }

  static Evaluation right(double time_us) {
    Evaluation evaluation;
    evaluation.verdict = Verdict::kOk;
    evaluation.measurement.time_us = time_us;
    evaluation.measurement.speedup = 100 / time_us;
    return evaluation;
  }
  static Evaluation wrong(const std::string& detail) {
    Evaluation evaluation;
    evaluation.verdict = Verdict::kWrongResult;
    evaluation.detail = detail;
    return evaluation;
  }
  /// The first step that a rewriter proposes for the reference.
  Recipe rule(const std::string& name) {
    (void)source();
    for (const Proposal& proposal : *space_->proposals({})) {
      if (proposal.rewriter != name) continue;
      return {proposal.step(std::vector<std::size_t>(proposal.parameters.size(), 0))};
    }
    ADD_FAILURE() << name << " proposes nothing";
    return {};
  }

  Task task_;
  LocalRewriting rewriting_;
  SourceOptions options_;
  llm::Settings settings_;
  llm::Ledger ledger_;
  bool full_ = false;
  std::mutex mutex_;
  std::vector<std::string> heard_;  ///< last messages
  std::unique_ptr<ScriptedServer> server_;
  std::unique_ptr<Space> space_;
  std::unique_ptr<llm::Meter> meter_;
  std::unique_ptr<llm::Client> client_;
  std::unique_ptr<LlmSource> source_;
};

TEST_F(ModelSourceTest, AWholeReplyIsARecipeOfOneStep) {
  options_.modes = {llm::Mode::kWhole};
  answer([](int) { return plain_reply(trick()); });
  ask();
  const auto recipe = source().next();
  ASSERT_TRUE(recipe);
  ASSERT_EQ(recipe->size(), 1U);
  EXPECT_EQ(recipe->front().rewriter, kModelCode);
  const auto replies = source().take_replies();
  ASSERT_EQ(replies.size(), 1U);
  EXPECT_EQ(replies[0].outcome, "program");
  EXPECT_EQ(source().replies_of(*recipe), std::vector{replies[0].id});
  EXPECT_FALSE(source().next());
}

// The model sees the best program there is, made by whomever, and edits that one; the edits are
// made again on what the rules give at other sizes.
TEST_F(ModelSourceTest, EditsFollowTheBestRecipe) {
  options_.modes = {llm::Mode::kDiff};
  answer([](int) { return plain_reply(kEdit); });
  const Recipe best = rule("restrict-const");
  source().learn(best, right(50));
  ask();
  EXPECT_NE(heard_[0].find("__restrict__"), std::string::npos) << heard_[0];
  const auto recipe = source().next();
  ASSERT_TRUE(recipe) << outcome();
  ASSERT_EQ(recipe->size(), 2U);
  EXPECT_EQ(recipe->front(), best.front());
  EXPECT_EQ(recipe->back().rewriter, kModelEdit);
  for (const Bindings& sizes : {task_.sizes, task_.check_sizes.at(1)}) {
    Space space(rewriting_, context(sizes));
    const auto program = space.program(*recipe);
    ASSERT_TRUE(program) << program.error().message;
    EXPECT_NE(program->source.find("count += (v >> bit) & 1u;"), std::string::npos);
    EXPECT_NE(program->source.find("__restrict__"), std::string::npos);
  }
  // Rules may follow, and other rules may come before.
  source().learn(*recipe, right(20));
  EXPECT_FALSE(space_->proposals(*recipe)->empty());
  EXPECT_TRUE(space_->replays({recipe->back()}));
  EXPECT_EQ(source().replies_of(*recipe).size(), 1U);
}

TEST_F(ModelSourceTest, StepsFollowTheBestRecipe) {
  options_.modes = {llm::Mode::kSteps};
  const Recipe unroll = rule("launch-shape");
  nlohmann::json values = nlohmann::json::object();
  for (const auto& [name, value] : unroll[0].params)
    std::visit([&, &key = name](const auto& held) { values[key] = held; }, value);
  const nlohmann::json reply = {
      {"reason", "x"},
      {"steps", {{{"rewriter", "launch-shape"}, {"site", unroll[0].site}, {"values", values}}}}};
  source_.reset();
  answer([&](int) { return plain_reply(reply.dump()); });
  ask();
  const auto recipe = source().next();
  ASSERT_TRUE(recipe) << outcome();
  EXPECT_EQ(*recipe, unroll);
  EXPECT_EQ(source().replies_of(*recipe).size(), 1U) << "no step names it";
}

TEST_F(ModelSourceTest, ARefusedReplyIsShownBackAsOneAndABoundedNumberOfTimes) {
  options_.modes = {llm::Mode::kWhole};
  options_.repair_turns = 2;
  answer([](int) { return plain_reply("I would rather write a poem."); });
  for (int i = 0; i < 4; ++i) ask();
  ASSERT_EQ(heard_.size(), 4U);
  for (const int turn : {1, 2}) {
    const std::string& prompt = heard_[static_cast<std::size_t>(turn)];
    EXPECT_NE(prompt.find("This is repair turn " + std::to_string(turn)), prompt.npos);
    const auto block = prompt.find(" your reply]]\nI would rather");
    EXPECT_NE(block, prompt.npos) << prompt;
    EXPECT_NE(prompt.find("no block of code"), prompt.npos);
  }
  for (const int turn : {0, 3})
    EXPECT_EQ(heard_[static_cast<std::size_t>(turn)].find("repair turn"), std::string::npos);
  EXPECT_FALSE(source().next());
}

TEST_F(ModelSourceTest, AProgramThatFailedIsShownWithItsReason) {
  options_.modes = {llm::Mode::kWhole};
  answer([](int) { return plain_reply(trick()); });
  ask();
  const auto recipe = source().next();
  ASSERT_TRUE(recipe);
  source().learn(*recipe, wrong("y[17] is 3 and must be 4"));
  ask();
  const std::string& prompt = heard_.at(1);
  EXPECT_NE(prompt.find("repair turn 1. Failed: wrong_result."), prompt.npos) << prompt;
  EXPECT_NE(prompt.find("y[17] is 3 and must be 4"), prompt.npos);
  EXPECT_NE(prompt.find("__popc"), prompt.npos);
}

// Contrast: one that failed and some of spread speed, with what was found of each.
TEST_F(ModelSourceTest, ExamplesHaveVerdictsAndTimes) {
  options_.modes = {llm::Mode::kWhole};
  answer([](int) { return plain_reply(trick()); });
  source().learn(rule("restrict-const"), right(50));
  source().learn(rule("launch-shape"), right(25));
  source().learn(rule("unroll"), wrong("all of it"));
  ask();
  const std::string& prompt = heard_.at(0);
  const auto best = prompt.find("# The best program so far"), others = prompt.find("# Other");
  ASSERT_NE(others, prompt.npos);
  EXPECT_NE(prompt.substr(best, others - best).find("Right: 25 us"), prompt.npos) << prompt;
  const std::string rest = prompt.substr(others);
  EXPECT_NE(rest.find("Failed: wrong_result."), rest.npos) << rest;
  EXPECT_NE(rest.find("all of it"), rest.npos);
  EXPECT_NE(rest.find("Right: 50 us (measured), 2.00 times"), rest.npos);
  EXPECT_NE(rest.find("Right: 100 us"), rest.npos);
}

TEST_F(ModelSourceTest, ASmallBudgetMakesPromptsShorter) {
  options_.modes = {llm::Mode::kWhole};
  settings_.max_output_tokens = 1024;
  settings_.least_output_tokens = 64;
  settings_.token_budget = 14'000;
  answer([](int) { return plain_reply(trick(), 3000, 500); });
  source().learn(rule("restrict-const"), right(50));
  source().learn(rule("launch-shape"), right(25));
  for (int i = 0; i < 6; ++i) ask();
  ASSERT_GE(heard_.size(), 2U);
  EXPECT_NE(heard_.front().find("# Other programs"), std::string::npos);
  EXPECT_EQ(heard_.back().find("# Other programs"), std::string::npos);
  const auto totals = meter_->totals();
  EXPECT_LE(totals.input_tokens + totals.output_tokens, 14'000);
  for (const std::string& warning : source().take_warnings())
    EXPECT_EQ(warning.find("goes on with rules"), warning.npos) << "a spent budget is no trouble";
}

TEST_F(ModelSourceTest, ItIsAskedByItsShareAndNotFarAhead) {
  options_.modes = {llm::Mode::kWhole};
  answer([](int) { return plain_reply(trick()); });
  for (int i = 0; i < 40; ++i) source().go_on(0.1);
  EXPECT_EQ(asked(), 2U);
  for (int i = 0; i < 400; ++i) source().go_on(0.9);
  EXPECT_EQ(asked(), 8U) << "nobody takes what is there";
  ASSERT_TRUE(source().next());
  for (int i = 0; i < 10; ++i) source().go_on(0.9);
  EXPECT_EQ(asked(), 9U);
}

TEST_F(ModelSourceTest, MoneyIsPacedByTheTime) {
  options_.modes = {llm::Mode::kWhole};
  options_.in_order = false;
  options_.elapsed = [] { return 0.0; };
  settings_.token_budget = 400'000;
  answer([](int) { return plain_reply(trick(), 41'000, 1'000); });
  for (int i = 0; i < 200; ++i) {
    source().go_on(0.5);
    (void)source().next();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_GE(asked(), 1U);
  EXPECT_LE(asked(), 1U + static_cast<std::size_t>(settings_.concurrency));
}

TEST_F(ModelSourceTest, AllFailuresAreOneWarning) {
  answer([](int number) {
    return number < 3 ? http_reply(500, "text/plain", "out of order")
                      : http_reply(401, "text/plain", "who are you?");
  });
  std::string warnings;
  for (int i = 0; i < 4; ++i) {
    ask();
    for (const std::string& warning : source().take_warnings()) warnings += warning + "\n";
  }
  EXPECT_EQ(std::ranges::count(warnings, '\n'), 1) << warnings;
  EXPECT_EQ(server_->connections(), 3) << "what is wrong for good is not asked again";
}

// A disk that is full for a moment ends nothing for good, and is said.
TEST_F(ModelSourceTest, ALedgerThatCannotBeWrittenIsAWarning) {
  settings_.token_budget = 1'000'000;
  options_.modes = {llm::Mode::kWhole};
  ledger_.write = [this](const llm::Spent&) -> Result<void> {
    if (!heard_.empty() && full_) return fail(ErrorCode::kIo, "no space left");
    return {};
  };
  answer([](int) { return plain_reply(trick()); });
  ask();
  full_ = true;
  for (int i = 0; i < 20; ++i) source().go_on(0.9);
  const auto warnings = source().take_warnings();
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].find("no space left"), std::string::npos) << warnings[0];
  full_ = false;
  ask();
  EXPECT_EQ(asked(), 2U) << "it goes on when it can";
}

TEST_F(ModelSourceTest, WhatWasNeverSentIsNotCounted) {
  settings_.token_budget = 10;
  answer([](int) { return plain_reply(trick()); });
  for (int i = 0; i < 50; ++i) source().go_on(0.9);
  EXPECT_EQ(asked(), 0U);
  EXPECT_TRUE(source().take_replies().empty());
  const auto warnings = source().take_warnings();
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].find("token budget"), std::string::npos) << warnings[0];
}

// Two searches of a job have one meter, and each hears what its own questions cost.
TEST_F(ModelSourceTest, WhatOthersSpendIsNotItsOwn) {
  settings_.token_budget = 100'000;
  answer([](int) { return plain_reply(trick(), 3000, 1000); });
  EXPECT_EQ(source().spent(), 0);
  ask();
  EXPECT_DOUBLE_EQ(source().spent(), 0.04);
  meter_->reserve({.input_tokens = 20'000, .output_tokens = 10'000})->settle({20'000, 10'000});
  EXPECT_DOUBLE_EQ(meter_->share_spent(), 0.34);
  EXPECT_DOUBLE_EQ(source().spent(), 0.04);
}

}  // namespace
}  // namespace hone::llm
