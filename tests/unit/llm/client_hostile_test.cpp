// Servers that break the protocol, flood, dawdle or break off.
#include <fmt/format.h>
#include <sys/resource.h>

#include <thread>

#include "client_fixture.h"

namespace hone::llm {
namespace {

using testing::HeardRequest;
using testing::http_reply;
using testing::plain_json;
using testing::plain_reply;
using testing::ServerPeer;
using testing::stream_end;
using testing::stream_head;
using testing::stream_piece;
using testing::stream_reply;

class Hostile : public ClientTest {
 protected:
  Exchange answer_with(std::string bytes) {
    client_.reset();
    serve([bytes = std::move(bytes)](const HeardRequest&, int) { return bytes; });
    return ask();
  }
  Exchange json(const std::string& body) {
    return answer_with(http_reply(200, "application/json", body));
  }
  Exchange stream(const std::string& events) { return answer_with(stream_head() + events); }
};

long peak_kib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

TEST_F(Hostile, HalfAStreamIsNeverPassedOn) {
  const Exchange exchange = stream(stream_piece("half of") + stream_piece(" it"));
  expect_failure(exchange, FailureKind::kBadReply, "broke off");
  expect_worst_case(exchange);
  EXPECT_EQ(server_->connections(), 1) << "it has been paid for: not asked for again";
}

TEST_F(Hostile, AStreamThatIsReset) {
  serve_script([](ServerPeer& peer) {
    if (!peer.request()) return;
    peer.send(stream_head() + stream_piece("half"));
    peer.sleep(std::chrono::milliseconds(100));
    peer.reset();
  });
  expect_failure(ask(), FailureKind::kBadReply, "broke off");
}

TEST_F(Hostile, AStreamThatEndsWithinAnEvent) {
  std::string events = stream_piece("text") + stream_end();
  events.resize(events.find("finish_reason"));
  expect_failure(stream(events), FailureKind::kBadReply, "broke off");
}

TEST_F(Hostile, BrokenAfterTheTextWasCompleteIsAReply) {
  serve_script([](ServerPeer& peer) {
    if (!peer.request()) return;
    std::string events = stream_piece("complete") + stream_end(-1);
    events.resize(events.find("data: [DONE]"));
    peer.send(stream_head() + events);
    peer.sleep(std::chrono::milliseconds(100));
    peer.reset();
  });
  const Exchange exchange = ask();
  EXPECT_EQ(exchange.reply.value().text, "complete");
  EXPECT_FALSE(exchange.reply->usage.exact);
  expect_worst_case(exchange);
}

TEST_F(Hostile, HalfAnObject) {
  const std::string body = plain_json("text");
  // Less than Content-Length says.
  expect_failure(
      answer_with(http_reply(200, "application/json", body + std::string(100, ' ')).substr(0, 150)),
      FailureKind::kBadReply, "broke off");
  expect_failure(json(body.substr(0, body.size() / 2)), FailureKind::kBadReply,
                 "ends in the middle");
}

TEST_F(Hostile, WhatFollowsDoneIsNotRead) {
  serve_script([](ServerPeer& peer) {
    if (!peer.request()) return;
    peer.send(stream_reply("text"));
    while (peer.send(stream_piece("more"))) {
    }
  });
  EXPECT_EQ(ask().reply.value().text, "text");
}

TEST_F(Hostile, DoneIsTheEndOfAnOpenConnection) {
  serve_script([](ServerPeer& peer) {
    if (!peer.request()) return;
    peer.send(stream_reply("text"));
    peer.wait_until_closed();
  });
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(ask().reply.value().text, "text");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, settings_.idle_timeout / 2);
}

TEST_F(Hostile, EndlessStreamOfText) {
  serve_script([](ServerPeer& peer) {
    if (!peer.request() || !peer.send(stream_head())) return;
    while (peer.send(stream_piece("and on"))) {
    }
  });
  settings_.max_reply_bytes = 10'000;
  const Exchange exchange = ask();
  expect_failure(exchange, FailureKind::kBadReply, "longer than 10000 bytes");
  expect_worst_case(exchange);
}

TEST_F(Hostile, EndlessStreamOfComments) {
  serve_script([](ServerPeer& peer) {
    if (!peer.request() || !peer.send(stream_head())) return;
    while (peer.send(": still thinking\n\n")) {
    }
  });
  settings_.max_reply_bytes = 10'000;
  expect_failure(ask(), FailureKind::kBadReply, "longer than 1034000 bytes");
}

TEST_F(Hostile, EndlessLine) {
  serve_script([](ServerPeer& peer) {
    if (!peer.request() || !peer.send(stream_head() + "data: ")) return;
    const std::string piece(65536, 'x');
    while (peer.send(piece)) {
    }
  });
  expect_failure(ask(), FailureKind::kBadReply, "longer than");
}

TEST_F(Hostile, EndlessHeaders) {
  serve_script([](ServerPeer& peer) {
    if (!peer.request() || !peer.send("HTTP/1.1 200 OK\r\n")) return;
    const std::string line = "X-Filler: " + std::string(1000, 'x') + "\r\n";
    while (peer.send(line)) {
    }
  });
  settings_.retries = 0;
  expect_failure(ask(), FailureKind::kTrouble, "bytes of headers");
}

TEST_F(Hostile, AHundredMegabytesAreCutOffWithoutMemory) {
  for (const char* type : {"application/json", "text/event-stream", "text/html"}) {
    std::atomic<std::size_t> sent = 0;
    client_.reset();
    serve_script([&, type](ServerPeer& peer) {
      if (!peer.request()) return;
      peer.send(fmt::format(
          "HTTP/1.1 200 OK\r\nContent-Type: {}\r\nContent-Length: 100000000\r\n\r\n", type));
      const std::string piece(1 << 16, '{');
      for (int i = 0; i < 1600 && peer.send(piece); ++i) sent += piece.size();
    });
    const long before = peak_kib();
    expect_failure(ask(), FailureKind::kBadReply, "");
    EXPECT_LT(peak_kib() - before, 16 << 10) << type;
    server_.reset();
    EXPECT_LT(sent, 32U << 20) << type;
  }
}

TEST_F(Hostile, AnErrorBodyOfAHundredMegabytes) {
  serve_script([](ServerPeer& peer) {
    if (!peer.request()) return;
    peer.send("HTTP/1.1 400 X\r\nContent-Type: text/plain\r\n\r\nno: ");
    const std::string piece(1 << 16, '\x1b');
    for (int i = 0; i < 1600 && peer.send(piece);) ++i;
  });
  const Exchange exchange = ask();
  expect_failure(exchange, FailureKind::kRequest, "no: ???");
  EXPECT_LT(exchange.reply.error().message.size(), 400U);
}

TEST_F(Hostile, SilenceEndsWithTheIdleTimeout) {
  serve_script([](ServerPeer& peer) {
    if (!peer.request()) return;
    peer.send(stream_head() + stream_piece("a"));
    peer.wait_until_closed();
  });
  settings_.idle_timeout = Milliseconds(150);
  expect_failure(ask(), FailureKind::kBadReply, "no byte for 150 ms");
}

TEST_F(Hostile, SilenceFromTheBeginningIsTriedAgain) {
  serve_script([](ServerPeer& peer) {
    if (peer.request()) peer.wait_until_closed();
  });
  settings_.idle_timeout = Milliseconds(100);
  settings_.retries = 2;
  const Exchange exchange = ask();
  expect_failure(exchange, FailureKind::kTrouble, "no byte for 100 ms (after 3 attempts)");
  expect_worst_case(exchange, 3);
}

TEST_F(Hostile, SlowDripEndsWithTheTotalTimeout) {
  serve_script([](ServerPeer& peer) {
    if (!peer.request() || !peer.send(stream_head())) return;
    while (peer.send(stream_piece("a")) && peer.sleep(std::chrono::milliseconds(20))) {
    }
  });
  settings_.total_timeout = Milliseconds(400);
  expect_failure(ask(), FailureKind::kBadReply, "the total time is over");
}

TEST_F(Hostile, NotStreamingTheIdleTimeoutBeginsWithTheFirstByte) {
  serve_script([](ServerPeer& peer) {
    if (!peer.request()) return;
    peer.sleep(std::chrono::milliseconds(400));
    peer.send(plain_reply("late"));
  });
  settings_.stream = false;
  settings_.idle_timeout = Milliseconds(100);
  EXPECT_EQ(ask().reply.value().text, "late");
}

TEST_F(Hostile, MalformedJson) {
  expect_failure(json("{\"choices\": [}"), FailureKind::kBadReply, "wrong at byte");
  expect_failure(json("[]"), FailureKind::kBadReply, "not a JSON object");
  expect_failure(json("{}"), FailureKind::kBadReply, "no \"choices\"");
  expect_failure(json(R"({"choices": 3})"), FailureKind::kBadReply, "not an array");
  expect_failure(json(R"({"choices": [1, "x", null]})"), FailureKind::kNoText, "empty");
  expect_failure(json(R"({"choices": [{"message": 1}]})"), FailureKind::kBadReply, "not an object");
  expect_failure(json(R"({"choices": [{"message": {"content": 1}}]})"), FailureKind::kBadReply,
                 "not a string");
  expect_failure(json(""), FailureKind::kBadReply, "empty");
  expect_failure(json("{\"a\": 1e999}"), FailureKind::kBadReply, "number");
  expect_failure(stream("data: {broken\n\n" + stream_end()), FailureKind::kBadReply, "not JSON");
  expect_failure(stream("data: 7\n\n" + stream_end()), FailureKind::kBadReply, "not a JSON object");
  expect_failure(stream(""), FailureKind::kBadReply, "empty");
  expect_failure(stream(": nothing\n\n"), FailureKind::kBadReply, "holds no reply");
  EXPECT_EQ(server_->connections(), 1) << "none of it is asked for again";
}

TEST_F(Hostile, DeepJson) {
  const std::string deep(500'000, '[');
  expect_failure(json(deep), FailureKind::kBadReply, "nested");
  expect_failure(json("{\"a\": " + deep + std::string(500'000, ']') + "}"), FailureKind::kBadReply,
                 "nested");
  expect_failure(stream("data: " + deep + "\n\n"), FailureKind::kBadReply, "nested");
  expect_failure(answer_with(http_reply(400, "application/json", deep)), FailureKind::kRequest,
                 "[[[[");
}

TEST_F(Hostile, BytesThatAreNoText) {
  expect_failure(json(R"({"choices": [{"message": {"content": ")"
                      "\xFF\xC0"
                      R"("}}]})"),
                 FailureKind::kBadReply, "not JSON");
  expect_failure(json(R"({"choices": [{"message": {"content": "\ud800"}}]})"),
                 FailureKind::kBadReply, "not JSON");
  expect_failure(json(R"({"choices": [{"message": {"content": "a\u0000b"}}]})"),
                 FailureKind::kBadReply, "NUL");
  expect_failure(json(std::string("\0\0\0", 3)), FailureKind::kBadReply, "not JSON");
  expect_failure(stream(std::string("data: {\"a\": \"\0\"}\n\n", 18)), FailureKind::kBadReply,
                 "not JSON");
}

