// The whole way through hone-runner on the emulated GPU: small kernels, each verdict.
#include "evaluator/evaluator.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <cmath>
#include <thread>

#include "evaluator/pool/runner_pool.h"
#include "evaluator/protocol/messages.h"
#include "evaluator/roofline/floor.h"

namespace hone {
namespace {

constexpr const char* kReference = R"(
__global__ void scale(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2.0f * x[i];
}
)";

ConcreteProgram program(const std::string& source, std::int64_t n = 1000) {
  ConcreteProgram p;
  p.source = source;
  p.buffers = {{"x", ScalarType::kF32, {n}, Role::kIn, {}},
               {"y", ScalarType::kF32, {n}, Role::kOut, {}}};
  p.launches = {
      {"scale", {(n + 127) / 128, 1, 1}, {128, 1, 1}, 0, {BufferIndex{0}, BufferIndex{1}, n}}};
  return p;
}

EvaluationRequest request(const std::string& reference, const std::string& candidate) {
  EvaluationRequest r;
  for (const std::int64_t n : {1000, 77})
    r.checks.push_back({program(reference, n), program(candidate, n), 11});
  r.timed = {program(reference, 1 << 20), program(candidate, 1 << 20), 12};
  return r;
}

std::string with_body(const std::string& body) {
  return "__device__ int global_counter;\n"
         "__global__ void scale(const float* x, float* y, int n) {\n"
         "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n" +
         body + "\n}\n";
}

class OnTheEmulator : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    EvaluatorOptions options;
    options.compile_processes = 1;
    options.check_processes = 1;
    auto opened = Evaluator::open(*DeviceSpec::parse("emu:sm_90"), options);
    if (opened) {
      evaluator_ = std::move(*opened);
    } else {
      reason_ = opened.error().message;
    }
  }
  /// Not in SetUpTestSuite: what fails there skips the tests.
  void SetUp() override { ASSERT_TRUE(evaluator_) << reason_; }
  static void TearDownTestSuite() { evaluator_.reset(); }

  static Evaluation evaluate(const std::string& candidate) {
    auto result = evaluator_->evaluate(request(kReference, candidate));
    EXPECT_TRUE(result) << result.error().message;
    return result ? *result : Evaluation{};
  }
  static void expect(Verdict verdict, const std::string& detail, const std::string& candidate) {
    const auto e = evaluate(candidate);
    EXPECT_EQ(e.verdict, verdict) << to_string(e.verdict) << ": " << e.detail;
    EXPECT_NE(e.detail.find(detail), std::string::npos) << e.detail;
  }
  static Error refused(const EvaluationRequest& r) {
    const auto result = evaluator_->admit(r);
    EXPECT_FALSE(result);
    return result ? Error{} : result.error();
  }

  static std::unique_ptr<Evaluator> evaluator_;
  static std::string reason_;
};
std::unique_ptr<Evaluator> OnTheEmulator::evaluator_;
std::string OnTheEmulator::reason_;

TEST_F(OnTheEmulator, GoodCandidateIsOkAndModelled) {
  const auto e = evaluate(kReference);
  ASSERT_EQ(e.verdict, Verdict::kOk) << e.detail;
  EXPECT_EQ(e.max_rel_error, 0);
  EXPECT_TRUE(e.measurement.modelled);
  EXPECT_GT(e.measurement.time_us, 0);
  EXPECT_DOUBLE_EQ(e.measurement.speedup, 1);
  EXPECT_EQ(e.measurement.ci95_low, e.measurement.speedup);
  EXPECT_GT(e.measurement.roof_fraction, 0);
  EXPECT_LE(e.measurement.roof_fraction, 1.5);
  ASSERT_EQ(e.resources.size(), 1U);
  EXPECT_GT(e.resources[0].registers, 0);
  EXPECT_GT(e.resources[0].occupancy, 0);
  EXPECT_GT(e.measurement.counters.at("warp_instructions"), 0);
}

