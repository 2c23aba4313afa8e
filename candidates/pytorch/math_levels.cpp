#include "candidates/pytorch/math_levels.h"

#include <algorithm>
#include <span>

#include "candidates/pytorch/operations.h"
#include "candidates/task.h"

namespace hone::pytorch {
namespace math_levels {
namespace {

using Family = std::span<const Operation> (*)();
constexpr Family kConvolutions[] = {convolution_operations};
constexpr Family kProducts[] = {product_operations, attention_operations, einsum_operations};

bool reads_f32(const Exported& graph, const Node& node) {
  return std::ranges::any_of(tensors_read(node), [&](const std::string& name) {
    const auto meta = graph.tensors.find(name);
    return meta != graph.tensors.end() && meta->second.type == ScalarType::kF32;
  });
}

bool has(const Exported& graph, std::span<const Family> families) {
  return std::ranges::any_of(graph.nodes, [&](const Node& node) {
    const bool found = std::ranges::any_of(families, [&](Family family) {
      return std::ranges::find(family(), node.target, &Operation::target) != family().end();
    });
    return found && reads_f32(graph, node);
  });
}

}  // namespace
}  // namespace math_levels

std::optional<MathLevel> level_of(const Exported& graph, const MathLevels& levels) {
  using namespace math_levels;
  std::optional<MathLevel> level = levels.usual;
  const auto loosen = [&](std::optional<MathLevel> other, std::span<const Family> families) {
    if (!other || other <= level.value_or(Task{}.math) || !has(graph, families)) return;
    level = other;
  };
  loosen(levels.convolutions, kConvolutions);
  loosen(levels.products, kProducts);
  return level;
}

}  // namespace hone::pytorch
