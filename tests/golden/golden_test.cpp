// Before/after texts of every rule, and the cases where it must not fire.
//
// tests/golden/<rule>/<case>.cu            a task
//                    /<case>.step.json     {"site": …, "params": {…}}: one of the rule's proposals
//                    /<case>.expected.cu   what the step makes of it; HONE_UPDATE_GOLDEN=1 rewrites
//                    /<case>.nothing.json   a step that would leave <case>.cu as it is: it is
//                    neither
//                                          offered nor applied
//                    /<case>.refuse.cu     a task for which the rule must propose nothing; the
//                                          first line says why
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "candidates/task_reader.h"
#include "rewriters/core/hand_edit.h"
#include "rewriters/core/registry.h"
#include "rewriters/llm/model_steps.h"
#include "rewriters/schedules/generator.h"
#include "rewriters/syntax/parse.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<fs::path> cases(const std::string& suffix) {
  std::vector<fs::path> found;
  const fs::path root = fs::path(HONE_SOURCE_DIR) / "tests/golden";
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (entry.is_regular_file() && entry.path().filename().string().ends_with(suffix)) {
      found.push_back(entry.path());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string test_name(const testing::TestParamInfo<fs::path>& info) {
  std::string name =
      info.param.parent_path().filename().string() + "_" + info.param.stem().stem().string();
  for (char& c : name) {
    if (!isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return name;
}

std::string joined(const std::vector<Expr>& entries) {
  std::string text;
  for (const Expr& entry : entries) text += (text.empty() ? "" : ", ") + entry.text();
  return text;
}

/// The parts of a program that a rule may change, as text: launches, defines, scratch, source.
std::string rendered(const Program& program, const Program& reference) {
  std::string text;
  for (const Launch& launch : program.launches) {
    text += fmt::format("// launch {} grid=({}) block=({})", launch.kernel, joined(launch.grid),
                        joined(launch.block));
    if (launch.shared_bytes.text() != "0") text += " shared=" + launch.shared_bytes.text();
    std::string args;
    for (const Argument& argument : launch.args) {
      args += args.empty() ? "" : ", ";
      args += argument.kind == Argument::Kind::kBuffer ? argument.buffer
              : argument.kind == Argument::Kind::kExpr ? argument.expr.text()
                                                       : fmt::format("{}", argument.number);
    }
    text += fmt::format(" args=({})\n", args);
  }
  for (const auto& [name, value] : program.defines) {
    text += fmt::format("// define {}={}\n", name, value);
  }
  for (const Buffer& buffer : program.buffers) {
    if (reference.find_buffer(buffer.name) != nullptr) continue;
    text += fmt::format("// {} {} {}[{}]\n", to_string(buffer.role), to_string(buffer.type),
                        buffer.name, joined(buffer.shape));
  }
  std::string source = program.source;
  if (const auto comment = find_task_comment(source)) {
    source.erase(comment->comment_begin, comment->comment_end - comment->comment_begin);
  }
  source.erase(0, std::min(source.find_first_not_of(" \n"), source.size()));
  return text + syntax::formatted(source);
}

RewriteContext context_of(const Task& task, const Bindings& sizes) {
  return {&task, sizes, target_limits("sm_90")};
}

/// The rule's folder is its name.
const Rewriter* rule_of(const fs::path& path) {
  return find_rewriter(path.parent_path().filename().string());
}

bool offers(const Proposal& proposal, const Step& step) {
  if (proposal.site != step.site || proposal.parameters.size() != step.params.size()) return false;
  return std::all_of(proposal.parameters.begin(), proposal.parameters.end(), [&](const auto& p) {
    const auto value = step.params.find(p.name);
    return value != step.params.end() &&
           std::find(p.domain.begin(), p.domain.end(), value->second) != p.domain.end();
  });
}

/// As in a .step.json or .nothing.json.
Step read_step(const fs::path& path, const Rewriter& rule) {
  const auto json = nlohmann::json::parse(read_file(path));
  Step step;
  step.rewriter = rule.name();
  step.version = rule.version();
  step.site = json.at("site");
  for (const auto& [name, value] : json.at("params").items()) {
    if (value.is_number()) {
      step.params[name] = value.get<std::int64_t>();
    } else {
      step.params[name] = value.get<std::string>();
    }
  }
  return step;
}

class Golden : public testing::TestWithParam<fs::path> {};

TEST_P(Golden, StepGivesTheExpectedText) {
  const fs::path step_path = GetParam();
  const std::string stem = step_path.stem().stem().string();
  const fs::path task_path = step_path.parent_path() / (stem + ".cu");
  const fs::path expected_path = step_path.parent_path() / (stem + ".expected.cu");
  const Rewriter* rule = rule_of(step_path);
  ASSERT_NE(rule, nullptr) << "no rule is called " << step_path.parent_path().filename();
  const auto task = read_task(task_path);
  ASSERT_TRUE(task.has_value()) << task.error().message;

  const Step step = read_step(step_path, *rule);
  const RewriteContext context = context_of(*task, task->sizes);
  std::string offered;
  bool found = false;
  for (const Proposal& proposal : rule->propose(task->reference, context)) {
    offered += "\n  " + proposal.site;
    for (const Parameter& parameter : proposal.parameters) {
      offered += " " + parameter.name + "={";
      for (const auto& value : parameter.domain) offered += " " + to_string(value);
      offered += " }";
    }
    found |= offers(proposal, step);
  }
  EXPECT_TRUE(found) << "propose() does not offer this step; it offers:" << offered;

  const auto result = apply_step(task->reference, step, context);
  ASSERT_TRUE(result.has_value()) << result.error().message;
  const auto again = apply_step(task->reference, step, context);
  EXPECT_EQ(*result, *again) << "not deterministic";
  EXPECT_TRUE(syntax::parse(*result).has_value());
  for (const Bindings& sizes : task->check_sizes) {
    const auto small = apply_step(task->reference, step, context_of(*task, sizes));
    EXPECT_TRUE(small.has_value()) << "at check sizes: " << small.error().message;
  }

  const std::string text = rendered(*result, task->reference);
  if (std::getenv("HONE_UPDATE_GOLDEN") != nullptr) std::ofstream(expected_path) << text;
  EXPECT_EQ(text, read_file(expected_path));
}

class Nothing : public testing::TestWithParam<fs::path> {};

TEST_P(Nothing, IsNeitherOfferedNorApplied) {
  const std::string stem = GetParam().stem().stem().string();
  const Rewriter* rule = rule_of(GetParam());
  ASSERT_NE(rule, nullptr);
  const auto task = read_task(GetParam().parent_path() / (stem + ".cu"));
  ASSERT_TRUE(task.has_value()) << task.error().message;
  const Step step = read_step(GetParam(), *rule);
  const RewriteContext context = context_of(*task, task->sizes);
  bool other_choices = false;
  for (const Proposal& proposal : rule->propose(task->reference, context)) {
    EXPECT_FALSE(offers(proposal, step)) << proposal.description;
    other_choices |= proposal.site == step.site;
  }
  EXPECT_TRUE(other_choices) << "nothing is offered at this site whatever the parameters";
  const auto result = apply_step(task->reference, step, context);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kRefused);
  EXPECT_EQ(result.error().message, "the step changes nothing");
}

class Refusal : public testing::TestWithParam<fs::path> {};

TEST_P(Refusal, NothingIsProposed) {
  const Rewriter* rule = rule_of(GetParam());
  ASSERT_NE(rule, nullptr);
  EXPECT_TRUE(read_file(GetParam()).starts_with("// ")) << "the first line must say why";
  const auto task = read_task(GetParam());
  ASSERT_TRUE(task.has_value()) << task.error().message;
  const auto parsed = syntax::parse(task->reference);
  ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
  for (const Proposal& proposal : rule->propose(task->reference, context_of(*task, task->sizes))) {
    ADD_FAILURE() << "proposed at " << proposal.site << ": " << proposal.description;
  }
}

/// A rule without goldens or refusals is not done.
TEST(GoldenFolders, EveryRuleHasGoldensAndRefusals) {
  const fs::path root = fs::path(HONE_SOURCE_DIR) / "tests/golden";
  for (const Rewriter* rule : rewriters()) {
    const auto is_this = [&](const auto* generator) { return generator->name() == rule->name(); };
    if (std::ranges::any_of(schedules::generators(), is_this)) continue;  // see schedules_tests
    // They propose nothing; see rewriters_tests.
    if (is_model_step({.rewriter = std::string(rule->name())}) || rule->name() == kHandEdit)
      continue;
    int steps = 0, refusals = 0;
    const fs::path folder = root / std::string(rule->name());
    if (fs::exists(folder)) {
      for (const auto& entry : fs::directory_iterator(folder)) {
        steps += entry.path().string().ends_with(".step.json") ? 1 : 0;
        refusals += entry.path().string().ends_with(".refuse.cu") ? 1 : 0;
      }
    }
    EXPECT_GE(steps, 2) << rule->name();
    EXPECT_GE(refusals, 3) << rule->name();
  }
}

INSTANTIATE_TEST_SUITE_P(Rules, Golden, testing::ValuesIn(cases(".step.json")), test_name);
INSTANTIATE_TEST_SUITE_P(Rules, Nothing, testing::ValuesIn(cases(".nothing.json")), test_name);
INSTANTIATE_TEST_SUITE_P(Rules, Refusal, testing::ValuesIn(cases(".refuse.cu")), test_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Golden);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Refusal);

}  // namespace
}  // namespace hone
