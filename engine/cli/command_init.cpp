#include <fmt/core.h>

#include <chrono>
#include <filesystem>

#include "candidates/task_file.h"
#include "candidates/task_reader.h"
#include "engine/cli/command.h"
#include "engine/rewriting/init/choose.h"
#include "engine/rewriting/init/gather.h"
#include "evaluator/sanitize.h"

namespace hone::cli {
namespace init_command {
namespace {

constexpr std::chrono::seconds kMostTime{40};  // for guesses on the emulator

struct Options {
  Common common;
  std::string file;
  std::vector<std::string> folders;
  std::vector<std::string> defines;
  std::string kernel;
  std::string output;
  bool force = false;
  bool check = true;
  sandbox::Mode sandbox = sandbox::Mode::kBestEffort;
};

/// What the emulated GPU finds at the check sizes: the first finding; empty: nothing. Errors: it
/// could not be tried.
Result<std::string> first_finding(const std::string& text, const std::string& path,
                                  sandbox::Mode mode) {
  const auto task = parse_task(text, path);
  if (!task) return task.error().message;
  const auto device = open_device({.device = "emu:sm_90", .profile = "", .sandbox = mode}, *task,
                                  MissingLayers::kUntold);
  if (!device) return std::unexpected(device.error());
  for (const Bindings& at : task->check_sizes) {
    SanitizeRequest request;
    auto concrete = instantiate(task->reference, at);
    if (!concrete) return concrete.error().message;
    request.program = std::move(*concrete);
    request.max_findings = 2;
    const auto result = sanitize(*device->evaluator, request);
    if (!result) return std::unexpected(result.error());
    if (!result->findings.empty()) return result->findings.front().finding.what;
    if (result->verdict != Verdict::kOk)
      return fmt::format("{}: {}", to_string(result->verdict), result->detail);
  }
  return std::string();
}

Result<std::map<std::string, std::string>> defines_of(const std::vector<std::string>& given) {
  std::map<std::string, std::string> defines;
  for (const std::string& text : given) {
    const auto equals = text.find('=');
    const std::string name = text.substr(0, equals);
    if (!is_c_identifier(name))
      return invalid(fmt::format("-D {}: write NAME or NAME=VALUE", text));
    defines[name] = equals == std::string::npos ? "1" : text.substr(equals + 1);
  }
  return defines;
}

int run(const Options& options) {
  const Common& common = options.common;
  const std::filesystem::path path(options.file);
  const auto content = read_text_file(path);
  if (!content) return common.fail(content.error());
  if (find_task_comment(*content)) {
    return common.fail({ErrorCode::kInvalidInput,
                        fmt::format("{}: there is a task comment already", options.file)});
  }
  std::string output = options.output;
  if (output.empty()) output = (path.parent_path() / (path.stem().string() + ".task.cu")).string();
  if (output != "-" && !options.force && std::filesystem::exists(output)) {
    return common.fail({ErrorCode::kInvalidInput,
                        fmt::format("{}: exists already; --force overwrites it", output)});
  }
  const auto defines = defines_of(options.defines);
  if (!defines) return common.fail(defines.error());
  auto gathered = init::gather(path, {options.folders.begin(), options.folders.end()});
  if (!gathered) return common.fail(gathered.error());
  const auto made = open_rewriting(options.sandbox)
                        ->init({std::move(gathered->text), options.file, *defines, options.kernel});
  if (!made) {
    for (const std::string& note : gathered->notes) fmt::print(stderr, "look at: {}\n", note);
    return common.fail(made.error());
  }
  init::FirstFinding check;
  if (options.check) {
    check = [&](const std::string& text) {
      return first_finding(text, output == "-" ? options.file : output, options.sandbox);
    };
  }
  const init::Chosen chosen = init::choose_attempt(*made, gathered->notes, check, kMostTime);
  if (!(output == "-" && common.json_on_stdout())) {
    auto written = write_text(output, chosen.text);
    if (!written) return common.fail(written.error());
  }
  const InitResult::Attempt& best = chosen.attempt;
  for (const std::string& note : best.notes) fmt::print(stderr, "look at: {}\n", note);
  if (output != "-") {
    if (chosen.clean) {
      fmt::print(stderr, "wrote {}; next: hone optimize {}\n", output, shell_word(output));
    } else {
      fmt::print(stderr, "wrote {}; next: mend it until `hone check {}` finds nothing\n", output,
                 shell_word(output));
    }
  }
  if (!common.write_json({{"file", output}, {"task", best.task}, {"notes", best.notes}}))
    return kEnvironmentLacks;
  return chosen.clean ? kDone : kCheckFailed;
}

}  // namespace
}  // namespace init_command

Registration add_init(CLI::App& root) {
  using namespace init_command;
  auto options = std::make_shared<Options>();
  CLI::App* app = root.add_subcommand(
      "init", "Write a first version of a task from a CUDA file, which may hold host code");
  app->add_option("FILE", options->file, "A .cu file with one or more __global__ functions")
      ->required();
  app->add_option("-I", options->folders, "A folder to look for headers in; may be repeated")
      ->type_name("DIR");
  app->add_option("-D", options->defines, "A macro, as for a compiler; may be repeated")
      ->type_name("NAME[=VALUE]");
  app->add_option("--kernel", options->kernel, "Make the task of this kernel's first launch alone")
      ->type_name("NAME");
  app->add_option("-o,--output", options->output,
                  "Write to FILE, or to stdout for '-'; default: NAME.task.cu beside it")
      ->type_name("FILE|-");
  app->add_flag("--force", options->force, "Overwrite the output file if it is there");
  add_off_flag(*app, "--no-check", options->check,
               "Do not try the guesses on the emulated GPU: the first ones are written");
  add_sandbox_option(*app, options->sandbox);
  add_json_option(*app, options->common);
  return {app, [options] { return run(*options); }};
}

}  // namespace hone::cli
