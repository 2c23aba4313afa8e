#include <fmt/core.h>

#include "engine/cli/command.h"
#include "rewriters/core/registry.h"

namespace hone::cli {

Registration add_rules(CLI::App& root) {
  auto common = std::make_shared<Common>();
  CLI::App* app =
      root.add_subcommand("rules", "List the rewriters, in the order in which they are tried");
  add_json_option(*app, *common);
  return {app, [common] {
            nlohmann::json document = {{"rewriters", nlohmann::json::array()}};
            for (const Rewriter* rewriter : rewriters()) {
              if (!common->json_on_stdout()) {
                fmt::print("{:<20} {}\n", rewriter->name(), rewriter->summary());
              }
              document["rewriters"].push_back({{"name", rewriter->name()},
                                               {"version", rewriter->version()},
                                               {"summary", rewriter->summary()}});
            }
            return common->write_json(document) ? kDone : kEnvironmentLacks;
          }};
}

}  // namespace hone::cli
