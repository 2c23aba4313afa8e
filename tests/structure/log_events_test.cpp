// Every line of a daemon's log has a stable name, and engine/service/LOGS.md has them all.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace hone::test {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// From an opening bracket to the one that closes it, texts in quotes aside.
std::string bracketed(const std::string& text, std::size_t open) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (text[i] == '"' && text[i - 1] != '\\') quoted = !quoted;
    if (quoted) continue;
    if (text[i] == '{' || text[i] == '(') ++depth;
    if ((text[i] == '}' || text[i] == ')') && --depth == 0) return text.substr(open, i - open + 1);
  }
  return "";
}

/// The texts of all log events that a source makes: `log({…})`, `log_({…})`.
std::vector<std::string> events_in(const std::string& source) {
  static const std::regex call(R"(\blog_?\(\{)");
  std::vector<std::string> found;
  for (std::sregex_iterator one(source.begin(), source.end(), call), end; one != end; ++one)
    found.push_back(
        bracketed(source, static_cast<std::size_t>(one->position() + one->length() - 1)));
  return found;
}

/// Names that stand behind `.event =`, also behind a condition, and as first texts of the helpers
/// that files have for it.
std::set<std::string> names_in(const std::string& source) {
  static const std::regex direct(R"re(\.event =\s*([^,;]*?)"([a-z_]+)"(?: : "([a-z_]+)")?)re");
  static const std::regex helper(
      R"re(\b(?:warn\(|say\(LogLevel::k\w+,|log\(LogLevel::k\w+,|LogLevel::kWarning,)\s*"([a-z_]+)")re");
  static const std::regex chosen(R"re(LogLevel::kInfo : LogLevel::kWarning,\s*"([a-z_]+)")re");
  std::set<std::string> names;
  for (std::sregex_iterator one(source.begin(), source.end(), direct), end; one != end; ++one) {
    names.insert((*one)[2]);
    if ((*one)[3].matched) names.insert((*one)[3]);
  }
  for (const std::regex* form : {&helper, &chosen})
    for (std::sregex_iterator one(source.begin(), source.end(), *form), end; one != end; ++one)
      names.insert((*one)[1]);
  return names;
}

TEST(LogEvents, AreFoundInSources) {
  const std::string source =
      "log({.level = a(\"}\"), .message = x}); log_({.event = \"one\"}); catalog({1});"
      ".event = good ? \"two\" : \"three\", warn(\"four\", x); log(LogLevel::kInfo, \"five\", x)";
  ASSERT_EQ(events_in(source).size(), 2U);
  EXPECT_EQ(events_in(source)[0], "{.level = a(\"}\"), .message = x}");
  EXPECT_EQ(names_in(source), (std::set<std::string>{"one", "two", "three", "four", "five"}));
}

TEST(LogEvents, EachHasANameThatIsDocumented) {
  std::set<std::string> used;
  std::size_t events = 0;
  for (const char* folder : {"engine/queue", "engine/service", "engine/cli", "engine/web"}) {
    for (const auto& entry : fs::directory_iterator(fs::path(HONE_SOURCE_DIR) / folder)) {
      if (entry.path().extension() != ".cpp" && entry.path().extension() != ".h") continue;
      const std::string source = text_of(entry.path());
      for (const std::string& event : events_in(source)) {
        ++events;
        EXPECT_NE(event.find(".event ="), event.npos)
            << entry.path() << ": a log line without an event's name: " << event;
      }
      if (source.find("Log") != source.npos) used.merge(names_in(source));
    }
  }
  EXPECT_GT(events, 15U);
  std::set<std::string> documented;
  std::istringstream table(text_of(fs::path(HONE_SOURCE_DIR) / "engine/service/LOGS.md"));
  for (std::string line; std::getline(table, line);)
    if (line.starts_with("| `")) documented.insert(line.substr(3, line.find('`', 3) - 3));
  EXPECT_EQ(documented, used);
}

}  // namespace
}  // namespace hone::test
