// How a contraction is cut into tiles, and which of the GPU's pipes multiplies.
#pragma once

#include <string>
#include <vector>

#include "rewriters/generators/contract/analysis.h"

namespace hone::generators::contract {

/// What multiplies, in the order of their names in name_of().
enum class Pipe {
  kFma,        ///< one multiply-add per thread: f32, or f64 where the nest's sum is
  kFmaRuns,    ///< the same in f32 where the nest's sum is f64 (Contraction::narrow_terms)
  kMma,        ///< mma.sync m16n8k16: f16 and bf16, sums in f32; m16n8k32: 8-bit floats, in runs
  kTf32x3,     ///< mma.sync m16n8k8 three times: f32 as two tf32 each
  kTf32,       ///< once: f32 rounded to tf32
  kBf16,       ///< mma.sync m16n8k16: f32 rounded to bf16, or 8-bit floats, which bf16 holds
  kWgmma,      ///< wgmma m64nNk16: f16 and bf16, sums in f32
  kWgmmaBulk,  ///< the same, its tiles copied in bulk by a thread of their own (hopper.h); m64nNk32
               ///< of 8-bit floats, in runs
  kWgmmaBf16,  ///< as kWgmma, of what kBf16 takes
  kWgmmaTf32x3,   ///< wgmma m64nNk8 three times
  kWgmmaFast,     ///< as kWgmmaBulk, of 8-bit floats, all terms in the tensor cores' sums
  kBulkTf32x3,    ///< as kWgmmaTf32x3, its tiles copied in bulk, one of them split by a role
  kBulkTf32,      ///< once: f32 that copies in bulk round to tf32 on their way
  kGatherTf32x3,  ///< as kBulkTf32x3, of whatever operands: threads read their elements
  kGatherTf32,    ///< once, likewise
};
[[nodiscard]] std::string_view name_of(Pipe pipe);
[[nodiscard]] MathLevel math_of(const Contraction& c, Pipe pipe);
[[nodiscard]] bool is_fma(Pipe pipe);
/// Whether hopper.h makes its kernels.
[[nodiscard]] bool is_bulk(Pipe pipe);
/// Of these, those that multiply f32 as tf32.
[[nodiscard]] bool is_hopper_tf32(Pipe pipe);
/// Of those, the ones whose operands no copies bring.
[[nodiscard]] bool is_gathered(Pipe pipe);
/// Of all pipes, those that make three products of tf32 of one of f32.
[[nodiscard]] bool is_thrice(Pipe pipe);

struct Schedule {
  Pipe pipe = Pipe::kFma;
  /// Of a block [elements]; of_columns(): bm counts columns of the output, bn rows.
  int bm = 128, bn = 128, bk = 16;
  int tm = 8, tn = 8;    ///< of a thread (fma)
  int wm = 64, wn = 32;  ///< of a warp (mma)
  int stages = 3;        ///< tiles in shared memory at once
  int split_k = 1;       ///< blocks that share one output tile
  /// Blocks that share each tile of the last wave, which else leaves most of the GPU idle
  /// (stream-K's aim, with blocks of fixed work); 1 with split_k.
  int tail = 1;
  int cluster = 1;      ///< wgmma-bulk: blocks that share their tiles of B
  bool splits = false;  ///< of is_hopper_tf32(): splits_tiles()
  int group = 8;        ///< tile rows that neighbouring blocks go through together
  /// fma: an operand whose neighbours are along k is transposed by 4-byte cp.async, else by
  /// registers that are loaded in 16 bytes.
  bool async_transpose = true;

  [[nodiscard]] int threads() const;
};

/// What a tile's products are added in: f32 or f64.
[[nodiscard]] ScalarType sum_type(const Contraction& c, Pipe pipe);
/// Whether each thread adds runs of terms to f32 sums, and keeps what those lose: the nest's sum is
/// f64, the tile's f32.
[[nodiscard]] bool adds_in_runs(const Contraction& c, Pipe pipe);
/// Whether the sums of each tile of k, 128 terms at most, are added up in f32 outside of the tensor
/// cores: in sums of products of 8-bit floats those keep 13 places after the point, not 23.
/// (Source: what an H200 and an RTX 4090 gave, see the emulator's sim/tensor_types.cpp.) cuBLASLt
/// does the same where its fast accumulation is off.
[[nodiscard]] bool adds_in_short_runs(const Contraction& c, Pipe pipe);
/// Registers of a thread for each sum of its own; for all of them and two sets of operands (fma).
[[nodiscard]] int words_of_sum(const Contraction& c, Pipe pipe);
[[nodiscard]] int registers_of_fma(const Contraction& c, const Schedule& schedule);
/// Tiles of k in one run: after as many its sum is added up.
[[nodiscard]] int tiles_of_run(const Schedule& schedule);

/// Multiprocessors of the target.
[[nodiscard]] int sm_count(const Goal& goal);
/// Multiprocessors that clusters of so many blocks can fill: of a GPC's 18 four of four fill 16.
[[nodiscard]] int sms_for_clusters(const Goal& goal, int cluster);
[[nodiscard]] std::int64_t shared_limit(const Goal& goal);  ///< of a block [B]
/// Bytes of shared memory that the kernel takes.
[[nodiscard]] std::int64_t shared_bytes(const Contraction& c, const Schedule& schedule);

/// Pipes that can do it at this math level, the most exact first.
[[nodiscard]] std::vector<Pipe> pipes_for(const Contraction& c, const Goal& goal);

/// The space, and the points of it that take the fewest cycles by an analytic model: eight of each
/// math level, its best first, by the index of each parameter's value.
[[nodiscard]] std::vector<Parameter> space_of(const Contraction& c, const Goal& goal);
[[nodiscard]] std::vector<std::vector<std::size_t>> first_guesses(
    const Contraction& c, const Goal& goal, const std::vector<Parameter>& space);

/// The schedule that a step asks for, brought to one that can be: whole warps, no more threads,
/// registers and shared memory than there are. kRefused: a pipe that this contraction cannot use.
[[nodiscard]] Result<Schedule> schedule_of(const Contraction& c, const Goal& goal,
                                           const Step& step);

}  // namespace hone::generators::contract
