// Which inputs must be read to the last element, at a check size: those of which every element
// counts for the answer. A reference may read more than it needs (rows behind a length, elements
// that a mask leaves out), and then a program that reads less is right.
#pragma once

#include <cstdint>
#include <string>

#include "evaluator/device/emulator/emulator.h"
#include "evaluator/protocol/messages.h"
#include "evaluator/runner/reference_runs.h"

namespace hone::runner {

/// Is the input `name` needed whole? Changes elements at a few places, one at a time, and runs the
/// reference again: a buffer is needed whole where nearly every change changes an output. `run` is
/// what the reference did with `seed`. One that is too long for so many runs, for each of the
/// `asked` inputs of which somebody wants to know, says of its floating inputs alone that they are
/// needed, and only where no integer input may choose among their elements.
[[nodiscard]] bool is_needed(const protocol::Runnable& reference, const emulator::Module& module,
                             std::uint64_t seed, const std::string& name, int asked,
                             const ReferenceRun& run, int threads);

}  // namespace hone::runner
