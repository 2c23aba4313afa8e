// hone completion, hone man: what shells and man(1) are to know of the command line.
#include "engine/cli/command.h"
#include "engine/cli/usage.h"
#include "engine/results/build_info.h"

namespace hone::cli {
namespace completion_command {
namespace {

int print(const std::string& text) {
  const auto written = write_text("-", text);
  return written ? static_cast<int>(kDone) : Common().fail(written.error());
}

}  // namespace
}  // namespace completion_command

Registration add_completion(CLI::App& root) {
  auto shell = std::make_shared<std::string>();
  CLI::App* app = root.add_subcommand("completion",
                                      "Print a completion script for a shell; packages install it");
  app->add_option("SHELL", *shell,
                  "bash (to be sourced in ~/.bashrc), zsh (a file _hone in a folder of $fpath) or "
                  "fish (~/.config/fish/completions/hone.fish)")
      ->required()
      ->check(CLI::IsMember(completion_shells()));
  return {app, [&root, shell] {
            return completion_command::print(completion_script(*shell, usage_of(root)));
          }};
}

Registration add_man(CLI::App& root) {
  CLI::App* app = root.add_subcommand(
      "man", "Print the manual page, for `hone man | man -l -`; packages install it");
  return {app, [&root] {
            return completion_command::print(man_page(usage_of(root), build_info().version));
          }};
}

}  // namespace hone::cli
