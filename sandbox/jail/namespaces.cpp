#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "sandbox/jail/jail.h"
#include "sandbox/jail/private_root.h"

namespace hone::sandbox::jail {
namespace {

bool enter(State& state, int flag, Layer layer) {
  if (unshare(flag) == 0) {
    state.active(layer);
    return true;
  }
  state.missing(layer, why("unshare"));
  return false;
}

}  // namespace

bool write_file(const std::string& path, std::string_view text) {
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool ok = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int error = errno;
  close(fd);
  errno = error;
  return ok;
}

std::string why(std::string_view call) { return fmt::format("{}: {}", call, strerror(errno)); }

bool write_maps(pid_t pid, uid_t uid, gid_t gid) {
  const std::string folder = fmt::format("/proc/{}/", pid);
  // Kernels before 3.19 have no setgroups file.
  if (!write_file(folder + "setgroups", "deny") && errno != ENOENT) return false;
  return write_file(folder + "uid_map", fmt::format("{} {} 1", uid, uid)) &&
         write_file(folder + "gid_map", fmt::format("{} {} 1", gid, gid));
}

void unshare_outer(State& state) {
  if (state.root && unshare(CLONE_NEWPID) == 0) {
    state.in_pid_namespace = true;
    state.active(Layer::kPidNamespace);
    return;
  }
  // No root, or one that a container has taken its powers from.
  state.root = false;
  const uid_t uid = geteuid();
  const gid_t gid = getegid();
  if (unshare(CLONE_NEWUSER) != 0) {
    state.missing(Layer::kUserNamespace, why("unshare"));
  } else if (!write_maps(getpid(), uid, gid)) {
    state.missing(Layer::kUserNamespace, why("/proc/self/uid_map"));
  } else {
    state.in_user_namespace = true;
    state.active(Layer::kUserNamespace);
  }
  state.in_pid_namespace = enter(state, CLONE_NEWPID, Layer::kPidNamespace);
}

void unshare_inner(State& state) {
  enter(state, CLONE_NEWIPC, Layer::kIpcNamespace);
  enter(state, CLONE_NEWNET, Layer::kNetworkNamespace);
  // Of no consequence without a network and a file system: host name, paths of cgroups.
  (void)unshare(CLONE_NEWUTS);
  (void)unshare(CLONE_NEWCGROUP);
  if (unshare(CLONE_NEWNS) != 0) {
    state.missing(Layer::kMountNamespace, why("unshare"));
    state.missing(Layer::kPrivateProc, "no private root");
    return;
  }
  build_private_root(state);
}

void become_nobody(State& state, bool (*map)()) {
  if (!state.root) return;
  if (setgroups(0, nullptr) != 0) die(why("setgroups"));
  if (unshare(CLONE_NEWUSER) != 0) {
    state.missing(Layer::kUserNamespace, why("unshare"));
  } else if (!map()) {
    die("cannot write /proc/PID/uid_map of the sandboxed process");
  } else {
    state.in_user_namespace = true;
    state.active(Layer::kUserNamespace);
  }
  if (setresgid(kNobody, kNobody, kNobody) != 0) die(why("setresgid"));
  if (setresuid(kNobody, kNobody, kNobody) != 0) die(why("setresuid"));
}

}  // namespace hone::sandbox::jail
