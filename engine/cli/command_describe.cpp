// hone describe: a task as hone reads it, at its timed sizes; for scripts such as
// torch_baseline.py.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include "candidates/task_reader.h"
#include "engine/cli/command.h"

namespace hone::cli {
namespace describe_command {
namespace {

struct Options {
  Common common;
  std::string task;
};

int run(const Options& options) {
  const Common& common = options.common;
  const auto task = read_task(options.task);
  if (!task) return common.fail(task.error());
  const auto program = instantiate(task->reference, task->sizes);
  if (!program) return common.fail(program.error());
  if (!common.json_on_stdout()) {
    fmt::print("{}  {}  math {}\n", task->name, task->hash(), to_string(task->math));
    for (const ConcreteBuffer& buffer : program->buffers) {
      fmt::print("  {:<8} {:<5} [{}]  {}\n", to_string(buffer.role), to_string(buffer.type),
                 fmt::join(buffer.shape, ", "), buffer.name);
    }
    for (const ConcreteLaunch& launch : program->launches) {
      fmt::print("  {}<<<[{}], [{}]>>>\n", launch.kernel, fmt::join(launch.grid, ", "),
                 fmt::join(launch.block, ", "));
    }
    if (task->torch) fmt::print("  torch: {}\n", *task->torch);
  }
  nlohmann::json document = {
      {"task", task->name},
      {"task_hash", task->hash()},
      {"math", to_string(task->math)},
      {"tolerance", {{"rtol", task->tolerance.rtol}, {"atol", task->tolerance.atol}}},
      {"torch", nullptr}};
  if (task->torch) document["torch"] = *task->torch;
  document.update(nlohmann::json(*program));  // "source", "buffers", "launches"
  return common.write_json(document) ? kDone : kEnvironmentLacks;
}

}  // namespace
}  // namespace describe_command

Registration add_describe(CLI::App& root) {
  using namespace describe_command;
  auto options = std::make_shared<Options>();
  CLI::App* app =
      root.add_subcommand("describe", "Show how hone reads a task: its hash, buffers and launches");
  add_task_argument(*app, options->task);
  add_json_option(*app, options->common);
  return {app, [options] { return run(*options); }};
}

}  // namespace hone::cli
