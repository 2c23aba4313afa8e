// A search with a model on a GPU that is none: what it is asked to evaluate, and in which order.
#include <gtest/gtest.h>

#include "candidates/task_reader.h"
#include "engine/llm/access.h"
#include "engine/results/replies.h"
#include "engine/rewriting/local_rewriting.h"
#include "engine/search/search.h"
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
/// An edit of the best program's first line of code, as the prompt shows it.
std::string edits_for(const std::string& prompt) {
  const auto best = prompt.find("# The best program so far");
  const auto end = std::min(prompt.find("\n# ", best + 1), prompt.size());
  auto at = prompt.find("__global__", best);
  if (at >= end) at = prompt.find("__global__");  // the reference
  at = prompt.rfind('\n', at) + 1;
  const std::string line = prompt.substr(at, prompt.find('\n', at) - at);
  return "<<<<<<< SEARCH\n" + line + "\n=======\n__device__ int edited_by_a_model;\n" + line +
         "\n>>>>>>> REPLACE\n";
}

// No rule vouches for a model's program: on a GPU, too, it goes through the emulator's checks
// before it is measured, and so does what rules make of it.
TEST(SearchOnAFakeGpu, WhatAModelWroteIsCheckedBeforeItIsMeasured) {
  const auto task = parse_task(test::kScaleTask, "scale.cu");
  ASSERT_TRUE(task);
  const ScriptedServer server(ScriptedServer::answering([](const HeardRequest& request, int) {
    const auto messages = nlohmann::json::parse(request.body)["messages"];
    const bool edit = messages[0]["content"].get<std::string>().find("SEARCH") != std::string::npos;
    return plain_reply(edit ? edits_for(messages.back()["content"]) : kByModel);
  }));
  llm::AccessOptions access_options;
  access_options.settings.url = server.url();
  access_options.settings.model = "scripted";
  access_options.settings.stream = false;
  access_options.modes = {llm::Mode::kWhole, llm::Mode::kDiff};
  const auto access = llm::open_access(access_options);
  ASSERT_TRUE(access) << access.error().message;

  std::mutex mutex;
  std::atomic<bool> heard_all = false;
  int of_model = 0, edited = 0, of_rules = 0, of_both = 0;
  test::FakeEvaluator evaluator(test::FakeEvaluator::h200(), false);
  evaluator.lie_ = [&](const EvaluationRequest& request, Evaluation& evaluation) {
    evaluation.verdict = Verdict::kOk;
    if (request.stage != Stage::kQuick) return;
    // The search must not be over before the model has said its piece.
    if (!heard_all) std::this_thread::sleep_for(std::chrono::milliseconds(40));
    const std::lock_guard lock(mutex);
    const std::string& source = request.timed.candidate.source;
    const bool whole = source.find("by_a_model <") != source.npos;
    const bool edits = source.find("edited_by_a_model") != source.npos;
    if (whole || edits) {
      EXPECT_FALSE(request.measure_first) << source;
      of_model += whole;
      edited += edits;
      of_both += source.find("__restrict__") != source.npos;
      heard_all = of_model > 0 && edited > 0 && of_both > 0;
    } else if (request.measure_first) {
      ++of_rules;
    }
  };
  LocalRewriting rewriting;
  SearchOptions options;
  options.settings.budget.evaluations = 150;
  options.settings.seed = 3;
  options.workers = 2;
  options.settings.prescreen = false;
  options.llm = access->get();
  const auto outcome =
      run_search(*task, *DeviceSpec::parse("cuda:0"), evaluator, rewriting, nullptr, options);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_GT(of_rules, 0) << "or nothing was seen";
  EXPECT_GT(of_model, 0);
  EXPECT_GT(edited, 0) << results::model_use_text(outcome->llm);
  EXPECT_GT(of_both, 0);
}

}  // namespace
}  // namespace hone
