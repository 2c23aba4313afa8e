// A tensor taken apart for a reduction.
#pragma once

#include <vector>

#include "candidates/pytorch/operation.h"

namespace hone::pytorch {

/// Neighbouring dimensions that lie in one row are one.
struct Reduced {
  Tensor kept;  ///< the dimensions of the results
  Tensor gone;  ///< those that are reduced
  Tensor all;   ///< first kept, then gone
};
Reduced reduced(const Sizes& sizes, const Tensor& tensor, const std::vector<int>& axes);

/// Fewer results than kFewResults of kManyTerms terms each leave most of a GPU idle: then a first
/// kernel makes parts of each, at most kParts, and a second one adds these up.
inline constexpr std::int64_t kFewResults = 4096, kManyTerms = 65536, kParts = 1024;
[[nodiscard]] bool goes_in_parts(const Sizes& sizes, const Reduced& reduced);

/// Loops over the dimensions that are reduced, from the `first` on; their indices. `open` counts
/// the loops, each of which wants an end().
Indices loop_over(Kernel& kernel, const Reduced& reduced, std::size_t first, int& open);

/// A flat position among the terms as the indices of the dimensions that are reduced.
Indices digits_of(Kernel& kernel, const Reduced& reduced, const std::string& flat);

/// The result's shape; `keep`: with 1 where a dimension is reduced.
std::vector<Dim> reduced_shape(const Tensor& tensor, const std::vector<int>& axes, bool keep);

/// Sum or mean over all elements: the call's result.
void write_total(Call& call, const Tensor& from, bool mean);
/// The sum of all elements as a number for something between.
Tensor sum_of_all(Call& call, const Tensor& from, std::string_view what);

}  // namespace hone::pytorch
