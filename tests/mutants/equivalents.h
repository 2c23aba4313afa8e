// The mutants that pass the checks because they compute the same: each with its proof.
#pragma once

#include <span>
#include <string_view>

namespace hone::mutants {

struct Equivalent {
  std::string_view task;
  std::string_view program;      ///< "reference" or "rewritten"
  std::string_view description;  ///< as description() gives it
  std::string_view proof;
};
[[nodiscard]] std::span<const Equivalent> equivalents();

}  // namespace hone::mutants
