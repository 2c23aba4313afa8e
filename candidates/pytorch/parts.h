// A module as several tasks. A network of a hundred operations is no task that a search can turn
// over as one: it is cut into parts, each a few operations that belong together, and what hone
// does not take stays PyTorch's. Parts that compute the same have the same text, so that they are
// searched once.
//
// A part knows nothing of the file it came from: its weights are made up as PyTorch draws them, and
// its names are those of its operations. So the same layer of another model is the same task.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "candidates/pytorch/math_levels.h"
#include "candidates/result.h"

namespace hone::pytorch {

/// A tensor that crosses a part's border. It is dense there.
struct PartValue {
  std::string value;     ///< its name in the graph
  std::string buffer;    ///< the task's
  bool changed = false;  ///< an input whose elements the part writes
  /// The dimensions as they lie in memory, outermost first. Row-major but for arguments and weights
  /// of the module that lie otherwise, channels last say.
  std::vector<int> order;
};

struct Part {
  std::string text;                ///< a task file, see candidates/TASK.md
  std::vector<std::string> nodes;  ///< of the graph; a view of no cost may be in several parts
  std::vector<PartValue> inputs, outputs;
  std::size_t alike = 0;  ///< the first part with the same text
};

/// What is done next: a part, or a node by PyTorch.
struct Step {
  std::optional<std::size_t> part;
  std::string node;
};

struct LeftOut {
  std::string node, target, why;
};

struct Parts {
  std::vector<Part> parts;
  std::vector<Step> steps;           ///< what must come before comes before
  std::vector<LeftOut> left_out;     ///< nodes that PyTorch computes
  std::vector<std::string> dropped;  ///< nodes of no step: nobody sees what they do
};

struct PartsOptions {
  /// Operations with loops (products, convolutions, reductions) in one part, at most: those of one
  /// module of the network stay together.
  int most_loops = 3;
  /// Operations without loops that make fewer elements than this stay PyTorch's, where no part has
  /// them anyway: they are over before they began.
  double least_elements = 4096;
  MathLevels math;  ///< of each task
};

/// kInvalidInput with one line: no .pt2 that can be read, or an argument that hone does not take.
[[nodiscard]] Result<Parts> cut_pt2(const std::filesystem::path& path, const PartsOptions& options);

}  // namespace hone::pytorch
