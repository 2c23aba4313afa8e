// Runners that die, hang, flood or lie: the parent must come out with a verdict or an Error.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <mutex>
#include <thread>
#include <vector>

#include "evaluator/evaluator.h"
#include "evaluator/pool/runner_pool.h"
#include "evaluator/protocol/messages.h"

namespace hone {
namespace {

constexpr const char* kSource =
    "__global__ void k(float* y) { y[blockIdx.x * blockDim.x + threadIdx.x] = 1.0f; }";

ConcreteProgram program() {
  ConcreteProgram p;
  p.source = kSource;
  p.buffers = {{"y", ScalarType::kF32, {256}, Role::kOut, {}}};
  p.launches = {{"k", {2, 1, 1}, {128, 1, 1}, 0, {BufferIndex{0}}}};
  return p;
}

EvaluationRequest request() {
  EvaluationRequest r;
  r.checks = {{program(), program(), 1}};
  r.timed = {program(), program(), 2};
  return r;
}

/// The shell command that sends {"hello": version}; a version below 24 is one CBOR byte.
std::string hello(int version) {
  return fmt::format(
      "printf 'HON2\\x08\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\xa1\\x65hello\\x{:02x}' >&3\n", version);
}

/// A hone-runner whose emulate mode is `script`; it compiles honestly.
class Liar {
 public:
  explicit Liar(const std::string& script) {
    path_ =
        testing::TempDir() + "/liar_" + std::to_string(getpid()) + "_" + std::to_string(++count_);
    std::ofstream(path_) << "#!/bin/bash\nif [ \"$1\" = compile ]; then exec " << HONE_BIN_DIR
                         << "/hone-runner compile; fi\n"
                         << hello(protocol::kVersion) << script << "\n";
    chmod(path_.c_str(), 0755);
  }
  ~Liar() { unlink(path_.c_str()); }

  Result<Evaluation> evaluate(double check_timeout_s = 20) const {
    EvaluatorOptions options;
    options.runner_path = path_;
    options.sandbox = sandbox::Mode::kOff;  // it is a shell script: there is no shell inside
    options.compile_processes = options.check_processes = 1;
    options.check_timeout_s = check_timeout_s;
    auto evaluator = Evaluator::open(*DeviceSpec::parse("emu:sm_90"), options);
    if (!evaluator) return std::unexpected(evaluator.error());
    return (*evaluator)->evaluate(request());
  }

 private:
  static inline int count_ = 0;
  std::string path_;
};

/// Which of the two programs a runner dies under is chance. Under the reference it is an error,
/// else the verdict on the candidate. Returns what was said.
std::string what_came_of(const Result<Evaluation>& evaluation, Verdict verdict) {
  if (!evaluation) return evaluation.error().message;
  EXPECT_EQ(evaluation->verdict, verdict) << evaluation->detail;
  return evaluation->detail;
}

TEST(LyingRunner, EndsInAVerdictOrAnError) {
  struct Lie {
    const char* what;
    const char* script;
    Verdict verdict;
  };
  for (const Lie& lie : {
           Lie{"dies at once", "exit 3", Verdict::kCrash},
           Lie{"is killed", "head -c 10 <&3 >/dev/null; kill -SEGV $$", Verdict::kCrash},
           Lie{"dies in mid-message",
               "head -c 10 <&3 >/dev/null; printf 'HON2\\xff\\0\\0\\0abcdefghijk' >&3",
               Verdict::kCrash},
           Lie{"sends noise", "head -c 10 <&3 >/dev/null; echo hello world, hello >&3; sleep 9",
               Verdict::kCrash},
           Lie{"claims 4 GiB",
               "head -c 10 <&3 >/dev/null; printf 'HON2\\xff\\xff\\xff\\xff12345678' >&3; sleep 9",
               Verdict::kCrash},
           Lie{"floods", "cat /dev/urandom >&3", Verdict::kCrash},
       }) {
    EXPECT_NE(what_came_of(Liar(lie.script).evaluate(), lie.verdict).size(), 0) << lie.what;
  }
}

/// Reads the request's header and sends a frame that answers it: a body's length and bytes.
std::string answer(const std::string& length, const std::string& body) {
  return "number=$(head -c 16 <&3 | tail -c 8 | od -An -v -tx1 | sed 's/ /\\\\x/g')\n"
         "printf \"HON2" +
         length + "$number" + body + "\" >&3; sleep 0.2";
}

/// A runner whose `script` knows as $start the how many-th it is.
class Starts {
 public:
  explicit Starts(const std::string& script) {
    path_ = testing::TempDir() + "/starts_" + std::to_string(getpid());
    std::ofstream(path_) << "#!/bin/bash\necho >> " << path_ << ".count\nstart=$(wc -l < " << path_
                         << ".count)\n"
                         << hello(protocol::kVersion) << script << "\n";
    chmod(path_.c_str(), 0755);
    options_.runner_path = path_;
    options_.sandbox = sandbox::Mode::kOff;
  }
  ~Starts() {
    unlink(path_.c_str());
    unlink((path_ + ".count").c_str());
  }
  [[nodiscard]] const EvaluatorOptions& options() const { return options_; }
  [[nodiscard]] int count() const {
    std::ifstream file(path_ + ".count");
    return static_cast<int>(std::count(std::istreambuf_iterator<char>(file), {}, '\n'));
  }

