// References that answer NaN or infinity, and right answers that are not exact, through every gate
// on the emulated GPU.
#include <gtest/gtest.h>

#include "evaluator/evaluator.h"

namespace hone {
namespace {

std::string kernel(const std::string& value, const std::string& type = "float") {
  return "#include <cuda_fp16.h>\n__global__ void k(const float* x, " + type +
         "* y, int n) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
         "  if (i < n) y[i] = " +
         value + ";\n}\n";
}

ConcreteProgram program(const std::string& source, std::int64_t n, const Fill& fill,
                        ScalarType output) {
  ConcreteProgram p;
  p.source = source;
  p.buffers = {{"x", ScalarType::kF32, {n}, Role::kIn, fill}, {"y", output, {n}, Role::kOut, {}}};
  p.launches = {
      {"k", {(n + 127) / 128, 1, 1}, {128, 1, 1}, 0, {BufferIndex{0}, BufferIndex{1}, n}}};
  return p;
}

struct Task {
  std::string reference;
  Fill fill = {Fill::Kind::kUniform, -1, 1};
  NonFinite non_finite = NonFinite::kNever;
  ScalarType output = ScalarType::kF32;
  Tolerance tolerance = {1e-4, 1e-5};

  [[nodiscard]] EvaluationRequest request(const std::string& candidate,
                                          InputSet inputs = InputSet::kOwn) const {
    const std::string type = output == ScalarType::kF16 ? "__half" : "float";
    EvaluationRequest r;
    for (const std::int64_t n : {4000, 2000})
      r.checks.push_back({program(kernel(reference, type), n, fill, output),
                          program(kernel(candidate, type), n, fill, output), 11});
    r.checks[1].inputs = inputs;
    r.timed = {program(kernel(reference, type), 1 << 20, fill, output),
               program(kernel(candidate, type), 1 << 20, fill, output), 12};
    r.tolerance = tolerance;
    r.tolerance.non_finite = non_finite;
    return r;
  }
};

class NonFiniteOnTheEmulator : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    EvaluatorOptions options;
    options.compile_processes = options.check_processes = 1;
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

  /// What is said of the task, or why it is refused.
  static std::string said(const Task& task) {
    const auto admitted = evaluator_->admit(task.request(task.reference));
    return admitted ? admitted->note : "refused: " + admitted.error().message;
  }
  static Verdict verdict(const Task& task, const std::string& candidate,
                         InputSet inputs = InputSet::kOwn) {
    const auto e = evaluator_->evaluate(task.request(candidate, inputs));
    EXPECT_TRUE(e) << e.error().message;
    if (e) detail_ = e->detail;
    return e ? e->verdict : Verdict::kCrash;
  }

