// Values that are reductions, computed before they are scattered:
//
//   out[group[i]] += sum over j of x[i, j]   =>   values[i] = sum over j of x[i, j]
//                                                 out[group[i]] += values[i]
#pragma once

#include <string>
#include <vector>

#include "rewriters/schedules/generator.h"

namespace hone::schedules::histogram {

struct Staged {
  ConcreteProgram concrete;             ///< the buffers, and those of the values
  std::vector<nest::Nest> first;        ///< give the values: plain nests
  std::vector<nest::Nest> scatters;     ///< read them
  std::vector<ConcreteBuffer> scratch;  ///< names beginning with the prefix

  /// The goal of what is left; `goal` and this must outlive it.
  [[nodiscard]] Goal rest(const Goal& goal) const;
};

/// kRefused: a reduction where none can be moved from.
[[nodiscard]] Result<Staged> stage_values(const Goal& goal, const std::string& prefix);

}  // namespace hone::schedules::histogram
