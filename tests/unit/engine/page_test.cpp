// HTML and charts: what a stranger wrote stays text, and numbers land where they belong.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <regex>
#include <sstream>

#include "engine/page/charts.h"
#include "engine/page/html.h"
#include "engine/page/pieces.h"
#include "engine/page/run_charts.h"

namespace hone::page {
namespace {

TEST(Html, EscapesWhatHasAMeaning) {
  EXPECT_EQ(escape("<b a=\"1\" c='2'>&amp;"), "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;amp;");
  EXPECT_EQ(escape("\u00fc \u6f22 \U0001f600\t\n"), "\u00fc \u6f22 \U0001f600\t\n");
}

TEST(Html, ReplacesWhatIsNoCharacter) {
  const std::string bad = "\xEF\xBF\xBD";
  using namespace std::string_view_literals;
  EXPECT_EQ(escape("a\0b"sv), "a" + bad + "b");
  EXPECT_EQ(escape("\x1b[31m"), bad + "[31m");
  EXPECT_EQ(escape("\xff"), bad);
  EXPECT_EQ(escape("\xc3"), bad);                                // cut off
  EXPECT_EQ(escape("\xc0\xbc"), bad + bad);                      // '<', overlong
  EXPECT_EQ(escape("\xed\xa0\x80"), bad + bad + bad);            // a surrogate
  EXPECT_EQ(escape("\xf4\x90\x80\x80"), bad + bad + bad + bad);  // above U+10FFFF
  EXPECT_EQ(escape("\xc3<"), bad + "&lt;");                      // does not swallow what follows
  EXPECT_EQ(escape("\xef\xbf\xbf"), bad);                        // U+FFFF
  EXPECT_EQ(escape("\xc2\x85"), bad);                            // a C1 control
}

TEST(Html, PartsOfUrls) {
  EXPECT_EQ(url_part("a-Z_0.~"), "a-Z_0.~");
  EXPECT_EQ(url_part("a/b?c=d&e f\xc3\xbc"), "a%2Fb%3Fc%3Dd%26e%20f%C3%BC");
}

TEST(Html, Prefixes) {
  EXPECT_EQ(with_prefix(4.7e12, "B/s"), "4.70 TB/s");
  EXPECT_EQ(with_prefix(66.9e12, "FLOP/s"), "66.9 TFLOP/s");
  EXPECT_EQ(with_prefix(989e12, "FLOP/s"), "989 TFLOP/s");
  EXPECT_EQ(with_prefix(999.7e12, "FLOP/s"), "1.00 PFLOP/s");
  EXPECT_EQ(with_prefix(0, "B/s"), "0.00 B/s");
  EXPECT_EQ(with_prefix(std::numeric_limits<double>::quiet_NaN(), "B/s"), "? B/s");
}

/// The numbers of an attribute of every element of one class.
std::vector<double> numbers(const std::string& svg, const std::string& of,
                            const std::string& name) {
  std::vector<double> out;
  const std::regex element("<[a-z]+ class=\"" + of + "\"[^>]* " + name + "=\"([-0-9.]+)\"");
  for (std::sregex_iterator it(svg.begin(), svg.end(), element), end; it != end; ++it)
    out.push_back(std::stod((*it)[1]));
  return out;
}

TEST(Charts, ProgressDrawsEveryPointAndTheBest) {
  const std::string svg = progress_svg(
      {{1, 1.0, false, "<a>"}, {3, 0.5, false, "b"}, {2, 4, false, ""}, {4, 3.9, true, "final"}});
  EXPECT_EQ(numbers(svg, "point", "cx").size(), 3U);
  const auto x = numbers(svg, "point", "cx"), y = numbers(svg, "point", "cy");
  EXPECT_LT(x[0], x[1]);  // by time
  EXPECT_LT(y[1], y[0]);  // faster is higher
  EXPECT_LT(y[0], y[2]);
  EXPECT_EQ(numbers(svg, "final", "cx").size(), 1U);
  EXPECT_NE(svg.find("&lt;a&gt;"), svg.npos);
  EXPECT_EQ(svg.find("<a>"), svg.npos);
  EXPECT_NE(svg.find("class=\"best\""), svg.npos);
}

TEST(Charts, ProgressOfNothingIsNothing) {
  EXPECT_EQ(progress_svg({}), "");
  EXPECT_EQ(
      progress_svg({{1, 0, false, ""}, {1, std::numeric_limits<double>::infinity(), false, ""}}),
      "");
  EXPECT_NE(progress_svg({{0, 1, false, ""}}), "");  // one point at the very start
}

TEST(Charts, APointOnTheRoofLiesOnIt) {
  // 1 TB/s and 10 TFLOP/s meet at 10 operations per byte. Half of that, at full bandwidth.
  const std::string svg = roofline_svg({{5e9, 1e9, 1000, "on the roof", true},
                                        {5e9, 1e9, 4000, "below", false},
                                        {100e9, 1e9, 10000, "flat", false}},
                                       1e12, 10e12);
  std::smatch roof;
  ASSERT_TRUE(std::regex_search(
      svg, roof, std::regex("class=\"roof\" d=\"M([-0-9.]+) ([-0-9.]+)L([-0-9.]+) ([-0-9.]+)H")));
  const double x1 = std::stod(roof[1]), y1 = std::stod(roof[2]), x2 = std::stod(roof[3]),
               y2 = std::stod(roof[4]);
  const double x = numbers(svg, "highlight", "cx").at(0), y = numbers(svg, "highlight", "cy").at(0);
  EXPECT_NEAR(y, y1 + (y2 - y1) * (x - x1) / (x2 - x1), 0.5);
  const auto others = numbers(svg, "point", "cy");
  EXPECT_GT(others.at(0), y + 10);     // below the roof is further down
  EXPECT_NEAR(others.at(1), y2, 0.5);  // compute-bound, at full rate
}

TEST(Charts, NoRoofWithoutCeilings) {
  EXPECT_EQ(roofline_svg({{1, 1, 1, "", false}}, 0, 1), "");
  EXPECT_EQ(roofline_svg({{0, 1, 1, "", false}}, 1, 1), "");
  EXPECT_EQ(roofline_svg({}, 1, 1), "");
}

TEST(Charts, BarsAreAsLongAsTheirCounts) {
  const std::string svg = bars_svg({{"ok", 100}, {"race", 50}, {"fault", 0}, {"<x>", 1}});
  const auto widths = numbers(svg, "bar", "width");
  ASSERT_EQ(widths.size(), 4U);
  EXPECT_NEAR(widths[1] * 2, widths[0], 0.2);
  EXPECT_EQ(widths[2], 0);
  EXPECT_GT(widths[3], 0);
  EXPECT_NE(svg.find("&lt;x&gt;"), svg.npos);
  EXPECT_EQ(bars_svg({{"ok", 0}}), "");
}

TEST(Pieces, ADiffEscapesAndCounts) {
  const std::string html = diff_html(results::side_by_side("a\nb<i>\n", "a\nc\n"), "<x>", "y");
  EXPECT_NE(html.find("1 of 2 lines differ"), html.npos) << html;
  EXPECT_NE(html.find("b&lt;i&gt;"), html.npos);
  EXPECT_NE(html.find("&lt;x&gt;"), html.npos);
  EXPECT_EQ(html.find("<i>"), html.npos);
}

/// `lines` lines; every `same`th is the same for every `of`.
std::string source(char of, int lines, int same) {
  std::string text;
  for (int i = 0; i < lines; ++i)
    text += i % same == 0 ? fmt::format("same {}\n", i) : fmt::format("{} {}\n", of, i);
  return text;
}

TEST(Pieces, ADiffIsFoldedWhereNearlyAllLinesDiffer) {
  const auto diff = [](int lines, int same, std::string_view why = "") {
    return diff_html(results::side_by_side(source('a', lines, same), source('b', lines, same)),
                     "reference", "b", why);
  };
  const std::string unlike = diff(60, 10, "It was <generated>.");
  EXPECT_NE(unlike.find("Nearly all lines differ (54 of 60)"), unlike.npos) << unlike;
  EXPECT_NE(unlike.find("It was &lt;generated&gt;."), unlike.npos);
  EXPECT_NE(unlike.find("<details><summary>"), unlike.npos);
  EXPECT_NE(unlike.find("</table></div></details>"), unlike.npos);
  EXPECT_EQ(diff(60, 2).find("<details"), std::string::npos);   // half of it is the same
  EXPECT_EQ(diff(12, 10).find("<details"), std::string::npos);  // fits a screen
}

TEST(Pieces, CellsOfCardsSayTheirColumn) {
  const Column columns[] = {{"Worker"}, {"<At once>", true}};
  const std::vector<std::vector<Cell>> rows = {{{"w"}, number_cell("3", 3)}};
  const std::string cards = table("Workers", columns, rows, {.cards = true});
  EXPECT_NE(cards.find("class=\"sortable cards\""), cards.npos);
  EXPECT_NE(cards.find("data-title=\"&lt;At once&gt;\">3</td>"), cards.npos) << cards;
  EXPECT_EQ(table("Workers", columns, rows).find("data-title"), std::string::npos);
}

TEST(Pieces, ALegendIsFoldedAndEscapes) {
  const Term terms[] = {{"a<b", "c&d"}};
  EXPECT_EQ(legend("What?", terms),
            "<details class=\"legend\"><summary>What?</summary><dl><dt>a&lt;b</dt><dd>c&amp;d</dd>"
            "</dl></details>");
}

TEST(RunCharts, DrawWhatTheOutlineHas) {
  RunRecord run;
  run.started_at = "2026-01-01T00:00:00Z";
  RunPoint point;
  point.verdict = Verdict::kOk;
  point.speedup = 7;
  point.candidate = "the-best";
  point.found_at = "2026-01-01T00:00:05Z";
  RunOutline outline;
  outline.progress = {point};
  point.final_stage = true;
  point.speedup = 1;
  point.candidate = "the-final";
  outline.finals = {point};
  point.verdict = Verdict::kRace;
  point.candidate = "the-race";
  outline.finals.push_back(point);
  outline.verdicts = {{Verdict::kOk, 4999}, {Verdict::kRace, 3}};
  const std::string svg = progress_of(run, outline);
  EXPECT_NE(svg.find("the-best: 7.00x"), svg.npos);
  EXPECT_NE(svg.find("the-final: 1.00x, final stage"), svg.npos);
  EXPECT_EQ(svg.find("the-race"), svg.npos);
  EXPECT_NE(population_of(outline).find("4999"), std::string::npos);
  EXPECT_EQ(progress_of(run, {}), "");
}

// The arrow: web uses page, page uses results.
TEST(Page, KnowsNoServer) {
  for (const char* room : {"engine/page", "engine/results"})
    for (const auto& entry :
         std::filesystem::directory_iterator(std::filesystem::path(HONE_SOURCE_DIR) / room)) {
      std::ifstream file(entry.path());
      std::stringstream text;
      text << file.rdbuf();
      EXPECT_EQ(text.str().find("#include \"engine/web/"), std::string::npos) << entry.path();
      if (std::string_view(room) == "engine/results") {
        EXPECT_EQ(text.str().find("#include \"engine/page/"), std::string::npos) << entry.path();
      }
    }
}

}  // namespace
}  // namespace hone::page
