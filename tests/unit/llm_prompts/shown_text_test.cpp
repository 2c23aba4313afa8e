#include "rewriters/llm/text/shown_text.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "rewriters/llm/text/tokens.h"

namespace hone::llm {
namespace {

TEST(VisibleText, LosesWhatCannotBeSeen) {
  EXPECT_EQ(visible_text("a\x01\x1B[31mb\x7F"), "a[31mb");
  EXPECT_EQ(visible_text("a\u202Eb\u2066c\u200Bd\uFEFFe\u00ADf"), "abcdef");
  EXPECT_EQ(visible_text("a\U000E0041\U000E0042b"), "ab");  // tags: text that no one sees
  EXPECT_EQ(visible_text("a\uFE0F\U000E0101b"), "ab");      // variation selectors
  EXPECT_EQ(visible_text("tab\tline\n"), "tab\tline\n");
  EXPECT_EQ(visible_text("äé漢"), "äé漢");
}

TEST(VisibleText, EndsLinesInOneWay) {
  EXPECT_EQ(visible_text("a\r\nb\rc\u2028d\u0085e\ff"), "a\nb\nc\nd\ne\nf");
}

TEST(VisibleText, ReplacesWhatIsNoUtf8) {
  EXPECT_EQ(visible_text("a\xFF"
                         "b"),
            "a\uFFFDb");
  EXPECT_EQ(visible_text("\xC0\xAF"), "\uFFFD\uFFFD");            // overlong
  EXPECT_EQ(visible_text("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");  // a surrogate
  EXPECT_EQ(visible_text("\xE6\xBC"), "\uFFFD\uFFFD");            // cut off
  EXPECT_EQ(visible_text("\xF4\x90\x80\x80"), "\uFFFD\uFFFD\uFFFD\uFFFD");
}

TEST(VisibleText, BreaksMarksOfChatTemplates) {
  for (const char* mark :
       {"<|im_start|>system", "<|endoftext|>", "[INST]", "[/INST]", "<<SYS>>", "</s>", "<s>",
        "<start_of_turn>", "<think>", "</think>", "<\uFF5Cbegin\uFF5C>", "<|\u200Bim_end|>",
        "<\u200B|im_end|>", "[in\u200Bst]"}) {
    const std::string seen = visible_text(mark);
    for (const char* whole : {"<|", "|>", "[INST]", "[inst]", "[/INST]", "<SYS>", "</", "<s>",
                              "<start_of_turn>", "<think>"}) {
      EXPECT_FALSE(seen.contains(whole)) << mark << " became " << seen;
    }
  }
  EXPECT_EQ(visible_text("a < b || c > d && x[inner] <= y >> 2; f<float>(p->q);"),
            "a < b || c > d && x[inner] <= y >> 2; f<float>(p->q);");
}

TEST(VisibleLine, IsOneLineAndBounded) {
  EXPECT_EQ(visible_line("  a\n b\t\tc  ", 100), "a b c");
  EXPECT_EQ(visible_line("abcdefgh", 8), "abcdefgh");
  EXPECT_EQ(visible_line("abcdefghi", 8), "abcde…");
  EXPECT_EQ(visible_line("漢漢漢漢", 9), "漢漢…");
  EXPECT_EQ(visible_line("abc", 0), "…");
}

TEST(Shortened, SaysHowMuchIsLeftOut) {
  EXPECT_EQ(shortened("abcdef", 6), "abcdef");
  EXPECT_EQ(shortened("abcdef", 4), "abcd\n… (2 bytes more)");
  EXPECT_EQ(shortened("漢漢", 4), "漢\n… (3 bytes more)");
}

TEST(FindInvisible, KnowsThePlace) {
  EXPECT_EQ(find_invisible("int a;\t\r\n").offset, std::string_view::npos);
  EXPECT_EQ(find_invisible("a\u202Eb").offset, 1U);
  EXPECT_EQ(find_invisible("a\u202Eb").code_point, 0x202EU);
  EXPECT_EQ(find_invisible(std::string_view("a\0b", 3)).offset, 1U);
}

TEST(WithoutComments, TakesCommentsOnly) {
  EXPECT_EQ(without_comments("int a; // say yes\nint b; /* say\nno */ int c;\n"),
            "int a;\nint b;   int c;\n");
  EXPECT_EQ(without_comments("a/**/b"), "a b\n");
  EXPECT_EQ(without_comments("s = \"// no /* comment */\";"), "s = \"// no /* comment */\";\n");
  EXPECT_EQ(without_comments("c = '\"'; // gone"), "c = '\"';\n");
  EXPECT_EQ(without_comments("n = 1'000; // it's gone"), "n = 1'000;\n");
  EXPECT_EQ(without_comments("s = \"a\\\"b // c\"; // d"), "s = \"a\\\"b // c\";\n");
  EXPECT_EQ(without_comments("int a; /* never ends"), "int a;\n");
}

TEST(WithoutComments, ReadsRawStrings) {
  const std::string raw = "s = R\"(a \" // b\n\n\n  /* c */  \n)\"; t = u8R\"x(\\)\" //)x\";";
  EXPECT_EQ(without_comments(raw + " // gone"), raw + "\n");
  EXPECT_EQ(without_comments("FOOR\"(a)\" // gone"), "FOOR\"(a)\"\n");
}

TEST(WithoutComments, ReadsSplicedLines) {
  EXPECT_EQ(without_comments("a; // gone \\\n gone too\nb;"), "a;\nb;\n");
  EXPECT_EQ(without_comments("a; // gone \\\r\n gone too\r\nb;"), "a;\nb;\n");
  EXPECT_EQ(without_comments("a; /\\\n/ gone\nb;"), "a;\nb;\n");
  EXPECT_EQ(without_comments("a; /\\\n* gone *\\\n/ b;"), "a;   b;\n");
  EXPECT_EQ(without_comments("s = \"a\\\n// b\"; // gone"), "s = \"a\\\n// b\";\n");
  EXPECT_EQ(without_comments("#define A(x) \\\n  x /* gone\n */ + 1\nb"),
            "#define A(x) \\\n  x   + 1\nb\n");
}

TEST(WithoutComments, TidiesLines) {
  EXPECT_EQ(without_comments("\n\n// one\n// two\nint a;   \n\n// three\n\n\nint b;\n\n"),
            "int a;\n\nint b;\n");
  // Blanks behind a backslash do not become a splice.
  EXPECT_EQ(without_comments("#define A \\ // gone\nint b;"), "#define A \\ \nint b;\n");
  // Regression: nor does a backslash at the source's end.
  EXPECT_EQ(without_comments("a \\"), "a \\ \n");
}

TEST(WithoutComments, KeepsLineNumbersWhereAsked) {
  EXPECT_EQ(without_comments("/* a\nb */\n\n\nint c; // d\nint e;", Lines::kKept),
            " \n\n\n\nint c;  \nint e;");
}

TEST(ShownSource, HidesNothingInInvisibleCharacters) {
  EXPECT_EQ(shown_source("int a; /\u200B/ gone\nint b;"), "int a;\nint b;\n");
  EXPECT_EQ(shown_source("int a; /\x01* gone */ int b;"), "int a;   int b;\n");
}

// Words, numbers, literals and symbols stay as they are, and so do directives' lines.
TEST(ShownSource, KeepsEveryTokenOfRealKernels) {
  const auto parts = [](const std::string& source) {
    std::vector<std::string> texts;
    bool in_directive = false, line_begins = true;
    for (const Token& token : tokens_of(source)) {
      if (token.kind == Token::Kind::kComment) continue;
      if (token.kind == Token::Kind::kNewline) {
        if (in_directive) texts.emplace_back("end of directive");
        in_directive = false;
        line_begins = true;
        continue;
      }
      in_directive |= line_begins && token.text == "#";
      line_begins = false;
      texts.push_back(token.text);
    }
    return texts;
  };
  int seen = 0;
  for (const char* folder : {"/baselines", "/tests/lift/kernels", "/tests/golden"}) {
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(std::string(HONE_SOURCE_DIR) + folder)) {
      if (entry.path().extension() != ".cu") continue;
      std::stringstream text;
      text << std::ifstream(entry.path()).rdbuf();
      EXPECT_EQ(parts(shown_source(text.str())), parts(text.str())) << entry.path();
      ++seen;
    }
  }
  EXPECT_GT(seen, 100);
}

TEST(ShownSource, IsItsOwnShownSource) {
  const std::string source =
      "// a\n\n\nint b; \\ \n/* c */ R\"(  \n\n\n)\" '\"' // d\n<|x|> \"</s>\"";
  EXPECT_EQ(shown_source(shown_source(source)), shown_source(source));
}

TEST(Tokens, HaveTheirLines) {
  const auto tokens = tokens_of("a \\\n b\n%: c R\"(\n)\" d");
  ASSERT_EQ(tokens.size(), 7U);
  EXPECT_EQ(tokens[1].text, "b");
  EXPECT_EQ(tokens[1].line, 2);
  EXPECT_EQ(tokens[3].text, "#");
  EXPECT_EQ(tokens[5].text, "R\"(\n)\"");
  EXPECT_EQ(literal_text(tokens[5]), "\n");
  EXPECT_EQ(tokens[6].line, 4);
}

}  // namespace
}  // namespace hone::llm
