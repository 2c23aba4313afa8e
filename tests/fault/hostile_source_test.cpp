// Sources that attack the compiler: each costs one candidate, and no more time than its deadline.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "candidates/store/store.h"
#include "candidates/task_reader.h"
#include "engine/rewriting/remote_rewriting.h"
#include "evaluator/evaluator.h"
#include "evaluator/pool/runner_pool.h"
#include "evaluator/protocol/messages.h"
#include "sandbox/kept_programs.h"

namespace hone {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kGood = "__global__ void k(float* y) { y[threadIdx.x] = 1.0f; }\n";

pool::Outcome compile(pool::RunnerPool& pool, const std::string& source, double timeout_s) {
  return pool.call(protocol::to_message(CompileJob{source, {}, {"k"}, "sm_90", false}), timeout_s);
}

/// The verdict of a compile that answered; kTimeout when it was killed.
Verdict verdict_of(const pool::Outcome& outcome) {
  if (outcome.status == pool::Outcome::Status::kTimeout) return Verdict::kTimeout;
  const auto program = protocol::compiled_program_from(outcome.reply);
  return outcome.ok() && program ? program->verdict : Verdict::kCrash;
}

class HostileSource : public testing::Test {
 protected:
  /// `source` costs no more than the deadline, twice where it kills its runner; the pool goes on.
  void expect_stopped(const std::string& source) {
    EXPECT_NE(verdict_of(expect_bounded(source)), Verdict::kOk);
  }

  /// Likewise, but it may compile in that time.
  pool::Outcome expect_bounded(const std::string& source) {
    const auto begin = Clock::now();
    auto outcome = compile(pool_, source, kDeadline_s);
    EXPECT_LT(Clock::now() - begin, std::chrono::duration<double>(2 * kDeadline_s + 10));
    EXPECT_EQ(verdict_of(compile(pool_, kGood, 60)), Verdict::kOk);
    EXPECT_EQ(pool_.pids().size(), 1U);
    return outcome;
  }