TEST_F(Hostile, WrongContentTypes) {
  for (const char* type : {"text/html; charset=utf-8", "image/png", "text/plain", "?"}) {
    const Exchange exchange = answer_with(http_reply(200, type, plain_json("text")));
    expect_failure(exchange, FailureKind::kBadReply, "where JSON or an event stream");
    expect_worst_case(exchange);
  }
  expect_failure(answer_with(http_reply(200, "application/json", plain_json("text"),
                                        "Content-Encoding: gzip\r\n")),
                 FailureKind::kBadReply, "as 'gzip'");
}

TEST_F(Hostile, NoText) {
  expect_failure(json(plain_json("")), FailureKind::kNoText, "empty");
  expect_failure(json(plain_json(" \n")), FailureKind::kNoText, "empty");
  expect_failure(json(R"({"choices": []})"), FailureKind::kNoText, "empty");
  expect_failure(json(plain_json("", 11, 1000, "length")), FailureKind::kNoText, "token limit");
  expect_failure(json(plain_json("bad", 11, 7, "content_filter")), FailureKind::kNoText, "filter");
  expect_failure(json(R"({"choices": [{"message": {"refusal": "I\nwill not", "content": null}}]})"),
                 FailureKind::kNoText, "refuses: \"I?will not\"");
  expect_failure(
      json(R"({"choices": [{"message": {"content": "x", "tool_calls": [{"id": "1"}]}}]})"),
      FailureKind::kNoText, "calls a tool");
  expect_failure(stream(R"(data: {"choices": [{"delta": {"tool_calls": [{}]}}]})"
                        "\n\n" +
                        stream_end()),
                 FailureKind::kNoText, "calls a tool");
  const Exchange thought = stream(R"(data: {"choices": [{"delta": {"reasoning_content": "hm"}}]})"
                                  "\n\n" +
                                  stream_end(11, 1000, "length"));
  expect_failure(thought, FailureKind::kNoText, "thought until the token limit");
  EXPECT_EQ(thought.charge.output_tokens, 1000) << "as the server says, not the worst case";
  EXPECT_EQ(thought.charge.input_tokens, 11);
}

