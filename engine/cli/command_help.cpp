// hone help [COMMAND]: what `hone COMMAND --help` prints.
#include <fmt/core.h>

#include "engine/cli/command.h"
#include "engine/cli/usage.h"

namespace hone::cli {

Registration add_help(CLI::App& root) {
  auto words = std::make_shared<std::vector<std::string>>();
  CLI::App* app =
      root.add_subcommand("help",
                          "Tell what a command does and which options it has; without one, "
                          "list all commands");
  app->add_option("COMMAND", *words, "The command, such as optimize");
  return {app, [&root, words] {
            const CommandUsage all = usage_of(root);
            const CommandUsage* usage = &all;
            for (const std::string& word : *words) {
              const CommandUsage* below = usage->find(word);
              if (below == nullptr)
                return Common().fail({ErrorCode::kInvalidInput, unknown_command(*usage, word)});
              usage = below;
            }
            fmt::print("{}", help_text(*usage, help_width()));
            return static_cast<int>(kDone);
          }};
}

}  // namespace hone::cli
