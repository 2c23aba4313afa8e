// Sources that attack the compiler: each costs one candidate, and no more time than its deadline.
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "engine/service/trial_reading.h"
#include "evaluator/evaluator.h"
#include "evaluator/pool/runner_pool.h"
#include "evaluator/protocol/messages.h"

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
    const auto begin = Clock::now();
    const auto outcome = compile(pool_, source, kDeadline_s);
    EXPECT_NE(verdict_of(outcome), Verdict::kOk);
    EXPECT_LT(Clock::now() - begin, std::chrono::duration<double>(2 * kDeadline_s + 10));
    EXPECT_EQ(verdict_of(compile(pool_, kGood, 60)), Verdict::kOk);
    EXPECT_EQ(pool_.pids().size(), 1U);
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

TEST_F(HostileSource, DeepNesting) {
  expect_stopped("__global__ void k(float* y) { y[0] = " + std::string(1'000'000, '(') + "1" +
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
    const auto read = trial_reading(source, "bad.cu", {});
    EXPECT_LT(Clock::now() - begin, std::chrono::seconds(60));
    EXPECT_TRUE(trial_reading(kGood, "good.cu", {}));
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

TEST_F(HostileToTheReader, ATemplateBombThatNvrtcDoesNotSee) {
  expect_refused(
      "#ifdef __clang__\n"
      "template <int A, int B, int C> struct T { static constexpr unsigned v = T<A - 1, B, C>::v + "
      "T<A, B - 1, C>::v + T<A, B, C - 1>::v; };\n"
      "template <int B, int C> struct T<0, B, C> { static constexpr unsigned v = 1; };\n"
      "template <int A, int C> struct T<A, 0, C> { static constexpr unsigned v = 1; };\n"
      "template <int A, int B> struct T<A, B, 0> { static constexpr unsigned v = 1; };\n"
      "constexpr unsigned bomb = T<300, 300, 300>::v;\n#endif\n" +
      std::string(kGood));
}

TEST_F(HostileToTheReader, AVariantAndATaskFromTheCommandLine) {
  const std::string folder = testing::TempDir() + "/hostile_" + std::to_string(getpid());
  std::filesystem::create_directories(folder);
  const std::string comment =
      "/* hone {\"name\": \"k\", \"sizes\": {\"N\": 256}, \"buffers\": [{\"name\": \"y\", "
      "\"type\": "
      "\"f32\", \"shape\": [\"N\"], \"role\": \"out\"}], \"launches\": [{\"kernel\": \"k\", "
      "\"grid\": "
      "[1], \"block\": [256], \"args\": [\"y\"]}]} */\n";
  const std::string bad =
      "__global__ void k(float* y) { y[threadIdx.x] = " + std::string(300'000, '-') + "1; }\n";
  const auto write = [&](const std::string& name, const std::string& text) {
    std::ofstream(folder + "/" + name) << text;
  };
  write("bad.cu", comment + bad);
  write("good.cu", comment + kGood);
  write("variant.cu", bad);
  write("plain.cu", bad);
  const std::string hone = sandbox::executable_folder() + "/hone ";
  const std::string database = " --device emu:sm_90 --db " + folder + "/db 2>" + folder + "/err";
  for (const std::string& command :
       {"optimize " + folder + "/bad.cu --budget 1" + database,
        "evaluate " + folder + "/good.cu " + folder + "/variant.cu" + database,
        "init " + folder + "/plain.cu 2>" + folder + "/err"}) {
    const int status = std::system((hone + command).c_str());
    ASSERT_TRUE(WIFEXITED(status)) << command;
    EXPECT_EQ(WEXITSTATUS(status), 2) << command;
    std::ifstream file(folder + "/err");
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    EXPECT_NE(text.find("cannot be read"), std::string::npos) << command << ": " << text;
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace hone
