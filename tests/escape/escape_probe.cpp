// Tries to get out of a sandbox in one of many ways and says on descriptor 3 how it went: lines
// "escaped: …" or "stopped: …". Names on the command line; run by escape_test.cpp.
#include <dirent.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace {

void say(const char* format, ...) {
  char line[512];
  va_list list;
  va_start(list, format);
  int n = vsnprintf(line, sizeof line - 1, format, list);
  va_end(list);
  if (n > static_cast<int>(sizeof line) - 2) n = sizeof line - 2;
  line[n] = '\n';
  (void)!write(3, line, static_cast<size_t>(n) + 1);
}

/// `result` >= 0 is an escape.
void judge(const char* what, long result) {
  if (result >= 0)
    say("escaped: %s", what);
  else
    say("stopped: %s: %s", what, strerror(errno));
}

void read_file(const std::vector<std::string>& paths) {
  for (const auto& path : paths) judge(path.c_str(), open(path.c_str(), O_RDONLY));
}

void write_anywhere(const std::vector<std::string>& folders) {
  std::vector<std::string> all = {
      "/",    "/tmp", "/var/tmp", "/dev/shm", "/dev", "/proc/sys/kernel", ".", "/usr",
      "/lib", "/etc", "/run",     "/root",    "/home"};
  all.insert(all.end(), folders.begin(), folders.end());
  for (const auto& folder : all) {
    const std::string path = folder + "/escape_probe_was_here";
    judge(path.c_str(), open(path.c_str(), O_WRONLY | O_CREAT, 0644));
    judge(("mkdir in " + folder).c_str(), mkdir((path + "_too").c_str(), 0755));
  }
  judge("/proc/self/exe", open("/proc/self/exe", O_WRONLY));
  judge("/proc/sys/kernel/core_pattern", open("/proc/sys/kernel/core_pattern", O_WRONLY));
}

void sockets(const std::vector<std::string>&) {
  for (const int family : {AF_INET, AF_INET6, AF_UNIX, AF_NETLINK, AF_PACKET, AF_VSOCK})
    for (const int type : {SOCK_STREAM, SOCK_DGRAM, SOCK_RAW})
      judge(("socket of family " + std::to_string(family)).c_str(), socket(family, type, 0));
  int pair[2];
  judge("socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
}

/// The arguments are pids of the host.
void processes(const std::vector<std::string>& hosts) {
  DIR* proc = opendir("/proc");
  if (proc == nullptr) {
    say("stopped: /proc: %s", strerror(errno));
  } else {
    while (const dirent* entry = readdir(proc)) {
      const int pid = atoi(entry->d_name);
      if (pid > 0 && pid != getpid() && pid != getppid()) say("escaped: sees process %d", pid);
    }
    closedir(proc);
    say("stopped: sees itself and its init only");
  }
  char byte = 0;
  iovec here{&byte, 1}, there{const_cast<char*>(&byte), 1};
  std::vector<int> pids = {1};
  for (const auto& host : hosts) pids.push_back(atoi(host.c_str()));
  for (const int pid : pids) {
    judge("ptrace", ptrace(PTRACE_ATTACH, pid, nullptr, nullptr));
    judge("process_vm_readv", process_vm_readv(pid, &here, 1, &there, 1, 0));
    judge("pidfd_open", syscall(SYS_pidfd_open, pid, 0));
    judge("kill", kill(pid, SIGCONT));
    judge("tgkill", syscall(SYS_tgkill, pid, pid, SIGCONT));
    for (const char* what : {"environ", "mem", "root/etc/passwd", "cwd/."}) {
      const std::string path = "/proc/" + std::to_string(pid) + "/" + what;
      judge(path.c_str(), open(path.c_str(), O_RDONLY));
    }
  }
  judge("kill of everybody", kill(-1, SIGCONT));
}

void fork_bomb(const std::vector<std::string>&) {
  int made = 0;
  for (; made < 100000; ++made) {
    const pid_t pid = fork();
    if (pid < 0) break;
    if (pid == 0) {
      for (;;) pause();
    }
  }
  say("forks %d", made);
}

void memory(const std::vector<std::string>&) {
  constexpr size_t kStep = 16 << 20;
  size_t total = 0;
  for (; total < (8UL << 30); total += kStep) {
    void* p = mmap(nullptr, kStep, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) break;
    memset(p, 1, kStep);
  }
  say("memory %zu", total >> 20);
  judge("memfd_create", syscall(SYS_memfd_create, "x", 0));
  judge("shmget", syscall(SYS_shmget, 1, 1 << 20, 0666 | 01000));
  judge("mq_open", syscall(SYS_mq_open, "/x", O_CREAT | O_RDWR, 0666, nullptr));
}

void output(const std::vector<std::string>&) {
  const std::string line(1 << 16, 'x');
  for (;;)
    if (write(2, line.data(), line.size()) < 0) break;
  say("stopped: output: %s", strerror(errno));
}

void spin(const std::vector<std::string>&) {
  signal(SIGXCPU, SIG_IGN);
  signal(SIGTERM, SIG_IGN);
  for (volatile long i = 0;;) i = i + 1;
}

/// Leaves a process behind that has left the group and the session; it holds descriptor 3.
void grandchild(const std::vector<std::string>&) {
  if (fork() == 0) {
    setsid();
    if (fork() == 0) {
      signal(SIGHUP, SIG_IGN);
      signal(SIGTERM, SIG_IGN);
      say("grandchild lives");
      for (;;) pause();
    }
    _exit(0);
  }
  wait(nullptr);
  usleep(300000);  // it has spoken by then
}

void calls(const std::vector<std::string>&) {
  judge("mount", mount("none", "/proc", "tmpfs", 0, nullptr));
  judge("umount", umount2("/proc", MNT_DETACH));
  judge("pivot_root", syscall(SYS_pivot_root, ".", "."));
  judge("chroot", chroot("/"));
  for (const int flag : {CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWNET})
    judge("unshare", unshare(flag));
  judge("setns", setns(0, 0));
  judge("clone into a user namespace", syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0));
  judge("clone3", syscall(SYS_clone3, nullptr, 0));
  judge("fork", syscall(SYS_fork));
  judge("setuid 0", setuid(0));
  judge("setresuid 0", setresuid(0, 0, 0));
  judge("bpf", syscall(SYS_bpf, 0, nullptr, 0));
  judge("perf_event_open", syscall(SYS_perf_event_open, nullptr, 0, -1, -1, 0));
  judge("keyctl", syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0));
  judge("add_key", syscall(SYS_add_key, "user", "x", "y", 1, KEY_SPEC_SESSION_KEYRING));
  judge("io_uring_setup", syscall(SYS_io_uring_setup, 1, nullptr));
  judge("userfaultfd", syscall(SYS_userfaultfd, 0));
  judge("init_module", syscall(SYS_init_module, nullptr, 0, ""));
  judge("kexec_load", syscall(SYS_kexec_load, 0, 0, nullptr, 0));
  judge("reboot", reboot(RB_DISABLE_CAD));
  judge("settimeofday", syscall(SYS_settimeofday, nullptr, nullptr));
  judge("sethostname", sethostname("x", 1));
  judge("swapoff", syscall(SYS_swapoff, "/x"));
  judge("acct", syscall(SYS_acct, nullptr));
  judge("ptrace TRACEME", ptrace(PTRACE_TRACEME, 0, nullptr, nullptr));
  judge("open_by_handle_at", syscall(SYS_open_by_handle_at, 0, nullptr, 0));
  judge("mknod", mknod("/x", S_IFCHR | 0666, 0x101));
  judge("chmod", chmod("/proc/self/exe", 0777));
  judge("link", link("/proc/self/exe", "/x"));
  judge("symlink", symlink("/", "/x"));
  judge("personality", syscall(SYS_personality, 0x0400000));
  const int shell = open("/bin/sh", O_PATH);
  char* const words[] = {const_cast<char*>("sh"), nullptr};
  judge("execveat of a shell", syscall(SYS_execveat, shell, "", words, nullptr, AT_EMPTY_PATH));
  judge("execve of a shell", execl("/bin/sh", "sh", "-c", "echo escaped >&3", nullptr));
  judge("prlimit of the parent", syscall(SYS_prlimit64, getppid(), 7, nullptr, nullptr));
  judge("TIOCSTI", syscall(SYS_ioctl, 0, 0x5412, "x"));
  judge("fanotify_init", syscall(SYS_fanotify_init, 0, 0));
  judge("quotactl", syscall(SYS_quotactl, 0, nullptr, 0, nullptr));
  judge("memory policy of others", syscall(SYS_migrate_pages, 1, 0, nullptr, nullptr));
}

