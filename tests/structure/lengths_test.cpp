// In the folders that drive a search, every function fits on a page.
#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace hone::test {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostLines = 60;

struct Body {
  std::string head;  ///< its first line
  std::size_t lines = 0;
};

/// The functions of a source as clang-format writes it: what begins with a word at the beginning of
/// a line, has a parenthesis and opens a brace, up to the brace that closes there.
std::vector<Body> functions_in(const std::vector<std::string>& lines) {
  std::vector<Body> found;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].empty() || std::isalpha(static_cast<unsigned char>(lines[i][0])) == 0) continue;
    if (lines[i].starts_with("namespace")) continue;
    std::size_t end = i;
    bool parenthesis = false;
    while (end < lines.size() && !lines[end].ends_with("{") && !lines[end].ends_with(";") &&
           !lines[end].ends_with("}")) {
      parenthesis |= lines[end].find('(') != std::string::npos;
      ++end;
    }
    if (end == lines.size() || !lines[end].ends_with("{")) continue;
    if (!parenthesis && lines[end].find('(') == std::string::npos) continue;
    const std::size_t begin = i;
    while (i < lines.size() && !lines[i].starts_with("}")) ++i;
    found.push_back({lines[begin], i - begin + 1});
  }
  return found;
}

TEST(Lengths, FunctionsAreFoundWithTheirLines) {
  const auto found =
      functions_in({"namespace hone {", "int f() {", "  return 1;", "}", "struct S {", "  int x;",
                    "};", "int g(int a,", "      int b) {", "}", "}"});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].head, "int f() {");
  EXPECT_EQ(found[0].lines, 3U);
  EXPECT_EQ(found[1].lines, 3U);
}

TEST(Lengths, NoFunctionThatDrivesASearchIsLong) {
  std::size_t seen = 0;
  for (const char* folder : {"engine/search", "engine/service", "engine/llm"}) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(HONE_SOURCE_DIR) / folder)) {
      if (entry.path().extension() != ".cpp") continue;
      std::ifstream stream(entry.path());
      std::vector<std::string> lines;
      for (std::string line; std::getline(stream, line);) lines.push_back(line);
      for (const Body& body : functions_in(lines)) {
        ++seen;
        EXPECT_LE(body.lines, kMostLines) << entry.path() << ": " << body.head;
      }
    }
  }
  EXPECT_GT(seen, 300U) << "is it still how functions begin?";
}

}  // namespace
}  // namespace hone::test
