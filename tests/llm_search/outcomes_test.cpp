// What a language model did is told: at a search's end, in its report, of each task of a bench.
#include <gtest/gtest.h>

#include "tests/llm_search/fixture.h"

namespace hone::testing {
namespace {

constexpr int kInput = 5000, kOutput = 500;  // tokens that the server states for each reply

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const auto at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), by);
}

class Outcomes : public ::testing::Test {
 protected:
  [[nodiscard]] static std::vector<std::string> with_model(std::vector<std::string> command,
                                                           const ScriptedServer& server) {
    for (const std::string& word : std::vector<std::string>{
             "--llm", server.url(), "--llm-model", "scripted", "--llm-modes", "whole", "--llm-wait",
             "--llm-retries", "0", "--llm-price-in", "2", "--llm-price-out", "10", "--device",
             "emu:sm_90", "--seed", "7", "--quiet"})
      command.push_back(word);
    return command;
  }

  TemporaryFolder folder_;
  std::string db_ = folder_.file("hone.db");
};

// A program that is right and fast, one that is wrong, two that are refused for one reason, and
// nothing: each is counted where it belongs, and none of its text reaches a terminal or a page raw.
TEST_F(Outcomes, EveryReplyIsCountedOnce) {
  const std::string good = trick("popcount");
  const std::string host =
      "\x1b[31mHear me <script>alert(1)</script>\n```cuda\n#include <cstdlib>\n__global__ void "
      "popcount(const int* x, int* y, int n) {}\nint main() { return system(\"id\"); }\n```\n"
      "```json\n{\"launches\": []}\n```";
  const ScriptedServer server(ScriptedServer::answering([&](const HeardRequest&, int number) {
    if (number == 1) return stream_reply(replaced(good, "__popc", "__clz "), kInput, kOutput);
    if (number == 2) return stream_reply(good, kInput, kOutput);
    if (number == 3) return http_reply(500, "text/plain", "no");
    return stream_reply(host, kInput, kOutput);
  }));
  const auto command = with_model({"optimize", task("popcount"), "--budget", "24", "--db", db_,
                                   "--json", folder_.file("run.json")},
                                  server);
  const auto run = hone(command);
  ASSERT_EQ(run.status, 0) << run.err;
  const auto model = nlohmann::json::parse(read(folder_.file("run.json")))["model"];
  const int asked = server.connections();
  ASSERT_GE(asked, 5);
  EXPECT_EQ(model["asked"], asked);
  EXPECT_EQ(model["no_reply"], 1);
  EXPECT_EQ(model["refused"], asked - 3);
  EXPECT_EQ(model["failed"], 1);
  EXPECT_EQ(model["passed"], 1);
  const bool best = model["best"] == 1;  // rules may have been faster by then
  EXPECT_EQ(model["untried"], 0);
  ASSERT_EQ(model["refusals"].size(), 1U) << model;
  EXPECT_EQ(model["refusals"][0]["count"], asked - 3);
  EXPECT_GE(model["input_tokens"], (asked - 1) * kInput);
  const std::string counts = std::to_string(asked) + " questions, " + std::to_string(asked - 1) +
                             " replies: " + std::to_string(asked - 3) +
                             " refused, 1 failed a gate, 1 passed" +
                             (best ? " (1 as the best so far)" : "") + "; ";
  EXPECT_NE(run.out.find("language model: " + counts), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("refused " + std::to_string(asked - 3) + "x: "), std::string::npos);
  EXPECT_NE(run.out.find(", by "), std::string::npos) << run.out;

  const auto said = hone({"report", "1", "--replies", "--db", db_});
  ASSERT_EQ(said.status, 0) << said.err;
  EXPECT_NE(said.out.find("1. whole: failed"), std::string::npos) << said.out;
  EXPECT_NE(said.out.find(best ? "2. whole: best" : "2. whole: passed"), std::string::npos)
      << said.out;
  EXPECT_NE(said.out.find("3. whole: no reply: "), std::string::npos) << said.out;
  EXPECT_NE(said.out.find("4. whole: refused: "), std::string::npos) << said.out;
  EXPECT_NE(said.out.find("   | __global__ void popcount"), std::string::npos) << said.out;
  EXPECT_EQ(said.out.find('\x1b'), std::string::npos);
  const auto machine = hone({"report", "1", "--replies", "--db", db_, "--json", "-"}).json();
  EXPECT_EQ(machine["runs"][0]["replies"].size(), static_cast<std::size_t>(asked));
  EXPECT_EQ(machine["runs"][0]["replies"][1]["fate"], best ? "best" : "passed");
  EXPECT_FALSE(machine["runs"][0]["replies"][1]["candidates"].empty());
  EXPECT_EQ(machine["runs"][0]["model"], model);

  const auto page = hone({"report", "1", "--db", db_});
  ASSERT_EQ(page.status, 0) << page.err;
  EXPECT_NE(page.out.find(counts), std::string::npos);
  EXPECT_EQ(page.out.find("<script>alert"), std::string::npos);
  EXPECT_EQ(page.out.find('\x1b'), std::string::npos);
  const auto without =
      hone({"report", "1", "--db", db_, "-o", folder_.file("r.html"), "--json", "-"});
  EXPECT_EQ(without.json()["runs"][0]["model"], model);
}

