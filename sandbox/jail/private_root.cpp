#include "sandbox/jail/private_root.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

// glibc's <sys/mount.h> and the kernel's header cannot both be included.
extern "C" int mount(const char* source, const char* target, const char* type, unsigned long flags,
                     const void* data) noexcept;
extern "C" int umount2(const char* target, int flags) noexcept;

namespace hone::sandbox::jail {
namespace {

constexpr int kDetach = 2;               // MNT_DETACH
constexpr const char* kStage = "/proc";  // every system has this folder, and no path lies in it

/// One path of the host, held by a descriptor until the new root stands.
struct Held {
  const VisiblePath* visible;
  int tree = -1;
  bool folder = false;
};

int open_tree(const char* path) {
  return static_cast<int>(
      syscall(SYS_open_tree, AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE));
}

bool set_attributes(int fd, const char* path, std::uint64_t set, unsigned flags) {
  mount_attr attributes{};
  attributes.attr_set = set;
  return syscall(SYS_mount_setattr, fd, path, flags, &attributes, sizeof attributes) == 0;
}

/// mkdir -p for the folders above `path`, below the present folder.
bool make_parents(const std::string& path) {
  for (auto slash = path.find('/'); slash != path.npos; slash = path.find('/', slash + 1)) {
    if (slash == 0) continue;
    if (mkdir(path.substr(0, slash).c_str(), 0755) != 0 && errno != EEXIST) return false;
  }
  return true;
}

bool make_place(const std::string& path, bool folder) {
  if (!make_parents(path)) return false;
  if (folder) return mkdir(path.c_str(), 0755) == 0 || errno == EEXIST;
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return errno == EEXIST;
  close(fd);
  return true;
}

/// Why not, or empty.
std::string hold(const std::vector<VisiblePath>& paths, std::vector<Held>& out) {
  for (const auto& visible : paths) {
    struct stat status{};
    if (stat(visible.path.c_str(), &status) != 0) {
      if (visible.optional) continue;
      return why(visible.path);
    }
    Held held{&visible, open_tree(visible.path.c_str()), S_ISDIR(status.st_mode)};
    if (held.tree < 0) return why("open_tree " + visible.path);
    std::uint64_t attributes = MOUNT_ATTR_NOSUID;
    if (visible.access != VisiblePath::Access::kDevice) attributes |= MOUNT_ATTR_NODEV;
    if (visible.access == VisiblePath::Access::kRead) attributes |= MOUNT_ATTR_RDONLY;
    if (visible.access != VisiblePath::Access::kRead) attributes |= MOUNT_ATTR_NOEXEC;
    if (!set_attributes(held.tree, "", attributes, AT_EMPTY_PATH | AT_RECURSIVE))
      return why("mount_setattr " + visible.path);
    out.push_back(held);
  }
  return {};
}

/// In the new root, which is the present folder.
std::string fill(const std::vector<Held>& held) {
  for (const auto& h : held) {
    const std::string place = h.visible->path.substr(h.visible->path.find_first_not_of('/'));
    struct stat status{};
    // A path below a folder that is there already.
    if (stat(place.c_str(), &status) != 0 && !make_place(place, h.folder)) return why(place);
    if (syscall(SYS_move_mount, h.tree, "", AT_FDCWD, place.c_str(), MOVE_MOUNT_F_EMPTY_PATH) != 0)
      return why("move_mount " + place);
    close(h.tree);
  }
  return {};
}

}  // namespace

void build_private_root(State& state) {
  const auto fail = [&](std::string reason) {
    state.missing(Layer::kMountNamespace, reason);
    state.missing(Layer::kPrivateProc, "no private root");
  };
  if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return fail(why("mount /"));
  std::vector<Held> held;
  if (auto reason = hold(state.policy.paths, held); !reason.empty()) return fail(reason);
  // The new /proc before the old one is covered: where a container hides parts of the old, the
  // kernel refuses a new one.
  int proc = -1;
  std::string proc_reason = "no pid namespace";
  if (state.in_pid_namespace) {
    const int context = static_cast<int>(syscall(SYS_fsopen, "proc", FSOPEN_CLOEXEC));
    if (context >= 0 &&
        syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) == 0) {
      proc = static_cast<int>(syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC,
                                      MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC));
    }
    if (proc < 0) proc_reason = why("mounting proc");
    if (context >= 0) close(context);
  }
  if (mount("tmpfs", kStage, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=1m,nr_inodes=4096") !=
      0)
    return fail(why("mount tmpfs"));
  if (chdir(kStage) != 0) return fail(why("chdir"));
  if (mkdir("proc", 0555) != 0) return fail(why("mkdir proc"));
  if (auto reason = fill(held); !reason.empty()) {
    (void)chdir("/");
    (void)umount2(kStage, kDetach);
    return fail(reason);
  }
  if (proc >= 0) {
    if (syscall(SYS_move_mount, proc, "", AT_FDCWD, "proc", MOVE_MOUNT_F_EMPTY_PATH) != 0) {
      proc_reason = why("move_mount proc");
      proc = -1;
    }
  }
  if (!set_attributes(AT_FDCWD, ".", MOUNT_ATTR_RDONLY, 0)) return fail(why("mount_setattr"));
  // The old root comes to lie on the new one, and goes.
  if (syscall(SYS_pivot_root, ".", ".") != 0) return fail(why("pivot_root"));
  if (umount2(".", kDetach) != 0) die(why("umount of the old root"));
  if (chdir("/") != 0) die(why("chdir /"));
  state.active(Layer::kMountNamespace);
  if (proc >= 0) {
    state.active(Layer::kPrivateProc);
  } else {
    state.missing(Layer::kPrivateProc, proc_reason);
  }
}

}  // namespace hone::sandbox::jail
