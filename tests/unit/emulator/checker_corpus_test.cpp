// Walks data/checkers: kernels that break exactly one rule are caught, their clean twins are not
// flagged. data/checkers/README.md says how a case is written.
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/unit/emulator/harness.h"

namespace hone::emulator {
namespace {

using Json = nlohmann::json;

struct Case {
  std::string file;  ///< without its ending
  Json json;
  [[nodiscard]] std::string kernel() const { return json.at("kernel"); }
  [[nodiscard]] bool clean() const { return json.at("verdict") == "ok"; }
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.file << "/" << c.json.value("name", "?");
}

std::vector<Case> corpus() {
  std::vector<Case> cases;
  const std::filesystem::path folder =
      std::string(HONE_SOURCE_DIR) + "/tests/unit/emulator/data/checkers";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".cu") continue;
    const std::string file = entry.path().stem();
    const std::string text = read_data("checkers/" + file + ".cu");
    const std::size_t begin = text.find("/* check {");
    const std::size_t end = text.find("*/");
    Json json;
    if (begin == 0 && end != std::string::npos)
      json = Json::parse(text.substr(9, end - 9), nullptr, false);
    if (!json.is_object() || !json.contains("cases")) {
      cases.push_back({file, Json{{"name", "Malformed"}, {"kernel", ""}, {"verdict", ""}}});
      continue;
    }
    for (auto& one : json["cases"]) cases.push_back({file, one});
  }
  std::stable_sort(cases.begin(), cases.end(),
                   [](const Case& a, const Case& b) { return a.file < b.file; });
  return cases;
}

std::array<std::uint32_t, 3> dimensions(const Json& json, const char* key, std::uint32_t first) {
  std::array<std::uint32_t, 3> d{first, first != 0, first != 0};
  if (!json.contains(key)) return d;
  for (std::size_t i = 0; i < json[key].size() && i < 3; ++i) d[i] = json[key][i];
  return d;
}

template <class T>
void input(Launch& launch, const Json& arg) {
  std::vector<T> data(arg.at("count").get<std::size_t>());
  for (std::size_t i = 0; i < data.size(); ++i)
    data[i] = arg.contains("value") ? arg["value"].get<T>() : static_cast<T>(i);
  launch.in(arg.at("in"), data);
}

void add_argument(Launch& launch, const Json& arg) {
  if (arg.contains("out")) {
    launch.out(arg["out"], arg.at("bytes"));
  } else if (arg.contains("in")) {
    const std::string type = arg.value("type", "i32");
    if (type == "f32")
      input<float>(launch, arg);
    else if (type == "u8")
      input<std::uint8_t>(launch, arg);
    else
      input<std::int32_t>(launch, arg);
  } else if (arg.contains("i32")) {
    launch.value(arg["i32"].get<std::int32_t>());
  } else if (arg.contains("u32")) {
    launch.value(arg["u32"].get<std::uint32_t>());
  } else if (arg.contains("f32")) {
    launch.value(arg["f32"].get<float>());
  } else if (arg.contains("u64")) {
    launch.value(arg["u64"].get<std::uint64_t>());
  } else {
    ADD_FAILURE() << "unknown argument " << arg;
  }
}

RunOptions options_of(const Case& c) {
  RunOptions options;
  const Json asked = c.json.value("options", Json::object());
  for (const auto& [name, value] : asked.items()) {
    if (name == "max_warp_instructions")
      options.max_warp_instructions = value;
    else
      ADD_FAILURE() << "unknown option " << name;
  }
  return options;
}

RunReport run(const Case& c, const RunOptions& options, std::string* contents = nullptr) {
  Launch launch(c.kernel(), dimensions(c.json, "grid", 1), dimensions(c.json, "block", 32));
  launch.shared(c.json.value("shared", 0U));
  for (const Json& arg : c.json.value("args", Json::array())) add_argument(launch, arg);
  RunReport report = launch.run(kernels("checkers/" + c.file + ".ptx"), options);
  if (contents) *contents = launch.contents();
  return report;
}

/// The number, from 1, of the first line with `text` after the kernel's name, or after what the
/// case says.
std::uint32_t line_of(const Case& c, const std::string& text) {
  std::istringstream in(read_data("checkers/" + c.file + ".cu"));
  const std::string after = c.json.value("after", " " + c.kernel() + "(");
  std::string line;
  bool comment = true;  // the cases
  bool on = false;
  for (std::uint32_t n = 1; std::getline(in, line); ++n) {
    on = on || (!comment && line.find(after) != std::string::npos);
    if (line.starts_with("]} */")) comment = false;
    if (on && line.find(text) != std::string::npos) return n;
  }
  ADD_FAILURE() << "no line with " << text;
  return 0;
}

/// What a case that lacks them would have to say.
std::string where(const Case& c, const Finding& f) {
  std::istringstream in(read_data("checkers/" + c.file + ".cu"));
  std::string line;
  for (std::uint32_t n = 0; n < f.place.line; ++n) std::getline(in, line);
  return Json{{"file", c.file},      {"name", c.json["name"]}, {"line", line},
              {"in_block", f.block}, {"thread", f.thread},     {"instruction", f.place.instruction}}
      .dump();
}

