#include <fmt/core.h>

#include "engine/cli/watch_job.h"

namespace hone::cli {
namespace {

struct Options {
  Common common;
  RedisOptions redis;
  int limit = 20;
  bool dead = false;
};

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

int run(const Options& options) {
  const Common& common = options.common;
  if (auto json = common.check_json(); !json) return common.fail(json.error());
  const auto broker = options.redis.open();
  if (!broker) return common.fail(broker.error());
  if (options.dead) return show_dead(options, **broker);
  const auto jobs = (*broker)->jobs(options.limit);
  if (!jobs) return common.fail(jobs.error());
  std::FILE* out = common.json_on_stdout() ? stderr : stdout;
  if (jobs->empty()) fmt::print(out, "no jobs; `hone submit TASK` makes one\n");
  nlohmann::json rows = nlohmann::json::array();
  for (const auto& job : *jobs) {
    std::string archs;
    for (const auto& arch : job.archs) {
      archs += fmt::format("  {} {} evaluated", arch.arch, arch.counts.evaluated());
      if (arch.best_time_us > 0)
        archs += fmt::format(", {:.2f}x", arch.reference_time_us / arch.best_time_us);
    }
    fmt::print(out, "{:<20} {:<10}{}{}{}\n", job.id, to_string(job.state), archs,
               job.error.empty() ? "" : "  ", job.error);
    rows.push_back(status_json(job));
  }
  return common.write_json({{"jobs", rows}}) ? kDone : kEnvironmentLacks;
}

}  // namespace

Registration add_jobs(CLI::App& root) {
  auto options = std::make_shared<Options>();
  CLI::App* app = root.add_subcommand("jobs", "List the submitted jobs, the newest first");
  options->redis.add_to(*app);
  app->add_option("--limit", options->limit, "How many")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  app->add_flag("--dead", options->dead,
                "List the evaluations that were given up, because every worker that took one fell "
                "silent");
  add_json_option(*app, options->common);
  return {app, [options] { return run(*options); }};
}

}  // namespace hone::cli
