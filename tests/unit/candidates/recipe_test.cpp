#include "candidates/recipe.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "candidates/hash.h"
#include "candidates/measurement.h"
#include "candidates/scalar_type.h"

namespace hone {
namespace {

Step coarsen() {
  return {"coarsen-threads", 3, "matmul/loop0", {{"x", 2}, {"mode", "strided"}}, MathLevel::kExact};
}

TEST(Recipe, TextAndParameters) {
  const Step step = coarsen();
  EXPECT_EQ(to_string(step), "coarsen-threads(matmul/loop0: mode=strided,x=2)");
  EXPECT_EQ(to_string(Step{"unroll", 1, "", {}, MathLevel::kExact}), "unroll()");
  EXPECT_EQ(to_string(Step{"unroll", 1, "k", {}, MathLevel::kExact}), "unroll(k)");
  EXPECT_EQ(step.int_param("x", 9), 2);
  EXPECT_EQ(step.int_param("mode", 9), 9);
  EXPECT_EQ(step.int_param("nothing", 9), 9);
  EXPECT_EQ(step.string_param("mode", "d"), "strided");
  EXPECT_EQ(step.string_param("x", "d"), "d");
}

TEST(Recipe, ProposalGivesTheChosenStep) {
  const Proposal proposal{"r", 2, "k", {{"a", {1, 2, 4}}, {"b", {"u", "v"}}}, MathLevel::kReduced,
                          ""};
  const Step step = proposal.step({2, 0});
  EXPECT_EQ(step.int_param("a", 0), 4);
  EXPECT_EQ(step.string_param("b", ""), "u");
  EXPECT_EQ(step.version, 2);
  EXPECT_EQ(step.math, MathLevel::kReduced);
}

TEST(Recipe, RequiredMathIsTheLoosest) {
  EXPECT_EQ(required_math({}), MathLevel::kExact);
  Recipe recipe{coarsen(), coarsen(), coarsen()};
  recipe[1].math = MathLevel::kTf32x3;
  EXPECT_EQ(required_math(recipe), MathLevel::kTf32x3);
}

TEST(Recipe, JsonRoundTrips) {
  const Recipe recipe{coarsen(), {"unroll", 1, "k/l1", {{"by", -4}}, MathLevel::kReassociate}};
  nlohmann::json json;
  to_json(json, recipe);
  const auto back = recipe_from_json(nlohmann::json::parse(json.dump()));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, recipe);
  EXPECT_EQ(*step_from_json(nlohmann::json(recipe[1])), recipe[1]);
}

TEST(Recipe, BadJsonNamesThePlace) {
  nlohmann::json json;
  to_json(json, Recipe{coarsen(), coarsen()});
  json[1]["math"] = "sloppy";
  EXPECT_EQ(recipe_from_json(json).error().message,
            "$[1].math: 'sloppy' is not one of exact, reassociate, tf32x3, tf32, reduced");
  json[1].erase("math");
  EXPECT_EQ(recipe_from_json(json).error().message, "$[1]: \"math\" is missing");
  EXPECT_FALSE(recipe_from_json(nlohmann::json::object()));
  EXPECT_FALSE(recipe_from_json({{{"rewriter", 5}}}));
}

TEST(EvaluationJson, RoundTripsWithNonFiniteNumbers) {
  Evaluation evaluation;
  evaluation.verdict = Verdict::kWrongResult;
  evaluation.detail = "C[3]";
  evaluation.max_rel_error = INFINITY;
  evaluation.final_stage = true;
  evaluation.reference_error = 1e-7;
  evaluation.measurement = {true,       1.5,   3.0, 2.0, 1.9, 2.1, 0.5,  "dram",
                            {1.5, 1.6}, {3.0}, 1.2, 2.5, 1,   2,   1980, {{"fp32", 7}}};
  evaluation.resources = {{"k", 32, 8, 16, 1024, 256, 0.75}};
  evaluation.elapsed_s = std::nan("");
  const auto back = evaluation_from_json(nlohmann::json::parse(nlohmann::json(evaluation).dump()));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(nlohmann::json(*back), nlohmann::json(evaluation));
  EXPECT_TRUE(std::isinf(back->max_rel_error));
  EXPECT_TRUE(std::isnan(back->elapsed_s));
  EXPECT_EQ(back->measurement.samples_us, evaluation.measurement.samples_us);
  EXPECT_EQ(back->measurement.counters.at("fp32"), 7);
  EXPECT_EQ(back->resources[0].static_shared_bytes, 1024);
}

TEST(EvaluationJson, EveryVerdictRoundTrips) {
  for (const Verdict verdict : kAllVerdicts) {
    Evaluation evaluation;
    evaluation.verdict = verdict;
    EXPECT_EQ(evaluation_from_json(nlohmann::json(evaluation))->verdict, verdict);
    EXPECT_EQ(parse_verdict(to_string(verdict)), verdict);
  }
}

// A job that goes on where its coordinator died reads them again.
TEST(EvaluationJson, WhatWasNotCheckedFurtherSaysSoByItsDetail) {
  Evaluation evaluation;
  evaluation.verdict = Verdict::kOk;
  EXPECT_EQ(status_of(evaluation), "ok");
  for (const std::string_view why : {kMuchSlower, kSearchEnded}) {
    evaluation.detail = why;
    const auto back = evaluation_from_json(nlohmann::json(evaluation));
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_TRUE(back->outpaced);
    EXPECT_EQ(status_of(*back), "unchecked");
  }
  evaluation.final_stage = true;
  EXPECT_FALSE(evaluation_from_json(nlohmann::json(evaluation))->outpaced);
  evaluation.final_stage = false;
  evaluation.verdict = Verdict::kRace;
  EXPECT_EQ(status_of(*evaluation_from_json(nlohmann::json(evaluation))), "race");
}

TEST(EvaluationJson, WrongTypesAreErrors) {
  const nlohmann::json good = Evaluation{};
  for (const auto& item : good.items()) {
    nlohmann::json bad = good;
    bad[item.key()] = nullptr;
    const auto back = evaluation_from_json(bad);
    ASSERT_FALSE(back) << item.key();
    EXPECT_TRUE(back.error().message.starts_with("$." + item.key())) << back.error().message;
  }
}

TEST(ScalarType, NamesAndSizes) {
  const struct {
    const char* name;
    std::size_t bytes;
    const char* cuda;
  } cases[] = {{"f32", 4, "float"},
               {"f64", 8, "double"},
               {"f16", 2, "__half"},
               {"bf16", 2, "__nv_bfloat16"},
               {"e4m3", 1, "__nv_fp8_e4m3"},
               {"e5m2", 1, "__nv_fp8_e5m2"},
               {"i32", 4, "int"},
               {"i64", 8, "long long"},
               {"i8", 1, "signed char"},
               {"u8", 1, "unsigned char"},
               {"u32", 4, "unsigned int"},
               {"u64", 8, "unsigned long long"},
               {"bool", 1, "bool"}};
  for (const auto& [name, bytes, cuda] : cases) {
    const auto type = parse_scalar_type(name);
    ASSERT_TRUE(type) << name;
    EXPECT_EQ(to_string(*type), name);
    EXPECT_EQ(size_of(*type), bytes);
    EXPECT_EQ(cuda_name(*type), cuda);
    EXPECT_EQ(is_float(*type),
              std::string_view(name).find_first_of("fe") == 0 || std::string_view(name) == "bf16");
  }
  EXPECT_FALSE(parse_scalar_type("F32"));
  EXPECT_FALSE(parse_role("output"));
}

TEST(Hash, IsStable) {
  // XXH3-128 of the empty input, from the xxHash test vectors.
  EXPECT_EQ(content_hash(""), "99aa06d3014798d86001c324468d497f");
  EXPECT_NE(content_hash("a"), content_hash("b"));
}

}  // namespace
}  // namespace hone
