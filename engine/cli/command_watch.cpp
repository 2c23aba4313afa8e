#include "engine/cli/watch_job.h"

namespace hone::cli {
namespace watch_command {
namespace {

struct Options {
  Common common;
  RedisOptions redis;
  std::string job;
};

int run(const Options& options) {
  const Common& common = options.common;
  if (auto json = common.check_json(); !json) return common.fail(json.error());
  const auto broker = options.redis.open();
  if (!broker) return common.fail(broker.error());
  const auto id = (*broker)->find_job(options.job);
  if (!id) return common.fail(id.error());
  return watch_job(**broker, *id, options.redis, common);
}

}  // namespace
}  // namespace watch_command

Registration add_watch(CLI::App& root) {
  using namespace watch_command;
  auto options = std::make_shared<Options>();
  CLI::App* app = root.add_subcommand("watch", "Show a submitted job's progress until it ends");
  app->add_option("JOB", options->job,
                  "A job's id, as `hone submit` printed it, or the beginning of one")
      ->required();
  options->redis.add_to(*app);
  add_json_option(*app, options->common);
  return {app, [options] { return run(*options); }};
}

}  // namespace hone::cli
