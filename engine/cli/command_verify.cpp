#include <fmt/core.h>

#include "engine/cli/command.h"
#include "engine/search/single/verify.h"

namespace hone::cli {
namespace verify_command {
namespace {

struct Options {
  Common common;
  DatabaseOptions database;
  DeviceOptions device;
  std::string candidate;
};

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
  const auto task = (*store)->find_task(row->candidate.task_hash);
  if (!task) return common.fail(task.error());
  if (options.device.device.empty()) options.device.device = row->provenance.device;
  auto device = open_device(options.device, *task, MissingLayers::kUntold);
  if (!device) return common.fail(device.error());
  const auto result =
      verify(*task, *row, device->spec, *device->evaluator, *device->rewriting, **store);
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
  add_json_option(*app, options->common);
  return {app, [options] { return run(*options); }};
}

}  // namespace hone::cli
