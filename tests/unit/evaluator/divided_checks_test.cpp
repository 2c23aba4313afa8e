// A final stage's checks divided among several runners: the answer is that of one runner.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "evaluator/evaluator.h"
#include "evaluator/further_checks.h"
#include "evaluator/protocol/channel.h"

namespace hone {
namespace {

/// `statements` set y[i], for i < n; `file_scope` comes before the kernel.
std::string kernel(const std::string& statements, const std::string& file_scope = "") {
  return file_scope +
         "\n__global__ void scale(const float* x, float* y, int n) {\n"
         "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
         "  if (i >= n) return;\n  " +
         statements + "\n}\n";
}

const std::string kReference = kernel("y[i] = 2.0f * x[i];");

ConcreteProgram program(const std::string& source, std::int64_t n) {
  ConcreteProgram p;
  p.source = source;
  p.buffers = {{"x", ScalarType::kF32, {n}, Role::kIn, {}},
               {"y", ScalarType::kF32, {n}, Role::kOut, {}}};
  p.launches = {
      {"scale", {(n + 127) / 128, 1, 1}, {128, 1, 1}, 0, {BufferIndex{0}, BufferIndex{1}, n}}};
  return p;
}

void with_note(ConcreteProgram& p) {
  ConcreteLaunch note = p.launches[0];
  note.kernel = "note";
  note.grid = note.block = {1, 1, 1};
  p.launches.push_back(note);
}

/// Of a final stage: sizes of the task and of hone, one of them in part, and other inputs.
EvaluationRequest request(const std::string& candidate, const std::string& reference = kReference) {
  EvaluationRequest r;
  std::uint64_t seed = 11;
  const auto add = [&](std::int64_t n) -> CheckCase& {
    return r.checks.emplace_back(CheckCase{program(reference, n), program(candidate, n), seed++});
  };
  for (const std::int64_t n : {1000, 77}) add(n);
  for (const std::int64_t n : {131, 640, 3001}) add(n).hidden = true;
  CheckCase& large = add(1 << 21);
  large.hidden = large.in_part = true;
  for (const InputSet set : {InputSet::kEither, InputSet::kWide, InputSet::kEqual})
    add(77).inputs = set;
  add(512).hidden = true;
  r.timed = {program(reference, 1 << 16), program(candidate, 1 << 16), 2};
  r.stage = Stage::kFinal;
  r.places = 5;
  r.by_rules = true;
  return r;
}

EvaluatorOptions options_of(int processes) {
  EvaluatorOptions options;
  options.compile_processes = options.check_processes = 1;
  options.final_check_processes = processes;
  return options;
}

Result<Evaluation> evaluate(const EvaluationRequest& r, const EvaluatorOptions& options) {
  auto evaluator = Evaluator::open(*DeviceSpec::parse("emu:sm_90"), options);
  if (!evaluator) return std::unexpected(evaluator.error());
  return (*evaluator)->evaluate(r);
}

/// With one runner; fails where others say anything else. `processes`: more than there are checks,
/// too.
Evaluation alike(const EvaluationRequest& r) {
  Evaluation alone;
  nlohmann::json want;
  for (const int processes : {1, 2, 5, 16}) {
    auto e = evaluate(r, options_of(processes));
    EXPECT_TRUE(e) << e.error().message;
    if (!e) return {};
    e->elapsed_s = 0;
    e->gates = {};
    if (processes == 1) {
      alone = *e;
      want = *e;
    }
    EXPECT_EQ(nlohmann::json(*e).dump(1), want.dump(1)) << processes << " processes";
  }
  return alone;
}

void expect(Verdict verdict, const std::string& detail, const EvaluationRequest& r) {
  const auto e = alike(r);
  EXPECT_EQ(e.verdict, verdict) << to_string(e.verdict) << ": " << e.detail;
  EXPECT_NE(e.detail.find(detail), std::string::npos) << e.detail;
}

TEST(DividedChecks, GiveTheAnswerOfOneRunner) {
  const auto e = alike(request(kernel("y[i] = 2.0f * x[i] * (1.0f + 1e-6f * (n == 640));")));
  EXPECT_EQ(e.verdict, Verdict::kOk) << e.detail;
  EXPECT_GT(e.max_rel_error, 1e-7);
  EXPECT_GT(e.measurement.time_us, 0);
}

TEST(DividedChecks, TheFirstOfTheFailuresCountsWhoeverHasIt) {
  auto r = request(kernel("y[i] = n == 131 ? 3.0f : n == 3001 || n == 512 ? 4.0f : 2.0f * x[i];"));
  expect(Verdict::kWrongResult, "3", r);
  // The second of two parts alone.
  r = request(kernel("y[i] = n == 77 ? 3.0f : 2.0f * x[i];"));
  r.checks.resize(2);
  expect(Verdict::kWrongResult, "3", r);
  r = request(kernel("y[i] = n == 512 ? x[2 * n] : 2.0f * x[i];"));
  expect(Verdict::kFault, "x[512]", r);
  r = request(kernel("y[i] = n == 1 << 21 ? 3.0f : 2.0f * x[i];"));
  expect(Verdict::kWrongResult, "[2097152]", r);
  // On other inputs alone.
  r = request(kernel("y[i] = n == 77 && x[0] == x[1] ? 3.0f : 2.0f * x[i];"));
  expect(Verdict::kWrongResult, "", r);
}

TEST(DividedChecks, CallAtOneSizeAfterAnotherWhatKeepsAVariable) {
  // The second kernel notes at which size it was called first.
  const auto by_size = [](const char* factor) {
    auto r = request(kernel(std::string("y[i] = 2.0f * x[i] * ") + factor + ";",
                            "__device__ int first;\n__global__ void note(const float*, float*, int "
                            "n) { if (first == 0) first = n; }"));
    for (auto& check : r.checks) with_note(check.candidate);
    with_note(r.timed.candidate);
    return r;
  };
  expect(Verdict::kOk, "", by_size("1"));
  expect(Verdict::kWrongResult, "(when it is called at one size after another)",
         by_size("(first == 0 || first == n ? 1 : 3)"));
}

TEST(DividedChecks, ReorderTheSameChecks) {
  // The last block to come is another one under another order.
  const char* ticket = R"(
  __shared__ int mine;
  if (threadIdx.x == 0) mine = atomicAdd(&next, 1) % gridDim.x;
  __syncthreads();
  y[i] = 2.0f * x[i] * (n >= 3001 && mine != blockIdx.x ? 2 : 1);)";
  std::string source = kernel(ticket, "__device__ int next;");
  source.replace(source.find("if (i >= n) return;"), 19, "");
  source.replace(source.find("y[i] = 2"), 0, "if (i < n) ");
  for (const bool by_rules : {true, false}) {
    auto r = request(source);
    r.by_rules = by_rules;
    expect(Verdict::kWrongResult, "order", r);
  }
}

TEST(DividedChecks, LeaveOutWhereTheReferenceFails) {
  const auto faults = kernel("y[i] = n == 640 ? x[2 * n] : 2.0f * x[i];");
  expect(Verdict::kOk, "", request(kReference, faults));
  // The other inputs are of the smallest size; there the reference never ends on one set.
  const auto hangs = kernel(
      "float s = 0; if (n == 77 && x[0] == x[1]) while (y[i] != 1.5f) s += 1; y[i] = 2.0f * x[i] + "
      "s;");
  expect(Verdict::kOk, "", request(kReference, hangs));
  auto r = request(kReference, faults);
  for (auto& check : r.checks) check.hidden = false;
  for (const int processes : {1, 2}) {
    const auto e = evaluate(r, options_of(processes));
    ASSERT_FALSE(e);
    EXPECT_NE(e.error().message.find("the reference failed its check"), std::string::npos)
        << e.error().message;
  }
}

TEST(DividedChecks, OnOtherInputsTheReferenceMayTakeWhatFollowsFromItsOwn) {
  // In one warp some 56 million instructions on equal inputs: more than the least that it may take,
  // less than eight times what a longer check on the task's own takes.
  const auto reference = [](const char* own) {
    return kernel(fmt::format(
        "float s = 0; int most = i >= 32 ? 0 : n == 640 ? {} : n == 77 && x[0] == x[1] ? 14000000 "
        ": 0;\n#pragma unroll 1\nfor (int k = 0; k < most; ++k) s = s * 0.5f + 1.0f; y[i] = s > "
        "3.0f ? s : 2.0f * x[i];",
        own));
  };
  const auto wrong_there = kernel("y[i] = n == 77 && x[0] == x[1] ? 3.0f : 2.0f * x[i];");
  for (const auto& [own, verdict] :
       {std::pair{"10", Verdict::kOk}, std::pair{"2100000", Verdict::kWrongResult}}) {
    auto r = request(wrong_there, reference(own));
    std::erase_if(r.checks, [](const CheckCase& check) { return check.in_part; });
    for (const int processes : {1, 2}) {
      const auto e = evaluate(r, options_of(processes));
      ASSERT_TRUE(e) << e.error().message;
      EXPECT_EQ(e->verdict, verdict) << own << ", " << processes << " processes: " << e->detail;
    }
  }
}

TEST(DividedChecks, HoldBitsToWhatTheTaskAsks) {
  for (const auto math : {MathLevel::kExact, MathLevel::kReassociate}) {
    auto r = request(kernel("y[i] = n == 640 ? 2.0f * x[i] * 1.0000002f : 2.0f * x[i];"));
    r.math = math;
    r.claims = MathLevel::kExact;
    const auto e = alike(r);
    EXPECT_EQ(e.verdict, math == MathLevel::kExact ? Verdict::kWrongResult : Verdict::kOk);
    if (e.verdict == Verdict::kOk) EXPECT_EQ(e.math, MathLevel::kReassociate);
  }
}

/// hone-runner, but that emulate runners from the second start on do as `script` says, where it
/// says anything; $start is the how many-th it is.
class OddRunner {
 public:
  explicit OddRunner(const std::string& script) {
    path_ = testing::TempDir() + "/odd_runner_" + std::to_string(getpid());
    std::ofstream(path_) << "#!/bin/bash\nif [ \"$1\" = emulate ]; then\necho >> " << path_
                         << ".count\nstart=$(wc -l < " << path_ << ".count)\n"
                         << script << "\nfi\nexec " << HONE_BIN_DIR << "/hone-runner \"$@\"\n";
    chmod(path_.c_str(), 0755);
  }
  ~OddRunner() {
    unlink(path_.c_str());
    unlink((path_ + ".count").c_str());
  }
  [[nodiscard]] Result<Evaluation> evaluate(double timeout_s) const {
    auto options = options_of(2);
    options.runner_path = path_;
    options.sandbox = sandbox::Mode::kOff;  // there is no shell inside
    options.check_timeout_s = timeout_s;
    return hone::evaluate(request(kReference), options);
  }

