// Integers over index symbols: several symbols made one, and what a value does from one index to
// the next.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "rewriters/affine/node.h"

namespace hone::generators {

using lift::Ref;
using lift::SymbolId;

/// The product of the extents.
[[nodiscard]] std::int64_t points(const lift::Nodes& nodes, const std::vector<SymbolId>& symbols);

/// The value over one symbol `flat`, which numbers the points of `symbols` (outermost first). Where
/// strides let neighbours follow each other, no digit is taken: 64*i + j is flat.
[[nodiscard]] Ref flatten(lift::Nodes& nodes, Ref value, std::vector<SymbolId> symbols,
                          SymbolId flat);

/// Makes one dim of two wherever all values count them as one: 64*i + j, everywhere. Changes the
/// values and the dims.
void merge_dims(lift::Nodes& nodes, const std::vector<Ref*>& values, std::vector<SymbolId>& dims);

/// Values at `width` neighbours: symbol = base + v, base a multiple of width, 0 <= v < width.
class Lanes {
 public:
  Lanes(lift::Nodes& nodes, SymbolId symbol, std::int64_t width)
      : nodes_(&nodes), symbol_(symbol), width_(width) {}

  /// c, where the integer (or condition: 0) at base + v is that at base, plus c * v; empty: it is
  /// no such thing.
  [[nodiscard]] std::optional<std::int64_t> step(Ref integer);
  /// A number that divides the integer at every base; 0: it is 0.
  [[nodiscard]] std::int64_t alignment(Ref integer);
  /// The same value at all of the neighbours.
  [[nodiscard]] bool uniform(Ref value);
  /// Neighbours in memory that one access may move.
  [[nodiscard]] bool contiguous(Ref element);

 private:
  lift::Nodes* nodes_;
  SymbolId symbol_;
  std::int64_t width_;
  std::map<Ref, std::optional<std::int64_t>> steps_;
};

}  // namespace hone::generators
