// The kernel of a plan of rows.
#pragma once

#include <string>

#include "rewriters/schedules/lane_body.h"
#include "rewriters/schedules/rowwise/plan.h"

namespace hone::schedules::rowwise {

/// Where a row's elements are between the loops that need them.
/// kSplit: the first vectors of each thread in registers, the rest in shared memory.
enum class Keep { kRegisters, kShared, kSplit, kReread };

struct Schedule {
  Team team;        ///< threads per row (of one block), rows per block
  int cluster = 1;  ///< blocks that share a row, a part of it each; sm_90 and later
  int width = 1;
  Keep keep = Keep::kReread;
  int held = 0;  ///< kSplit: vectors of a thread in registers; make_fit() says
  Cache cache = Cache::kDefault;
  int blocks_per_sm = 0;    ///< 0: a block for every group of rows; else so many walk over them
  bool ahead = false;       ///< they load the next row before they work at this one
  int unroll = 4;           ///< of loops over a row that is not in registers
  bool reciprocal = false;  ///< x / s for all of a row as x * (1 / s)
};

/// What a row needs between the loops.
struct Kept {
  struct Computed {
    Ref value = nullptr;
    int space = 0;
    int level = 0;  ///< the loop that makes it
    int last = 0;   ///< the last that needs it
  };
  struct Raw {
    Ref load = nullptr;
    int space = 0;
    int level = 0;
    int last = 0;
  };
  std::vector<Raw> raw;
  std::vector<Computed> computed;  ///< in registers only: what is dear to make twice
};
[[nodiscard]] Kept kept_between_loops(const Goal& goal, const Plan& plan, Keep keep);

/// Elements of a row that a block of its cluster has; the last block may have fewer, or none.
[[nodiscard]] std::int64_t part_of_row(const Plan& plan, const Schedule& schedule, int space);
/// What is kept of a whole row, wherever it is [B].
[[nodiscard]] std::int64_t bytes_kept(const Goal& goal, const Plan& plan);
/// Registers of a thread that may hold a row: beyond, others spill.
[[nodiscard]] std::int64_t most_registers(const Team& team, const TargetLimits& target);
/// Registers of a thread that hold parts of a row [4 B]; shared memory of a block [B].
[[nodiscard]] std::int64_t registers_kept(const Goal& goal, const Plan& plan,
                                          const Schedule& schedule);
[[nodiscard]] std::int64_t registers_ahead(const Goal& goal, const Plan& plan,
                                           const Schedule& schedule);  ///< of the next row
[[nodiscard]] std::int64_t shared_row(const Plan& plan, const Schedule& schedule,
                                      const Kept::Raw& one);  ///< of one row [B]
[[nodiscard]] std::int64_t shared_kept(const Goal& goal, const Plan& plan,
                                       const Schedule& schedule);

/// Levels whose loops end in a fold.
[[nodiscard]] int folds_of(const Plan& plan);
/// Are slots of clusters' folds doubled, since the one fold of a row is followed by the next row's?
[[nodiscard]] bool takes_turns(const Plan& plan, const Schedule& schedule);
/// Static shared memory of the folds of all levels [B].
[[nodiscard]] std::int64_t shared_folds(const Goal& goal, const Plan& plan,
                                        const Schedule& schedule);

/// One kernel `name`; adds its launch to `generated`, and its text to `code`.
void print_rows(const Goal& goal, const Plan& plan, const Schedule& schedule,
                const std::string& name, const std::string& what, Helpers& helpers, Code& code,
                Generated& generated);

}  // namespace hone::schedules::rowwise
