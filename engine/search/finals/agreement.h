// What several workers say of one program in the final stage, and whom to believe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "candidates/measurement.h"

namespace hone {

/// What one worker says.
struct Report {
  std::string worker;
  Evaluation evaluation;
};

/// The same verdict and, where it is ok, the same time: to 0.1 % of a model, of a measurement to 3
/// % of the speedup or to what the 95 % intervals explain, with times of the same order.
[[nodiscard]] bool agree(const Evaluation& a, const Evaluation& b);

/// The report to go by, the slower one of two that agree. None: no two do.
[[nodiscard]] std::optional<std::size_t> believed(const std::vector<Report>& reports);

/// "ok, 12.5 us, 2.000x" or "wrong_result (y[3]: …)".
[[nodiscard]] std::string what_it_says(const Evaluation& evaluation);

}  // namespace hone
