// A language model for submitted jobs: who gets how much of it, over searches, jobs, coordinators
// and their ends. The model is a scripted server, the evaluator one that answers at once.
#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <mutex>
#include <set>

#include "engine/llm/access.h"
#include "tests/service/coordinator_fixture.h"
#include "tests/unit/llm/scripted_server.h"

namespace hone {
namespace {

using std::chrono::milliseconds;
using test::CoordinatorTest;
using test::FakeEvaluator;
using testing::HeardRequest;
using testing::ScriptedServer;
using testing::ServerPeer;

/// False: it did not come true in time.
template <class Predicate>
[[nodiscard]] bool wait_until(const Predicate& is_true, double seconds = 60) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (!is_true()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return true;
}

constexpr int kInput = 4000, kOutput = 500;  // tokens that the server states for each reply

/// A right program for the task, another one for each number.
std::string program(int number) {
  const std::string n = std::to_string(number);
  return "```cuda\n__global__ void scale(const float* x, float* y, int N) {\n"
         "  int i = blockIdx.x * 256 + threadIdx.x;\n  if (i < N) y[i] = 2.0f * x[i] + " +
         n +
         ".0f * 0.0f;\n}\n```\n```json\n{\"launches\": [{\"kernel\": \"scale\", \"grid\": "
         "[\"ceildiv(N,256)\"], \"block\": [256], \"args\": [\"x\", \"y\", \"N\"]}]}\n```\n";
}

class ModelJobs : public CoordinatorTest {
 protected:
  /// Of a coordinator that was given the server.
  std::unique_ptr<llm::Access> access(const ScriptedServer& server, std::int64_t tokens,
                                      int concurrency = 2, bool prices = true,
                                      const std::string& record = "") {
    llm::AccessOptions options;
    options.settings.url = server.url();
    options.settings.model = "scripted";
    options.settings.token_budget = tokens;
    options.settings.concurrency = concurrency;
    options.settings.max_output_tokens = 2000;
    options.settings.retries = 0;
    options.modes = {llm::Mode::kWhole};
    options.record = record;
    if (prices) options.settings.prices = llm::Prices{1'000'000'000, 2'000'000'000};
    auto opened = llm::open_access(options);
    EXPECT_TRUE(opened) << opened.error().message;
    return std::move(*opened);
  }
  /// Says a program, and what that took.
  ScriptedServer::Script programs() {
    return ScriptedServer::answering([this](const HeardRequest&, int number) {
      ++stated_;
      return testing::stream_reply(program(number), kInput, kOutput);
    });
  }
  [[nodiscard]] std::int64_t stated_tokens() const { return stated_ * (kInput + kOutput); }

  queue::JobMessage job_with_model(const std::string& id, std::optional<std::int64_t> tokens = {}) {
    queue::JobMessage message = job(id);
    message.model = queue::ModelWish{.tokens = tokens, .nano_dollars = {}, .modes = {}};
    message.search.budget.evaluations = 60;
    return message;
  }
  std::int64_t spent(const std::string& id) {
    const auto spending = store_->spending(id);
    EXPECT_TRUE(spending);
    return spending ? spending->tokens : -1;
  }
  int logged_lines(const std::string& text) {
    const std::lock_guard lock(mutex_);
    return static_cast<int>(std::ranges::count_if(
        lines_, [&](const auto& line) { return line.find(text) != line.npos; }));
  }

