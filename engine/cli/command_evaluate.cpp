#include <fmt/core.h>

#include "candidates/task_reader.h"
#include "candidates/variant.h"
#include "engine/cli/command.h"
#include "engine/cli/report.h"
#include "engine/search/single/variant.h"

namespace hone::cli {
namespace evaluate_command {
namespace {

struct Options {
  Common common;
  DeviceOptions device;
  DatabaseOptions database;
  std::string task;
  std::string variant;
  std::uint64_t seed = 1;
};

int run(const Options& options) {
  const Common& common = options.common;
  const auto task = read_task(options.task);
  if (!task) return common.fail(task.error());
  const auto variants = read_variants(options.variant, *task);
  if (!variants) return common.fail(variants.error());
  if (auto json = common.check_json(); !json) return common.fail(json.error());
  auto device = open_device(options.device, *task, options.database.missing_layers());
  if (!device) return common.fail(device.error());
  const auto variant = variant_for(*variants, device->spec.arch, options.variant);
  if (!variant) return common.fail(variant.error());
  auto store = options.database.open();
  if (!store) return common.fail(store.error());
  std::vector<std::string> notes;
  auto result = run_variant(*task, *variant, device->spec, *device->evaluator, *device->rewriting,
                            store->get(), options.seed, notes);
  if (!result) return common.fail(result.error());

  const Evaluation& e = result->evaluation;
  const Measurement& m = e.measurement;
  const bool ok = e.verdict == Verdict::kOk;
  std::FILE* out = common.json_on_stdout() ? stderr : stdout;
  if (!e.note.empty()) notes.push_back(e.note);
  for (const std::string& note : notes) fmt::print(out, "note: {}\n", note);
  if (ok) {
    fmt::print(out, "ok: {}{}, {:.2f}x [{:.2f}, {:.2f}], max error {:.1e}; candidate {}\n",
               format_time(m.time_us), m.modelled ? " (modelled)" : "", m.speedup, m.ci95_low,
               m.ci95_high, e.max_rel_error, result->candidate.id);
  } else {
    fmt::print(out, "{}: {}\n", to_string(e.verdict), e.detail);
  }
  nlohmann::json document = {{"task", task->name},
                             {"device", device->spec.text()},
                             {"device_name", device->evaluator->info().name},
                             {"modelled", device->spec.modelled()},
                             {"sandbox", device->evaluator->info().sandbox},
                             {"verdict", to_string(e.verdict)},
                             {"detail", e.detail},
                             {"notes", notes},
                             {"candidate", result->candidate.id},
                             {"time_us", nullptr},
                             {"speedup", nullptr},
                             {"ci95", nullptr},
                             {"max_rel_error", e.max_rel_error}};
  if (ok) {
    document["time_us"] = m.time_us;
    document["reference_time_us"] = m.reference_time_us;
    document["speedup"] = m.speedup;
    document["ci95"] = nlohmann::json::array({m.ci95_low, m.ci95_high});
    document["roof_fraction"] = m.roof_fraction;
  }
  if (!common.write_json(document)) return kEnvironmentLacks;
  return ok ? kDone : kCheckFailed;
}

}  // namespace
}  // namespace evaluate_command

Registration add_evaluate(CLI::App& root) {
  using namespace evaluate_command;
  auto options = std::make_shared<Options>();
  CLI::App* app = root.add_subcommand(
      "evaluate",
      "Check and time a program that someone wrote or edited; if it passes, onto the board");
  add_task_argument(*app, options->task);
  app->add_option(
         "VARIANT", options->variant,
         "A .cu file with the task's kernels; or with a task comment of its own, for other "
         "launches; or a file that `hone export` wrote as cu or hpp, edited or not")
      ->required();
  options->device.add_to(*app);
  app->add_option("--check-timeout", options->device.check_timeout_s,
                  "How many seconds the emulated checks of one program may take: more for a slow "
                  "machine")
      ->check(CLI::Range(1.0, 86'400.0))
      ->type_name("SECONDS")
      ->capture_default_str();
  options->database.add_to(*app);
  app->add_option(
         "--seed", options->seed,
         "Chooses the inputs of the timed runs on an emulated device; all others are secret")
      ->type_name("N")
      ->capture_default_str();
  add_json_option(*app, options->common);
  return {app, [options] { return run(*options); }};
}

}  // namespace hone::cli
