// The step that makes somebody's edits of an export again.
#include "rewriters/core/hand_edit.h"

#include <gtest/gtest.h>

#include "candidates/task_reader.h"
#include "rewriters/core/registry.h"

namespace hone {
namespace {

class HandEdit : public ::testing::Test {
 protected:
  HandEdit()
      : task_(*read_task(std::string(HONE_SOURCE_DIR) + "/baselines/vector_add/vector_add.cu")) {
    program_ = task_.reference;
    program_.source =
        "/* hone { } */\nextern \"C\" __global__ void f(float* x) {\n\n  int a=1;\n  int b = 2;\n"
        "  int c = 2;\n  x[a] = b; x[b] = c;\n}\n";
  }
  Result<Program> apply(const std::vector<LineEdit>& edits) const {
    const Step step = hand_edit_step(edits, MathLevel::kExact);
    return find_rewriter(kHandEdit)->apply(program_, step, {&task_, task_.sizes, {}});
  }
  std::string refusal(const std::vector<LineEdit>& edits) const {
    const auto made = apply(edits);
    return made ? "" : made.error().message;
  }
  Task task_;
  Program program_;
};

TEST_F(HandEdit, ChangesTheFormattedText) {
  const auto made = apply({{"  x[b] = c;\n", ""}, {"  int a = 1;\n", "  int a = 3;\n  int d;\n"}});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->source,
            "extern \"C++\" __global__ void f(float* x) {\n  int a = 3;\n  int d;\n  int b = 2;\n"
            "  int c = 2;\n  x[a] = b;\n}\n");
  EXPECT_EQ(made->launches, program_.launches);
  EXPECT_TRUE(find_rewriter(kHandEdit)->propose(program_, {&task_, task_.sizes, {}}).empty());
}

TEST_F(HandEdit, RefusesWhatIsNotThereOnce) {
  EXPECT_NE(refusal({{"  int a = 2;\n", ""}}).find("'  int a = 2;' are not there"),
            std::string::npos);
  program_.source += "__device__ int g() {\n  int a = 1;\n  return a;\n}\n";
  EXPECT_NE(refusal({{"  int a = 1;\n", ""}}).find("are there twice"), std::string::npos);
  EXPECT_NE(refusal({{"  int b = 2;\n", ""}, {"  int b = 2;\n  int c = 2;\n", ""}}).find("same"),
            std::string::npos);
  EXPECT_NE(refusal({}), "");
  EXPECT_NE(refusal({{"  int b = 2;", ""}}), "");
}

}  // namespace
}  // namespace hone
