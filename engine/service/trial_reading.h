// hone parses and rewrites sources in its own process, in threads with large stacks. A stranger's
// source could fill its memory, run for ever or crash it, so a child in the sandbox reads each one
// first, with less stack, memory and time than hone has: `hone read-source`, this same program.
#pragma once

#include <functional>
#include <string>

#include "candidates/result.h"
#include "candidates/task.h"
#include "sandbox/policy.h"

namespace hone {

struct TrialOptions {
  sandbox::Mode sandbox = sandbox::Mode::kBestEffort;
  std::function<void(const std::string&)> warn;  ///< as EvaluatorOptions::warn
  std::string reader;                            ///< hone; empty: the one beside this executable
};

/// Reads `program`, the task's reference or a variant of it, as a search does: parse, proposals of
/// every rewriter, hash, formatting. A source that Clang rejects has been read, too. Errors:
/// kInvalidInput when the child does not survive it, kEnvironment when there can be no child.
[[nodiscard]] Result<void> trial_reading(const Task& task, const Program& program,
                                         const TrialOptions& options);

/// The same for a source without a task, as `hone init` reads it.
[[nodiscard]] Result<void> trial_reading(const std::string& source, const std::string& path,
                                         const TrialOptions& options);

/// The child: answers trial readings on descriptor 3. Returns the exit status.
[[nodiscard]] int serve_trial_readings();

/// Stack of hone's threads and of the child's [B]. What the child could read, hone can.
inline constexpr std::size_t kHoneStack = 32U << 20;
inline constexpr std::size_t kTrialStack = 4U << 20;

/// Sets the stack of all threads that this process starts from now on.
void set_thread_stacks(std::size_t bytes);

}  // namespace hone
