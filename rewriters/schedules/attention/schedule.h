// How an attention is cut into tiles, and which of the GPU's pipes multiplies.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "rewriters/schedules/attention/analysis.h"

namespace hone::schedules::attention {

/// What multiplies, in the order of their names in name_of(). Softmax is in f32 everywhere.
enum class Pipe {
  kFma,     ///< one multiply-add per thread
  kMma,     ///< mma.sync m16n8k16: f16 and bf16, weights rounded to them
  kTf32x3,  ///< mma.sync m16n8k8 three times: f32 as two tf32 each
  kTf32,    ///< once: f32 rounded to tf32
  /// wgmma m64nNk16: as kMma, by warp groups of 128 threads, for which a thread of its own copies
  /// tiles in bulk (hopper.h).
  kWgmmaBulk,
};
[[nodiscard]] std::string_view name_of(Pipe pipe);

struct Schedule {
  Pipe pipe = Pipe::kFma;
  int rows = 128;      ///< queries of a block
  int keys = 64;       ///< in shared memory at once
  int warp_rows = 16;  ///< queries of a warp (tensor cores)
  int stages = 2;      ///< tiles of keys and values; 1: each is refilled while the other is used
  bool query_in_registers = true;  ///< else read from shared memory for every tile (mma)
  bool turns = false;       ///< warp groups start their products one after the other (wgmma-bulk)
  bool persistent = false;  ///< a block for each multiprocessor, not for each tile (wgmma-bulk)
  /// Batches of which the tiles with most keys go first together, where tiles differ (wgmma-bulk).
  int together = 8;
  int cluster = 1;  ///< blocks that share their tiles of keys and values (wgmma-bulk)

  [[nodiscard]] int threads() const {
    return pipe == Pipe::kFma         ? rows / kFmaRows * 16
           : pipe == Pipe::kWgmmaBulk ? rows * 2 + 128
                                      : rows / warp_rows * 32;
  }
  static constexpr int kFmaRows = 8;  ///< queries of a thread; 16 threads share them
};

/// The depth and the columns as they are multiplied.
[[nodiscard]] int padded_depth(const Attention& a, Pipe pipe);
[[nodiscard]] int padded_columns(const Attention& a, Pipe pipe);
/// Bytes of shared memory that the kernel takes.
[[nodiscard]] std::int64_t shared_bytes(const Attention& a, const Schedule& schedule);
/// 32-bit registers of a thread, about.
[[nodiscard]] int registers_of(const Attention& a, const Schedule& schedule);

/// wgmma-bulk: registers of each thread that copies, and of each that multiplies, in a block of so
/// many queries; 0: what the compiler gives.
[[nodiscard]] std::pair<int, int> role_registers(int rows);

/// Whether later queries have more keys.
[[nodiscard]] bool last_are_longest(const Attention& a);

[[nodiscard]] MathLevel math_of(const Attention& a, Pipe pipe);
/// Pipes that can do it at this math level, the most exact first.
[[nodiscard]] std::vector<Pipe> pipes_for(const Attention& a, const Goal& goal);

/// The space, and first guesses in it, those of each pipe together and its best first, by the index
/// of each parameter's value.
[[nodiscard]] std::vector<Parameter> space_of(const Attention& a, const Goal& goal);
[[nodiscard]] std::vector<std::vector<std::size_t>> first_guesses(
    const Attention& a, const Goal& goal, const std::vector<Parameter>& space);

/// The schedule that a step asks for, brought to one that can be: no more registers and shared
/// memory than there are. kRefused: a pipe that this attention cannot use.
[[nodiscard]] Result<Schedule> schedule_of(const Attention& a, const Goal& goal, const Step& step);

}  // namespace hone::schedules::attention
