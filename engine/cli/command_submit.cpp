#include <fmt/core.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <ranges>
#include <string>
#include <vector>

#include "candidates/task_reader.h"
#include "engine/cli/command.h"
#include "engine/cli/watch_job.h"
#include "engine/search/search_limits.h"
#include "engine/service/described_files.h"
#include "engine/service/job_view.h"
#include "engine/service/sent_files.h"
#include "engine/service/submission.h"

namespace hone::cli {
namespace submit_command {
namespace {

constexpr std::size_t kNamed = 4;  // of inputs, in one line

struct Options {
  Common common;
  RedisOptions redis;
  std::string task;
  SearchArguments search;
  Submission submission;
  bool wait = false;
  bool describe_files = false;
};

/// With made-up inputs in place of those from files.
Result<HashedTask> described(Task task) {
  std::vector<std::string> names;
  auto made = with_described_files(std::move(task), names);
  if (!made) return std::unexpected(made.error());
  if (!names.empty()) {
    fmt::print(stderr,
               "hone: inputs of like mean and deviation go in place of those from files: {}{}\n",
               fmt::join(names | std::views::take(kNamed), ", "),
               names.size() > kNamed ? fmt::format(" and {} more", names.size() - kNamed) : "");
  }
  return HashedTask{std::move(*made), {}};
}

void tell(const SentFiles& files) {
  if (files.sent > 0) {
    fmt::print(stderr, "hone: sent {} input{} from files, {}\n", files.sent,
               files.sent == 1 ? "" : "s", queue::size_text(files.bytes));
  }
  if (files.there > 0) {
    fmt::print(stderr, "hone: {} input{} from files {} on the server already\n", files.there,
               files.there == 1 ? "" : "s", files.there == 1 ? "was" : "were");
  }
}

int run(const Options& options) {
  const Common& common = options.common;
  const auto settings = options.search.settings();
  if (!settings) return common.fail(settings.error());
  Submission submission = options.submission;
  submission.search = *settings;
  if (const auto known = check_submission(submission); !known) return common.fail(known.error());
  auto task = read_task(options.task);
  if (!task) return common.fail(task.error());
  auto hashed =
      options.describe_files ? described(std::move(*task)) : with_hashed_files(std::move(*task));
  if (!hashed) return common.fail(hashed.error());
  if (const auto good = check_task(*open_rewriting(), hashed->task); !good)
    return common.fail(good.error());
  if (auto json = common.check_json(); !json) return common.fail(json.error());
  const auto broker = options.redis.open();
  if (!broker) return common.fail(broker.error());
  const auto sent = send_files(**broker, hashed->ranges);
  if (!sent) return common.fail(sent.error());
  tell(*sent);
  const auto job = submit(**broker, submission, std::move(hashed->task));
  if (!job) return common.fail(job.error());
  std::FILE* out = common.json_on_stdout() ? stderr : stdout;
  fmt::print(out, "{}\n", job->id);
  if (options.wait) return watch_job(**broker, job->id, options.redis, common);
  const auto warnings = warnings_for(job->archs, **broker);
  for (const std::string& warning : warnings) fmt::print(stderr, "hone: {}\n", warning);
  fmt::print(stderr, "hone: submitted for {}; see `hone watch {}{}`\n", fmt::join(job->archs, ", "),
             job->id, options.redis.as_typed());
  const nlohmann::json document = {
      {"job", job->id},
      {"archs", job->archs},
      {"warnings", warnings},
      {"inputs", {{"sent", sent->sent}, {"there", sent->there}, {"bytes", sent->bytes}}}};
  return common.write_json(document) ? kDone : kEnvironmentLacks;
}

}  // namespace
}  // namespace submit_command

Registration add_submit(CLI::App& root) {
  using namespace submit_command;
  auto options = std::make_shared<Options>();
  if (const char* user = std::getenv("USER"); user != nullptr) options->submission.owner = user;
  CLI::App* app = root.add_subcommand(
      "submit", "Have a coordinator search for a faster program, on other machines");
  add_task_argument(*app, options->task);
  options->redis.add_to(*app);
  app->add_option("--device,--arch", options->submission.archs,
                  "Architectures to search for, separated by commas: sm_90, or emulated emu:sm_90; "
                  "default: those of the GPUs of the workers that are there")
      ->type_name("ARCH")
      ->delimiter(',');
  app->add_option("--priority", options->submission.priority,
                  "Jobs with a higher one begin first, and each step doubles a job's share of the "
                  "workers, up to 32 times")
      ->check(CLI::Range(-kMostPriority, kMostPriority))
      ->type_name("N")
      ->capture_default_str();
  Submission& submission = options->submission;
  options->search.add_to(*app, "On each architecture. ");
  const char* const group = "The coordinator's language model, where it has one";
  app->add_flag("--llm", submission.llm, "Ask it, too; without, rules alone propose")->group(group);
  app->add_option("--llm-tokens", submission.llm_tokens,
                  "At most so many tokens, input and output, over all architectures; default, and "
                  "at most: what the coordinator allows")
      ->check(CLI::Range(std::int64_t{1}, kMostLlmTokens))
      ->type_name("N")
      ->group(group);
  app->add_option("--llm-cost", submission.llm_cost,
                  "At most so many dollars, over all architectures; default, and at most: what the "
                  "coordinator allows")
      ->type_name("DOLLARS")
      ->group(group);
  app->add_option("--llm-modes", submission.llm_modes,
                  "What it is asked for, separated by commas: whole (programs), diff (edits of the "
                  "best), steps (of the rules); default: as the coordinator was started")
      ->type_name("MODE")
      ->delimiter(',')
      ->group(group);
  app->add_flag("--describe-files", options->describe_files,
                "Send made-up inputs of like mean and deviation in place of those that the task "
                "reads from files, such as a module's weights");
  app->add_flag("--wait", options->wait,
                "Show the job's progress until it ends, as `hone watch` does");
  app->add_option("--owner", options->submission.owner, "Who submits, for other people to read")
      ->type_name("NAME")
      ->capture_default_str();
  add_json_option(*app, options->common);
  return {app, [options] { return run(*options); }};
}

}  // namespace hone::cli
