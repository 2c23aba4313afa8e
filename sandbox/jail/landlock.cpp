#include <fcntl.h>
#include <fmt/format.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "sandbox/jail/jail.h"

namespace hone::sandbox::jail {
namespace {

// Rights by the ABI that brought them, for headers older than the kernel.
constexpr std::uint64_t kExecute = 1 << 0, kWriteFile = 1 << 1, kReadFile = 1 << 2,
                        kReadDir = 1 << 3;
constexpr std::uint64_t kAbi1 = (1 << 13) - 1, kRefer = 1 << 13, kTruncate = 1 << 14,
                        kIoctlDevice = 1 << 15;
constexpr std::uint64_t kTcp = 3;     // bind, connect
constexpr std::uint64_t kScopes = 3;  // abstract sockets, signals

struct Ruleset {
  std::uint64_t files = 0;
  std::uint64_t network = 0;
  std::uint64_t scoped = 0;
};

std::uint64_t rights_of(VisiblePath::Access access) {
  switch (access) {
    case VisiblePath::Access::kRead:
      return kExecute | kReadFile | kReadDir;
    case VisiblePath::Access::kDevice:
      return kReadFile | kWriteFile | kReadDir | kIoctlDevice;
    case VisiblePath::Access::kWrite:
      return kAbi1 & ~kExecute;
  }
  return 0;
}

/// False with errno set.
bool allow_open(int ruleset, int fd, std::uint64_t rights) {
  struct stat status{};
  if (fstat(fd, &status) == 0 && !S_ISDIR(status.st_mode))
    rights &= kExecute | kWriteFile | kReadFile | kTruncate | kIoctlDevice;
  landlock_path_beneath_attr rule{rights, fd};
  return syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
}

/// Likewise.
bool allow(int ruleset, const std::string& path, std::uint64_t rights) {
  const int fd = open(path.c_str(), O_PATH | O_CLOEXEC);
  if (fd < 0) return errno == ENOENT || errno == EACCES;  // what cannot be opened needs no rule
  const bool ok = allow_open(ruleset, fd, rights);
  const int error = errno;
  close(fd);
  errno = error;
  return ok;
}

}  // namespace

void restrict_files(State& state) {
  const auto abi = syscall(SYS_landlock_create_ruleset, nullptr, 0, 1 /* its version */);
  if (abi < 1) return state.missing(Layer::kLandlock, why("the kernel"));
  Ruleset rules{kAbi1, 0, 0};
  if (abi >= 2) rules.files |= kRefer;
  if (abi >= 3) rules.files |= kTruncate;
  if (abi >= 5) rules.files |= kIoctlDevice;
  if (abi >= 4) rules.network = kTcp;
  if (abi >= 6) rules.scoped = kScopes;
  const std::size_t size = abi >= 6 ? 24 : abi >= 4 ? 16 : 8;
  const int ruleset = static_cast<int>(syscall(SYS_landlock_create_ruleset, &rules, size, 0));
  if (ruleset < 0) return state.missing(Layer::kLandlock, why("landlock_create_ruleset"));
  bool ok = true;
  for (const auto& path : state.policy.paths)
    ok = ok && allow(ruleset, path.path, rights_of(path.access) & rules.files);
  if (state.program >= 0) {
    const bool allowed = allow_open(ruleset, state.program, (kExecute | kReadFile) & rules.files);
    ok = ok && (allowed || errno == EBADFD);  // a file in memory needs no rule
  }
  // Its own processes; of others, Landlock lets nobody outside its domain be looked into.
  // A GPU driver names its threads through /proc/self/task/N/comm.
  const bool device = state.policy.calls == Calls::kDevice;
  const std::uint64_t proc = kReadFile | kReadDir | (device ? kWriteFile | kTruncate : 0);
  ok = ok && allow(ruleset, "/proc", proc & rules.files);
  if (!ok) {
    state.missing(Layer::kLandlock, why("landlock_add_rule"));
  } else if (syscall(SYS_landlock_restrict_self, ruleset, 0) != 0) {
    state.missing(Layer::kLandlock, why("landlock_restrict_self"));
  } else {
    state.active(Layer::kLandlock);
  }
  close(ruleset);
}

}  // namespace hone::sandbox::jail
