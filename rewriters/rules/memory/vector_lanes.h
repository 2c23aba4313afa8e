// Text pieces for memory accesses of several elements at once; shared by the two halves of
// vectorize-access.
#pragma once

#include <optional>
#include <string>

#include "rewriters/syntax/ast.h"

namespace hone::rules::memory {

/// How `width` consecutive elements of one type are held in registers: a CUDA vector type, or,
/// where there is none (four __half), an aligned array that is moved through a vector of the same
/// size.
struct LaneCarrier {
  std::string element;  ///< "float"
  int width = 0;
  std::string moved;  ///< type of the access: "float4", "uint2"
  bool is_array = false;

  /// "v.y" or "v[1]"
  [[nodiscard]] std::string lane(const std::string& name, int index) const;
  /// Declares `name`, filled from the elements at the address of `first` when `load` is set.
  [[nodiscard]] std::string declare(const std::string& name, const std::string& first, bool load,
                                    bool is_const) const;
  /// Stores `name` to the elements at the address of `first`.
  [[nodiscard]] std::string store(const std::string& name, const std::string& first) const;
};

/// Empty when the type has no such form, or the access would be wider than 16 bytes.
[[nodiscard]] std::optional<LaneCarrier> lane_carrier(const syntax::Type& element, int width);

/// The expression's text, in parentheses unless it is a name or a number.
[[nodiscard]] std::string operand_text(const syntax::TranslationUnit& unit,
                                       const syntax::Expr& expr);

}  // namespace hone::rules::memory
