// A candidate as one .cu file that compiles by itself: its kernels and a launcher.
#pragma once

#include <string>

#include "candidates/store/store.h"
#include "candidates/task.h"
#include "engine/rewriting/rewriting.h"

namespace hone {

/// The source, preceded by where it comes from, followed by
/// `cudaError_t <task>_launch(<buffers>…, cudaStream_t stream)`, which allocates scratch buffers,
/// runs the launches at the timed sizes and returns the first CUDA error. The sizes are constants
/// at the top of the launcher. Errors: an expression of the program that does not evaluate.
[[nodiscard]] Result<std::string> export_cuda(const BoardRow& row, const Task& task,
                                              Rewriting& rewriting);

}  // namespace hone
