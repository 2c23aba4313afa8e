// The whole way on a real GPU: label `gpu`, skipped where there is none. Every candidate here
// passes through the emulated check first where that can see its fault, so the cases that are meant
// for the device's own checks misbehave at the timed size only.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "evaluator/evaluator.h"

namespace hone {
namespace {

constexpr std::int64_t kTimed = 1 << 22;

const std::string kReference = R"(
__global__ void scale(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2.0f * x[i];
}
)";

std::string with_body(const std::string& body) {
  return "__device__ float kept;\n__device__ int counter;\n"
         "__global__ void scale(const float* x, float* y, int n) {\n"
         "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
         "  const bool timed = n == 4194304;\n" +
         body + "\n}\n";
}

ConcreteProgram program(const std::string& source, std::int64_t n) {
  ConcreteProgram p;
  p.source = source;
  p.buffers = {{"x", ScalarType::kF32, {n}, Role::kIn, {}},
               {"y", ScalarType::kF32, {n}, Role::kOut, {}}};
  p.launches = {
      {"scale", {(n + 255) / 256, 1, 1}, {256, 1, 1}, 0, {BufferIndex{0}, BufferIndex{1}, n}}};
  return p;
}

EvaluationRequest request(const std::string& reference, const std::string& candidate) {
  EvaluationRequest r;
  for (const std::int64_t n : {1000, 77})
    r.checks.push_back({program(reference, n), program(candidate, n), 11});
  r.timed = {program(reference, kTimed), program(candidate, kTimed), 12};
  r.seed = 5;
  return r;
}

class OnTheGpu : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    EvaluatorOptions options;
    options.device_timeout_s = 5;
    auto opened = Evaluator::open(*DeviceSpec::parse("cuda:0"), options);
    if (opened) {
      evaluator_ = std::move(*opened);
    } else {
      reason_ = opened.error().message;
    }
  }
  static void TearDownTestSuite() { evaluator_.reset(); }
  void SetUp() override {
    if (evaluator_) return;
    if (std::getenv("HONE_REQUIRE_GPU") != nullptr) FAIL() << reason_;
    GTEST_SKIP() << reason_;
  }

  static Evaluation evaluate(const EvaluationRequest& r) {
    auto result = evaluator_->evaluate(r);
    EXPECT_TRUE(result) << result.error().message;
    return result ? *result : Evaluation{};
  }
  static void expect(Verdict verdict, const std::string& detail, const std::string& candidate) {
    const auto e = evaluate(request(kReference, candidate));
    EXPECT_EQ(e.verdict, verdict) << to_string(e.verdict) << ": " << e.detail;
    EXPECT_NE(e.detail.find(detail), std::string::npos) << e.detail;
    // Whatever happened, the next one is served.
    const auto next = evaluate(request(kReference, kReference));
    EXPECT_EQ(next.verdict, Verdict::kOk) << next.detail;
  }

  static std::unique_ptr<Evaluator> evaluator_;
  static std::string reason_;
};
std::unique_ptr<Evaluator> OnTheGpu::evaluator_;
std::string OnTheGpu::reason_;

TEST_F(OnTheGpu, KnowsItsDevice) {
  const auto& info = evaluator_->info();
  EXPECT_FALSE(info.name.empty());
  EXPECT_GT(info.sm_count, 0);
  EXPECT_GT(info.memory_bytes, 1 << 30);
  EXPECT_GT(info.ceilings.dram_bytes_per_s, 1e10);
  EXPECT_GT(info.ceilings.fp32_flops_per_s, 1e11);
}

TEST_F(OnTheGpu, AdmitsAndTimesTheReference) {
  const auto e = evaluator_->admit(request(kReference, kReference));
  ASSERT_TRUE(e) << e.error().message;
  EXPECT_GT(e->measurement.time_us, 1);
  EXPECT_GE(e->measurement.samples_us.size(), 3U);
  EXPECT_FALSE(e->measurement.modelled);
  EXPECT_LE(e->measurement.roof_fraction, 1.1);
}

