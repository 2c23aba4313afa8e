// A server that behaves: streams and single objects, what is sent, what is adapted to.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "client_fixture.h"

namespace hone::llm {
namespace {

using Json = nlohmann::json;
using testing::HeardRequest;
using testing::http_reply;
using testing::plain_json;
using testing::plain_reply;
using testing::ServerPeer;
using testing::stream_end;
using testing::stream_head;
using testing::stream_piece;
using testing::stream_reply;

class Behaving : public ClientTest {};

TEST_F(Behaving, StreamedReply) {
  HeardRequest heard;
  serve([&](const HeardRequest& request, int) {
    heard = request;
    return stream_reply("shared memory, \xC3\xA9 and all");
  });
  const Exchange exchange = ask();
  ASSERT_TRUE(exchange.reply) << exchange.reply.error().message;
  EXPECT_EQ(exchange.reply->text, "shared memory, \xC3\xA9 and all");
  EXPECT_EQ(exchange.reply->finish_reason, "stop");
  EXPECT_EQ(exchange.reply->model, "scripted-1");
  EXPECT_TRUE(exchange.reply->usage.exact);
  EXPECT_TRUE(exchange.reply->notes.empty());
  EXPECT_EQ(exchange.charge.input_tokens, 11);
  EXPECT_EQ(exchange.charge.output_tokens, 7);
  EXPECT_EQ(exchange.attempts, 1);
  EXPECT_EQ(exchange.http_status, 200);

  EXPECT_TRUE(heard.head.starts_with("POST /v1/chat/completions HTTP/1.1")) << heard.head;
  EXPECT_EQ(heard.header("Authorization"), "Bearer " + std::string(kTestKey));
  EXPECT_EQ(heard.header("Content-Type"), "application/json");
  const Json body = Json::parse(heard.body);
  EXPECT_EQ(body["model"], "scripted");
  EXPECT_EQ(body["stream"], true);
  EXPECT_EQ(body["stream_options"]["include_usage"], true);
  EXPECT_EQ(body["max_tokens"], 1000);
  EXPECT_FALSE(body.contains("temperature"));
  EXPECT_EQ(body["messages"][1]["role"], "user");
  EXPECT_EQ(body["messages"][1]["content"], "why is it fast?");
}

TEST_F(Behaving, PlainReply) {
  Json body;
  serve([&](const HeardRequest& request, int) {
    body = Json::parse(request.body);
    return plain_reply("tile it");
  });
  settings_.stream = false;
  settings_.temperature = 0.25;
  const Exchange exchange = ask();
  ASSERT_TRUE(exchange.reply) << exchange.reply.error().message;
  EXPECT_EQ(exchange.reply->text, "tile it");
  EXPECT_EQ(body["stream"], false);
  EXPECT_FALSE(body.contains("stream_options"));
  EXPECT_EQ(body["temperature"], 0.25);
}

TEST_F(Behaving, PlainReplyToAStreamRequest) {
  serve([](const HeardRequest&, int) { return plain_reply("plain"); });
  EXPECT_EQ(ask().reply.value().text, "plain");
}

TEST_F(Behaving, StreamToAPlainRequest) {
  serve([](const HeardRequest&, int) { return stream_reply("streamed"); });
  settings_.stream = false;
  EXPECT_EQ(ask().reply.value().text, "streamed");
}

TEST_F(Behaving, NoContentTypeIsToldByTheFirstByte) {
  serve([](const HeardRequest&, int number) {
    const std::string head = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n";
    return number == 1 ? head + plain_json("plain")
                       : head + stream_piece("streamed") + stream_end();
  });
  EXPECT_EQ(ask().reply.value().text, "plain");
  EXPECT_EQ(ask().reply.value().text, "streamed");
}

TEST_F(Behaving, StreamInPiecesOfOneByteWithCommentsAndCrLf) {
  serve_script([](ServerPeer& peer) {
    if (!peer.request()) return;
    std::string stream = ": hello\n\n" + stream_piece("in ") + ": still here\n\n" +
                         stream_piece("pieces") + stream_end();
    std::string crlf = stream_head();
    for (const char c : stream) crlf += c == '\n' ? std::string("\r\n") : std::string(1, c);
    for (const char c : crlf)
      if (!peer.send({&c, 1})) return;
  });
  EXPECT_EQ(ask().reply.value().text, "in pieces");
}

TEST_F(Behaving, ChunkedStreamWithoutDone) {
  serve([](const HeardRequest&, int) {
    std::string events = stream_piece("whole") + stream_end();
    events.resize(events.find("data: [DONE]"));
    return fmt::format(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: "
        "chunked\r\n\r\n{:x}\r\n{}\r\n0\r\n\r\n",
        events.size(), events);
  });
  const Exchange exchange = ask();
  EXPECT_EQ(exchange.reply.value().text, "whole");
  EXPECT_TRUE(exchange.reply->usage.exact);
}

TEST_F(Behaving, WithoutUsageTheWorstCaseCounts) {
  serve([](const HeardRequest&, int) { return stream_reply("text", -1); });
  const Exchange exchange = ask();
  ASSERT_TRUE(exchange.reply);
  EXPECT_FALSE(exchange.reply->usage.exact);
  EXPECT_EQ(exchange.reply->notes.size(), 1U);
  expect_worst_case(exchange);
}

TEST_F(Behaving, CutAtTheTokenLimitIsAReplyThatSaysSo) {
  serve([](const HeardRequest&, int) {
    return stream_head() + stream_piece("for (") + stream_end(11, 1000, "length");
  });
  EXPECT_EQ(ask().reply.value().finish_reason, "length");
}

TEST_F(Behaving, RefusedFormatIsLeftOutOnceAndForAll) {
  std::vector<bool> with;
  serve([&](const HeardRequest& request, int) {
    with.push_back(Json::parse(request.body).contains("response_format"));
    return with.back() ? http_reply(400, "application/json",
                                    R"({"error": {"message": "response_format: unknown"}})")
                       : stream_reply("{}");
  });
  connect(settings_);
  Request request = question();
  request.response_format = R"({"type": "json_schema", "json_schema": {"name": "steps"}})";
  const Exchange first = client_->ask(request);
  ASSERT_TRUE(first.reply) << first.reply.error().message;
  EXPECT_TRUE(first.reply->without_format);
  EXPECT_EQ(first.attempts, 2);
  EXPECT_EQ(first.charge.output_tokens, 7) << "the refused one is free";
  EXPECT_EQ(client_->ask(request).attempts, 1);
  EXPECT_EQ(with, (std::vector{true, false, false}));
}

TEST_F(Behaving, FormatIsPassedThrough) {
  Json body;
  serve([&](const HeardRequest& request, int) {
    body = Json::parse(request.body);
    return stream_reply("{}");
  });
  connect(settings_);
  Request request = question();
  request.response_format = R"({"type": "json_object"})";
  EXPECT_FALSE(client_->ask(request).reply.value().without_format);
  EXPECT_EQ(body["response_format"]["type"], "json_object");
}

TEST_F(Behaving, OtherNamesAndUnknownOptionsAreLearned) {
  std::vector<Json> bodies;
  serve([&](const HeardRequest& request, int) {
    const Json body = bodies.emplace_back(Json::parse(request.body));
    const auto refuse = [](const char* why) {
      return http_reply(400, "application/json", Json{{"error", {{"message", why}}}}.dump());
    };
    if (body.contains("max_tokens")) return refuse("Use 'max_completion_tokens' instead.");
    if (body.contains("stream_options")) return refuse("unknown field stream_options");
    if (body.contains("temperature")) return refuse("Temperature is fixed for this model");
    return stream_reply("text");
  });
  settings_.temperature = 1.0;
  EXPECT_EQ(ask().attempts, 4);
  EXPECT_EQ(ask().attempts, 1);
  EXPECT_EQ(bodies.back()["max_completion_tokens"], 1000);
}

TEST_F(Behaving, ARefusedRequestIsNotSentTwice) {
  serve([](const HeardRequest&, int) {
    return http_reply(400, "application/json", R"({"error": {"message": "context too long"}})");
  });
  const Exchange exchange = ask();
  expect_failure(exchange, FailureKind::kRequest, "\"context too long\"");
  expect_free(exchange);
  EXPECT_EQ(server_->connections(), 1);
  EXPECT_EQ(to_error(exchange.reply.error()).code, ErrorCode::kInvalidInput);
}

TEST_F(Behaving, TextAsPartsAndThoughtInTheTotalOnly) {
  serve([](const HeardRequest&, int) {
    return http_reply(200, "application/json; charset=utf-8",
                      R"({"choices": [{"message": {"content": [{"type": "text", "text": "a"},
                          {"type": "text", "text": "b"}]}}],
                          "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 50}})");
  });
  const Exchange exchange = ask();
  EXPECT_EQ(exchange.reply.value().text, "ab");
  EXPECT_EQ(exchange.charge.output_tokens, 40);
}

