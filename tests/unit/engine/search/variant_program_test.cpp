// program_of_variant(): what random steps make of the baselines comes back from its export as the
// same candidate, and an edit of it as one step more, at the check sizes, too.
#include <gtest/gtest.h>

#include <set>

#include "candidates/export/export.h"
#include "candidates/export/read_export.h"
#include "candidates/task_reader.h"
#include "engine/rewriting/local_rewriting.h"
#include "engine/search/single/variant.h"
#include "engine/search/strategy/random_strategy.h"
#include "rewriters/core/hand_edit.h"

namespace hone {
namespace {

class VariantOfExport : public ::testing::TestWithParam<const char*> {
 protected:
  VariantOfExport()
      : task_(*read_task(std::string(HONE_SOURCE_DIR) + "/baselines/" + GetParam() + "/" +
                         GetParam() + ".cu")),
        timed_(rewriting_, context(task_.sizes), {.hashes = true}) {}

  RewriteContext context(const Bindings& sizes) const {
    return {&task_, sizes, target_limits("sm_90")};
  }

  std::string exported(const Program& program, const Recipe& recipe, ExportFormat format) {
    BoardRow row;
    row.candidate.id = "0123456789ab";
    row.candidate.task_hash = task_.hash();
    row.candidate.program = program;
    row.candidate.recipe = recipe;
    row.evaluation.verdict = Verdict::kOk;
    row.provenance.arch = "sm_90";
    auto text = export_candidates(format, {row}, task_);
    EXPECT_TRUE(text) << text.error().message;
    return rewriting_.formatted(text.value_or(""));
  }

  Result<VariantProgram> back(const std::string& text) {
    const auto variants = read_export(text, "x.cu", task_);
    if (!variants) return std::unexpected(variants.error());
    notes_.clear();
    return program_of_variant(variants->front(), task_, rewriting_, timed_, notes_);
  }

  /// Recipes of several steps.
  std::vector<Recipe> recipes(std::size_t most) {
    RandomStrategy strategy(timed_, 7);
    std::vector<Recipe> found;
    std::set<std::string> known;
    for (int i = 0; i < 60 && found.size() < most; ++i) {
      Recipe recipe = strategy.ask();
      if (recipe.empty() || !timed_.replays(recipe) || !known.insert(recipe_key(recipe)).second)
        continue;
      found.push_back(std::move(recipe));
    }
    return found;
  }

  Task task_;
  LocalRewriting rewriting_;
  Space timed_;
  std::vector<std::string> notes_;
};

TEST_P(VariantOfExport, ComesBackFromItsExport) {
  for (const Recipe& recipe : recipes(4)) {
    const auto program = timed_.program(recipe);
    ASSERT_TRUE(program) << program.error().message;
    for (const ExportFormat format : {ExportFormat::kCu, ExportFormat::kHpp}) {
      const std::string text = exported(*program, recipe, format);
      const auto chosen = back(text);
      ASSERT_TRUE(chosen) << chosen.error().message;
      EXPECT_EQ(chosen->recipe, recipe) << text;
      EXPECT_EQ(chosen->program, *program) << text;
      EXPECT_TRUE(notes_.empty());
    }
  }
}

TEST_P(VariantOfExport, AnEditIsMadeAtTheCheckSizes) {
  int made = 0;
  for (const Recipe& recipe : recipes(4)) {
    const auto program = timed_.program(recipe);
    ASSERT_TRUE(program) << program.error().message;
    std::string text = exported(*program, recipe, ExportFormat::kCu);
    const std::size_t kernel = text.find("__global__", text.find("// hone program begins"));
    const std::size_t at = text.find("threadIdx.x", kernel);
    ASSERT_NE(at, text.npos) << text;
    text.replace(at, 11, "(threadIdx.x + 0)");
    const auto chosen = back(text);
    ASSERT_TRUE(chosen) << chosen.error().message;
    ASSERT_TRUE(notes_.empty()) << notes_.front();
    ASSERT_EQ(chosen->recipe.size(), recipe.size() + 1);
    EXPECT_EQ(chosen->recipe.back().rewriter, kHandEdit);
    EXPECT_NE(chosen->program.source.find("(threadIdx.x + 0)"), std::string::npos);
    // And its own export is the same again.
    const auto again = back(exported(chosen->program, chosen->recipe, ExportFormat::kCu));
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->recipe, chosen->recipe);
    Space small(rewriting_, context(task_.check_sizes.front()));
    if (!small.replays(recipe)) continue;
    const auto there = small.program(chosen->recipe);
    if (there) made += there->source.find("(threadIdx.x + 0)") != std::string::npos ? 1 : -100;
  }
  EXPECT_GE(made, 1);
}

INSTANTIATE_TEST_SUITE_P(Baselines, VariantOfExport,
                         ::testing::Values("matmul", "softmax", "histogram", "transpose",
                                           "global_sum"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace hone