  static constexpr double kDeadline_s = 3;
  pool::RunnerPool pool_{"compile", 1, {}};
};

TEST_F(HostileSource, TemplateBomb) {
  expect_stopped(
      "template <int A, int B, int C> struct T { static constexpr int v = T<A - 1, B, C>::v + "
      "T<A, B - 1, C>::v + T<A, B, C - 1>::v; };\n"
      "template <int B, int C> struct T<0, B, C> { static constexpr int v = 1; };\n"
      "template <int A, int C> struct T<A, 0, C> { static constexpr int v = 1; };\n"
      "template <int A, int B> struct T<A, B, 0> { static constexpr int v = 1; };\n"
      "__global__ void k(float* y) { y[0] = T<150, 150, 150>::v; }\n");
}

TEST_F(HostileSource, UnrollBomb) {
  expect_stopped(
      "__global__ void k(float* y) {\n"
      "#pragma unroll\n  for (int a = 0; a < 1024; ++a)\n"
      "#pragma unroll\n    for (int b = 0; b < 1024; ++b)\n"
      "#pragma unroll\n      for (int c = 0; c < 1024; ++c) y[a * b + c] *= a + b * c;\n}\n");
}

TEST_F(HostileSource, ConstexprBomb) {
  expect_stopped(
      "constexpr unsigned long f(unsigned n) { return n < 2 ? n : f(n - 1) + f(n - 2); }\n"
      "template <unsigned long N> struct S { static constexpr unsigned long v = N; };\n"
      "__global__ void k(float* y) { y[0] = S<f(60)>::v; }\n");
}

TEST_F(HostileSource, MacroBomb) {
  std::string source = "#define A0 1.0f +\n";
  for (int i = 1; i <= 9; ++i) {
    source += "#define A" + std::to_string(i);
    for (int j = 0; j < 10; ++j) source += " A" + std::to_string(i - 1);
    source += "\n";
  }
  expect_stopped(source + "__global__ void k(float* y) { y[0] = A9 0.0f; }\n");
}

TEST_F(HostileSource, LargeArrays) {
  expect_stopped(
      "__device__ double big[1ull << 40];\n"
      "constexpr int n = 1 << 30;\n__constant__ int table[n] = {1, 2, 3};\n"
      "__global__ void k(float* y) { y[0] = table[threadIdx.x] + big[threadIdx.x]; }\n");
}

TEST_F(HostileSource, DeepNesting) {  // takes NVRTC about three seconds
  expect_bounded("__global__ void k(float* y) { y[0] = " + std::string(1'000'000, '(') + "1" +
                 std::string(1'000'000, ')') + "; }\n");
}

/// A file of the host is not there for a compiler that was talked into opening it.
TEST_F(HostileSource, FilesOfTheHost) {
  for (const char* source :
       {"#include \"/etc/passwd\"\n", "#if __has_include(\"/etc/passwd\")\n#error found\n#endif\n",
        "const char s[] = {\n#embed \"/etc/passwd\"\n};\n",
        "asm(\".file 1 \\\"/etc/passwd\\\"\");\n#line 1 \"/etc/passwd\"\n#error here\n"}) {
    const auto outcome = compile(pool_, std::string(source) + kGood, 20);
    ASSERT_TRUE(outcome.ok()) << source;
    const auto program = protocol::compiled_program_from(outcome.reply);
    ASSERT_TRUE(program);
    EXPECT_EQ(program->verdict, Verdict::kCompileError) << source;
    EXPECT_EQ(program->log.find("root:"), std::string::npos) << program->log;
    EXPECT_EQ(program->log.find("#error found"), std::string::npos) << program->log;
  }
}

/// hone reads sources with Clang itself: what would end it ends a child.
class HostileToTheReader : public testing::Test {
 protected:
  static Error reading(const std::string& source) {
    const auto begin = Clock::now();
    RemoteRewriting rewriting;
    const auto read = rewriting.init({source, "bad.cu", {}, ""});
    EXPECT_LT(Clock::now() - begin, std::chrono::seconds(60));
    EXPECT_TRUE(rewriting.init({kGood, "good.cu", {}, ""}));
    EXPECT_FALSE(read);
    return read ? Error{} : read.error();
  }
  static void expect_refused(const std::string& source) {
    const Error error = reading(source);
    EXPECT_EQ(error.code, ErrorCode::kInvalidInput) << error.message;
    EXPECT_TRUE(error.message.starts_with("bad.cu: this source cannot be read: ")) << error.message;
    EXPECT_LT(error.message.size(), 300U) << error.message;
  }
};

TEST_F(HostileToTheReader, UnaryOperators) {
  expect_refused("__global__ void k(float* y) { y[0] = " + std::string(300'000, '~') + "1; }\n");
}

TEST_F(HostileToTheReader, Casts) {
  std::string casts;
  for (int i = 0; i < 100'000; ++i) casts += "(int)";
  expect_refused("__global__ void k(float* y) { y[0] = " + casts + "1; }\n");
}

std::string template_bomb() {
  return "template <int A, int B, int C> struct T { static constexpr unsigned v = T<A - 1, B, "
         "C>::v "
         "+ T<A, B - 1, C>::v + T<A, B, C - 1>::v; };\n"
         "template <int B, int C> struct T<0, B, C> { static constexpr unsigned v = 1; };\n"
         "template <int A, int C> struct T<A, 0, C> { static constexpr unsigned v = 1; };\n"
         "template <int A, int B> struct T<A, B, 0> { static constexpr unsigned v = 1; };\n"
         "constexpr unsigned bomb = T<300, 300, 300>::v;\n";
}

TEST_F(HostileToTheReader, ATemplateBombThatNvrtcDoesNotSee) {
  expect_refused("#ifdef __clang__\n" + template_bomb() + "#endif\n" + kGood);
}

/// hone itself, in a folder of its own, on tasks of one kernel k(float* y).
class HostileToHone : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "/hostile_" + std::to_string(getpid());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  /// With the tunable V, 1 or 2, unless `tunables` says otherwise.
  static std::string comment(const std::string& tunables = R"("V": [1, 2])") {
    return R"(/* hone {"name": "k", "sizes": {"N": 256}, "buffers": [{"name": "y", "type": "f32",
      "shape": ["N"], "role": "out"}], "launches": [{"kernel": "k", "grid": [1], "block": ["N"],
      "args": ["y"]}], "tunables": {)" +
           tunables + "}} */\n";
  }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ + "/" + name) << text;
    return folder_ + "/" + name;
  }
  [[nodiscard]] std::string read(const std::string& name) const {
    std::ifstream file(folder_ + "/" + name);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  /// Starts hone; stdout and stderr go to files of these names.
  pid_t start(const std::vector<std::string>& arguments) const {
    const std::string program = sandbox::executable_folder() + "/hone";
    const std::string out = folder_ + "/out", err = folder_ + "/err", cache = folder_ + "/cache";
    std::vector<char*> argv = {const_cast<char*>(program.c_str())};
    for (const auto& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
    argv.push_back(nullptr);
    const pid_t pid = fork();
    if (pid != 0) return pid;
    setenv("XDG_CACHE_HOME", cache.c_str(), 1);
    dup2(open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 1);
    dup2(open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 2);
    execv(argv[0], argv.data());
    _exit(127);
  }
  /// Its exit status, -1 for a signal; `most_kb`: its own peak resident size.
  static int end_of(pid_t pid, long* most_kb = nullptr) {
    int status = 0;
    while (waitpid(pid, &status, WNOHANG) == 0) {
      std::ifstream file("/proc/" + std::to_string(pid) + "/status");
      for (std::string line; most_kb != nullptr && std::getline(file, line);) {
        if (line.starts_with("VmHWM:")) *most_kb = std::max(*most_kb, std::atol(line.c_str() + 6));
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  int hone(const std::vector<std::string>& arguments) const { return end_of(start(arguments)); }
  [[nodiscard]] std::vector<std::string> optimize(const std::string& task,
                                                  const std::string& budget) const {
    return {"optimize", task,   "--device",      "emu:sm_90", "--budget",
            budget,     "--db", folder_ + "/db", "--json",    folder_ + "/json"};
  }

  std::string folder_;
};

TEST_F(HostileToHone, AVariantAndATaskFromTheCommandLine) {
  const std::string bad =
      "__global__ void k(float* y) { y[threadIdx.x] = " + std::string(300'000, '-') + "1; }\n";
  const std::string good_task = write("good.cu", comment("") + kGood);
  const std::string database = folder_ + "/db";
  for (const auto& command :
       std::vector<std::vector<std::string>>{optimize(write("bad.cu", comment("") + bad), "1"),
                                             {"evaluate", good_task, write("variant.cu", bad),
                                              "--device", "emu:sm_90", "--db", database},
                                             {"init", write("plain.cu", bad)}}) {
    EXPECT_EQ(hone(command), 2) << command[0];
    EXPECT_NE(read("err").find("cannot be read"), std::string::npos) << command[0] << read("err");
  }
}

/// The first reading does not see what another value of a tunable brings.
TEST_F(HostileToHone, UnaryOperatorsBehindATunable) {
  const std::string task =
      write("task.cu", comment() +
                           "__global__ void k(float* y) {\n#if defined(__clang__) && V == 2\n"
                           "  y[0] = " +
                           std::string(300'000, '~') +
                           "1;\n#endif\n  y[threadIdx.x] = threadIdx.x + 0 * V;\n}\n");
  EXPECT_EQ(hone(optimize(task, "10")), 0) << read("err");
  const auto json = nlohmann::json::parse(read("json"), nullptr, false);
  ASSERT_TRUE(json.is_object());
  EXPECT_GE(json["counts"]["refused"].get<int>(), 1) << json["counts"];
}

TEST_F(HostileToHone, ATemplateBombBehindATunableKeepsTheBudget) {
  const std::string task =
      write("task.cu",
            comment() + "#if defined(__clang__) && V == 2\n" + template_bomb() +
                "#endif\n__global__ void k(float* y) { y[threadIdx.x] = threadIdx.x + 0 * V; }\n");
  const auto begin = Clock::now();
  EXPECT_EQ(hone(optimize(task, "5s")), 0) << read("err");
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(25));
}

TEST_F(HostileToHone, LongSourcesStaySmallInHone) {
  std::string lines;
  for (int i = 0; i < 12'000; ++i) {
    lines += "__device__ inline float f" + std::to_string(i) +
             "(float a, float b) { float c = a * b + a; return c * c + a / (b + 1.0f); }\n";
  }
  const std::string task = write(
      "task.cu",
      comment(R"("V": [1, 2, 3, 4, 5, 6, 7, 8], "W": [1, 2, 3, 4, 5, 6, 7, 8])") +
          "#ifdef __clang__\n" + lines +
          "#endif\n__global__ void k(float* y) { y[threadIdx.x] = threadIdx.x + 0 * (V + W); }\n");
  long most_kb = 0;
  const pid_t pid = start(optimize(task, "30"));
  EXPECT_EQ(end_of(pid, &most_kb), 0) << read("err");
  const auto json = nlohmann::json::parse(read("json"), nullptr, false);
  ASSERT_TRUE(json.is_object());
  EXPECT_GE(json["counts"]["ok"].get<int>(), 20) << json["counts"];
  EXPECT_GT(most_kb, 0);
  EXPECT_LT(most_kb, 600 * 1024);
}

TEST_F(HostileToHone, ATerminatedFirstReadingEndsAtOnce) {
  const std::string task =
      write("task.cu", comment() + "#ifdef __clang__\n" + template_bomb() + "#endif\n" + kGood);
  const pid_t pid = start(optimize(task, "60s"));
  std::this_thread::sleep_for(std::chrono::seconds(3));
  EXPECT_EQ(waitpid(pid, nullptr, WNOHANG), 0) << read("err");
  const auto begin = Clock::now();
  kill(pid, SIGTERM);
  EXPECT_GT(end_of(pid), 0) << read("err");
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(2));
  EXPECT_NE(read("err").find("interrupted"), std::string::npos) << read("err");
}

/// What is in the database was written by somebody, too.
TEST_F(HostileToHone, StoredSourcesThatClangFormatDoesNotBear) {
  const auto task = parse_task(comment("") + kGood, "good.cu");
  ASSERT_TRUE(task) << task.error().message;
  CandidateRecord candidate;
  candidate.task_hash = task->hash();
  candidate.task_name = task->name;
  candidate.program_hash = std::string(32, 'a');
  candidate.program = task->reference;
  candidate.program.source +=
      "constexpr int deep = " + std::string(200'000, '(') + "1" + std::string(200'000, ')') + ";\n";
  candidate.origin = "variant";
  Provenance provenance;
  provenance.device = "emu:sm_90";
  Evaluation evaluation;
  evaluation.verdict = Verdict::kOk;
  {
    auto store = Store::open(folder_ + "/db");
    ASSERT_TRUE(store) << store.error().message;
    ASSERT_TRUE((*store)->put_task(*task));
    const auto run = (*store)->begin_run(candidate.task_hash, provenance, 1, "variant");
    ASSERT_TRUE(run);
    ASSERT_TRUE((*store)->put(*run, candidate, evaluation, provenance));
  }
  for (const char* command : {"show", "diff", "export"}) {
    const auto begin = Clock::now();
    EXPECT_EQ(hone({command, "aaaa", "--db", folder_ + "/db"}), 0) << command << read("err");
    EXPECT_LT(Clock::now() - begin, std::chrono::seconds(40)) << command;
    EXPECT_NE(read("out").find("constexpr int deep = ((("), std::string::npos) << command;
  }
}

}  // namespace
}  // namespace hone