/// The line, the block and the thread that the case names.
void check_place(const Case& c, const Finding& f) {
  ASSERT_TRUE(c.json.contains("line")) << where(c, f);
  EXPECT_EQ(f.place.line, line_of(c, c.json["line"])) << where(c, f);
  if (c.json.contains("call_line")) {
    Case caller = c;
    caller.json.erase("after");
    EXPECT_EQ(f.place.call_line, line_of(caller, c.json["call_line"]));
  }
  if (!f.has_thread) return;
  ASSERT_TRUE(c.json.contains("thread")) << where(c, f);
  EXPECT_EQ(f.thread, dimensions(c.json, "thread", 0)) << where(c, f);
  const auto block = c.json.contains("in_block") ? c.json["in_block"] : Json{0, 0, 0};
  EXPECT_EQ(Json(f.block), block) << where(c, f);
}

/// The kind, and that the place is the statement at that line of the PTX, and a line of the source.
void check_finding(const Case& c, const Finding& f) {
  EXPECT_EQ(to_string(f.kind), c.json.value("kind", "")) << f.what;
  EXPECT_EQ(f.kernel, c.kernel());
  std::istringstream in(read_data("checkers/" + c.file + ".ptx"));
  std::string line;
  for (std::uint32_t n = 0; n < f.place.ptx_line; ++n) std::getline(in, line);
  EXPECT_FALSE(f.place.instruction.empty());
  const std::string word = f.place.instruction.substr(0, f.place.instruction.find(' '));
  EXPECT_NE(line.find(word), std::string::npos) << f.place.instruction << " is not " << line;
  EXPECT_EQ(f.place.instruction.back(), ';');
  EXPECT_EQ(f.place.file, c.file + ".cu");
  EXPECT_GT(f.place.line, 0U);
  if (c.json.contains("instruction")) {
    EXPECT_NE(f.place.instruction.find(c.json["instruction"]), std::string::npos)
        << f.place.instruction;
  }
}

class CheckerCorpus : public ::testing::TestWithParam<Case> {};

TEST_P(CheckerCorpus, Judges) {
  const Case& c = GetParam();
  const RunReport report = run(c, options_of(c));
  EXPECT_EQ(to_string(report.verdict), c.json.at("verdict").get<std::string>()) << report.detail;
  for (const std::string word : c.json.value("words", Json::array()))
    EXPECT_NE(report.detail.find(word), std::string::npos)
        << "no '" << word << "' in: " << report.detail;
  if (c.clean()) {
    EXPECT_TRUE(report.findings.empty());
  } else if (report.verdict != Verdict::kLaunchError) {
    ASSERT_EQ(report.findings.size(), 1U);
    check_finding(c, report.findings[0]);
    check_place(c, report.findings[0]);
  }
}

TEST_P(CheckerCorpus, JudgesTheSameWhenAllFindingsAreWanted) {
  const Case& c = GetParam();
  RunOptions options = options_of(c);
  options.max_findings = 20;
  const RunReport report = run(c, options);
  EXPECT_EQ(report.verdict == Verdict::kOk, c.clean()) << report.detail;
  if (c.clean()) {
    EXPECT_TRUE(report.findings.empty());
    return;
  }
  if (report.verdict == Verdict::kLaunchError) return;
  ASSERT_FALSE(report.findings.empty());
  check_finding(c, report.findings[0]);
  if (c.json.contains("other_line"))
    EXPECT_EQ(report.findings[0].other_place.line, line_of(c, c.json["other_line"]))
        << report.findings[0].other;
  std::set<std::pair<FindingKind, std::uint32_t>> places;
  for (const Finding& f : report.findings)
    EXPECT_TRUE(places.insert({f.kind, f.place.ptx_line}).second) << "twice: " << text_of(f);
}

// Every case again as one of 24 blocks: most then have something for several threads to do.
TEST_P(CheckerCorpus, JudgesTheSameWithAnyNumberOfThreads) {
  Case c = GetParam();
  for (const bool many : {false, true}) {
    if (many) c.json["grid"] = {24, 1, 1};
    for (const int limit : {1, 20}) {
      RunOptions options = options_of(c);
      options.counters = false;
      options.max_findings = limit;
      options.threads_after = 0;
      std::string want;
      const std::string report = everything(run(c, options, &want));
      for (const int threads : {2, 4}) {
        options.threads = threads;
        std::string got;
        EXPECT_EQ(everything(run(c, options, &got)), report) << threads;
        EXPECT_TRUE(got == want) << threads;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Data, CheckerCorpus, ::testing::ValuesIn(corpus()), [](const auto& info) {
  return info.param.file + "_" + info.param.json.value("name", "Bad");
});

TEST(CheckerCorpusFiles, HoldBothKinds) {
  std::map<std::string, std::pair<int, int>> count;
  for (const Case& c : corpus()) ++(c.clean() ? count[c.file].second : count[c.file].first);
  EXPECT_GE(count.size(), 3U);
  for (const auto& [file, n] : count) {
    EXPECT_GE(n.first, 1) << file << " breaks nothing";
    EXPECT_GE(n.second, 1) << file << " has no clean twin";
  }
}

}  // namespace
}  // namespace hone::emulator