TEST_F(OnTheGpu, ReferenceAgainstItselfIsOne) {
  auto r = request(kReference, kReference);
  r.stage = Stage::kFinal;
  const auto e = evaluate(r);
  ASSERT_EQ(e.verdict, Verdict::kOk) << e.detail;
  EXPECT_TRUE(e.final_stage);
  EXPECT_GT(e.measurement.speedup, 0.8);
  EXPECT_LT(e.measurement.speedup, 1.25);
  EXPECT_LE(e.measurement.ci95_low, e.measurement.speedup);
  EXPECT_GE(e.measurement.ci95_high, e.measurement.speedup);
  EXPECT_GE(e.measurement.samples_us.size(), 20U);
  EXPECT_EQ(e.max_rel_error, 0);
}

TEST_F(OnTheGpu, SlowerCandidateStopsEarly) {
  auto r = request(kReference, with_body("for (int k = 0; k < 50; ++k) if (i < n) "
                                         "((volatile float*)y)[i] = 2.0f * x[i];"));
  const auto quick = evaluate(request(kReference, kReference));
  r.best_time_us = quick.measurement.time_us;
  const auto e = evaluate(r);
  ASSERT_EQ(e.verdict, Verdict::kOk) << e.detail;
  EXPECT_LT(e.measurement.speedup, 0.7);
  EXPECT_LT(e.measurement.samples_us.size(), quick.measurement.samples_us.size());
}

