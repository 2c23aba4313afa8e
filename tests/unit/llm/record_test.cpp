#include "rewriters/llm/client/record.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "client_fixture.h"

namespace hone::llm {
namespace {

using testing::HeardRequest;
using testing::http_reply;
using testing::stream_reply;

class Records : public ClientTest {
 protected:
  Records() {
    std::string pattern = (std::filesystem::temp_directory_path() / "hone-record-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    path_ = folder_ / "record.jsonl";
  }
  ~Records() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string recorded() const {
    std::ifstream stream(path_);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  void write(const std::string& text) const { std::ofstream(path_) << text; }

  static Request of_kind(std::string text, std::string kind) {
    Request request = question(std::move(text));
    request.kind = std::move(kind);
    return request;
  }
  /// Asks all of these of a server that says "reply 1", "reply 2", …
  void record(const std::vector<Request>& requests) {
    serve([](const HeardRequest&, int number) {
      return stream_reply(fmt::format("reply {}", number));
    });
    const auto recorder = Recorder::open(path_);
    ASSERT_TRUE(recorder) << recorder.error().message;
    connect(settings_, recorder->get());
    for (const Request& request : requests) EXPECT_TRUE(client_->ask(request).reply);
    client_.reset();
  }

  std::filesystem::path folder_;
  std::string path_;
};

void expect_same(const Exchange& a, const Exchange& b) {
  ASSERT_EQ(a.reply.has_value(), b.reply.has_value());
  if (a.reply) {
    EXPECT_EQ(a.reply->text, b.reply->text);
    EXPECT_EQ(a.reply->finish_reason, b.reply->finish_reason);
    EXPECT_EQ(a.reply->model, b.reply->model);
    EXPECT_EQ(a.reply->usage.output_tokens, b.reply->usage.output_tokens);
    EXPECT_EQ(a.reply->usage.exact, b.reply->usage.exact);
    EXPECT_EQ(a.reply->notes, b.reply->notes);
  } else {
    EXPECT_EQ(a.reply.error().kind, b.reply.error().kind);
    EXPECT_EQ(a.reply.error().message, b.reply.error().message);
  }
  EXPECT_EQ(a.charge.input_tokens, b.charge.input_tokens);
  EXPECT_EQ(a.charge.output_tokens, b.charge.output_tokens);
  EXPECT_EQ(a.charge.nano_dollars, b.charge.nano_dollars);
  EXPECT_EQ(a.attempts, b.attempts);
  EXPECT_EQ(a.http_status, b.http_status);
  EXPECT_EQ(a.seconds, b.seconds);
}

TEST_F(Records, AReplayIsTheSameWithoutANetwork) {
  serve([](const HeardRequest&, int number) {
    if (number == 2) return http_reply(500, "text/plain", "no");
    if (number == 4) return http_reply(400, "text/plain", "bad " + std::string(kTestKey));
    return stream_reply(fmt::format("reply {} {}", number, kTestKey), number < 5 ? 11 : -1);
  });
  settings_.prices = Prices{1'000'000'000, 2'000'000'000};
  const auto recorder = Recorder::open(path_);
  ASSERT_TRUE(recorder) << recorder.error().message;
  connect(settings_, recorder->get());
  const std::vector<Request> requests = {question("a"), question("a"), question("b"),
                                         question("a")};
  std::vector<Exchange> live;
  for (const Request& request : requests) live.push_back(client_->ask(request));
  EXPECT_EQ(live[1].attempts, 2);
  EXPECT_FALSE(live[2].reply);
  const Meter::Totals spent = meter_->totals();
  server_.reset();
  EXPECT_FALSE(recorded().contains(kTestKey));
  struct stat status{};
  ASSERT_EQ(stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);

  const auto replay = Replay::open(path_);
  ASSERT_TRUE(replay) << replay.error().message;
  EXPECT_EQ((*replay)->unused(), 4U);
  Meter meter(settings_);
  Settings settings = settings_;
  settings.url = "";  // of no use to a replay
  settings.stream = false;
  const auto client = Client::make_replaying(settings, meter, **replay);
  for (std::size_t i = 0; i < requests.size(); ++i) expect_same(client->ask(requests[i]), live[i]);
  EXPECT_EQ(meter.totals().input_tokens, spent.input_tokens);
  EXPECT_EQ(meter.totals().output_tokens, spent.output_tokens);
  EXPECT_EQ(meter.totals().nano_dollars, spent.nano_dollars);
  EXPECT_EQ((*replay)->unused(), 0U);

  const Exchange missing = client->ask(requests[0]);
  expect_failure(missing, FailureKind::kRecordEnd, "has no more than its 4 replies");
  EXPECT_EQ(to_error(missing.reply.error()).code, ErrorCode::kInvalidInput);
  EXPECT_EQ(meter.totals().reserved_tokens, 0);
}

TEST_F(Records, WhatIsNotThereIsNamed) {
  record({of_kind("a", ""), of_kind("a", ""), of_kind("b", "")});
  const auto replay = Replay::open(path_).value();
  const auto client = Client::make_replaying(settings_, *meter_, *replay);
  EXPECT_TRUE(client->ask(question("a")).reply);
  EXPECT_TRUE(client->ask(question("a")).reply);
  expect_failure(client->ask(question("a")), FailureKind::kNoRecord, "has only 2 of request ");
  expect_failure(client->ask(question("new\nline")), FailureKind::kNoRecord,
                 "whose last message begins \"new?line\"");
}

TEST_F(Records, OtherRequestsAreAnsweredByKindInOrder) {
  record({of_kind("a", "whole"), of_kind("b", "diff"), of_kind("c", "whole"),
          of_kind("d", "whole repair"), of_kind("e", "whole")});
  const auto replay = Replay::open(path_).value();
  EXPECT_EQ(replay->kinds(), (std::vector<std::string>{"whole", "diff", "whole repair"}));
  EXPECT_EQ(replay->model(), "scripted");
  const auto client = Client::make_replaying(settings_, *meter_, *replay);
  const auto answer = [&](const char* text, const char* kind) {
    const Exchange exchange = client->ask(of_kind(text, kind));
    return exchange.reply ? exchange.reply->text : kind_name(exchange.reply.error().kind);
  };
  EXPECT_EQ(answer("c", "whole"), "reply 3") << "the equal one comes first";
  EXPECT_EQ(replay->taken_by_kind(), 0U);
  EXPECT_EQ(answer("x", "whole"), "reply 1");
  EXPECT_EQ(answer("y", "whole"), "reply 5") << "3 is used";
  EXPECT_EQ(replay->taken_by_kind(), 2U);
  expect_failure(client->ask(of_kind("z", "whole")), FailureKind::kNoRecord,
                 "only 3 of kind 'whole'");
  expect_failure(client->ask(of_kind("z", "steps")), FailureKind::kNoRecord,
                 "no reply of kind 'steps'");
  EXPECT_EQ(answer("x", ""), "no-record") << "no kind: equal ones only";
  EXPECT_EQ(answer("b", ""), "reply 2");
  EXPECT_EQ(answer("x", "whole repair"), "reply 4");
  EXPECT_EQ(answer("x", "whole repair"), "record-end");
  EXPECT_EQ(replay->unused(), 0U);
}

TEST_F(Records, FormatOneIsReadAndAnswersEqualRequestsOnly) {
  record({of_kind("a", "whole"), of_kind("b", "whole")});
  std::string lines;
  std::stringstream now(recorded());
  for (std::string line; std::getline(now, line);) {
    nlohmann::json json = nlohmann::json::parse(line);
    json["format"] = 1;
    json.erase("kind");
    lines += json.dump() + "\n";
  }
  write(lines);
  const auto replay = Replay::open(path_).value();
  EXPECT_TRUE(replay->kinds().empty());
  const auto client = Client::make_replaying(settings_, *meter_, *replay);
  EXPECT_TRUE(client->ask(of_kind("b", "whole")).reply);
  expect_failure(client->ask(of_kind("x", "whole")), FailureKind::kNoRecord, "record it anew");
  EXPECT_TRUE(client->ask(of_kind("a", "whole")).reply);
}

// A file may be anybody's.
TEST_F(Records, WhatAStrangerWroteIsCleanedAsAReplyIs) {
  record({of_kind("a", "whole"), of_kind("b", "whole")});
  std::stringstream now(recorded());
  std::string first, second;
  std::getline(now, first);
  std::getline(now, second);
  const std::string bad = "\x1b[2J\n\u202e" + std::string(5000, 'x');
  nlohmann::json reply = nlohmann::json::parse(first), failure = nlohmann::json::parse(second);
  reply["kind"] = reply["request"]["model"] = bad;
  reply["reply"]["model"] = reply["reply"]["finish_reason"] = bad;
  reply["reply"]["notes"] = std::vector<std::string>(1000, bad);
  reply["charge"]["input_tokens"] = reply["reply"]["usage"]["output_tokens"] = UINT64_MAX;
  reply["attempts"] = reply["status"] = UINT64_MAX;
  reply["seconds"] = -1e300;
  failure.erase("reply");
  failure["failure"] = {{"kind", "trouble"}, {"message", bad}};
  write(reply.dump() + "\n" + failure.dump() + "\n");
  const auto replay = Replay::open(path_).value();
  const auto expect_clean = [](const std::string& line, std::size_t most) {
    EXPECT_TRUE(line.starts_with("?[2J??x")) << line;
    EXPECT_LE(line.size(), most + 3) << line;
  };
  expect_clean(replay->model(), 256);
  ASSERT_EQ(replay->kinds().size(), 2U);
  expect_clean(replay->kinds()[0], 40);
  const Exchange one = replay->next(canonical_request(question("b"), settings_).value());
  expect_clean(one.reply.error().message, 1000);
  const Exchange other = replay->next("", replay->kinds()[0]);
  expect_clean(other.reply.value().model, 256);
  expect_clean(other.reply->finish_reason, 40);
  ASSERT_EQ(other.reply->notes.size(), 16U);
  expect_clean(other.reply->notes[15], 1000);
  EXPECT_EQ(other.charge.input_tokens, INT64_MAX);
  EXPECT_EQ(other.reply->usage.output_tokens, INT64_MAX);
  EXPECT_GT(other.attempts, 0);
  EXPECT_EQ(other.http_status, 999);
  EXPECT_EQ(other.seconds, 0);
}

TEST_F(Records, AReplyLongerThanALiveOneMayBeIsNoReply) {
  record({of_kind("a", "whole")});
  nlohmann::json json = nlohmann::json::parse(recorded());
  json["reply"]["text"] = std::string(5000, 'x');
  write(json.dump() + "\n");
  const auto replay = Replay::open(path_).value();
  settings_.max_reply_bytes = 4096;
  const auto client = Client::make_replaying(settings_, *meter_, *replay);
  expect_failure(client->ask(question("a")), FailureKind::kBadReply, "longer than 4096 bytes");
}

TEST_F(Records, WhatMattersOfARequest) {
  const Settings settings = [] {
    Settings s;
    s.model = "m";
    return s;
  }();
  const auto canonical = [](const Request& request, const Settings& s) {
    return canonical_request(request, s).value();
  };
  const Request base = question("a");
  const std::string same = canonical(base, settings);
  Settings other = settings;
  other.url = "http://elsewhere/v1";
  other.stream = !other.stream;
  other.retries = 9;
  EXPECT_EQ(canonical(base, other), same);
  other.model = "n";
  EXPECT_NE(canonical(base, other), same);
  other = settings;
  other.temperature = 0.5;
  EXPECT_NE(canonical(base, other), same);
  other = settings;
  other.max_output_tokens = 5;
  EXPECT_NE(canonical(base, other), same);
  Request request = base;
  request.max_output_tokens = settings.max_output_tokens;
  EXPECT_EQ(canonical(request, settings), same);
  request.response_format = R"({"b": 1, "a": 2})";
  EXPECT_NE(canonical(request, settings), same);
  Request spaced = request;
  spaced.response_format = R"({ "a":2, "b":1 })";
  EXPECT_EQ(canonical(spaced, settings), canonical(request, settings));
  request = base;
  request.messages[0].role = Role::kUser;
  EXPECT_NE(canonical(request, settings), same);
  EXPECT_EQ(request_hash(same).size(), 32U);
  EXPECT_NE(request_hash(same), request_hash(same + " "));
}

TEST_F(Records, WhatIsThereIsNotOverwritten) {
  write("mine\n");
  EXPECT_FALSE(Recorder::open(path_));
  EXPECT_EQ(recorded(), "mine\n");
  std::filesystem::create_symlink(path_, folder_ / "link");
  EXPECT_FALSE(Recorder::open(folder_ / "link"));
  EXPECT_FALSE(Recorder::open("/dev/null"));
  EXPECT_FALSE(Recorder::open(folder_ / "no" / "such"));
  write("");
  chmod(path_.c_str(), 0644);
  ASSERT_TRUE(Recorder::open(path_)) << "an empty one of ours";
  struct stat status{};
  ASSERT_EQ(stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
}

TEST_F(Records, AFailedWriteIsSaidWithTheReply) {
  serve([](const HeardRequest&, int) { return stream_reply("text"); });
  const auto recorder = Recorder::open(path_);
  connect(settings_, recorder->get());
  // No file may grow: the write fails as on a full disk.
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit none{0, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &none);
  const Exchange exchange = ask();
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  ASSERT_TRUE(exchange.reply);
  ASSERT_EQ(exchange.reply->notes.size(), 1U);
  EXPECT_TRUE(exchange.reply->notes[0].contains("record file")) << exchange.reply->notes[0];
}

TEST_F(Records, LinesThatAreNoExchange) {
  EXPECT_FALSE(Replay::open(path_)) << "missing";
  EXPECT_FALSE(Replay::open(folder_)) << "a folder";
  EXPECT_FALSE(Replay::open("/dev/zero")) << "endless";
  write("\n");
  EXPECT_TRUE(Replay::open(path_).error().message.contains("holds no exchange"));
  std::filesystem::remove(path_);
  serve([](const HeardRequest&, int) { return stream_reply("text"); });
  {
    const auto recorder = Recorder::open(path_);
    connect(settings_, recorder->get());
    ASSERT_TRUE(ask().reply);
  }
  const std::string good = recorded();
  const nlohmann::json json = nlohmann::json::parse(good);
  write(good + "\n" + good);
  EXPECT_EQ(Replay::open(path_).value()->unused(), 2U);

  const auto expect_refused = [&](const std::string& line) {
    write(good + line + "\n");
    const auto replay = Replay::open(path_);
    ASSERT_FALSE(replay) << line;
    EXPECT_EQ(replay.error().code, ErrorCode::kInvalidInput);
    EXPECT_TRUE(replay.error().message.contains("line 2")) << replay.error().message;
  };
  for (const char* line : {"{", "[]", "7", "{}", "\xFF"}) expect_refused(line);
  expect_refused(std::string(100'000, '['));
  expect_refused(good.substr(0, good.size() / 2));
  for (const auto& [key, value] : json.items()) {
    if (key == "hash" || key == "time") continue;
    nlohmann::json without = json;
    without.erase(key);
    expect_refused(without.dump());
    without[key] = "x";
    if (key != "kind") expect_refused(without.dump());
  }
  for (const char* place :
       {"/charge/nano_dollars", "/charge/input_tokens", "/reply/usage/input_tokens", "/attempts"}) {
    for (const auto& value : {nlohmann::json(-1), nlohmann::json(1.5), nlohmann::json(1e300),
                              nlohmann::json(true), nlohmann::json("1"), nlohmann::json()}) {
      nlohmann::json wrong = json;
      wrong[nlohmann::json::json_pointer(place)] = value;
      expect_refused(wrong.dump());
    }
  }
  for (const std::string& text : {std::string(), std::string(3, '\0')}) {
    nlohmann::json wrong = json;
    wrong["reply"]["text"] = text;
    expect_refused(wrong.dump());
  }
}

}  // namespace
}  // namespace hone::llm
