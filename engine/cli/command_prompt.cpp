// hone prompt: what a language model would be sent, at no cost.
#include <fmt/core.h>

#include "candidates/task_reader.h"
#include "engine/cli/command.h"
#include "engine/cli/llm_options.h"
#include "engine/llm/llm_source.h"
#include "engine/search/requests/requests.h"

namespace hone::cli {
namespace prompt_command {
namespace {

struct Options {
  Common common;
  DeviceOptions device;
  DatabaseOptions database;
  std::string task;
  std::string mode = "whole";
  std::uint64_t seed = 1;
  bool known = false;
};

/// What the database knows of the task on this device, as in the midst of a search.
void recall(const Options& options, const Task& task, const DeviceInfo& info,
            llm::LlmSource& source) {
  const auto store = options.database.open_existing();
  if (!store) return;
  BoardFilter filter;
  filter.task = task.hash();
  filter.limit = 64;
  const auto boards = (*store)->boards(filter);
  if (!boards) return;
  for (const Board& board : *boards) {
    if (board.device_name != info.name) continue;
    for (const BoardRow& row : board.rows) {
      if (!row.candidate.recipe.empty()) source.learn(row.candidate.recipe, row.evaluation);
    }
  }
}

int run(const Options& options) {
  const Common& common = options.common;
  const auto mode = llm::parse_mode(options.mode);
  if (!mode) {
    return common.fail({ErrorCode::kInvalidInput,
                        fmt::format("--mode {}: there are {}", options.mode, llm::kModeNames)});
  }
  const auto task = read_task(options.task);
  if (!task) return common.fail(task.error());
  auto device = open_device(options.device, *task, MissingLayers::kUntold);
  if (!device) return common.fail(device.error());
  const DeviceInfo& info = device->evaluator->info();
  auto builder = RequestBuilder::make(*device->rewriting, *task, target_limits(info.arch), {});
  if (!builder) return common.fail(builder.error());
  auto request = (*builder)->for_program(task->reference, options.seed);
  if (!request) return common.fail(request.error());
  const auto admitted = device->evaluator->admit(*request);
  if (!admitted) return common.fail(admitted.error());
  llm::Settings settings;
  settings.url = "http://127.0.0.1/v1";  // nobody is asked
  settings.model = "none";
  llm::Meter meter(settings);
  auto client = llm::Client::make(settings, {}, meter);
  if (!client) return common.fail(client.error());
  llm::SourceOptions source_options;
  source_options.seed = options.seed;
  source_options.in_order = true;
  llm::LlmSource source(*task, (*builder)->space(), **client, meter, source_options, info.arch,
                        info.name, llm::tried_reference(*admitted, device->spec.modelled()));
  if (options.known) recall(options, *task, info, source);
  const auto prompt = source.prompt(*mode);
  if (!prompt) return common.fail(prompt.error());
  nlohmann::json messages = nlohmann::json::array();
  for (const auto& message : prompt->messages) {
    messages.push_back({{"role", message.role}, {"text", message.text}});
    if (!common.json_on_stdout()) fmt::print("--- {}\n{}\n", message.role, message.text);
  }
  if (!common.json_on_stdout()) {
    if (prompt->schema) fmt::print("--- schema of the reply\n{}\n", prompt->schema->dump(2));
    fmt::print(stderr, "{}: at most {} tokens\n", prompt->version, prompt->tokens_at_most);
  }
  return common.write_json({{"task", task->name},
                            {"mode", options.mode},
                            {"version", prompt->version},
                            {"messages", messages},
                            {"schema", prompt->schema ? *prompt->schema : nlohmann::json(nullptr)},
                            {"tokens_at_most", prompt->tokens_at_most}})
             ? kDone
             : kEnvironmentLacks;
}

}  // namespace
}  // namespace prompt_command

Registration add_prompt(CLI::App& root) {
  using namespace prompt_command;
  auto options = std::make_shared<Options>();
  CLI::App* app = root.add_subcommand(
      "prompt", "Print what a language model would be sent for a task; nobody is asked");
  add_task_argument(*app, options->task);
  app->add_option(
         "--mode", options->mode,
         "What the model is asked for: whole (a program), diff (edits), steps (of the rules)")
      ->type_name("MODE")
      ->capture_default_str();
  options->device.add_to(*app);
  options->database.add_to(*app);
  app->add_option("--seed", options->seed, "Chooses the examples, as a search with this seed does")
      ->type_name("N")
      ->capture_default_str();
  app->add_flag(
      "--known", options->known,
      "Print what would be sent in the middle of a search, with what the database knows of "
      "the task on this device; default: at its beginning");
  add_json_option(*app, options->common);
  return {app, [options] { return run(*options); }};
}

}  // namespace hone::cli
