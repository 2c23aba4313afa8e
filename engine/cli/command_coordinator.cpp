#include <fmt/core.h>

#include "engine/cli/command.h"
#include "engine/cli/interrupt.h"
#include "engine/cli/llm_options.h"
#include "engine/service/coordinator.h"
#include "rewriters/llm/text/shown_text.h"

namespace hone::cli {
namespace coordinator_command {
namespace {

/// Of a call: its searches ask again. Ctrl-C ends no call, for the lead is to be resigned.
constexpr double kPatience_s = 3;

struct Options {
  RedisOptions redis;
  DaemonOptions daemon;
  DatabaseOptions database;
  LlmOptions llm;
  sandbox::Mode sandbox = sandbox::Mode::kBestEffort;
  int jobs = 4;
  bool adopt_queue = false;
  bool require_durable = false;
};

void say(const Log& log, const llm::Client& client) {
  const llm::Settings& settings = client.endpoint().settings;
  const std::string name = llm::visible_line(settings.model, 100);
  const auto tokens = settings.token_budget.value_or(0);
  log({.event = "model_offered",
       .message = fmt::format(
           "jobs may ask the language model {}: at most {} tokens{} each", name, tokens,
           settings.cost_budget ? " and " + llm::format_dollars(*settings.cost_budget) : ""),
       .fields = {{"model", name}, {"tokens", tokens}}});
}

int run(const Options& options) {
  const auto& stop = watch_interrupts();
  const Log log = options.daemon.log("coordinator");
  const auto llm = options.llm.open();  // before there are threads
  if (!llm) return options.daemon.fail(log, llm.error());
  Metrics metrics;
  const auto server = options.daemon.serve(metrics, log);
  if (!server) return options.daemon.fail(log, server.error());
  auto store = options.database.open();
  if (!store) return options.daemon.fail(log, store.error());
  const auto broker = options.redis.open(kPatience_s, log);
  if (!broker) return options.daemon.fail(log, broker.error());
  CoordinatorOptions coordinator;
  coordinator.jobs_at_once = options.jobs;
  coordinator.adopt_queue = options.adopt_queue;
  coordinator.require_durable = options.require_durable;
  coordinator.open_rewriting = [&] {
    return open_rewriting(options.sandbox, MissingLayers::kTold, warn_in(log));
  };
  coordinator.model = llm->get();
  coordinator.log = log;
  coordinator.metrics = &metrics;
  coordinator.stop = &stop;
  if (*llm != nullptr) say(log, *(*llm)->client);
  const auto ended = run_coordinator(**broker, **store, coordinator);
  return ended ? static_cast<int>(kDone) : options.daemon.fail(log, ended.error());
}

}  // namespace
}  // namespace coordinator_command

Registration add_coordinator(CLI::App& root) {
  using namespace coordinator_command;
  auto options = std::make_shared<Options>();
  CLI::App* app = root.add_subcommand(
      "coordinator",
      "Run submitted searches on the workers that are there; owns the database. --llm is the model "
      "that jobs may ask, --llm-tokens and --llm-cost the most that each job may use");
  options->redis.add_to(*app);
  options->daemon.add_to(*app);
  options->database.add_to(*app);
  options->llm.add_to(*app);
  add_sandbox_option(*app, options->sandbox);
  app->add_option(
         "--jobs", options->jobs,
         "How many jobs are searched for at once. One of higher priority than these begins "
         "beside them and takes most of the workers, up to four times as many in all")
      ->type_name("N")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  app->add_flag("--adopt-queue", options->adopt_queue,
                "Lead a queue whose results went to another database, or to a later state of this "
                "one, from which this file was copied");
  app->add_flag("--require-durable", options->require_durable,
                "Refuse to start where the Redis server may lose jobs (no append-only file, an "
                "eviction policy, a version before 7) or does not tell");
  return {app, [options] { return run(*options); }};
}

}  // namespace hone::cli
