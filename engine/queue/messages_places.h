// Where a job's best programs stood on their boards when it ended: kept beside its status.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/queue/messages.h"

namespace hone::queue {

/// Of the best that the search on one architecture found.
struct JobPlace {
  std::string arch;         ///< as the job names it: "emu:sm_90"
  std::string device_name;  ///< whose board it is
  int rank = 0;             ///< from 1
  bool operator==(const JobPlace&) const = default;
};

struct JobPlaces {
  std::string id;  ///< the job's
  std::vector<JobPlace> places;
  bool operator==(const JobPlaces&) const = default;
};

[[nodiscard]] Result<std::string> encode(const JobPlaces& places);
[[nodiscard]] Result<JobPlaces> places_from(std::string_view bytes);

}  // namespace hone::queue
