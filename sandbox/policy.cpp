#include "sandbox/policy.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

namespace hone::sandbox {
namespace {

constexpr std::array<std::string_view, 3> kModes = {"off", "best-effort", "strict"};
constexpr std::array<std::string_view, kLayerCount> kLayers = {
    "user namespace",    "pid namespace",   "private root",
    "private /proc",     "ipc namespace",   "network namespace",
    "no new privileges", "no capabilities", "Landlock",
    "seccomp",           "limits",          "memory cgroup"};

}  // namespace

Result<Mode> parse_mode(std::string_view text) {
  for (std::size_t i = 0; i < kModes.size(); ++i) {
    if (text == kModes[i]) return static_cast<Mode>(i);
  }
  return fail(ErrorCode::kInvalidInput,
              fmt::format("no sandbox mode '{}': strict, best-effort or off", text));
}

std::string_view to_string(Mode mode) { return kModes.at(static_cast<std::size_t>(mode)); }
std::string_view to_string(Layer layer) { return kLayers.at(static_cast<std::size_t>(layer)); }

std::string encode(const Policy& p) {
  nlohmann::json paths = nlohmann::json::array();
  for (const auto& v : p.paths) {
    paths.push_back(
        {{"path", v.path}, {"access", static_cast<int>(v.access)}, {"optional", v.optional}});
  }
  const nlohmann::json json = {{"argv", p.argv},
                               {"environment", p.environment},
                               {"working_directory", p.working_directory},
                               {"mode", static_cast<int>(p.mode)},
                               {"paths", paths},
                               {"calls", static_cast<int>(p.calls)},
                               {"processes", p.processes},
                               {"memory", p.memory},
                               {"address_space", p.address_space},
                               {"file_size", p.file_size},
                               {"open_files", p.open_files},
                               {"cpu_s", p.cpu_s},
                               {"niceness", p.niceness},
                               {"cores", p.cores},
                               {"wall_s", p.wall_s},
                               {"output", p.output},
                               {"inherit_stderr", p.inherit_stderr}};
  std::string bytes;
  nlohmann::json::to_cbor(json, bytes);
  return bytes;
}

Result<Policy> decode_policy(std::string_view bytes) {
  try {
    const auto json = nlohmann::json::from_cbor(bytes);
    Policy p;
    json.at("argv").get_to(p.argv);
    json.at("environment").get_to(p.environment);
    json.at("working_directory").get_to(p.working_directory);
    p.mode = static_cast<Mode>(json.at("mode").get<int>());
    for (const auto& v : json.at("paths")) {
      p.paths.push_back({v.at("path").get<std::string>(),
                         static_cast<VisiblePath::Access>(v.at("access").get<int>()),
                         v.at("optional").get<bool>()});
    }
    p.calls = static_cast<Calls>(json.at("calls").get<int>());
    json.at("processes").get_to(p.processes);
    json.at("memory").get_to(p.memory);
    json.at("address_space").get_to(p.address_space);
    json.at("file_size").get_to(p.file_size);
    json.at("open_files").get_to(p.open_files);
    json.at("cpu_s").get_to(p.cpu_s);
    json.at("niceness").get_to(p.niceness);
    json.at("cores").get_to(p.cores);
    json.at("wall_s").get_to(p.wall_s);
    json.at("output").get_to(p.output);
    json.at("inherit_stderr").get_to(p.inherit_stderr);
    return p;
  } catch (const nlohmann::json::exception& e) {
    return fail(ErrorCode::kInternal, fmt::format("sandbox policy: {}", e.what()));
  }
}

}  // namespace hone::sandbox