TEST_F(Hostile, AnErrorWithin200) {
  expect_failure(json(R"({"error": {"message": "overloaded"}})"), FailureKind::kTrouble,
                 "overloaded");
  expect_failure(stream(stream_piece("a") + "data: {\"error\": \"gone\"}\n\n" + stream_end()),
                 FailureKind::kTrouble, "gone");
}

TEST_F(Hostile, NotHttp) {
  settings_.retries = 0;
  serve([](const HeardRequest&, int) { return "SSH-2.0-OpenSSH_9.2\r\n"; });
  settings_.retries = 0;
  expect_failure(ask(), FailureKind::kTrouble, "HTTP/0.9");
}

TEST_F(Hostile, UsageThatCannotBe) {
  const auto with = [&](const char* usage) {
    return json(R"({"choices": [{"message": {"content": "x"}}], "usage": )" + std::string(usage) +
                "}");
  };
  for (const char* usage : {"{}", "7", "null", R"({"prompt_tokens": -5, "completion_tokens": -1})",
                            R"({"prompt_tokens": "5", "completion_tokens": 1.5})"}) {
    const Exchange exchange = with(usage);
    ASSERT_TRUE(exchange.reply) << usage;
    EXPECT_FALSE(exchange.reply->usage.exact);
    expect_worst_case(exchange);
  }
  const Exchange half = with(R"({"prompt_tokens": 5, "completion_tokens": -1})");
  EXPECT_EQ(half.charge.input_tokens, 5);
  EXPECT_EQ(half.charge.output_tokens, 1000);
  const Exchange huge =
      with(R"({"prompt_tokens": 18446744073709551615, "completion_tokens": 9223372036854775807})");
  EXPECT_EQ(huge.charge.input_tokens, INT64_MAX);
  EXPECT_EQ(meter_->totals().overruns, 1);
  ASSERT_EQ(huge.reply.value().notes.size(), 1U);
  EXPECT_TRUE(huge.reply->notes[0].contains("more than"));
}

