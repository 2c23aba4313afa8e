// Task: what the user submits. Reading one from a file is in candidates/task_reader.h.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "candidates/program.h"
#include "candidates/verdict.h"

namespace hone {

/// Where two elements of which one is NaN or infinite count as equal: nowhere, or where both are
/// NaN, both plus or both minus infinity, provided that enough of what is wanted is finite.
enum class NonFinite {
  kNever,
  kFew,  ///< the task's own inputs: nearly all must be finite
  /// Inputs that hone made up: anything must be; what overflows may be the largest number, too.
  kMadeUp,
  kSame,     ///< the task means them ("non_finite": "same"): one in a hundred must be finite
  kNumbers,  ///< only what is wanted finite is compared
};

struct Tolerance {
  double rtol = 1e-4;
  double atol = 1e-5;
  NonFinite non_finite = NonFinite::kNever;  ///< of a task: kNever or kSame
  bool operator==(const Tolerance&) const = default;
};

struct Task {
  std::string name;
  std::string source_path;            ///< for messages only
  Program reference;                  ///< defines hold the first value of every tunable
  Bindings sizes;                     ///< timed sizes
  std::vector<Bindings> check_sizes;  ///< small; every name of `sizes` is bound in each
  std::map<std::string, std::vector<std::int64_t>> tunables;
  std::vector<Expr> constraints;  ///< over tunables and sizes
  Tolerance tolerance;
  MathLevel math = MathLevel::kReassociate;
  bool specialize = true;     ///< false: a candidate must hold at every size the constraints allow
  std::optional<Expr> flops;  // floating-point operations at given sizes
  std::optional<std::string> torch;  ///< PyTorch expression, a baseline

  /// Content hash (128 bits, hex) over source, buffers, launches, sizes, tolerance, math, tunables.
  /// Paths and the name do not count.
  [[nodiscard]] std::string hash() const;
  /// Likewise without sizes, tolerance and math: tasks that differ in these alone are one family.
  [[nodiscard]] std::string family() const;
  /// Absolute paths of the files that buffers are filled from, but not of what was sent.
  [[nodiscard]] std::vector<std::string> input_files() const;

 private:
  /// What the hash is of.
  [[nodiscard]] nlohmann::json identity() const;
};

void to_json(nlohmann::json& json, const Task& task);
[[nodiscard]] Result<Task> task_from_json(const nlohmann::json& json);

}  // namespace hone
