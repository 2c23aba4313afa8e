#include "candidates/pytorch/operation.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "candidates/pytorch/refusal.h"

namespace hone::pytorch {

const Value* Call::find(std::string_view name) const {
  const auto found = node_.inputs.find(std::string(name));
  if (found == node_.inputs.end()) return nullptr;
  return std::holds_alternative<std::monostate>(found->second) ? nullptr : &found->second;
}

namespace {

/// Numbers of an argument are multiplied and added, at most two by two. The largest number of all
/// stands for "to the end" of a slice.
std::int64_t sensible(std::int64_t number, std::string_view name) {
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  const bool end =
      (name == "end" || name == "start") && number == std::numeric_limits<std::int64_t>::max();
  if (!end && (number > kMost || number < -kMost)) {
    refuse("its argument '{}' is {}, which is out of range", name, number);
  }
  return number;
}

}  // namespace

bool Call::has(std::string_view name) const { return find(name) != nullptr; }

bool Call::is_tensor(std::string_view name) const {
  const Value* value = find(name);
  return value != nullptr && std::holds_alternative<TensorName>(*value);
}

const Tensor& Call::value_named(const std::string& name) const {
  const auto said = exported_.tensors.find(name);
  if (said != exported_.tensors.end() && !said->second.lacks.empty()) {
    refuse("reads '{}', which {}", name, said->second.lacks);
  }
  const auto found = values_.find(name);
  if (found == values_.end()) refuse("reads '{}', which no node before it made", name);
  return found->second;
}

bool Call::is_whole(std::string_view name) const {
  const Value* value = find(name);
  return value != nullptr && std::holds_alternative<std::int64_t>(*value);
}

Tensor Call::tensor(std::string_view name) const {
  auto tensor = maybe_tensor(name);
  if (!tensor) refuse("has no argument '{}'", name);
  return *std::move(tensor);
}

std::optional<Tensor> Call::maybe_tensor(std::string_view name) const {
  const Value* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (const auto* tensor = std::get_if<TensorName>(value)) return value_named(tensor->name);
  refuse("its argument '{}' is no tensor", name);
}

const TensorMeta& Call::tensor_meta(std::string_view name) const {
  const Value* value = find(name);
  const auto* tensor = value == nullptr ? nullptr : std::get_if<TensorName>(value);
  const auto found =
      tensor == nullptr ? exported_.tensors.end() : exported_.tensors.find(tensor->name);
  if (found == exported_.tensors.end()) refuse("the file says nothing of its '{}'", name);
  return found->second;
}

std::vector<std::optional<Tensor>> Call::tensors(std::string_view name) const {
  const Value* value = find(name);
  const auto* names = value == nullptr ? nullptr : std::get_if<TensorNames>(value);
  if (names == nullptr) refuse("its argument '{}' is no list of tensors", name);
  std::vector<std::optional<Tensor>> tensors;
  for (const std::string& one : *names) {
    tensors.push_back(one.empty() ? std::nullopt : std::optional(value_named(one)));
  }
  return tensors;
}

std::int64_t Call::whole(std::string_view name) const {
  const Value* value = find(name);
  if (value == nullptr) refuse("has no argument '{}'", name);
  if (const auto* number = std::get_if<std::int64_t>(value)) return sensible(*number, name);
  if (const auto* flag = std::get_if<bool>(value)) return *flag ? 1 : 0;
  refuse("its argument '{}' is no whole number", name);
}

std::int64_t Call::whole_value(std::string_view name) const {
  const Value* value = find(name);
  const auto* number = value == nullptr ? nullptr : std::get_if<std::int64_t>(value);
  return number != nullptr ? *number : whole(name);
}

bool Call::is_flag(std::string_view name) const {
  const Value* value = find(name);
  return value != nullptr && std::holds_alternative<bool>(*value);
}

std::int64_t Call::whole(std::string_view name, std::int64_t otherwise) const {
  return has(name) ? whole(name) : otherwise;
}

double Call::number(std::string_view name) const {
  const Value* value = find(name);
  if (value == nullptr) refuse("has no argument '{}'", name);
  if (const auto* number = std::get_if<double>(value)) return *number;
  if (const auto* number = std::get_if<std::int64_t>(value)) return static_cast<double>(*number);
  return static_cast<double>(whole(name));
}

double Call::number(std::string_view name, double otherwise) const {
  return has(name) ? number(name) : otherwise;
}

bool Call::flag(std::string_view name, bool otherwise) const {
  const Value* value = find(name);
  if (value == nullptr) return otherwise;
  if (const auto* flag = std::get_if<bool>(value)) return *flag;
  refuse("its argument '{}' is neither true nor false", name);
}

std::string Call::text(std::string_view name, std::string_view otherwise) const {
  const Value* value = find(name);
  if (value == nullptr) return std::string(otherwise);
  if (const auto* text = std::get_if<std::string>(value)) return *text;
  refuse("its argument '{}' is no text", name);
}

std::vector<std::int64_t> Call::wholes(std::string_view name,
                                       std::vector<std::int64_t> otherwise) const {
  const Value* value = find(name);
  if (value == nullptr) return otherwise;
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(value)) {
    for (const std::int64_t number : *list) static_cast<void>(sensible(number, name));
    return *list;
  }
  if (const auto* one = std::get_if<std::int64_t>(value)) return {sensible(*one, name)};
  // An empty list carries no kind of its own.
  if (const auto* names = std::get_if<TensorNames>(value); names != nullptr && names->empty()) {
    return {};
  }
  refuse("its argument '{}' is no list of whole numbers", name);
}

