// A search's admission on its own: the order of what it asks for.
#include "engine/search/phases/admission.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stop_token>
#include <thread>

#include "candidates/task_reader.h"
#include "engine/rewriting/local_rewriting.h"
#include "engine/search/target/workers.h"

namespace hone::search {
namespace {

// The surveys of its check sizes were waited for.
TEST(SearchAdmission, WhatIsWrongWithTheSourceIsToldWithoutSurveys) {
  const auto task = parse_task(
      "/* hone {\"name\": \"t\", \"sizes\": {\"N\": 4096}, \"buffers\": "
      "[{\"name\": \"x\", \"type\": \"f32\", \"shape\": [\"N\"]}, "
      "{\"name\": \"y\", \"type\": \"f32\", \"shape\": [\"N\"], \"role\": \"out\"}], "
      "\"launches\": [{\"kernel\": \"k\", \"grid\": [\"ceildiv(N,256)\"], \"block\": [256], "
      "\"args\": [\"x\", \"y\"]}]} */\n"
      "__global__ void k(const float* x, float* y, int n) { y[0] = x[0]; }",
      "t.cu");
  ASSERT_TRUE(task) << task.error().message;
  const auto device = *DeviceSpec::parse("emu:sm_90");
  auto evaluator = Evaluator::open(device);
  ASSERT_TRUE(evaluator) << evaluator.error().message;
  LocalTarget local(device, **evaluator, 1);
  LocalRewriting rewriting;
  const SearchOptions options;
  SearchRun run(*task, local.target(), rewriting, nullptr, options);
  std::atomic<bool> waited = false;
  const auto survey_until_stopped = [&](const std::vector<ConcreteProgram>&,
                                        const std::stop_token& stopping) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!stopping.stop_requested() && !waited) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (std::chrono::steady_clock::now() > until) waited = true;
    }
    return Result<std::vector<Survey>>(fail(ErrorCode::kInfrastructure, "cancelled"));
  };
  Admission admission(run, survey_until_stopped);
  const auto admitted = admission.admit();
  ASSERT_FALSE(admitted);
  EXPECT_NE(admitted.error().message.find("2 arguments given"), std::string::npos)
      << admitted.error().message;
  EXPECT_FALSE(waited);
}

}  // namespace
}  // namespace hone::search
