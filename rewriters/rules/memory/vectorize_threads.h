// The parallel half of vectorize-access: neighbouring threads become one thread with several lanes.
#pragma once

#include "candidates/result.h"
#include "rewriters/rules/cooperative/kernel_tools.h"

namespace hone::rules::memory {

struct VectorizedThreads {
  Program program;
  int accesses = 0;  ///< vector loads and stores made at these sizes
};

/// Gives each thread `width` consecutive values of `i = blockIdx.x * blockDim.x + threadIdx.x` and
/// divides grid.x. Statement by statement, all lanes execute one before any executes the next;
/// loops and branches on which the lanes agree stay one. kRefused when the kernel has not this
/// shape.
[[nodiscard]] Result<VectorizedThreads> vectorize_threads(const Program& program,
                                                          const coop::Parsed& parsed,
                                                          const syntax::KernelInfo& info, int width,
                                                          const Bindings& sizes);

}  // namespace hone::rules::memory
