// The check of the lift at a search's start: nests done directly against the emulated reference,
// and lifts that are made wrong on purpose.
#include "engine/search/requests/lift_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <stop_token>
#include <thread>

#include "candidates/task_reader.h"
#include "engine/rewriting/local_rewriting.h"
#include "engine/rewriting/messages.h"
#include "engine/search/requests/requests.h"
#include "engine/search/search.h"

namespace hone {
namespace {

Task read(const std::string& path) {
  const auto task = read_task(std::string(HONE_SOURCE_DIR) + "/" + path);
  if (!task) throw std::runtime_error(task.error().message);
  return *task;
}

/// Lifts as the real one, but for what `spoil` does to the contents; counts what generators offer.
class SpoiltRewriting final : public Rewriting {
 public:
  std::function<void(NestOutputs&)> spoil = [](NestOutputs&) {};
  std::atomic<int> generated = 0;  ///< at check sizes: what is evaluated has to be made there
  std::atomic<int> cancels = 0;    ///< of all requests
  bool hangs = false;              ///< doing nests, until that is to stop

  Result<NestOutputs> executed(const RewriteContext& context, const Program& program,
                               std::uint64_t seed, const std::stop_token& stopping) override {
    while (hangs && !stopping.stop_requested())
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    auto outputs = local_.executed(context, program, seed, stopping);
    if (outputs) spoil(*outputs);
    return outputs;
  }
  Result<Rewritten> apply(const RewriteContext& context, const Program& program, const Step& step,
                          bool with_hash) override {
    if (step.rewriter.starts_with("generate-") && context.sizes != context.task->sizes) ++generated;
    return local_.apply(context, program, step, with_hash);
  }
  Result<std::vector<Proposal>> proposals(const RewriteContext& context,
                                          const Program& program) override {
    return local_.proposals(context, program);
  }
  Result<schedules::Explanation> lifted(const RewriteContext& context,
                                        const Program& program) override {
    return local_.lifted(context, program);
  }
  Result<void> validate(const Program& program, const std::string& path) override {
    return local_.validate(program, path);
  }
  Result<std::string> hash(const Program& program, const std::string& path) override {
    return local_.hash(program, path);
  }
  std::string formatted(const std::string& source) override { return source; }
  Result<InitResult> init(const InitRequest& request) override { return local_.init(request); }
  void cancel() override { ++cancels; }
  void resume() override {}

