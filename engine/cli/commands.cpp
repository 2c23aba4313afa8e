#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "engine/cli/command.h"
#include "rewriters/llm/client/key.h"

namespace hone::cli {

namespace {

/// Letters to change, add or leave out.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j < row.size(); ++j) row[j] = j;
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

/// The name that is most like `word`; empty: none is like it.
std::string nearest(const std::string& word, const std::vector<std::string>& names) {
  std::string best;
  std::size_t least = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string& name : names) {
    const std::size_t apart = distance(word, name);
    if (apart >= least) continue;
    least = apart;
    best = name;
  }
  return best;
}

/// A first word that is no command; empty where there is nothing wrong with it.
std::string unknown_command(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return "";
  const std::string word = argv[1];
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  if (std::ranges::find(names, word) != names.end()) return "";
  const std::string like = nearest(word, names);
  return fmt::format("there is no command '{}'; {}`hone --help` lists them", word,
                     like.empty() ? "" : fmt::format("did you mean '{}'? ", like));
}

/// The options of the command that are like those that it does not have.
void suggest_options(const CLI::App& app, int argc, char** argv) {
  for (const CLI::App* command : app.get_subcommands()) {
    std::vector<std::string> names;
    for (const CLI::Option* option : command->get_options())
      for (const std::string& name : option->get_lnames()) names.push_back(name);
    for (int i = 2; i < argc; ++i) {
      const std::string word = argv[i];
      if (!word.starts_with("--") || word == "--") continue;
      const std::string name = word.substr(2, word.find('=') - 2);
      if (std::ranges::find(names, name) != names.end()) continue;
      std::string like = nearest(name, names);
      // What others call it.
      if (name == "arch" && std::ranges::find(names, "device") != names.end()) like = "device";
      if (!like.empty()) fmt::print(stderr, "hone: --{}: did you mean --{}?\n", name, like);
    }
  }
}

}  // namespace

int run_command_line(int argc, char** argv) {
  CLI::App app("hone searches for a faster program that computes what your CUDA kernel computes.");
  app.set_version_flag("--version", std::string("hone ") + HONE_VERSION);
  app.require_subcommand(1);
  app.failure_message(CLI::FailureMessage::simple);

  const Registration commands[] = {
      add_optimize(app), add_bench(app),       add_evaluate(app),    add_check(app),
      add_init(app),     add_import(app),      add_leaderboard(app), add_show(app),
      add_verify(app),   add_diff(app),        add_export(app),      add_rules(app),
      add_baseline(app), add_describe(app),    add_calibrate(app),   add_doctor(app),
      add_submit(app),   add_jobs(app),        add_watch(app),       add_cancel(app),
      add_workers(app),  add_coordinator(app), add_worker(app),      add_serve(app),
      add_report(app),   add_prompt(app),      add_db(app)};
  if (const std::string wrong = unknown_command(app, argc, argv); !wrong.empty()) {
    fmt::print(stderr, "hone: {}\n", wrong);
    return kUsage;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ExtrasError& error) {
    suggest_options(app, argc, argv);
    return app.exit(error) == 0 ? kDone : kUsage;
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
