#include "fixture.h"
#include "rewriters/llm/reply/reply.h"

namespace hone::llm {
namespace {

const std::vector<Proposal>& proposals() {
  static const std::vector<Proposal> list = make_input(make_task()).proposals;
  return list;
}

Result<std::vector<Step>> read(const std::string& reply) { return read_steps(reply, proposals()); }

void expect_refused(const std::string& reply, const std::string& reason) {
  const auto steps = read(reply);
  ASSERT_FALSE(steps.has_value()) << reply;
  EXPECT_EQ(steps.error().code, ErrorCode::kRefused);
  EXPECT_TRUE(steps.error().message.contains(reason)) << steps.error().message;
}

const std::string kUnroll =
    R"({"rewriter": "unroll", "site": "fused/loop0", "values": {"factor": 4}})";
const std::string kGood = R"({"reason": "w", "steps": [)" + kUnroll +
                          R"(, {"rewriter": "restrict-const", "site": "fused", "values": {}},
         {"rewriter": "cache-hints", "site": "fused", "values": {"loads": "ldcs"}}]})";

void expect_good(const std::string& reply) {
  const auto steps = read(reply);
  ASSERT_TRUE(steps.has_value()) << steps.error().message << "\n" << reply;
  ASSERT_EQ(steps->size(), 3U);
  EXPECT_EQ(to_string((*steps)[0]), "unroll(fused/loop0: factor=4)");
  EXPECT_EQ((*steps)[0], proposals()[0].step({1}));
  EXPECT_EQ((*steps)[1], proposals()[2].step({}));
  EXPECT_EQ((*steps)[2], proposals()[1].step({1}));
}

TEST(ReadSteps, TakesManyForms) {
  expect_good(kGood);
  expect_good(fenced("json", kGood));
  expect_good("Well.\n" + fenced("", kGood) + "So.");
  expect_good("I'd say:\n" + kGood + "\nThat's it.");
  expect_good("<think>{\"steps\": []}</think>\n" + kGood);
  expect_good(fenced("json", R"({"steps": []})") + fenced("json", kGood));
  std::string quoted = kGood;
  quoted.replace(quoted.find("4}"), 1, "\"4\"");
  expect_good(quoted);
  std::string params = kGood;  // as a recipe writes it
  for (std::size_t at = 0; (at = params.find("values", at)) != params.npos;) {
    params.replace(at, 6, "params");
  }
  expect_good(params);
}

TEST(ReadSteps, RefusesWhatWasNotProposed) {
  expect_refused(R"({"steps": [{"rewriter": "rm", "site": "fused", "values": {}}]})",
                 "'rm' at 'fused' was not proposed");
  expect_refused(
      R"({"steps": [{"rewriter": "unroll", "site": "fused/loop1", "values": {"factor": 4}}]})",
      "was not proposed");
  expect_refused(
      R"({"steps": [{"rewriter": "unroll", "site": "fused/loop0", "values": {"factor": 3}}]})",
      "$.steps[0].values.factor: this value was not proposed; it may be 2, 4");
  expect_refused(
      R"({"steps": [{"rewriter": "unroll", "site": "fused/loop0", "values": {"factor": [4]}}]})",
      "was not proposed");
  expect_refused(R"({"steps": [{"rewriter": "unroll", "site": "fused/loop0", "values": {}}]})",
                 "\"factor\" is missing");
  expect_refused(R"({"steps": [{"rewriter": "unroll", "site": "fused/loop0"}]})", "is missing");
  expect_refused(
      R"({"steps": [{"rewriter": "restrict-const", "site": "fused", "values": {"x": 1}}]})",
      "no parameter 'x'");
  expect_refused(R"({"steps": [{"rewriter": "unroll", "site": "fused/loop0", "values": 4}]})",
                 "must be an object");
  expect_refused(
      R"({"steps": [{"rewriter": "unroll", "site": "fused/loop0", "values": {}, "source": "x"}]})",
      "unknown key 'source'");
  expect_refused(R"({"steps": [], "shell": "ls"})", "unknown key 'shell'");
}

TEST(ReadSteps, RefusesWhatIsNoList) {
  expect_refused("", "empty");
  expect_refused("unroll it", "no JSON");
  expect_refused(R"({"steps": []})", "at least 1 step");
  expect_refused(R"({"steps": "unroll"})", "must be a list");
  expect_refused(R"({"steps": [4]})", "must be an object");
  expect_refused(R"({"steps": [{"rewriter": "unroll")", "half a reply");
  expect_refused("```json\n{\"steps\": [", "half a reply");
  std::string many = kUnroll;
  for (int i = 0; i < 8; ++i) many += "," + kUnroll;
  expect_refused("{\"steps\": [" + many + "]}", "at most 8");
}

TEST(ReadSteps, FindsTheProposalThatHasTheParameters) {
  std::vector<Proposal> list = proposals();
  list.push_back(
      {"unroll", 1, "fused/loop0", {{"peel", {std::int64_t{1}}}}, MathLevel::kExact, ""});
  const auto steps = read_steps(
      R"({"steps": [{"rewriter": "unroll", "site": "fused/loop0", "values": {"peel": 1}}]})", list);
  ASSERT_TRUE(steps.has_value()) << steps.error().message;
  EXPECT_EQ((*steps)[0], list.back().step({0}));
}

}  // namespace
}  // namespace hone::llm
