// How far candidates may depart from a graph's arithmetic, by what is in it: PyTorch has a switch
// for TF32 in convolutions, one in recurrent networks and another in products of matrices.
#pragma once

#include <optional>

#include "candidates/pytorch/exported.h"
#include "candidates/verdict.h"

namespace hone::pytorch {

/// None: the default of tasks (candidates/TASK.md).
struct MathLevels {
  std::optional<MathLevel> usual;
  /// Of a graph with a convolution of f32, where that is looser.
  std::optional<MathLevel> convolutions = {};
  /// Of one with a product of matrices, attention or a recurrent cell of f32, where that is looser.
  std::optional<MathLevel> products = {};
  /// Of one with an LSTM, a GRU or a plain recurrent network of f32, where that is looser.
  std::optional<MathLevel> recurrent = {};
};

/// The level of the graph's task: the loosest that applies.
[[nodiscard]] std::optional<MathLevel> level_of(const Exported& graph, const MathLevels& levels);

}  // namespace hone::pytorch
