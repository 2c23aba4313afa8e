// Kernels that try to look right or fast without being so: each ends with the verdict that its
// first lines name. HONE_ATTACK_DEVICE=cuda:0 for a real GPU; HONE_SOURCE_DIR where the sources are
// elsewhere.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/e2e/process.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

std::string from_environment(const char* name, const char* otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? text : otherwise;
}

fs::path folder() {
  return fs::path(from_environment("HONE_SOURCE_DIR", HONE_SOURCE_DIR)) / "tests/attacks";
}

std::string device() { return from_environment("HONE_ATTACK_DEVICE", "emu:sm_90"); }

struct Attack {
  std::string name, task;
  std::vector<std::string> verdicts;  ///< one of these
};

void PrintTo(const Attack& attack, std::ostream* out) { *out << attack.name; }

std::vector<std::string> words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

std::vector<Attack> attacks() {
  std::vector<Attack> out;
  const bool gpu = device().starts_with("cuda");
  for (const auto& entry : fs::directory_iterator(folder())) {
    if (entry.path().extension() != ".cu") continue;
    Attack attack{entry.path().stem(), "", {}};
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line) && line.starts_with("// ");) {
      const auto value = [&](const std::string& key) {
        return line.starts_with("// " + key + ": ") ? line.substr(key.size() + 5) : "";
      };
      if (const auto task = value("task"); !task.empty()) attack.task = task;
      if (const auto verdict = value("verdict"); !verdict.empty()) attack.verdicts = words(verdict);
      if (const auto verdict = value("verdict on a GPU"); gpu && !verdict.empty())
        attack.verdicts = words(verdict);
    }
    out.push_back(std::move(attack));
  }
  std::ranges::sort(out, {}, &Attack::name);
  return out;
}

class Attacks : public ::testing::TestWithParam<Attack> {};

TEST_P(Attacks, EndInTheirVerdict) {
  const Attack& attack = GetParam();
  const testing::TemporaryFolder scratch;
  const auto result = testing::hone({"evaluate", folder() / "tasks" / (attack.task + ".cu"),
                                     folder() / (attack.name + ".cu"), "--device", device(), "--db",
                                     scratch.file("db"), "--json", "-"});
  const auto json = result.json();
  ASSERT_TRUE(json.is_object() && json.contains("verdict")) << result.err;
  const std::string verdict = json["verdict"], detail = json["detail"];
  fmt::print("{}: {}: {}\n", attack.name, verdict, detail);
  EXPECT_NE(std::ranges::find(attack.verdicts, verdict), attack.verdicts.end())
      << verdict << ": " << detail;
  EXPECT_EQ(result.status, verdict == "ok" ? 0 : 1);
  EXPECT_EQ(detail.find("root:"), std::string::npos) << detail;
  EXPECT_LT(result.err.size(), 10'000U);
  // What failed is not on the board.
  const auto board =
      testing::hone({"leaderboard", "--db", scratch.file("db"), "--json", "-"}).json();
  if (verdict != "ok")
    EXPECT_EQ(board.dump().find(std::string(json["candidate"])), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(All, Attacks, ::testing::ValuesIn(attacks()),
                         [](const auto& info) { return info.param.name; });

/// Tasks whose tolerance lets everything pass are refused, with the reason.
TEST(Admission, RefusesTasksThatCheckNothing) {
  const testing::TemporaryFolder scratch;
  const auto task = [&](const std::string& body, const std::string& more) {
    return scratch.write(
        "task.cu",
        "/* hone {\"name\": \"t\", \"sizes\": {\"N\": 4096}, \"check_sizes\": [{\"N\": 200}],\n"
        "\"buffers\": [{\"name\": \"x\", \"type\": \"f32\", \"shape\": [\"N\"]},"
        "{\"name\": \"y\", \"type\": \"f32\", \"shape\": [\"N\"], \"role\": \"out\"}],\n"
        "\"launches\": [{\"kernel\": \"k\", \"grid\": [\"ceildiv(N,256)\"], \"block\": [256], "
        "\"args\": "
        "[\"x\", \"y\", \"N\"]}]" +
            more + "} */\n__global__ void k(const float* x, float* y, int n) {\n" +
            "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) y[i] = " + body +
            ";\n}\n");
  };
  const std::string loose = ", \"tolerance\": {\"rtol\": 0.3, \"atol\": 10}";
  for (const auto& [body, more, reason] :
       std::vector<std::tuple<std::string, std::string, std::string>>{
           {"x[i]", loose, "zeros would pass"},
           {"0.001f * x[i] + 1000", ", \"tolerance\": {\"rtol\": 1e-5}", "their mean"},
           {"1.000001f * x[i]", "", "a copy of 'x'"},
           {"3", "", "their mean"}}) {
    const auto result = testing::hone({"optimize", task(body, more), "--device", "emu:sm_90",
                                       "--budget", "1", "--db", scratch.file("db")});
    EXPECT_EQ(result.status, 1) << body << result.out;
    EXPECT_NE(result.err.find(reason), std::string::npos) << body << ": " << result.err;
  }
  // A copy is what a copying task wants.
  const auto copy = testing::hone({"optimize", task("x[i]", ""), "--device", "emu:sm_90",
                                   "--budget", "1", "--db", scratch.file("db")});
  EXPECT_EQ(copy.status, 0) << copy.err;
}

/// A reference that is inexact does not throw out a candidate that is right.
TEST(Tolerance, TheMoreAccurateCandidateIsNotRejected) {
  const testing::TemporaryFolder scratch;
  const std::string head =
      "/* hone {\"name\": \"sum\", \"sizes\": {\"N\": 20000}, \"check_sizes\": [{\"N\": 20000}],\n"
      "\"buffers\": [{\"name\": \"x\", \"type\": \"f32\", \"shape\": [\"N\"], \"fill\": "
      "{\"uniform\": [0, "
      "1]}}, {\"name\": \"y\", \"type\": \"f32\", \"shape\": [1], \"role\": \"out\"}],\n"
      "\"launches\": [{\"kernel\": \"sum\", \"grid\": [1], \"block\": [1], \"args\": [\"x\", "
      "\"y\", \"N\"]}],\n"
      "\"tolerance\": {\"rtol\": 2e-7, \"atol\": 0}} */\n";
  const std::string kernel =
      "__global__ void sum(const float* x, float* y, int n) {\n  float s = 0;\n"
      "  for (int i = 0; i < n; ++i) s += x[i];\n  y[0] = s;\n}\n";
  const std::string exact =
      "__global__ void sum(const float* x, float* y, int n) {\n  double s = 0;\n"
      "  for (int i = 0; i < n; ++i) s += x[i];\n  y[0] = (float)s;\n}\n";
  const auto result = testing::hone({"evaluate", scratch.write("task.cu", head + kernel),
                                     scratch.write("exact.cu", exact), "--device", "emu:sm_90",
                                     "--db", scratch.file("db"), "--json", "-"});
  EXPECT_EQ(result.status, 0) << result.err << result.out;
}

}  // namespace
}  // namespace hone
