// The command line as data, with commands below commands.
#include "engine/cli/usage.h"

#include <gtest/gtest.h>

#include "engine/cli/spelling.h"

namespace hone::cli {
namespace {

using Words = std::vector<std::string>;

TEST(Spelling, CountsLettersToChangeAddLeaveOutOrSwap) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("abc", ""), 3U);
  EXPECT_EQ(edit_distance("budget", "budget"), 0U);
  EXPECT_EQ(edit_distance("bugdet", "budget"), 1U);  // swapped
  EXPECT_EQ(edit_distance("budge", "budget"), 1U);
  EXPECT_EQ(edit_distance("bbudget", "budget"), 1U);
  EXPECT_EQ(edit_distance("bodget", "budget"), 1U);
  EXPECT_EQ(edit_distance("ab", "ba"), 1U);
  EXPECT_EQ(edit_distance("ca", "abc"), 3U);  // what was swapped is not edited again
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
}

TEST(Spelling, SuggestsOnlyWhatIsAlike) {
  const Words names = {"optimize", "show", "serve", "jobs", "leaderboard"};
  EXPECT_EQ(nearest("optimise", names), "optimize");
  EXPECT_EQ(nearest("shwo", names), "show");
  EXPECT_EQ(nearest("lea", names), "leaderboard");  // its beginning
  EXPECT_EQ(nearest("le", names), "");
  EXPECT_EQ(nearest("x", names), "");
  EXPECT_EQ(nearest("js", names), "");  // two letters of four are missing
  EXPECT_EQ(nearest("quantum", names), "");
}

class Usage : public ::testing::Test {
 protected:
  void SetUp() override {
    CLI::App* show = app_.add_subcommand("show", "Show one; or: two");
    show->add_option("ID", id_, "Which")->required();
    show->add_option("-o,--output", file_, "Where to")->type_name("FILE")->capture_default_str();
    show->add_flag("-v", verbose_, "Say more");
    show->add_option("--level", level_, "How much")->type_name("N")->check(CLI::Range(1, 9));
    show->add_option("--format", format_, "What as")
        ->type_name("WHAT")
        ->check(CLI::IsMember({"one", "other"}));
    show->add_option("--at", address_, "Address")
        ->type_name("HOST:PORT")
        ->check(CLI::Validator([](const std::string&) { return std::string(); }, "ADDRESS"));
    CLI::App* db = app_.add_subcommand("db", "Databases");
    db->require_subcommand(1);
    db->add_subcommand("backup", "Copy it")->add_option("FILE", file_, "To")->required();
    db->add_subcommand("check", "Look at it");
  }
  std::string mistake(const Words& words) { return mistake_in(usage_of(app_), words); }

  CLI::App app_{"Test"};
  std::string id_, file_ = "-", format_, address_;
  int level_ = 3;
  bool verbose_ = false;
};

TEST_F(Usage, IsReadFromWhatWasRegistered) {
  const CommandUsage root = usage_of(app_);
  const CommandUsage* show = root.find("show");
  ASSERT_NE(show, nullptr);
  EXPECT_EQ(show->synopsis(), "hone show [OPTIONS] ID");
  const OptionUsage* output = show->option("-o");
  ASSERT_NE(output, nullptr);
  EXPECT_EQ(output->names, (Words{"--output", "-o"}));
  EXPECT_EQ(output->value, "FILE");
  EXPECT_EQ(notes_on(*output), "default: -");
  EXPECT_EQ(notes_on(*show->option("--level")), "1 to 9");
  EXPECT_EQ(notes_on(*show->option("--format")), "one of one, other");
  EXPECT_EQ(show->option("--at")->value, "HOST:PORT");
  EXPECT_TRUE(show->option("-v")->is_flag());
  const auto all = all_commands(root);
  ASSERT_EQ(all.size(), 5U);
  EXPECT_EQ(all[3]->title(), "hone db backup");
  EXPECT_EQ(all[3]->last_name(), "backup");
}

TEST_F(Usage, NamesMistakesInTheirOrder) {
  for (const Words& good :
       {Words{"show", "3f"}, Words{"show", "3f", "-vo", "x"}, Words{"show", "3f", "-ox"},
        Words{"show", "--level=4", "3f"}, Words{"show", "--level", "-1", "3f"},
        Words{"show", "--", "--levle"}, Words{"db", "backup", "x"}, Words{"db", "check"},
        Words{"--help"}, Words{"shwo", "--help"}})
    EXPECT_EQ(mistake(good), "") << good.back();
  EXPECT_EQ(
      mistake({"show", "--levle", "4", "3f", "more"}),
      "'show' has no option --levle; did you mean --level? `hone help show` lists its options");
  EXPECT_EQ(mistake({"show", "3f", "--output"}),
            "--output needs a value, FILE; `hone help show` says which");
  EXPECT_EQ(mistake({"db"}), "a command is missing; `hone help db` lists them");
  EXPECT_EQ(mistake({"db", "chekc"}),
            "there is no command 'db chekc'; did you mean 'check'? `hone help db` lists them");
  EXPECT_EQ(mistake({"db", "backup"}), "FILE is missing; usage: hone db backup FILE");
  EXPECT_EQ(mistake({"db", "check", "x"}), "'x' is one argument too many; usage: hone db check");
}

TEST_F(Usage, GoesIntoHelpManPageAndCompletionsWithCommandsBelowCommands) {
  const CommandUsage root = usage_of(app_);
  EXPECT_EQ(help_text(*root.find("db"), 80),
            "Databases\n\nUsage: hone db COMMAND [OPTIONS] [ARGUMENTS]\n\nCommands:\n"
            "  backup                    Copy it\n  check                     Look at it\n"
            "\nOptions:\n  -h, --help                Print this help message and exit\n");
  EXPECT_NE(man_page(root, "1").find(".SS \"hone db backup\"\n"), std::string::npos);
  EXPECT_NE(completion_script("bash", root).find("/db|/db/backup|/db/check"), std::string::npos);
  EXPECT_NE(completion_script("fish", root).find("'__hone_at \"/db\"' -a backup -d 'Copy it'"),
            std::string::npos);
  EXPECT_NE(completion_script("zsh", root).find("_hone_db_backup() {"), std::string::npos);
  EXPECT_EQ(completion_script("tcsh", root), "");
}

/// roff would obey a dot or an apostrophe at the beginning of a line.
TEST_F(Usage, PrintsWhatRoffWouldObey) {
  app_.add_subcommand("odd", ".so /etc/passwd \\n'x'");
  const std::string page = man_page(usage_of(app_), "1");
  EXPECT_NE(page.find("\n\\&.so /etc/passwd \\en\\(aqx\\(aq.\n"), std::string::npos) << page;
}

}  // namespace
}  // namespace hone::cli
