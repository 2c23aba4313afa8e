// A PyTorch module as a task: `torch.export.save(torch.export.export(module, args), "m.pt2")` in
// Python, then import_pt2("m.pt2") here, without Python. The task is what a person would write
// first: one naive kernel for each operation of the module's graph, launched in its order.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "candidates/pytorch/math_levels.h"
#include "candidates/result.h"

namespace hone::pytorch {

struct Imported {
  /// A task file, see candidates/TASK.md. Parameters are filled from the .pt2 by reference.
  std::string text;
  /// Buffers of the module's tensor arguments, in their order; "" for one that is no tensor.
  std::vector<std::string> arguments;
  /// Buffers of its tensor results, in their order; "" for one that is no tensor.
  std::vector<std::string> results;
  /// Of each parameter, buffer and constant that the graph knows: its name in the module's state
  /// and the task's buffer. Tied ones share a buffer.
  struct Parameter {
    std::string name, buffer;
  };
  std::vector<Parameter> parameters;
  /// Buffers of what PyTorch would draw at random, in the order of the graph's nodes: the values
  /// are the caller's. Of dropout: 1 / (1 - p) where an element is kept, else 0.
  std::vector<std::string> draws;
};

/// `fill_path`: how the task names the .pt2. `math`: the task's. kInvalidInput with one line: what
/// the file lacks, or the first operation that hone does not have, with its node.
[[nodiscard]] Result<Imported> import_pt2(const std::filesystem::path& path,
                                          const std::string& fill_path,
                                          const MathLevels& math = {});

}  // namespace hone::pytorch
