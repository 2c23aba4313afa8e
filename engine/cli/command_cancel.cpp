#include <fmt/core.h>

#include "engine/cli/command.h"

namespace hone::cli {
namespace cancel_command {
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
  if (const auto cancelled = (*broker)->cancel(options.job); !cancelled)
    return common.fail(cancelled.error());
  fmt::print(stderr, "hone: job {} is to end\n", options.job);
  return common.write_json({{"job", options.job}}) ? kDone : kEnvironmentLacks;
}

}  // namespace
}  // namespace cancel_command

Registration add_cancel(CLI::App& root) {
  using namespace cancel_command;
  auto options = std::make_shared<Options>();
  CLI::App* app =
      root.add_subcommand("cancel", "End a submitted job; what it found so far stays known");
  app->add_option("JOB", options->job, "A job's id, as `hone submit` printed it")->required();
  options->redis.add_to(*app);
  add_json_option(*app, options->common);
  return {app, [options] { return run(*options); }};
}

}  // namespace hone::cli
