#include <fmt/core.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "candidates/task_reader.h"
#include "engine/cli/command.h"
#include "engine/results/json.h"
#include "engine/results/roofline.h"
#include "engine/results/words.h"
#include "engine/search/requests/lift_check.h"
#include "engine/search/requests/requests.h"
#include "engine/search/single/ablation.h"
#include "engine/search/target/ceilings.h"
#include "rewriters/llm/client/endpoint.h"
#include "rewriters/llm/text/shown_text.h"

namespace hone::cli {
namespace show_command {
namespace {

struct Options {
  Common common;
  DatabaseOptions database;
  std::string candidate;
  bool source_only = false;
  bool lift = false;
  bool ablate = false;
  DeviceOptions device;
};

/// The model's words that it came of.
void print(const std::vector<ReplyRecord>& replies) {
  for (const ReplyRecord& reply : replies) {
    fmt::print("from a reply of {} ({}, prompt {}): {} tokens in, {} out, {}{}\n",
               llm::visible_line(reply.model, 100), reply.mode, reply.prompt_version,
               reply.input_tokens, reply.output_tokens, llm::format_dollars(reply.nano_dollars),
               reply.exact ? "" : ", at most");
  }
}

/// Every device it was tried on.
void print(const std::vector<FinalResult>& finals) {
  for (const FinalResult& result : finals) {
    const Evaluation& e = result.evaluation;
    const Measurement& m = e.measurement;
    const Provenance& p = result.provenance;
    fmt::print("{}  {} ({}, {}{}{}): ", p.modelled ? "modelled" : "measured", p.device_name, p.arch,
               p.toolchain, p.driver.empty() ? "" : ", driver ", p.driver);
    if (e.verdict == Verdict::kOk) {
      fmt::print("{}, {:.3f}x [{:.3f}, {:.3f}]{}\n", format_time(m.time_us), m.speedup, m.ci95_low,
                 m.ci95_high, m.clock_mhz > 0 ? fmt::format(", {:.0f} MHz", m.clock_mhz) : "");
    } else {
      fmt::print("{}{}{}\n", to_string(e.verdict), e.detail.empty() ? "" : ": ", e.detail);
    }
  }
}

/// Times slower without the step; 0 where there is nothing to compare.
double worth(const Ablation& ablation, const Contribution& step) {
  const Evaluation &whole = ablation.whole, &without = step.without;
  if (whole.verdict != Verdict::kOk || without.verdict != Verdict::kOk) return 0;
  return whole.measurement.speedup / without.measurement.speedup;
}

std::string worth_text(const Ablation& ablation, const Contribution& step) {
  const Evaluation& without = step.without;
  std::vector<std::size_t> numbers;
  for (const std::size_t place : step.with_it) numbers.push_back(place + 1);
  const std::string it =
      numbers.empty() ? "it" : fmt::format("it and {}, not legal then", fmt::join(numbers, ", "));
  const double times = worth(ablation, step);
  if (times > 0)
    return fmt::format("{:.2f}x: {} without {}", times, format_time(without.measurement.time_us),
                       it);
  return fmt::format("without {}: {}{}{}", it, to_string(without.verdict),
                     without.detail.empty() ? "" : ": ", without.detail);
}

/// Step by step, with what each contributes where that was measured.
void print(const Recipe& recipe, const std::optional<Ablation>& ablation) {
  if (recipe.empty()) return;
  fmt::print("recipe\n");
  for (std::size_t i = 0; i < recipe.size(); ++i) {
    fmt::print("  {}. {}\n", i + 1, to_string(recipe[i]));
    const std::string words = results::in_words(recipe[i]);
    if (!words.empty()) fmt::print("       {}\n", words);
    if (ablation) fmt::print("       {}\n", worth_text(*ablation, ablation->steps[i]));
  }
}

nlohmann::json ablation_json(const Ablation& ablation) {
  const auto one = [](const Evaluation& e) {
    const bool ok = e.verdict == Verdict::kOk;
    const Measurement& m = e.measurement;
    return nlohmann::json{{"verdict", to_string(e.verdict)},
                          {"detail", e.detail},
                          {"time_us", ok ? nlohmann::json(m.time_us) : nullptr},
                          {"speedup", ok ? nlohmann::json(m.speedup) : nullptr}};
  };
  nlohmann::json steps = nlohmann::json::array();
  for (const Contribution& step : ablation.steps) {
    nlohmann::json entry = one(step.without);
    const double times = worth(ablation, step);
    entry["step"] = to_string(step.step);
    entry["left_out_with_it"] = step.with_it;  // places, from 0
    entry["worth"] = times > 0 ? nlohmann::json(times) : nullptr;
    steps.push_back(std::move(entry));
  }
  return {{"whole", one(ablation.whole)}, {"without", steps}};
}

/// Each step's contribution, measured now, on the device that the candidate was found on unless
/// another is asked for.
Result<Ablation> measure(const Options& options, const BoardRow& row, Store& store) {
  const auto task = store.task_of(row);
  if (!task) return std::unexpected(task.error());
  DeviceOptions chosen = options.device;
  if (chosen.device.empty()) chosen.device = row.provenance.device;
  auto device = open_device(chosen, *task, MissingLayers::kUntold);
  if (!device) return std::unexpected(device.error());
  (void)take_ceilings(*device->evaluator, device->spec, &store);
  return ablate(*task, row.candidate.recipe, device->spec, *device->evaluator, *device->rewriting,
                [](std::size_t done, std::size_t all) {
                  fmt::print(stderr, "measuring {} of {}\n", done + 1, all);
                });
}

/// What the database knows of a candidate.
struct Shown {
  BoardRow row;
  std::vector<FinalResult> finals;
  std::vector<RunOfCandidate> runs;
  std::vector<ReplyRecord> replies;           ///< of a language model, that it came of
  std::optional<results::Roofline> roofline;  ///< empty where there is no time to place on it
};

Result<Shown> read(const Store& store, const std::string& name, const std::string& device) {
  auto row = store.find_candidate(name, device);
  if (!row) return std::unexpected(row.error());
  auto finals = store.final_results(row->candidate.id);
  if (!finals) return std::unexpected(finals.error());
  auto runs = store.runs_of_candidate(row->candidate.id);
  if (!runs) return std::unexpected(runs.error());
  auto replies = store.replies_of(row->candidate.id);
  if (!replies) return std::unexpected(replies.error());
  Shown shown{std::move(*row), std::move(*finals), std::move(*runs), std::move(*replies), {}};
  const Evaluation& e = shown.row.evaluation;
  if (e.verdict != Verdict::kOk || e.measurement.time_us <= 0) return shown;
  const auto task = store.find_task(shown.row.candidate.task_hash);
  if (!task) return std::unexpected(task.error());
  shown.roofline = results::roofline_of(*task, results::ceilings_of(store, shown.row.provenance),
                                        shown.row.evaluation.measurement);
  return shown;
}

/// "66.9 T", "4.25 G": in thousands, three digits.
std::string scaled(double value) {
  std::string_view units = " kMGTPE";
  std::size_t unit = 0;
  for (; value >= 999.5 && unit + 1 < units.size(); ++unit) value /= 1000;
  return unit == 0 ? fmt::format("{:.3g} ", value) : fmt::format("{:.3g} {}", value, units[unit]);
}

void print(const results::Roofline& line, const Measurement& m) {
  const results::RooflinePosition at = results::position_on(line, m.time_us);
  fmt::print(
      "roofline  {}FLOP and {}B, {:.3g} FLOP/B: at most {}FLOP/s by {}; {}FLOP/s, {:.1f} %{}\n",
      scaled(line.flops), scaled(line.bytes), at.intensity, scaled(at.roof_flops_per_s),
      at.memory_bound ? "memory" : "arithmetic", scaled(at.flops_per_s), 100 * at.fraction,
      m.modelled ? " (modelled)" : "");
}

void print(const std::vector<RunOfCandidate>& runs) {
  for (const auto& [run, found_at] : runs) {
    const Provenance& p = run.provenance;
    fmt::print("run       {}: {}, seed {}, on {} ({}{}{}), found {}\n", run.id, run.strategy,
               run.seed, p.device_name, p.toolchain, p.driver.empty() ? "" : ", driver ", p.driver,
               found_at);
  }
}

void print(const Shown& shown, const std::optional<Ablation>& ablation) {
  const BoardRow& row = shown.row;
  const std::vector<FinalResult>& finals = shown.finals;
  const Evaluation& e = row.evaluation;
  const Measurement& m = e.measurement;
  const char* word = m.modelled ? " (modelled)" : "";
  fmt::print("candidate {} of {} on {} ({}), found {} by {}\n", row.candidate.id,
             row.candidate.task_name, row.provenance.device_name, row.provenance.device,
             row.found_at, row.candidate.origin);
  fmt::print("verdict   {}{}{}\n", status_of(e), e.detail.empty() ? "" : ": ", e.detail);
  if (!e.note.empty()) fmt::print("note      {}\n", e.note);
  if (e.verdict == Verdict::kOk) {
    fmt::print("time      {}{}, reference {}\n", format_time(m.time_us), word,
               format_time(m.reference_time_us));
    fmt::print("speedup   {:.3f}x [{:.3f}, {:.3f}]{}\n", m.speedup, m.ci95_low, m.ci95_high,
               e.final_stage ? ", final stage" : ", quick timing only");
    fmt::print("roof      {:.1f} %{}{}\n", 100 * m.roof_fraction,
               m.bound.empty() ? "" : ", bound by ", m.bound);
    if (const std::string note = results::roof_note(m.roof_fraction); !note.empty())
      fmt::print("          {}\n", note);
    if (shown.roofline) print(*shown.roofline, m);
    fmt::print("error     {:.2e} (math: {})", e.max_rel_error, to_string(row.evaluation.math));
    if (e.reference_error > 0) {
      fmt::print("; of the reference against itself in double {:.2e}", e.reference_error);
    }
    fmt::print("\n");
    if (m.warm_time_us > 0) {
      fmt::print("warm      {}, reference {} (what fits the L2 cache is in it)\n",
                 format_time(m.warm_time_us), format_time(m.reference_warm_time_us));
    }
    if (!m.modelled) {
      fmt::print("samples   {} and {} of the reference, {} of them outliers", m.samples_us.size(),
                 m.reference_samples_us.size(), m.outliers);
      if (m.discarded > 0) fmt::print("; {} pairs discarded, the clocks were down", m.discarded);
      if (m.clock_mhz > 0) fmt::print("; {:.0f} MHz", m.clock_mhz);
      fmt::print("\n");
    }
  }
  for (const KernelResources& r : e.resources) {
    fmt::print("kernel    {}: {} registers, {} B spilled, {} B shared, occupancy {:.0f} %\n",
               r.kernel, r.registers, r.spill_bytes, r.static_shared_bytes, 100 * r.occupancy);
  }
  if (!e.code_hash.empty()) fmt::print("code      {}\n", e.code_hash);
  if (finals.size() > 1) print(finals);
  fmt::print("built by  {}{}{}, hone {}\n", row.provenance.toolchain,
             row.provenance.driver.empty() ? "" : ", driver ", row.provenance.driver,
             row.provenance.hone_version);
  fmt::print("sandbox   {}\n", row.provenance.sandbox);
  print(shown.runs);
  print(shown.replies);
  print(row.candidate.recipe, ablation);
  fmt::print("launches\n");
  const nlohmann::json program = row.candidate.program;
  for (const auto& launch : program.value("launches", nlohmann::json::array())) {
    fmt::print("  {}\n", launch.dump());
  }
}

/// Is the lift what the kernels compute, at the check sizes?
void check_lift(const Options& options, const Task& task, LiftReport& report) {
  DeviceOptions chosen = options.device;
  chosen.device = "emu:sm_90";
  chosen.profile.clear();
  const auto given_up = [&](const Error& error) { report.unchecked = error.message; };
  auto device = open_device(chosen, task, MissingLayers::kUntold);
  if (!device) return given_up(device.error());
  auto builder = RequestBuilder::make(*device->rewriting, task,
                                      target_limits(device->evaluator->info().arch), {});
  if (!builder) return given_up(builder.error());
  auto request = (*builder)->for_program(task.reference, 1);
  if (!request) return given_up(request.error());
  if (request->checks.empty()) {
    report.unchecked = "the task has no check sizes";
    return;
  }
  request->timed = request->checks.front();  // nobody asks for a time
  constexpr double kForever_s = 1e6;
  LiftChecking checking(*device->rewriting, (*builder)->space().context(), task.reference, *request,
                        kForever_s);
  report.check = checking.wait();
  if (report.check->sizes == 0) return;
  const auto admitted = device->evaluator->admit(*request);
  if (!admitted) {
    report.check.reset();
    return given_up(admitted.error());
  }
  report.check = checking.judged(*admitted);
}

/// Of a task's file, or of a candidate: what its program computes.
int show_lift(const Options& options) {
  std::optional<Task> task;
  Program program;
  if (options.candidate.ends_with(".cu") || options.candidate.ends_with(".json")) {
    auto read = read_task(options.candidate);
    if (!read) return options.common.fail(read.error());
    task = std::move(*read);
    program = task->reference;
  } else {
    auto store = options.database.open_existing();
    if (!store) return options.common.fail(store.error());
    auto row = (*store)->find_candidate(options.candidate);
    if (!row) return options.common.fail(row.error());
    auto found = (*store)->find_task(row->candidate.task_hash);
    if (!found) return options.common.fail(found.error());
    task = std::move(*found);
    program = row->candidate.program;
  }
  RewriteContext context;
  context.task = &*task;
  context.sizes = task->sizes;
  context.target = target_limits("sm_90");
  auto lift = open_rewriting()->lifted(context, program);
  if (!lift) return options.common.fail(lift.error());
  LiftReport report;
  report.sizes = task->sizes;
  report.lift = std::move(*lift);
  // A candidate may be for its sizes only.
  if (program == task->reference) check_lift(options, *task, report);
  if (!options.common.json_on_stdout()) fmt::print("{}", text(report));
  return options.common.write_json({{"lift", report.lift.nests},
                                    {"refusals", report.lift.refusals},
                                    {"sites", report.lift.sites},
                                    {"check", check_text(report)}})
             ? kDone
             : kEnvironmentLacks;
}

int run(const Options& options) {
  if (options.lift) return show_lift(options);
  auto store = options.database.open_existing();
  if (!store) return options.common.fail(store.error());
  // With --ablate it is what steps are measured on, whether the candidate was or not.
  const auto shown = read(**store, options.candidate, options.ablate ? "" : options.device.device);
  if (!shown) return options.common.fail(shown.error());
  const BoardRow& row = shown->row;
  std::optional<Ablation> ablation;
  if (options.ablate) {
    auto measured = measure(options, row, **store);
    if (!measured) return options.common.fail(measured.error());
    ablation = std::move(*measured);
  }
  const std::string source = open_rewriting()->formatted(row.candidate.program.source);
  if (!options.common.json_on_stdout()) {
    if (!options.source_only) {
      print(*shown, ablation);
      fmt::print("\n");
    }
    fmt::print("{}\n", source);
  }
  nlohmann::json document = results::candidate_json(row, shown->finals, source);
  const Measurement& m = row.evaluation.measurement;
  document["clock_mhz"] = m.clock_mhz > 0 ? nlohmann::json(m.clock_mhz) : nullptr;
  document["roofline"] = shown->roofline
                             ? results::roofline_json(*shown->roofline, m.time_us, m.modelled)
                             : nlohmann::json();
  document["runs"] = nlohmann::json::array();
  for (const auto& [run, found_at] : shown->runs) {
    nlohmann::json one = results::run_json(run);
    one["found_at"] = found_at;
    document["runs"].push_back(std::move(one));
  }
  document["replies"] = nlohmann::json::array();
  for (const ReplyRecord& reply : shown->replies)
    document["replies"].push_back(results::reply_json(reply));
  if (ablation) document["ablation"] = ablation_json(*ablation);
  return options.common.write_json(document) ? kDone : kEnvironmentLacks;
}

}  // namespace
}  // namespace show_command

Registration add_show(CLI::App& root) {
  using namespace show_command;
  auto options = std::make_shared<Options>();
  CLI::App* app =
      root.add_subcommand("show", "Show one candidate: its numbers, recipe, launches and source");
  app->add_option("CANDIDATE", options->candidate,
                  "A candidate's id, or the beginning of it; with --lift also a task's file")
      ->required();
  app->add_flag("--source", options->source_only, "Print only the source");
  app->add_flag("--lift", options->lift,
                "Show what its program computes, as loop nests, and which generators can write it");
  app->add_flag(
      "--ablate", options->ablate,
      "Measure what each step of its recipe contributes, by evaluating the recipe without it");
  options->device.add_to(
      *app,
      "the one that the candidate was found on. Shows its numbers on this device's board; "
      "with --ablate, measures on it");
  options->database.add_to(*app);
  add_json_option(*app, options->common);
  return {app, [options] { return run(*options); }};
}

}  // namespace hone::cli
