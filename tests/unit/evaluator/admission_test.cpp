// An admission's checks run side by side: what it says is what one process would say of one check
// after another, and does not depend on how many there are.
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <optional>

#include "evaluator/evaluator.h"
#include "evaluator/protocol/channel.h"

namespace hone {
namespace {

constexpr const char* kDoubles = "if (i < n) y[i] = 2.0f * x[i];";

ConcreteProgram scaling(const std::string& body, std::int64_t n) {
  ConcreteProgram p;
  p.source =
      "__global__ void scale(const float* x, float* y, int n) {\n"
      "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  " +
      body + "\n}\n";
  p.buffers = {{"x", ScalarType::kF32, {n}, Role::kIn, {}},
               {"y", ScalarType::kF32, {n}, Role::kOut, {}}};
  p.launches = {
      {"scale", {(n + 127) / 128, 1, 1}, {128, 1, 1}, 0, {BufferIndex{0}, BufferIndex{1}, n}}};
  return p;
}

/// Checked at 1000, 300 and 777 elements; the second is the smallest, which runs in other orders.
EvaluationRequest reference_of(const std::string& body) {
  EvaluationRequest r;
  for (const std::int64_t n : {1000, 300, 777})
    r.checks.push_back({scaling(body, n), scaling(body, n), 11});
  r.timed = {scaling(body, 1 << 16), scaling(body, 1 << 16), 12};
  return r;
}

std::unique_ptr<Evaluator> with_processes(int count) {
  EvaluatorOptions options;
  options.compile_processes = 1;
  options.check_processes = count;
  auto opened = Evaluator::open(*DeviceSpec::parse("emu:sm_90"), options);
  return opened ? std::move(*opened) : nullptr;
}

/// Its threads take long there, so that who begins first does not end first.
std::string slowly_at(int n, const std::string& body) {
  return "if (n == " + std::to_string(n) +
         ") for (volatile int k = 0; k < 20000; k = k + 1) {}\n  " + body;
}

TEST(AnAdmission, NamesTheFirstOfSeveralFailures) {
  struct Bad {
    std::string body, message;
  };
  for (const Bad& bad : std::vector<Bad>{
           // The first size takes longest to fail.
           {slowly_at(1000, "if (i < n && i != 7) y[i] = 1.0f;"),
            "leaves y[7] unwritten (at the "
            "check size x[1000]"},
           {"if (i < n && (n == 1000 || i != 5)) y[i] = n == 777 ? x[n] : 2.0f * x[i];",
            "leaves y[5] unwritten (at the check size x[300]"},
           // The second size is right in grid order alone, and the third one not at all.
           {"if (i < n && i > 0) y[i] = n == 777 ? x[n] : 2.0f * x[i];\n"
            "  if (threadIdx.x == 0) atomicExch(&y[0], (float)blockIdx.x);",
            "depends on the order in which blocks and warps run: y[0]"},
           // And the other way round: the first size comes before other orders of the second.
           {"if (i < n && i > 0) y[i] = n == 1000 ? x[n] : 2.0f * x[i];\n"
            "  if (threadIdx.x == 0) atomicExch(&y[0], (float)blockIdx.x);",
            "faults"},
       }) {
    for (const int processes : {1, 3}) {
      const auto evaluator = with_processes(processes);
      ASSERT_TRUE(evaluator);
      const auto admitted = evaluator->admit(reference_of(bad.body));
      ASSERT_FALSE(admitted) << bad.body;
      EXPECT_EQ(admitted.error().code, ErrorCode::kTaskFailed);
      EXPECT_NE(admitted.error().message.find(bad.message), std::string::npos)
          << processes << ": " << admitted.error().message << "\n"
          << bad.body;
    }
  }
}

TEST(AnAdmission, SaysTheSameWithAnyNumberOfProcesses) {
  std::optional<Evaluation> first;
  for (const int processes : {1, 3}) {
    const auto evaluator = with_processes(processes);
    ASSERT_TRUE(evaluator);
    auto request =
        reference_of("if (i < n) y[i] = i == 3 ? 1 / (x[i] - x[i]) : sqrtf(fabsf(x[i]));");
    request.tolerance.non_finite = NonFinite::kSame;
    const auto admitted = evaluator->admit(request);
    ASSERT_TRUE(admitted) << admitted.error().message;
    EXPECT_NE(admitted->note.find("not finite"), std::string::npos) << admitted->note;
    if (!first) {
      first = *admitted;
      continue;
    }
    EXPECT_EQ(admitted->note, first->note);
    EXPECT_EQ(admitted->reference_error, first->reference_error);
    EXPECT_EQ(admitted->measurement.time_us, first->measurement.time_us);
    EXPECT_EQ(admitted->measurement.roof_fraction, first->measurement.roof_fraction);
  }
}

// 10 elements beside 1000 are few enough, and 11 are not.
TEST(AnAdmission, SaysWhichSmallOutputAFakeCouldStandFor) {
  for (const std::int64_t few : {10, 11}) {
    EvaluationRequest request = reference_of(kDoubles);
    request.checks.resize(1);
    for (ConcreteProgram* one : {&request.checks[0].candidate, &request.checks[0].reference,
                                 &request.timed.candidate, &request.timed.reference}) {
      one->source +=
          "__global__ void flat(const float* x, float* z, int n) {\n"
          "  if (threadIdx.x < n) z[threadIdx.x] = 1000 + 0.001f * x[threadIdx.x];\n}\n";
      one->buffers.push_back({"z", ScalarType::kF32, {few}, Role::kOut, {}});
      one->launches.push_back(
          {"flat", {1, 1, 1}, {32, 1, 1}, 0, {BufferIndex{0}, BufferIndex{2}, few}});
    }
    const auto evaluator = with_processes(2);
    ASSERT_TRUE(evaluator);
    const auto admitted = evaluator->admit(request);
    ASSERT_EQ(admitted.has_value(), few == 10) << (admitted ? "" : admitted.error().message);
    const std::string said = admitted ? admitted->note : admitted.error().message;
    EXPECT_TRUE(said.contains("instead of 'z', their mean everywhere would pass")) << said;
    EXPECT_EQ(said.contains("(at the check sizes)"), few == 10) << said;
  }
}

TEST(AnAdmission, AsksForAllThatIsExpectedAtOnce) {
  const auto evaluator = with_processes(2);
  ASSERT_TRUE(evaluator);
  auto request = reference_of(kDoubles);
  // The first check's answer comes once the last one has been asked for, and is wrong.
  std::promise<void> asked;
  bool came = false;
  request.checks[0].expected = [&] {
    came = asked.get_future().wait_for(std::chrono::minutes(1)) == std::future_status::ready;
    return CheckCase::Buffers{{"y", std::string(1000 * sizeof(float), '\0')}};
  };
  request.checks[2].expected = [&] {
    asked.set_value();
    return CheckCase::Buffers{};
  };
  const auto admitted = evaluator->admit(request);
  ASSERT_TRUE(admitted) << admitted.error().message;
  EXPECT_TRUE(came);
  EXPECT_EQ(admitted->expected_checked, 1);
  EXPECT_NE(admitted->expected_differs.find(", at x[1000]"), std::string::npos)
      << admitted->expected_differs;
}

// It is larger than a message may be.
TEST(AnAdmission, IsNotRefusedForAnExpectedBufferThatCannotBeSent) {
  const auto evaluator = with_processes(1);
  ASSERT_TRUE(evaluator);
  auto request = reference_of(kDoubles);
  request.checks[0].expected = [] {
    return CheckCase::Buffers{{"y", std::string(protocol::kMaxFrame, '\0')}};
  };
  const auto admitted = evaluator->admit(request);
  ASSERT_TRUE(admitted) << admitted.error().message;
  EXPECT_EQ(admitted->expected_checked, 0);
  EXPECT_EQ(admitted->expected_differs, "");
}

/// Where x holds what the task's own inputs do not, it goes on for ever.
constexpr const char* kEndlessOnOthers =
    "if (fabsf(x[0]) >= 1.0f || x[0] == x[1] || fabsf(x[0]) < 1e-3f)\n"
    "    for (volatile int k = 0; k < 1;) {}\n  if (i < n) y[i] = 2.0f * x[i];";

TEST(AnAdmission, IsNotRefusedForInputsThatTheTaskDoesNotList) {
  EvaluatorOptions options;
  options.compile_processes = options.check_processes = 1;
  options.check_timeout_s = 5;
  auto evaluator = Evaluator::open(*DeviceSpec::parse("emu:sm_90"), options);
  ASSERT_TRUE(evaluator) << evaluator.error().message;
  const auto admitted = (*evaluator)->admit(reference_of(kEndlessOnOthers));
  EXPECT_TRUE(admitted) << admitted.error().message;
}

TEST(AnAdmission, ThatIsCancelledIsAnError) {
  const auto evaluator = with_processes(2);
  ASSERT_TRUE(evaluator);
  auto request = reference_of(kDoubles);
  request.checks[0].expected = [&] {  // all that decides may have ended
    evaluator->cancel();
    return CheckCase::Buffers{{"y", std::string(1000 * sizeof(float), '\0')}};
  };
  const auto admitted = evaluator->admit(request);
  ASSERT_FALSE(admitted);
  EXPECT_EQ(admitted.error().code, ErrorCode::kInfrastructure);
  evaluator->resume();
  EXPECT_TRUE(evaluator->admit(reference_of(kDoubles)));
}

// Three sizes of 25 s were refused by one process and admitted by three.
TEST(AnAdmission, HasTheTimeOfOneProcessHoweverManyThereAre) {
  const auto slow_at = [](const std::vector<std::int64_t>& sizes) {
    EvaluationRequest r;
    for (const std::int64_t n : sizes) {
      const auto one = scaling(
          "float s = i;\n  if (n >= 1000 && n < 60000)\n"
          "#pragma unroll 1\n    for (int k = 0; k < 100000; ++k) s = s * 0.5f + k;\n"
          "  if (i < n) y[i] = s == 12345.25f ? s : 2.0f * x[i];",
          n);
      r.checks.push_back({one, one, 11});
    }
    r.timed = {scaling(kDoubles, 1 << 16), scaling(kDoubles, 1 << 16), 12};
    return r;
  };
  const auto evaluator = with_processes(1);
  ASSERT_TRUE(evaluator);
  ASSERT_TRUE(evaluator->admit(slow_at({300})));  // starts processes
  const auto begin = std::chrono::steady_clock::now();
  const auto one = evaluator->admit(slow_at({1000, 300}));
  ASSERT_TRUE(one) << one.error().message;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  EvaluatorOptions options;
  options.compile_processes = 1;
  options.check_timeout_s = 3 * took.count();
  for (const int processes : {1, 3}) {
    options.check_processes = processes;
    auto opened = Evaluator::open(*DeviceSpec::parse("emu:sm_90"), options);
    ASSERT_TRUE(opened) << opened.error().message;
    const auto many = slow_at({1000, 1001, 1002, 1003, 1004, 1005, 1006, 1007, 1008, 300});
    const auto refused = (*opened)->admit(many);
    ASSERT_FALSE(refused) << processes;
    EXPECT_NE(refused.error().message.find("the emulated check took more than"), std::string::npos)
        << refused.error().message;
  }
}

TEST(AnAdmission, WithoutCheckSizesIsOfTheTimedSizeAlone) {
  const auto evaluator = with_processes(1);
  ASSERT_TRUE(evaluator);
  auto request = reference_of(kDoubles);
  request.checks.clear();
  const auto admitted = evaluator->admit(request);
  ASSERT_TRUE(admitted) << admitted.error().message;
  EXPECT_GT(admitted->measurement.time_us, 0);
}

}  // namespace
}  // namespace hone