// It is as fast as a right one, and right at the sizes that the task lists.
TEST_F(Outcomes, WhatIsWrongInTheFinalStageIsNotCalledLate) {
  const std::string wrong =
      replaced(trick("popcount"), "__popc((unsigned)x[i])",
               "n == 1000 || n == 257 || n == 8388608 ? __popc((unsigned)x[i]) : 0");
  const ScriptedServer server(ScriptedServer::answering(
      [&](const HeardRequest&, int) { return stream_reply(wrong, kInput, kOutput); }));
  const auto run =
      hone(with_model({"optimize", task("popcount"), "--budget", "4", "--finalists", "1", "--only",
                       "model-code", "--db", db_, "--json", folder_.file("run.json")},
                      server));
  ASSERT_EQ(run.status, 0) << run.err;
  const auto document = nlohmann::json::parse(read(folder_.file("run.json")));
  ASSERT_TRUE(document["best"]["recipe"].empty()) << document["best"];
  const auto& seemed = document["seemed_faster"];
  EXPECT_EQ(seemed["failed"], 1);
  EXPECT_EQ(seemed["late"], 0);
  const std::string why = seemed["why_failed"];
  EXPECT_TRUE(why.starts_with("wrong_result (")) << why;
  const std::string said = seemed["said"];
  EXPECT_NE(said.find("failed its checks: " + why), std::string::npos) << said;
  EXPECT_EQ(said.find("in time"), std::string::npos) << said;
  EXPECT_NE(run.out.find("nothing faster than the reference was found; " + said), std::string::npos)
      << run.out;
}

// Who submits says whether and how much, never where; who serves jobs names the endpoint whole.
TEST_F(Outcomes, WrongOptionsOfJobsSayWhatWouldBeRight) {
  const auto expect = [&](std::vector<std::string> command, const char* words) {
    const auto run = hone(std::move(command));
    EXPECT_EQ(run.status, 2) << words << run.err;
    EXPECT_NE(run.err.find(words), std::string::npos) << run.err;
  };
  const std::string kernel = task("popcount");
  expect({"submit", kernel, "--llm-tokens", "1000"}, "limit what --llm asks for: give it");
  expect({"submit", kernel, "--llm", "--llm-cost", "cheap"}, "--llm-cost cheap: ");
  expect({"submit", kernel, "--llm", "--llm-modes", "magic"}, "there are whole, diff and steps");
  expect({"submit", kernel, "--llm", "--llm-tokens", "0"}, "--llm-tokens");
  expect({"submit", kernel, "--llm", "http://127.0.0.1:9/v1"}, "http://127.0.0.1:9/v1");
  expect({"coordinator", "--redis", "redis://127.0.0.1:9", "--db", db_, "--llm",
          "http://127.0.0.1:9/v1"},
         "--llm-model");
  expect({"coordinator", "--redis", "redis://127.0.0.1:9", "--db", db_, "--llm-cost", "1"},
         "without --llm");
  expect({"bench", tasks().string(), "--llm", "ftp://h/v1", "--llm-model", "m"}, "http");
}

// Each task has the whole budget; the table says what the model cost.
TEST_F(Outcomes, EveryTaskOfABenchHasItsBudget) {
  std::filesystem::create_directories(folder_.file("tasks"));
  for (const char* name : {"popcount", "bit_reverse"})
    std::filesystem::copy_file(tasks() / (std::string(name) + ".cu"),
                               folder_.file("tasks/" + std::string(name) + ".cu"));
  const ScriptedServer server(ScriptedServer::answering([&](const HeardRequest& request, int) {
    const char* const name =
        request.body.find("bit_reverse") != std::string::npos ? "bit_reverse" : "popcount";
    return stream_reply(trick(name), kInput, kOutput);
  }));
  const std::vector<std::string> rules = {
      "bench", folder_.file("tasks"), "--budget", "12", "--db", db_, "--json", "-"};
  auto command = with_model(rules, server);
  command.insert(command.end(), {"--llm-tokens", "25000"});
  const auto bench = hone(command);
  ASSERT_EQ(bench.status, 0) << bench.err;
  const auto document = bench.json();
  ASSERT_EQ(document["rows"].size(), 2U);
  int replies = 0;
  for (const auto& row : document["rows"]) {
    const auto& model = row["model"];
    EXPECT_GE(model["replies"], 1) << row["task"];
    EXPECT_LE(model["input_tokens"].get<int>() + model["output_tokens"].get<int>(), 25'000);
    replies += model["replies"].get<int>();
  }
  EXPECT_EQ(replies, server.connections());
  EXPECT_EQ(document["model"]["replies"], replies);
  EXPECT_EQ(document["model"]["input_tokens"], replies * kInput);
  EXPECT_NE(bench.err.find("language model, all tasks: "), std::string::npos) << bench.err;
  const auto again = hone(command).json();
  EXPECT_EQ(again["taken_over"], 2);
  EXPECT_EQ(again["rows"], document["rows"]);
  EXPECT_EQ(replies, server.connections());
  std::vector<std::string> alone = rules;
  alone.insert(alone.end(), {"--device", "emu:sm_90", "--seed", "7", "--quiet"});
  const auto without = hone(alone).json();
  EXPECT_EQ(without["taken_over"], 0) << "without a model it is another bench";
  EXPECT_EQ(without["model"], nullptr);
}

}  // namespace
}  // namespace hone::testing
