// What the tools that judge the time model share: a program's modelled time, and statistics.
#pragma once

#include <string>
#include <vector>

#include "candidates/program.h"
#include "evaluator/runner/sample_launches.h"

namespace hone {

struct Sampled {
  std::vector<runner::LaunchSample> launches;
  std::string failure;  ///< empty: none
};

/// Compiles the program and counts a sample of it on the emulator, in this process.
[[nodiscard]] Sampled sample(const ConcreteProgram& program, const std::string& arch);

/// `bound` becomes that of the longest launch.
[[nodiscard]] double modelled_us(const Sampled& sampled, const emulator::Profile& profile,
                                 std::string& bound);

/// Rank correlation; 0 where one side does not vary.
[[nodiscard]] double spearman(const std::vector<double>& a, const std::vector<double>& b);
[[nodiscard]] double median(std::vector<double> values);

}  // namespace hone
