// random_nests --from 0 --count 1000 [--generators] [--print]: random naive kernels, lifted and
// compared; or the tasks given by name. Ends with how many were lifted and why the others were not.
// Exit status 1: a wrong answer.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <map>

#include "candidates/task_reader.h"
#include "rewriters/lift/lift.h"
#include "tests/lift/harness.h"
#include "tests/lift/random_nests/generator.h"

int main(int argc, char** argv) {
  CLI::App app("Random naive kernels, lifted and compared with the emulated ones");
  std::uint64_t from = 0, count = 100;
  bool with_generators = false, print = false;
  std::vector<std::string> files;
  app.add_option("--from", from, "first seed");
  app.add_option("--count", count, "of seeds");
  app.add_flag("--generators", with_generators, "every generator that matches, too");
  app.add_flag("--print", print, "the tasks, and what they lift to");
  app.add_option("files", files, "tasks instead of seeds");
  CLI11_PARSE(app, argc, argv);

  int lifted = 0, wrong = 0, sites = 0, generated = 0;
  std::map<std::string, int> refusals, ungenerated;
  const std::uint64_t tasks = files.empty() ? count : files.size();
  for (std::uint64_t i = 0; i < tasks; ++i) {
    const std::string name =
        files.empty() ? fmt::format("random_{}.cu", from + i) : files[static_cast<std::size_t>(i)];
    const std::string text = files.empty() ? hone::lift_tests::random_task(from + i) : "";
    const auto task = files.empty() ? hone::parse_task(text, name) : hone::read_task(name);
    if (!task) {
      std::cout << task.error().message << "\n" << text << "\n";
      return 2;
    }
    if (print) {
      std::cout << text;
      for (const auto& sizes : task->check_sizes) {
        const auto program = hone::nest::lift(task->reference, sizes);
        if (program) std::cout << hone::nest::to_string(*program) << std::flush;
      }
    }
    const auto outcome =
        hone::lift_tests::check(*task, {.sites = true, .generators = with_generators});
    sites += outcome.sites;
    generated += outcome.generated;
    lifted += outcome.lifted() ? 1 : 0;
    if (!outcome.lifted()) {
      ++refusals[outcome.refusals[0]];
      if (print) std::cout << "refused: " << outcome.refusals[0] << "\n";
    }
    for (const std::string& why : outcome.ungenerated) ++ungenerated[why];
    for (const std::string& what : outcome.unrun) std::cout << "NOT RUN: " << what << "\n";
    if (outcome.wrong.empty()) continue;
    ++wrong;
    std::cout << fmt::format("WRONG: {}\n", name);
    for (const std::string& what : outcome.wrong) std::cout << "  " << what << "\n";
  }
  std::cout << fmt::format("{} of {} lifted, {} wrong; {} sites, {} generated programs compared\n",
                           lifted, tasks, wrong, sites, generated);
  for (const auto& [reason, times] : refusals)
    std::cout << fmt::format("  refused {} times: {}\n", times, reason);
  for (const auto& [reason, times] : ungenerated)
    std::cout << fmt::format("  not generated: {}\n", reason);
  return wrong == 0 ? 0 : 1;
}
