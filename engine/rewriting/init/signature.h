// What a kernel alone says of its launch, for what the host code does not: lengths of buffers from
// index expressions and guards, the block from shared arrays, the grid from guards.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rewriters/syntax/analysis.h"

namespace hone::init {

/// Names of integer parameters, to be multiplied: `i < B*T*C` bounds i by three.
using Product = std::vector<std::string>;

class Signature {
 public:
  explicit Signature(const syntax::KernelInfo& info);

  /// Extents of the buffer, outermost first, as index expressions have them; else the largest
  /// guard. Empty: nothing says it.
  [[nodiscard]] Product length_of(const syntax::Variable& parameter) const;
  /// What bounds this axis (0 is x); empty: nothing does.
  [[nodiscard]] Product extent(int axis) const;
  /// How many axes the kernel looks at: 1 to 3.
  [[nodiscard]] int axes() const;
  /// The block that its shared arrays and launch bounds ask for, else 256 or 16 x 16.
  [[nodiscard]] std::array<int, 3> block() const;

 private:
  [[nodiscard]] std::optional<Product> shape_of(const syntax::Polynomial& index) const;

  const syntax::KernelInfo& info_;
  std::map<std::string, Product> bounds_;  ///< by symbol: "k#1" -> {"K"}
  Product largest_;
};

}  // namespace hone::init
