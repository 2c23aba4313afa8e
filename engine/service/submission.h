// From a task and what somebody wants of it to a job on the queue: `hone submit`, and the web
// page's form.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "candidates/task.h"
#include "engine/queue/broker.h"
#include "engine/rewriting/rewriting.h"
#include "engine/search/settings.h"

namespace hone {

struct Submission {
  std::vector<std::string> archs;  ///< empty: of the GPUs of the workers that are there
  SearchSettings search = default_settings();
  int priority = 0;
  bool llm = false;                    ///< ask the coordinator's language model, too
  std::int64_t llm_tokens = 0;         ///< at most; 0: what the coordinator allows
  std::string llm_cost;                ///< likewise, dollars; empty: what the coordinator allows
  std::vector<std::string> llm_modes;  ///< empty: what the coordinator allows
  std::string owner;
};

/// Looks at all but the task. Errors: kInvalidInput, by the names of the command's options.
[[nodiscard]] Result<void> check_submission(const Submission& submission);

/// Looks at the task, in children, before anybody else is bothered with it. Errors: kInvalidInput;
/// kEnvironment where there can be no child.
[[nodiscard]] Result<void> check_task(Rewriting& rewriting, const Task& task);

/// Both were checked. Returns the job as it was queued.
[[nodiscard]] Result<queue::JobMessage> submit(queue::Broker& broker, const Submission& submission,
                                               Task task);

}  // namespace hone
