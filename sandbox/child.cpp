#include "sandbox/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <thread>

#include "sandbox/spawner.h"

namespace hone::sandbox {
namespace {

using Clock = std::chrono::steady_clock;

/// Everything the child needs between fork and exec, prepared before: only async-signal-safe calls
/// are allowed there.
struct Prepared {
  std::vector<char*> argv;
  std::vector<char*> envp;
  const char* working_directory = nullptr;
  int channel = -1;
  int stderr_fd = -1;
  int null_fd = -1;
  int error_pipe = -1;
  pid_t parent = 0;
  const Policy* policy = nullptr;
};

void set_limit(int what, std::uint64_t value) {
  rlimit limit{value, value};
  setrlimit(static_cast<__rlimit_resource_t>(what), &limit);
}

[[noreturn]] void give_up(int error_pipe) {
  const int error = errno;
  [[maybe_unused]] const auto n = write(error_pipe, &error, sizeof error);
  _exit(127);
}

// Runs in the forked child.
[[noreturn]] void become(const Prepared& p) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != p.parent) _exit(127);  // the parent died before the line above
  if (p.policy->limits) prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);

  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (int s = 1; s < 32; ++s) signal(s, SIG_DFL);

  // Descriptors above the ones in use first, so that dup2 below cannot overwrite them.
  const int channel = fcntl(p.channel, F_DUPFD, 16);
  const int err = fcntl(p.stderr_fd, F_DUPFD, 16);
  const int error_pipe = fcntl(p.error_pipe, F_DUPFD_CLOEXEC, 16);
  if (channel < 0 || err < 0 || error_pipe < 0) give_up(p.error_pipe);
  if (dup2(p.null_fd, 0) < 0 || dup2(p.null_fd, 1) < 0 || dup2(err, 2) < 0 || dup2(channel, 3) < 0)
    give_up(error_pipe);
  if (dup2(error_pipe, 4) < 0) give_up(error_pipe);
  fcntl(4, F_SETFD, FD_CLOEXEC);
  if (syscall(SYS_close_range, 5U, ~0U, 0U) != 0) {
    for (int fd = 5; fd < 65536; ++fd) close(fd);  // kernels before 5.9
  }
  if (chdir(p.working_directory) != 0) give_up(4);

  set_limit(RLIMIT_CORE, 0);
  if (p.policy->limits) {
    set_limit(RLIMIT_NOFILE, p.policy->open_files);
    set_limit(RLIMIT_FSIZE, p.policy->file_size);
    if (p.policy->address_space != 0) set_limit(RLIMIT_AS, p.policy->address_space);
  }
  execve(p.argv[0], p.argv.data(), p.envp.data());
  give_up(4);
}

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> out;
  out.reserve(strings.size() + 1);
  for (const auto& s : strings) out.push_back(const_cast<char*>(s.c_str()));
  out.push_back(nullptr);
  return out;
}

/// A descriptor that closes itself.
struct Fd {
  int fd = -1;
  ~Fd() { reset(); }
  void reset() {
    if (fd >= 0) close(fd);
    fd = -1;
  }
  int release() { return std::exchange(fd, -1); }
};

Error system_error(std::string_view what) {
  return {ErrorCode::kEnvironment,
          fmt::format("cannot start a child process: {}: {}", what, std::strerror(errno))};
}

}  // namespace

std::string ExitStatus::text() const {
  if (!signalled) return fmt::format("exit status {}", code);
  const char* name = strsignal(code);
  return fmt::format("signal {} ({})", code, name != nullptr ? name : "unknown");
}

