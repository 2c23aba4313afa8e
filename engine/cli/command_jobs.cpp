#include <fmt/chrono.h>
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <thread>

#include "engine/cli/command.h"
#include "engine/cli/table.h"
#include "engine/results/json.h"
#include "engine/service/job_view.h"

namespace hone::cli {
namespace jobs_command {
namespace {

struct Options {
  Common common;
  RedisOptions redis;
  int limit = 20;
  bool dead = false;
  std::string put_back;  ///< an id, or "all"
  queue::JobFilter filter;
  std::vector<std::string> states;
};

constexpr int kMostLetters = 1000;  // that are kept
constexpr auto kHandedOutWithin = std::chrono::seconds(5);

/// One line for people: what became of it.
Result<std::string> put_back(queue::Broker& broker, const queue::DeadLetter& letter) {
  const auto asked = broker.put_back(letter.entry, letter.id);
  if (!asked) return std::unexpected(asked.error());
  switch (*asked) {
    case queue::Broker::PutBack::kGone:
      return "it is no longer a dead letter";
    case queue::Broker::PutBack::kEnded:
      return "its search has ended; submit the job again";
    case queue::Broker::PutBack::kRestarted:
      return "another coordinator leads since; its search asks again by itself";
    case queue::Broker::PutBack::kAsked:
      break;
  }
  const auto until = std::chrono::steady_clock::now() + kHandedOutWithin;
  while (std::chrono::steady_clock::now() < until) {
    const auto dead = broker.is_dead(letter.entry);
    if (!dead) return std::unexpected(dead.error());
    if (!*dead) return "handed out again; its answer replaces the crash if the search still runs";
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return "the coordinator has not handed it out; its search has ended, or see the coordinator's "
         "log";
}

int put_back_dead(const Options& options, queue::Broker& broker) {
  const auto letters = broker.dead(kMostLetters);
  if (!letters) return options.common.fail(letters.error());
  nlohmann::json rows = nlohmann::json::array();
  std::FILE* out = options.common.json_on_stdout() ? stderr : stdout;
  for (const auto& letter : *letters) {
    if (options.put_back != "all" && options.put_back != letter.id &&
        options.put_back != letter.entry)
      continue;
    const auto outcome = put_back(broker, letter);
    if (!outcome) return options.common.fail(outcome.error());
    fmt::print(out, "{}  {}  {}\n", letter.entry, letter.id, *outcome);
    rows.push_back({{"entry", letter.entry}, {"evaluation", letter.id}, {"outcome", *outcome}});
  }
  if (rows.empty() && options.put_back != "all")
    return options.common.fail(
        {ErrorCode::kInvalidInput,
         fmt::format("there is no dead letter '{}'; `hone jobs --dead{}` lists them",
                     options.put_back, options.redis.as_typed())});
  if (rows.empty()) fmt::print(out, "no evaluation was given up\n");
  return options.common.write_json({{"put_back", rows}}) ? kDone : kEnvironmentLacks;
}

int show_dead(const Options& options, queue::Broker& broker) {
  const auto letters = broker.dead(options.limit);
  if (!letters) return options.common.fail(letters.error());
  nlohmann::json rows = nlohmann::json::array();
  std::FILE* out = options.common.json_on_stdout() ? stderr : stdout;
  if (letters->empty()) fmt::print(out, "no evaluation was given up\n");
  for (const auto& letter : *letters) {
    fmt::print(out, "{}  {}  {}  {}\n", letter.entry, letter.id, letter.pool, letter.why);
    rows.push_back({{"entry", letter.entry},
                    {"evaluation", letter.id},
                    {"pool", letter.pool},
                    {"why", letter.why},
                    {"at_ms", letter.at}});
  }
  return options.common.write_json({{"dead", rows}}) ? kDone : kEnvironmentLacks;
}

std::string utc(std::int64_t unix_ms) {
  if (unix_ms <= 0) return "";
  return fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::gmtime(static_cast<std::time_t>(unix_ms / 1000)));
}

/// "searching, 41 evaluated; waits for a worker for sm_80", "failed: why".
std::string state_text(const JobView& job) {
  const queue::JobStatus& status = job.row.status;
  std::string text(to_string(status.state));
  std::int64_t evaluated = 0;
  for (const auto& arch : status.archs) evaluated += arch.counts.evaluated();
  if (evaluated > 0) text += fmt::format(", {} evaluated", evaluated);
  if (!job.waits.empty()) text += "; " + job.waits;
  if (!status.error.empty()) text += ": " + status.error.substr(0, status.error.find('\n'));
  return text;
}

std::string best_text(const queue::JobStatus& status) {
  std::vector<std::string> parts;
  for (const auto& arch : status.archs)
    if (arch.best_time_us > 0)
      parts.push_back(fmt::format("{:.2f}x{}", arch.reference_time_us / arch.best_time_us,
                                  status.archs.size() > 1 ? " " + arch.arch : ""));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string list_text(const std::vector<JobView>& jobs) {
  using enum Table::Align;
  Table table;
  table.column("job", kLeft);
  table.column("task", kLeft);
  table.column("owner", kLeft);
  table.column("priority", kRight);
  table.column("for", kLeft);
  table.column("budget", kRight);
  table.column("submitted (UTC)", kLeft);
  table.column("best", kRight);
  table.column("state", kLeft);
  for (const JobView& job : jobs) {
    const auto about = job.row.about.value_or(queue::JobAbout{});
    table.add({job.row.status.id, about.task, about.owner,
               job.row.about ? fmt::format("{}", about.priority) : "",
               fmt::format("{}", fmt::join(about.archs, ",")),
               job.row.about ? about.budget.text() : "", utc(job.row.submitted_at),
               best_text(job.row.status), state_text(job)});
  }
  return table.text();
}

int run(const Options& options) {
  const Common& common = options.common;
  if (auto json = common.check_json(); !json) return common.fail(json.error());
  const auto broker = options.redis.open();
  if (!broker) return common.fail(broker.error());
  if (!options.put_back.empty()) return put_back_dead(options, **broker);
  if (options.dead) return show_dead(options, **broker);
  queue::JobFilter filter = options.filter;
  for (const std::string& name : options.states) {
    const auto state = queue::parse_job_state(name);
    if (!state)
      return common.fail({ErrorCode::kInvalidInput,
                          fmt::format("--state {}: there are queued, admitting, searching, "
                                      "finishing, done, failed and cancelled",
                                      name)});
    filter.states.push_back(*state);
  }
  const auto jobs = job_views(**broker, filter, options.limit);
  if (!jobs) return common.fail(jobs.error());
  std::FILE* out = common.json_on_stdout() ? stderr : stdout;
  if (!jobs->empty()) {
    fmt::print(out, "{}", list_text(*jobs));
  } else if (!filter.empty()) {
    fmt::print(out, "no such jobs\n");
  } else {
    fmt::print(out, "no jobs; `hone submit TASK{}` makes one\n", options.redis.as_typed());
  }
  nlohmann::json rows = nlohmann::json::array();
  for (const auto& job : *jobs) rows.push_back(results::job_json(job));
  return common.write_json({{"jobs", rows}}) ? kDone : kEnvironmentLacks;
}

}  // namespace
}  // namespace jobs_command

Registration add_jobs(CLI::App& root) {
  using namespace jobs_command;
  auto options = std::make_shared<Options>();
  CLI::App* app = root.add_subcommand(
      "jobs", "List the submitted jobs, the newest first, and what they wait for");
  options->redis.add_to(*app);
  app->add_option("--limit", options->limit, "At most so many jobs, or evaluations with --dead")
      ->type_name("N")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  app->add_option("--owner", options->filter.owner, "Only jobs that this owner submitted")
      ->type_name("NAME");
  app->add_option("--state", options->states,
                  "Only jobs in one of these states, separated by commas: queued, admitting, "
                  "searching, finishing, done, failed, cancelled")
      ->type_name("STATE")
      ->delimiter(',');
  app->add_option("--task", options->filter.task,
                  "Only jobs of this task: its name, or the first four digits or more of its hash")
      ->type_name("TASK");
  auto* dead =
      app->add_flag("--dead", options->dead,
                    "List instead the evaluations that were given up, because every worker "
                    "that took one fell silent");
  app->add_option(
         "--put-back", options->put_back,
         "With --dead: have this evaluation, or 'all', made once more if its search still runs")
      ->type_name("ID")
      ->needs(dead);
  add_json_option(*app, options->common);
  return {app, [options] { return run(*options); }};
}

}  // namespace hone::cli
