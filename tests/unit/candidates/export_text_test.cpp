// Strangers' text in source text: it may not end what it stands in.
#include "candidates/export/text.h"

#include <gtest/gtest.h>

namespace hone::exporting {
namespace {

bool is_plain_line(const std::string& text) {
  for (const char c : text) {
    if (c < 0x20 || c >= 0x7F || c == '\\') return false;
  }
  return true;
}

TEST(ExportText, ACommentStaysOneCommentLine) {
  for (const std::string& text :
       {std::string("two\nlines"), std::string("spliced \\"), std::string("nul \0 byte", 10),
        std::string("\xE2\x80\xA8 line separator"), std::string("\xFF\xFE no UTF-8"),
        std::string("trigraph ?\?/"), std::string("\r\n\t\v\f\x1b[31m"), std::string("\xC2\x85")}) {
    EXPECT_TRUE(is_plain_line(comment_text(text))) << text;
    EXPECT_EQ(comment_text(text).find("?\?/"), std::string::npos);
  }
  EXPECT_EQ(comment_text("a */ b /* c **/ \"\"\"").find("*/"), std::string::npos);
  EXPECT_EQ(comment_text("a */ b /* c").find("/*"), std::string::npos);
  EXPECT_EQ(comment_text("\"\"\"").find("\"\""), std::string::npos);
  EXPECT_EQ(comment_text("matmul, 4 x 5"), "matmul, 4 x 5");
}

TEST(ExportText, IdentifiersAreIdentifiers) {
  EXPECT_EQ(identifier("matmul"), "matmul");
  EXPECT_EQ(identifier("my task: v2"), "my_task_v2");
  EXPECT_EQ(identifier("3d"), "task_3d");
  EXPECT_EQ(identifier(""), "task");
  EXPECT_EQ(identifier("_x"), "task__x");
  EXPECT_EQ(identifier("\"); import os #"), "task__import_os");
  EXPECT_LE(identifier(std::string(5000, 'a')).size(), 110U);
}

TEST(ExportText, NamesAreNoWordsOfTheLanguageAndDiffer) {
  Names cpp(Names::Language::kCpp);
  EXPECT_EQ(cpp.fresh("class"), "class_");
  EXPECT_EQ(cpp.fresh("class_"), "class__");
  EXPECT_EQ(cpp.fresh("lambda"), "lambda");
  EXPECT_EQ(cpp.fresh("stream"), "stream_");
  EXPECT_EQ(cpp.fresh("hone_n"), "xhone_n");
  EXPECT_EQ(cpp.fresh("__global__"), "x__global__");
  Names python(Names::Language::kPython);
  EXPECT_EQ(python.fresh("lambda"), "lambda_");
  EXPECT_EQ(python.fresh("in"), "in_");
  EXPECT_EQ(python.fresh("torch"), "torch_");
  EXPECT_EQ(python.fresh("_run"), "x_run");
  EXPECT_EQ(python.fresh("class"), "class_");
  EXPECT_EQ(python.fresh("x"), "x");
  EXPECT_EQ(python.fresh("x"), "x_");
}

TEST(ExportText, PythonTextIsRawOnlyWhereThatIsSafe) {
  EXPECT_EQ(python_text("a = \"\\n\";\n"), "r'''a = \"\\n\";\n'''");
  for (const std::string& text :
       {std::string("'''"), std::string("ends with '"), std::string("ends with \\"),
        std::string("nul \0", 5), std::string("\xE2\x80\xA8"), std::string("\r\n")}) {
    EXPECT_FALSE(python_text(text).starts_with("r'''")) << text;
  }
  EXPECT_EQ(python_text("''' + evil() + '''\nx"),
            "(\n    '\\'\\'\\' + evil() + \\'\\'\\'\\n'\n    'x'\n)");
  EXPECT_EQ(python_text("\xFF"), "(\n    b'\\xff'\n).decode('utf-8', 'replace')");
  EXPECT_EQ(python_text(""), "r''''''");
  EXPECT_EQ(python_string("a'b\\c\n"), "'a\\'b\\\\c\\n'");
}

}  // namespace
}  // namespace hone::exporting
