// A search with a model on a GPU that is none: what it is asked to evaluate, and in which order.
#include <gtest/gtest.h>

#include "candidates/task_reader.h"
#include "engine/model/access.h"
#include "engine/rewriting/local_rewriting.h"
#include "engine/service/search_job.h"
#include "tests/unit/engine/fake_evaluator.h"
#include "tests/unit/llm/scripted_server.h"

namespace hone {
namespace {

using testing::HeardRequest;
using testing::plain_reply;
using testing::ScriptedServer;

const std::string kByModel = R"MD(```cuda
__global__ void scale(const float* x, float* y, int N) {
  for (int j = 0; j < ITEMS; ++j) {
    int by_a_model = (blockIdx.x * ITEMS + j) * BLOCK + threadIdx.x;
    if (by_a_model < N) y[by_a_model] = x[by_a_model] + x[by_a_model];
  }
}
```
```json
{"launches": [{"kernel": "scale", "grid": ["ceildiv(N,BLOCK*ITEMS)"], "block": ["BLOCK"],
               "args": ["x", "y", "N"]}]}
```)MD";
const std::string kEdits =
    "<<<<<<< SEARCH\n__global__ void scale(const float* x, float* y, int N) {\n=======\n"
    "__device__ int edited_by_a_model;\n__global__ void scale(const float* x, float* y, int N) {\n"
    ">>>>>>> REPLACE\n";

// No rule vouches for a model's program: on a GPU, too, it goes through the emulator's checks
// before it is measured, and so does what rules make of it.
TEST(SearchOnAFakeGpu, WhatAModelWroteIsCheckedBeforeItIsMeasured) {
  const auto task = parse_task(test::kScaleTask, "scale.cu");
  ASSERT_TRUE(task);
  const ScriptedServer server(ScriptedServer::answering([](const HeardRequest& request, int) {
    const bool edit = request.body.find("<<<<<<< SEARCH") != std::string::npos;
    return plain_reply(edit ? kEdits : kByModel);
  }));
  model::AccessOptions access_options;
  access_options.settings.url = server.url();
  access_options.settings.model = "scripted";
  access_options.settings.stream = false;
  access_options.modes = {llm::Mode::kWhole, llm::Mode::kDiff};
  const auto access = model::open_access(access_options);
  ASSERT_TRUE(access) << access.error().message;

  std::mutex mutex;
  int of_model = 0, edited = 0, of_rules = 0, of_both = 0;
  test::FakeEvaluator evaluator(test::FakeEvaluator::h200(), false);
  evaluator.slow_ = std::chrono::milliseconds(5);
  evaluator.lie_ = [&](const EvaluationRequest& request, Evaluation& evaluation) {
    evaluation.verdict = Verdict::kOk;
    if (request.stage != Stage::kQuick) return;
    const std::lock_guard lock(mutex);
    const std::string& source = request.timed.candidate.source;
    const bool whole = source.find("by_a_model <") != source.npos;
    const bool edits = source.find("edited_by_a_model") != source.npos;
    if (whole || edits) {
      EXPECT_FALSE(request.measure_first) << source;
      of_model += whole;
      edited += edits;
      of_both += source.find("__restrict__") != source.npos;
    } else if (request.measure_first) {
      ++of_rules;
    }
  };
  LocalRewriting rewriting;
  SearchOptions options;
  options.budget.evaluations = 150;
  options.seed = 3;
  options.workers = 2;
  options.prescreen = false;
  options.model = access->get();
  const auto outcome =
      run_search(*task, *DeviceSpec::parse("cuda:0"), evaluator, rewriting, nullptr, options);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_GT(of_rules, 0) << "or nothing was seen";
  EXPECT_GT(of_model, 0);
  EXPECT_GT(edited, 0);
  EXPECT_GT(of_both, 0);
}

}  // namespace
}  // namespace hone
