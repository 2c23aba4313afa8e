// How one operand's tile lies in shared memory, and how threads bring it there: of the pipes whose
// blocks stream tiles of k.
#pragma once

#include <cstdint>

#include "rewriters/schedules/contract/schedule.h"
#include "rewriters/tile/program.h"

namespace hone::schedules::contract {

struct OperandTile {
  tile::SharedTile tile;  ///< (row of A or column of B, k)
  tile::CopyWay way = tile::CopyWay::kAsync;
  bool along_k = false;  ///< a thread's piece runs along k, else along the outer index
  int piece = 1;         ///< elements that a thread moves at once

  /// Elements one by one, through registers.
  [[nodiscard]] bool gathers() const { return way != tile::CopyWay::kAsync && piece == 1; }
};

[[nodiscard]] OperandTile tile_of(const Contraction& c, const Operand& operand,
                                  const Schedule& schedule, bool is_a);

}  // namespace hone::schedules::contract
