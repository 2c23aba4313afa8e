#include "candidates/pytorch/operations.h"

namespace hone::pytorch {
namespace {

constexpr std::span<const Operation> (*kFamilies[])() = {
    view_operations,      pointwise_operations,  product_operations,    convolution_operations,
    reduction_operations, norm_operations,       pooling_operations,    softmax_operations,
    joining_operations,   indexing_operations,   creation_operations,   scan_operations,
    attention_operations, recurrent_operations,  loss_operations,       einsum_operations,
    random_operations,    resampling_operations, distance_operations,   activation_operations,
    spread_operations,    sorting_operations,    scattering_operations, difference_operations,
    unfolding_operations, grid_operations,       strided_operations,
};

}  // namespace

const Operation* find_operation(std::string_view target) {
  target = without_alias(target);
  for (const auto& family : kFamilies) {
    for (const Operation& operation : family()) {
      if (operation.target == target) return &operation;
    }
  }
  return nullptr;
}

std::vector<std::string_view> known_targets() {
  std::vector<std::string_view> targets;
  for (const auto& family : kFamilies) {
    for (const Operation& operation : family()) targets.push_back(operation.target);
  }
  for (const std::string_view alias : aliases()) targets.push_back(alias);
  return targets;
}

}  // namespace hone::pytorch