  static std::unique_ptr<Evaluator> evaluator_;
  static std::string reason_, detail_;
};
std::unique_ptr<Evaluator> NonFiniteOnTheEmulator::evaluator_;
std::string NonFiniteOnTheEmulator::reason_, NonFiniteOnTheEmulator::detail_;

TEST_F(NonFiniteOnTheEmulator, ATaskOfNanIsRefusedAndNamesTheFill) {
  const Task nan{"sqrtf(x[i] - 2.0f)"};
  for (const char* part :
       {"refused: the reference is not usable: 4000 of 4000 elements of 'y' are not finite on the "
        "task's own inputs, the first is y[0] = nan",
        "the fill of an input ('x' uniform -1 to 1)", "\"non_finite\": \"same\""})
    EXPECT_TRUE(said(nan).contains(part)) << said(nan);
  EXPECT_EQ(verdict(nan, "__int_as_float(0x7FC00000)"), Verdict::kWrongResult);
  EXPECT_EQ(verdict(nan, nan.reference), Verdict::kWrongResult);
  const Task infinite{"logf(0.0f * x[i] * x[i])"};
  EXPECT_TRUE(said(infinite).contains("y[0] = -inf")) << said(infinite);
  EXPECT_EQ(verdict(infinite, "__int_as_float(0xFF800000)"), Verdict::kWrongResult);
}

TEST_F(NonFiniteOnTheEmulator, OneInAThousandIsSaidAndMustBeTheSame) {
  const Task task{"i == 5 ? 1.0f / 0.0f : 2.0f * x[i]"};
  EXPECT_TRUE(
      said(task).contains("1 of 4000 elements of 'y' is not finite on the task's own "
                          "inputs, the first is y[5] = inf"))
      << said(task);
  EXPECT_EQ(verdict(task, task.reference), Verdict::kOk) << detail_;
  for (const char* other :
       {"2.0f * x[i]", "i == 5 ? -1.0f / 0.0f : 2.0f * x[i]",
        "i == 5 ? __int_as_float(0x7FC00000) : 2.0f * x[i]", "i == 5 ? 3.4e38f : 2.0f * x[i]"})
    EXPECT_EQ(verdict(task, other), Verdict::kWrongResult) << other;
  EXPECT_TRUE(said({"i < 5 ? 1.0f / 0.0f : 2.0f * x[i]"}).starts_with("refused")) << detail_;
}

TEST_F(NonFiniteOnTheEmulator, AFiniteTaskSaysNothing) { EXPECT_EQ(said({"2.0f * x[i]"}), ""); }

// Zeros are among the edge values; what hone made up is masked, and the rest compared.
TEST_F(NonFiniteOnTheEmulator, OfMadeUpInputsMasksAndFiniteElementsAreCompared) {
  const Task task{"1.0f / x[i]"};
  EXPECT_TRUE(said(task).contains("not finite on edge values, the first is y[")) << said(task);
  EXPECT_EQ(verdict(task, task.reference, InputSet::kEdges), Verdict::kOk) << detail_;
  EXPECT_EQ(verdict(task, "x[i] == 0.0f ? 0.0f : 1.0f / x[i]", InputSet::kEdges),
            Verdict::kWrongResult);
  EXPECT_EQ(verdict(task, "x[i] == 1.0f ? 2.0f : 1.0f / x[i]", InputSet::kEdges),
            Verdict::kWrongResult);
  EXPECT_EQ(verdict(task, "x[i] == 1.0f ? 2.0f : 1.0f / x[i]", InputSet::kOwn), Verdict::kOk)
      << detail_;
}

// Of far inputs one in a hundred is above -1.5: that is compared, and so are the masks.
TEST_F(NonFiniteOnTheEmulator, LittleThatIsFiniteIsEnough) {
  const Task root{"sqrtf(x[i] + 1.5f)"};
  EXPECT_TRUE(said(root).contains("on far negative inputs")) << said(root);
  EXPECT_FALSE(said(root).contains("left out of the checks")) << said(root);
  EXPECT_EQ(verdict(root, root.reference, InputSet::kFar), Verdict::kOk) << detail_;
  for (const char* other : {"x[i] < -1.0f ? 7.0f : sqrtf(x[i] + 1.5f)",
                            "x[i] > 1.0f ? 7.0f : sqrtf(x[i] + 1.5f)", "sqrtf(-1.0f)"})
    EXPECT_EQ(verdict(root, other, InputSet::kFar), Verdict::kWrongResult) << other;
}

TEST_F(NonFiniteOnTheEmulator, MadeUpInputsThatLeaveNothingFiniteAreLeftOut) {
  const Task none{"sqrtf(1.01f - x[i] * x[i] * x[i] * x[i])"};
  EXPECT_TRUE(said(none).contains("these inputs are left out of the checks")) << said(none);
  EXPECT_EQ(verdict(none, "x[i] < -1.0f ? 7.0f : " + none.reference, InputSet::kFar), Verdict::kOk)
      << detail_;
}

// Overflow is no fault of a candidate that avoids it: in double there is none.
TEST_F(NonFiniteOnTheEmulator, OverflowThatACandidateAvoidsIsRight) {
  const Task ratio{"expf(2.0f * x[i]) / (1.0f + expf(2.0f * x[i]))",
                   {Fill::Kind::kUniform, -50, 40}};
  EXPECT_EQ(verdict(ratio, "1.0f / (1.0f + expf(-2.0f * x[i]))", InputSet::kEither), Verdict::kOk)
      << detail_;
}

// One element without a number must not loosen the tolerance of the others.
TEST_F(NonFiniteOnTheEmulator, OneOverflowLoosensNothing) {
  const Task task{"x[i] == 1.0f ? (x[i] * 3e38f) * 3e38f - (x[i] * 3e38f) * 3e38f : 2.0f * x[i]"};
  EXPECT_EQ(verdict(task, task.reference, InputSet::kEdges), Verdict::kOk) << detail_;
  EXPECT_EQ(verdict(task, "x[i] == 1.0f ? sqrtf(-1.0f) : 2.01f * x[i]", InputSet::kEdges),
            Verdict::kWrongResult);
}

TEST_F(NonFiniteOnTheEmulator, WhatIsMeantMustBeOfTheSameClass) {
  const Task task{"x[i] > 0.5f ? 1.0f / 0.0f : x[i] > 0.0f ? x[i] : sqrtf(x[i])",
                  {Fill::Kind::kUniform, -1, 1},
                  NonFinite::kSame};
  EXPECT_TRUE(said(task).contains("elements of 'y' are not finite")) << said(task);
  EXPECT_FALSE(said(task).starts_with("refused")) << said(task);
  EXPECT_EQ(verdict(task, task.reference), Verdict::kOk) << detail_;
  for (const char* other :
       {"x[i] > 0.5f ? -1.0f / 0.0f : x[i] > 0.0f ? x[i] : sqrtf(x[i])",
        "x[i] > 0.5f ? sqrtf(-1.0f) : x[i] > 0.0f ? x[i] : sqrtf(x[i])",
        "x[i] > 0.5f ? 3.4e38f : x[i] > 0.0f ? x[i] : sqrtf(x[i])",
        "x[i] > 0.5f ? 1.0f / 0.0f : x[i] > 0.0f ? 2.0f * x[i] : sqrtf(x[i])", "sqrtf(-1.0f)"})
    EXPECT_EQ(verdict(task, other), Verdict::kWrongResult) << other;
  const Task all{"sqrtf(x[i] - 2.0f)", {Fill::Kind::kUniform, -1, 1}, NonFinite::kSame};
  EXPECT_TRUE(said(all).contains("with less than 1 % finite there is nothing to compare"))
      << said(all);
}

// Runners get no sources: what was decided there by the source's text was never decided.
TEST_F(NonFiniteOnTheEmulator, ARightAnswerOfRoundedFunctionsIsRightOnExactInputs) {
  const Task tanh{"__float2half(tanhf(x[i]))",
                  {Fill::Kind::kUniform, -1, 1},
                  NonFinite::kNever,
                  ScalarType::kF16,
                  {1e-2, 1e-2}};
  EXPECT_EQ(verdict(tanh, "__float2half(1.0003f * tanhf(x[i]))", InputSet::kMultiples),
            Verdict::kOk)
      << detail_;
  // A polynomial in place of a function, and a quotient.
  for (const char* reference :
       {"__float2half(x[i] * (1.0f + 0.044715f * x[i] * x[i]))", "__float2half(x[i] / 3.0f)"}) {
    Task task = tanh;
    task.reference = reference;
    EXPECT_EQ(verdict(task, "__float2half(1.0003f * __half2float(" + std::string(reference) + "))",
                      InputSet::kMultiples),
              Verdict::kOk)
        << detail_;
  }
  // Products are exact, in f16 and in f32.
  Task exact = tanh;
  exact.reference = "__float2half(0.5f * x[i])";
  EXPECT_EQ(verdict(exact, "__float2half(0.50015f * x[i])", InputSet::kMultiples),
            Verdict::kWrongResult);
  EXPECT_TRUE(detail_.contains("inputs with exact answers")) << detail_;
  const Task wide{.reference = "2.0f * x[i]", .tolerance = {1e-2, 1e-2}};
  EXPECT_EQ(verdict(wide, "2.0f * __half2float(__float2half(x[i]))", InputSet::kMultiples),
            Verdict::kWrongResult);
}

}  // namespace
}  // namespace hone
