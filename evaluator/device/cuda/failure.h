// Why something on the GPU did not work, and what that means for the candidate and the context.
#pragma once

#include <cuda.h>

#include <expected>
#include <string>

#include "candidates/verdict.h"
#include "evaluator/device/cuda/driver.h"

namespace hone::cuda {

struct Failure {
  Verdict verdict = Verdict::kCrash;
  bool context_lost = false;  ///< nothing may run in this process' context any more
  bool out_of_memory = false;
  std::string detail;
};

[[nodiscard]] inline Failure launch_error(std::string detail) {
  return Failure{Verdict::kLaunchError, false, false, std::move(detail)};
}

template <class T>
using Outcome = std::expected<T, Failure>;

/// From a driver call's result: faults, launch errors, timeouts; anything else is a lost context.
[[nodiscard]] Failure failure_of(const Driver& driver, CUresult result, const char* call);

}  // namespace hone::cuda

/// Evaluates a driver call; returns its Failure from the enclosing function unless it succeeded.
#define HONE_CU(driver, call)                                                         \
  do {                                                                                \
    if (const CUresult hone_result = (driver).call; hone_result != CUDA_SUCCESS)      \
      return std::unexpected(::hone::cuda::failure_of((driver), hone_result, #call)); \
  } while (false)

/// Returns the Failure of an Outcome<void>, if any.
#define HONE_TRY(expression)                                 \
  do {                                                       \
    if (auto hone_tried = (expression); !hone_tried)         \
      return std::unexpected(std::move(hone_tried.error())); \
  } while (false)
