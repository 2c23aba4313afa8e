// What the command line says of itself: help, man page, completions, and answers to mistakes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>

#include "tests/e2e/process.h"

namespace hone::testing {
namespace {

const std::string kMistakes = std::string(HONE_SOURCE_DIR) + "/engine/cli/MISTAKES.md";

std::vector<std::string> lines_in(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string content_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> words_in(const std::string& line) {
  std::istringstream in(line);
  return {std::istream_iterator<std::string>(in), {}};
}

/// The commands that `hone help` lists, in its order.
std::vector<std::string> commands() {
  static const std::regex row("  ([a-z]+) {2,}[A-Z].*");
  std::vector<std::string> names;
  bool listed = false;
  for (const std::string& line : lines_in(hone({"help"}).out)) {
    if (line == "Commands:") listed = true;
    if (line == "Options:") break;
    std::smatch match;
    if (listed && std::regex_match(line, match, row)) names.push_back(match[1]);
  }
  return names;
}

/// The long options that a help text lists.
std::set<std::string> options_in(const std::string& help) {
  static const std::regex row("  (-.*?)(  .*)?"), option("--[a-z0-9-]+");
  std::set<std::string> names;
  for (const std::string& line : lines_in(help)) {
    std::smatch match;
    if (!std::regex_match(line, match, row)) continue;
    const std::string left = match[1];
    for (std::sregex_iterator one(left.begin(), left.end(), option), end; one != end; ++one)
      names.insert(one->str());
  }
  return names;
}

/// MISTAKES.md has what was typed in lines that begin with "$ hone", and after each the answer.
TEST(Mistakes, AreAnsweredAsTheDocumentSays) {
  std::string expected, said;
  int tried = 0;
  bool in_answer = false;
  for (const std::string& line : lines_in(content_of(kMistakes))) {
    expected += line + "\n";
    if (line.starts_with("$ hone")) {
      const auto run = hone(words_in(line.substr(6)));
      EXPECT_EQ(run.status, 2) << line;
      EXPECT_EQ(run.out, "") << line;
      EXPECT_EQ(lines_in(run.err).size(), 1U) << run.err;
      said += line + "\n" + run.err;
      ++tried;
      in_answer = true;
    } else if (!in_answer || !line.starts_with("hone: ")) {
      said += line + "\n";
    }
  }
  EXPECT_GE(tried, 20);
  if (std::getenv("HONE_UPDATE_GOLDEN") != nullptr) std::ofstream(kMistakes) << said;
  EXPECT_EQ(said, expected);
}

TEST(Help, IsTheSameByEachWayAndKnowsNoTypesOfThisProgram) {
  const auto names = commands();
  ASSERT_GT(names.size(), 25U);
  EXPECT_EQ(hone({"help"}).out, hone({"--help"}).out);
  for (const std::string& name : names) {
    const auto by_command = hone({"help", name}), by_option = hone({name, "--help"});
    EXPECT_EQ(by_command.status, 0) << by_command.err;
    EXPECT_EQ(by_option.status, 0);
    EXPECT_EQ(by_command.out, by_option.out);
    EXPECT_NE(by_command.out.find("\nUsage: hone " + name), std::string::npos) << by_command.out;
    // A value is named by what it is for.
    static const std::regex types(R"(\b(U?INT|FLOAT|BOOLEAN)\b|--[a-z-]+ TEXT\b)");
    EXPECT_FALSE(std::regex_search(by_command.out, types)) << by_command.out;
    for (const std::string& line : lines_in(by_command.out)) {
      const auto letters = std::ranges::count_if(line, [](char c) { return (c & 0xC0) != 0x80; });
      EXPECT_LE(letters, 100) << line;
    }
  }
  const auto none = hone({"help", "optimize", "more"});
  EXPECT_EQ(none.status, 2);
  EXPECT_NE(none.err.find("there is no command 'optimize more'"), none.err.npos) << none.err;
  // Help is given even where the rest is wrong, and not to what follows "--".
  EXPECT_EQ(hone({"optimize", "--bugdet", "--help"}).status, 0);
  EXPECT_EQ(hone({"jobs", "--", "--help"}).status, 2);
}

TEST(Version, SaysFromWhatTheProgramWasMade) {
  const auto plain = hone({"-V"});
  EXPECT_EQ(plain.status, 0);
  EXPECT_EQ(plain.out, hone({"--version"}).out);
  const auto document = hone({"version", "--json", "-"}).json();
  EXPECT_EQ(plain.out, "hone " + document["version"].get<std::string>() + "\n");
  EXPECT_TRUE(std::regex_match(document["commit"].get<std::string>(),
                               std::regex("[0-9a-f]{12}(-dirty)?|unknown")))
      << document;
  EXPECT_TRUE(document["compiler"].get<std::string>().starts_with("GCC ") ||
              document["compiler"].get<std::string>().starts_with("Clang "))
      << document;
  for (const char* format : {"database", "queue", "runner"})
    EXPECT_GE(document["formats"][format].get<int>(), 1) << format;
  EXPECT_TRUE(document["nvrtc"]["name"].get<std::string>().starts_with("NVRTC ")) << document;
  EXPECT_TRUE(std::filesystem::exists(document["nvrtc"]["path"].get<std::string>()));
  EXPECT_TRUE(
      std::filesystem::exists(document["cuda_headers"].get<std::string>() + "/cuda_fp16.h"));
  const std::string text = hone({"version"}).out;
  for (const std::string& part :
       {document["commit"].get<std::string>(), document["compiler"].get<std::string>()})
    EXPECT_NE(text.find(part), text.npos) << text;
}

TEST(ManPage, NamesEveryCommandAndOption) {
  const auto page = hone({"man"});
  ASSERT_EQ(page.status, 0) << page.err;
  std::string plain = page.out;
  for (std::size_t at = plain.find("\\-"); at != plain.npos; at = plain.find("\\-", at))
    plain.replace(at, 2, "-");
  for (const std::string& command : commands()) {
    const auto begin = plain.find(".SS \"hone " + command + "\"\n");
    ASSERT_NE(begin, plain.npos) << command;
    const std::string part = plain.substr(begin, plain.find("\n.S", begin + 1) - begin);
    for (const std::string& option : options_in(hone({"help", command}).out)) {
      if (option == "--help") continue;
      EXPECT_NE(part.find("\\fB" + option + "\\fR"), part.npos) << command << " " << option;
    }
  }
  for (const char* heading : {"NAME", "SYNOPSIS", "EXIT STATUS", "ENVIRONMENT", "COLOURS"})
    EXPECT_NE(page.out.find(std::string(".SH \"") + heading + "\""), page.out.npos) << heading;
  EXPECT_NE(plain.find("NO_COLOR"), plain.npos);
  // It goes into packages: nothing of the machine that made it.
  const char* home = std::getenv("HOME");
  if (home != nullptr && std::string(home) != "/") EXPECT_EQ(plain.find(home), plain.npos);
  if (!std::filesystem::exists("/usr/bin/groff")) GTEST_SKIP() << "no groff: not formatted";
  const TemporaryFolder folder;
  const auto formatted = run_process(
      {"/usr/bin/groff", "-ww", "-man", "-Kutf8", "-Tutf8", folder.write("hone.1", page.out)});
  EXPECT_EQ(formatted.status, 0);
  EXPECT_EQ(formatted.err, "");
}

/// What a shell offers at the end of a line.
using Offers = std::set<std::string>;

class Completion : public ::testing::Test {
 protected:
  /// A script of its own in a folder with the files a.cu and b.json, and the folder tasks.
  void SetUp() override {
    for (const char* file : {"here/a.cu", "here/b.json"}) {
      std::filesystem::create_directories(folder_.file("here/tasks"));
      (void)folder_.write(file, "");
    }
  }
  std::string script_of(const std::string& shell, const std::string& file) {
    const auto printed = hone({"completion", shell});
    EXPECT_EQ(printed.status, 0) << printed.err;
    return folder_.write(file, printed.out);
  }
  Offers run_in(const std::vector<std::string>& command) {
    std::vector<std::string> all = {"/usr/bin/env", "-C", folder_.file("here"), "timeout", "60"};
    all.insert(all.end(), command.begin(), command.end());
    const auto run = run_process(all);
    EXPECT_EQ(run.err, "") << command.back();
    Offers offers;
    for (std::string line : lines_in(run.out)) {
      line = line.substr(0, line.find('\t'));  // fish writes what it means behind it
      while (line.ends_with("/")) line.pop_back();
      if (!line.empty()) offers.insert(line);
    }
    return offers;
  }
  /// `offer`: what the shell offers after a line.
  template <class Offer>
  void check(const Offer& offer) {
    EXPECT_EQ(offer("hone opt"), Offers{"optimize"});
    const auto names = commands();
    EXPECT_EQ(offer("hone "), Offers(names.begin(), names.end()));
    EXPECT_EQ(offer("hone help lead"), Offers{"leaderboard"});
    EXPECT_EQ(offer("hone optimize --bud"), Offers{"--budget"});
    EXPECT_EQ(offer("hone serve --lis"), Offers{"--listen"});
    EXPECT_EQ(offer("hone export --format c"), (Offers{"cu", "cupy"}));
    EXPECT_EQ(offer("hone optimize --sandbox "), (Offers{"best-effort", "off", "strict"}));
    EXPECT_EQ(offer("hone completion "), (Offers{"bash", "fish", "zsh"}));
    EXPECT_EQ(offer("hone optimize --profile b"), Offers{"b.json"});
    EXPECT_EQ(offer("hone optimize a"), Offers{"a.cu"});
    EXPECT_EQ(offer("hone bench "), Offers{"tasks"});
    EXPECT_EQ(offer("hone optimize --seed "), Offers{});
    EXPECT_EQ(offer("hone show "), Offers{});
  }
  /// Every command has its options, and no other.
  template <class Offer>
  void check_options(const Offer& offer) {
    for (const std::string& command : commands())
      EXPECT_EQ(offer("hone " + command + " --"), options_in(hone({"help", command}).out))
          << command;
  }
  static bool there(const std::string& shell) {
    return std::filesystem::exists("/usr/bin/" + shell) || std::filesystem::exists("/bin/" + shell);
  }

  TemporaryFolder folder_;
};

TEST_F(Completion, OfBash) {
  const std::string script = script_of("bash", "hone.bash");
  // As bash does it: the line is split at blanks and '='.
  const std::string program = R"SH(set -eu
source "$1"
complete -p hone | grep -q -- '-F _hone hone'
[[ $2 != *' ' ]] || open=1
read -ra COMP_WORDS <<<"${2//=/ = }"
[[ -z ${open:-} ]] || COMP_WORDS+=('')
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_hone
[[ ${#COMPREPLY[@]} == 0 ]] || printf '%s\n' "${COMPREPLY[@]}"
)SH";
  const auto offer = [&](const std::string& line) {
    return run_in({"bash", "--norc", "-c", program, "bash", script, line});
  };
  check(offer);
  EXPECT_EQ(offer("hone export --format=to"), Offers{"torch"});
  EXPECT_EQ(offer("hone export --format="), (Offers{"cu", "cupy", "hpp", "json", "plan", "torch"}));
  check_options(offer);
}

TEST_F(Completion, OfZsh) {
  if (!there("zsh")) GTEST_SKIP() << "zsh is not installed";
  (void)script_of("zsh", "_hone");
  const auto offer = [&](const std::string& line) {
    return run_in(
        {"zsh", "-f", HONE_SOURCE_DIR "/tests/e2e/completion.zsh", folder_.file(""), line});
  };
  check(offer);
  check_options(offer);
}

TEST_F(Completion, OfFish) {
  if (!there("fish")) GTEST_SKIP() << "fish is not installed";
  const std::string script = script_of("fish", "hone.fish");
  const auto offer = [&](const std::string& line) {
    return run_in(
        {"fish", "--no-config", "-c", "source $argv[1]; complete -C $argv[2]", script, line});
  };
  check(offer);
  check_options(offer);
}

}  // namespace
}  // namespace hone::testing
