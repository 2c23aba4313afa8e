// CUDA for a tile that threads copy (CopyTile). Part of print().
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "rewriters/schedules/printing/emit.h"
#include "rewriters/tile/program.h"

namespace hone::tile {

/// The place of (row, k) in a tile that is_in_lines(), from its beginning on: "g_swizzled<…>(row,
/// k)". Both are expressions that bind as a product's factors do.
[[nodiscard]] std::string place_in(const SharedTile& tile, const std::string& prefix,
                                   const std::string& row, const std::string& k);

/// Of one copy. `values` prints integers and loads; all that is given must outlive this.
class CopyText {
 public:
  /// `ring`: the stream's, or the one that it fills once; `shared`: where the tile's stages begin;
  /// `parameters`: buffers by their names.
  CopyText(const Program& program, schedules::Printer& values, schedules::Names& names,
           const std::map<std::string, std::string>& parameters, const Stream& stream, int ring,
           const CopyTile& copy, std::string shared);

  struct Copied {
    std::string definition;  ///< of functions, to stand before the loop
    std::string copy;        ///< the function of (stage, round), or of (), that begins it
    bool in_two = false;     ///< by two others instead, of (round) and of (stage)
    std::string fetch = "", keep = "";
  };
  /// In scope: `thread`, and what the stream's symbol is called.
  [[nodiscard]] Copied text();

 private:
  void make_loop();
  void from_element();
  void from_parts(SymbolId piece);
  void name_indices();
  [[nodiscard]] std::string inside();
  [[nodiscard]] std::string indices_for(const std::string& text);
  [[nodiscard]] std::string value();

  const Program& p_;
  schedules::Printer& values_;
  const std::map<std::string, std::string>& parameters_;
  const Stream& stream_;
  const int ring_;
  const CopyTile& copy_;
  const SharedTile& tile_;
  std::string shared_;
  std::int64_t threads_ = 1, pieces_ = 1;
  std::int64_t along_ = 1, across_ = 1;  ///< threads side by side along a piece's line, and lines
  std::int64_t rounds_ = 1;              ///< pieces of a thread
  bool regular_ = true;
  std::map<std::string, std::string> called_;
  Ref row_ = nullptr, k_ = nullptr;  ///< of a thread's i-th piece
  std::string before_, loop_, setup_to_, setup_from_, to_, from_, along_tile_;
};

}  // namespace hone::tile
