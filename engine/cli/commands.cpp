#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/cli/command.h"
#include "engine/cli/usage.h"
#include "engine/results/build_info.h"
#include "rewriters/llm/client/key.h"

namespace hone::cli {

namespace {

/// The command whose help is asked for, or whose options are wrong.
const CommandUsage& parsed_usage(const CLI::App& app, const CommandUsage& usage) {
  const auto parsed = app.get_subcommands();
  const CommandUsage* below = parsed.empty() ? nullptr : usage.find(parsed.front()->get_name());
  return below == nullptr ? usage : parsed_usage(*parsed.front(), *below);
}

/// CLI11's words for what only it can see, such as a value that is no number.
std::string said_of(const CLI::ParseError& error, const CommandUsage& usage) {
  return fmt::format("{}; `hone help{}{}` tells more", error.what(), usage.name.empty() ? "" : " ",
                     usage.name);
}

}  // namespace

int run_command_line(int argc, char** argv) {
  CLI::App app("hone searches for a faster program that computes what your CUDA kernel computes.");
  app.set_help_flag("--help,-h", "Print this help");
  app.set_version_flag("--version,-V", "hone " + build_info().version)
      ->description("Print the version; `hone version` tells more");
  app.require_subcommand(1);

  const Registration commands[] = {
      add_optimize(app), add_bench(app),       add_evaluate(app),    add_check(app),
      add_init(app),     add_import(app),      add_leaderboard(app), add_show(app),
      add_verify(app),   add_diff(app),        add_export(app),      add_rules(app),
      add_baseline(app), add_describe(app),    add_calibrate(app),   add_doctor(app),
      add_submit(app),   add_jobs(app),        add_watch(app),       add_cancel(app),
      add_workers(app),  add_coordinator(app), add_worker(app),      add_serve(app),
      add_report(app),   add_prompt(app),      add_db(app),          add_completion(app),
      add_man(app),      add_version(app),     add_help(app)};
  const CommandUsage usage = usage_of(app);
  const std::string mistake = mistake_in(usage, {argv + std::min(argc, 1), argv + argc});
  if (!mistake.empty()) {
    fmt::print(stderr, "hone: {}\n", mistake);
    return kUsage;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", help_text(parsed_usage(app, usage), help_width()));
    return kDone;
  } catch (const CLI::CallForVersion& version) {
    fmt::print("{}\n", version.what());
    return kDone;
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "hone: {}\n", said_of(error, parsed_usage(app, usage)));
    return kUsage;
  }
  for (const Registration& command : commands) {
    if (!command.app->parsed()) continue;
    // Who asks no language model need not have its key, nor its children.
    if (command.app->get_option_no_throw("--llm-key-file") == nullptr)
      (void)llm::Key::from_environment();
    return command.run();
  }
  return kUsage;
}

}  // namespace hone::cli