 private:
  std::string path_;
  EvaluatorOptions options_;
};

// A request of one byte, 1, and the reply {}.
constexpr const char* kTakeOne =
    "number=$(head -c 16 <&3 | tail -c 8 | od -An -v -tx1 | sed 's/ /\\\\x/g'); head -c 1 <&3 "
    ">/dev/null\n";
constexpr const char* kReply = "printf \"HON2\\x01\\0\\0\\0$number\\xa0\" >&3\n";

TEST(LyingRunner, WhatItSaysUnaskedCostsTheNextRequestNothing) {
  const Starts runner(std::string(kTakeOne) + kReply +
                      "if [ $start = 1 ]; then printf noise >&3; fi\n"
                      "if [ $start = 2 ]; then sleep 60; fi\n" +
                      kTakeOne + kReply + "sleep 60");
  pool::RunnerPool pool("emulate", 1, runner.options());
  EXPECT_TRUE(pool.call(1, 20).ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_TRUE(pool.call(1, 20).ok());
  EXPECT_EQ(runner.count(), 2);
}

TEST(LyingRunner, AnAnswerToAnotherRequestUsesUpNoAttempt) {
  // The first answers its second request with the first one's number; the second dies.
  const Starts runner("if [ $start = 2 ]; then " +
                      std::string("head -c 1 <&3 >/dev/null; exit 3; fi\n") + kTakeOne + kReply +
                      "old=$number\n" + kTakeOne + "number=$old\n" + kReply + "sleep 60");
  pool::RunnerPool pool("emulate", 1, runner.options());
  EXPECT_TRUE(pool.call(1, 20).ok());
  const auto outcome = pool.call(1, 20);
  EXPECT_TRUE(outcome.ok()) << outcome.detail;
  EXPECT_EQ(runner.count(), 3);
}

TEST(RunnerPool, TheLowestTurnAndTheFirstComerGetTheNextProcessInTurns) {
  const Starts runner("pause=2\nwhile true; do\n" + std::string(kTakeOne) +
                      "sleep $pause\npause=0.1\n" + kReply + "done");
  pool::RunnerPool pool("emulate", 1, runner.options());
  std::mutex mutex;
  std::vector<int> ended;
  std::vector<std::thread> callers;
  int caller = 0;
  for (const pool::Turn turn : {pool::kUsualTurn, pool::kUsualTurn, 7.0, pool::kUsualTurn, 2.5}) {
    callers.emplace_back([&, turn, who = caller++] {
      EXPECT_TRUE(pool.call(1, 20, turn).ok());
      const std::lock_guard lock(mutex);
      ended.push_back(who);
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  for (std::thread& one : callers) one.join();
  EXPECT_EQ(ended, (std::vector<int>{0, 1, 4, 2, 3}));
}

TEST(LyingRunner, WrongShapesAreInfrastructureErrors) {
  // A well-formed frame with a message that is no reply: 1, {}, {"verdict": "ok"};
  // and an error that is no UTF-8.
  const std::pair<const char*, const char*> bodies[] = {
      {"\\x01\\0\\0\\0", "\\x01"},
      {"\\x01\\0\\0\\0", "\\xa0"},
      {"\\x0c\\0\\0\\0", "\\xa1\\x67verdict\\x62ok"},
      {"\\x09\\0\\0\\0", "\\xa1\\x65error\\x61\\xff"}};
  for (const auto& [length, body] : bodies) {
    const auto e = Liar(answer(length, body)).evaluate();
    ASSERT_FALSE(e) << body << ": " << to_string(e->verdict) << " " << e->detail;
    EXPECT_EQ(e.error().code, ErrorCode::kInfrastructure);
  }
}

/// Nobody answers a request that was not made yet.
TEST(LyingRunner, AReplyToAnotherRequestIsACrash) {
  const auto e =
      Liar("head -c 10 <&3 >/dev/null; printf 'HON2\\x01\\0\\0\\0abcdefgh\\xa0' >&3; sleep 9")
          .evaluate();
  const std::string said = what_came_of(e, Verdict::kCrash);
  EXPECT_NE(said.find("the emulator's runner died: a reply to another request"), std::string::npos)
      << said;
}

TEST(LyingRunner, SilenceIsATimeout) {
  const auto begin = std::chrono::steady_clock::now();
  const auto e = Liar("sleep 1000").evaluate(0.5);
  EXPECT_NE(what_came_of(e, Verdict::kTimeout).find("the emulated check took more than"),
            std::string::npos);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
}

TEST(LyingRunner, AnotherProtocolVersionIsAnEnvironmentProblem) {
  const std::string path = testing::TempDir() + "/old_runner_" + std::to_string(getpid());
  std::ofstream(path) << "#!/bin/bash\n" << hello(protocol::kVersion + 1) << "sleep 9\n";
  chmod(path.c_str(), 0755);
  EvaluatorOptions options;
  options.runner_path = path;
  options.sandbox = sandbox::Mode::kOff;
  const auto runner = pool::RunnerProcess::start("emulate", options);
  ASSERT_FALSE(runner);
  EXPECT_EQ(runner.error().code, ErrorCode::kEnvironment);
  unlink(path.c_str());
}

TEST(MissingRunner, SaysWhereItShouldBe) {
  EvaluatorOptions options;
  options.runner_path = "/no/such/hone-runner";
  const auto runner = pool::RunnerProcess::start("compile", options);
  ASSERT_FALSE(runner);
  EXPECT_EQ(runner.error().code, ErrorCode::kEnvironment);
  EXPECT_NE(runner.error().message.find("/no/such/hone-runner"), std::string::npos);
}

TEST(KilledRunner, MidSearchTheSearchGoesOn) {
  EvaluatorOptions options;
  options.compile_processes = options.check_processes = 2;
  pool::RunnerPool pool("compile", 2, options);
  std::atomic<bool> done = false;
  std::thread killer([&] {
    // Slower than two compiles in a row, which is what a request needs to survive one kill.
    while (!done) {
      std::this_thread::sleep_for(std::chrono::milliseconds(700));
      const auto pids = pool.pids();
      if (!pids.empty() && !done) kill(pids.front(), SIGKILL);
    }
  });
  int served = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; std::chrono::steady_clock::now() - begin < std::chrono::seconds(3); ++i) {
    const CompileJob job{kSource + ("// " + std::to_string(i)), {}, {"k"}, "sm_90"};
    const auto outcome = pool.call(protocol::to_message(job), 60);
    if (outcome.ok()) ++served;
    EXPECT_TRUE(outcome.ok() || outcome.status == pool::Outcome::Status::kDied) << outcome.detail;
  }
  done = true;
  killer.join();
  EXPECT_GT(served, 3);
}

}  // namespace
}  // namespace hone
