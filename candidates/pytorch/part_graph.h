// Which nodes of a graph make a part, and in which order parts and other nodes run. Private to
// candidates/pytorch; parts.h has the whole.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "candidates/pytorch/examine.h"
#include "candidates/pytorch/exported.h"
#include "candidates/pytorch/parts.h"

namespace hone::pytorch {

/// Nodes by index, in the graph's order; values by name.
struct PartNodes {
  std::vector<std::size_t> nodes;
  std::vector<std::string> inputs, outputs;
  std::set<std::string> changed;  ///< inputs whose elements it writes
};

/// A graph in which each node is one of three: in a group, left to PyTorch, or a view that costs
/// nothing and is repeated wherever it is read.
///
/// Groups grow under one rule: what must run between two nodes of a group is in it too, so that a
/// group can run as one. "Must run before" is told by the values that are read, and by what shares
/// elements with what is written.
class PartGraph {
 public:
  /// Throws Refusal as examine() does.
  PartGraph(const Exported& exported, const PartsOptions& options);

  /// Groups of what is not left out yet.
  [[nodiscard]] std::vector<PartNodes> groups();
  /// No part can be made of it: its nodes are PyTorch's from now on.
  void leave_out(const PartNodes& group, const std::string& why);

  /// Of what groups() gave last.
  [[nodiscard]] std::vector<Step> steps() const;
  [[nodiscard]] std::vector<LeftOut> left_out() const;
  /// Nodes of no step: nobody sees what they do.
  [[nodiscard]] const std::vector<std::string>& dropped() const { return dropped_; }

 private:
  using Unit = std::size_t;  ///< a group, or a node that is left out, by one of its nodes

  void find_makers();
  void find_writes();
  void find_free_views();
  void order_nodes();
  void leave_small_ones();
  void find_needed();
  void count_loops();
  void group_nodes();
  bool leave_shared_writes();

  void merge(Unit a, Unit b);
  bool merge_if_possible(Unit a, Unit b);
  [[nodiscard]] bool loops_in(Unit unit) const;
  [[nodiscard]] bool can_be_one(Unit a, Unit b) const;
  [[nodiscard]] bool leads_around(Unit from, Unit to) const;
  [[nodiscard]] std::set<Unit> units_before(Unit unit) const;
  [[nodiscard]] std::set<Unit> units_after(Unit unit) const;
  /// The module whose operations with loops should be one part with this one.
  [[nodiscard]] std::string home_of(std::size_t node) const;
  [[nodiscard]] std::set<int> touched(std::size_t node) const;
  [[nodiscard]] int class_of(int storage) const;
  void join_classes(int a, int b);

  /// Nodes that make `value` what it is: views that cost nothing, then the value they look at. To a
  /// unit that reads it, a slice of what others make is a value of its own.
  void add_views(const std::string& value, std::set<std::size_t>& views,
                 std::vector<std::string>& bases, std::optional<Unit> reader) const;
  [[nodiscard]] bool is_slice(std::size_t view) const;
  /// Whether `value` is a view of what the unit makes.
  [[nodiscard]] bool looks_at(const std::string& value, Unit unit) const;
  [[nodiscard]] PartNodes part_of(Unit unit) const;

  const Exported& exported_;
  PartsOptions options_;
  Examined facts_;
  std::vector<std::string> why_not_;           ///< of each node; "": a group may have it
  std::map<std::string, std::size_t> makers_;  ///< the node that makes a value
  std::map<int, int> classes_;                 ///< storages that share elements: one of them
  std::map<int, std::size_t> last_write_;      ///< of each class that is written: the node
  std::vector<bool> free_;                     ///< views that are repeated
  std::vector<std::set<std::size_t>> before_;  ///< nodes that are not free
  std::vector<std::set<std::size_t>> after_;
  std::map<std::string, int> loops_below_;  ///< operations with loops of each module's path
  std::vector<Unit> unit_;                  ///< of each node that is not free
  std::map<Unit, std::vector<std::size_t>> members_;
  std::set<std::string> needed_;                  ///< values that are read outside their unit
  std::vector<std::vector<std::string>> inputs_;  ///< of what groups() gave
  std::vector<std::string> dropped_;
  std::map<Unit, std::size_t> group_of_;  ///< of a unit: its place in what groups() gave
};

}  // namespace hone::pytorch
