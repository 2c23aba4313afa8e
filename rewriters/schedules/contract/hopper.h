// Products on sm_90a as tile programs: one thread copies tiles in bulk by tensor maps; warp
// groups multiply them by wgmma, and each block does tile after tile.
#pragma once

#include <string>

#include "rewriters/schedules/contract/schedule.h"
#include "rewriters/tile/program.h"

namespace hone::schedules::contract {

/// How the operands reach a pipe that is_bulk(); empty: they do not.
[[nodiscard]] const std::optional<BulkWay>& way_of(const Contraction& c, Pipe pipe);
/// The same with what the schedule packs beyond that.
[[nodiscard]] BulkWay way_of(const Contraction& c, const Schedule& s);
/// Whether the pipe reads an operand in patches (BulkWay).
[[nodiscard]] bool uses_patches(const Contraction& c, Pipe pipe);
/// Of products of f32 as tf32 that pack nothing: whether wgmma's rows, its operand in registers,
/// are the columns of the output, as the other operand had best lie along k, and A does where B
/// does not.
[[nodiscard]] bool of_columns(const Contraction& c);
/// The same product with A and B, rows and columns exchanged.
[[nodiscard]] Contraction transposed(const Contraction& c);
/// Rows, columns and k as the pipe's kernel has them: exchanged where wgmma's rows are columns of
/// the output, and of patches rounded up to whole tiles; packed operands as loads of what a launch
/// before has written.
[[nodiscard]] Contraction as_multiplied(const Contraction& c, const Schedule& s,
                                        const std::string& prefix = "");
/// What a kernel of is_bulk() takes of shared memory [B].
[[nodiscard]] std::int64_t bulk_bytes(const Contraction& c, const Schedule& s);
/// What bulk copies of this operand bring to each multiprocessor when all copy [B/cycle]: less
/// where rows of 128 bytes do not begin at lines of the L2, as each then takes two. Measured on an
/// H100.
[[nodiscard]] double bulk_rate(const Contraction& c, const Operand& operand);

/// Of a schedule whose pipe is_bulk().
[[nodiscard]] tile::Program bulk_program(const Contraction& c, const Schedule& s, const Goal& goal,
                                         const std::string& prefix);

/// The kernel's text and launch. kRefused: the program does not verify.
[[nodiscard]] Result<Generated> generate_bulk(const Contraction& c, const Schedule& s,
                                              const Goal& goal, const std::string& prefix);

}  // namespace hone::schedules::contract
