#include <gtest/gtest.h>

#include <sys/socket.h>
#include <unistd.h>
#include <cmath>

#include <thread>

#include "evaluator/protocol/channel.h"
#include "evaluator/protocol/measure_messages.h"
#include "evaluator/protocol/messages.h"

namespace hone::protocol {
namespace {

using Json = nlohmann::json;

struct Pair {
  Pair() { EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0); }
  ~Pair() {
    close(fd[0]);
    if (fd[1] >= 0) close(fd[1]);
  }
  void write_raw(const std::string& bytes) {
    ASSERT_EQ(::send(fd[1], bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  }
  int fd[2];
};

std::string frame(const std::string& body) {
  std::string out = "HON2";
  for (int i = 0; i < 4; ++i) out += static_cast<char>(body.size() >> (8 * i));
  return out + "request7" + body;
}

TEST(Channel, RoundTripsLargeMessages) {
  Pair pair;
  const Json sent = {{"text", std::string(3 << 20, 'x')},
                     {"blob", blob(std::string("\0\xff\x80", 3))},
                     {"numbers", {1, -2, 3.5}}};
  std::thread writer([&] {
    Channel channel(pair.fd[1]);
    EXPECT_TRUE(channel.send(sent, -1, 0x123456789ABCDEF0U));
  });
  Channel channel(pair.fd[0]);
  const auto got = channel.receive(10);
  writer.join();
  ASSERT_EQ(got.status, ReceiveStatus::kOk) << got.detail;
  EXPECT_EQ(got.message, sent);
  EXPECT_EQ(got.request, 0x123456789ABCDEF0U);
  EXPECT_EQ(*get_blob(got.message, "blob"), std::string("\0\xff\x80", 3));
}

TEST(Channel, SilenceIsATimeout) {
  Pair pair;
  EXPECT_EQ(Channel(pair.fd[0]).receive(0.02).status, ReceiveStatus::kTimeout);
}

TEST(Channel, HalfAFrameIsATimeoutAndThenClosed) {
  Pair pair;
  pair.write_raw(frame(std::string(100, 'a')).substr(0, 30));
  EXPECT_EQ(Channel(pair.fd[0]).receive(0.02).status, ReceiveStatus::kTimeout);
  close(pair.fd[1]);
  pair.fd[1] = -1;
  EXPECT_EQ(Channel(pair.fd[0]).receive(1).status, ReceiveStatus::kClosed);
}

TEST(Channel, RefusesWhatIsNoFrame) {
  for (const std::string& bytes :
       {std::string("HTTP/1.1 200 OK\r\n"),
        std::string("HON2\xff\xff\xff\xff"
                    "12345678",
                    16),
        std::string("HON2\0\0\0\0\0\0\0\0\0\0\0\0", 16),
        std::string("HON1\1\0\0\0\0\0\0\0\0\0\0\0\xa0", 17), frame("\xff"), frame("\x9f"),
        frame(std::string("\x01\x01", 2)), frame("\x7b\xff\xff\xff\xff\xff\xff\xff\xff"),
        frame("\x9b\x7f\xff\xff\xff\xff\xff\xff\xff"), frame("\xc1\x01")}) {
    Pair pair;
    pair.write_raw(bytes);
    EXPECT_EQ(Channel(pair.fd[0]).receive(1).status, ReceiveStatus::kMalformed)
        << testing::PrintToString(bytes);
  }
}

TEST(Channel, DeepNestingIsRefusedWithoutRecursion) {
  const std::string deep(1 << 20, '\x81');  // arrays of one array of …
  const auto decoded = decode(reinterpret_cast<const std::uint8_t*>(deep.data()), deep.size());
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code, ErrorCode::kInfrastructure);
}

TEST(Channel, ManySmallValuesAreRefused) {
  // An array of 32 M empty maps: a byte each on the way, sixteen and more in memory.
  std::string flood("\x9a\x02\x00\x00\x00", 5);
  flood.append(1 << 25, '\xa0');
  const auto decoded = decode(reinterpret_cast<const std::uint8_t*>(flood.data()), flood.size());
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code, ErrorCode::kInfrastructure);
}

/// The library reads each piece by a call within the last.
TEST(Channel, StringsInPiecesAreRefused) {
  for (const char header : {'\x7f', '\x5f'}) {
    std::string pieces(1 << 20, header);
    const auto decoded =
        decode(reinterpret_cast<const std::uint8_t*>(pieces.data()), pieces.size());
    ASSERT_FALSE(decoded);
    EXPECT_NE(decoded.error().message.find("in pieces"), std::string::npos);
  }
  // The same bytes as the contents of a string are nothing special.
  const auto bytes =
      encode({{"text", std::string(300, '\x7f')}, {"list", {1, -500, 2.5, nullptr}}});
  EXPECT_TRUE(decode(bytes.data(), bytes.size()));
}

TEST(Fields, ErrorsOfRunnersAreCleaned) {
  EXPECT_FALSE(error_of(Json{{"verdict", "ok"}}));
  EXPECT_EQ(error_of(Json{{"error", 7}}), "unreadable error");
  const auto text = error_of(Json{{"error", std::string("a\x1b[31m\xff")}});
  ASSERT_TRUE(text);
  EXPECT_EQ(text->find('\x1b'), std::string::npos);
  EXPECT_NO_THROW((void)Json(*text).dump());
  EXPECT_FALSE(get_positive(Json{{"t", std::nan("")}}, "t"));
  EXPECT_FALSE(get_positive(Json{{"t", -1.0}}, "t"));
  EXPECT_TRUE(get_positive(Json{{"t", 0.0}}, "t"));
}

TEST(Channel, SendToTheDeadIsAnError) {
  Pair pair;
  close(pair.fd[1]);
  pair.fd[1] = -1;
  const auto sent = Channel(pair.fd[0]).send({{"a", 1}});
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code, ErrorCode::kInfrastructure);
}

