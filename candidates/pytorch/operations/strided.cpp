// A view by numbers alone: where each element lies in memory.
#include <cstdint>

#include "candidates/pytorch/operations.h"
#include "candidates/pytorch/refusal.h"

namespace hone::pytorch {
namespace strided {
namespace {

/// Elements from a tensor's first to its last one in memory, which must be all its own. It must lie
/// as PyTorch's did; its extents are frozen.
std::int64_t span_of(Call& call, const Tensor& tensor, const TensorMeta& said) {
  Sizes& sizes = call.to.sizes;
  std::int64_t elements = 1, last = 0;
  bool alike = said.strides.size() == tensor.shape.size();
  for (std::size_t i = 0; alike && i < tensor.shape.size(); ++i) {
    sizes.freeze(tensor.shape[i]);
    sizes.freeze(tensor.strides[i]);
    const std::int64_t extent = sizes.value(tensor.shape[i]);
    const std::int64_t stride = sizes.value(tensor.strides[i]);
    alike = extent == 1 || stride == said.strides[i];
    last += (extent - 1) * stride;
    elements *= extent;
  }
  if (!alike || last + 1 != elements) {
    refuse(
        "takes elements by their places in memory, and those of its tensor have gaps or lie "
        "otherwise in a task");
  }
  return elements;
}

/// Elements at storage_offset + i * stride[0] + j * stride[1] + ... of PyTorch's storage, if all of
/// them are the tensor's own: in a task other ones may lie in another buffer.
void as_strided(Call& call) {
  Tensor view = call.tensor("self");
  const TensorMeta& said = call.tensor_meta("self");
  const std::int64_t span = span_of(call, view, said);
  const auto shape = call.wholes("size"), strides = call.wholes("stride");
  const std::int64_t first = call.whole("storage_offset", said.offset) - said.offset;
  if (shape.size() != strides.size()) {
    refuse("has {} extents and {} strides", shape.size(), strides.size());
  }
  Dim last = first;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] < 1 || strides[i] < 0) {
      refuse("has an extent of {} with a stride of {}", shape[i], strides[i]);
    }
    last += Dim(shape[i] - 1) * Dim(strides[i]);
  }
  const std::int64_t end = call.to.sizes.value(last);
  if (first < 0 || end >= span) {
    refuse("takes elements {} to {} of a tensor that has {} in memory", first, end, span);
  }
  view.shape.assign(shape.begin(), shape.end());
  view.strides.assign(strides.begin(), strides.end());
  view.offset += first;
  call.give(view);
}

constexpr Operation kOperations[] = {
    {"aten.as_strided.default", as_strided},
};

}  // namespace
}  // namespace strided

std::span<const Operation> strided_operations() { return strided::kOperations; }

}  // namespace hone::pytorch