// Right to 2^-20 of 1 everywhere, and of tiny values no bit: the task's own inputs do not tell.
TEST_F(OnTheEmulator, TinyValuesTellWhatLosesTheirBits) {
  auto r = request(with_body("if (i < n) y[i] = tanhf(x[i]);"),
                   with_body("if (i < n) y[i] = 1 - __fdividef(2.0f, __expf(2 * x[i]) + 1);"));
  const auto own = evaluator_->evaluate(r);
  ASSERT_TRUE(own) << own.error().message;
  EXPECT_EQ(own->verdict, Verdict::kOk) << own->detail;
  r.checks.push_back(r.checks[1]);
  r.checks[2].inputs = InputSet::kPatterns;
  r.checks[2].seed = seed_of_tiny_values(77);
  const auto tiny = evaluator_->evaluate(r);
  ASSERT_TRUE(tiny) << tiny.error().message;
  EXPECT_EQ(tiny->verdict, Verdict::kWrongResult) << tiny->detail;
  EXPECT_NE(tiny->detail.find("with a pattern"), std::string::npos) << tiny->detail;
}

TEST_F(OnTheEmulator, WhereTheReferenceHasNoRightDigitSoMayACandidate) {
  // In f32 nothing is left of x in those few elements, in double everything.
  const auto kernel = [](const char* few) {
    return std::string(
               "__global__ void scale(const float* x, float* y, int n) {\n"
               "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
               "  if (i >= n) return;\n"
               "  float z = __fmul_rn(x[i], 1e9f);\n"
               "  y[i] = i % 1500 == 7 ? __fsub_rn(__fadd_rn(z, x[i] + 3.0f), z) : ") +
           few + ";\n}\n";
  };
  const auto verdict = [&](const char* few, InputSet inputs) {
    EvaluationRequest r;
    r.checks.push_back({program(kernel("2.0f * x[i]"), 6000), program(kernel(few), 6000), 11});
    r.checks[0].inputs = inputs;
    r.timed = {program(kReference, 6000), program(kReference, 6000), 12};
    const auto e = evaluator_->evaluate(r);
    EXPECT_TRUE(e) << e.error().message;
    return e ? e->verdict : Verdict::kCrash;
  };
  EXPECT_EQ(verdict("i % 1000 == 9 ? 3.0f : 2.0f * x[i]", InputSet::kEither), Verdict::kOk);
  EXPECT_EQ(verdict("i % 1000 == 9 ? 3.0f : 2.0f * x[i]", InputSet::kOwn), Verdict::kWrongResult);
  EXPECT_EQ(verdict("i % 100 == 9 ? 3.0f : 2.0f * x[i]", InputSet::kEither), Verdict::kWrongResult);
}

TEST_F(OnTheEmulator, TheSameRequestGivesTheSameAnswer) {
  const auto a = evaluate(kReference), b = evaluate(kReference);
  EXPECT_EQ(a.measurement.time_us, b.measurement.time_us);
  EXPECT_EQ(a.measurement.counters, b.measurement.counters);
}

TEST_F(OnTheEmulator, WhatWasTimedIsCheckedAndNotTimedAgain) {
  const auto first = evaluate(with_body("if (i < n) y[i] = x[i] + x[i];"));
  ASSERT_EQ(first.verdict, Verdict::kOk) << first.detail;
  EXPECT_FALSE(first.timed_before);
  ASSERT_FALSE(first.timing_key.empty());
  // Other words for the same machine code.
  auto again = request(kReference, with_body("if (i >= n) return; float v = x[i]; y[i] = v + v;"));
  again.known_times = std::make_shared<KnownTimes>(KnownTimes{{first.timing_key, 123}});
  const auto second = evaluator_->evaluate(again);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->timing_key, first.timing_key);
  EXPECT_EQ(second->verdict, Verdict::kOk) << second->detail;
  EXPECT_TRUE(second->timed_before);
  EXPECT_EQ(second->measurement.time_us, 123);
  EXPECT_TRUE(second->measurement.counters.empty()) << "it was modelled";
  // Its program at a check size is another one.
  auto wrong = again;
  wrong.checks[1].candidate.source = with_body("if (i < n) y[i] = x[i];");
  const auto third = evaluator_->evaluate(wrong);
  ASSERT_TRUE(third);
  EXPECT_EQ(third->verdict, Verdict::kWrongResult);
  EXPECT_FALSE(third->timed_before);
  // A final stage times what it is given; so does one that holds the answers to another level.
  auto final_stage = again, looser = again;
  final_stage.stage = Stage::kFinal;
  looser.math = looser.claims = MathLevel::kTf32;
  for (const auto& timed : {final_stage, looser}) {
    const auto evaluation = evaluator_->evaluate(timed);
    ASSERT_TRUE(evaluation);
    EXPECT_FALSE(evaluation->timed_before);
    EXPECT_NE(evaluation->measurement.time_us, 123);
  }
}