TEST(Channel, SendGivesUpOnAReaderThatDoesNotRead) {
  Pair pair;
  EXPECT_FALSE(Channel(pair.fd[0]).send({{"a", std::string(8 << 20, 'x')}}, 0.05));
}

TEST(Fields, WrongTypesAreErrors) {
  const Json m = {{"i", 1}, {"s", "text"}, {"b", true}, {"a", {1, 2, 3}}};
  EXPECT_EQ(*get_int(m, "i"), 1);
  EXPECT_FALSE(get_int(m, "s"));
  EXPECT_FALSE(get_int(m, "missing"));
  EXPECT_FALSE(get_string(m, "i"));
  EXPECT_FALSE(get_string(m, "s", 3));
  EXPECT_FALSE(get_blob(m, "s"));
  EXPECT_FALSE(get_bool(m, "i"));
  EXPECT_FALSE(get_array(m, "a", 2));
  EXPECT_FALSE(get_object(m, "a"));
  EXPECT_FALSE(get_int(Json::array({1}), "i"));
}

CompiledProgram sample_program() {
  CompiledProgram p;
  p.verdict = Verdict::kOk;
  p.log = "a warning";
  p.ptx = "ptx";
  p.cubin = std::string(
      "\x7f"
      "ELF\0",
      5);
  CompiledKernel k;
  k.name = "scale<float>";
  k.lowered_name = "_Z5scaleIfEvPKfPf";
  k.resources = {"scale<float>", 12, 8, 16, 1024, 256, 0};
  k.parameters = {{KernelParameter::Kind::kInteger, 0, 8, true, "float const*"},
                  {KernelParameter::Kind::kFloat, 8, 4, false, "float"}};
  k.parameter_bytes = 12;
  k.marks_pointers = true;
  p.kernels = {k};
  return p;
}

Json through_cbor(const Json& m) {
  const auto bytes = encode(m);
  return *decode(bytes.data(), bytes.size());
}

