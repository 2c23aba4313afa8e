// How a contraction is cut into tiles.
#pragma once

#include <string>
#include <vector>

#include "rewriters/schedules/contract/pipes.h"

namespace hone::schedules::contract {

struct Schedule {
  Pipe pipe = Pipe::kFma;
  /// Of a block [elements]; as_multiplied(): bm may count columns of the output, bn rows.
  int bm = 128, bn = 128, bk = 16;
  int tm = 8, tn = 8;    ///< of a thread (fma)
  int wm = 64, wn = 32;  ///< of a warp (mma)
  int stages = 3;        ///< tiles in shared memory at once
  int split_k = 1;       ///< blocks that share one output tile
  /// Bulk pipes: these are a cluster, and add up their sums by shared memory; else a second kernel
  /// does.
  bool share_by_cluster = false;
  /// Blocks that share each tile of the last wave, which else leaves most of the GPU idle
  /// (stream-K's aim, with blocks of fixed work); 1 with split_k.
  int tail = 1;
  int cluster = 1;                      ///< wgmma-bulk: blocks that share their tiles of B
  bool pack_a = false, pack_b = false;  ///< bulk pipes: operands that may be packed (BulkOperand)
  int group = 8;                        ///< tile rows that neighbouring blocks go through together
  /// fma: an operand whose neighbours are along k is transposed by 4-byte cp.async, else by
  /// registers that are loaded in 16 bytes.
  bool async_transpose = true;

  [[nodiscard]] int threads() const;
};

/// Registers of a thread for each sum of its own; for all of them and two sets of operands (fma).
[[nodiscard]] int words_of_sum(const Contraction& c, Pipe pipe);
[[nodiscard]] int registers_of_fma(const Contraction& c, const Schedule& schedule);
/// Tiles of k in one run: after as many its sum is added up.
[[nodiscard]] int tiles_of_run(const Schedule& schedule);

/// Multiprocessors of the target.
[[nodiscard]] int sm_count(const Goal& goal);
/// Blocks of a cluster: they share tiles of B, or sums.
[[nodiscard]] int cluster_of(const Schedule& schedule);
/// Multiprocessors that clusters of so many blocks can fill at a time. Of an H200's 132 those of
/// two fill all, 30 of four and 15 of eight 120 (cudaOccupancyMaxActiveClusters; a cluster lies in
/// one GPC, and GPCs have 14 to 18).
[[nodiscard]] int sms_for_clusters(const Goal& goal, int cluster);
[[nodiscard]] std::int64_t shared_limit(const Goal& goal);  ///< of a block [B]
/// Bytes of shared memory that the kernel takes.
[[nodiscard]] std::int64_t shared_bytes(const Contraction& c, const Schedule& schedule);

/// The space, and the points of it that take the fewest cycles by an analytic model: eight of each
/// math level, its best first, by the index of each parameter's value.
[[nodiscard]] std::vector<Parameter> space_of(const Contraction& c, const Goal& goal);
[[nodiscard]] std::vector<std::vector<std::size_t>> first_guesses(
    const Contraction& c, const Goal& goal, const std::vector<Parameter>& space);

/// The schedule that a step asks for, brought to one that can be: whole warps, no more threads,
/// registers and shared memory than there are. kRefused: a pipe that this contraction cannot use.
[[nodiscard]] Result<Schedule> schedule_of(const Contraction& c, const Goal& goal,
                                           const Step& step);

}  // namespace hone::schedules::contract