TEST_F(Behaving, NoMoreInFlightThanAllowed) {
  std::atomic<int> now = 0, most = 0;
  serve_script([&](ServerPeer& peer) {
    if (!peer.request()) return;
    const int mine = ++now;
    int seen = most;
    while (seen < mine && !most.compare_exchange_weak(seen, mine)) {
    }
    peer.sleep(std::chrono::milliseconds(20));
    --now;
    peer.send(stream_reply("text"));
  });
  settings_.concurrency = 3;
  connect(settings_);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 12; ++i)
      threads.emplace_back([this] { EXPECT_TRUE(client_->complete(question()).has_value()); });
  }
  EXPECT_LE(most, 3);
  EXPECT_EQ(meter_->totals().requests, 12);
  EXPECT_EQ(meter_->totals().input_tokens, 12 * 11);
}

// Two jobs' clients: budgets of their own, one limit of requests in flight, one breaker.
TEST_F(Behaving, ClientsBesideEachOtherShareAllButTheirBudgets) {
  std::atomic<int> now = 0, most = 0;
  std::atomic<bool> broken = false;
  serve_script([&](ServerPeer& peer) {
    if (!peer.request()) return;
    most = std::max(most.load(), ++now);
    peer.sleep(std::chrono::milliseconds(20));
    --now;
    peer.send(broken ? http_reply(500, "text/plain", "no") : stream_reply("text"));
  });
  settings_.concurrency = 1;
  settings_.retries = 0;
  connect(settings_);
  Meter small(std::nullopt, bound_of(question()) + 110, std::nullopt);
  const auto beside = client_->beside(small);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([this] { EXPECT_TRUE(client_->complete(question()).has_value()); });
    threads.emplace_back([&] { EXPECT_TRUE(beside->complete(question()).has_value()); });
  }
  EXPECT_EQ(most, 1);
  EXPECT_EQ(meter_->totals().requests, 4);
  EXPECT_EQ(small.totals().requests, 1);
  expect_failure(beside->ask(question()), FailureKind::kBudget, "token budget of");
  EXPECT_TRUE(client_->complete(question()).has_value());
  broken = true;
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(client_->complete(question()).has_value());
  Meter large(std::nullopt, 100'000, std::nullopt);
  expect_failure(client_->beside(large)->ask(question()), FailureKind::kDown, "counts as down");
  EXPECT_EQ(large.totals().requests, 0);
}

TEST_F(Behaving, ARequestThatCannotBeIsNotSent) {
  serve([](const HeardRequest&, int) { return stream_reply("text"); });
  connect(settings_);
  expect_failure(client_->ask({}), FailureKind::kRequest, "no message");
  expect_failure(client_->ask(question("\xFF")), FailureKind::kRequest, "not UTF-8");
  Request request = question();
  request.response_format = "[1]";
  expect_failure(client_->ask(request), FailureKind::kRequest, "response_format");
  expect_failure(client_->ask(question("key: " + std::string(kTestKey))), FailureKind::kRequest,
                 "holds the key");
  EXPECT_EQ(server_->connections(), 0);
}

}  // namespace
}  // namespace hone::llm