TEST(Messages, CompiledProgramRoundTrips) {
  const auto p = compiled_program_from(through_cbor(to_message(sample_program())));
  ASSERT_TRUE(p) << p.error().message;
  EXPECT_EQ(p->ptx, "ptx");
  EXPECT_EQ(p->cubin.size(), 5U);
  ASSERT_EQ(p->kernels.size(), 1U);
  EXPECT_EQ(p->kernels[0].resources.registers, 12);
  EXPECT_EQ(p->kernels[0].resources.max_threads, 256);
  ASSERT_EQ(p->kernels[0].parameters.size(), 2U);
  EXPECT_TRUE(p->kernels[0].parameters[0].pointer);
  EXPECT_EQ(p->kernels[0].parameters[1].type, "float");
}

TEST(Messages, LyingParameterLayoutIsRefused) {
  auto m = to_message(sample_program());
  m["kernels"][0]["parameters"][1]["offset"] = 1000;
  EXPECT_FALSE(compiled_program_from(m));
  m = to_message(sample_program());
  m["kernels"][0]["parameter_bytes"] = -1;
  EXPECT_FALSE(compiled_program_from(m));
  m = to_message(sample_program());
  m["verdict"] = "splendid";
  EXPECT_FALSE(compiled_program_from(m));
}

TEST(Messages, EveryFieldOfAReplyIsChecked) {
  EmulateReply reply;
  reply.verdict = Verdict::kRace;
  reply.detail = "s[3]";
  reply.time_us = 12.5;
  reply.counters = {{"blocks", 4}};
  reply.fakes = {{.buffer = "y", .fake = "zeros", .passed = false, .exact = true}};
  const Json good = to_message(reply);
  const auto back = emulate_reply_from(through_cbor(good));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->verdict, Verdict::kRace);
  EXPECT_EQ(back->counters.at("blocks"), 4);
  EXPECT_EQ(to_message(*back), good);
  for (const auto& [key, value] : good["fakes"][0].items()) {
    Json bad = good;
    bad["fakes"][0][key] = nullptr;
    EXPECT_FALSE(emulate_reply_from(bad)) << key;
  }
  for (const auto& [key, value] : good.items()) {
    Json bad = good;
    bad.erase(key);
    EXPECT_FALSE(emulate_reply_from(bad)) << key;
    bad[key] = nullptr;
    EXPECT_FALSE(emulate_reply_from(bad)) << key;
  }
  const Json measured = to_message(MeasureReply{});
  ASSERT_TRUE(measure_reply_from(through_cbor(measured)));
  for (const auto& [key, value] : measured.items()) {
    Json bad = measured;
    bad[key] = nullptr;
    EXPECT_FALSE(measure_reply_from(bad)) << key;
  }
  Json negative = measured;
  negative["time_us"] = -1.0;
  EXPECT_FALSE(measure_reply_from(negative));
}

TEST(Messages, EveryFieldOfAPartIsChecked) {
  EmulateRequest request;
  request.part = Part{.does = Part::Does::kRest,
                      .own_work = 1ULL << 40,
                      .schedules = 3,
                      .often = true,
                      .timed_follows = true,
                      .wrote_variables = true,
                      .unusable = {0, 7},
                      .input = "x",
                      .inputs = 2};
  const Json good = to_message(request);
  const auto back = emulate_request_from(through_cbor(good));
  ASSERT_TRUE(back) << back.error().message;
  ASSERT_TRUE(back->part);
  EXPECT_EQ(to_message(*back), good);
  for (const auto& [key, value] : good["part"].items()) {
    Json bad = good;
    bad["part"][key] = nullptr;
    EXPECT_FALSE(emulate_request_from(bad)) << key;
    bad["part"].erase(key);
    EXPECT_FALSE(emulate_request_from(bad)) << key;
  }
}

TEST(Messages, AnEmulateRequestNamesItsLevelAndLimit) {
  EmulateRequest request;
  for (const MathLevel level : kAllMathLevels) {
    request.math = level;
    const auto back = emulate_request_from(through_cbor(to_message(request)));
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(back->math, level);
    EXPECT_EQ(back->most_units, 0);
  }
  request.most_units = 2.5e6;
  EXPECT_EQ(emulate_request_from(through_cbor(to_message(request)))->most_units, 2.5e6);
  Json bad = to_message(request);
  bad["most_units"] = "many";
  EXPECT_FALSE(emulate_request_from(bad));
  bad = to_message(request);
  for (const Json& value : {Json("fast"), Json(3), Json(nullptr)}) {
    bad["math"] = value;
    EXPECT_FALSE(emulate_request_from(bad)) << value;
  }
}

