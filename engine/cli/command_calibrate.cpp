// hone calibrate: measures a GPU and writes its profile, or learns from what was measured on it.
#include <fmt/core.h>

#include <algorithm>

#include "engine/cli/command.h"
#include "engine/cli/train_ranking.h"
#include "evaluator/calibrate/calibrate.h"

namespace hone::cli {
namespace calibrate_command {
namespace {

struct Options {
  Common common;
  std::string device = "cuda:0";
  std::string output;
  sandbox::Mode sandbox = sandbox::Mode::kBestEffort;
  RankingTraining training;  ///< its databases, tasks to keep out, architecture
};

void print_table(const calibrate::Calibration& c) {
  const auto* base = emulator::find_profile_file(c.base);
  const auto& p = c.profile.profile;
  fmt::print("\n{} ({}), {:.1f} s; beside it the built-in {}\n\n", p.name, p.arch, c.seconds,
             c.base);
  fmt::print("{:<40} {:>12} {:>12}  {}\n", "field", "measured", "built-in", "unit");
  for (const auto& f : emulator::profile_fields()) {
    const bool measured =
        std::find(c.measured.begin(), c.measured.end(), f.name) != c.measured.end();
    fmt::print("{:<40} {:>12} {:>12.6g}  {}\n", f.name,
               measured ? fmt::format("{:.6g}", f.get(p)) : "-", f.get(base->profile), f.unit);
  }
  fmt::print("\n");
  for (const auto& e : c.extras) fmt::print("{:<55} {:>12.5g}  {}\n", e.name, e.value, e.unit);
}

nlohmann::json to_json(const calibrate::Calibration& c) {
  const auto* base = emulator::find_profile_file(c.base);
  nlohmann::json fields = nlohmann::json::array(), extras = nlohmann::json::array();
  for (const auto& f : emulator::profile_fields()) {
    const bool measured =
        std::find(c.measured.begin(), c.measured.end(), f.name) != c.measured.end();
    fields.push_back({{"name", f.name},
                      {"value", f.get(c.profile.profile)},
                      {"unit", f.unit},
                      {"measured", measured},
                      {"built_in", f.get(base->profile)},
                      {"source", c.profile.sources.at(f.name)}});
  }
  for (const auto& e : c.extras)
    extras.push_back({{"name", e.name}, {"value", e.value}, {"unit", e.unit}});
  return {{"arch", c.profile.profile.arch},
          {"name", c.profile.profile.name},
          {"base", c.base},
          {"seconds", c.seconds},
          {"fields", std::move(fields)},
          {"extras", std::move(extras)},
          {"warnings", c.warnings}};
}

/// From databases, without a device.
int learn(const Options& o) {
  if (auto ok = o.common.check_json(); !ok) return o.common.fail(ok.error());
  if (!o.output.empty() && o.output != "-") {
    if (auto ok = check_writable(o.output); !ok) return o.common.fail(ok.error());
  }
  RankingTraining training = o.training;
  training.output = o.output;
  training.sandbox = o.sandbox;
  return train_ranking(o.common, training);
}

int run(const Options& o) {
  if (o.common.json_on_stdout() && o.output == "-")
    return o.common.fail({ErrorCode::kInvalidInput, "--json and -o cannot both be '-'"});
  if (!o.training.databases.empty()) return learn(o);
  const auto spec = DeviceSpec::parse_one(o.device);
  if (!spec) return o.common.fail(spec.error());
  if (spec->modelled()) {
    return o.common.fail({ErrorCode::kInvalidInput,
                          "an emulated device has nothing to measure; --device cuda:0 has"});
  }
  // Asked before the measurement, not after it.
  if (auto ok = o.common.check_json(); !ok) return o.common.fail(ok.error());
  if (!o.output.empty() && o.output != "-") {
    if (auto ok = check_writable(o.output); !ok) return o.common.fail(ok.error());
  }
  EvaluatorOptions options;
  options.sandbox = o.sandbox;
  options.warn = warn_on_stderr;
  options.tell_missing_layers = false;
  const auto result = calibrate::calibrate(spec->ordinal, options, [](const std::string& line) {
    fmt::print(stderr, "{} ...\n", line);
  });
  if (!result) return o.common.fail(result.error());
  for (const auto& warning : result->warnings) fmt::print(stderr, "warning: {}\n", warning);
  if (!o.common.json_on_stdout() && o.output != "-") print_table(*result);
  if (!o.output.empty()) {
    if (auto ok = write_text(o.output, emulator::to_text(result->profile)); !ok)
      return o.common.fail(ok.error());
  }
  return o.common.write_json(to_json(*result)) ? kDone : kEnvironmentLacks;
}

}  // namespace
}  // namespace calibrate_command

Registration add_calibrate(CLI::App& root) {
  using namespace calibrate_command;
  auto o = std::make_shared<Options>();
  CLI::App* app = root.add_subcommand(
      "calibrate",
      "Measure a GPU and write its profile, with which --profile emulates it anywhere; or, with "
      "--from-db, train the model that ranks candidates before they are compiled");
  app->add_option("--device", o->device, "The GPU to measure: cuda:N")
      ->type_name("DEVICE")
      ->capture_default_str();
  app->add_option("-o,--output", o->output,
                  "Write the profile, or the model, to FILE, or to stdout for '-'; default: it is "
                  "not written")
      ->type_name("FILE|-");
  auto* from = app->add_option("--from-db", o->training.databases,
                               "Learn from what searches timed in these databases, measure nothing")
                   ->type_name("FILE");
  app->add_option("--keep-out", o->training.keep_out,
                  "With --from-db: tasks not to learn from, by the beginnings of their names")
      ->type_name("NAME")
      ->delimiter(',')
      ->needs(from);
  app->add_option("--arch", o->training.arch,
                  "With --from-db: the architecture; default: the only one that was timed on")
      ->type_name("sm_XX")
      ->needs(from);
  add_sandbox_option(*app, o->sandbox);
  add_json_option(*app, o->common);
  return {app, [o] { return run(*o); }};
}

}  // namespace hone::cli
