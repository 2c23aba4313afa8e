// The arrows between the rooms (ARCHITECTURE.md), read from the #include lines of every source
// file.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace hone::test {
namespace {

namespace fs = std::filesystem;

struct Include {
  std::string file;  // from the repository's root
  int line = 0;
  std::string header;
  bool quoted = false;
};

/// The #include lines of a C++ source, without those in raw strings: those are programs that hone
/// prints.
std::vector<Include> includes_in(const std::string& file, std::string_view text) {
  std::vector<Include> found;
  int line = 1;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view row = text.substr(at, end - at);
    if (row.starts_with("#include ") && row.size() > 11) {
      const bool quoted = row[9] == '"';
      const std::size_t close = row.find(quoted ? '"' : '>', 10);
      if (close != std::string_view::npos)
        found.push_back({file, line, std::string(row.substr(10, close - 10)), quoted});
    } else if (const std::size_t raw = row.find("R\""); raw != std::string_view::npos) {
      const std::size_t open = text.find('(', at + raw);
      const std::string closing =
          ")" + std::string(text.substr(at + raw + 2, open - at - raw - 2)) + "\"";
      const std::size_t stop = std::min(text.find(closing, open), text.size());
      line += static_cast<int>(std::count(text.begin() + static_cast<std::ptrdiff_t>(at),
                                          text.begin() + static_cast<std::ptrdiff_t>(stop), '\n'));
      at = stop;
      continue;  // the rest of the line that ends the string
    }
    at = end + 1;
    ++line;
  }
  return found;
}

const std::vector<std::string> kRooms = {"candidates", "sandbox", "evaluator", "rewriters",
                                         "engine"};

const std::vector<Include>& all_includes() {
  static const std::vector<Include> all = [] {
    std::vector<Include> found;
    for (const std::string& room : kRooms) {
      for (const auto& entry : fs::recursive_directory_iterator(fs::path(HONE_SOURCE_DIR) / room)) {
        const auto extension = entry.path().extension();
        if (extension != ".h" && extension != ".c" && extension != ".cpp" && extension != ".inc")
          continue;
        std::ifstream stream(entry.path());
        std::stringstream text;
        text << stream.rdbuf();
        const std::string name = fs::relative(entry.path(), HONE_SOURCE_DIR).generic_string();
        for (Include& include : includes_in(name, text.str())) found.push_back(std::move(include));
      }
    }
    return found;
  }();
  return all;
}

std::string room_of(std::string_view path) { return std::string(path.substr(0, path.find('/'))); }

TEST(Arrows, RawStringsAreNotRead) {
  const auto found = includes_in("a.cpp",
                                 "#include <vector>\nauto a = R\"x(\n#include <cuda.h>\n)x\";\n"
                                 "#include \"engine/b.h\"\n");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].header, "vector");
  EXPECT_EQ(found[1].header, "engine/b.h");
  EXPECT_EQ(found[1].line, 5);
}

TEST(Arrows, EveryRoomHasSources) {
  std::set<std::string> rooms;
  for (const Include& include : all_includes()) rooms.insert(room_of(include.file));
  EXPECT_EQ(rooms, std::set<std::string>(kRooms.begin(), kRooms.end()));
}

TEST(Arrows, ARoomIncludesOnlyRoomsBelowIt) {
  const std::map<std::string, std::set<std::string>> may_see = {
      {"candidates", {}},
      {"sandbox", {"candidates"}},
      {"evaluator", {"candidates", "sandbox"}},
      {"rewriters", {"candidates"}},
      {"engine", {"candidates", "sandbox", "evaluator", "rewriters"}}};
  for (const Include& include : all_includes()) {
    if (!include.quoted) continue;
    const std::string from = room_of(include.file), to = room_of(include.header);
    if (from == to) continue;
    EXPECT_TRUE(may_see.at(from).contains(to))
        << include.file << ":" << include.line << " includes " << include.header;
  }
}

/// The table of ARCHITECTURE.md: parts of rewriters/ by their prefixes, and what each may include.
const std::map<std::string, std::set<std::string>>& rewriter_arrows() {
  static const auto all = [] {
    std::map<std::string, std::set<std::string>> arrows;
    std::ifstream text(fs::path(HONE_SOURCE_DIR) / "ARCHITECTURE.md");
    bool inside = false;
    for (std::string line; std::getline(text, line);) {
      if (line.starts_with("| in `rewriters/` | may include |")) inside = true;
      if (!line.starts_with("|")) inside = false;
      if (!inside || !line.starts_with("| `")) continue;
      // The first column's name, then those of the second one.
      const std::string columns = line.substr(0, line.find('|', line.find('|', 1) + 1));
      std::string from;
      for (std::size_t at = columns.find('`'); at != std::string::npos;) {
        const std::size_t end = columns.find('`', at + 1);
        const std::string name = columns.substr(at + 1, end - at - 1);
        if (from.empty()) {
          from = name;
          arrows[from];
        } else {
          arrows[from].insert(name);
        }
        at = columns.find('`', end + 1);
      }
    }
    return arrows;
  }();
  return all;
}