std::vector<double> Call::numbers(std::string_view name) const {
  const Value* value = find(name);
  if (value == nullptr) return {};
  if (const auto* list = std::get_if<std::vector<double>>(value)) return *list;
  const auto wholes = this->wholes(name);
  return {wholes.begin(), wholes.end()};
}

std::vector<std::int64_t> Call::for_each_dimension(std::string_view name, int count,
                                                   std::int64_t otherwise) const {
  auto list = wholes(name);
  if (list.empty()) list = {otherwise};
  if (list.size() == 1) list.resize(static_cast<std::size_t>(count), list.front());
  if (list.size() != static_cast<std::size_t>(count)) {
    refuse("its argument '{}' has {} numbers for {} dimensions", name, list.size(), count);
  }
  return list;
}

int Call::axis(std::int64_t dimension, int rank) {
  const std::int64_t places = std::max(rank, 1);  // a tensor of rank 0 has dimension 0, too
  if (dimension < -places || dimension >= places) {
    refuse("has no dimension {} among {}", dimension, rank);
  }
  return static_cast<int>(dimension < 0 ? dimension + places : dimension);
}

std::vector<int> Call::axes(std::string_view name, int rank) const {
  std::vector<int> axes;
  for (const std::int64_t dimension : wholes(name)) axes.push_back(axis(dimension, rank));
  if (axes.empty()) {
    for (int i = 0; i < rank; ++i) axes.push_back(i);
  }
  std::ranges::sort(axes);
  if (rank == 0) axes.clear();
  return axes;
}

const TensorMeta& Call::meta(std::size_t result) const {
  static const TensorMeta kNone;
  if (result >= node_.outputs.size()) refuse("has no result {}", result);
  const std::string& name = node_.outputs[result];
  if (name.empty()) return kNone;
  const auto found = exported_.tensors.find(name);
  if (found == exported_.tensors.end()) refuse("the file says nothing of its result '{}'", name);
  if (!found->second.lacks.empty()) refuse("its result '{}' {}", name, found->second.lacks);
  return found->second;
}

ScalarType Call::type(std::size_t result) const { return meta(result).type; }
const std::vector<std::int64_t>& Call::extents(std::size_t result) const {
  return meta(result).sizes;
}

bool Call::is_used(std::size_t result) const {
  if (result >= node_.outputs.size() || node_.outputs[result].empty()) return false;
  return read_ == nullptr || read_->contains(node_.outputs[result]);
}

std::int64_t Call::extent(std::size_t dimension) const {
  if (dimension >= extents().size()) refuse("has a result of {} dimensions", extents().size());
  return extents()[dimension];
}

Tensor Call::make(const std::vector<Dim>& shape, std::size_t result) {
  const bool used = is_used(result);
  Tensor tensor = to.make(type(result), shape,
                          used ? node_.outputs[result] : fmt::format("{}_unused", node_.name));
  if (used) give(tensor, result);
  return tensor;
}