TEST_F(OnTheGpu, WrongAtTheTimedSizeOnly) {
  expect(Verdict::kWrongResult, "y[4194303]",
         with_body("if (i < n) y[i] = timed && i == n - 1 ? 7.0f : 2.0f * x[i];"));
}
TEST_F(OnTheGpu, PartlyWrittenAtTheTimedSize) {
  expect(Verdict::kWrongResult, "y[",
         with_body("if (i < n && !(timed && i == 12345)) y[i] = 2.0f * x[i];"));
}
TEST_F(OnTheGpu, InputWritten) {
  expect(Verdict::kTampering, "'x' was written",
         with_body("if (i < n) y[i] = 2.0f * x[i]; if (timed && i == 99) ((float*)x)[i] = 3.0f;"));
}
TEST_F(OnTheGpu, GuardZoneWritten) {
  expect(Verdict::kFault, "out-of-bounds write",
         with_body("if (i < n) y[i] = 2.0f * x[i]; if (timed && i == 0) y[n] = 3.0f;"));
}
TEST_F(OnTheGpu, IllegalAddress) {
  expect(Verdict::kFault, "CUDA_ERROR_ILLEGAL_ADDRESS",
         with_body("if (i < n) y[i] = 2.0f * x[i]; if (timed && i == 0) *(float*)16 = 3.0f;"));
}
TEST_F(OnTheGpu, Misaligned) {
  expect(
      Verdict::kFault, "MISALIGNED",
      with_body(
          "if (i < n) y[i] = 2.0f * x[i]; if (timed && i == 0) *(float*)((char*)y + 2) = 3.0f;"));
}
TEST_F(OnTheGpu, Trap) {
  expect(Verdict::kFault, "",
         with_body("if (i < n) y[i] = 2.0f * x[i]; if (timed && i == 0) __trap();"));
}
TEST_F(OnTheGpu, Hang) {
  expect(Verdict::kTimeout, "still running",
         with_body("if (i < n) y[i] = 2.0f * x[i]; if (timed && i == 0) while (((volatile "
                   "int*)&counter)[0] == 0) {}"));
}
TEST_F(OnTheGpu, AnswersKeptBetweenRunsAreOfNoUse) {
  // Computes in the first launch after loading, then only copies what is there already.
  expect(Verdict::kWrongResult, "",
         with_body("if (timed && counter != 0) return; if (i < n) y[i] = 2.0f * x[i]; "
                   "__syncthreads(); if (timed && i == n - 1) counter = 1;"));
}
TEST_F(OnTheGpu, WrongInOneTimedRunOnly) {
  auto r = request(kReference, with_body("if (i < n) y[i] = 2.0f * x[i]; "
                                         "if (timed && i == 5 && ++counter == 4) y[i] = 7.0f;"));
  r.stage = Stage::kFinal;
  const auto e = evaluate(r);
  EXPECT_EQ(e.verdict, Verdict::kWrongResult);
  EXPECT_NE(e.detail.find("(in a timed launch)"), std::string::npos) << e.detail;
}
// Right only where nothing is left of an earlier run.
TEST_F(OnTheGpu, OnAFilesContentsModulesAreFreshInEveryTimedRun) {
  const std::string path = testing::TempDir() + "hone_gpu_inputs.bin";
  const std::vector<float> contents(kTimed, 0.75F);
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(contents.data()), 4 * kTimed);
  auto r = request(kReference, "__device__ unsigned char ran[4194304];\n" +
                                   with_body("if (i < n) y[i] = ran[i] ? 0.0f : 2.0f * x[i]; "
                                             "if (timed) ran[i] = 1;"));
  r.stage = Stage::kFinal;
  EXPECT_EQ(evaluate(r).verdict, Verdict::kWrongResult);  // nothing is loaded for every pair
  for (auto* p : {&r.timed.reference, &r.timed.candidate})
    p->buffers[0].fill = {Fill::Kind::kFile, 0, 0, path};
  EvaluatorOptions options;
  options.input_files = {path};
  auto evaluator = Evaluator::open(*DeviceSpec::parse("cuda:0"), options);
  ASSERT_TRUE(evaluator) << evaluator.error().message;
  const auto e = (*evaluator)->evaluate(r);
  std::filesystem::remove(path);
  ASSERT_TRUE(e) << e.error().message;
  EXPECT_EQ(e->verdict, Verdict::kOk) << e->detail;
  EXPECT_GT(e->measurement.warm_time_us, 0);
}
TEST_F(OnTheGpu, FewerBitsAtTheTimedSizeOnly) {
  auto r = request(kReference, "#include <cuda_bf16.h>\n" +
                                   with_body("if (i < n) y[i] = 2.0f * (timed ? "
                                             "__bfloat162float(__float2bfloat16(x[i])) : x[i]);"));
  r.tolerance = {1e-2, 1e-2};
  r.stage = Stage::kFinal;
  EXPECT_EQ(evaluate(r).verdict, Verdict::kOk);
  r.checks[0].inputs = InputSet::kMultiples;
  const auto e = evaluate(r);
  EXPECT_EQ(e.verdict, Verdict::kWrongResult);
  EXPECT_NE(e.detail.find("at the timed size, on inputs with exact answers"), std::string::npos)
      << e.detail;
}
// Sixteen sums of 262144 numbers one after the other are off by more than the tolerance; what is
// within it of the sums in double is right, at every stage, and what is as far off on the other
// side is not.
TEST_F(OnTheGpu, RightByTheRunInDouble) {
  const auto sums = [](const std::string& type, const std::string& result) {
    return with_body("if (i < n) y[i] = x[i];\n  if (i >= 16) return;\n  float plain = 0.0f;\n  " +
                     type +
                     " sum = 0;\n  for (int k = i * (n / 16); k < (i + 1) * (n / 16); ++k) "
                     "{ plain += x[k]; sum += x[k]; }\n  y[i] = " +
                     result + ";");
  };
  for (const auto stage : {Stage::kQuick, Stage::kFinal}) {
    auto nearer = request(sums("float", "sum"), sums("double", "(float)sum"));
    auto off = request(sums("float", "sum"), sums("double", "(float)(sum + (sum - plain))"));
    for (auto* r : {&nearer, &off}) {
      r->stage = stage;
      r->tolerance = {1e-6, 0};
      for (auto* p : {&r->timed.reference, &r->timed.candidate})
        p->buffers[0].fill = {Fill::Kind::kUniform, 0, 1, ""};
    }
    const auto right = evaluate(nearer);
    EXPECT_EQ(right.verdict, Verdict::kOk) << right.detail;
    const auto wrong = evaluate(off);
    EXPECT_EQ(wrong.verdict, Verdict::kWrongResult) << wrong.detail;
  }
}
TEST_F(OnTheGpu, LargeDynamicSharedMemory) {
  auto r = request(kReference, R"(
extern __shared__ float s[];
__global__ void scale(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  s[20000 + threadIdx.x] = i < n ? x[i] : 0.0f;
  __syncthreads();
  if (i < n) y[i] = 2.0f * s[20000 + threadIdx.x];
})");
  for (auto* c : {&r.checks[0], &r.checks[1], &r.timed})
    c->candidate.launches[0].shared_bytes = 81024 + 1024;
  const auto e = evaluate(r);
  EXPECT_EQ(e.verdict, Verdict::kOk) << e.detail;
}

