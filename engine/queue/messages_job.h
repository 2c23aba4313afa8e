// What a user submits, and what becomes of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "candidates/task.h"
#include "engine/queue/messages.h"
#include "engine/results/replies.h"
#include "engine/search/counts.h"
#include "engine/search/settings.h"

namespace hone::queue {

/// What a job wants of the coordinator's language model, which nobody else names.
struct ModelWish {
  std::optional<std::int64_t> tokens;        ///< at most, of all requests; none: the coordinator's
  std::optional<std::int64_t> nano_dollars;  ///< likewise
  std::vector<std::string> modes;            ///< "whole", "diff", "steps"; empty: the coordinator's
  bool operator==(const ModelWish&) const = default;
};

struct JobMessage {
  std::string id;
  Task task;                       ///< its source_path is cut down to the file's name
  SearchSettings search;           ///< on each architecture
  std::optional<ModelWish> model;  ///< none: rules alone
  std::vector<std::string> archs;  ///< "sm_90": one search on each
  int priority = 0;                ///< at most kMostPriority
  std::int64_t submitted_at = 0;   // Unix time [ms]
  std::string owner;               ///< a name for people
};

/// Refuses what cannot be run elsewhere: inputs from files of this machine.
[[nodiscard]] Result<std::string> encode(const JobMessage& message);
[[nodiscard]] Result<JobMessage> job_from(std::string_view bytes);

/// How far the search on one architecture is.
struct ArchProgress {
  std::string arch;
  Counts counts;
  double elapsed_s = 0;
  double reference_time_us = 0;
  double best_time_us = 0;     // quick time; 0: none yet
  std::string best_recipe;     ///< "shared-tile, unroll"
  std::string best_candidate;  ///< its id; empty: none yet
  bool operator==(const ArchProgress&) const = default;
};

enum class JobState { kQueued, kAdmitting, kSearching, kFinishing, kDone, kFailed, kCancelled };
[[nodiscard]] std::string_view to_string(JobState state);  ///< "queued", …
[[nodiscard]] std::optional<JobState> parse_job_state(std::string_view text);
/// Done, failed or cancelled: nothing more becomes of it.
[[nodiscard]] constexpr bool has_ended(JobState state) { return state >= JobState::kDone; }

/// What a job's language model did, in all its searches that have ended.
struct JobModel {
  std::string note;  ///< what of its wish it did not get, and why; empty: all
  results::ModelUse use;
  bool operator==(const JobModel&) const = default;
};

struct JobStatus {
  std::string id;
  JobState state = JobState::kQueued;
  std::vector<ArchProgress> archs;
  std::string error;              ///< of a job that failed
  std::optional<JobModel> model;  ///< where it wants one
  std::int64_t updated_at = 0;    // Unix time [ms]
  bool operator==(const JobStatus&) const = default;
};

[[nodiscard]] Result<std::string> encode(const JobStatus& status);
[[nodiscard]] Result<JobStatus> status_from(std::string_view bytes);

}  // namespace hone::queue
