// One variant that somebody wrote, through every gate.
#pragma once

#include <cstdint>

#include "engine/service/search_job.h"

namespace hone {

/// Its id is the store's, where there is one; `store` may be null. Errors: those of admission, and
/// kInfrastructure.
[[nodiscard]] Result<Finalist> run_variant(const Task& task, const Program& variant,
                                           const DeviceSpec& device, Evaluator& evaluator,
                                           Rewriting& rewriting, Store* store, std::uint64_t seed);

}  // namespace hone