Tensor Call::between(ScalarType type, const std::vector<Dim>& shape, std::string_view what) {
  return to.make(type, shape, fmt::format("{}_{}", node_.name, what));
}

void Call::give(const Tensor& tensor, std::size_t result) {
  if (!is_used(result)) return;
  const TensorMeta& said = meta(result);
  std::vector<std::int64_t> extents;
  for (const Dim& extent : tensor.shape) extents.push_back(to.sizes.value(extent));
  const auto without_ones = [](std::vector<std::int64_t> list) {
    std::erase(list, 1);
    return list;
  };
  const bool same = extents == said.sizes ||
                    (to.doubts_ones() && without_ones(extents) == without_ones(said.sizes));
  if (!same) {
    refuse("its result '{}' has the shape [{}] in the file, by hone's rule [{}]",
           node_.outputs[result], fmt::join(said.sizes, ", "), fmt::join(extents, ", "));
  }
  if (tensor.type != said.type) {
    refuse("its result '{}' is {} in the file, by hone's rule {}", node_.outputs[result],
           torch_name(said.type), torch_name(tensor.type));
  }
  values_.insert_or_assign(node_.outputs[result], tensor);
}

std::vector<Dim> broadcast(Sizes& sizes, const std::vector<Dim>& a, const std::vector<Dim>& b) {
  const auto& longer = a.size() >= b.size() ? a : b;
  const auto& shorter = a.size() >= b.size() ? b : a;
  // What is repeated because it is 1 must be 1 at every size.
  for (const auto* extents : {&a, &b}) {
    for (const Dim& extent : *extents) {
      if (sizes.value(extent) == 1) sizes.freeze(extent);
    }
  }
  std::vector<Dim> shape = longer;
  const std::size_t skip = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    Dim& extent = shape[skip + i];
    if (sizes.value(shorter[i]) == 1) continue;
    if (sizes.value(extent) == 1) {
      extent = shorter[i];
    } else {
      sizes.unify(extent, shorter[i]);
    }
  }
  return shape;
}

Tensor expanded(const Sizes& sizes, const Tensor& tensor, const std::vector<Dim>& shape) {
  Tensor view = tensor;
  if (tensor.shape.size() > shape.size()) {
    refuse("repeats a tensor of {} dimensions to {}", tensor.rank(), shape.size());
  }
  const std::size_t skip = shape.size() - tensor.shape.size();
  view.shape = shape;
  view.strides.assign(shape.size(), 0);
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    const std::int64_t from = sizes.value(tensor.shape[i]), to = sizes.value(shape[skip + i]);
    const bool repeats = from == 1 && to != 1;
    if (!repeats && from != to) refuse("repeats an extent of {} to {}", from, to);
    view.strides[skip + i] = repeats ? Dim(0) : tensor.strides[i];
  }
  return view;
}

Tensor permuted(const Tensor& tensor, const std::vector<int>& order) {
  Tensor view = tensor;
  for (std::size_t i = 0; i < order.size(); ++i) {
    view.shape[i] = tensor.shape[static_cast<std::size_t>(order[i])];
    view.strides[i] = tensor.strides[static_cast<std::size_t>(order[i])];
  }
  return view;
}

void merge_dimensions(const Sizes& sizes, const std::vector<Tensor*>& tensors) {
  for (std::size_t i = 0; i + 1 < tensors.front()->shape.size();) {
    const bool one = std::ranges::all_of(tensors, [&](const Tensor* tensor) {
      const Dim& inner = tensor->shape[i + 1];
      return sizes.value(inner) == 1 || sizes.value(tensor->shape[i]) == 1 ||
             sizes.same(tensor->strides[i], tensor->strides[i + 1] * inner);
    });
    if (!one) {
      ++i;
      continue;
    }
    for (Tensor* tensor : tensors) {
      const auto at = static_cast<std::ptrdiff_t>(i);
      const bool outer = sizes.value(tensor->shape[i + 1]) == 1;
      tensor->shape[i] = tensor->shape[i] * tensor->shape[i + 1];
      if (!outer) tensor->strides[i] = tensor->strides[i + 1];
      tensor->shape.erase(tensor->shape.begin() + at + 1);
      tensor->strides.erase(tensor->strides.begin() + at + 1);
    }
  }
}

}  // namespace hone::pytorch
