// What lists say of a job without its task: kept when the job's message is gone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/queue/messages.h"
#include "engine/queue/messages_job.h"
#include "engine/search/budget.h"

namespace hone::queue {

struct JobAbout {
  std::string id;
  std::string task;       ///< its name
  std::string task_hash;  ///< its content's
  std::string owner;      ///< a name for people
  std::vector<std::string> archs;
  int priority = 0;
  Budget budget;  ///< on each architecture
  bool operator==(const JobAbout&) const = default;
};

[[nodiscard]] JobAbout about(const JobMessage& job);
[[nodiscard]] Result<std::string> encode(const JobAbout& about);
[[nodiscard]] Result<JobAbout> about_from(std::string_view bytes);

}  // namespace hone::queue
