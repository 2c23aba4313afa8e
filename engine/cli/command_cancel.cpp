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
  const auto id = (*broker)->find_job(options.job);
  if (!id) return common.fail(id.error());
  const auto cancelled = (*broker)->cancel(*id);
  if (!cancelled) return common.fail(cancelled.error());
  const auto status = (*broker)->status(*id);
  const std::string state(status ? to_string(status->state) : "");
  if (*cancelled) {
    fmt::print(stderr, "hone: job {} is to end\n", *id);
  } else {
    fmt::print(stderr, "hone: job {} has ended already{}\n", *id,
               state.empty() ? "" : ": " + state);
  }
  if (!common.write_json({{"job", *id}, {"cancelled", *cancelled}, {"state", state}}))
    return kEnvironmentLacks;
  return *cancelled ? kDone : kCheckFailed;
}

}  // namespace
}  // namespace cancel_command

Registration add_cancel(CLI::App& root) {
  using namespace cancel_command;
  auto options = std::make_shared<Options>();
  CLI::App* app = root.add_subcommand(
      "cancel",
      "End a submitted job; what it found so far stays known. Exits with 1 if it has "
      "ended before");
  app->add_option("JOB", options->job,
                  "A job's id, as `hone submit` printed it, or the beginning of one")
      ->required();
  options->redis.add_to(*app);
  add_json_option(*app, options->common);
  return {app, [options] { return run(*options); }};
}

}  // namespace hone::cli
