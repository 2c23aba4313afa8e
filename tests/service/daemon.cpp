#include "tests/service/daemon.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <thread>

namespace hone::test {

Daemon::Daemon(const std::vector<std::string>& arguments, int network,
               const std::string& programs) {
  std::vector<std::string> command = {programs + "/hone"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  std::vector<char*> words;
  for (auto& word : command) words.push_back(word.data());
  words.push_back(nullptr);
  const std::string log = folder_.file("log"), cache = folder_.file("cache");
  pid_ = fork();
  if (pid_ != 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (network >= 0 && setns(network, CLONE_NEWNET) != 0) _exit(125);
  const int file = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  dup2(file, 2);
  dup2(file, 1);
  setenv("XDG_CACHE_HOME", cache.c_str(), 1);
  execv(words[0], words.data());
  _exit(127);
}

Daemon::~Daemon() {
  if (pid_ <= 0) return;
  signal(SIGTERM);
  if (wait(10) == -1) kill();
}

std::string Daemon::log() const {
  std::ifstream file(folder_.file("log"));
  return {std::istreambuf_iterator<char>(file), {}};
}

void Daemon::signal(int number) const {
  if (pid_ > 0) ::kill(pid_, number);
}

int Daemon::wait(double seconds) {
  using Clock = std::chrono::steady_clock;
  for (const auto begin = Clock::now(); pid_ > 0;) {
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = -1;
      return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    if (Clock::now() - begin > std::chrono::duration<double>(seconds)) return -1;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return -1;
}

void Daemon::kill() {
  signal(SIGKILL);
  signal(SIGCONT);
  wait(10);
}

}  // namespace hone::test
