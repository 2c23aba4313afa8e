#include <fmt/core.h>

#include <filesystem>

#include "candidates/task_file.h"
#include "candidates/task_reader.h"
#include "engine/cli/command.h"

namespace hone::cli {
namespace init_command {
namespace {

struct Options {
  Common common;
  std::string kernel;
  std::string output;
  bool force = false;
  sandbox::Mode sandbox = sandbox::Mode::kBestEffort;
};

int run(const Options& options) {
  const Common& common = options.common;
  const std::filesystem::path path(options.kernel);
  const auto content = read_text_file(path);
  if (!content) return common.fail(content.error());
  if (find_task_comment(*content)) {
    return common.fail({ErrorCode::kInvalidInput,
                        fmt::format("{}: there is a task comment already", options.kernel)});
  }
  const auto made = open_rewriting(options.sandbox)->init(*content, options.kernel);
  if (!made) return common.fail(made.error());
  const std::string json = made->task.dump(2);
  std::string output = options.output;
  if (output.empty()) output = (path.parent_path() / (path.stem().string() + ".task.cu")).string();
  if (output != "-" && !options.force && std::filesystem::exists(output)) {
    return common.fail({ErrorCode::kInvalidInput,
                        fmt::format("{}: exists already; --force overwrites it", output)});
  }
  if (!(output == "-" && common.json_on_stdout())) {
    auto written = write_text(output, "/* hone " + json + " */\n" + *content);
    if (!written) return common.fail(written.error());
  }
  for (const std::string& note : made->notes) fmt::print(stderr, "look at it: {}\n", note);
  if (output != "-") fmt::print(stderr, "wrote {}; next: hone optimize {}\n", output, output);
  return common.write_json({{"file", output}, {"task", made->task}, {"notes", made->notes}})
             ? kDone
             : kEnvironmentLacks;
}

}  // namespace
}  // namespace init_command

Registration add_init(CLI::App& root) {
  using namespace init_command;
  auto options = std::make_shared<Options>();
  CLI::App* app =
      root.add_subcommand("init", "Write the first version of a task from a kernel's signature");
  app->add_option("KERNEL", options->kernel, "A .cu file with one or more __global__ functions")
      ->required();
  app->add_option("-o,--output", options->output,
                  "File to write, or -; default: <name>.task.cu beside it");
  app->add_flag("--force", options->force, "Overwrite the output file");
  add_sandbox_option(*app, options->sandbox);
  add_json_option(*app, options->common);
  return {app, [options] { return run(*options); }};
}

}  // namespace hone::cli
