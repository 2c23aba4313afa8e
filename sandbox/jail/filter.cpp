// The system calls that a sandboxed program may make. Everything else fails with EPERM.
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "sandbox/jail/jail.h"

namespace hone::sandbox::jail {
namespace {

// clang-format off
constexpr const char* kCompute[] = {
    // memory and threads
    "brk", "mmap", "munmap", "mremap", "mprotect", "madvise", "mincore", "membarrier",
    "futex", "futex_waitv", "set_robust_list", "get_robust_list", "set_tid_address", "rseq",
    "arch_prctl", "prctl", "sched_yield", "sched_getaffinity", "sched_setaffinity", "getcpu",
    "sched_getparam", "sched_getscheduler", "sched_get_priority_max", "sched_get_priority_min",
    "exit", "exit_group", "execve", "execveat", "wait4", "waitid", "restart_syscall",
    // signals: its own
    "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "rt_sigpending", "rt_sigsuspend",
    "rt_sigtimedwait", "sigaltstack", "alarm", "setitimer", "getitimer",
    // files: which ones, the private root and Landlock say
    "read", "readv", "pread64", "preadv", "write", "writev", "pwrite64", "pwritev", "close",
    "close_range", "open", "openat", "openat2", "stat", "lstat", "fstat", "newfstatat", "statx",
    "statfs", "fstatfs", "lseek", "access", "faccessat", "faccessat2", "readlink", "readlinkat",
    "getdents", "getdents64", "getcwd", "chdir", "fchdir", "dup", "dup2", "dup3", "fcntl",
    "flock", "fsync", "fdatasync", "umask", "ftruncate", "mkdir", "mkdirat", "unlink", "unlinkat",
    "rename", "renameat", "renameat2", "rmdir",
    // its channel, and waiting for it
    "recvmsg", "recvfrom", "sendmsg", "sendto", "shutdown", "getsockopt", "poll", "ppoll",
    "select", "pselect6",
    // clocks and identity
    "clock_gettime", "clock_getres", "clock_nanosleep", "nanosleep", "gettimeofday", "time",
    "times", "getpid", "gettid", "getppid", "getpgrp", "getpgid", "getuid", "geteuid", "getgid",
    "getegid", "getgroups", "getresuid", "getresgid", "getrlimit", "getrusage", "sysinfo", "uname",
    "getrandom", "capget",
};
constexpr const char* kDevice[] = {
    "ioctl", "mlock", "mlock2", "munlock", "mlockall", "munlockall", "msync", "mbind",
    "get_mempolicy", "set_mempolicy", "eventfd", "eventfd2", "epoll_create", "epoll_create1",
    "epoll_ctl", "epoll_wait", "epoll_pwait", "pipe", "pipe2", "timerfd_create", "timerfd_settime",
    "timerfd_gettime", "sched_setscheduler", "sched_setparam", "fadvise64", "memfd_create",
};
constexpr const char* kProcesses[] = {"fork", "vfork", "clone", "pipe", "pipe2", "setpgid",
                                      "setsid", "getsid"};
// clang-format on

using Context = std::unique_ptr<void, void (*)(scmp_filter_ctx)>;

class Filter {
 public:
  Filter() : context_(seccomp_init(SCMP_ACT_ERRNO(EPERM)), seccomp_release) {
    ok_ = context_ != nullptr;
    // The caller has set no_new_privs, or noted that it could not.
    if (ok_) seccomp_attr_set(context_.get(), SCMP_FLTATR_CTL_NNP, 0);
  }
  template <class... Conditions>
  void allow(const char* name, Conditions... conditions) {
    const int call = seccomp_syscall_resolve_name(name);
    if (call == __NR_SCMP_ERROR) return;  // this libseccomp is older than the call
    add(SCMP_ACT_ALLOW, call, conditions...);
  }
  template <class... Conditions>
  void add(std::uint32_t action, int call, Conditions... conditions) {
    const scmp_arg_cmp list[] = {conditions..., scmp_arg_cmp{}};
    if (seccomp_rule_add_array(context_.get(), action, call, sizeof...(conditions), list) != 0)
      ok_ = false;
  }
  /// 0, or an errno.
  int load() { return ok_ ? -seccomp_load(context_.get()) : EINVAL; }
  [[nodiscard]] bool made() const { return context_ != nullptr; }

 private:
  Context context_;
  bool ok_ = false;
};

}  // namespace

void filter_calls(State& state) {
  Filter filter;
  if (!filter.made()) return state.missing(Layer::kSeccomp, "libseccomp failed");
  for (const char* name : kCompute) filter.allow(name);
  if (state.policy.calls == Calls::kDevice) {
    for (const char* name : kDevice) filter.allow(name);
    // libcuda opens a UNIX socket for its own processes; in here there are none to talk to.
    for (const char* name : {"socket", "socketpair"})
      filter.allow(name, SCMP_A0(SCMP_CMP_EQ, AF_UNIX));
    for (const char* name : {"bind", "listen", "accept4", "getsockname", "setsockopt"})
      filter.allow(name);
  } else {
    // What the C library asks of a file that might be a terminal.
    for (const unsigned request : {TCGETS, FIONREAD, FIOCLEX, FIONBIO})
      filter.allow("ioctl", SCMP_A1(SCMP_CMP_EQ, request));
  }
  if (state.policy.processes > 1) {
    for (const char* name : kProcesses) filter.allow(name);
  } else {
    filter.allow("clone", SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD));
  }
  // Its flags lie in memory, where no filter sees them; the C library falls back to clone.
  filter.add(SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3));
  // Signals and limits of this process only: without a pid namespace it could name others.
  const auto self = static_cast<scmp_datum_t>(getpid());
  for (const char* name : {"kill", "tgkill", "rt_sigqueueinfo"})
    filter.allow(name, SCMP_A0(SCMP_CMP_EQ, self));
  for (const scmp_datum_t pid : {scmp_datum_t{0}, self})
    filter.allow("prlimit64", SCMP_A0(SCMP_CMP_EQ, pid));
  if (const int error = filter.load(); error != 0) {
    errno = error;
    return state.missing(Layer::kSeccomp, why("seccomp"));
  }
  state.active(Layer::kSeccomp);
}

}  // namespace hone::sandbox::jail
