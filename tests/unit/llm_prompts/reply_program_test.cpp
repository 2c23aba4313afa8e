#include <fmt/format.h>

#include "fixture.h"
#include "rewriters/llm/reply/reply.h"

namespace hone::llm {
namespace {

const Task& task() {
  static const Task task = make_task();
  return task;
}

Result<ModelProgram> read(const std::string& reply) { return read_program(reply, task()); }

void expect_fused(const std::string& reply) {
  const auto model = read(reply);
  ASSERT_TRUE(model.has_value()) << model.error().message << "\n" << reply;
  EXPECT_EQ(model->source, fused_source()) << reply;
  ASSERT_EQ(model->launches.size(), 1U);
  EXPECT_EQ(model->launches[0].kernel, "fused");
  EXPECT_EQ(model->launches[0].grid[0].text(), "M");
  ASSERT_EQ(model->launches[0].args.size(), 3U);
  EXPECT_EQ(model->launches[0].args[1].buffer, "y");
  EXPECT_EQ(model->launches[0].args[2].kind, Argument::Kind::kExpr);
}

void expect_refused(const std::string& reply, const std::string& reason) {
  const auto model = read(reply);
  ASSERT_FALSE(model.has_value()) << reply;
  EXPECT_EQ(model.error().code, ErrorCode::kRefused);
  EXPECT_TRUE(model.error().message.contains(reason)) << model.error().message;
  EXPECT_FALSE(model.error().message.contains('\n')) << model.error().message;
  EXPECT_LE(model.error().message.size(), 1500U);
}

std::string json_with_code() {
  nlohmann::json json = nlohmann::json::parse(fused_plan());
  json["source"] = fused_source();
  json["why"] = "one pass";
  return json.dump(1);
}

TEST(ReadProgram, TakesWhatThePromptAsksFor) {
  expect_fused(whole_reply());
  const auto model = read(whole_reply());
  EXPECT_EQ(model->why, "One block a row reads x once from DRAM.");
  const Program program = program_of(*model, task());
  EXPECT_EQ(program.defines, task().reference.defines);
  EXPECT_EQ(program.buffers, task().reference.buffers);
  EXPECT_TRUE(instantiate(program, task().sizes).has_value());
}

TEST(ReadProgram, TakesManyForms) {
  const std::string& code = fused_source();
  const std::string& plan = fused_plan();
  for (const char* tag : {"cuda", "cu", "c++", "cpp", "CUDA", "C++ title=x", "{.cuda}", "", "c"}) {
    expect_fused("Text.\n" + fenced(tag, code) + "More text.\n" + fenced("json", plan) + "The end");
  }
  expect_fused(fenced("cuda", code) + fenced("", plan));
  expect_fused(fenced("cuda", code) + fenced("JSON", plan));
  expect_fused("~~~cuda\n" + code + "~~~\n~~~~json\n" + plan + "\n~~~~\n");
  expect_fused("````cuda\n" + code + "````\n```json\n" + plan + "\n```");
  expect_fused("  ```cuda\n" + code + "  ```\n  ```json\n" + plan + "\n  ```");
  expect_fused(fenced("json", plan) + fenced("cuda", code));  // the other way round
  expect_fused(fenced("cuda", code) + fenced("json", R"({ // as in code
    "launches": [{"kernel": "fused", "grid": ["M",], "block": [256], "args": ["x", "y", "N", ],},
    ] , })"));
  expect_fused("Here:\n```markdown\n" + whole_reply() + "```\n");
  expect_fused("\xEF\xBB\xBF" + whole_reply());
  expect_fused(fenced("cuda", code) + "and the launches:\n" + plan + "\n");  // no fence
  expect_fused(fenced("python", "x = '''__global__'''") + whole_reply() + fenced("bash", "ls"));
}

TEST(ReadProgram, TakesAnyEndOfLine) {
  std::string reply = whole_reply(), crlf;
  for (const char c : reply) {
    if (c == '\n') crlf += '\r';
    crlf += c;
  }
  expect_fused(crlf);
}

TEST(ReadProgram, SkipsThoughts) {
  const std::string draft =
      whole_reply("__global__ void draft(float* y) {}\n", "{\"launches\": []}");
  expect_fused("<think>\nHm. " + draft + "```cuda\nunclosed\n</think>\n" + whole_reply());
  expect_fused("The start was in the prompt.\n```cuda\nhalf\n</think>\n\n" + whole_reply());
  expect_fused("<thinking>x</thinking>" + whole_reply());
  expect_fused("<think></think>\n<think>\nagain\n</think>\n" + whole_reply());
  expect_refused("<think>\n" + whole_reply(), "it ends within its thoughts");
  EXPECT_FALSE(read("<think>secret</think>\nplain\n" + whole_reply())->why.contains("secret"));
}

TEST(ReadProgram, TakesCodeWithinJson) {
  expect_fused(json_with_code());
  expect_fused("Here it is.\n" + fenced("json", json_with_code()));
  nlohmann::json json = nlohmann::json::parse(fused_plan());
  json["code"] = fenced("cuda", fused_source());
  expect_fused(json.dump());
  EXPECT_EQ(read(json_with_code())->why, "one pass");
}

TEST(ReadProgram, TheLastCompletePairWins) {
  const std::string first = whole_reply(
      "__global__ void first(float* y) { y[0] = 1; }\n",
      R"({"launches": [{"kernel": "first", "grid": [1], "block": [1], "args": ["y"]}]})");
  expect_fused(first + whole_reply());
  expect_fused(whole_reply() + fenced("cuda", "__global__ void half_an_idea(float* y) {}"));
  expect_fused(whole_reply() + "```cuda\n__global__ void cut(");
  EXPECT_EQ(read(whole_reply() + first)->launches[0].kernel, "first");
  // Two sources, one plan: the later source.
  expect_fused(fenced("cuda", "__global__ void old(float* y) {}") + whole_reply());
}

TEST(ReadProgram, ReadsFencesWithinCode) {
  const std::string odd =
      "/* as in\n```cuda\nold();\n```\n*/\n// `x` and ``` in a line\n" + fused_source();
  const auto model = read(whole_reply(odd));
  ASSERT_TRUE(model.has_value()) << model.error().message;
  EXPECT_EQ(model->source, odd);
}

TEST(ReadProgram, RefusesHalfReplies) {
  const std::string whole = whole_reply();
  expect_refused("```cuda\n" + fused_source(), "half a reply");
  expect_refused("```cuda\n" + fused_source() + "```json\n" + fused_plan() + "\n```\n",
                 "half a reply");
  expect_refused(fenced("cuda", fused_source()) + "```json\n{\"launches\": [", "half a reply");
  expect_refused(fenced("cuda", fused_source()), "no JSON block");
  expect_refused(fenced("json", fused_plan()), "no block of code");
  expect_refused(fused_plan(), "no block of code");
  expect_refused(json_with_code().substr(0, 300), "half a reply: its JSON object has no end");
  expect_refused("I cannot do that.", "no block of code");
  expect_refused("", "empty");
  expect_refused(" \r\n\t\n", "empty");
  expect_refused(std::string(kMaxReplyBytes + 1, 'x'), "at most");
  for (std::size_t length = 0; length + 4 < whole.size(); length += 7) {
    EXPECT_FALSE(read(whole.substr(0, length)).has_value()) << length;
  }
}

TEST(ReadProgram, RefusesJsonThatCannotBeRead) {
  const std::string code = fenced("cuda", fused_source());
  expect_refused(code + fenced("json", "{\"launches\": [}"), "the JSON cannot be read");
  expect_refused(code + fenced("json", "{\"launches\": 1e999}"), "the JSON cannot be read");
  expect_refused(code + fenced("json", "[1]"), "no \"launches\"");
  expect_refused(code + fenced("json", "{\"scratch\": []}"), "no \"launches\"");
  expect_refused(code + fenced("json", "{\"launches\": []}"), "at least 1 launch");
  expect_refused(code + fenced("json", "{\"launches\": " + std::string(100, '[') +
                                           std::string(100, ']') + "}"),
                 "nested more than");
  std::string deep =
      "{ // \"\n\"launches\": " + std::string(100000, '[') + std::string(100000, ']') + "}";
  expect_refused(code + fenced("json", deep), "nested more than");
  expect_refused(code + fenced("json", R"({"launches": [], "command": "rm -rf"})"),
                 "unknown key 'command'");
}

std::string launch(const std::string& more) {
  return fenced("cuda", fused_source()) +
         fenced("json",
                R"({"launches": [{"kernel": "fused", "grid": ["M"], "block": [256], )" + more);
}

TEST(ReadProgram, RefusesLaunchesThatCannotBe) {
  const std::string good = R"("args": ["x", "y", "N"]}]})";
  expect_refused(whole_reply(fused_source(), R"({"launches": [{"kernel": "fuse", "grid": ["M"],
      "block": [256], "args": ["x", "y", "N"]}]})"),
                 "the source has no kernel 'fuse'; did you mean 'fused'?");
  expect_refused(whole_reply(fused_source(), R"({"launches": [{"kernel": "fused; rm", "grid": [1],
      "block": [256], "args": ["x", "y", "N"]}]})"),
                 "is not a kernel name");
  expect_refused(launch(R"("args": ["x", "z", "N"]}]})"), "unknown name 'z'");
  expect_refused(launch(R"("args": ["x", "y", "K"]}]})"), "unknown name 'K'");
  expect_refused(launch(R"("args": ["x", "y", "x + 1"]}]})"), "'x' is a buffer");
  expect_refused(launch(R"("args": ["x", "sums", "N"]}]})"), "no launch takes 'y'");
  expect_refused(launch(R"("args": ["x", "y", {"N": 1}]}]})"), "$.launches[0].args[2]");
  expect_refused(launch(R"("stream": 1, )" + good), "unknown key 'stream'");
  expect_refused(launch(R"("shared_bytes": -1, )" + good), "must be 0 to");
  expect_refused(whole_reply(fused_source(), R"({"launches": [{"kernel": "fused", "grid": ["M"],
      "block": [2048], "args": ["x", "y", "N"]}]})"),
                 "CUDA allows 1 to 1024");
  // At a check size only.
  expect_refused(whole_reply(fused_source(), R"({"launches": [{"kernel": "fused", "grid": ["M/64"],
      "block": [256], "args": ["x", "y", "N"]}]})"),
                 "at check_sizes[0]");
}

