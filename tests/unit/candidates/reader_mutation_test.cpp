// No input may crash or hang the readers: a bounded, reproducible fuzz of both forms. Run it under
// HONE_SANITIZE for what it is worth most.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <vector>

#include "candidates/measurement.h"
#include "candidates/recipe.h"
#include "tests/unit/candidates/helpers.h"

namespace hone {
namespace {

const std::vector<std::string> kTokens = {"{",
                                          "}",
                                          "[",
                                          "]",
                                          ",",
                                          ":",
                                          "\"",
                                          "\\",
                                          "\\u",
                                          "\\ud83d\\ude00",
                                          "/*",
                                          "*/",
                                          "//",
                                          "null",
                                          "true",
                                          "-",
                                          "0",
                                          "1e",
                                          "1e308",
                                          "1e999",
                                          "-1",
                                          "9223372036854775807",
                                          "9223372036854775808",
                                          "4294967296",
                                          "0.5",
                                          "\"N\"",
                                          "\"A\"",
                                          "\"C\"",
                                          "\"BLOCK\"",
                                          "\"role\"",
                                          "\"inout\"",
                                          "\"fill\"",
                                          "{\"file\": \"\\u0000\"}",
                                          "{\"iota\": [1, 2]}",
                                          "\"shared_bytes\"",
                                          "N/0",
                                          "(((((((",
                                          "min(",
                                          "ceildiv(N,0)",
                                          "N*N*N*N*N*N",
                                          "-N",
                                          "==",
                                          "&&",
                                          "\"check_sizes\"",
                                          "\"torch\"",
                                          "\"flops\"",
                                          "\xC3\xA9",
                                          "\xE2\x82",
                                          "\xFF",
                                          std::string(1, '\0'),
                                          "\n",
                                          "\r\n",
                                          "hone {",
                                          "__global__",
                                          "'",
                                          "R\"(",
                                          "##"};

std::string mutate(std::string text, std::mt19937_64& random) {
  const auto below = [&random](std::size_t limit) { return limit == 0 ? 0 : random() % limit; };
  for (std::size_t edits = 1 + below(4); edits > 0; --edits) {
    const std::size_t at = below(text.size() + 1);
    const std::size_t length = std::min<std::size_t>(below(12), text.size() - at);
    switch (below(5)) {
      case 0:
        text.erase(at, length);
        break;
      case 1:
        text.insert(at, kTokens[below(kTokens.size())]);
        break;
      case 2:
        text.replace(at, length, kTokens[below(kTokens.size())]);
        break;
      case 3:
        text.insert(at, text.substr(below(text.size() + 1), below(60)));
        break;
      default:
        if (at < text.size()) text[at] = static_cast<char>(random());
    }
  }
  return text;
}

// An accepted task must be fit for everything that follows; a refused one must say where.
void check_parse(const std::string& text, const std::string& path, int& accepted) {
  const auto task = parse_task(text, path);
  if (!task) {
    EXPECT_TRUE(task.error().message.starts_with(path + ":")) << task.error().message;
    EXPECT_LT(task.error().message.size(), 5000u);
    return;
  }
  ++accepted;
  const auto back = task_from_json(nlohmann::json(*task));
  ASSERT_TRUE(back) << back.error().message << "\n" << text;
  EXPECT_EQ(back->hash(), task->hash()) << text;
  ASSERT_FALSE(task->check_sizes.empty()) << text;
  EXPECT_TRUE(instantiate(task->reference, task->sizes)) << text;
  for (const Bindings& sizes : task->check_sizes) {
    EXPECT_TRUE(instantiate(task->reference, sizes)) << text;
  }
}

TEST(ReaderMutation, CommentForm) {
  std::mt19937_64 random(20240607);
  const std::string seed = test::as_comment(test::kScaleJson);
  int accepted = 0;
  for (int i = 0; i < 12000; ++i) check_parse(mutate(seed, random), "t.cu", accepted);
  EXPECT_GT(accepted, 100) << "the mutations are too wild to reach the checks after parsing";
}

TEST(ReaderMutation, JsonForm) {
  const test::TempDir dir;
  dir.write("s.cu", test::kScaleSource);
  std::mt19937_64 random(7);
  const std::string seed = test::replaced(
      test::replaced(test::kScaleJson, "\"sizes\"", "\"source\": \"s.cu\", \"sizes\""),
      R"("check_sizes": [{"N": 64}, {"N": 33}],)", R"("flops": "2*N",)");
  int accepted = 0;
  const std::string path = (dir.path() / "t.json").string();
  for (int i = 0; i < 6000; ++i) check_parse(mutate(seed, random), path, accepted);
  EXPECT_GT(accepted, 50);
}

TEST(ReaderMutation, Expressions) {
  std::mt19937_64 random(99);
  const std::string alphabet = "0123456789+-*/%()<>=!&|,NMminaxceildv \xC3";
  const Bindings bindings{{"N", INT64_MAX}, {"M", INT64_MIN}};
  int parsed = 0;
  for (int i = 0; i < 200000; ++i) {
    std::string text = random() % 2 == 0 ? "ceildiv(N,16)*M+(1-N)" : "";
    for (std::size_t n = random() % 12; n > 0; --n) {
      text.insert(random() % (text.size() + 1), 1, alphabet[random() % alphabet.size()]);
    }
    const auto expr = Expr::parse(text);
    if (!expr) continue;
    ++parsed;
    const auto value = expr->eval(bindings);
    const auto again = Expr::parse(expr->text());
    ASSERT_TRUE(again) << text;
    const auto same = again->eval(bindings);
    EXPECT_EQ(value.has_value(), same.has_value()) << text;
    if (value && same) {
      EXPECT_EQ(*value, *same) << text;
    }
  }
  EXPECT_GT(parsed, 1000);
}

// The JSON that comes back from children and from the database.
TEST(ReaderMutation, StoredForms) {
  const Task task = test::scale_task();
  const std::vector<std::string> seeds = {
      nlohmann::json(task).dump(), nlohmann::json(task.reference).dump(),
      nlohmann::json(*instantiate(task.reference, task.sizes)).dump(),
      nlohmann::json(Evaluation{}).dump(),
      R"([{"rewriter": "r", "version": 1, "site": "s", "params": {"a": 1}, "math": "exact"}])"};
  std::mt19937_64 random(3);
  int valid = 0;
  for (int i = 0; i < 20000; ++i) {
    const auto json = nlohmann::json::parse(mutate(seeds[random() % seeds.size()], random), nullptr,
                                            /*allow_exceptions=*/false);
    if (json.is_discarded()) continue;
    ++valid;
    (void)task_from_json(json);
    (void)program_from_json(json);
    (void)concrete_program_from_json(json);
    (void)evaluation_from_json(json);
    (void)recipe_from_json(json);
  }
  EXPECT_GT(valid, 500);
}

}  // namespace
}  // namespace hone
