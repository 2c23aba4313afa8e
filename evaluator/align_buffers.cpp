#include "evaluator/align_buffers.h"

#include <fmt/format.h>

#include <algorithm>

namespace hone {

Result<ConcreteProgram> align_buffers(const ConcreteProgram& reference,
                                      const ConcreteProgram& candidate) {
  ConcreteProgram out = candidate;
  for (auto& buffer : out.buffers) {
    const auto known = std::find_if(reference.buffers.begin(), reference.buffers.end(),
                                    [&](const ConcreteBuffer& b) { return b.name == buffer.name; });
    if (known == reference.buffers.end()) {
      buffer.role = Role::kScratch;
      continue;
    }
    // A temporary is the program's own affair; what goes in and out is not.
    if (known->role == Role::kScratch) {
      buffer.role = Role::kScratch;
      continue;
    }
    if (buffer.bytes() != known->bytes() || buffer.type != known->type) {
      return invalid(fmt::format("buffer '{}' has {} bytes of {}, the task says {} bytes of {}",
                                 buffer.name, buffer.bytes(), to_string(buffer.type),
                                 known->bytes(), to_string(known->type)));
    }
    buffer.role = known->role;
    buffer.fill = known->fill;
  }
  for (const auto& buffer : reference.buffers) {
    if (buffer.role != Role::kOut && buffer.role != Role::kInOut) continue;
    const bool there = std::any_of(out.buffers.begin(), out.buffers.end(),
                                   [&](const ConcreteBuffer& b) { return b.name == buffer.name; });
    if (!there) return invalid(fmt::format("the program has no buffer '{}'", buffer.name));
  }
  return out;
}

}  // namespace hone
