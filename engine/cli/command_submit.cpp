#include <fmt/core.h>
#include <fmt/ranges.h>

#include <cstdlib>

#include "candidates/task_reader.h"
#include "engine/cli/command.h"
#include "engine/cli/watch_job.h"
#include "engine/service/submission.h"

namespace hone::cli {
namespace submit_command {
namespace {

struct Options {
  Common common;
  RedisOptions redis;
  std::string task;
  Submission submission;
  bool wait = false;
};

int run(const Options& options) {
  const Common& common = options.common;
  if (const auto known = check_submission(options.submission); !known)
    return common.fail(known.error());
  auto task = read_task(options.task);
  if (!task) return common.fail(task.error());
  if (const auto good = check_task(*open_rewriting(), *task); !good)
    return common.fail(good.error());
  if (auto json = common.check_json(); !json) return common.fail(json.error());
  const auto broker = options.redis.open();
  if (!broker) return common.fail(broker.error());
  const auto job = submit(**broker, options.submission, std::move(*task));
  if (!job) return common.fail(job.error());
  std::FILE* out = common.json_on_stdout() ? stderr : stdout;
  fmt::print(out, "{}\n", job->id);
  for (const std::string& arch : missing_archs(**broker, job->archs))
    fmt::print(stderr, "hone: no worker for {} is there now: the job waits for one\n", arch);
  if (options.wait) return watch_job(**broker, job->id, common);
  fmt::print(stderr, "hone: submitted for {}; see `hone watch {}`\n", fmt::join(job->archs, ", "),
             job->id);
  return common.write_json({{"job", job->id}, {"archs", job->archs}}) ? kDone : kEnvironmentLacks;
}

}  // namespace
}  // namespace submit_command

Registration add_submit(CLI::App& root) {
  using namespace submit_command;
  auto options = std::make_shared<Options>();
  if (const char* user = std::getenv("USER"); user != nullptr) options->submission.owner = user;
  CLI::App* app = root.add_subcommand(
      "submit", "Have a coordinator search for a faster program, on other machines");
  app->add_option("TASK", options->task, "A .cu file with a task comment, or a .json task")
      ->required();
  options->redis.add_to(*app);
  app->add_option("--device,--arch", options->submission.archs,
                  "sm_90,sm_80: a search on each; emu:sm_90 is the emulated one. Default: the "
                  "GPUs of the workers that are there")
      ->delimiter(',');
  app->add_option("--budget", options->submission.budget,
                  "A time (60s, 5m, 1h) or a count of evaluations (200)")
      ->capture_default_str();
  app->add_option("--priority", options->submission.priority, "Higher ones go first")
      ->check(CLI::Range(-100, 100))
      ->capture_default_str();
  app->add_option("--seed", options->submission.seed, "Repeats a search")->capture_default_str();
  app->add_option("--strategy", options->submission.strategy, "evolve or random")
      ->capture_default_str();
  app->add_option("--finalists", options->submission.finalists,
                  "How many are timed again in a fresh process")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app->add_option("--without", options->submission.disabled, "Rewriters that may not be used")
      ->delimiter(',');
  app->add_flag(
      "!--no-prescreen", options->submission.prescreen,
      "On a GPU: measure every candidate, also those that the time model gives no chance");
  const char* const group = "The coordinator's language model, where it has one";
  app->add_flag("--llm", options->submission.llm, "Ask it, too; rules alone otherwise")
      ->group(group);
  app->add_option("--llm-tokens", options->submission.llm_tokens,
                  "At most so many, input and output, over all architectures; no more than the "
                  "coordinator allows, which is the default")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 50))
      ->group(group);
  app->add_option("--llm-cost", options->submission.llm_cost, "Likewise, dollars")->group(group);
  app->add_option("--llm-modes", options->submission.llm_modes,
                  "What it is asked for: whole programs, diffs of the best, steps of the rules; by "
                  "default what the coordinator says")
      ->delimiter(',')
      ->group(group);
  app->add_flag("--wait", options->wait, "Show its progress until it ends");
  app->add_option("--owner", options->submission.owner, "Who submits, for people")
      ->capture_default_str();
  add_json_option(*app, options->common);
  return {app, [options] { return run(*options); }};
}

}  // namespace hone::cli