TEST_F(OnTheEmulator, ErrorWithinToleranceIsReported) {
  const auto e = evaluate(with_body("if (i < n) y[i] = 2.0f * x[i] * (1.0f + 8e-7f);"));
  EXPECT_EQ(e.verdict, Verdict::kOk) << e.detail;
  EXPECT_GT(e.max_rel_error, 1e-7);
  EXPECT_LT(e.max_rel_error, 1e-5);
}

TEST_F(OnTheEmulator, WrongResult) {
  expect(Verdict::kWrongResult, "y[0] is ", with_body("if (i < n) y[i] = 2.1f * x[i];"));
}
TEST_F(OnTheEmulator, OneWrongElement) {
  expect(Verdict::kWrongResult, "y[76] is ",
         with_body("if (i < n) y[i] = n == 77 && i == 76 ? 9.0f : 2.0f * x[i];"));
}
TEST_F(OnTheEmulator, NanWhereANumberBelongs) {
  const auto e = evaluate(with_body("if (i < n) y[i] = i == 3 ? NAN : 2.0f * x[i];"));
  EXPECT_EQ(e.verdict, Verdict::kWrongResult);
  EXPECT_TRUE(std::isfinite(e.max_rel_error)) << "JSON cannot hold infinity";
}
TEST_F(OnTheEmulator, NothingWritten) {
  expect(Verdict::kWrongResult, "was not written", with_body(""));
}
TEST_F(OnTheEmulator, PartlyWritten) {
  expect(Verdict::kWrongResult, "y[500] was not written",
         with_body("if (i < n && i != 500) y[i] = 2.0f * x[i];"));
}

// Of the first two elements only one gets a value.
const std::string kOpenElement = with_body(
    "if (i == 0) asm volatile(\"{ .reg .f32 open; st.global.v2.f32 [%0], {%1, open}; }\"\n"
    "                         :: \"l\"(y), \"f\"(2.0f * x[0]) : \"memory\");\n"
    "  else if (i > 1 && i < n) y[i] = 2.0f * x[i];");

TEST_F(OnTheEmulator, AnElementOfAVectorThatHoldsNothing) {
  expect(Verdict::kWrongResult, "y[1] was not written", kOpenElement);
}
TEST_F(OnTheEmulator, AnElementOfAVectorThatHoldsNothingOverWhatWasThere) {
  auto r = request(kOpenElement, kOpenElement);
  for (CheckCase& check : r.checks) check.reference.buffers[1].role = Role::kInOut;
  const Error e = refused(r);
  EXPECT_NE(e.message.find("leaves y[1] unwritten"), std::string::npos) << e.message;
}
TEST_F(OnTheEmulator, OutOfBoundsWrite) {
  expect(Verdict::kFault, "y", with_body("y[i] = i < n ? 2.0f * x[i] : 0.0f;"));
}
TEST_F(OnTheEmulator, OutOfBoundsRead) {
  expect(Verdict::kFault, "x",
         with_body("volatile const float* p = x; float v = p[i]; if (i < n) y[i] = 2.0f * v;"));
}
TEST_F(OnTheEmulator, SharedMemoryRace) {
  expect(Verdict::kRace, "",
         with_body("__shared__ float s[128]; s[threadIdx.x] = i < n ? x[i] : 0.0f;\n"
                   "  float v = s[127 - threadIdx.x]; s[127 - threadIdx.x] = v;\n"
                   "  if (i < n) y[i] = 2.0f * x[i] + 0.0f * v;"));
}
TEST_F(OnTheEmulator, EndlessLoop) {
  expect(Verdict::kTimeout, "",
         with_body("volatile const float* p = x; while (p[0] != 12345.0f) {}\n"
                   "  if (i < n) y[i] = 2.0f * x[i];"));
}
TEST_F(OnTheEmulator, InputWritten) {
  expect(Verdict::kTampering, "'x' was written",
         with_body("if (i < n) { y[i] = 2.0f * x[i]; ((float*)x)[i] = 0.0f; }"));
}
TEST_F(OnTheEmulator, CompileErrorHasItsLine) {
  expect(Verdict::kCompileError, "line 4: identifier \"oops\" is undefined",
         with_body("y[i] = oops;"));
}
TEST_F(OnTheEmulator, HostFileIncluded) {
  expect(Verdict::kCompileError, "only CUDA's own headers",
         "#include \"/etc/passwd\"\n" + std::string(kReference));
}
TEST_F(OnTheEmulator, KernelRenamed) {
  expect(Verdict::kCompileError, "no kernel 'scale'",
         "__global__ void other(const float*, float*, int) {}");
}
TEST_F(OnTheEmulator, SignatureChanged) {
  expect(Verdict::kLaunchError, "takes 2 arguments, 3 are given",
         "__global__ void scale(const float* x, float* y) { y[0] = x[0]; }");
}
TEST_F(OnTheEmulator, TooMuchSharedMemory) {
  auto r = request(kReference, kReference);
  for (auto* c : {&r.checks[0], &r.checks[1], &r.timed})
    c->candidate.launches[0].shared_bytes = 300 << 10;
  const auto e = evaluator_->evaluate(r);
  ASSERT_TRUE(e);
  EXPECT_EQ(e->verdict, Verdict::kLaunchError) << e->detail;
  EXPECT_NE(e->detail.find("shared memory"), std::string::npos) << e->detail;
}
TEST_F(OnTheEmulator, LaunchBoundsExceeded) {
  expect(Verdict::kLaunchError, "__launch_bounds__",
         "__global__ void __launch_bounds__(64) scale(const float* x, float* y, int n) {}");
}

