// The serial half of vectorize-access: a thread's own loop over consecutive elements.
#pragma once

#include <string>

#include "candidates/result.h"
#include "rewriters/rules/cooperative/kernel_tools.h"

namespace hone::rules::memory {

struct Vectorized {
  std::string source;
  int accesses = 0;  ///< vector loads and stores made at these sizes
};

/// Strip-mines `loop` by `width`, in order, with the consecutive accesses of a strip as vector
/// accesses where their alignment is certain at these sizes; scalar accesses otherwise. kRefused
/// when the loop cannot be strip-mined at any size.
[[nodiscard]] Result<Vectorized> vectorize_loop(const coop::Parsed& parsed,
                                                const syntax::KernelInfo& info,
                                                const syntax::Loop& loop, int width,
                                                const Bindings& sizes);

}  // namespace hone::rules::memory
