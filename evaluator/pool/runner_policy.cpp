#include "evaluator/pool/runner_policy.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>

#include "evaluator/compile/locate.h"
#include "evaluator/pool/placement.h"
#include "evaluator/protocol/channel.h"
#include "sandbox/child.h"
#include "sandbox/kept_programs.h"

namespace hone::pool {
namespace {

using Access = sandbox::VisiblePath::Access;

constexpr double kAskTimeout_s = 60;

std::uint64_t machine_memory() {
  return static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

bool trace() {
  const char* value = std::getenv("HONE_TRACE");
  return value != nullptr && *value != '\0' && std::strcmp(value, "0") != 0;
}

/// What a runner of a mode uses, as it says itself.
struct Needs {
  std::vector<std::string> files;
  std::vector<std::string> gpus;  ///< "0000:03:00.0" by ordinal
};

std::vector<std::string> strings(const nlohmann::json& message, const char* key) {
  std::vector<std::string> out;
  if (!message.contains(key) || !message[key].is_array()) return out;
  for (const auto& item : message[key])
    if (item.is_string()) out.push_back(item.get<std::string>());
  return out;
}

void extend_library_path(std::vector<std::string>& environment, const std::string& folder) {
  for (auto& variable : environment) {
    if (variable.starts_with("LD_LIBRARY_PATH=")) {
      variable += ":" + folder;
      return;
    }
  }
  environment.push_back("LD_LIBRARY_PATH=" + folder);
}

std::vector<std::string> passed_environment(bool sees_all_gpus) {
  std::vector<std::string> names = {"CUDA_HOME",    "CUDA_PATH",     "LD_LIBRARY_PATH",
                                    "HONE_TRACE",   "HONE_LIBCUDA",  "HONE_LIBCUBLAS",
                                    "ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"};
  if (sees_all_gpus)
    names.insert(names.end(),
                 {"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "NVIDIA_VISIBLE_DEVICES"});
  auto environment = sandbox::pass_environment(names);
  // A program that is executed from memory does not find its libraries by itself.
  extend_library_path(environment, sandbox::library_folder());
  // Cached results come without the log that holds registers and spills.
  environment.push_back("CUDA_CACHE_DISABLE=1");
  return environment;
}

/// Starts `runner files MODE`, which runs nothing of a stranger's, without a sandbox.
Result<Needs> ask(const std::string& runner, const std::string& mode) {
  sandbox::Policy policy;
  policy.argv = {runner, "files", mode};
  policy.environment = passed_environment(true);
  policy.mode = sandbox::Mode::kOff;
  policy.wall_s = kAskTimeout_s;
  policy.inherit_stderr = trace();
  auto child = sandbox::Child::start(policy);
  if (!child) return std::unexpected(child.error());
  protocol::Channel channel((*child)->channel());
  const auto answer = channel.receive(kAskTimeout_s);
  if (answer.status != protocol::ReceiveStatus::kOk || !answer.message.is_object()) {
    const auto status = (*child)->wait(1);
    return fail(ErrorCode::kEnvironment,
                fmt::format("{} does not say which files it needs: {} {}", runner, status.text(),
                            protocol::clean_text((*child)->stderr_tail(), 512)));
  }
  return Needs{strings(answer.message, "files"), strings(answer.message, "gpus")};
}

Result<Needs> needs_of(const std::string& runner, const std::string& mode) {
  static std::mutex mutex;
  // The environment says where libraries are.
  static std::map<std::vector<std::string>, Needs> known;
  const std::lock_guard lock(mutex);
  std::vector<std::string> key = passed_environment(true);
  key.push_back(runner);
  key.push_back(mode);
  if (const auto found = known.find(key); found != known.end()) return found->second;
  auto needs = ask(runner, mode);
  if (needs) known[key] = *needs;
  return needs;
}

/// NVRTC looks for its built-ins by name: where the system's cache says, which may be another path
/// to the same folder.
void add_builtins(std::vector<std::string>& environment, const std::vector<std::string>& files) {
  std::string folder;
  for (const auto& file : files) {
    if (file.find("libnvrtc-builtins.so") != file.npos)
      folder = std::filesystem::path(file).parent_path();
  }
  if (!folder.empty()) extend_library_path(environment, folder);
}

/// N of /dev/nvidiaN; -1 where the driver does not say.
int minor_of(const std::string& pci) {
  std::ifstream file("/proc/driver/nvidia/gpus/" + pci + "/information");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("Device Minor:")) return std::atoi(line.c_str() + 13);
  }
  return -1;
}

/// The device nodes of one GPU; of all, with `ordinal` as it is, where its own cannot be told.
void add_gpu(RunnerPolicy& out, const Needs& needs, int ordinal) {
  const auto node = [&](const std::string& path) {
    out.policy.paths.push_back({path, Access::kDevice, true});
  };
  for (const char* path : {"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"})
    node(path);
  // What the driver reads: topology and the driver's parameters.
  for (const char* path : {"/sys/devices/system/cpu", "/sys/devices/system/node",
                           "/sys/bus/pci/devices", "/sys/devices/pci0000:00"})
    out.policy.paths.push_back({path, Access::kRead, true});
  const int minor = ordinal >= 0 && static_cast<std::size_t>(ordinal) < needs.gpus.size()
                        ? minor_of(needs.gpus[static_cast<std::size_t>(ordinal)])
                        : -1;
  const std::string own = fmt::format("/dev/nvidia{}", minor);
  if (minor >= 0 && access(own.c_str(), F_OK) == 0) {
    node(own);
    out.ordinal = 0;
    out.policy.environment = passed_environment(false);
    return;
  }
  std::error_code code;
  for (const auto& entry : std::filesystem::directory_iterator("/dev", code)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("nvidia") && name.size() > 6 && std::isdigit(name[6]) != 0)
      node(entry.path());
  }
}

}  // namespace

std::string runner_path(const EvaluatorOptions& options) {
  if (!options.runner_path.empty()) return options.runner_path;
  return sandbox::executable_folder() + "/hone-runner";
}

Result<std::vector<std::string>> gpu_addresses(const EvaluatorOptions& options) {
  auto needs = needs_of(runner_path(options), "measure");
  if (!needs) return std::unexpected(needs.error());
  return std::move(needs->gpus);
}

Result<RunnerPolicy> policy_for(const std::string& mode, int ordinal,
                                const EvaluatorOptions& options) {
  RunnerPolicy out;
  out.ordinal = ordinal;
  sandbox::Policy& policy = out.policy;
  policy.argv = {runner_path(options), mode};
  if (sandbox::kept_program(policy.argv[0]) < 0 && access(policy.argv[0].c_str(), X_OK) != 0) {
    return fail(ErrorCode::kEnvironment,
                fmt::format("there is no {}: it belongs beside hone; build it or install the whole "
                            "package",
                            policy.argv[0]));
  }
  policy.environment = passed_environment(true);
  policy.mode = options.sandbox;
  policy.inherit_stderr = trace();
  if (!trace()) policy.file_size = 0;  // what is traced may go to a file
  const bool device = mode == "measure" || mode == "library";
  if (device) policy.calls = sandbox::Calls::kDevice;
  policy.cores = cores_of_child(device ? ordinal : -1, options.placement);
  // The search waits for its rewrite runners.
  if (!device && mode != "rewrite") policy.niceness = options.helper_niceness;
#ifndef __SANITIZE_ADDRESS__  // its shadow memory alone is larger
  if (mode == "compile") policy.address_space = policy.memory = 4ULL << 30;
  if (mode == "emulate") policy.address_space = policy.memory = 16ULL << 30;
  if (mode == "rewrite") policy.address_space = policy.memory = 3ULL << 30;
#else
  policy.environment.push_back("ASAN_OPTIONS=detect_leaks=0");  // looking for them takes ptrace
#endif
  // A measure runner's address space is the GPU's affair, and its own memory holds the buffers.
  if (device) policy.memory = std::max(std::uint64_t{16} << 30, machine_memory() / 2);
  if (policy.mode == sandbox::Mode::kOff) return out;
  auto needs = needs_of(policy.argv[0], mode);
  if (!needs) return std::unexpected(needs.error());
  for (const auto& file : needs->files) policy.paths.push_back({file, Access::kRead, true});
  if (device || mode == "emulate")
    for (const auto& file : options.input_files)
      policy.paths.push_back({file, Access::kRead, true});
  add_builtins(policy.environment, needs->files);
  policy.paths.push_back({"/dev/urandom", Access::kDevice, true});
  policy.paths.push_back({"/etc/ld.so.cache", Access::kRead, true});
  if (device) add_gpu(out, *needs, ordinal);
  return out;
}

}  // namespace hone::pool
