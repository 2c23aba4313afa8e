#include "engine/results/diff_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace hone::results {
namespace {

std::string text_of(const std::string& left, const std::string& right,
                    const DiffTextOptions& options) {
  return side_by_side_text(side_by_side(left, right), "reference", "abc", options);
}

TEST(DiffText, ShowsWhatDiffersWithItsSurroundings) {
  std::string left, right;
  for (int i = 1; i <= 30; ++i) {
    left += "line " + std::to_string(i) + "\n";
    right += (i == 15 ? "changed" : "line " + std::to_string(i)) + "\n";
  }
  right += "added\n";
  const std::string text = text_of("gone\n" + left, right, {.width = 60, .context = 1});
  EXPECT_EQ(text,
            "   reference                      abc\n"
            " 1 gone                      <\n"
            " 2 line 1                       1 line 1\n"
            "...\n"
            "15 line 14                     14 line 14\n"
            "16 line 15                   | 15 changed\n"
            "17 line 16                     16 line 16\n"
            "...\n"
            "31 line 30                     30 line 30\n"
            "                             > 31 added\n");
  EXPECT_EQ(text_of(left, left, {}), "");
}

TEST(DiffText, LongLinesGoOnAndNoLineIsWiderThanTheTerminal) {
  const std::string left(100, 'x'), right = std::string(70, 'y') + "\t\xc3\xa9\033[2J";
  const std::string text = text_of(left + "\n", right + "\n", {.width = 80});
  std::istringstream stream(text);
  std::string line, rights;
  std::size_t xs = 0;
  while (std::getline(stream, line)) {
    const auto columns = std::ranges::count_if(line, [](char c) { return (c & 0xC0) != 0x80; });
    EXPECT_LE(columns, 80) << line;
    xs += static_cast<std::size_t>(std::ranges::count(line, 'x'));
  }
  EXPECT_EQ(xs, 100U);
  EXPECT_NE(text.find("\xc3\xa9"), text.npos);
  EXPECT_NE(text.find("?[2J"), text.npos) << "a stranger's escape reaches the terminal";
  EXPECT_EQ(text.find('\033'), text.npos);
}

TEST(DiffText, ColoursOnlyWhenAsked) {
  const std::string text = text_of("a\nb\n", "a\nc\n", {.width = 80, .colour = true});
  EXPECT_NE(text.find("\033[31mb\033[0m"), text.npos) << text;
  EXPECT_NE(text.find("\033[32mc\033[0m"), text.npos) << text;
  EXPECT_EQ(text.find("\033[31ma"), text.npos);
}

}  // namespace
}  // namespace hone::results
