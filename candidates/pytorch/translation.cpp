#include "candidates/pytorch/translation.h"

#include <algorithm>
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
  buffer.name = unused_name(buffer.name, taken, buffer_numbers_);
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

/// Whole numbers that the caller fills, and nothing says how.
bool Translation::is_open(int index) const {
  const Storage& from = storage(index);
  const BufferText& text = buffers_[static_cast<std::size_t>(from.buffer)];
  return from.given && text.role == Role::kIn && text.fill.is_null() && !is_float(text.type) &&
         text.type != ScalarType::kBool;
}

Whole Translation::whole_of(const Tensor& tensor) const {
  const auto known = wholes_.find(tensor.storage);
  if (known != wholes_.end()) return known->second;
  return is_open(tensor.storage) ? whole_of_buffer(buffer_of(tensor)) : nullptr;
}

void Translation::set_whole(const Tensor& tensor, Whole whole) {
  wholes_.insert_or_assign(tensor.storage, std::move(whole));
}

void Translation::index_into(const Tensor& index, const Dim& extent, bool from_end) {
  const Whole whole = whole_of(index);
  if (const auto direct = unchanged_buffer(whole)) {
    buffer(*direct).below.push_back(extent);
    return;
  }
  sizes.freeze(extent);
  const std::int64_t places = sizes.value(extent);
  if (whole != nullptr) index_uses_.push_back({whole, {from_end ? -places : 0, places - 1}});
}

void Translation::settle_indices() {
  std::map<int, Interval> limits;
  for (std::size_t i = 0; i < storages_.size(); ++i) {
    if (!is_open(static_cast<int>(i))) continue;
    const BufferText& open = buffer(storages_[i].buffer);
    // As far as a type reaches; arithmetic with more is not followed.
    std::int64_t high = open.type == ScalarType::kU8   ? 255
                        : open.type == ScalarType::kI8 ? 127
                                                       : std::int64_t{1} << 31;
    for (const Dim& extent : open.below) high = std::min(high, sizes.value(extent) - 1);
    limits[storages_[i].buffer] = {0, high};
  }
  for (const auto& [index, range] : ranges_for(index_uses_, limits)) {
    if (range != limits.at(index)) buffer(index).within = range;
  }
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
  const Whole fresh = whole_made("same", {whole_of(from)});
  const bool replaces = is_whole(to) || !wholes_.contains(to.storage);
  set_whole(to, replaces ? fresh : whole_made("either", {whole_of(to), fresh}));
}

bool Translation::may_overlap(const Tensor& tensor) const {
  std::vector<std::pair<std::int64_t, std::int64_t>> longer;  // stride, extent
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    const std::int64_t extent = sizes.value(tensor.shape[i]);
    if (extent > 1) longer.emplace_back(sizes.value(tensor.strides[i]), extent);
  }
  std::ranges::sort(longer);
  std::int64_t reach = 0;  // of the dimensions with smaller strides, from the first element
  for (const auto& [stride, extent] : longer) {
    if (stride <= reach) return true;
    reach += stride * (extent - 1);
  }
  return false;
}

void Translation::assign(const Tensor& target, const Tensor& value) {
  Storage& owner = storage(target.storage);
  // In place and nothing changed: dropout in eval mode.
  if (target.storage == value.storage) return;
  if (may_overlap(target)) refuse("writes into a tensor of which elements lie in one place");
  note_written(target.storage);
  if (!owner.given && !storage(value.storage).given && is_whole(target) && is_whole(value)) {
    owner.buffer = buffer_of(value);
    set_whole(target, whole_of(value));
    return;
  }
  if (owner.given) buffer(owner.buffer).role = Role::kInOut;
  if (!is_whole(target) && !wholes_.contains(target.storage)) set_whole(target, nullptr);
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
                            kernel_names_, kernel_numbers_);
  kernel.text = text;
  kernel.comment = comment;
  kernel_names_.emplace(kernel.name, 0);
  kernels_.push_back(kernel);
  return kernel.name;
}

int Translation::buffer_of(const Tensor& tensor) const { return storage(tensor.storage).buffer; }

}  // namespace hone::pytorch
