#include "candidates/pytorch/translation.h"

#include <set>

#include "candidates/pytorch/kernel.h"
#include "candidates/pytorch/names.h"
#include "candidates/pytorch/refusal.h"

namespace hone::pytorch {

std::size_t PerDimension::checked(std::size_t i) const {
  if (i >= size()) refuse("has a tensor of {} dimensions, which are too few", size());
  return i;
}

Dim Tensor::elements() const {
  Dim product = 1;
  for (const Dim& extent : shape) product *= extent;
  return product;
}

std::vector<Dim> dense_strides(const std::vector<Dim>& shape) {
  std::vector<Dim> strides(shape.size());
  Dim stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

int Translation::add_buffer(BufferText buffer) {
  struct {
    const Sizes& sizes;
    [[nodiscard]] bool contains(const std::string& name) const { return sizes.has_name(name); }
  } const taken{sizes};
  buffer.name = unused_name(buffer.name, taken);
  sizes.reserve(buffer.name);
  const int index = static_cast<int>(buffers_.size());
  buffers_.push_back(std::move(buffer));
  return index;
}

Tensor Translation::make(ScalarType type, std::vector<Dim> shape, std::string_view name) {
  // Extents of extents of windows, a dozen deep, are as numbers of more use to a reader.
  constexpr std::size_t kLongest = 512;
  for (const Dim& extent : shape) {
    if (sizes.text(extent).size() > kLongest) sizes.freeze(extent);
  }
  BufferText buffer;
  buffer.name = name;
  buffer.type = type;
  buffer.shape = shape;
  Storage storage;
  storage.buffer = add_buffer(std::move(buffer));
  storage.shape = shape;
  storages_.push_back(std::move(storage));
  Tensor tensor;
  tensor.storage = static_cast<int>(storages_.size()) - 1;
  tensor.type = type;
  tensor.strides = dense_strides(shape);
  tensor.shape = std::move(shape);
  return tensor;
}

Tensor Translation::give(const BufferText& buffer) {
  Tensor tensor = make(buffer.type, buffer.shape, buffer.name);
  storage(tensor.storage).given = true;
  BufferText& made = this->buffer(buffer_of(tensor));
  made.role = buffer.role;
  made.fill = buffer.fill;
  made.made_up = buffer.made_up;
  return tensor;
}

Tensor Translation::draw(const BufferText& buffer) {
  Tensor tensor = give(buffer);
  draws_.push_back(tensor.storage);
  return tensor;
}

void Translation::index_into(const Tensor& index, const Dim& extent) {
  BufferText& from = buffer(buffer_of(index));
  const bool open = storage(index.storage).given && from.role == Role::kIn && from.fill.is_null();
  if (!open) return sizes.freeze(extent);
  if (!from.below || sizes.value(extent) < sizes.value(*from.below)) from.below = extent;
}

void Translation::keep_within(const Tensor& tensor, double low, double high) {
  BufferText& from = buffer(buffer_of(tensor));
  if (from.made_up && is_float(from.type)) from.fill = {{"uniform", {low, high}}};
}

bool Translation::is_dense(const Tensor& tensor) const {
  const std::vector<Dim> strides = dense_strides(tensor.shape);
  for (std::size_t i = 0; i < strides.size(); ++i) {
    if (tensor.shape[i] == Dim(1)) continue;
    if (!sizes.same(strides[i], tensor.strides[i])) return false;
  }
  return true;
}

bool Translation::is_whole(const Tensor& tensor) const {
  Dim all = 1;
  for (const Dim& extent : storage(tensor.storage).shape) all *= extent;
  return is_dense(tensor) && sizes.same(tensor.offset, 0) && sizes.same(all, tensor.elements());
}

Tensor Translation::dense(const Tensor& tensor) {
  if (is_dense(tensor)) return tensor;
  Tensor copy = make(tensor.type, tensor.shape, buffer(buffer_of(tensor)).name + "_dense");
  this->copy(tensor, copy, "copy", "The same elements, row-major.");
  return copy;
}

void Translation::copy(const Tensor& from, const Tensor& to, std::string_view name,
                       std::string_view comment) {
  Kernel kernel(*this, std::string(name), std::string(comment));
  const auto x = kernel.in("x", from);
  const auto y = kernel.out("y", to);
  const auto at = kernel.each_element(from);
  kernel.store(y, at, kernel.load_raw(x, at));
  kernel.launch();
}

void Translation::assign(const Tensor& target, const Tensor& value) {
  Storage& owner = storage(target.storage);
  // In place and nothing changed: dropout in eval mode.
  if (target.storage == value.storage) return;
  note_written(target.storage);
  if (!owner.given && !storage(value.storage).given && is_whole(target) && is_whole(value)) {
    owner.buffer = buffer_of(value);
    return;
  }
  if (owner.given) buffer(owner.buffer).role = Role::kInOut;
  copy(value, target, "write_back", "Into the elements that others see.");
}

std::string Translation::add_kernel(std::string_view name, const std::string& text,
                                    const std::string& comment) {
  for (const KernelText& kernel : kernels_) {
    if (kernel.text == text) return kernel.name;
  }
  KernelText kernel;
  // Names of functions that device code has already.
  static const std::set<std::string_view> kTaken = {
      "abs",  "acos",  "asin",  "atan", "atan2",     "ceil",     "cos",   "cosh",  "erf",   "exp",
      "exp2", "expm1", "floor", "fmod", "isinf",     "isnan",    "lerp",  "log",   "log10", "log1p",
      "log2", "max",   "min",   "pow",  "remainder", "isfinite", "round", "rsqrt", "sin",   "sinh",
      "sqrt", "std",   "tan",   "tanh", "trunc",     "and",      "or",    "not",   "xor"};
  kernel.name = unused_name(kTaken.contains(name) ? std::string(name) + "_each" : std::string(name),
                            kernel_names_);
  kernel.text = text;
  kernel.comment = comment;
  kernel_names_.emplace(kernel.name, 0);
  kernels_.push_back(kernel);
  return kernel.name;
}

int Translation::buffer_of(const Tensor& tensor) const { return storage(tensor.storage).buffer; }

}  // namespace hone::pytorch
