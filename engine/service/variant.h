// One variant that somebody wrote, through every gate.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/service/search_job.h"

namespace hone {

/// Its id is the store's, where there is one; `store` may be null. `notes` gets what the admission
/// of the task says. Errors: those of admission, and
/// kInfrastructure.
[[nodiscard]] Result<Finalist> run_variant(const Task& task, const Program& variant,
                                           const DeviceSpec& device, Evaluator& evaluator,
                                           Rewriting& rewriting, Store* store, std::uint64_t seed,
                                           std::vector<std::string>& notes);

}  // namespace hone
