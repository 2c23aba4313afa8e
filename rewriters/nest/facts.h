// What lifted nests compute, in numbers and as a structure: for models that compare tasks, and to
// know a task again under other names and sizes.
#pragma once

#include <map>
#include <string>

#include "rewriters/nest/nest.h"

namespace hone::nest {

/// By name; of all launches that lift, at the sizes of the lift:
///   nests, unlifted (launches), points (of parallel boxes, in all), operations and special (exp,
///   sqrt, …; how often in all), loads (in all), reduced (how many values the longest reduction
///   folds), parallel_axes, reduction_axes (the most of a nest), products (1: a sum of products of
///   two loads), gathers (1: a load's place depends on a load), combines (1: results are added to
///   what is there), output_bytes and input_bytes (of one element, the most) [B].
using NestFacts = std::map<std::string, double>;
[[nodiscard]] NestFacts facts_of(const LiftedProgram& program);

/// The same for programs whose nests differ in sizes, constants and names of buffers and indices
/// only: 32 hex digits. Empty: a launch does not lift.
[[nodiscard]] std::string structure_of(const LiftedProgram& program);

}  // namespace hone::nest
