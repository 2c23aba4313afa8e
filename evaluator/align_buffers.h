// A candidate's buffers against the task's: what the reference declares stands.
#pragma once

#include "candidates/program.h"
#include "candidates/result.h"

namespace hone {

/// The candidate with type, role and fill of every buffer that the reference knows taken from the
/// reference, and every other buffer made scratch. Errors (kInvalidInput): an output is missing, or
/// a buffer has another size.
[[nodiscard]] Result<ConcreteProgram> align_buffers(const ConcreteProgram& reference,
                                                    const ConcreteProgram& candidate);

}  // namespace hone
