#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <set>

#include "candidates/task_reader.h"
#include "engine/cli/command.h"
#include "engine/cli/watch_job.h"
#include "engine/queue/broker.h"
#include "engine/search/random.h"
#include "engine/search/strategy.h"
#include "rewriters/core/registry.h"

namespace hone::cli {
namespace {

struct Options {
  Common common;
  RedisOptions redis;
  std::string task;
  std::vector<std::string> archs;
  std::string budget = "60s";
  std::uint64_t seed = 1;
  std::string strategy = "evolve";
  int finalists = 5;
  int priority = 0;
  std::vector<std::string> disabled;
  bool prescreen = true;
  bool wait = false;
  std::string owner;
};

/// Sorts by time, and is nobody else's.
std::string new_job_id() {
  const auto now = std::chrono::duration_cast<std::chrono::seconds>(
                       std::chrono::system_clock::now().time_since_epoch())
                       .count();
  return fmt::format("{:x}-{:08x}", now, static_cast<std::uint32_t>(secret_bits()));
}

/// What the workers that are there can run.
Result<std::vector<std::string>> archs_there(queue::Broker& broker) {
  const auto workers = broker.workers();
  if (!workers) return std::unexpected(workers.error());
  std::set<std::string> gpus, models;
  for (const auto& worker : *workers)
    for (const auto& device : worker.devices)
      (device.modelled ? models : gpus).insert(device.modelled ? device.pool : device.info.arch);
  if (!gpus.empty()) return std::vector<std::string>(gpus.begin(), gpus.end());
  if (!models.empty())
    return invalid(
        fmt::format("no worker has a GPU; for an emulated one say --arch {}", *models.begin()));
  return invalid("no worker is there to tell the architecture: name it with --arch, such as sm_90");
}

/// "sm_90", or "emu:sm_90" with a profile or without.
bool is_arch(std::string_view text) {
  if (text.starts_with("emu:")) text.remove_prefix(4);
  const auto name = text.substr(0, text.find(':'));
  return name.starts_with("sm_") && name.size() > 4 && name.size() < 8 &&
         std::ranges::all_of(name.substr(3, 2), [](char c) { return c >= '0' && c <= '9'; });
}

Result<void> check_archs(const std::vector<std::string>& archs) {
  for (const std::string& arch : archs)
    if (!is_arch(arch))
      return invalid(fmt::format(
          "--arch {}: an architecture is called sm_90, an emulated one emu:sm_90", arch));
  return {};
}

/// A job may wait for workers that are still to come.
void warn_of_missing(queue::Broker& broker, const std::vector<std::string>& archs) {
  const auto workers = broker.workers();
  if (!workers) return;
  std::set<std::string> there;
  for (const auto& worker : *workers)
    for (const auto& device : worker.devices)
      there.insert(device.modelled ? device.pool : device.info.arch);
  for (const std::string& arch : archs)
    if (!there.contains(arch))
      fmt::print(stderr, "hone: no worker for {} is there now: the job waits for one\n", arch);
}

Result<Task> checked_task(const Options& options) {
  auto task = read_task(options.task);
  if (!task) return task;
  if (!task->input_files().empty())
    return invalid(fmt::format("{}: inputs from files cannot be submitted: {} stays here",
                               options.task, task->input_files().front()));
  if (auto valid = open_rewriting()->validate(task->reference, task->source_path);
      !valid && valid.error().code != ErrorCode::kRefused)
    return std::unexpected(valid.error());
  return task;
}

int run(const Options& options) {
  const Common& common = options.common;
  const auto budget = Budget::parse(options.budget);
  if (!budget) return common.fail(budget.error());
  if (find_strategy(options.strategy) == nullptr)
    return common.fail(
        {ErrorCode::kInvalidInput,
         fmt::format("--strategy {}: there is no such strategy; evolve and random are",
                     options.strategy)});
  for (const std::string& name : options.disabled)
    if (find_rewriter(name) == nullptr)
      return common.fail(
          {ErrorCode::kInvalidInput,
           fmt::format("--without {}: no such rewriter; `hone rules` lists them", name)});
  if (const auto known = check_archs(options.archs); !known) return common.fail(known.error());
  auto task = checked_task(options);
  if (!task) return common.fail(task.error());
  if (auto json = common.check_json(); !json) return common.fail(json.error());
  const auto broker = options.redis.open();
  if (!broker) return common.fail(broker.error());

  queue::JobMessage job;
  job.id = new_job_id();
  job.task = std::move(*task);
  job.budget = *budget;
  job.seed = options.seed;
  job.strategy = options.strategy;
  job.finalists = options.finalists;
  job.disabled = options.disabled;
  job.prescreen = options.prescreen;
  job.archs = options.archs;
  job.priority = options.priority;
  job.submitted_at = queue::unix_ms();
  job.owner = options.owner;
  if (job.archs.empty()) {
    auto archs = archs_there(**broker);
    if (!archs) return common.fail(archs.error());
    job.archs = std::move(*archs);
  }
  if (const auto submitted = (*broker)->submit(job); !submitted)
    return common.fail(submitted.error());
  std::FILE* out = common.json_on_stdout() ? stderr : stdout;
  fmt::print(out, "{}\n", job.id);
  warn_of_missing(**broker, job.archs);
  if (options.wait) return watch_job(**broker, job.id, common);
  fmt::print(stderr, "hone: submitted for {}; see `hone watch {}`\n", fmt::join(job.archs, ", "),
             job.id);
  return common.write_json({{"job", job.id}, {"archs", job.archs}}) ? kDone : kEnvironmentLacks;
}

}  // namespace

Registration add_submit(CLI::App& root) {
  auto options = std::make_shared<Options>();
  if (const char* user = std::getenv("USER"); user != nullptr) options->owner = user;
  CLI::App* app = root.add_subcommand(
      "submit", "Have a coordinator search for a faster program, on other machines");
  app->add_option("TASK", options->task, "A .cu file with a task comment, or a .json task")
      ->required();
  options->redis.add_to(*app);
  app->add_option("--arch", options->archs,
                  "sm_90,sm_80: a search on each; emu:sm_90 is the emulated one. Default: the "
                  "GPUs of the workers that are there")
      ->delimiter(',');
  app->add_option("--budget", options->budget,
                  "A time (60s, 5m, 1h) or a count of evaluations (200)")
      ->capture_default_str();
  app->add_option("--priority", options->priority, "Higher ones go first")
      ->check(CLI::Range(-100, 100))
      ->capture_default_str();
  app->add_option("--seed", options->seed, "Repeats a search")->capture_default_str();
  app->add_option("--strategy", options->strategy, "evolve or random")->capture_default_str();
  app->add_option("--finalists", options->finalists, "How many are timed again in a fresh process")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app->add_option("--without", options->disabled, "Rewriters that may not be used")->delimiter(',');
  app->add_flag(
      "!--no-prescreen", options->prescreen,
      "On a GPU: measure every candidate, also those that the time model gives no chance");
  app->add_flag("--wait", options->wait, "Show its progress until it ends");
  app->add_option("--owner", options->owner, "Who submits, for people")->capture_default_str();
  add_json_option(*app, options->common);
  return {app, [options] { return run(*options); }};
}

}  // namespace hone::cli
