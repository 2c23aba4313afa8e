// What the parts of the emulate mode make their replies with.
#pragma once

#include <string>

#include "evaluator/protocol/messages.h"

namespace hone::runner {

[[nodiscard]] inline protocol::EmulateReply reply(Verdict verdict, std::string detail,
                                                  bool reference_failed = false) {
  protocol::EmulateReply r;
  r.verdict = verdict;
  r.detail = std::move(detail);
  r.reference_failed = reference_failed;
  return r;
}

/// "A[64][32], B[32][64]": which size that was.
[[nodiscard]] std::string sizes_text(const ConcreteProgram& program);
/// Of all its buffers.
[[nodiscard]] std::int64_t bytes_of(const ConcreteProgram& program);

}  // namespace hone::runner
