// A `hone worker` or `hone coordinator` as a process.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "tests/e2e/process.h"

namespace hone::test {

class Daemon {
 public:
  /// Starts the built hone with these arguments; its cache is its own. `network`: the network
  /// namespace it runs in; -1: this process's. `programs`: the folder that hone is in.
  explicit Daemon(const std::vector<std::string>& arguments, int network = -1,
                  const std::string& programs = HONE_BIN_DIR);
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  /// What it wrote to stderr so far.
  [[nodiscard]] std::string log() const;
  void signal(int number) const;
  /// Waits for its end; its status as of a shell, -1 when it has not ended by then.
  int wait(double seconds);
  /// SIGKILL, and waits.
  void kill();
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  hone::testing::TemporaryFolder folder_;
  pid_t pid_ = -1;
};

}  // namespace hone::test
