// Kernels that try to look right or fast without being so, and honest ones: each ends with a
// verdict that its first lines name, is modelled as no faster than `speedup: at most` says, and
// within 1.5 times of what `H200 [us]` says that it took there. HONE_ATTACK_DEVICE=cuda:0 for a
// real GPU; HONE_SOURCE_DIR where the sources are elsewhere.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "candidates/verdict.h"
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
  double most_speedup = 0;            ///< modelled, where it is ok; 0: any
  double measured_us = 0;             ///< on an H200; 0: not known
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
    Attack attack{entry.path().stem(), "", {}, 0, 0};
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line) && line.starts_with("// ");) {
      const auto value = [&](const std::string& key) {
        return line.starts_with("// " + key + ": ") ? line.substr(key.size() + 5) : "";
      };
      if (const auto task = value("task"); !task.empty()) attack.task = task;
      if (const auto most = value("speedup"); most.starts_with("at most "))
        attack.most_speedup = std::stod(most.substr(8));
      if (const auto measured = value("H200 [us]"); !measured.empty())
        attack.measured_us = std::stod(measured);
      if (const auto verdict = value("verdict"); !verdict.empty()) attack.verdicts = words(verdict);
      if (const auto verdict = value("verdict on a GPU"); gpu && !verdict.empty())
        attack.verdicts = words(verdict);
    }
    out.push_back(std::move(attack));
  }
  std::ranges::sort(out, {}, &Attack::name);
  return out;
}

/// [s] For the checks of what must end in another verdict than a timeout, on however slow a
/// machine.
constexpr const char* kPatience = "300";

class Attacks : public ::testing::TestWithParam<Attack> {};