TEST(Messages, TheTextOfManyChecksIsSentOnce) {
  EmulateRequest request;
  Case one;
  one.reference.compiled.ptx = "the reference's";
  one.candidate.emplace();
  one.candidate->compiled.ptx.assign(2U << 20, 'c');
  one.precise.emplace();
  one.precise->compiled.ptx = "the one in double";
  request.checks.assign(40, one);
  request.checks[3].candidate->compiled.ptx = "of other sizes";
  request.checks[5].candidate.reset();
  request.timed = one;
  const Json message = to_message(request);
  ASSERT_LT(encode(message).size(), kMaxFrame);  // 82 MB otherwise
  const auto back = emulate_request_from(through_cbor(message));
  ASSERT_TRUE(back) << back.error().message;
  ASSERT_EQ(back->checks.size(), 40U);
  for (std::size_t i = 0; i < 40; ++i) {
    EXPECT_EQ(back->checks[i].reference.compiled.ptx, one.reference.compiled.ptx);
    EXPECT_EQ(back->checks[i].precise->compiled.ptx, one.precise->compiled.ptx);
    ASSERT_EQ(back->checks[i].candidate.has_value(), i != 5);
    if (i != 5)
      EXPECT_EQ(back->checks[i].candidate->compiled.ptx, request.checks[i].candidate->compiled.ptx);
  }
  EXPECT_EQ(back->timed->candidate->compiled.ptx, one.candidate->compiled.ptx);
  for (const Json& place : {Json(99), Json(-1), Json("0"), Json(nullptr)}) {
    Json bad = message;
    bad["checks"][1]["candidate"]["text"] = place;
    EXPECT_FALSE(emulate_request_from(bad)) << place;
  }
  Json bad = message;
  bad["texts"][0] = 7;
  EXPECT_FALSE(emulate_request_from(bad));
}

TEST(Messages, RunnableRoundTripsWithoutItsSource) {
  Runnable r;
  r.program.source = "secret";
  r.program.buffers.push_back({"x", ScalarType::kF16, {3, 5}, Role::kInOut, Fill{.tf32 = true}});
  r.program.launches.push_back(
      {"k", {2, 1, 1}, {32, 1, 1}, 64, {BufferIndex{0}, std::int64_t{7}, 0.5}});
  r.compiled = sample_program();
  r.key = "abc";
  const auto back = runnable_from(through_cbor(to_message(r)));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_TRUE(back->program.source.empty());
  ASSERT_EQ(back->program.launches.size(), 1U);
  EXPECT_EQ(back->program.launches[0].shared_bytes, 64);
  EXPECT_EQ(std::get<BufferIndex>(back->program.launches[0].args[0]).index, 0);
  EXPECT_TRUE(back->program.buffers[0].fill.tf32);
  EXPECT_EQ(std::get<std::int64_t>(back->program.launches[0].args[1]), 7);
  EXPECT_EQ(std::get<double>(back->program.launches[0].args[2]), 0.5);
}

TEST(CleanText, IsFitForALog) {
  EXPECT_EQ(clean_text("plain\ttext\n", 100), "plain\ttext\n");
  EXPECT_EQ(clean_text("\x1b[31mred", 100), "?[31mred");
  EXPECT_EQ(clean_text("\xff\xfe", 100), "??");
  EXPECT_EQ(clean_text("\xc3\xa9", 100), "\xc3\xa9");
  EXPECT_EQ(clean_text("\xed\xa0\x80", 100), "???");  // a surrogate
  EXPECT_EQ(clean_text("abcdef", 3), "abc");
  EXPECT_EQ(clean_text("ab\xc3\xa9", 3), "ab");  // never half a character
}

}  // namespace
}  // namespace hone::protocol