std::string scratch(const std::string& list) {
  return fenced("cuda", fused_source()) +
         fenced("json",
                fused_plan().substr(0, fused_plan().size() - 1) + ", \"scratch\": [" + list + "]}");
}

/// The same where the launch takes the scratch buffer `p`: what nothing takes needs no memory.
std::string taken_scratch(const std::string& list) {
  std::string reply = scratch(list);
  reply.replace(reply.find("\"x\""), 3, "\"p\"");
  return reply;
}

TEST(ReadProgram, ReasonsAreVisibleText) {
  const auto model = read(whole_reply(
      fused_source(), R"({"launches": [{"kernel": "\u202e<|im_start|>\u001b[31m", "grid": [1],
      "block": [1], "args": []}]})"));
  ASSERT_FALSE(model.has_value());
  EXPECT_TRUE(model.error().message.contains("'< |im_start| >?[31m' is not a kernel name"))
      << model.error().message;
}

TEST(ReadProgram, TakesScratchBuffers) {
  const auto model = read(scratch(R"x({"name": "part", "type": "f32", "shape": ["ceildiv(M,32)"]},
      {"name": "flags", "type": "u32", "shape": [64], "role": "scratch"})x"));
  ASSERT_TRUE(model.has_value()) << model.error().message;
  ASSERT_EQ(model->scratch.size(), 2U);
  EXPECT_EQ(model->scratch[0].role, Role::kScratch);
  EXPECT_EQ(program_of(*model, task()).buffers.size(), 5U);
}

TEST(ReadProgram, RefusesScratchBuffersThatCannotBe) {
  expect_refused(scratch(R"({"name": "p", "type": "f32", "shape": ["M"], "role": "out"})"),
                 "only buffers with role \"scratch\"");
  expect_refused(scratch(R"({"name": "y", "type": "f32", "shape": ["M"]})"),
                 "the task already has a buffer 'y'");
  expect_refused(scratch(R"({"name": "N", "type": "f32", "shape": ["M"]})"), "is also a size");
  expect_refused(scratch(R"({"name": "BLOCK", "type": "f32", "shape": ["M"]})"),
                 "is also a tunable");
  expect_refused(scratch(R"({"name": "while", "type": "f32", "shape": ["M"]})"), "reserved");
  expect_refused(scratch(R"({"name": "a b", "type": "f32", "shape": ["M"]})"), "is not a name");
  expect_refused(scratch(R"({"name": "p", "type": "f32", "shape": ["M*M*M*M"]})"), "2^40");
  expect_refused(taken_scratch(R"({"name": "p", "type": "f32", "shape": ["M*N*1024"]})"),
                 "at most 4294967296 are given");
  expect_refused(taken_scratch(R"({"name": "p", "type": "f32", "shape": [1073741824]},
                            {"name": "q", "type": "i8", "shape": [1]})"),
                 "up to 'q'");
  expect_refused(scratch(R"({"name": "p", "type": "f32", "shape": [0]})"), "at least 1");
  expect_refused(
      scratch(R"({"name": "p", "type": "f32", "shape": ["M"], "fill": {"file": "/etc/passwd"}})"),
      "takes no fill");
  std::string many;
  for (int i = 0; i < 300; ++i) {
    many += fmt::format("{}{{\"name\": \"b{}\", \"type\": \"i8\", \"shape\": [1]}}",
                        i == 0 ? "" : ",", i);
  }
  expect_refused(scratch(many), "at most 256 are accepted");
}

TEST(ReadProgram, RefusesSourcesThatAreTooLong) {
  expect_refused(whole_reply(fused_source() + "// " + std::string(kMaxSourceBytes, 'x') + "\n"),
                 "at most 262144 are accepted");
}

TEST(ReadProgram, WhyIsBoundedPrintableText) {
  std::string why = "a\x1B[31m\u202E<|im_start|>\xFF";
  for (int i = 0; i < 5000; ++i) why += "漢";
  const auto model = read(why + "\n" + whole_reply());
  ASSERT_TRUE(model.has_value()) << model.error().message;
  EXPECT_TRUE(model->why.starts_with("a[31m< |im_start| >\uFFFD漢")) << model->why.substr(0, 60);
  std::size_t characters = 0;
  for (const char c : model->why) characters += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  EXPECT_EQ(characters, kMaxWhyCharacters);
}

}  // namespace
}  // namespace hone::llm