TEST_P(Attacks, EndInTheirVerdict) {
  const Attack& attack = GetParam();
  const testing::TemporaryFolder scratch;
  std::vector<std::string> command = {"evaluate",
                                      folder() / "tasks" / (attack.task + ".cu"),
                                      folder() / (attack.name + ".cu"),
                                      "--device",
                                      device(),
                                      "--db",
                                      scratch.file("db"),
                                      "--json",
                                      "-"};
  if (std::ranges::find(attack.verdicts, "timeout") == attack.verdicts.end())
    command.insert(command.end(), {"--check-timeout", kPatience});
  const auto result = testing::hone(command);
  const auto json = result.json();
  ASSERT_TRUE(json.is_object() && json.contains("verdict")) << result.err;
  const std::string verdict = json["verdict"], detail = json["detail"];
  fmt::print("{}: {}: {}\n", attack.name, verdict, detail);
  EXPECT_NE(std::ranges::find(attack.verdicts, verdict), attack.verdicts.end())
      << verdict << ": " << detail;
  EXPECT_EQ(result.status, verdict == "ok" ? 0 : 1);
  if (verdict == "ok") {
    const double speedup = json["speedup"], time_us = json["time_us"];
    fmt::print("{}: {:.1f} us, {:.2f}x\n", attack.name, time_us, speedup);
    const bool modelled = device().starts_with("emu");
    if (attack.most_speedup > 0 && modelled) EXPECT_LE(speedup, attack.most_speedup);
    if (attack.measured_us > 0 && modelled) {
      constexpr double kDrawn = 1.01;  // what it matters which blocks are drawn
      EXPECT_LT(time_us, kDrawn * 1.5 * attack.measured_us);
      EXPECT_GT(time_us * kDrawn, attack.measured_us / 1.5);
    }
  }
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

TEST(CheckTimeout, EndsChecksThatTakeLonger) {
  const testing::TemporaryFolder scratch;
  const auto within = [&](const char* seconds) {
    return testing::hone({"evaluate", folder() / "tasks/total.cu", folder() / "cost_one_lock.cu",
                          "--device", "emu:sm_90", "--check-timeout", seconds, "--db",
                          scratch.file("db"), "--json", "-"});
  };
  const auto ended = within("1").json();
  EXPECT_EQ(ended["verdict"], "timeout") << ended;
  EXPECT_EQ(ended["detail"], "the emulated check took more than 1 s");
  EXPECT_EQ(within("0").status, 2);
}

/// A program that somebody wrote is held to what its task allows, and boards say no more of it.
TEST(Levels, WhatNobodyVouchesForHasTheTasksLevel) {
  const testing::TemporaryFolder scratch;
  const auto text = [](const std::string& math, const std::string& body) {
    return "/* hone {\"name\": \"level_" + math +
           "\", \"sizes\": {\"N\": 4096}, \"check_sizes\": [{\"N\": 200}],\n"
           "\"buffers\": [{\"name\": \"x\", \"type\": \"f32\", \"shape\": [\"N\"]},"
           "{\"name\": \"y\", \"type\": \"f32\", \"shape\": [\"N\"], \"role\": \"out\"}],\n"
           "\"launches\": [{\"kernel\": \"k\", \"grid\": [\"ceildiv(N,256)\"], \"block\": [256], "
           "\"args\": [\"x\", \"y\", \"N\"]}], \"math\": \"" +
           math + "\", \"tolerance\": {\"rtol\": 1e-2, \"atol\": 1e-2}} */\n" +
           "#include <cuda_bf16.h>\n__global__ void k(const float* x, float* y, int n) {\n"
           "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) y[i] = " +
           body + ";\n}\n";
  };
  const std::string right = "3.0f * x[i] * x[i] + 1.0f", same = "x[i] * (3.0f * x[i]) + 1.0f",
                    half = "3.0f * __bfloat162float(__float2bfloat16(x[i] * x[i])) + 1.0f";
  const std::vector<std::string> levels = hone::math_level_names();
  for (std::size_t task = 0; task < levels.size(); ++task) {
    // As wrong as the level allows; where it allows nothing, not at all.
    const std::string body = levels[task] == "reduced" ? half
                             : levels[task] == "exact" ? right
                                                       : same;
    const std::string database = scratch.file(levels[task] + ".db");
    const auto result =
        testing::hone({"evaluate", scratch.write("task.cu", text(levels[task], right)),
                       scratch.write("variant.cu", text(levels[task], body + " + 0.0f")),
                       "--device", device(), "--db", database, "--json", "-"});
    ASSERT_EQ(result.status, 0) << levels[task] << result.err << result.out;
    const std::string id = result.json()["candidate"];
    for (std::size_t shown = 0; shown < levels.size(); ++shown) {
      const auto board =
          testing::hone({"leaderboard", "--db", database, "--math", levels[shown], "--json", "-"});
      EXPECT_EQ(board.out.find(id) != std::string::npos, shown >= task)
          << "a task of " << levels[task] << " on the board for " << levels[shown];
    }
  }
}

/// An export says of each step what it needs. Nobody takes its word for it.
TEST(Levels, AnExportThatClaimsMoreIsNotBelieved) {
  const testing::TemporaryFolder scratch;
  const fs::path baselines = folder().parent_path().parent_path() / "baselines";
  const std::string task = baselines / "layernorm" / "layernorm.cu",
                    found = scratch.file("found.db");
  const auto run = testing::hone({"optimize", task, "--device", "emu:sm_90", "--budget", "8",
                                  "--seed", "3", "--db", found, "--json", "-"});
  ASSERT_EQ(run.status, 0) << run.err;
  const std::string file = scratch.file("best.cu");
  ASSERT_EQ(testing::hone({"export", std::string(run.json()["best"]["candidate"]), "--format", "cu",
                           "--db", found, "-o", file})
                .status,
            0);
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  std::string forged = text.str();
  const std::string honest = "\"math\":\"reassociate\"", claimed = "\"math\":\"exact\"";
  ASSERT_NE(forged.find(honest), std::string::npos) << "the best has no step that reorders a sum";
  for (auto at = forged.find(honest); at != forged.npos; at = forged.find(honest))
    forged.replace(at, honest.size(), claimed);
  const std::string database = scratch.file("forged.db");
  const auto result = testing::hone({"evaluate", task, scratch.write("forged.cu", forged),
                                     "--device", "emu:sm_90", "--db", database, "--json", "-"});
  ASSERT_EQ(result.status, 0) << result.err << result.out;
  const std::string id = result.json()["candidate"];
  const auto board = [&](const char* level) {
    return testing::hone({"leaderboard", "--db", database, "--math", level, "--json", "-"}).out;
  };
  EXPECT_EQ(board("exact").find(id), std::string::npos);
  EXPECT_NE(board("reassociate").find(id), std::string::npos);
}

/// Steps that rules call exact give the reference's bits: under math 'exact' none of them is wrong.
TEST(Levels, RulesThatSayExactAre) {
  const testing::TemporaryFolder scratch;
  for (const char* name : {"matmul", "conv3x3", "layernorm"}) {
    const fs::path path =
        folder().parent_path().parent_path() / "baselines" / name / (std::string(name) + ".cu");
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    std::string task = text.str();
    const std::string level = "\"math\": \"reassociate\"";
    ASSERT_NE(task.find(level), task.npos);
    task.replace(task.find(level), level.size(), "\"math\": \"exact\"");
    const auto run = testing::hone({"optimize", scratch.write("task.cu", task), "--device",
                                    "emu:sm_90", "--budget", "20", "--seed", "3", "--db",
                                    scratch.file(std::string(name) + ".db"), "--json", "-"});
    ASSERT_EQ(run.status, 0) << name << run.err;
    const auto json = run.json();
    EXPECT_EQ(json["counts"]["wrong_result"], 0) << json.dump();
    EXPECT_EQ(json["best"]["math"], "exact") << json["best"].dump();
  }
}

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
