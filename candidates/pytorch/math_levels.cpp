#include "candidates/pytorch/math_levels.h"

#include <algorithm>
#include <span>

#include "candidates/pytorch/operations.h"
#include "candidates/task.h"

namespace hone::pytorch {
namespace math_levels {
namespace {

enum class Kind { kOther, kConvolution, kProduct, kRecurrent };

Kind kind_of(std::string_view target) {
  target = without_alias(target);
  const auto is_in = [&](std::span<const Operation> family) {
    return std::ranges::find(family, target, &Operation::target) != family.end();
  };
  if (is_in(convolution_operations())) return Kind::kConvolution;
  // PyTorch makes a single cell of products; a whole network is cuDNN's.
  if (is_in(recurrent_operations()))
    return target.contains("_cell.") ? Kind::kProduct : Kind::kRecurrent;
  const bool multiplies =
      is_in(product_operations()) || is_in(attention_operations()) || is_in(einsum_operations());
  return multiplies ? Kind::kProduct : Kind::kOther;
}

bool reads_f32(const Exported& graph, const Node& node) {
  return std::ranges::any_of(tensors_read(node), [&](const std::string& name) {
    const auto meta = graph.tensors.find(name);
    return meta != graph.tensors.end() && meta->second.lacks.empty() &&
           meta->second.type == ScalarType::kF32;
  });
}

bool has(const Exported& graph, Kind kind) {
  return std::ranges::any_of(graph.nodes, [&](const Node& node) {
    return kind_of(node.target) == kind && reads_f32(graph, node);
  });
}

}  // namespace
}  // namespace math_levels

std::optional<MathLevel> level_of(const Exported& graph, const MathLevels& levels) {
  using namespace math_levels;
  std::optional<MathLevel> level = levels.usual;
  const auto loosen = [&](std::optional<MathLevel> other, Kind kind) {
    if (!other || other <= level.value_or(Task{}.math) || !has(graph, kind)) return;
    level = other;
  };
  loosen(levels.convolutions, Kind::kConvolution);
  loosen(levels.products, Kind::kProduct);
  loosen(levels.recurrent, Kind::kRecurrent);
  return level;
}

}  // namespace hone::pytorch
