// Text of the operations that make tf32 of tiles of f32.
#pragma once

#include <string>

#include "rewriters/tile/program.h"

namespace hone::tile {

/// Which functions these texts call.
struct Tf32Helpers {
  bool matrices = false;  ///< a tile along k is read to registers
  bool rounded = false, split = false, left = false;

  [[nodiscard]] std::string text(const std::string& prefix) const;
};

/// Reads the tile whose stage begins at `from`, an expression, to registers of these names.
struct ReadCall {
  std::string from, first_row;
  std::string to, rest;  ///< rest: empty where it is not needed
  bool rounded = false;  ///< what is read is tf32 already
};
[[nodiscard]] std::string read_fragments(const SharedTile& tile, const ReadCall& call,
                                         const std::string& prefix, Tf32Helpers& helpers);

/// `there`: a condition as text; empty: it holds.
[[nodiscard]] std::string read_patch(const ReadPatch& read, const SharedTile& tile,
                                     const ReadCall& call, const std::string& there,
                                     const std::string& prefix, Tf32Helpers& helpers);

/// `thread`, an expression, is one of `threads`.
struct SplitCall {
  std::string from, rest;  ///< expressions
  std::string thread;
  int threads = 128;
};
[[nodiscard]] std::string split_tile(const SharedTile& tile, const SplitCall& call,
                                     const std::string& prefix, Tf32Helpers& helpers);

}  // namespace hone::tile
