// Measures cuBLAS and cuBLASLt on a task that is a matrix product.
#pragma once

#include <string>
#include <vector>

#include "candidates/store/store.h"
#include "candidates/task.h"
#include "engine/baselines/matmul_task.h"
#include "evaluator/library_bench.h"

namespace hone {

struct LibraryOutcome {
  BaselineTime time;      ///< `kind` is always set, the rest where the verdict is ok
  Evaluation evaluation;  ///< beside the reference; a library can be wrong at the task's tolerance
};

/// One outcome per library. `device`: "cuda:0". Errors: the task's expressions fail, or it is no
/// matrix product (kInvalidInput), and LibraryBench's.
[[nodiscard]] Result<std::vector<LibraryOutcome>> measure_libraries(const Task& task,
                                                                    LibraryBench& bench,
                                                                    const std::string& device,
                                                                    std::uint64_t seed);

/// Whether it is a matrix product at all its sizes, without a GPU. kInvalidInput: why not.
[[nodiscard]] Result<void> check_matmul(const Task& task);

}  // namespace hone
