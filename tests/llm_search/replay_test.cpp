// Searches on what a language model said to another one.
#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "candidates/store/store.h"
#include "tests/llm_search/fixture.h"

namespace hone::testing {
namespace {

using nlohmann::json;

class LlmReplay : public LlmSearch {
 protected:
  /// A search that asks a server; its record is in record_.
  ProcessResult recorded(const std::string& name, const std::string& budget,
                         const std::string& modes, ScriptedServer::Answer answer) {
    const ScriptedServer server(ScriptedServer::answering(std::move(answer)));
    auto command = optimize(name, budget);
    with_model(command, server.url());
    std::ranges::replace(command, "whole", modes);
    command.insert(command.end(), {"--llm-record", record_});
    const auto run = hone(command);
    EXPECT_EQ(run.status, 0) << run.err;
    return run;
  }
  /// Nothing but the record is given, and a database of its own.
  ProcessResult replayed(const std::string& name, const std::string& budget,
                         const std::string& seed = "7") {
    db_ = folder_.file("replay.db");
    auto command = optimize(name, budget);
    *(std::ranges::find(command, "--seed") + 1) = seed;
    command.insert(command.end(), {"--llm-replay", record_});
    return hone(command);
  }

  const std::string record_ = folder_.file("record.jsonl");
};

TEST_F(LlmReplay, RepeatsTheSearchWithoutAServer) {
  const auto run = recorded("gray_decode", "16", "whole", [&](const HeardRequest&, int) {
    return stream_reply(trick("gray_decode"));
  });
  const auto again = replayed("gray_decode", "16");
  ASSERT_EQ(again.status, 0) << again.err;
  for (const char* part : {"counts", "model"}) EXPECT_EQ(again.json()[part], run.json()[part]);
  EXPECT_EQ(again.json()["best"]["candidate"], run.json()["best"]["candidate"]);
  EXPECT_TRUE(model_warnings(again.err).empty()) << again.err;
}

TEST_F(LlmReplay, OfAnotherSearchTakesRepliesInOrderAndSaysSo) {
  (void)recorded("popcount", "60", "whole",
                 [&](const HeardRequest&, int) { return stream_reply(trick("popcount")); });
  const auto other = replayed("popcount", "60", "8");  // so its examples are others
  ASSERT_EQ(other.status, 0) << other.err;
  EXPECT_GE(other.json()["model"]["recipes"], 1);
  const auto warnings = model_warnings(other.err);
  ASSERT_EQ(warnings.size(), 1U) << other.err;
  EXPECT_NE(warnings[0].find("in the order of recording"), std::string::npos) << warnings[0];
  ASSERT_FALSE(stored_replies().empty());
  EXPECT_EQ(stored_replies()[0].model, "scripted-1");
}

// A diff or steps that were made for another program are refused; a whole program may be accepted,
// and then fails the gates.
TEST_F(LlmReplay, OfAnotherTaskGivesNothing) {
  (void)recorded("popcount", "24", "whole,diff,steps", [&](const HeardRequest& request, int) {
    if (request.body.contains("response_format"))
      return plain_reply(R"({"steps": [{"rewriter": "unroll", "site": "popcount/loop0",
                                        "values": {"factor": 4}}]})");
    if (request.body.contains("<<<<<<< SEARCH"))
      return plain_reply(
          "<<<<<<< SEARCH\n  int count = 0;\n=======\n  int count = 0, unused = 1;\n"
          ">>>>>>> REPLACE\n");
    return plain_reply(trick("popcount"));
  });
  const auto other = replayed("smallest_distance", "24");
  ASSERT_EQ(other.status, 0) << other.err;
  EXPECT_LT(best_us(other), other.json()["reference"]["time_us"].get<double>());
  const auto store = Store::open(db_).value();
  const auto best = store->find_candidate(other.json()["best"]["candidate"]).value();
  EXPECT_NE(best.candidate.origin, "model");
  EXPECT_NE(best.candidate.origin, "model+rules");
  std::set<std::string> modes;
  for (const ReplyRecord& reply : stored_replies()) {
    modes.insert(reply.mode);
    const char* const outcome = reply.mode == "whole" ? "program" : "refused: ";
    EXPECT_TRUE(reply.outcome.starts_with(outcome)) << reply.mode << ": " << reply.outcome;
  }
  EXPECT_EQ(modes, (std::set<std::string>{"diff", "steps", "whole"}));
}

TEST_F(LlmReplay, ByAStrangerReachesNoTerminalAndNoDatabaseRaw) {
  (void)recorded("popcount", "12", "whole",
                 [&](const HeardRequest&, int) { return stream_reply(trick("popcount")); });
  const std::string escape = "\x1b]0;owned\x07\nhone: all is well";
  std::string lines;
  std::ifstream file(record_);
  for (std::string line; std::getline(file, line);) {
    json exchange = json::parse(line);
    exchange["request"]["model"] = exchange["reply"]["model"] = escape;
    exchange["reply"]["notes"] = {escape};
    exchange["reply"]["usage"]["input_tokens"] = exchange["charge"]["nano_dollars"] = UINT64_MAX;
    lines += exchange.dump() + "\n";
  }
  std::ofstream(record_) << lines;
  const auto run = replayed("popcount", "12");
  ASSERT_EQ(run.status, 0) << run.err;
  const std::string id = run.json()["best"]["candidate"];
  const auto shown = hone({"show", id, "--db", db_});
  for (const std::string& text : {run.err, run.out, shown.out, shown.err}) {
    EXPECT_EQ(text.find_first_of("\x1b\x07"), std::string::npos) << text;
    EXPECT_EQ(text.find("\nhone: all is well"), std::string::npos) << text;
  }
  ASSERT_FALSE(stored_replies().empty());
  EXPECT_EQ(stored_replies()[0].model, "?]0;owned??hone: all is well");
}

TEST_F(LlmReplay, OfAnotherModelIsRefused) {
  (void)recorded("popcount", "8", "whole",
                 [&](const HeardRequest&, int) { return stream_reply(trick("popcount")); });
  auto command = optimize("popcount", "8");
  command.insert(command.end(), {"--llm-replay", record_, "--llm-model", "other"});
  const auto run = hone(command);
  EXPECT_EQ(run.status, 2);
  EXPECT_NE(run.err.find("is of scripted; leave the option out"), std::string::npos) << run.err;
}

}  // namespace
}  // namespace hone::testing
