// A graph in memory, as import_pt2() goes through it: for those who cut it into parts. Private to
// candidates/pytorch.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "candidates/pytorch/exported.h"
#include "candidates/pytorch/import.h"

namespace hone::pytorch {

/// What a node is to hone. Storages are numbers: tensors of one number share elements.
struct NodeFacts {
  std::string why_not;   ///< why hone does not take it; "": it does
  int launches = 0;      ///< 0: a view, or nothing at all
  bool loops = false;    ///< one of its kernels has a loop: no thread's work is one element
  std::set<int> reads;   ///< storages of its arguments
  std::set<int> writes;  ///< those of them that it changes
  std::set<int> makes;   ///< storages of its results
};

struct Examined {
  std::vector<NodeFacts> nodes;         ///< in the graph's order
  std::map<std::string, int> storages;  ///< of each value, by its name
};

/// Throws Refusal where an input of the graph is not to be had.
[[nodiscard]] Examined examine(const Exported& exported);

/// The order in which a tensor's dimensions lie in memory, outermost first. Throws Refusal where
/// the elements of `name` overlap or have gaps.
[[nodiscard]] std::vector<int> memory_order(const TensorMeta& meta, const std::string& name);

/// As import_pt2(), of what was read. Throws Refusal.
[[nodiscard]] Imported import_graph(const Exported& exported, const std::string& fill_path,
                                    const std::string& name, const MathLevels& math = {});

}  // namespace hone::pytorch
