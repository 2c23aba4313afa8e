// What elements of an input are replaced with, to see whether an answer depends on them.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "candidates/program.h"

namespace hone::runner {

class OtherValues {
 public:
  /// The bits of an element of the buffer.
  using Element = std::function<std::uint64_t(std::uint64_t index)>;

  /// Looks at `sampled` elements, spread evenly, for what the buffer holds.
  OtherValues(const ConcreteBuffer& buffer, Element element, std::uint64_t sampled);

  /// Of elements `first` to `last`, all alike, to be tried one after the other until an output
  /// changes. Floats: far above and far below all others, so that maxima and minima change.
  /// Integers: the ends of what the buffer holds, so that an index stays one. Of sorted rows: the
  /// neighbours' values, so that the row stays sorted.
  [[nodiscard]] std::vector<std::uint64_t> of(std::uint64_t first, std::uint64_t last) const;

 private:
  const ConcreteBuffer& buffer_;
  Element element_;
  std::uint64_t least_ = 0, most_ = 0;
};

}  // namespace hone::runner
