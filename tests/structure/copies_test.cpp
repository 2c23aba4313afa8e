// No code stands twice between generators: what several need is in one place above them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
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

/// Blocks of more than kMostLines lines, and where each was read first.
class Blocks {
 public:
  /// Reads a file; what it has of one shape with a file of another folder, a text for each block.
  std::vector<std::string> add(const fs::path& file, std::istream& stream) {
    std::vector<std::string> copies;
    const std::vector<Line> lines = lines_of(stream);
    for (std::size_t i = 0; i + kMostLines < lines.size(); ++i) {
      std::string block;
      for (std::size_t l = 0; l <= kMostLines; ++l) block += lines[i + l].shape + "\n";
      const Place place{file.parent_path(), fmt::format("{}:{}", file.string(), lines[i].number)};
      const auto [other, is_new] = known_.try_emplace(block, place);
      ++read_;
      if (!is_new && other->second.folder != place.folder)
        copies.push_back(fmt::format("{} is as {}", place.text, other->second.text));
    }
    return copies;
  }

  [[nodiscard]] std::size_t read() const { return read_; }

 private:
  struct Place {
    fs::path folder;
    std::string text;
  };
  std::map<std::string, Place> known_;
  std::size_t read_ = 0;
};

TEST(Copies, LinesOfOneShapeAreFound) {
  EXPECT_EQ(shape_of("  const int x1 = f(2, \"a\\\"b\");  // so"), "aaa=a(0,0);");
  EXPECT_EQ(shape_of("  const int y = g(3, 'c');"), "aaa=a(0,0);");
  EXPECT_NE(shape_of("  const int y = g(3) + 'c';"), "aaa=a(0,0);");
  for (const char* idle : {"", "  }", "// text", "#include <map>", "using x::y;", "});"})
    EXPECT_EQ(shape_of(idle), "") << idle;
}

/// Statements of different shapes, `word` in each of them; a comment before each.
std::string statements(const std::string& word, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    std::string of = word;
    for (std::size_t n = 0; n < i; ++n) of = fmt::format("f({}, {})", of, word);
    text += fmt::format("// {} of {}\n  {} = {};\n\n", i, word, word, of);
  }
  return text;
}

TEST(Copies, APlantedCopyIsFound) {
  const auto copies = [](std::size_t lines, const char* folder) {
    Blocks blocks;
    std::istringstream here("int a;\n" + statements("x", lines) + "return x;\n");
    std::istringstream there("float b = 1;\n" + statements("other", lines) + "if (b) {\n");
    EXPECT_EQ(blocks.add("map/print.cpp", here), std::vector<std::string>{});
    return blocks.add(fs::path(folder) / "emit.cpp", there);
  };
  const std::vector<std::string> found = {"scan/emit.cpp:3 is as map/print.cpp:3"};
  EXPECT_EQ(copies(12, "scan"), found);
  EXPECT_EQ(copies(11, "scan"), std::vector<std::string>{});
  EXPECT_EQ(copies(12, "map"), std::vector<std::string>{});
}

/// Nor in a generator and in what generators share.
TEST(Copies, NoBlockStandsInTwoGenerators) {
  Blocks blocks;
  for (const auto& entry :
       fs::recursive_directory_iterator(fs::path(HONE_SOURCE_DIR) / "rewriters/schedules")) {
    const fs::path& file = entry.path();
    if (file.extension() != ".cpp" && file.extension() != ".h") continue;
    std::ifstream stream(file);
    for (const std::string& copy : blocks.add(file, stream)) ADD_FAILURE() << copy;
  }
  EXPECT_GT(blocks.read(), 8000U) << "is this where generators are?";
}

}  // namespace
}  // namespace hone::test
