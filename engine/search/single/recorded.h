// A program against answers that were recorded elsewhere: a folder with inputs/N.bin, outputs/N.bin
// and mutated/NAME.bin, raw little-endian elements. `hone import --verify` compares what became of
// a PyTorch module with PyTorch's own answers.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "candidates/pytorch/import.h"
#include "candidates/task.h"
#include "evaluator/evaluator.h"

namespace hone {

/// Buffers in the order of a folder's files; "" has none.
struct RecordedBuffers {
  std::vector<std::string> arguments;  ///< inputs/N.bin
  std::vector<std::string> results;    ///< outputs/N.bin
  std::vector<std::string> draws;      ///< draws/N.bin; one without a file is filled by the task
  /// Names in the module's state, and their buffers. What such a buffer, or an argument, holds
  /// afterwards is compared with mutated/NAME.bin, or with mutated/N.bin of the N-th argument,
  /// where the file is there.
  std::vector<pytorch::Imported::Parameter> parameters;
};

/// Runs the task's reference once at its timed sizes on the inputs of the folder, and compares its
/// outputs within the task's tolerance: the verdict is ok or wrong_result, `detail` names the worst
/// element. What an inout buffer holds afterwards is compared where it is among the results, or
/// where there is a file for it in mutated/. Errors: kInvalidInput, a file is missing or has
/// another length than its buffer; those of the evaluator.
[[nodiscard]] Result<Evaluation> compare_with_recorded(const Task& task,
                                                       const std::filesystem::path& folder,
                                                       const RecordedBuffers& buffers,
                                                       Evaluator& evaluator, bool modelled);

/// The files that it reads, for EvaluatorOptions::input_files: all that are there.
[[nodiscard]] std::vector<std::string> recorded_files(const std::filesystem::path& folder,
                                                      const RecordedBuffers& buffers);

}  // namespace hone
