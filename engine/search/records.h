// What is written down about a search: names, places and where a result comes from.
#pragma once

#include <string>

#include "candidates/result.h"
#include "candidates/store/store.h"
#include "candidates/task.h"
#include "evaluator/device_spec.h"
#include "evaluator/evaluator.h"

namespace hone {

[[nodiscard]] Provenance provenance_of(const DeviceSpec& device, const DeviceInfo& info);

/// What the user calls the candidate: the store gives ids, since two tasks may hold one program.
/// `store` may be null.
[[nodiscard]] std::string id_of(const Store* store, const CandidateRecord& candidate);

/// What is wrong with the task, with the file that it is in.
[[nodiscard]] Error with_place(Error error, const Task& task);

}  // namespace hone
