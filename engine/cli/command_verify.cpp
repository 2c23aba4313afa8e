#include <fmt/core.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/cli/command.h"
#include "engine/search/single/verify.h"
#include "engine/service/input_cache.h"

namespace hone::cli {
namespace verify_command {
namespace {

constexpr double kPatience_s = 5;  // of a call with a server that is away

struct Options {
  Common common;
  DatabaseOptions database;
  DeviceOptions device;
  RedisOptions redis;
  std::string candidate;
};

/// What the task reads of a service's server, for the evaluator.
struct Sent {
  std::filesystem::path folder;  ///< of copies; the evaluator's children must see it
  std::unique_ptr<queue::Broker> broker;
  std::unique_ptr<InputCache> cache;
};

Result<Sent> open_sent(const RedisOptions& redis) {
  auto broker = redis.open(kPatience_s);
  if (!broker) {
    return fail(
        broker.error().code,
        fmt::format("the task reads inputs that were sent to a service; name its Redis server with "
                    "--redis: {}",
                    broker.error().message));
  }
  Sent sent{.folder = InputCache::default_folder(), .broker = std::move(*broker)};
  if (sent.folder.empty() || !InputCache::make_folder(sent.folder)) {
    return fail(ErrorCode::kEnvironment,
                "there is no folder for the task's inputs: set HOME or XDG_CACHE_HOME");
  }
  sent.cache = std::make_unique<InputCache>(
      *sent.broker, InputCacheOptions{sent.folder, kMostInputCache}, [](const LogEvent&) {});
  return sent;
}

int run(Options options) {
  const Common& common = options.common;
  const auto store = options.database.open_existing_to_write();
  if (!store) return common.fail(store.error());
  const auto row = (*store)->find_candidate(options.candidate);
  if (!row) return common.fail(row.error());
  if (row->evaluation.verdict != Verdict::kOk)
    return common.fail({ErrorCode::kInvalidInput,
                        fmt::format("candidate {} claims nothing: it ended as {}",
                                    row->candidate.id, to_string(row->evaluation.verdict))});
  const auto task = (*store)->task_of(*row);
  if (!task) return common.fail(task.error());
  if (options.device.device.empty()) options.device.device = row->provenance.device;
  Result<Sent> sent;
  if (!queue::inputs_of(*task).empty()) sent = open_sent(options.redis);
  if (!sent) return common.fail(sent.error());
  std::vector<std::string> folders;
  if (sent->cache != nullptr) folders.push_back(sent->folder.string());
  auto device = open_device(options.device, *task, MissingLayers::kUntold, folders);
  if (!device) return common.fail(device.error());
  std::optional<LocalInputs> local;
  if (sent->cache != nullptr) local.emplace(*device->evaluator, *sent->cache);
  Evaluator& evaluator = local ? static_cast<Evaluator&>(*local) : *device->evaluator;
  const auto result = verify(*task, *row, device->spec, evaluator, *device->rewriting, **store);
  if (!result) return common.fail(result.error());
  const Measurement& m = result->evaluation.measurement;
  fmt::print(common.json_on_stdout() ? stderr : stdout, "{}: the claim {}: {}{}\n",
             row->candidate.id, result->stands ? "stands" : "does not stand", result->reason,
             m.modelled ? " (modelled)" : "");
  const bool ok = result->evaluation.verdict == Verdict::kOk;
  nlohmann::json document = {{"candidate", row->candidate.id},
                             {"stands", result->stands},
                             {"reason", result->reason},
                             {"verdict", to_string(result->evaluation.verdict)},
                             {"modelled", device->spec.modelled()},
                             {"claimed_speedup", row->evaluation.measurement.speedup},
                             {"claimed_time_us", row->evaluation.measurement.time_us},
                             {"time_us", ok ? nlohmann::json(m.time_us) : nullptr},
                             {"speedup", ok ? nlohmann::json(m.speedup) : nullptr}};
  if (!common.write_json(document)) return kEnvironmentLacks;
  return result->stands ? kDone : kCheckFailed;
}

}  // namespace
}  // namespace verify_command

Registration add_verify(CLI::App& root) {
  using namespace verify_command;
  auto options = std::make_shared<Options>();
  CLI::App* app = root.add_subcommand(
      "verify",
      "Check and time a candidate again, on new inputs, and say whether its speedup stands");
  add_candidate_argument(*app, options->candidate);
  options->database.add_to(*app);
  options->device.add_to(*app, "the one that the candidate was found on");
  const std::string usual = app->option_defaults()->get_group();
  app->option_defaults()->group("Of a submitted task that reads files");
  options->redis.add_to(*app);
  app->option_defaults()->group(usual);
  add_json_option(*app, options->common);
  return {app, [options] { return run(*options); }};
}

}  // namespace hone::cli
