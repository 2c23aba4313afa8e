// What databases know of timed candidates, as samples for a model.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "candidates/store/store.h"
#include "engine/rewriting/rewriting.h"
#include "engine/search/ranking/features.h"

namespace hone::ranking {

struct Sample {
  Features before;  ///< the compiler is asked
  Features after;   ///< likewise, with its report
  double log_time = 0;
};

/// A task on a device.
struct TaskSamples {
  std::string task;
  std::string device;  ///< its name
  bool modelled = false;
  /// Equal for tasks that compute the same, whatever their names and sizes: these are kept out of
  /// training together.
  std::string group;
  std::vector<Sample> samples;
};

/// Appends what `store` has of an architecture to `all`. `rewriting` is asked what each task's
/// nests are. `skip`: names of tasks to leave out, also where they are the beginning of one.
/// `progress` is called once a task. Errors: the store's, kInfrastructure.
[[nodiscard]] Result<void> collect(const Store& store, const std::string& arch,
                                   Rewriting& rewriting, const std::vector<std::string>& skip,
                                   const std::function<void(const std::string& task)>& progress,
                                   std::vector<TaskSamples>& all);

}  // namespace hone::ranking
