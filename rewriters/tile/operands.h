// What copies write and products read: the layouts that the instructions demand.
#pragma once

#include <string>

#include "rewriters/tile/program.h"

namespace hone::tile {

/// Elements of a type in 128 bytes, as wide as a swizzle: 32 of f32, 64 of 16 bits, 128 of 8.
[[nodiscard]] std::int64_t line_of(ScalarType type);
/// k of one wgmma, which is 32 bytes of a line: 8 of tf32, 16 of 16 bits, 32 of 8.
[[nodiscard]] std::int64_t wgmma_k(ScalarType type);
/// How a tile of (row, k) lies for wgmma, and as a bulk copy with a swizzle of 128 bytes writes it:
/// lines along k, or along the rows, which wgmma reads of 16 bits only. In the second case bands of
/// a line of rows lie one after the other. `k` or, in the second case, `rows` are multiples of a
/// line. Source: PTX ISA, "Asynchronous Warpgroup Level Matrix Shared Memory Layout", 128-byte
/// swizzle.
[[nodiscard]] Layout wgmma_operand(std::int64_t rows, std::int64_t k, bool along_k,
                                   ScalarType type = ScalarType::kF16);
[[nodiscard]] bool is_along_k(const SharedTile& tile);
/// Whether the tile lies so.
[[nodiscard]] bool is_operand(const SharedTile& tile, bool along_k);

/// How a tile of (row, k) lies that threads write and read: lines along k or the rows, without
/// gaps, in bands of 128 bytes at most whose 16-byte pieces are swizzled, so that eight lines'
/// pieces of one place lie in different banks; or each line after the other, from a multiple of
/// `step` on.
[[nodiscard]] Layout swizzled_lines(std::int64_t rows, std::int64_t k, bool along_k,
                                    ScalarType type);
[[nodiscard]] Layout padded_lines(std::int64_t rows, std::int64_t k, bool along_k,
                                  std::int64_t step);
/// Whether the tile lies so, swizzled or not.
[[nodiscard]] bool is_in_lines(const SharedTile& tile);
/// Whether its lines begin at multiples of 16 bytes, as ldmatrix reads them.
[[nodiscard]] bool has_aligned_lines(const SharedTile& tile);
/// From one line of such a tile to the next [elements].
[[nodiscard]] std::int64_t line_step(const SharedTile& tile);

/// How 64 rows of outputs lie in a staging: bands of as many columns as 128 bytes hold.
[[nodiscard]] Layout staged_outputs(std::int64_t columns, ScalarType type);
[[nodiscard]] std::int64_t staged_columns(ScalarType type);  // of a band

/// How 64 rows of sums of f32 lie in a staging that turns them: columns with four elements between
/// them, so that lanes meet in no bank.
[[nodiscard]] Layout turned_outputs(std::int64_t columns);

/// How the sums of a warp group lie where other blocks read them: (thread, its sum), in groups of
/// four sums, as 16 bytes of each thread are read at once.
[[nodiscard]] Layout exchanged_sums(std::int64_t columns);

/// Why a box does not lie in the tile as the copy writes it; empty: it does. A copy writes its box
/// row by row without gaps, from a multiple of 1024 bytes on where it is swizzled.
[[nodiscard]] std::string copy_mistake(const View& view, const SharedTile& tile,
                                       const std::vector<std::int64_t>& to);

/// Why a tile cannot be read to registers as tf32, or be rounded or split by so many threads to
/// another tile; empty: it can.
[[nodiscard]] std::string read_mistake(const SharedTile& tile, const Fragments& to);
[[nodiscard]] std::string split_mistake(const SharedTile& tile, const SharedTile& to, int threads);

/// Why wgmma cannot multiply these; empty: it can. Of f32 it multiplies the upper 19 bits, as tf32;
/// it cuts off the lower 13 and does not round: an H200 did so with 512 of 512 values, A in
/// registers and B in shared memory.
[[nodiscard]] std::string product_mistake(const SharedTile& a, const SharedTile& b, int columns);
[[nodiscard]] std::string product_mistake(const Fragments& a, const SharedTile& b, int columns);

/// Why threads cannot copy to the tile so, or multiply these by mma.sync or by multiply-adds;
/// empty: they can.
[[nodiscard]] std::string copy_mistake(const CopyTile& copy, const SharedTile& tile);
[[nodiscard]] std::string product_mistake(const WarpMultiply& multiply, const SharedTile& a,
                                          const SharedTile& b, const Sums& sums);
[[nodiscard]] std::string product_mistake(const SharedTile& a, const SharedTile& b,
                                          const Sums& sums, int threads);
/// Why half a warp cannot multiply rows of this tile into its sums, or keep its sums there; empty:
/// it can.
[[nodiscard]] std::string half_warp_mistake(const SharedTile& tile, const Sums& sums);

}  // namespace hone::tile
