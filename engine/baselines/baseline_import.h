// Times of other implementations from a file, as baselines/torch_baseline.py writes it:
//
//   {"format": "hone baselines 1", "device": "cuda:0", "device_name": "NVIDIA H200",
//    "versions": "torch 2.11.0+cu130, CUDA 13.0",
//    "results": [{"task": "matmul", "task_hash": "…", "kind": "torch eager", "precision": "f32",
//                 "samples_us": [412.1, …]}, …]}
//
// A result with an "error" and no samples is one that did not run; it is skipped. Unknown keys are
// for people. The time and its interval are made from the samples here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "candidates/store/store.h"

namespace hone {

struct ImportedBaseline {
  std::string task;  ///< its name, for messages
  std::string task_hash;
  BaselineTime time;
};

inline constexpr std::size_t kFewestBaselineSamples = 3;

/// kInvalidInput "FILE: $.path: what is wrong; what would be right".
[[nodiscard]] Result<std::vector<ImportedBaseline>> parse_baselines(std::string_view text,
                                                                    const std::string& file);
[[nodiscard]] Result<std::vector<ImportedBaseline>> read_baselines(const std::string& file);

}  // namespace hone
