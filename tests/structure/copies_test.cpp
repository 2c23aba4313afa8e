// No code stands twice between generators: what several need is in one place above them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace hone::test {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostLines = 11;  ///< of one shape, in two folders

/// A line without spaces and comments, each name a, each number and each text 0; empty where it
/// says nothing: an include, a using, a namespace or punctuation alone.
std::string shape_of(std::string_view line) {
  std::string shape;
  bool word = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (line.substr(i).starts_with("//")) break;
    if (c == '"' || c == '\'') {
      for (++i; i < line.size() && line[i] != c; ++i) i += line[i] == '\\' ? 1 : 0;
      shape += '0';
      word = false;
    } else if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') {
      if (!word) shape += std::isdigit(static_cast<unsigned char>(c)) != 0 ? '0' : 'a';
      word = true;
    } else {
      word = false;
      if (c != ' ') shape += c;
    }
  }
  const std::size_t first = line.find_first_not_of(' ');
  const std::string_view text = first == line.npos ? "" : line.substr(first);
  const bool idle =
      text.starts_with("#") || text.starts_with("using ") || text.starts_with("namespace ");
  return idle || shape.find_first_of("a0") == shape.npos ? "" : shape;
}

struct Line {
  std::string shape;
  std::size_t number = 0;
};

std::vector<Line> lines_of(std::istream& stream) {
  std::vector<Line> lines;
  std::size_t number = 0;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    if (std::string shape = shape_of(line); !shape.empty())
      lines.push_back({std::move(shape), number});
  }
  return lines;
}

TEST(Copies, LinesOfOneShapeAreFound) {
  EXPECT_EQ(shape_of("  const int x1 = f(2, \"a\\\"b\");  // so"), "aaa=a(0,0);");
  EXPECT_EQ(shape_of("  const int y = g(3, 'c');"), "aaa=a(0,0);");
  EXPECT_NE(shape_of("  const int y = g(3) + 'c';"), "aaa=a(0,0);");
  for (const char* idle : {"", "  }", "// text", "#include <map>", "using x::y;", "});"})
    EXPECT_EQ(shape_of(idle), "") << idle;
}

TEST(Copies, NoBlockStandsInTwoGenerators) {
  const fs::path generators = fs::path(HONE_SOURCE_DIR) / "rewriters/generators";
  struct Place {
    fs::path folder;
    std::string text;
  };
  std::map<std::string, Place> known;
  std::size_t blocks = 0;
  for (const auto& entry : fs::recursive_directory_iterator(generators)) {
    const fs::path& file = entry.path();
    const fs::path folder = file.parent_path();
    if (folder == generators || folder.filename() == "printing" ||
        (file.extension() != ".cpp" && file.extension() != ".h"))
      continue;
    std::ifstream stream(file);
    const std::vector<Line> lines = lines_of(stream);
    for (std::size_t i = 0; i + kMostLines < lines.size(); ++i) {
      std::string block;
      for (std::size_t l = 0; l <= kMostLines; ++l) block += lines[i + l].shape + "\n";
      const Place place{folder, fmt::format("{}:{}", file.string(), lines[i].number)};
      const auto [other, is_new] = known.try_emplace(block, place);
      ++blocks;
      EXPECT_TRUE(is_new || other->second.folder == folder)
          << place.text << " is as " << other->second.text;
    }
  }
  EXPECT_GT(blocks, 5000U) << "is this where generators are?";
}

}  // namespace
}  // namespace hone::test
