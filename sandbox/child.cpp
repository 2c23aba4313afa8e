#include "sandbox/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <thread>

#include "sandbox/kept_programs.h"
#include "sandbox/spawner.h"

namespace hone::sandbox {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kFixed = 9;  ///< descriptors that hone-sandbox knows by number, see jail.h

/// What the child needs between fork and exec, prepared before: only async-signal-safe calls are
/// allowed there.
struct Prepared {
  const char* helper = nullptr;
  int kept_helper = -1;             ///< the same, where it is kept open
  const char* libraries = nullptr;  ///< a variable that says where a package's are
  const char* error = nullptr;      ///< the report when there is no helper
  int fds[kFixed] = {};             ///< to become 0-8
  pid_t parent = 0;
};

// Runs in the forked child.
[[noreturn]] void become(const Prepared& p) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != p.parent) _exit(127);  // the parent died before the line above

  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (int s = 1; s < 32; ++s) signal(s, SIG_DFL);

  // First away from the numbers that dup2 gives.
  int high[kFixed + 1];
  for (int i = 0; i <= kFixed; ++i) {
    const int fd = i < kFixed ? p.fds[i] : p.kept_helper;
    high[i] = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 16);
    if (fd >= 0 && high[i] < 0) _exit(127);
  }
  for (int i = 0; i <= kFixed; ++i) {
    if (high[i] < 0) {
      close(i);
    } else if (dup2(high[i], i) < 0) {
      _exit(127);
    }
  }
  constexpr unsigned kRest = kFixed + 1;
  if (syscall(SYS_close_range, kRest, ~0U, 0U) != 0) {
    for (unsigned fd = kRest; fd < 65536; ++fd) close(static_cast<int>(fd));  // kernels before 5.9
  }
  char* const argv[] = {const_cast<char*>("hone-sandbox"), nullptr};
  char* const environment[] = {const_cast<char*>(p.libraries), nullptr};
  if (p.kept_helper >= 0) {
    fcntl(kFixed, F_SETFD, FD_CLOEXEC);
    syscall(SYS_execveat, kFixed, "", argv, environment, AT_EMPTY_PATH);
  } else {
    execve(p.helper, argv, environment);
  }
  [[maybe_unused]] const auto n = write(4, p.error, std::strlen(p.error));
  _exit(127);
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

/// The policy with what every program needs, in an order in which folders come before what is in
/// them.
Policy completed(Policy policy) {
  using Access = VisiblePath::Access;
  const bool kept = kept_program(policy.argv[0]) >= 0;  // its file may be gone
  policy.paths.push_back({policy.argv[0], Access::kRead, kept});
  for (const char* device : {"/dev/null", "/dev/zero"})
    policy.paths.push_back({device, Access::kDevice, false});
  std::ranges::stable_sort(policy.paths, {}, &VisiblePath::path);
  const auto same = std::ranges::unique(policy.paths, {}, &VisiblePath::path);
  policy.paths.erase(same.begin(), same.end());
  return policy;
}

/// Its last processes may still be on their way out.
void remove_cgroup(const std::string& path) {
  for (int i = 0; i < 100 && rmdir(path.c_str()) != 0 && errno == EBUSY; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

struct Report {
  std::vector<LayerState> layers;
  std::string cgroup, error;
};

/// Until the program runs, or cannot.
Report read_report(int fd) {
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t n = read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    text.append(buffer, static_cast<std::size_t>(n));
  }
  Report report;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    int layer = 0, active = 0, at = 0;
    if (line.starts_with("error ")) report.error = line.substr(6);
    if (line.starts_with("cgroup ")) report.cgroup = line.substr(7);
    if (std::sscanf(line.c_str(), "layer %d %d %n", &layer, &active, &at) >= 2 && layer >= 0 &&
        layer < kLayerCount)
      report.layers.push_back(
          {static_cast<Layer>(layer), active == 1, line.substr(static_cast<std::size_t>(at))});
  }
  std::ranges::sort(report.layers, {}, &LayerState::layer);
  return report;
}

/// For the supervisor to end the child; then it is killed itself.
constexpr auto kPatience = std::chrono::seconds(2);

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
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return std::unexpected(system_error("pipe"));
  Fd report_read{ends[0]}, report_write{ends[1]};
  Fd null_fd{open("/dev/null", O_RDWR | O_CLOEXEC)};
  if (null_fd.fd < 0) return std::unexpected(system_error("/dev/null"));
  Fd policy_fd{memfd_create("policy", MFD_CLOEXEC)};
  const std::string bytes = encode(completed(policy));
  if (policy_fd.fd < 0 ||
      write(policy_fd.fd, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
    return std::unexpected(system_error("memfd"));
  Fd stderr_write, stderr_read, tail;
  if (policy.inherit_stderr) {
    stderr_write.fd = fcntl(2, F_DUPFD_CLOEXEC, 3);
  } else {
    if (pipe2(ends, O_CLOEXEC) != 0) return std::unexpected(system_error("pipe"));
    stderr_read.fd = ends[0];
    stderr_write.fd = ends[1];
    tail.fd = memfd_create("child-stderr", MFD_CLOEXEC);
    if (tail.fd < 0) return std::unexpected(system_error("memfd"));
  }
  if (stderr_write.fd < 0) return std::unexpected(system_error("stderr"));

  const std::string helper =
      policy.helper.empty() ? executable_folder() + "/hone-sandbox" : policy.helper;
  const std::string error = fmt::format(
      "error no program at {}: it belongs beside hone; build it or install the whole package\n",
      helper);
  Prepared prepared;
  prepared.helper = helper.c_str();
  prepared.kept_helper = kept_program(helper);
  const std::string libraries = "LD_LIBRARY_PATH=" + library_folder();
  prepared.libraries = libraries.c_str();
  prepared.error = error.c_str();
  const int fds[kFixed] = {null_fd.fd,     null_fd.fd,      stderr_write.fd,
                           theirs.fd,      report_write.fd, policy_fd.fd,
                           stderr_read.fd, tail.fd,         kept_program(policy.argv[0])};
  std::ranges::copy(fds, prepared.fds);
  prepared.parent = getpid();

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
  report_write.reset();
  theirs.reset();

  std::unique_ptr<Child> child(new Child);
  child->pid_ = pid;
  child->channel_ = ours.release();
  if (!policy.inherit_stderr) child->stderr_ = tail.release();
  Report report = read_report(report_read.fd);
  child->layers_ = std::move(report.layers);
  child->cgroup_ = std::move(report.cgroup);
  if (!report.error.empty()) {  // ~Child reaps
    return fail(ErrorCode::kEnvironment, "cannot start a child process: " + report.error);
  }
  return child;
}

Child::~Child() {
  wait(0);
  if (channel_ >= 0) close(channel_);
  if (stderr_ >= 0) close(stderr_);
  if (!cgroup_.empty()) remove_cgroup(cgroup_);
}

void Child::kill_tree() {
  if (pid_ > 0 && !reaped_) {
    kill(pid_, SIGTERM);
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
      const auto patience = Clock::now() + kPatience;
      while (Clock::now() < patience &&
             waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
             ended.si_pid != pid_)
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      if (ended.si_pid == pid_) break;
      kill(-pid_, SIGKILL);
      kill(pid_, SIGKILL);
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
