// The type in which PyTorch compares operands of several types, and what numbers become in it.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "candidates/pytorch/translation.h"
#include "candidates/scalar_type.h"

namespace hone::pytorch {

/// 0: bool, 1: whole numbers, 2: floating ones.
[[nodiscard]] int category(ScalarType type);

/// What tensors with dimensions, those without, and Python's numbers meet in: the former decide,
/// unless the latter are of a higher category. Source: torch.result_type() of PyTorch.
class Promotion {
 public:
  void add(const Tensor& tensor) { add(tensor.rank() > 0 ? 0 : 1, tensor.type); }
  /// Python's: kBool, kI64 or kF32, which is PyTorch's default for its floats.
  void add_number(ScalarType type) { add(2, type); }
  /// kF32 where nothing was added.
  [[nodiscard]] ScalarType type() const;

 private:
  void add(std::size_t level, ScalarType type);
  std::array<std::optional<ScalarType>, 3> levels_;
};

/// f16 or bf16: computed with in f32.
[[nodiscard]] bool is_short(ScalarType type);
/// `value`, a float's text, rounded to a short type and back.
[[nodiscard]] std::string rounded_to(ScalarType type, const std::string& value);
/// Whether a short type has this number, beyond doubt: numbers with many digits and those far from
/// 1 count as ones that it lacks.
[[nodiscard]] bool is_exact(double value, ScalarType type);

}  // namespace hone::pytorch
