// Every reason for which the verifier of tile programs refuses stands in some test of theirs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

namespace hone::test {
namespace {

namespace fs = std::filesystem;

/// The string literals of a source, neighbouring ones as one, without comments and includes.
std::vector<std::string> literals_of(const fs::path& file) {
  std::ifstream stream(file);
  std::string text;
  for (std::string line; std::getline(stream, line);)
    if (!line.starts_with("#include")) text += line.substr(0, line.find("// ")) + "\n";
  std::vector<std::string> found;
  bool joins = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '"') {
      joins = joins && std::isspace(static_cast<unsigned char>(text[at])) != 0;
      continue;
    }
    const std::size_t end = text.find('"', at + 1);
    if (end == std::string::npos) break;
    const std::string part = text.substr(at + 1, end - at - 1);
    joins ? void(found.back() += part) : found.push_back(part);
    joins = true;
    at = end;
  }
  return found;
}

TEST(Refusals, OfTilePrograms) {
  const fs::path root(HONE_SOURCE_DIR);
  std::vector<std::string> tested;
  for (const char* folder : {"tests/unit/rewriters", "tests/unit/schedules"}) {
    for (const auto& entry : fs::directory_iterator(root / folder)) {
      if (!entry.path().filename().string().starts_with("tile_")) continue;
      for (std::string& literal : literals_of(entry.path())) tested.push_back(std::move(literal));
    }
  }
  int reasons = 0;
  for (const char* file : {"rewriters/tile/verify.cpp", "rewriters/tile/verify_sums.cpp",
                           "rewriters/tile/verify_streams.cpp", "rewriters/tile/operands.cpp"}) {
    for (const std::string& reason : literals_of(root / file)) {
      // Sentences, not operators or prefixes.
      if (reason.size() < 12 || reason.ends_with(": ")) continue;
      ++reasons;
      std::string pattern;
      for (std::size_t at = 0; at < reason.size(); ++at) {
        if (reason.compare(at, 2, "{}") == 0) {
          pattern += ".*";
          ++at;
        } else {
          if (std::string_view("()[]{}.*+?^$|\\").contains(reason[at])) pattern += '\\';
          pattern += reason[at];
        }
      }
      const std::regex expression(pattern);
      const bool found = std::ranges::any_of(tested, [&](const std::string& literal) {
        return std::regex_search(literal, expression);
      });
      EXPECT_TRUE(found) << file << ": no test expects '" << reason << "'";
    }
  }
  EXPECT_GT(reasons, 60) << "are the reasons somewhere else?";
}

}  // namespace
}  // namespace hone::test
