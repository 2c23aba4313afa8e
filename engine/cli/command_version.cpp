// hone version: this program, what it was built with, what it found, and the formats it speaks.
#include <fmt/core.h>

#include "engine/cli/command.h"
#include "engine/queue/messages.h"
#include "engine/results/build_info.h"
#include "evaluator/compile/locate.h"
#include "evaluator/compile/nvrtc.h"
#include "evaluator/protocol/channel.h"

namespace hone::cli {
namespace version_command {
namespace {

nlohmann::json found() {
  const auto& nvrtc = compile::Nvrtc::get();
  const auto headers = compile::include_folder();
  nlohmann::json document = {{"nvrtc", nullptr}, {"cuda_headers", nullptr}};
  if (nvrtc) document["nvrtc"] = {{"name", nvrtc->text()}, {"path", nvrtc->path}};
  if (!headers.empty()) document["cuda_headers"] = headers.string();
  return document;
}

int run(const Common& common) {
  const BuildInfo& build = build_info();
  nlohmann::json document = {{"version", build.version},
                             {"commit", build.commit},
                             {"compiler", build.compiler},
                             {"build_type", build.build_type},
                             {"formats",
                              {{"database", Store::format_version()},
                               {"queue", queue::kQueueVersion},
                               {"runner", protocol::kVersion}}}};
  document.update(found());
  if (!common.json_on_stdout()) {
    const auto& nvrtc = document["nvrtc"];
    const auto& headers = document["cuda_headers"];
    fmt::print("hone {} ({})\n", build.version, build.commit);
    fmt::print("built with   {}, {}\n", build.compiler, build.build_type);
    fmt::print("NVRTC        {}\n", nvrtc.is_null()
                                        ? "not found; `hone doctor` says what to do"
                                        : fmt::format("{} ({})", nvrtc["name"].get<std::string>(),
                                                      nvrtc["path"].get<std::string>()));
    fmt::print("CUDA headers {}\n", headers.is_null() ? "not found" : headers.get<std::string>());
    fmt::print("formats      database {}, queue {}, runners {}\n", Store::format_version(),
               queue::kQueueVersion, protocol::kVersion);
  }
  return common.write_json(document) ? kDone : kEnvironmentLacks;
}

}  // namespace
}  // namespace version_command

Registration add_version(CLI::App& root) {
  auto common = std::make_shared<Common>();
  CLI::App* app = root.add_subcommand(
      "version",
      "Print version, commit, compiler, the NVRTC and CUDA that are found, and which "
      "formats of database and messages this hone reads");
  add_json_option(*app, *common);
  return {app, [common] { return version_command::run(*common); }};
}

}  // namespace hone::cli
