// Which inputs must be read to the last element, at a check size: those of which every element
// counts for the answer. A reference may read more than it needs (rows behind a length, elements
// that a mask leaves out), and then a program that reads less is right.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "evaluator/device/emulator/emulator.h"
#include "evaluator/protocol/messages.h"

namespace hone::runner {

/// Of the buffers `read_whole` those that are needed whole. Changes elements at a few places, one
/// at a time, and runs the reference again: a buffer is needed whole where nearly every change
/// changes an output. `outputs`, by index, is what the reference gave with `seed`; `instructions`
/// is what that run took. A reference that is too long for so many runs says of its floating inputs
/// alone that they are needed, and only where no integer input may choose among their elements.
[[nodiscard]] std::set<std::string> needed_inputs(
    const protocol::Runnable& reference, const emulator::Module& module, std::uint64_t seed,
    const std::set<std::string>& read_whole,
    const std::map<int, std::vector<std::uint8_t>>& outputs, std::uint64_t instructions,
    int threads);

}  // namespace hone::runner
