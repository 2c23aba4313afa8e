#include <fmt/core.h>

#include <expected>

#include "candidates/export/export.h"
#include "candidates/export/launched.h"
#include "engine/cli/command.h"
#include "evaluator/plan_file.h"

namespace hone::cli {
namespace export_command {
namespace {

struct Options {
  Common common;
  DatabaseOptions database;
  std::vector<std::string> candidates;
  std::string format = "cu";
  std::string output = "-";
  std::string arch;
};

constexpr std::string_view kPlanFormat = "plan";

std::string hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const unsigned char byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

/// The candidates that were named. Prints an error itself: the exit status then.
std::expected<std::vector<BoardRow>, int> find_rows(const Options& options, Store& store) {
  std::vector<BoardRow> rows;
  for (const std::string& candidate : options.candidates) {
    auto row = store.find_candidate(candidate);
    if (!row) return std::unexpected(options.common.fail(row.error()));
    const Evaluation& e = row->evaluation;
    if (e.verdict != Verdict::kOk && options.format != "json") {
      return std::unexpected(options.common.fail(
          {ErrorCode::kInvalidInput,
           fmt::format("candidate {} is not for use: it ended as {}{}{}; --format json has it all",
                       row->candidate.id, to_string(e.verdict), e.detail.empty() ? "" : ": ",
                       e.detail)}));
    }
    if (!e.final_stage)
      fmt::print(stderr, "hone: candidate {} did not go through the final stage\n",
                 row->candidate.id);
    rows.push_back(std::move(*row));
  }
  return rows;
}

/// What a caller has to know of a plan beside its bytes.
nlohmann::json about_plan(const Launched& launched, const Plan& plan, const Task& task) {
  nlohmann::json buffers = nlohmann::json::array();
  for (const std::size_t index : launched.callers) {
    const ConcreteBuffer& buffer = launched.program.buffers[index];
    const Buffer* given = task.reference.find_buffer(buffer.name);
    buffers.push_back({{"name", buffer.name},
                       {"type", to_string(buffer.type)},
                       {"role", to_string(given->role)},
                       {"shape", buffer.shape}});
  }
  nlohmann::json given = nlohmann::json::object();
  for (const std::string& size : launched.given) given[size] = task.sizes.at(size);
  return {{"name", launched.name},
          {"arch", launched.arch},
          {"buffers", buffers},
          {"given", given},
          {"scratch_bytes", plan.scratch_bytes},
          {"launches", plan.launches.size()}};
}

/// Machine code and launches of one candidate.
int write_plan(const Options& options, const BoardRow& row, const Task& task) {
  const auto launched = launched_candidate(row, task, options.arch);
  if (!launched) return options.common.fail(launched.error());
  const auto plan = compile_plan(launched->program, launched->callers, launched->arch, {});
  if (!plan) return options.common.fail(plan.error());
  const std::string bytes = to_bytes(*plan);
  if (options.output != "-" || !options.common.json_on_stdout()) {
    if (auto written = write_text(options.output, bytes); !written)
      return options.common.fail(written.error());
  }
  nlohmann::json document = about_plan(*launched, *plan, task);
  document.update({{"candidate", row.candidate.id},
                   {"candidates", {row.candidate.id}},
                   {"format", kPlanFormat},
                   {"plan", hex(bytes)}});
  return options.common.write_json(document) ? kDone : kEnvironmentLacks;
}

int run(const Options& options) {
  auto store = options.database.open_existing();
  if (!store) return options.common.fail(store.error());
  auto rows = find_rows(options, **store);
  if (!rows) return rows.error();
  auto task = (*store)->task_of(rows->at(0));
  if (!task) return options.common.fail(task.error());
  if (options.format == kPlanFormat) {
    if (rows->size() == 1) return write_plan(options, rows->at(0), *task);
    return options.common.fail({ErrorCode::kInvalidInput, "a plan is of one candidate"});
  }
  const auto format = parse_export_format(options.format);
  if (!format) return options.common.fail({ErrorCode::kInternal, "an unknown format"});
  if (!options.arch.empty())
    return options.common.fail({ErrorCode::kInvalidInput, "--arch is for --format plan"});
  const auto rewriting = open_rewriting();
  auto text = export_formatted(*format, *rows, *task, [&](const std::string& source) {
    return rewriting->formatted(source);
  });
  if (!text) return options.common.fail(text.error());
  if (options.output == "-" && options.common.json_on_stdout()) {
    // The text travels inside the document.
  } else if (auto written = write_text(options.output, *text); !written) {
    return options.common.fail(written.error());
  }
  nlohmann::json ids = nlohmann::json::array();
  for (const BoardRow& row : *rows) ids.push_back(row.candidate.id);
  return options.common.write_json({{"candidate", ids.at(0)},
                                    {"candidates", ids},
                                    {"format", options.format},
                                    {"text", *text}})
             ? kDone
             : kEnvironmentLacks;
}

}  // namespace
}  // namespace export_command

Registration add_export(CLI::App& root) {
  using namespace export_command;
  auto options = std::make_shared<Options>();
  CLI::App* app = root.add_subcommand("export", "Write a candidate as source for a project");
  app->add_option(
         "CANDIDATE", options->candidates,
         "A candidate's id, or the beginning of it. Several, of one task and found on different "
         "architectures: one file that chooses by the device")
      ->required();
  app->add_option(
         "--format", options->format,
         "cu: one file with the kernels and a launcher; hpp: a header whose launch "
         "function runs the reference at other sizes; torch: a Python module with a "
         "PyTorch operator; cupy: a Python module for CuPy; plan: machine code and launches, for "
         "libhone_launch.so; json: all that is known. `hone evaluate` takes cu and hpp back")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"cu", "hpp", "torch", "cupy", "plan", "json"}))
      ->capture_default_str();
  app->add_option("--arch", options->arch,
                  "With --format plan: the architecture to compile for, such as sm_90; default: "
                  "where the candidate was found")
      ->type_name("ARCH");
  app->add_option("-o,--output", options->output, "Write to FILE, or to stdout for '-'")
      ->type_name("FILE|-")
      ->capture_default_str();
  options->database.add_to(*app);
  add_json_option(*app, options->common);
  return {app, [options] { return run(*options); }};
}

}  // namespace hone::cli
