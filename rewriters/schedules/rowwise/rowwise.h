// Rows with reductions, all in one kernel: softmax, norms, losses, variances, arg-max.
#pragma once

#include <memory>

#include "rewriters/schedules/generator.h"
#include "rewriters/schedules/rowwise/print.h"

namespace hone::schedules {

[[nodiscard]] std::unique_ptr<Generator> make_rowwise();

namespace rowwise {

/// The widest vector for this plan; a space's length and all strides are multiples of it.
[[nodiscard]] int widest(const Goal& goal, const Plan& plan);
/// The schedule that the analytic model says: 16 elements a thread, 16-byte vectors, whole warps;
/// with `clusters` long rows and few rows are shared by several blocks.
[[nodiscard]] Schedule first_guess(const Goal& goal, const Plan& plan, bool clusters = false);
/// Brings it to one that fits the target: the number of threads, registers, shared memory.
void make_fit(const Goal& goal, const Plan& plan, Schedule& schedule);

}  // namespace rowwise
}  // namespace hone::schedules
