// All operators that the import knows, by family. A new one: an entry in its family's list, or a
// new file with a list of its own, named here and in operations.cpp.
#pragma once

#include <span>
#include <string_view>

#include "candidates/pytorch/operation.h"

namespace hone::pytorch {

std::span<const Operation> pointwise_operations();
std::span<const Operation> view_operations();
std::span<const Operation> product_operations();
std::span<const Operation> convolution_operations();
std::span<const Operation> reduction_operations();
std::span<const Operation> norm_operations();
std::span<const Operation> pooling_operations();
std::span<const Operation> softmax_operations();

/// Null: hone has none of this name.
[[nodiscard]] const Operation* find_operation(std::string_view target);
/// Of all lists, in their order.
[[nodiscard]] std::vector<std::string_view> known_targets();

/// A kernel called `name` that computes a formula of pointwise.cpp's language over the call's
/// arguments.
void write_pointwise(Call& call, std::string_view name, std::string_view formula);

}  // namespace hone::pytorch
