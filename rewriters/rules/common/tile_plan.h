// Which loads of a loop can be staged in shared memory, and the shape of their tiles.
//
// The index of a load is split into a block-uniform base and one-symbol terms,
//   A[(by*64 + ty + 16*jy)*K + k0 + kk]  =  base + K*(ty + 16*jy) + 1*(kk),
// and terms with the same uniform multiplier and overlapping reach become one tile dimension:
// here K*w0 with w0 in [0, 64) and w1 in [0, TK). A clamped coordinate is a dimension of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rewriters/rules/common/index_space.h"
#include "rewriters/rules/common/kernel_text.h"

namespace hone::rules {

struct TileDim {
  syntax::Polynomial multiplier;  ///< uniform; of the coordinate in the global index
  syntax::Polynomial local;       ///< the coordinate: local symbols with constant factors, from 0
  std::int64_t step = 1;          ///< global coordinate = step * local + low
  std::int64_t low = 0;
  std::int64_t extent = 1;
  std::int64_t stride = 0;           ///< |multiplier * step| at these sizes
  std::string clamp;                 ///< the select atom, when the coordinate is clamped
  syntax::Polynomial clamped_local;  ///< the local part of the clamped expression
  bool only_k = false;               ///< depends on the loop counter alone
  bool by_thread_x = false;
};

struct TileRead {
  const syntax::Expr* expr = nullptr;  ///< to be replaced by the tile's element
  std::int64_t offset = 0;             ///< constant distance from the tile's first read
};

struct Tile {
  const syntax::Variable* base = nullptr;
  std::string type;           ///< of an element
  int element_bytes = 0;      // [B]
  std::vector<TileDim> dims;  ///< as in shared memory, last is contiguous
  syntax::Polynomial origin;  ///< uniform part of the global index
  std::vector<TileRead> reads;
  bool exact = false;                ///< every corner is an index that the reference reads
  std::int64_t buffer_elements = 0;  ///< for clamping when not exact
  double reuse = 0;                  ///< reads of the block per element staged
  bool coalesces = false;  ///< the loads had a long stride between lanes, staging has none
  std::int64_t pad = 0;    ///< elements added to the last dimension

  [[nodiscard]] std::int64_t elements() const;
  [[nodiscard]] std::int64_t shared_bytes() const;  // [B]
};

struct TilePlan {
  std::vector<Tile> tiles;
  std::string k_symbol;       ///< counter of the loop
  std::string base_symbol;    ///< first value of the counter in a tile ("#k0")
  std::string step_symbol;    ///< counter inside the tile ("#kk")
  std::string offset_symbol;  ///< constant offset between merged reads ("#offset")
};

/// Tiles for `steps` iterations of the loop. Empty `tiles` when nothing is worth staging.
[[nodiscard]] TilePlan plan_tiles(const syntax::KernelInfo& info, const Program& program,
                                  const syntax::Loop& loop, std::int64_t steps,
                                  const RewriteContext& context, IndexSpace& space);

}  // namespace hone::rules