TEST_F(Hostile, UsageThatMoreTextFollows) {
  const std::string zeros =
      R"(data: {"choices": [], "usage": {"prompt_tokens": 0, "completion_tokens": 0}})"
      "\n\n";
  expect_worst_case(stream(zeros + stream_piece("half")));
  const Exchange early = stream(zeros + stream_piece("text") + stream_end(-1));
  EXPECT_TRUE(early.reply);
  expect_worst_case(early);
  const Exchange thought = stream(zeros + R"(data: {"choices": [{"delta": {"reasoning": "hm"}}]})" +
                                  "\n\n" + stream_end(-1));
  expect_worst_case(thought);
  const Exchange growing = stream(zeros + stream_piece("text") + stream_end(5, 6));
  EXPECT_EQ(growing.charge.input_tokens, 5);
  EXPECT_EQ(growing.charge.output_tokens, 6);
}

TEST_F(Hostile, RedirectionsAreNotFollowed) {
  for (const int status : {301, 302, 303, 307, 308}) {
    testing::ScriptedServer elsewhere(testing::ScriptedServer::answering(
        [](const HeardRequest&, int) { return plain_reply("x"); }));
    const std::string location = elsewhere.url();
    const Exchange exchange = answer_with(
        http_reply(status, "text/plain", "", fmt::format("Location: {}\r\n", location)));
    expect_failure(exchange, FailureKind::kSettings, fmt::format("'{}'", location));
    expect_free(exchange);
    EXPECT_EQ(server_->connections(), 1);
    EXPECT_EQ(elsewhere.connections(), 0);
  }
}

TEST_F(Hostile, EchoesOfTheKeyAreScrubbed) {
  const std::string key(kTestKey);
  expect_failure(answer_with(http_reply(401, "application/json",
                                        R"({"error": {"message": "bad key )" + key + "\"}}")),
                 FailureKind::kSettings, "bad key [key]");
  expect_failure(
      answer_with(http_reply(302, "text/plain", "", "Location: http://x/" + key + "\r\n")),
      FailureKind::kSettings, "http://x/[key]");
  expect_failure(answer_with(http_reply(302, "text/plain", "", "Location: http://x/\x1b[2J\r\n")),
                 FailureKind::kSettings, "http://x/?[2J");
  expect_failure(answer_with(http_reply(400, "text/plain", "begins like it: " + key.substr(0, 9))),
                 FailureKind::kRequest, ": " + key.substr(0, 9) + "\"");
  expect_failure(answer_with(http_reply(200, key, "")), FailureKind::kBadReply, "empty");
  expect_failure(answer_with(http_reply(200, key, "x")), FailureKind::kBadReply, "'[key]'");
  EXPECT_EQ(json(plain_json("it is " + key + "!")).reply.value().text, "it is [key]!");
  // Escaped, so that the bytes of the key are nowhere in the reply.
  const Exchange escaped =
      json(R"({"choices": [{"message": {"content": "\u0073)" + key.substr(1) + "\"}}]}");
  EXPECT_EQ(escaped.reply.value().text, "[key]");
  // Spread over events, and over the pieces of TCP.
  std::string events;
  for (const char c : key) events += stream_piece({&c, 1});
  EXPECT_EQ(stream(events + stream_end()).reply.value().text, "[key]");
  serve_script([&](ServerPeer& peer) {
    if (!peer.request()) return;
    for (const char c : stream_reply("a") + stream_piece(key))
      if (!peer.send({&c, 1})) return;
  });
  client_.reset();
  EXPECT_EQ(ask().reply.value().text, "a");
  const Exchange model =
      json(R"({"model": ")" + key + R"(", "choices": [{"message": {"content": "x"}}]})");
  EXPECT_EQ(model.reply.value().model, "[key]");
}

}  // namespace
}  // namespace hone::llm
