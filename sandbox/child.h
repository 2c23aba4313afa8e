// Starts one child process under a policy and holds it: a socket pair to talk over, limits, and the
// certainty that it and its descendants are gone when the Child is. Knows nothing of CUDA.
//
// A Child is owned by one thread at a time; `kill_tree` alone may be called from another thread.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "candidates/result.h"
#include "sandbox/policy.h"

namespace hone::sandbox {

/// How a child ended.
struct ExitStatus {
  bool signalled = false;
  int code = 0;                            ///< the signal when `signalled`
  [[nodiscard]] std::string text() const;  ///< "exit status 1", "signal 9 (Killed)"
};

class Child {
 public:
  /// The child finds its end of the socket pair as descriptor 3; 0 and 1 are /dev/null. It dies
  /// with this process. Errors: kEnvironment when the program cannot be started, or the policy is
  /// strict and the machine refuses a layer.
  [[nodiscard]] static Result<std::unique_ptr<Child>> start(const Policy& policy);

  ~Child();  ///< kills the tree and reaps it
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  [[nodiscard]] int channel() const { return channel_; }  ///< our end; stays owned by the Child
  /// Of hone-sandbox, which lives as long as the program and ends as it does.
  [[nodiscard]] pid_t pid() const { return pid_; }
  /// What this machine granted; empty with Mode::kOff.
  [[nodiscard]] const std::vector<LayerState>& layers() const { return layers_; }

  /// Has the supervisor kill all of the child. Thread-safe, idempotent; does not wait. After wait()
  /// every process of a pid namespace is gone, its GPU context too.
  void kill_tree();

  /// Waits until the child has ended; after `timeout_s` it is killed. Reaps it.
  ExitStatus wait(double timeout_s);

  /// The last of what it wrote to stderr, at most `limit` bytes, once it has ended by itself.
  [[nodiscard]] std::string stderr_tail(std::size_t limit = 2048) const;

 private:
  Child() = default;
  pid_t pid_ = -1;
  int channel_ = -1;
  int stderr_ = -1;
  std::atomic<bool> reaped_ = false;
  ExitStatus status_;
  std::vector<LayerState> layers_;
  std::string cgroup_;  ///< to be removed
};

/// "NAME=value" for each listed variable that is set here.
[[nodiscard]] std::vector<std::string> pass_environment(const std::vector<std::string>& names);

}  // namespace hone::sandbox