TEST_F(OnTheEmulator, CandidateWithMoreLaunchesAndScratch) {
  auto r = request(kReference, R"(
__global__ void first(const float* x, float* t, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) t[i] = x[i] + x[i]; }
__global__ void second(const float* t, float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = t[i]; })");
  for (auto* c : {&r.checks[0], &r.checks[1], &r.timed}) {
    auto& p = c->candidate;
    p.buffers.insert(p.buffers.begin(),
                     {"t", ScalarType::kF32, p.buffers[0].shape, Role::kScratch, {}});
    const auto n = std::get<std::int64_t>(p.launches[0].args[2]);
    auto second = p.launches[0];
    p.launches[0].kernel = "first";
    p.launches[0].args = {BufferIndex{1}, BufferIndex{0}, n};
    second.kernel = "second";
    second.args = {BufferIndex{0}, BufferIndex{2}, n};
    p.launches.push_back(second);
  }
  const auto e = evaluator_->evaluate(r);
  ASSERT_TRUE(e);
  EXPECT_EQ(e->verdict, Verdict::kOk) << e->detail;
  EXPECT_EQ(e->resources.size(), 2U);
}

// Every block writes y[0], atomically: right only where the last block comes last.
const std::string kLastBlockWins = with_body(
    "if (threadIdx.x == 0) atomicExch((int*)y, blockIdx.x == gridDim.x - 1 ? "
    "__float_as_int(2.0f * x[0]) : 0);\n"
    "if (i > 0 && i < n) y[i] = 2.0f * x[i];");

TEST_F(OnTheEmulator, AnswersThatDependOnTheOrderOfBlocks) {
  expect(Verdict::kWrongResult,
         "the answer depends on the order in which blocks and warps run: y[0]", kLastBlockWins);
  const Error e = refused(request(kLastBlockWins, kReference));
  EXPECT_NE(e.message.find("the answer depends on the order"), std::string::npos) << e.message;
}

TEST_F(OnTheEmulator, CandidateCannotRelabelItsBuffers) {
  // Declaring the input inout, or the output an input filled with the answer, changes nothing.
  auto r =
      request(kReference, with_body("if (i < n) { y[i] = 2.0f * x[i]; ((float*)x)[i] = 0.0f; }"));
  for (auto* c : {&r.checks[0], &r.checks[1], &r.timed})
    c->candidate.buffers[0].role = Role::kInOut;
  auto e = evaluator_->evaluate(r);
  ASSERT_TRUE(e);
  EXPECT_EQ(e->verdict, Verdict::kTampering) << e->detail;
  r = request(kReference, with_body(""));
  for (auto* c : {&r.checks[0], &r.checks[1], &r.timed})
    c->candidate.buffers[1].role = Role::kInOut;
  e = evaluator_->evaluate(r);
  ASSERT_TRUE(e);
  EXPECT_EQ(e->verdict, Verdict::kWrongResult) << e->detail;
}

