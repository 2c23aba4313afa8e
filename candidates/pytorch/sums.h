// A sum in a kernel's text. Short ones add in the type that is computed in; long ones in f64, as
// adding 10^5 f32 numbers one by one loses what PyTorch's sums in parts keep.
#pragma once

#include <string>
#include <string_view>

#include "candidates/pytorch/kernel.h"

namespace hone::pytorch {

/// From this many terms on a sum is long.
inline constexpr std::int64_t kLongSum = 16384;
/// Where each element is read for one sum alone, as in means and norms, f64 costs no time that
/// memory does not take: from here on those are long.
inline constexpr std::int64_t kLongReduction = 64;

class Sum {
 public:
  /// `type`: of the result's elements. `terms`: at the sizes of the export.
  Sum(Kernel& kernel, ScalarType type, std::int64_t terms, std::int64_t is_long_from = kLongSum);

  /// "float sum = 0.0f;"
  void begin(std::string_view name) const;
  /// "sum += a * b;", or with both as f64.
  [[nodiscard]] std::string add(std::string_view name, const std::string& a,
                                const std::string& b = "") const;
  /// The sum in the type that is computed in.
  [[nodiscard]] std::string value(std::string_view name) const;
  /// The type that it adds in.
  [[nodiscard]] const std::string& type() const { return type_; }
  [[nodiscard]] ScalarType element() const { return element_; }
  [[nodiscard]] bool is_long() const { return long_; }

 private:
  Kernel& kernel_;
  std::string type_, computed_;
  ScalarType element_;
  bool long_ = false;
};

}  // namespace hone::pytorch