  std::atomic<std::int64_t> stated_ = 0;  ///< replies
};

// Both searches together spend no more than the job may, and what is reported is what the server
// counted.
TEST_F(ModelJobs, SearchesOfAJobShareItsBudget) {
  const ScriptedServer server(programs());
  const auto model = access(server, 1'000'000);
  DeviceInfo ampere = FakeEvaluator::h200();
  ampere.name = "emulated sm_80 (A100 profile)";
  ampere.arch = "sm_80";
  Worker hopper(*this, "one"), other(*this, "two", "emu:sm_80", ampere);
  hopper.evaluator.slow_ = other.evaluator.slow_ = milliseconds(20);
  Metrics metrics;
  ASSERT_TRUE(wait_until([&] { return broker_->workers()->size() >= 2; }));
  const Coordinator coordinator(*this, *store_, 4, model.get(), &metrics);
  auto message = job_with_model("a", 60'000);
  message.archs = {"emu:sm_90", "emu:sm_80"};
  ASSERT_TRUE(broker_->submit(message));
  const auto status = wait_for("a");
  ASSERT_EQ(status.state, queue::JobState::kDone) << status.error;
  EXPECT_GE(stated_, 4) << "it is used at all";
  EXPECT_LE(stated_tokens(), 60'000);
  EXPECT_LE(spent("a"), 60'000);
  ASSERT_TRUE(status.model);
  EXPECT_EQ(status.model->note, "");
  const results::ModelUse& use = status.model->use;
  EXPECT_LE(use.replies(), stated_);
  EXPECT_GE(use.replies(), stated_ - 2) << "all but what was in flight at the searches' ends";
  EXPECT_GE(use.input_tokens + use.output_tokens, stated_tokens());
  EXPECT_LE(use.input_tokens + use.output_tokens, 60'000);
  const auto runs = store_->runs({.job = "a"});
  ASSERT_TRUE(runs);
  EXPECT_EQ(runs->size(), 2U);
  for (const RunRecord& run : *runs)
    EXPECT_FALSE(store_->replies(run.id)->empty()) << run.provenance.device_name;
  EXPECT_GT(use.passed + use.best + use.failed, 0);
  const std::string page = metrics.page();
  EXPECT_NE(page.find("hone_model_replies_total{outcome=\"accepted\"} " +
                      std::to_string(use.accepted()) + "\n"),
            std::string::npos)
      << page;
  EXPECT_NE(page.find("hone_model_tokens_total{direction=\"input\"} " +
                      std::to_string(use.input_tokens) + "\n"),
            std::string::npos)
      << page;
  EXPECT_EQ(page.find("hone_model_dollars_total 0\n"), std::string::npos) << page;
}

TEST_F(ModelJobs, AWishIsCutToWhatTheCoordinatorAllows) {
  const ScriptedServer server(programs());
  const auto model = access(server, 30'000);
  const Worker worker(*this, "one");
  const Coordinator coordinator(*this, *store_, 4, model.get());
  auto message = job_with_model("a", 900'000);
  message.model->modes = {"whole", "diff"};
  ASSERT_TRUE(broker_->submit(message));
  const auto status = wait_for("a");
  ASSERT_EQ(status.state, queue::JobState::kDone) << status.error;
  EXPECT_GE(stated_, 1);
  EXPECT_LE(stated_tokens(), 30'000);
  EXPECT_EQ(logged_lines("it wants 900000 tokens of the language model and gets 30000"), 1);
  EXPECT_NE(status.model->note.find("gets 30000"), std::string::npos);
}

// Nobody to ask, no prices to hold a limit by, nothing that may be asked for: rules alone, and one
// line says why.
TEST_F(ModelJobs, WhereItCannotBeAskedRulesGoOnAlone) {
  const ScriptedServer server(programs());
  const auto without_prices = access(server, 100'000, 2, false), with = access(server, 100'000);
  const Worker worker(*this, "one");
  auto of_cost = job_with_model("b");
  of_cost.model->nano_dollars = 1'000'000;
  auto of_steps = job_with_model("c");
  of_steps.model->modes = {"steps"};
  const struct {
    const llm::Access* model;
    queue::JobMessage message;
    const char* words;
  } cases[] = {{nullptr, job_with_model("a"), "this coordinator has none"},
               {without_prices.get(), of_cost, "no prices are known here"},
               {with.get(), of_steps, "is not asked here for what it wants"}};
  for (const auto& [model, sent, words] : cases) {
    const Coordinator coordinator(*this, *store_, 4, model);
    auto message = sent;
    message.search.budget.evaluations = 40;
    ASSERT_TRUE(broker_->submit(message));
    const auto status = wait_for(message.id);
    expect_as_alone(status);
    EXPECT_EQ(logged_lines(words), 1);
    EXPECT_NE(status.model->note.find("rules alone"), std::string::npos);
    EXPECT_FALSE(status.model->use.used);
  }
  EXPECT_EQ(server.connections(), 0);
}

TEST_F(ModelJobs, AJobThatDoesNotWantItIsNotCharged) {
  const ScriptedServer server(programs());
  const auto model = access(server, 100'000);
  const Worker worker(*this, "one");
  const Coordinator coordinator(*this, *store_, 4, model.get());
  ASSERT_TRUE(broker_->submit(job("a")));
  const auto status = wait_for("a");
  expect_as_alone(status);
  EXPECT_FALSE(status.model);
  EXPECT_EQ(server.connections(), 0);
}

// The endpoint hears one request at a time, whoever's it is, and each job has a budget of its own.
TEST_F(ModelJobs, TheLimitOfRequestsInFlightHoldsOverAllJobs) {
  using Clock = std::chrono::steady_clock;
  std::mutex mutex;
  std::vector<std::pair<Clock::time_point, Clock::time_point>> answered;  // from when until when
  const ScriptedServer server([&](ServerPeer& peer) {
    if (!peer.request()) return;
    const auto begin = Clock::now();
    if (!peer.sleep(milliseconds(50))) return;
    {
      const std::lock_guard lock(mutex);
      answered.emplace_back(begin, Clock::now());
    }
    ++stated_;
    peer.send(testing::stream_reply(program(peer.number()), kInput, kOutput));
  });
  constexpr int kEnough = 18'000;  // for a few: all are answered before a search ends
  const auto model = access(server, kEnough, 1);
  Worker worker(*this, "one");
  worker.evaluator.slow_ = milliseconds(100);
  const Coordinator coordinator(*this, *store_, 4, model.get());
  for (const char* id : {"a", "b", "c"}) ASSERT_TRUE(broker_->submit(job_with_model(id)));
  std::int64_t tokens = 0;
  for (const char* id : {"a", "b", "c"}) {
    const auto status = wait_for(id);
    ASSERT_EQ(status.state, queue::JobState::kDone) << status.error;
    const auto& use = status.model->use;
    EXPECT_GE(use.replies(), 1) << id;
    EXPECT_LE(use.input_tokens + use.output_tokens, kEnough) << id;
    tokens += use.input_tokens + use.output_tokens;
  }
  EXPECT_EQ(tokens, stated_tokens());
  std::ranges::sort(answered);
  ASSERT_GE(answered.size(), 4U);
  for (std::size_t i = 1; i < answered.size(); ++i)
    EXPECT_GE(answered[i].first, answered[i - 1].second) << i;
}

// A coordinator ends while a request is in flight: the next one counts it as the most that it can
// have cost, and spends no more than what is left.
TEST_F(ModelJobs, WhatEarlierCoordinatorsPaidCounts) {
  std::atomic<bool> silent = true;
  const ScriptedServer server([&](ServerPeer& peer) {
    if (!peer.request()) return;
    if (silent && stated_ >= 1) {
      (void)peer.wait_until_closed();
      return;
    }
    ++stated_;
    peer.send(testing::stream_reply(program(peer.number()), kInput, kOutput));
  });
  const auto model = access(server, 45'000, 1);
  Worker worker(*this, "one");
  worker.evaluator.slow_ = milliseconds(100);
  ASSERT_TRUE(broker_->submit(job_with_model("a")));
  {
    const Coordinator first(*this, *store_, 4, model.get());
    ASSERT_TRUE(wait_until([&] { return server.connections() >= 2; }));
  }
  const std::int64_t before = spent("a");
  EXPECT_GT(before, kInput + kOutput + 2000) << "a request that nobody answered counts in full";
  silent = false;
  const auto fresh = access(server, 45'000, 1);
  const Coordinator second(*this, *store_, 4, fresh.get());
  const auto status = wait_for("a");
  ASSERT_EQ(status.state, queue::JobState::kDone) << status.error;
  EXPECT_GT(stated_, 1);
  EXPECT_GE(spent("a"), before + (stated_ - 1) * (kInput + kOutput));
  EXPECT_LE(spent("a"), 45'000);
  EXPECT_EQ(status.archs[0].counts.evaluated(), 60);
}

// A coordinator's replay is its jobs', too: each is told how many replies were not to its requests.
TEST_F(ModelJobs, AReplayAnswersJobs) {
  const std::string record = path_.string() + ".jsonl";
  const ScriptedServer server(programs());
  const Worker worker(*this, "one");
  {
    const auto model = access(server, 30'000, 1, true, record);
    const Coordinator coordinator(*this, *store_, 4, model.get());
    ASSERT_TRUE(broker_->submit(job_with_model("a")));
    ASSERT_EQ(wait_for("a").state, queue::JobState::kDone);
  }
  const int asked = server.connections();
  llm::AccessOptions options;
  options.replay = record;
  options.settings.token_budget = 11'000;  // for two replies
  const auto model = llm::open_access(options);
  std::filesystem::remove(record);
  ASSERT_TRUE(model) << model.error().message;
  ASSERT_GE(asked, 4);
  const Coordinator coordinator(*this, *store_, 4, model->get());
  for (const char* id : {"b", "c"}) {
    auto message = job_with_model(id);
    message.task.name = std::string("other_") + id;  // so that it asks otherwise
    ASSERT_TRUE(broker_->submit(message));
    const auto status = wait_for(id);
    ASSERT_EQ(status.state, queue::JobState::kDone) << status.error;
    EXPECT_EQ(status.model->use.replies(), 2) << id;
  }
  EXPECT_EQ(server.connections(), asked);
  EXPECT_EQ(logged_lines("so 2 replies were taken in the order of recording"), 2);
}

// What is wrong with the endpoint is the operator's to know, and not why a job failed.
TEST_F(ModelJobs, AFailedJobDoesNotNameTheEndpoint) {
  const ScriptedServer server(ScriptedServer::answering(
      [](const HeardRequest&, int) { return testing::http_reply(401, "text/plain", "no"); }));
  const auto model = access(server, 100'000);
  // Right until the final stage, where not even the reference is.
  const Worker worker(*this, "one", [](const EvaluationRequest& request, Evaluation& evaluation) {
    if (request.stage == Stage::kFinal) evaluation.verdict = Verdict::kWrongResult;
  });
  const Coordinator coordinator(*this, *store_, 4, model.get());
  ASSERT_TRUE(broker_->submit(job_with_model("a")));
  const auto status = wait_for("a");
  ASSERT_EQ(status.state, queue::JobState::kFailed);
  EXPECT_NE(status.error.find("no finalist"), std::string::npos) << status.error;
  EXPECT_EQ(status.error.find("127.0.0.1"), std::string::npos) << status.error;
  EXPECT_GE(logged_lines("127.0.0.1"), 1) << "in the log it is";
}

// What cannot be said of its model does not keep a job from ending.
TEST_F(ModelJobs, AJobEndsWithoutWhatCannotBeSaidOfItsModel) {
  const ScriptedServer server(programs());
  const auto model = access(server, 100'000);
  Worker worker(*this, "one");
  worker.evaluator.slow_ = milliseconds(20);
  const Coordinator coordinator(*this, *store_, 4, model.get());
  ASSERT_TRUE(broker_->submit(job_with_model("a")));
  const auto has_replies = [&] {
    const auto runs = store_->runs({.job = "a"});
    return runs && !runs->empty() && !store_->replies(runs->front().id)->empty();
  };
  ASSERT_TRUE(wait_until(has_replies));
  ReplyRecord damaged;
  damaged.id = "damaged";
  damaged.outcome = "program";
  damaged.input_tokens = std::numeric_limits<std::int64_t>::min();
  const auto other = Store::open(path_);
  ASSERT_TRUE((*other)->put_reply(store_->runs({.job = "a"})->front().id, damaged));
  const auto status = wait_for("a");
  EXPECT_EQ(status.state, queue::JobState::kDone) << status.error;
  EXPECT_FALSE(status.model);
}

/// Whether a candidate that a reply gave is stored.
bool has_candidate(const Store& store, std::int64_t run) {
  const auto replies = store.replies(run, false);
  return replies && std::ranges::any_of(
                        *replies, [](const RunReply& reply) { return !reply.candidates.empty(); });
}

class ResumedModelJobs : public ModelJobs {
 protected:
  /// Its best is a program of the model's: nothing is as fast.
  static FakeEvaluator::Lie models_are_fast() {
    return [](const EvaluationRequest& request, Evaluation& evaluation) {
      std::this_thread::sleep_for(milliseconds(20));
      if (request.timed.candidate.source.find("* 0.0f") == std::string::npos) return;
      evaluation.verdict = Verdict::kOk;
      Measurement& m = evaluation.measurement;
      m.time_us = 10;
      m.speedup = m.ci95_low = m.ci95_high = 100;
    };
  }
  /// Until the job "a" has a candidate of the model's, and not to the job's end. The run.
  std::int64_t begin_with(const llm::Access& model) {
    EXPECT_TRUE(broker_->submit(job_with_model("a")));
    const Coordinator first(*this, *store_, 4, &model);
    EXPECT_TRUE(wait_until([&] {
      const auto runs = store_->runs({.job = "a"});
      return runs && !runs->empty() && has_candidate(*store_, runs->front().id);
    }));
    return store_->runs({.job = "a"})->front().id;
  }
  void expect_best_of_model(const queue::JobStatus& status) {
    ASSERT_EQ(status.state, queue::JobState::kDone) << status.error;
    EXPECT_EQ(status.archs[0].counts.evaluated(), 60);
    const auto best = store_->find_candidate(status.archs[0].best_candidate);
    ASSERT_TRUE(best) << best.error().message;
    EXPECT_EQ(best->candidate.origin.substr(0, 5), "model");
    ASSERT_TRUE(status.model);
    EXPECT_GT(status.model->use.best, 0);
  }
};

// The one that goes on hears nothing good from the model, and still has the program of before.
TEST_F(ResumedModelJobs, ASearchThatGoesOnKnowsItsModelsPrograms) {
  std::atomic<bool> useful = true;
  const ScriptedServer server(ScriptedServer::answering([&](const HeardRequest&, int number) {
    return testing::stream_reply(useful ? program(number) : "I do not know.", 100, 10);
  }));
  const auto model = access(server, 1'000'000, 1);
  const Worker worker(*this, "one", models_are_fast());
  const std::int64_t run = begin_with(*model);
  useful = false;
  const std::size_t before = store_->replies(run)->size();
  ASSERT_LT(broker_->status("a")->archs[0].counts.evaluated(), 60);
  const Coordinator second(*this, *store_, 4, model.get());
  const auto status = wait_for("a");
  expect_best_of_model(status);
  const auto replies = store_->replies(run);
  ASSERT_TRUE(replies);
  EXPECT_GT(replies->size(), before);
  EXPECT_GT(status.model->use.refused, 0);
  EXPECT_EQ(status.model->use.asked, std::ssize(*replies));
}

// Nobody says those programs again.
TEST_F(ResumedModelJobs, OneWithoutAModelKnowsThemToo) {
  const ScriptedServer server(programs());
  const auto model = access(server, 1'000'000, 1);
  const Worker worker(*this, "one", models_are_fast());
  const std::int64_t run = begin_with(*model);
  ASSERT_LT(broker_->status("a")->archs[0].counts.evaluated(), 60);
  const Coordinator second(*this, *store_, 4, nullptr);
  const auto status = wait_for("a");
  expect_best_of_model(status);
  EXPECT_NE(status.model->note.find("this coordinator has none"), std::string::npos);
  EXPECT_EQ(status.model->use.asked, std::ssize(*store_->replies(run)));
}

}  // namespace
}  // namespace hone
