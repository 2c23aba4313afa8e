#include <fmt/core.h>

#include "engine/cli/command.h"
#include "rewriters/llm/client/key.h"

namespace hone::cli {

int run_command_line(int argc, char** argv) {
  CLI::App app("hone searches for a faster program that computes what your CUDA kernel computes.");
  app.set_version_flag("--version", std::string("hone ") + HONE_VERSION);
  app.require_subcommand(1);
  app.failure_message(CLI::FailureMessage::simple);

  const Registration commands[] = {
      add_optimize(app),    add_bench(app),       add_evaluate(app), add_check(app),
      add_init(app),        add_leaderboard(app), add_show(app),     add_verify(app),
      add_diff(app),        add_export(app),      add_rules(app),    add_baseline(app),
      add_describe(app),    add_calibrate(app),   add_doctor(app),   add_submit(app),
      add_jobs(app),        add_watch(app),       add_cancel(app),   add_workers(app),
      add_coordinator(app), add_worker(app),      add_serve(app),    add_report(app),
      add_prompt(app)};
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kDone : kUsage;
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
