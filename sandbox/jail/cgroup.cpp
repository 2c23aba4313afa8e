#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "sandbox/jail/jail.h"

namespace hone::sandbox::jail {
namespace {

/// Where cgroup v2 is mounted; empty: nowhere.
std::string mount_point() {
  std::ifstream mounts("/proc/self/mountinfo");
  std::string line;
  while (std::getline(mounts, line)) {
    // 30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw
    const auto dash = line.find(" - cgroup2 ");
    if (dash == line.npos) continue;
    std::istringstream fields(line);
    std::string field;
    for (int i = 0; i < 5; ++i) fields >> field;
    return field;
  }
  return {};
}

/// The path of this process's cgroup below the mount point.
std::string own_group() {
  std::ifstream groups("/proc/self/cgroup");
  std::string line;
  while (std::getline(groups, line)) {
    if (line.starts_with("0::")) return line.substr(3);
  }
  return {};
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// Groups of a hone that was killed and could not remove them.
void remove_stale(const std::string& parent) {
  std::error_code code;
  for (const auto& entry : std::filesystem::directory_iterator(parent, code)) {
    int owner = 0, child = 0;
    if (std::sscanf(entry.path().filename().c_str(), "hone-%d-%d", &owner, &child) == 2 &&
        kill(owner, 0) != 0 && errno == ESRCH)
      rmdir(entry.path().c_str());
  }
}

}  // namespace

void enter_cgroup(State& state) {
  const Policy& p = state.policy;
  const std::string mounted = mount_point(), own = own_group();
  const auto missing = [&](std::string reason) {
    state.missing(Layer::kMemoryCgroup, std::move(reason));
  };
  if (mounted.empty() || own.empty()) return missing("no cgroup v2 is mounted");
  std::string parent = mounted + (own == "/" ? "" : own);
  if (first_line(parent + "/cgroup.controllers").find("memory") == std::string::npos)
    return missing("the memory controller is not in cgroup v2 here");
  if (!write_file(parent + "/cgroup.subtree_control", "+memory")) {
    // A group that holds processes, as hone's does, has no children with limits. Beside it is as
    // good where it has no limit itself.
    const std::string reason = why(parent + "/cgroup.subtree_control");
    if (first_line(parent + "/memory.max") != "max" || own == "/") return missing(reason);
    parent = parent.substr(0, parent.rfind('/'));
    if (first_line(parent + "/cgroup.subtree_control").find("memory") == std::string::npos)
      return missing(reason);
  }
  (void)write_file(parent + "/cgroup.subtree_control", "+pids");  // where there is that controller
  remove_stale(parent);
  const std::string group = fmt::format("{}/hone-{}-{}", parent, getppid(), getpid());
  if (mkdir(group.c_str(), 0755) != 0) return missing(why(group));
  const std::string tasks = std::to_string(p.processes > 1 ? p.processes + 2 : 1024);
  if ((p.memory != 0 && !write_file(group + "/memory.max", std::to_string(p.memory))) ||
      !write_file(group + "/cgroup.procs", "0")) {
    missing(why(group));
    rmdir(group.c_str());
    return;
  }
  // Absent where the kernel counts no swap, or no tasks.
  (void)write_file(group + "/memory.swap.max", "0");
  (void)write_file(group + "/pids.max", tasks);
  const std::string line = "cgroup " + group + "\n";
  (void)!write(kReport, line.data(), line.size());
  state.active(Layer::kMemoryCgroup);
}

}  // namespace hone::sandbox::jail
