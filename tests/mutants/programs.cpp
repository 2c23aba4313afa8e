#include "tests/mutants/programs.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "candidates/task_reader.h"
#include "candidates/variant.h"
#include "rewriters/core/registry.h"
#include "rewriters/syntax/parse.h"

namespace hone::mutants {
namespace {

const std::string kBaselines = std::string(HONE_SOURCE_DIR) + "/baselines/";
const std::string kPrograms = std::string(HONE_SOURCE_DIR) + "/tests/mutants/programs/";

/// The program as a variant for `hone evaluate`: its launches and its scratch buffers, then source.
std::string as_variant(const Program& program, const Task& task, const Recipe& recipe) {
  const nlohmann::json all = program;
  nlohmann::json variant;
  variant["launches"] = all.at("launches");
  for (const auto& buffer : all.at("buffers")) {
    if (task.reference.find_buffer(buffer.at("name").get<std::string>()) == nullptr)
      variant["buffers"].push_back(buffer);
  }
  std::string source = program.source;
  if (const auto comment = find_task_comment(source))
    source.erase(comment->comment_begin, comment->comment_end - comment->comment_begin);
  std::string text = "/* hone\n" + variant.dump(1) + "\n*/\n";
  for (const Step& step : recipe) text += "// " + to_string(step) + "\n";
  source.erase(0, std::min(source.find_first_not_of(" \n"), source.size()));
  return text + "\n" + syntax::formatted(source);
}

Result<void> write_variant(const std::string& name, const Task& task) {
  std::ifstream file(kPrograms + name + ".recipe.json");
  if (!file) return {};  // written by hand
  const auto recipe = recipe_from_json(nlohmann::json::parse(file));
  if (!recipe) return std::unexpected(recipe.error());
  const RewriteContext context{&task, task.check_sizes.back(), target_limits("sm_90")};
  const auto program = replay(task.reference, *recipe, context);
  if (!program) return std::unexpected(program.error());
  std::ofstream(kPrograms + name + ".cu") << as_variant(*program, task, *recipe);
  return {};
}

}  // namespace

std::vector<std::string> task_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kBaselines)) {
    const std::string name = entry.path().filename().string();
    // Which mutants are drawn hangs on the list of tasks, and those that are equivalent are known
    // by name: bf16's product stands for that of 8 bits.
    if (name == "matmul_fp8_e4m3") continue;
    if (std::filesystem::exists(entry.path() / (name + ".cu"))) names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

Result<Task> task_of(const std::string& name) {
  return read_task(kBaselines + name + "/" + name + ".cu");
}

Result<std::vector<RightProgram>> right_programs(const std::string& name, const Task& task) {
  if (std::getenv("HONE_UPDATE_GOLDEN") != nullptr) {
    if (auto written = write_variant(name, task); !written) return std::unexpected(written.error());
  }
  auto rewritten = read_variants(kPrograms + name + ".cu", task);
  if (!rewritten) return std::unexpected(rewritten.error());
  return std::vector<RightProgram>{{"reference", task.reference},
                                   {"rewritten", std::move(rewritten->front().program)}};
}

}  // namespace hone::mutants
