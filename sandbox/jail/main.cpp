// hone-sandbox: started by sandbox::Child with descriptors 0-8, see jail.h.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "sandbox/jail/jail.h"

namespace hone::sandbox::jail {
namespace {

constexpr std::size_t kTail = 4096;  // [B]

// Between init and supervisor: one byte asks for the user namespace's maps, one answers; then the
// program's wait status.
int init_socket = -1, supervisor_socket = -1;

void send_report(std::string_view text) { (void)!write(kReport, text.data(), text.size()); }

Policy read_policy() {
  std::string bytes(static_cast<std::size_t>(std::max<off_t>(0, lseek(kPolicy, 0, SEEK_END))), 0);
  if (pread(kPolicy, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    die(why("reading the policy"));
  close(kPolicy);
  auto policy = decode_policy(bytes);
  if (!policy) die(policy.error().message);
  return *policy;
}

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> out;
  for (const auto& s : strings) out.push_back(const_cast<char*>(s.c_str()));
  out.push_back(nullptr);
  return out;
}

/// One line for every layer; ends the process when the policy is strict and one is missing.
void report_layers(const State& state) {
  std::string text, missing;
  for (const auto& l : state.layers) {
    text += fmt::format("layer {} {} {}\n", static_cast<int>(l.layer), l.active ? 1 : 0, l.reason);
    if (!l.active) {
      missing +=
          fmt::format("{}{} ({})", missing.empty() ? "" : ", ", to_string(l.layer), l.reason);
    }
  }
  send_report(text);
  if (state.policy.mode == Mode::kStrict && !missing.empty())
    die("strict, and this machine refuses: " + missing);
}

/// As long as nobody has replaced the file, the path is better: it is mounted read-only.
bool is_same_file(const char* path, int fd) {
  struct stat there{}, kept{};
  return stat(path, &there) == 0 && fstat(fd, &kept) == 0 && there.st_dev == kept.st_dev &&
         there.st_ino == kept.st_ino;
}

/// What cannot be had stays as it is.
void stay_on(const std::vector<int>& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  bool any = false;
  for (const int core : cores) {
    if (core < 0 || core >= CPU_SETSIZE) continue;
    CPU_SET(core, &set);
    any = true;
  }
  if (any) (void)sched_setaffinity(0, sizeof set, &set);
}

[[noreturn]] void run_program(State& state, pid_t init) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != init) _exit(1);  // it ended before that held
  const Policy& p = state.policy;
  for (const int fd :
       {init_socket, p.inherit_stderr ? -1 : kStderrRead, p.inherit_stderr ? -1 : kStderrTail}) {
    if (fd >= 0) close(fd);
  }
  // Whatever else is open, but the report, which exec closes.
  fcntl(kReport, F_SETFD, FD_CLOEXEC);
  if (state.program >= 0) state.program = dup3(state.program, kPolicy, O_CLOEXEC);
  if (syscall(SYS_close_range, 6U, ~0U, 0U) != 0) {
    for (int fd = 6; fd < 4096; ++fd) close(fd);
  }
  // No layers of isolation: courtesies.
  if (p.niceness > 0) (void)!nice(p.niceness);
  stay_on(p.cores);
  if (chdir(p.working_directory.c_str()) != 0) die(why(p.working_directory));
  if (p.mode != Mode::kOff) {
    set_limits(state);
    drop_privileges(state);
    restrict_files(state);
    filter_calls(state);
  } else {
    const rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
  }
  report_layers(state);
  const auto argv = pointers(p.argv), environment = pointers(p.environment);
  if (state.program >= 0 && !is_same_file(argv[0], state.program)) {
    syscall(SYS_execveat, state.program, "", argv.data(), environment.data(), AT_EMPTY_PATH);
  } else {
    execve(argv[0], argv.data(), environment.data());
  }
  die(why(p.argv[0]));
}

/// Kills and reaps what the program has left behind: without a pid namespace nobody else does.
void end_leftovers() {
  for (int round = 0; round < 1000; ++round) {
    const std::string path = fmt::format("/proc/self/task/{}/children", getpid());
    char text[4096];
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    if (fd >= 0) close(fd);
    if (n <= 0) break;
    text[n] = 0;
    for (char* at = text; *at != 0;) {
      char* end = at;
      const long pid = strtol(at, &end, 10);
      if (end == at) break;
      if (pid > 0) kill(static_cast<pid_t>(pid), SIGKILL);
      at = end + strspn(end, " ");
    }
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  }
}

[[noreturn]] void run_init(State& state) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  close(supervisor_socket);
  if (state.policy.mode != Mode::kOff) {
    unshare_inner(state);
    become_nobody(state, [] {
      char byte = 'm';
      return write(init_socket, &byte, 1) == 1 && read(init_socket, &byte, 1) == 1 && byte == 'y';
    });
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // changing the user has cleared it
  }
  pollfd supervisor{init_socket, POLLIN, 0};
  if (poll(&supervisor, 1, 0) > 0 && (supervisor.revents & POLLHUP) != 0)
    _exit(1);  // it ended before that held
  const pid_t self = getpid();
  const pid_t program = fork();
  if (program < 0) die(why("fork"));
  if (program == 0) run_program(state, self);
  for (int fd : {0, 1, 2, kChannel, kReport}) close(fd);
  if (state.program >= 0) close(state.program);
  if (!state.policy.inherit_stderr) close(kStderrRead), close(kStderrTail);
  int status = 0;
  for (;;) {
    int ended = 0;
    const pid_t pid = wait(&ended);
    if (pid == program) {
      status = ended;
      break;
    }
    if (pid < 0 && errno != EINTR) break;
  }
  if (!state.in_pid_namespace) end_leftovers();
  (void)!write(init_socket, &status, sizeof status);
  _exit(0);  // in a pid namespace, the end of everything in it
}