TEST_F(OnTheEmulator, AdmitsAGoodTask) {
  const auto e = evaluator_->admit(request(kReference, kReference));
  ASSERT_TRUE(e) << e.error().message;
  EXPECT_EQ(e->verdict, Verdict::kOk);
  EXPECT_GT(e->measurement.time_us, 0);
}

TEST_F(OnTheEmulator, RefusesBadReferences) {
  struct Bad {
    std::string source;
    ErrorCode code;
    std::string message;
  };
  for (const auto& bad : std::vector<Bad>{
           {with_body("y[i] = oops;"), ErrorCode::kTaskFailed, "does not compile: line 4"},
           {"__global__ void scal(const float*, float*, int) {}", ErrorCode::kInvalidInput,
            "no kernel 'scale'"},
           {"__global__ void scale(const float* x, float* y) {}", ErrorCode::kInvalidInput,
            "takes 2 arguments, 3 are given"},
           {"__global__ void scale(const float* x, float* y, float* n) {}",
            ErrorCode::kInvalidInput, "args[2]"},
           {"__global__ void scale(const float* x, double* y, int n) {}", ErrorCode::kInvalidInput,
            "args[1]"},
           {"__global__ void scale(int x, float* y, int n) {}", ErrorCode::kInvalidInput,
            "args[0]"},
           {with_body("y[i] = 2.0f * x[i < n ? i : 0];"), ErrorCode::kTaskFailed, "faults"},
           {with_body(""), ErrorCode::kTaskFailed, "writes nothing to 'y'"},
           {with_body("if (i < n && i != 7) y[i] = 1.0f;"), ErrorCode::kTaskFailed,
            "leaves y[7] unwritten"},
           {with_body("if (i < n) { y[i] = 1.0f; ((float*)x)[i] = 2.0f; }"), ErrorCode::kTaskFailed,
            "role inout"},
           {with_body("while (y[0] != 3.0f) y[0] = 1.0f;"), ErrorCode::kTaskFailed, ""},
           {with_body("if (i < n) y[i] = (float)((unsigned long long)y >> 8 & 0xFFFF);"),
            ErrorCode::kTaskFailed, "different answers"},
           {with_body("if (i < n) y[i] = (float)(clock64() & 0xFFFF);"), ErrorCode::kTaskFailed,
            "different answers"},
           {with_body("if (i < n) y[i] = (float)global_counter;\n"
                      "  if (i == 0 && n == 77) global_counter = n;"),
            ErrorCode::kTaskFailed, ""},
       }) {
    const auto error = refused(request(bad.source, bad.source));
    EXPECT_EQ(error.code, bad.code) << bad.source << error.message;
    EXPECT_NE(error.message.find(bad.message), std::string::npos) << error.message;
    EXPECT_EQ(error.message.find('\n'), std::string::npos) << error.message;
  }
}

TEST_F(OnTheEmulator, RefusesWhatNoMemoryHolds) {
  auto r = request(kReference, kReference);
  r.timed.reference.buffers[0].shape = {std::int64_t{1} << 39};
  const auto error = refused(r);
  EXPECT_EQ(error.code, ErrorCode::kInvalidInput);
  EXPECT_NE(error.message.find("GB"), std::string::npos);
}

TEST_F(OnTheEmulator, BigTimedSizesFitASmallMachine) {
  auto r = request(kReference, kReference);
  r.timed = {program(kReference, 1500000000), program(kReference, 1500000000), 1};
  const auto e = evaluator_->evaluate(r);
  ASSERT_TRUE(e);
  EXPECT_EQ(e->verdict, Verdict::kOk) << e->detail;
  EXPECT_GT(e->measurement.time_us, 1000);
}