 private:
  LocalRewriting local_;
};

/// One element of the first buffer becomes another: the lowest bit of its exponent.
void change_one(NestOutputs& outputs) {
  if (outputs.after.empty()) return;
  std::string& bytes = outputs.after.begin()->second;
  bytes[bytes.size() - 2] = static_cast<char>(bytes[bytes.size() - 2] ^ 0x80);
}

class LiftCheckTest : public testing::Test {
 protected:
  LiftCheck check(const Task& task) {
    auto evaluator = Evaluator::open(*DeviceSpec::parse("emu:sm_90"));
    if (!evaluator) throw std::runtime_error(evaluator.error().message);
    auto builder = RequestBuilder::make(rewriting_, task, target_limits("sm_90"), {});
    auto request = (*builder)->for_program(task.reference, 1);
    if (!request) throw std::runtime_error(request.error().message);
    request->timed = request->checks.front();
    LiftChecking checking(rewriting_, (*builder)->space().context(), task.reference, *request, 60);
    const auto admitted = (*evaluator)->admit(*request);
    if (!admitted) throw std::runtime_error(admitted.error().message);
    return checking.judged(*admitted);
  }
  SpoiltRewriting rewriting_;
};

TEST_F(LiftCheckTest, BaselinesAgreeAtEveryCheckSize) {
  for (const char* name : {"matmul", "softmax"}) {
    const Task task = read(std::string("baselines/") + name + "/" + name + ".cu");
    const LiftCheck lift = check(task);
    EXPECT_EQ(lift.checked, static_cast<int>(task.check_sizes.size())) << lift.text();
    EXPECT_EQ(lift.differs, "");
    EXPECT_NE(lift.text().find("agrees with the emulated kernels"), std::string::npos);
  }
}

TEST_F(LiftCheckTest, OneWrongElementIsFoundAndNamed) {
  rewriting_.spoil = change_one;
  const Task task = read("baselines/softmax/softmax.cu");
  const LiftCheck lift = check(task);
  EXPECT_NE(lift.differs.find("] is "), std::string::npos) << lift.text();
  EXPECT_NE(lift.differs.find(", want "), std::string::npos) << lift.text();
  EXPECT_NE(lift.differs.find(", at "), std::string::npos) << lift.text();
}

TEST_F(LiftCheckTest, WhatIsNotLiftedIsNoFault) {
  const LiftCheck lift = check(read("tests/lift/kernels/moving_average_recurrence.cu"));
  EXPECT_EQ(lift.sizes, 0);
  EXPECT_EQ(lift.differs, "");
  EXPECT_TRUE(lift.text().starts_with("not checked: not lifted: ")) << lift.text();
}

TEST_F(LiftCheckTest, WhatTakesTooLongIsSaidToBeUnchecked) {
  rewriting_.spoil = [](NestOutputs& outputs) {
    outputs.after.clear();
    outputs.unchecked = "more than 7 operations";
  };
  const LiftCheck lift = check(read("baselines/softmax/softmax.cu"));
  EXPECT_TRUE(lift.text().starts_with("not checked: more than 7 operations, at ")) << lift.text();
}

// Others' children went with those that did nests.
TEST_F(LiftCheckTest, WhatIsNotDoneInTimeEndsAloneAndIsSaidToBeUnchecked) {
  const Task task = read("baselines/softmax/softmax.cu");
  auto builder = RequestBuilder::make(rewriting_, task, target_limits("sm_90"), {});
  ASSERT_TRUE(builder) << builder.error().message;
  auto request = (*builder)->for_program(task.reference, 1);
  ASSERT_TRUE(request) << request.error().message;
  rewriting_.hangs = true;
  {
    const LiftChecking checking(rewriting_, (*builder)->space().context(), task.reference, *request,
                                0.05);
    for (const CheckCase& check : request->checks)
      if (check.expected) EXPECT_TRUE(check.expected().empty());
    EXPECT_EQ(checking.judged({}).text(), "not checked: it takes too long");
  }
  EXPECT_EQ(rewriting_.cancels, 0);
}

TEST_F(LiftCheckTest, ASearchAsksGeneratorsOnlyWhereTheLiftAgrees) {
  const Task task = read("baselines/softmax/softmax.cu");
  const auto device = *DeviceSpec::parse("emu:sm_90");
  auto evaluator = Evaluator::open(device);
  ASSERT_TRUE(evaluator) << evaluator.error().message;
  SearchOptions options;
  options.settings.budget.evaluations = 6;
  options.settings.finalists = 1;
  const auto right = run_search(task, device, **evaluator, rewriting_, nullptr, options);
  ASSERT_TRUE(right) << right.error().message;
  EXPECT_GT(rewriting_.generated, 0);
  EXPECT_TRUE(std::ranges::none_of(right->warnings, [](const std::string& warning) {
    return warning.find("lift") != std::string::npos;
  }));

  rewriting_.generated = 0;
  rewriting_.spoil = change_one;
  const auto wrong = run_search(task, device, **evaluator, rewriting_, nullptr, options);
  ASSERT_TRUE(wrong) << wrong.error().message;
  EXPECT_EQ(rewriting_.generated, 0);
  EXPECT_EQ(std::ranges::count_if(wrong->warnings,
                                  [](const std::string& warning) {
                                    return warning.starts_with("the lift is wrong: ");
                                  }),
            1);
}

TEST(NestOutputs, TravelAsTheyAre) {
  NestOutputs outputs{true, "why", {{"C", std::string("\0\xff\x80", 3)}, {"D", ""}}};
  const auto back = rewriting::nest_outputs_from(rewriting::to_message(outputs));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->lifted, outputs.lifted);
  EXPECT_EQ(back->unchecked, outputs.unchecked);
  EXPECT_EQ(back->after, outputs.after);
}

}  // namespace
}  // namespace hone