TEST_F(OnTheGpu, InOutBuffersStartFreshInEveryTimedRun) {
  const std::string accumulate = R"(
__global__ void scale(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += x[i];
})";
  auto r = request(accumulate, accumulate);
  for (auto* c : {&r.checks[0], &r.checks[1], &r.timed})
    for (auto* p : {&c->reference, &c->candidate}) p->buffers[1].role = Role::kInOut;
  const auto admitted = evaluator_->admit(r);
  EXPECT_TRUE(admitted) << admitted.error().message;
  const auto e = evaluate(r);
  EXPECT_EQ(e.verdict, Verdict::kOk) << e.detail;
}

TEST_F(OnTheGpu, EveryTypeIsFilledAndCompared) {
  for (const auto& [type, name] :
       std::vector<std::pair<ScalarType, std::string>>{{ScalarType::kF64, "double"},
                                                       {ScalarType::kF16, "__half"},
                                                       {ScalarType::kBf16, "__nv_bfloat16"},
                                                       {ScalarType::kI32, "int"},
                                                       {ScalarType::kI64, "long long"},
                                                       {ScalarType::kI8, "signed char"},
                                                       {ScalarType::kU8, "unsigned char"},
                                                       {ScalarType::kU32, "unsigned int"},
                                                       {ScalarType::kBool, "bool"}}) {
    const std::string source =
        "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n__global__ void scale(const " + name +
        "* x, " + name +
        "* y, int n) { int i = blockIdx.x * blockDim.x + "
        "threadIdx.x; if (i < n) y[i] = x[i]; }";
    auto r = request(source, source);
    for (auto* c : {&r.checks[0], &r.checks[1], &r.timed})
      for (auto* p : {&c->reference, &c->candidate})
        for (auto& b : p->buffers) b.type = type;
    const auto e = evaluate(r);
    EXPECT_EQ(e.verdict, Verdict::kOk) << name << ": " << e.detail;
    EXPECT_EQ(e.max_rel_error, 0);
  }
}

TEST_F(OnTheGpu, RefusesReferencesThatMisbehaveAtTheTimedSize) {
  for (const auto& [source, message] : std::vector<std::pair<std::string, std::string>>{
           {with_body("if (i < n && !(timed && i == 5)) y[i] = x[i];"), "leaves y[5] unwritten"},
           {with_body("if (i < n) y[i] = timed && i == 5 ? (float)(clock64() & 0xFFFF) : x[i];"),
            "different answers"},
           {with_body("if (i < n) y[i] = x[i]; if (timed && i == 5) *(float*)16 = 1.0f;"),
            "faults"},
       }) {
    const auto e = evaluator_->admit(request(source, source));
    ASSERT_FALSE(e) << source;
    EXPECT_EQ(e.error().code, ErrorCode::kTaskFailed);
    EXPECT_NE(e.error().message.find(message), std::string::npos) << e.error().message;
  }
}

}  // namespace
}  // namespace hone
