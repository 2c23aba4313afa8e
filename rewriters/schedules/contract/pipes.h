// Which of the GPU's pipes multiplies, and what each can do.
#pragma once

#include <string_view>
#include <vector>

#include "rewriters/schedules/contract/analysis.h"

namespace hone::schedules::contract {

/// What multiplies, in the order of their names in name_of().
enum class Pipe {
  kFma,         ///< one multiply-add per thread: f32, or f64 where the nest's sum is
  kFmaRuns,     ///< the same in f32 where the nest's sum is f64 (Contraction::narrow_terms)
  kMma,         ///< mma.sync m16n8k16: f16 and bf16, sums in f32; m16n8k32: 8-bit floats, in runs
  kTf32x3,      ///< mma.sync m16n8k8 three times: f32 as two tf32 each
  kTf32,        ///< once: f32 rounded to tf32
  kBf16,        ///< mma.sync m16n8k16: f32 rounded to bf16, or 8-bit floats, which bf16 holds
  kWgmmaBulk,   ///< wgmma m64nNk16: f16 and bf16, sums in f32, tiles copied in bulk by a thread of
                ///< their own (hopper.h); m64nNk32 of 8-bit floats, in runs
  kWgmmaBf16,   ///< the same, of what kBf16 takes
  kWgmmaFast,   ///< as kWgmmaBulk, of 8-bit floats, all terms in the tensor cores' sums
  kBulkTf32x3,  ///< wgmma m64nNk8 three times, copied likewise; a role makes what one leaves
  kBulkTf32,    ///< once: f32 that copies in bulk round to tf32 on their way
};
[[nodiscard]] std::string_view name_of(Pipe pipe);
[[nodiscard]] MathLevel math_of(const Contraction& c, Pipe pipe);
[[nodiscard]] bool is_fma(Pipe pipe);
/// Whether hopper.h makes its kernels.
[[nodiscard]] bool is_bulk(Pipe pipe);
/// Of these, those that multiply f32 as tf32.
[[nodiscard]] bool is_bulk_tf32(Pipe pipe);
/// Of all pipes, those that make three products of tf32 of one of f32.
[[nodiscard]] bool is_thrice(Pipe pipe);

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

/// Pipes that can do it at this math level, the most exact first.
[[nodiscard]] std::vector<Pipe> pipes_for(const Contraction& c, const Goal& goal);

/// Whether both operands are 8-bit floats.
[[nodiscard]] bool has_fp8(const Contraction& c);

}  // namespace hone::schedules::contract
