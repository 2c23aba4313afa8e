// What a value does from one index to the next: what one access may move at once.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "rewriters/affine/node.h"

namespace hone::nest {

/// Values at `width` neighbours: symbol = base + v, base a multiple of width, 0 <= v < width.
class Neighbours {
 public:
  Neighbours(Nodes& nodes, SymbolId symbol, std::int64_t width)
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
  Nodes* nodes_;
  SymbolId symbol_;
  std::int64_t width_;
  std::map<Ref, std::optional<std::int64_t>> steps_;
};

/// The longest group of neighbouring elements, at an address that is a multiple of as many and of
/// at most 16 bytes, that each aligned group of as many values of the index is.
[[nodiscard]] int longest_run(Nodes& nodes, Ref element, SymbolId index, ScalarType type);

}  // namespace hone::nest