TEST_F(OnTheEmulator, CompileBombEndsAsTimeout) {
  EvaluatorOptions options;
  options.compile_processes = options.check_processes = 1;
  options.compile_timeout_s = 1;
  auto evaluator = Evaluator::open(*DeviceSpec::parse("emu:sm_90"), options);
  ASSERT_TRUE(evaluator);
  const auto e = (*evaluator)->evaluate(request(kReference, R"(
template <int N, int M> struct Bomb { static constexpr int v = Bomb<N - 1, M>::v + Bomb<N - 1, M + 1>::v; };
template <int M> struct Bomb<0, M> { static constexpr int v = M; };
template <int N> __device__ int f(int x) { int s = 0;
#pragma unroll
  for (int i = 0; i < 64; ++i) s += f<N - 1>(x * i + N) ^ i; return s; }
template <> __device__ int f<0>(int x) { return x; }
__global__ void scale(const float* x, float* y, int n) { y[0] = f<8>(n) + Bomb<400, 0>::v; })"));
  ASSERT_TRUE(e) << e.error().message;
  EXPECT_TRUE(e->verdict == Verdict::kTimeout || e->verdict == Verdict::kCompileError) << e->detail;
}

TEST_F(OnTheEmulator, CancelEndsWhatRuns) {
  auto evaluator = Evaluator::open(*DeviceSpec::parse("emu:sm_90"));
  ASSERT_TRUE(evaluator);
  std::thread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    (*evaluator)->cancel();
  });
  for (int i = 0; i < 1000; ++i) {
    const auto e = (*evaluator)->evaluate(request(kReference, kReference));
    if (e) continue;
    EXPECT_EQ(e.error().code, ErrorCode::kInfrastructure);
    canceller.join();
    return;
  }
  canceller.join();
  FAIL() << "cancel had no effect";
}

TEST(RunnerPool, KilledRunnersCostNothingButTime) {
  pool::RunnerPool pool("compile", 1, {});
  const CompileJob job{kReference, {}, {"scale"}, "sm_90"};
  ASSERT_TRUE(pool.call(protocol::to_message(job), 60).ok());
  for (const pid_t pid : pool.pids()) ASSERT_EQ(kill(pid, SIGKILL), 0);
  const auto again = pool.call(protocol::to_message(job), 60);
  ASSERT_TRUE(again.ok()) << again.detail;
  const auto compiled = protocol::compiled_program_from(again.reply);
  ASSERT_TRUE(compiled);
  EXPECT_EQ(compiled->verdict, Verdict::kOk);
}

TEST(RunnerPool, ServesAgainAfterACancelIsTakenBack) {
  pool::RunnerPool pool("compile", 1, {});
  const CompileJob job{kReference, {}, {"scale"}, "sm_90"};
  ASSERT_TRUE(pool.call(protocol::to_message(job), 60).ok());
  pool.cancel();
  EXPECT_EQ(pool.call(protocol::to_message(job), 60).status, pool::Outcome::Status::kCancelled);
  pool.resume();
  EXPECT_TRUE(pool.call(protocol::to_message(job), 60).ok());
}

TEST(RunnerPool, NonsenseGetsAnErrorNotACrash) {
  for (const char* mode : {"compile", "emulate"}) {
    pool::RunnerPool pool(mode, 1, {});
    for (const nlohmann::json& m :
         {nlohmann::json(nullptr), nlohmann::json(1), nlohmann::json::array(),
          nlohmann::json{{"op", "emulate"}, {"arch", 3}}}) {
      const auto outcome = pool.call(m, 60);
      ASSERT_TRUE(outcome.ok()) << outcome.detail;
      EXPECT_TRUE(outcome.reply.contains("error"));
    }
    EXPECT_EQ(pool.pids().size(), 1U);
  }
}

TEST(Evaluator, DevicesAreParsed) {
  EXPECT_EQ(DeviceSpec::parse("cuda:3")->ordinal, 3);
  EXPECT_EQ(DeviceSpec::parse("cuda:3")->text(), "cuda:3");
  EXPECT_EQ(DeviceSpec::parse("emu:sm_90")->text(), "emu:sm_90");
  for (const char* bad : {"", "gpu", "cuda:", "cuda:-1", "cuda:1x", "emu:", "emu:sm_20"}) {
    const auto spec = DeviceSpec::parse(bad);
    ASSERT_FALSE(spec) << bad;
    EXPECT_EQ(spec.error().code, ErrorCode::kInvalidInput);
  }
}

TEST(Evaluator, DoctorNamesWhatHoneNeeds) {
  const auto items = diagnose();
  bool runner = false, nvrtc = false;
  int layers = 0;
  for (const auto& item : items) {
    if (item.name == "hone-runner") runner = item.present && item.required;
    if (item.name == "NVRTC") nvrtc = item.present;
    EXPECT_TRUE(!item.detail.empty() || item.name.starts_with("sandbox: ")) << item.name;
    layers += item.name.starts_with("sandbox: ") ? 1 : 0;
  }
  EXPECT_EQ(layers, sandbox::kLayerCount);
  EXPECT_TRUE(runner);
  EXPECT_TRUE(nvrtc);
}