Result<std::unique_ptr<Child>> Child::start(const Policy& policy) {
  if (policy.argv.empty()) return fail(ErrorCode::kInternal, "sandbox: empty argv");
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
    return std::unexpected(system_error("socketpair"));
  Fd ours{pair[0]}, theirs{pair[1]};
  int pipe_ends[2];
  if (pipe2(pipe_ends, O_CLOEXEC) != 0) return std::unexpected(system_error("pipe"));
  Fd error_read{pipe_ends[0]}, error_write{pipe_ends[1]};
  Fd null_fd{open("/dev/null", O_RDWR | O_CLOEXEC)};
  if (null_fd.fd < 0) return std::unexpected(system_error("/dev/null"));
  Fd stderr_fd{policy.inherit_stderr ? fcntl(2, F_DUPFD_CLOEXEC, 3)
                                     : memfd_create("child-stderr", MFD_CLOEXEC)};
  if (stderr_fd.fd < 0) return std::unexpected(system_error("stderr"));
  if (!policy.inherit_stderr) fcntl(stderr_fd.fd, F_SETFL, O_APPEND);

  Prepared prepared;
  prepared.argv = pointers(policy.argv);
  prepared.envp = pointers(policy.environment);
  prepared.working_directory = policy.working_directory.c_str();
  prepared.channel = theirs.fd;
  prepared.stderr_fd = stderr_fd.fd;
  prepared.null_fd = null_fd.fd;
  prepared.error_pipe = error_write.fd;
  prepared.parent = getpid();
  prepared.policy = &policy;

  pid_t pid = -1;
  int fork_errno = 0;
  on_spawner_thread([&] {
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);  // no handler of ours may run in the child
    pid = fork();
    if (pid == 0) become(prepared);
    fork_errno = errno;
    pthread_sigmask(SIG_SETMASK, &old, nullptr);
  });
  if (pid < 0) {
    errno = fork_errno;
    return std::unexpected(system_error("fork"));
  }
  setpgid(pid, pid);  // both sides do it: whoever comes first
  error_write.reset();
  theirs.reset();

  std::unique_ptr<Child> child(new Child);
  child->pid_ = pid;
  child->channel_ = ours.release();
  if (!policy.inherit_stderr) child->stderr_ = stderr_fd.release();

  int exec_errno = 0;
  ssize_t n = 0;
  do {
    n = read(error_read.fd, &exec_errno, sizeof exec_errno);
  } while (n < 0 && errno == EINTR);
  if (n == sizeof exec_errno) {
    errno = exec_errno;
    return std::unexpected(system_error(policy.argv[0]));  // ~Child reaps
  }
  return child;
}

Child::~Child() {
  wait(0);
  if (channel_ >= 0) close(channel_);
  if (stderr_ >= 0) close(stderr_);
}

void Child::kill_tree() {
  if (pid_ > 0 && !reaped_) {
    kill(-pid_, SIGKILL);
    kill(pid_, SIGKILL);
  }
}

ExitStatus Child::wait(double timeout_s) {
  if (reaped_ || pid_ <= 0) return status_;
  const auto deadline = Clock::now() + std::chrono::duration<double>(timeout_s);
  // WNOWAIT leaves the zombie, so that the group id cannot be reused before the group is killed.
  for (auto pause = std::chrono::microseconds(200);;) {
    siginfo_t info{};
    if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0) break;
    if (info.si_pid == pid_) break;
    if (Clock::now() >= deadline) {
      kill_tree();
      siginfo_t ended{};
      while (waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOWAIT) != 0 &&
             errno == EINTR) {
      }
      break;
    }
    std::this_thread::sleep_for(pause);
    if (pause < std::chrono::milliseconds(10)) pause *= 2;
  }
  kill(-pid_, SIGKILL);  // what it left behind
  reaped_ = true;
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) {
    status_ = {true, WTERMSIG(status)};
  } else {
    status_ = {false, WEXITSTATUS(status)};
  }
  return status_;
}

std::string Child::stderr_tail(std::size_t limit) const {
  if (stderr_ < 0) return {};
  const off_t size = lseek(stderr_, 0, SEEK_END);
  if (size <= 0) return {};
  const auto n = std::min<std::size_t>(static_cast<std::size_t>(size), limit);
  std::string text(n, '\0');
  const ssize_t got = pread(stderr_, text.data(), n, size - static_cast<off_t>(n));
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

std::vector<std::string> pass_environment(const std::vector<std::string>& names) {
  std::vector<std::string> out;
  for (const auto& name : names) {
    if (const char* value = std::getenv(name.c_str())) out.push_back(name + "=" + value);
  }
  return out;
}

}  // namespace hone::sandbox