void descriptors(const std::vector<std::string>&) {
  for (int fd = 4; fd < 4096; ++fd)
    if (fcntl(fd, F_GETFD) >= 0) say("escaped: descriptor %d", fd);
  // What is at 0 and 1 is no way out either.
  for (const int fd : {0, 1}) {
    char byte = 0;
    if (read(fd, &byte, 1) > 0) say("escaped: descriptor %d can be read", fd);
  }
  say("stopped: descriptors");
}

void environment(const std::vector<std::string>&) {
  for (char** e = environ; *e != nullptr; ++e) say("variable %s", *e);
  say("end");
}

void status(const std::vector<std::string>&) {
  FILE* file = fopen("/proc/self/status", "r");
  char line[256];
  while (file != nullptr && fgets(line, sizeof line, file) != nullptr) {
    line[strcspn(line, "\n")] = 0;
    for (const char* key :
         {"Uid:", "Gid:", "Groups:", "CapEff:", "CapBnd:", "CapAmb:", "NoNewPrivs:", "Seccomp:"})
      if (strncmp(line, key, strlen(key)) == 0) say("%s", line);
  }
  say("end");
}

void crash(const std::vector<std::string>& how) {
  if (how.at(0) == "abort") abort();
  if (how.at(0) == "segv") {
    volatile int* nowhere = reinterpret_cast<volatile int*>(8);
    *nowhere = 1;
  }
  if (how.at(0) == "exit") _exit(7);
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, void (*)(const std::vector<std::string>&)> attempts = {
      {"read", read_file},          {"write", write_anywhere},
      {"sockets", sockets},         {"processes", processes},
      {"fork_bomb", fork_bomb},     {"memory", memory},
      {"output", output},           {"spin", spin},
      {"grandchild", grandchild},   {"calls", calls},
      {"descriptors", descriptors}, {"environment", environment},
      {"status", status},           {"crash", crash}};
  const auto attempt = argc > 1 ? attempts.find(argv[1]) : attempts.end();
  if (attempt == attempts.end()) return 2;
  attempt->second(std::vector<std::string>(argv + 2, argv + argc));
  return 0;
}