/// Keeps the end of what the program writes to stderr.
class Output {
 public:
  explicit Output(std::uint64_t limit) : limit_(limit) {}
  /// Reads what there is; false at its end, or beyond the limit.
  bool drain() {
    char buffer[16384];
    const ssize_t n = read(kStderrRead, buffer, sizeof buffer);
    if (n < 0) return errno == EINTR || errno == EAGAIN;
    if (n == 0) return false;
    tail_.append(buffer, static_cast<std::size_t>(n));
    if (tail_.size() > 4 * kTail) tail_.erase(0, tail_.size() - kTail);
    seen_ += static_cast<std::uint64_t>(n);
    return seen_ <= limit_;
  }
  [[nodiscard]] bool too_much() const { return seen_ > limit_; }
  void note(std::string_view text) { tail_ += text; }
  void save() {
    if (tail_.size() > kTail) tail_.erase(0, tail_.size() - kTail);
    (void)!pwrite(kStderrTail, tail_.data(), tail_.size(), 0);
  }

 private:
  std::uint64_t limit_, seen_ = 0;
  std::string tail_;
};

/// As the program ended, so does this process.
[[noreturn]] void end_like(int status) {
  if (WIFSIGNALED(status)) {
    const rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
    prctl(PR_SET_DUMPABLE, 0);
    signal(WTERMSIG(status), SIG_DFL);
    kill(getpid(), WTERMSIG(status));
    _exit(128 + WTERMSIG(status));
  }
  _exit(WEXITSTATUS(status));
}

pid_t the_init = 0;

/// hone wants the child gone: the supervisor goes on, and ends once all of it has ended.
void end_init(int) { kill(the_init, SIGKILL); }

[[noreturn]] void supervise(const State& state, pid_t init) {
  the_init = init;
  struct sigaction on_term{};
  on_term.sa_handler = end_init;
  sigaction(SIGTERM, &on_term, nullptr);
  using Clock = std::chrono::steady_clock;
  const Policy& p = state.policy;
  const auto deadline =
      Clock::now() + std::chrono::milliseconds(static_cast<std::int64_t>(p.wall_s * 1000));
  Output output(p.output);
  pollfd fds[2] = {{supervisor_socket, POLLIN, 0}, {kStderrRead, POLLIN, 0}};
  if (p.inherit_stderr) fds[1].fd = -1;
  int status = SIGKILL;
  for (bool running = true; running;) {
    int wait_ms = -1;
    if (p.wall_s > 0) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
      if (left <= 0) {
        output.note(fmt::format("killed after its {} s\n", p.wall_s));
        break;
      }
      wait_ms = static_cast<int>(std::min<std::int64_t>(left, 60'000));
    }
    if (poll(fds, 2, wait_ms) < 0) {
      if (errno == EINTR) continue;
      break;
    }
    if (fds[1].revents != 0 && !output.drain()) {
      fds[1].fd = -1;
      if (output.too_much()) {
        output.note(fmt::format("\nkilled: it wrote more than {} bytes to stderr\n", p.output));
        break;
      }
    }
    if (fds[0].revents == 0) continue;
    char bytes[sizeof status];
    const ssize_t n = read(supervisor_socket, bytes, sizeof bytes);
    if (n == 1) {
      const char answer = write_maps(init, kNobody, kNobody) ? 'y' : 'n';
      (void)!write(supervisor_socket, &answer, 1);
    } else {
      if (n == sizeof status) std::memcpy(&status, bytes, sizeof status);
      running = false;
    }
  }
  kill(init, SIGKILL);
  while (waitpid(init, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (!p.inherit_stderr) {
    // Everything that could write is gone, so this ends.
    fcntl(kStderrRead, F_SETFL, O_NONBLOCK);
    for (int i = 0; fds[1].fd >= 0 && i < 64; ++i) {
      pollfd left{kStderrRead, POLLIN, 0};
      if (poll(&left, 1, 0) <= 0 || !output.drain()) break;
    }
    output.save();
  }
  end_like(status);
}

[[noreturn]] void run() {
  prctl(PR_SET_NAME, "hone-sandbox");
  State state;
  if (fcntl(kProgram, F_GETFD) >= 0) state.program = kProgram;
  state.policy = read_policy();
  state.root = geteuid() == 0;
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) die(why("socketpair"));
  // Above the descriptors with fixed numbers.
  init_socket = fcntl(pair[0], F_DUPFD_CLOEXEC, 16);
  supervisor_socket = fcntl(pair[1], F_DUPFD_CLOEXEC, 16);
  close(pair[0]);
  close(pair[1]);
  if (state.policy.mode != Mode::kOff) {
    enter_cgroup(state);
    unshare_outer(state);
  }
  const pid_t init = fork();
  if (init < 0) die(why("fork"));
  if (init == 0) run_init(state);
  // The program's ends: a reader must see their end when the program has ended.
  close(init_socket);
  for (int fd : {0, 1, kChannel, kReport}) close(fd);
  if (state.program >= 0) close(state.program);
  if (!state.policy.inherit_stderr) close(2);
  supervise(state, init);
}

}  // namespace

void die(std::string_view text) {
  send_report(fmt::format("error {}\n", text));
  _exit(127);
}

}  // namespace hone::sandbox::jail

int main() { hone::sandbox::jail::run(); }