 private:
  std::string path_;
};

// A runner that says hello, takes a request and ends or waits; a version below 24 is one CBOR byte.
static_assert(protocol::kVersion < 24);
const std::string kHello = fmt::format(
    "printf 'HON2\\x08\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\xa1\\x65hello\\x{:02x}' >&3\n"
    "head -c 10 <&3 >/dev/null\n",
    protocol::kVersion);

// Where all checks were in part the first one, which is dear, ran four times in the same way.
TEST(DividedChecks, OfWhatIsCheckedInPartNoOtherOrderIsAnItem) {
  std::vector<protocol::Case> checks(3);
  FurtherChecks further;  // of the first check several orders
  further.is_final = true;
  const auto items = items_of(checks, further);
  ASSERT_EQ(items.size(), 6U);
  EXPECT_EQ(items[3].check, 0U);
  EXPECT_EQ(items[3].order, 3);
  EXPECT_EQ(items[4].check, 1U);
  for (protocol::Case& one : checks) one.in_part = true;
  EXPECT_EQ(items_of(checks, further).size(), checks.size());
}

TEST(DividedChecks, APartWhoseProcessDiesOnceIsDoneAgain) {
  const auto e = OddRunner("if [ $start = 2 ]; then\n" + kHello + "kill -SEGV $$\nfi").evaluate(60);
  ASSERT_TRUE(e) << e.error().message;
  EXPECT_EQ(e->verdict, Verdict::kOk) << e->detail;
}

TEST(DividedChecks, APartThatKillsItsProcessesFails) {
  const auto e =
      OddRunner("if [ $start -ge 2 ]; then\n" + kHello + "kill -SEGV $$\nfi").evaluate(60);
  ASSERT_TRUE(e) << e.error().message;
  EXPECT_EQ(e->verdict, Verdict::kCrash);
  EXPECT_NE(e->detail.find("the emulator's runner died"), std::string::npos) << e->detail;
}

TEST(DividedChecks, APartThatHangsEndsWithTheTimeOfAll) {
  const auto e = OddRunner("if [ $start -ge 2 ]; then\n" + kHello + "sleep 60\nfi").evaluate(2);
  ASSERT_TRUE(e) << e.error().message;
  EXPECT_EQ(e->verdict, Verdict::kTimeout);
  EXPECT_NE(e->detail.find("took more than 2 s"), std::string::npos) << e->detail;
}

}  // namespace
}  // namespace hone
