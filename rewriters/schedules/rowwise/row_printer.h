// The kernel of a plan of rows, as it is printed: what of it is declared where, and the loops.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "rewriters/schedules/cluster.h"
#include "rewriters/schedules/kernel_printer.h"
#include "rewriters/schedules/rowwise/print.h"

namespace hone::schedules::rowwise {

class RowPrinter : KernelPrinter<Schedule> {
 public:
  RowPrinter(const Goal& goal, Plan plan, const Schedule& schedule, Helpers& helpers, Code& code)
      : KernelPrinter(goal, schedule, helpers, code), plan_(std::move(plan)) {}

  void print(const std::string& name, const std::string& what, Generated& generated);

 private:
  /// The loops over a row: all of it, or what is in registers and then what is in shared memory.
  enum class Segment { kWhole, kHeld, kRest };

  // print.cpp: what happens.
  void divide_once();
  void print_row_loop();
  void print_levels();
  void print_level(int level);
  void emit_invariants(Printer& with_kept, const std::vector<Ref>& roots, SymbolId column);
  void print_loop(int level, int space, Segment segment,
                  const std::vector<Accumulator>& accumulators,
                  const std::vector<const Reduction*>& made, std::size_t first);
  void print_fold(const std::vector<Accumulator>& accumulators);
  void wait_for_begin();
  void print_row_outputs();
  void add_launch(const std::string& name, Generated& generated);
  [[nodiscard]] LaneBody body_for(int space);
  int open_loop(int space, Segment segment);

  // declare.cpp: where things are.
  void collect_buffers();
  void print_constants();
  void print_threads();
  void print_row(const std::string& first);
  void declare_shared();
  void declare_registers();
  void load_for_all_rows();
  void declare_ahead();
  void load_ahead(const std::string& step);
  void fetch_next(const std::string& first);

  [[nodiscard]] static std::string of_space(const char* constant, int space) {
    return space == 0 ? constant : constant + std::to_string(space + 1);
  }
  [[nodiscard]] std::int64_t length(int space) const {
    return plan_.spaces[static_cast<std::size_t>(space)].length;
  }
  /// Of a row, in one block.
  [[nodiscard]] std::int64_t part(int space) const { return part_of_row(plan_, schedule_, space); }
  /// Of the last block.
  [[nodiscard]] std::int64_t last_part(int space) const {
    return std::max<std::int64_t>(0, length(space) - part(space) * (schedule_.cluster - 1));
  }
  /// The parts of all blocks are of that length.
  [[nodiscard]] bool even_parts(int space) const {
    return part(space) * schedule_.cluster == length(space);
  }
  [[nodiscard]] std::int64_t step_length() const {
    return std::int64_t{schedule_.team.threads} * schedule_.width;
  }
  [[nodiscard]] SymbolId column_of(int space) const {
    return plan_.spaces[static_cast<std::size_t>(space)].column;
  }
  [[nodiscard]] bool has_fold(int level) const {
    return std::ranges::any_of(plan_.reductions,
                               [&](const Reduction& one) { return one.level == level; });
  }
  [[nodiscard]] bool in_cluster() const { return schedule_.cluster > 1; }
  /// The number of the group of rows, where each has one block or cluster.
  [[nodiscard]] std::string group() const { return in_cluster() ? "group" : "blockIdx.x"; }
  [[nodiscard]] bool in_registers() const {
    return schedule_.keep == Keep::kRegisters || schedule_.keep == Keep::kSplit;
  }
  [[nodiscard]] bool in_shared() const {
    return schedule_.keep == Keep::kShared || schedule_.keep == Keep::kSplit;
  }
  [[nodiscard]] bool unrolled(Segment segment) const {
    return segment == Segment::kHeld || schedule_.keep == Keep::kRegisters;
  }

  Plan plan_;
  Kept kept_;
  std::map<Ref, std::string> place_of_, shared_place_, for_all_rows_;
  std::map<Ref, std::string> ahead_;  ///< of the next row
  bool spare_ = false;
  bool begun_ = false;  ///< all blocks of the cluster are known to have begun
  bool turns_ = false;  ///< slots of the one fold are doubled
};

}  // namespace hone::schedules::rowwise
