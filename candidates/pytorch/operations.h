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
std::span<const Operation> joining_operations();
std::span<const Operation> indexing_operations();
std::span<const Operation> creation_operations();
std::span<const Operation> scan_operations();
std::span<const Operation> attention_operations();
std::span<const Operation> recurrent_operations();
std::span<const Operation> loss_operations();
std::span<const Operation> einsum_operations();
std::span<const Operation> random_operations();
std::span<const Operation> resampling_operations();
std::span<const Operation> distance_operations();
std::span<const Operation> activation_operations();
std::span<const Operation> spread_operations();
std::span<const Operation> sorting_operations();
std::span<const Operation> scattering_operations();
std::span<const Operation> difference_operations();
std::span<const Operation> unfolding_operations();
std::span<const Operation> grid_operations();
std::span<const Operation> strided_operations();

/// The name under which hone has the rule of an operator of several names; else the name itself.
[[nodiscard]] std::string_view without_alias(std::string_view target);
/// Null: hone has none of this name.
[[nodiscard]] const Operation* find_operation(std::string_view target);
/// Other names of operators in the lists.
[[nodiscard]] std::vector<std::string_view> aliases();
/// Of all lists, in their order, and the other names.
[[nodiscard]] std::vector<std::string_view> known_targets();

/// Whole numbers ("self") to a whole power ("exponent"), which wraps around as PyTorch's does: by
/// repeated squaring.
void write_whole_power(Call& call);

/// A kernel called `name` that computes a formula of pointwise.cpp's language over the call's
/// arguments.
void write_pointwise(Call& call, std::string_view name, std::string_view formula);
/// The same into a buffer for something between, of the type of the call's result.
Tensor write_pointwise_between(Call& call, std::string_view name, std::string_view formula);

}  // namespace hone::pytorch