TEST(DeviceSpec, OneSpellingForOneDevice) {
  for (const auto& [text, want] : {std::pair<const char*, const char*>{"emu", "emu:sm_90"},
                                   {"emu:sm_90a", "emu:sm_90"},
                                   {"emu:sm_90/h100", "emu:sm_90/H100"},
                                   {"emu:sm_90/H100", "emu:sm_90/H100"},
                                   {"cuda", "cuda:0"}}) {
    const auto spec = DeviceSpec::parse(text);
    ASSERT_TRUE(spec) << text;
    EXPECT_EQ(spec->text(), want);
  }
  EXPECT_FALSE(DeviceSpec::parse("emu:sm_90/H1000"));
  EXPECT_FALSE(DeviceSpec::parse("cuda:-1"));
}

TEST(Roof, IsTheSlowerOfTrafficAndArithmetic) {
  DeviceInfo device;
  device.ceilings.dram_bytes_per_s = 1e12;
  device.ceilings.fp32_flops_per_s = 1e13;
  const auto p = program(kReference, 250000);  // 1 MB in, 1 MB out
  EXPECT_DOUBLE_EQ(roof_of(p, 0, MathLevel::kReassociate, device).time_us, 2);
  EXPECT_TRUE(roof_of(p, 0, MathLevel::kReassociate, device).memory_bound);
  EXPECT_DOUBLE_EQ(roof_of(p, 1e9, MathLevel::kReassociate, device).time_us, 100);
  EXPECT_FALSE(roof_of(p, 1e9, MathLevel::kReassociate, device).memory_bound);
}

TEST(Roof, UsesTheArithmeticThatTheLevelAllows) {
  DeviceInfo device;
  device.ceilings.fp32_flops_per_s = 6e13;
  device.ceilings.tf32_flops_per_s = 4.5e14;
  device.ceilings.f16_flops_per_s = 9e14;
  const auto p = program(kReference, 1000);
  EXPECT_DOUBLE_EQ(roof_of(p, 9e12, MathLevel::kExact, device).time_us, 150000);
  EXPECT_DOUBLE_EQ(roof_of(p, 9e12, MathLevel::kTf32x3, device).time_us, 60000);
  EXPECT_DOUBLE_EQ(roof_of(p, 9e12, MathLevel::kTf32, device).time_us, 20000);
  EXPECT_DOUBLE_EQ(roof_of(p, 9e12, MathLevel::kReduced, device).time_us, 10000);
  auto fp8 = p;
  for (auto& buffer : fp8.buffers) buffer.type = ScalarType::kE4m3;
  EXPECT_DOUBLE_EQ(roof_of(fp8, 9e12, MathLevel::kReassociate, device).time_us, 10000);
  device.ceilings.s8_ops_per_s = 1.8e15;
  EXPECT_DOUBLE_EQ(roof_of(fp8, 9e12, MathLevel::kReassociate, device).time_us, 5000);
  EXPECT_DOUBLE_EQ(roof_of(p, 9e12, MathLevel::kReduced, device).time_us, 10000);
}

TEST(Floor, CountsWhatIsReadWholeAndWhatTheCacheCannotHold) {
  Ceilings c;
  c.dram_read_bytes_per_s = 2e12;
  c.dram_bytes_per_s = 2.5e12;
  c.l2_bytes = 400'000;
  const auto p = program(kReference, 250000);          // 1 MB in, 1 MB out
  EXPECT_DOUBLE_EQ(floor_of(p, {}, c).time_us, 0.24);  // 0.6 MB written back
  std::string input;
  for (const auto& buffer : p.buffers)
    if (buffer.role == Role::kIn) input = buffer.name;
  const Floor floor = floor_of(p, {input}, c);
  EXPECT_DOUBLE_EQ(floor.time_us, 0.64);
  EXPECT_EQ(floor.why, "moving 1.5 MiB takes 0.64 us at 2.50 TB/s");
  EXPECT_EQ(floor_of(p, {input}, Ceilings{}).time_us, 0);
}

TEST(Floor, IsAsSureAsTheCeilings) {
  const Floor floor{.time_us = 105, .why = "moving"};
  Ceilings c;
  c.uncertainty = 0.06;
  EXPECT_FALSE(is_impossible(100, floor, c));
  c.uncertainty = 0.04;
  EXPECT_TRUE(is_impossible(100, floor, c));
  EXPECT_FALSE(is_impossible(100, Floor{}, c));
}

}  // namespace
}  // namespace hone
