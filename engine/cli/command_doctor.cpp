#include <fmt/core.h>

#include <algorithm>

#include "engine/cli/command.h"

namespace hone::cli {
namespace doctor_command {
namespace {

int run(const Common& common) {
  std::vector<DoctorItem> items = diagnose();
  const auto path = Store::default_path();
  items.push_back({"database", true, path.string() + " (default place)", false});
  nlohmann::json document = {{"hone_version", HONE_VERSION}, {"items", nlohmann::json::array()}};
  bool complete = true;
  for (const DoctorItem& item : items) {
    if (!common.json_on_stdout()) {
      fmt::print("{:<8} {:<27} {}\n",
                 item.present    ? "ok"
                 : item.required ? "MISSING"
                                 : "none",
                 item.name, item.detail);
    }
    complete = complete && (item.present || !item.required);
    document["items"].push_back({{"name", item.name},
                                 {"present", item.present},
                                 {"required", item.required},
                                 {"detail", item.detail}});
  }
  document["ok"] = complete;
  if (!common.json_on_stdout()) {
    fmt::print("{}\n", complete ? "everything that is needed is here"
                                : "something that is needed is missing: see above");
  }
  if (!common.write_json(document)) return kEnvironmentLacks;
  return complete ? kDone : kEnvironmentLacks;
}

}  // namespace
}  // namespace doctor_command

Registration add_doctor(CLI::App& root) {
  using namespace doctor_command;
  auto common = std::make_shared<Common>();
  CLI::App* app = root.add_subcommand("doctor",
                                      "Show what is installed, what is missing, which sandbox "
                                      "layers there are, what to do about it");
  add_json_option(*app, *common);
  return {app, [common] { return run(*common); }};
}

}  // namespace hone::cli
