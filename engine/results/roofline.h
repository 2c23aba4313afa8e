// Where a task stands on a device's roofline.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "candidates/ceilings.h"
#include "candidates/store/store.h"
#include "candidates/task.h"

namespace hone::results {

struct Roofline {
  double flops = 0;        // of the task at its timed sizes
  double bytes = 0;        // that must move [B]
  double bytes_per_s = 0;  // at most
  double flops_per_s = 0;  // at most, in the arithmetic that the task allows
};

/// Where a program that takes `time_us` stands under it.
struct RooflinePosition {
  double intensity = 0;         // flops / bytes that must move [FLOP/B]
  double roof_flops_per_s = 0;  // at that intensity, at most
  bool memory_bound = false;    ///< the bandwidth is that roof
  double flops_per_s = 0;       // reached
  double fraction = 0;          // of that roof
};
[[nodiscard]] RooflinePosition position_on(const Roofline& line, double time_us);
[[nodiscard]] nlohmann::json roofline_json(const Roofline& line, double time_us, bool modelled);

/// For a program of the task and its measurement, which knows what must move better than the task's
/// text: part of a table may be read, part of an output may stay in the L2 cache.
/// Empty where the task does not say its operations, or the rates are not known.
[[nodiscard]] std::optional<Roofline> roofline_of(const Task& task, const Ceilings& ceilings,
                                                  const Measurement& measurement);

/// Measured ones from the database, an emulated device's from its profile; all 0: not known.
[[nodiscard]] Ceilings ceilings_of(const Store& store, const Provenance& provenance);

/// Why a time may be above the roof, of which it is this fraction: the ceilings are uncertain by up
/// to 10 % (evaluator/roofline/README.md). An alarm where that does not explain it. "" up to 1.
[[nodiscard]] std::string roof_note(double fraction);

}  // namespace hone::results
