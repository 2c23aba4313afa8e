// A claim of the database once more: the final stage in fresh processes, on inputs and at hidden
// sizes that nobody has seen.
#pragma once

#include <string>

#include "candidates/store/store.h"
#include "candidates/task.h"
#include "engine/rewriting/rewriting.h"
#include "evaluator/evaluator.h"

namespace hone {

struct Verification {
  Evaluation evaluation;  ///< now
  bool stands = false;
  std::string reason;  ///< one line: why it stands, or does not
};

/// A speedup may turn out smaller by this share, and the claim stands.
inline constexpr double kVerifyMargin = 0.03;

/// `claim` is a row of `store` for `task`. The new result is stored: what fails its checks leaves
/// the board. Errors: kInvalidInput when the device is another than the claim's; those of
/// admission.
[[nodiscard]] Result<Verification> verify(const Task& task, const BoardRow& claim,
                                          const DeviceSpec& device, Evaluator& evaluator,
                                          Rewriting& rewriting, Store& store);

}  // namespace hone
