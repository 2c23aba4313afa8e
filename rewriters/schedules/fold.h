// Reductions as text: an accumulator per reduction, folded over the threads of a team.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rewriters/schedules/printing/emit.h"

namespace hone::schedules {

struct Accumulator {
  Accumulator(nest::Nodes& nodes, Ref reduction, Ref body, Names& names);

  Op op = Op::kAdd;  ///< of the reduction; kArgMax and kArgMin keep a position too
  std::string type;  ///< of the variable
  std::string name;
  std::string place;  ///< the position's variable; empty: none
  std::string start;  ///< what leaves others as they are

  [[nodiscard]] bool finds_place() const { return !place.empty(); }
  /// Where its variables lie in shared memory [B].
  [[nodiscard]] std::int64_t bytes() const;
  void declare(Code& code) const;
  /// Takes one more value; positions come in ascending order.
  void take(Code& code, const std::string& value, const std::string& position) const;
  /// Takes another accumulator of the same reduction, of any positions.
  void merge(Code& code, const std::string& value, const std::string& position) const;
};

/// Threads that work at one row. Along: `threads` (a power of two) neighbours. Across: 32 rows lie
/// beside each other in x, and the threads of a row in y.
struct Team {
  int threads = 32;
  int teams = 1;  ///< in a block
  bool across = false;

  /// Of threads, as a launch has it.
  [[nodiscard]] std::vector<std::int64_t> block() const {
    if (across) return {teams, threads};
    return {std::int64_t{threads} * teams};
  }
};

/// Variables `lane`, and `team` where a block has several.
void print_place_in_team(const Team& team, Code& code);
/// A butterfly over `lanes` neighbours of a warp, a power of two: each holds the whole afterwards.
void emit_lane_fold(Code& code, Names& names, const std::string& lanes,
                    const std::vector<Accumulator>& accumulators);
/// What an accumulator has in shared memory: arrays of its values, and of its places if it has any.
struct FoldSlots {
  std::string values, places;
};
/// Declares arrays of that shape ("[kWarps]"), one FoldSlots for each accumulator.
[[nodiscard]] std::vector<FoldSlots> declare_slots(Code& code, Names& names,
                                                   const std::string& shape,
                                                   const std::vector<Accumulator>& accumulators);
/// After it every thread of a team holds the whole. Uses the variables `lane` (the thread's number
/// in its team) and `team` (the team's number in the block). All threads of the block take part.
void emit_team_fold(Code& code, Names& names, const Team& team,
                    const std::vector<Accumulator>& accumulators);
/// Does that fold use shared memory, so that a second one of it needs a barrier between?
[[nodiscard]] bool folds_in_shared(const Team& team);
/// Slots in static shared memory that it has for each accumulator.
[[nodiscard]] std::int64_t fold_slots(const Team& team);

}  // namespace hone::schedules
