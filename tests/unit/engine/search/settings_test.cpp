// The table of a search's options, and that every door has all of them.
#include "engine/search/settings.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/cli/command.h"
#include "engine/web/search_fields.h"
#include "rewriters/core/registry.h"

namespace hone {
namespace {

TEST(SearchSettings, DefaultsAreAllowedAndNamesDiffer) {
  EXPECT_TRUE(check_settings(default_settings()));
  std::set<std::string_view> names;
  for (const SearchOption& option : search_options()) {
    EXPECT_TRUE(names.insert(option.name).second) << option.name;
    EXPECT_EQ(find_search_option(option.name), &option);
  }
  EXPECT_EQ(find_search_option("no-such"), nullptr);
}

TEST(SearchSettings, WhatIsOutOfRangeIsRefusedByItsName) {
  const auto refused = [](auto change, const std::string& why) {
    SearchSettings settings = default_settings();
    change(settings);
    const auto valid = check_settings(settings);
    ASSERT_FALSE(valid) << why;
    EXPECT_EQ(valid.error().code, ErrorCode::kInvalidInput);
    EXPECT_NE(valid.error().message.find(why), std::string::npos) << valid.error().message;
  };
  refused([](SearchSettings& s) { s.finalists = 0; }, "--finalists 0");
  refused([](SearchSettings& s) { s.finalists = 65; }, "from 1 to 64");
  refused([](SearchSettings& s) { s.strategy = "luck"; }, "'luck'");
  refused([](SearchSettings& s) { s.without = {"no-such"}; }, "--without no-such");
  refused([](SearchSettings& s) { s.only = {"no-such"}; }, "--only no-such");
}

TEST(SearchSettings, WhatMayNotProposeFollowsFromBothLists) {
  SearchSettings settings;
  EXPECT_TRUE(left_out(settings).empty());
  settings.without = {"unroll"};
  EXPECT_EQ(left_out(settings), std::vector<std::string>{"unroll"});
  settings.only = {"unroll", "tunables"};
  const std::vector<std::string> out = left_out(settings);
  EXPECT_EQ(out.size(), rewriters().size() - 1) << "all but 'tunables'";
  EXPECT_EQ(std::ranges::find(out, "tunables"), out.end());
}

class SearchCommandLine : public testing::Test {
 protected:
  SearchCommandLine() { arguments_.add_to(app_, "Each. "); }
  Result<SearchSettings> parse(const std::vector<std::string>& words) {
    std::vector<std::string> reversed(words.rbegin(), words.rend());
    app_.parse(reversed);
    return arguments_.settings();
  }
  CLI::App app_;
  cli::SearchArguments arguments_;
};

TEST_F(SearchCommandLine, HasEveryOption) {
  const std::string help = app_.help();
  for (const SearchOption& option : search_options()) {
    const bool off = std::holds_alternative<SwitchField>(option.field);
    const std::string flag = (off ? "--no-" : "--") + std::string(option.name);
    EXPECT_NE(app_.get_option_no_throw(flag), nullptr) << flag;
    if (!off) {
      EXPECT_NE(help.find(option.help.substr(0, 20)), std::string::npos) << help;
    }
  }
  EXPECT_NE(help.find("Each. How long"), std::string::npos) << help;
}

TEST_F(SearchCommandLine, GivesTheDefaultsWhereNothingIsSaid) {
  const auto settings = parse({});
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(*settings, default_settings());
}

TEST_F(SearchCommandLine, GivesWhatIsSaid) {
  const auto settings =
      parse({"--budget", "2m", "--seed", "9", "--strategy", "random", "--no-prescreen",
             "--finalists", "3", "--without", "tunables", "--only", "unroll,launch-shape"});
  ASSERT_TRUE(settings) << settings.error().message;
  SearchSettings expected;
  expected.budget.seconds = 120;
  expected.seed = 9;
  expected.strategy = "random";
  expected.finalists = 3;
  expected.without = {"tunables"};
  expected.only = {"unroll", "launch-shape"};
  expected.prescreen = false;
  EXPECT_EQ(*settings, expected);
}

TEST_F(SearchCommandLine, RefusesWhatIsOutOfRange) {
  EXPECT_THROW((void)parse({"--finalists", "65"}), CLI::ValidationError);
  const auto budget = parse({"--budget", "soon"});
  ASSERT_FALSE(budget);
  EXPECT_NE(budget.error().message.find("--budget 'soon'"), std::string::npos);
}

TEST(SearchFields, TheFormHasWhatTheTableSays) {
  web::Request request;
  request.form["budget"] = "5m";
  const std::string html = web::search_fields_html(request);
  EXPECT_NE(html.find(R"(name="budget")"), std::string::npos) << html;
  EXPECT_NE(html.find(R"(value="5m")"), std::string::npos) << html;
  EXPECT_EQ(html.find(R"(name="seed")"), std::string::npos) << html;
  SearchSettings settings = default_settings();
  ASSERT_TRUE(web::set_from_form(request, settings));
  EXPECT_EQ(settings.budget.seconds, 300);
}

}  // namespace
}  // namespace hone