/// The longest prefix that the file begins with.
std::string rewriter_part(std::string_view path) {
  const std::string_view inside = path.substr(std::string_view("rewriters/").size());
  std::string found;
  for (const auto& [prefix, sees] : rewriter_arrows())
    if (inside.starts_with(prefix) && prefix.size() > found.size()) found = prefix;
  return found;
}

TEST(Arrows, AFolderOfRewritersIncludesOnlyThoseBelowIt) {
  std::set<std::string> seen;
  for (const Include& include : all_includes()) {
    if (!include.quoted || room_of(include.file) != "rewriters" ||
        room_of(include.header) != "rewriters")
      continue;
    const std::string from = rewriter_part(include.file), to = rewriter_part(include.header);
    ASSERT_NE(from, "") << include.file << " is in no folder that ARCHITECTURE.md draws";
    seen.insert(from);
    if (from == to) continue;
    EXPECT_TRUE(rewriter_arrows().at(from).contains(to))
        << include.file << ":" << include.line << " includes " << include.header;
  }
  ASSERT_GT(rewriter_arrows().size(), 5U) << "no table in ARCHITECTURE.md";
  EXPECT_EQ(seen.size(), rewriter_arrows().size())
      << "a folder that includes nothing: is it there?";
}

/// What generators of products have in common stands beside them, not in one of them.
TEST(Arrows, GeneratorsOfProductsDoNotSeeOtherGenerators) {
  const std::string room = "rewriters/schedules/";
  for (const Include& include : all_includes()) {
    for (const std::string& name : {std::string("contract/"), std::string("attention/")}) {
      if (!include.file.starts_with(room + name) || !include.header.starts_with(room)) continue;
      const std::string inside = include.header.substr(room.size());
      EXPECT_TRUE(inside.find('/') == std::string::npos || inside.starts_with(name) ||
                  inside.starts_with("printing/"))
          << include.file << ":" << include.line << " includes " << include.header;
    }
  }
}

TEST(Arrows, TheLaunchLibraryStandsAlone) {
  const std::string folder = "candidates/launch/";
  int seen = 0;
  for (const Include& include : all_includes()) {
    if (!include.quoted || !include.file.starts_with(folder)) continue;
    ++seen;
    EXPECT_TRUE(include.header.starts_with(folder)) << include.file << ":" << include.line;
  }
  EXPECT_GT(seen, 3);
}

TEST(Arrows, ALibraryIsSeenByItsOwnRoomOnly) {
  struct Owner {
    std::vector<std::string> prefixes;  // of the header's name
    std::vector<std::string> folders;   // that may include it
  };
  const std::vector<Owner> owners = {{{"clang/", "clang-c/", "llvm/"}, {"rewriters/syntax/"}},
                                     {{"cuda.h", "cuda_", "nvrtc", "cublas"}, {"evaluator/"}},
                                     {{"SQLiteCpp/", "sqlite3"}, {"candidates/store/"}},
                                     {{"hiredis/"}, {"engine/queue/"}},
                                     {{"curl/"}, {"rewriters/llm/client/"}},
                                     {{"httplib"}, {"engine/web/", "engine/service/"}},
                                     {{"CLI/"}, {"engine/cli/"}},
                                     {{"openssl/"}, {"engine/queue/", "engine/web/"}},
                                     {{"seccomp"}, {"sandbox/jail/", "sandbox/"}},
                                     {{"dtl/"}, {"engine/results/"}}};
  for (const Owner& owner : owners) {
    int seen = 0;
    for (const Include& include : all_includes()) {
      const auto begins = [&](const std::string& prefix) {
        return include.header.starts_with(prefix);
      };
      if (include.quoted || !std::ranges::any_of(owner.prefixes, begins)) continue;
      ++seen;
      EXPECT_TRUE(std::ranges::any_of(
          owner.folders,
          [&](const std::string& folder) { return include.file.starts_with(folder); }))
          << include.file << ":" << include.line << " includes <" << include.header << ">";
    }
    EXPECT_GT(seen, 0) << "nothing includes <" << owner.prefixes.front()
                       << "…>: is the rule stale?";
  }
}

}  // namespace
}  // namespace hone::test
