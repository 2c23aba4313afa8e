#include <fmt/core.h>

#include "engine/cli/command.h"
#include "engine/results/json.h"

namespace hone::cli {
namespace workers_command {
namespace {

struct Options {
  Common common;
  RedisOptions redis;
};

int run(const Options& options) {
  const Common& common = options.common;
  if (auto json = common.check_json(); !json) return common.fail(json.error());
  const auto broker = options.redis.open();
  if (!broker) return common.fail(broker.error());
  const auto there = (*broker)->registered();
  if (!there) return common.fail(there.error());
  std::FILE* out = common.json_on_stdout() ? stderr : stdout;
  if (there->workers.empty() && there->foreign.empty())
    fmt::print(out, "no worker is there; `hone worker{}` starts one\n", options.redis.as_typed());
  for (const auto& worker : there->workers) {
    fmt::print(out, "{}  on {}, hone {}{}: {} evaluated, {} at work\n", worker.id, worker.host,
               worker.version, worker.draining ? ", draining" : "", worker.evaluated,
               worker.in_flight);
    for (const auto& device : worker.devices)
      fmt::print(
          out, "  {}  {}, {}, {}{} at once\n", device.pool, device.info.name, device.info.toolchain,
          device.info.driver.empty() ? "" : "driver " + device.info.driver + ", ", device.capacity);
  }
  for (const auto& worker : there->foreign) {
    fmt::print(out,
               "{}  on {}, hone {}: ANOTHER VERSION, takes no work of hone {} (queue {}, not {})\n",
               worker.id, worker.host, worker.version.empty() ? "?" : worker.version, HONE_VERSION,
               worker.queue_version, queue::kQueueVersion);
    for (const auto& device : worker.devices) fmt::print(out, "  {}\n", device.pool);
  }
  return common.write_json({{"workers", results::workers_json(*there)}}) ? kDone
                                                                         : kEnvironmentLacks;
}

}  // namespace
}  // namespace workers_command

Registration add_workers(CLI::App& root) {
  using namespace workers_command;
  auto options = std::make_shared<Options>();
  CLI::App* app = root.add_subcommand(
      "workers", "List the workers that are there now, and mark those of another version");
  options->redis.add_to(*app);
  add_json_option(*app, options->common);
  return {app, [options] { return run(*options); }};
}

}  // namespace hone::cli
