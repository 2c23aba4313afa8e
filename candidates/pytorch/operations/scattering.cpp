// Operators that write elements to places which another tensor holds. Where they are added, a
// thread for each source adds atomically; where one place may get several, a thread for each result
// looks for the last that is for it, as PyTorch on a CPU leaves it.
#include <fmt/format.h>

#include "candidates/pytorch/operations.h"
#include "candidates/pytorch/operations/parts.h"
#include "candidates/pytorch/refusal.h"

namespace hone::pytorch {
namespace scattering {
namespace {

void check_index(const Tensor& index) {
  if (index.type != ScalarType::kI64 && index.type != ScalarType::kI32) {
    refuse("is indexed by {}", torch_name(index.type));
  }
}

/// Index tensors repeated to one shape; each is a place along an axis of the result.
struct Places {
  std::vector<Tensor> indices;
  std::vector<std::size_t> axes;
  std::vector<Dim> shape;  ///< of the indices
  bool from_end = false;   ///< negative ones count from the end
};

/// A source: an element of a tensor, or a number.
struct Source {
  std::optional<Tensor> tensor;
  std::string number;  ///< as a literal
};

/// What comes of what is there ($r) and a source ($v).
enum class Combine { kReplace, kAdd, kMultiply, kLargest, kSmallest };

std::string combined(Combine combine, ScalarType type) {
  const bool real = is_float(type);
  switch (combine) {
    case Combine::kReplace:
      return "result = v;";
    case Combine::kAdd:
      return "result += v;";
    case Combine::kMultiply:
      return "result *= v;";
    case Combine::kLargest:
      return real ? "result = v > result || v != v ? v : result;" : "result = max(result, v);";
    case Combine::kSmallest:
      return real ? "result = v < result || v != v ? v : result;" : "result = min(result, v);";
  }
  return "";
}

/// A statement that says of an index whether it names the result's place.
std::string names_place(Kernel& kernel, const std::string& index, const std::string& place,
                        const Dim& extent, bool from_end) {
  if (!from_end) return fmt::format("{} == {}", index, place);
  return fmt::format("({0} < 0 ? {0} + {1} : {0}) == {2}", index, kernel.size("places", extent),
                     place);
}

/// result = self, but where places name an element: that combined with its sources in their order.
/// `at_index` gives the index of the indices and `at_source` that of the source, of the result's
/// indices `at` and the names of the loops over what the indices have and the result has not.
struct Scatter {
  Tensor self;
  Places places;
  Source source;
  Combine combine = Combine::kReplace;
  std::string name;
  /// Which dimension of the indices (and the source) each of the result's is; -1: none, as an index
  /// says the place there.
  std::vector<int> index_axis, source_axis;
  /// The dimensions of the indices that are looped over, and where they are in the source; -1: not
  /// there.
  std::vector<std::size_t> looped;
  std::vector<int> looped_source;
};

void write_scatter(Call& call, const Scatter& the) {
  Kernel kernel(call.to, the.name, "One thread for each result, which looks for what is for it.");
  const Tensor result = call.make(the.self.shape);
  const auto self = kernel.in("self", the.self);
  std::vector<Kernel::Operand> indices;
  for (std::size_t i = 0; i < the.places.indices.size(); ++i) {
    indices.push_back(kernel.in(the.places.indices.size() > 1 ? fmt::format("index{}", i) : "index",
                                the.places.indices[i]));
  }
  std::optional<Kernel::Operand> source;
  if (the.source.tensor) source = kernel.in("source", *the.source.tensor);
  const auto y = kernel.out("y", result);
  const Indices at = kernel.each_element(result);
  const std::string type(computed_in(result.type));
  kernel.line(fmt::format("{} result = {};", type, kernel.load(self, at)));
  Indices of_index(the.places.shape.size(), "0");
  Indices of_source(the.source.tensor ? the.source.tensor->shape.size() : 0, "0");
  std::string inside;
  for (std::size_t i = 0; i < at.size(); ++i) {
    if (the.index_axis[i] >= 0) {
      const auto axis = static_cast<std::size_t>(the.index_axis[i]);
      of_index[axis] = at[i];
      // Indices may be fewer than results.
      if (!call.to.sizes.same(the.places.shape[axis], the.self.shape[i]) && at[i] != "0") {
        inside += fmt::format("{}{} < {}", inside.empty() ? "" : " && ", at[i],
                              kernel.size(fmt::format("I{}", i), the.places.shape[axis]));
      }
    }
    if (source && the.source_axis[i] >= 0) {
      of_source[static_cast<std::size_t>(the.source_axis[i])] = at[i];
    }
  }
  if (!inside.empty()) kernel.begin(fmt::format("if ({})", inside));
  static const char* const kNames[] = {"j", "k", "l", "p", "q", "r", "s", "t"};
  for (std::size_t i = 0; i < the.looped.size(); ++i) {
    if (i >= 8) refuse("has more than 8 dimensions");
    kernel.loop(kNames[i], kernel.size(fmt::format("J{}", i), the.places.shape[the.looped[i]]));
    of_index[the.looped[i]] = kNames[i];
    if (source && the.looped_source[i] >= 0) {
      of_source[static_cast<std::size_t>(the.looped_source[i])] = kNames[i];
    }
  }
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const std::size_t axis = the.places.axes[i];
    kernel.line(fmt::format("long long p{} = {};", i, kernel.load_raw(indices[i], of_index)));
    kernel.begin(fmt::format("if ({})", names_place(kernel, fmt::format("p{}", i), at[axis],
                                                    the.self.shape[axis], the.places.from_end)));
  }
  const std::string value =
      source ? converted(kernel.load(*source, of_source), the.source.tensor->type, result.type)
             : the.source.number;
  kernel.line(fmt::format("{} v = {};", type, value));
  kernel.line(combined(the.combine, result.type));
  for (std::size_t i = 0; i < indices.size() + the.looped.size(); ++i) kernel.end();
  if (!inside.empty()) kernel.end();
  kernel.store(y, at, stored_as(result.type, "result"));
  kernel.launch();
}

std::string number_of(const Call& call, std::string_view name, ScalarType type) {
  return !is_float(type) && call.is_whole(name) ? fmt::format("{}ll", call.whole_value(name))
                                                : literal(call.number(name), type);
}

/// result[.., index[.., j, ..], ..] of source[.., j, ..]: the indices have the source's rank.
void scatter_along(Call& call, std::string_view source_name, Combine combine) {
  Sizes& sizes = call.to.sizes;
  Scatter the;
  the.self = call.tensor("self");
  the.name = "scatter";
  the.combine = combine;
  Tensor index = call.tensor("index");
  check_index(index);
  const int rank = the.self.rank();
  if (rank == 0 || index.rank() != rank) {
    refuse("has an index of {} dimensions for {}", index.rank(), rank);
  }
  const auto axis = static_cast<std::size_t>(Call::axis(call.whole("dim"), rank));
  const bool tensor = call.is_tensor(source_name);
  if (tensor && call.tensor(source_name).rank() > 0) the.source.tensor = call.tensor(source_name);
  if (tensor && !the.source.tensor) {
    the.source.tensor = expanded(sizes, call.tensor(source_name), index.shape);
  }
  if (!tensor) the.source.number = number_of(call, source_name, the.self.type);
  for (std::size_t i = 0; i < the.self.shape.size(); ++i) {
    const auto fits = [&](const Dim& whole, const char* what) {
      const std::int64_t ours = sizes.value(index.shape[i]), theirs = sizes.value(whole);
      if (ours > theirs) refuse("has {} indices for {} elements of the {}", ours, theirs, what);
      if (ours == theirs) {
        sizes.unify(index.shape[i], whole);
      } else {
        sizes.freeze(index.shape[i]);
        sizes.freeze(whole);
      }
    };
    if (i != axis) fits(the.self.shape[i], "result");
    if (the.source.tensor) {
      if (the.source.tensor->rank() != rank) {
        refuse("has a source of {} dimensions", the.source.tensor->rank());
      }
      fits(the.source.tensor->shape[i], "source");
    }
    the.index_axis.push_back(i == axis ? -1 : static_cast<int>(i));
    the.source_axis.push_back(i == axis ? -1 : static_cast<int>(i));
  }
  call.to.index_into(index, the.self.shape[axis]);
  the.places.indices = {index};
  the.places.axes = {axis};
  the.places.shape = index.shape;
  the.looped = {axis};
  the.looped_source = {static_cast<int>(axis)};
  write_scatter(call, the);
}

void scatter(Call& call) {
  Combine combine = Combine::kReplace;
  if (call.has("reduce")) {
    const std::string reduce = call.text("reduce", "");
    if (reduce != "add" && reduce != "multiply") refuse("reduces by '{}'", reduce);
    combine = reduce == "add" ? Combine::kAdd : Combine::kMultiply;
  }
  scatter_along(call, call.has("src") ? "src" : "value", combine);
}

void scatter_reduce(Call& call) {
  const std::string reduce = call.text("reduce", "");
  if (!call.flag("include_self", true)) refuse("leaves out what is there (include_self)");
  if (reduce == "sum") return scatter_along(call, "src", Combine::kAdd);
  if (reduce == "prod") return scatter_along(call, "src", Combine::kMultiply);
  if (reduce == "amax") return scatter_along(call, "src", Combine::kLargest);
  if (reduce == "amin") return scatter_along(call, "src", Combine::kSmallest);
  refuse("reduces by '{}'; hone has sum, prod, amax and amin", reduce);
}

bool adds_atomically(ScalarType type) {
  return type == ScalarType::kF32 || type == ScalarType::kF64 || type == ScalarType::kI32 ||
         type == ScalarType::kI64;
}

/// A copy of self, to which a second kernel adds.
Tensor copy_of_self(Call& call, const Tensor& self) {
  const Tensor result = call.make(self.shape);
  call.to.copy(self, result, "copy", "The same elements, row-major.");
  return result;
}

void add_at(Kernel& kernel, Kernel::Operand y, const Indices& to, ScalarType type,
            const std::string& value) {
  const std::string place = kernel.load_raw(y, to);
  // 64 bits are added as unsigned ones, of which the sums are the same.
  kernel.line(type == ScalarType::kI64
                  ? fmt::format("atomicAdd((unsigned long long*)&{}, (unsigned long long)({}));",
                                place, value)
                  : fmt::format("atomicAdd(&{}, {});", place, value));
}

void scatter_add(Call& call) {
  Sizes& sizes = call.to.sizes;
  const Tensor self = call.tensor("self"), index = call.tensor("index"),
               source = call.tensor("src");
  if (!adds_atomically(self.type)) return scatter_along(call, "src", Combine::kAdd);
  check_index(index);
  if (self.rank() == 0 || index.rank() != self.rank() || source.rank() != self.rank()) {
    refuse("has {}, {} and {} dimensions", self.rank(), index.rank(), source.rank());
  }
  const auto axis = static_cast<std::size_t>(Call::axis(call.whole("dim"), self.rank()));
  for (std::size_t i = 0; i < self.shape.size(); ++i) {
    for (const Tensor* other : {&self, &source}) {
      if (other == &self && i == axis) continue;
      const std::int64_t ours = sizes.value(index.shape[i]), theirs = sizes.value(other->shape[i]);
      if (ours > theirs) refuse("has {} indices for {} elements", ours, theirs);
      if (ours == theirs) {
        sizes.unify(index.shape[i], other->shape[i]);
      } else {
        sizes.freeze(index.shape[i]);
        sizes.freeze(other->shape[i]);
      }
    }
  }
  call.to.index_into(index, self.shape[axis]);
  const Tensor result = copy_of_self(call, self);
  Kernel kernel(call.to, "scatter_add", "One thread for each source.");
  const auto where = kernel.in("index", index);
  const auto x = kernel.in("source", source);
  const auto y = kernel.inout("y", result);
  const Indices at = kernel.each_element(index);
  kernel.line(fmt::format("long long place = {};", kernel.load_raw(where, at)));
  Indices to = at;
  to[axis] = "place";
  add_at(kernel, y, to, result.type, converted(kernel.load(x, at), source.type, result.type));
  kernel.launch();
}

/// self with rows of `source` added or put at index: one index along one dimension.
void index_rows(Call& call, bool adds) {
  Sizes& sizes = call.to.sizes;
  const Tensor self = call.tensor("self"), index = call.tensor("index");
  check_index(index);
  const bool number = !call.has("source");
  if (self.rank() == 0 || index.rank() != 1) {
    refuse("has {} dimensions and an index of {}", self.rank(), index.rank());
  }
  const auto axis = static_cast<std::size_t>(Call::axis(call.whole("dim"), self.rank()));
  call.to.index_into(index, self.shape[axis]);
  std::vector<Dim> shape = self.shape;
  shape[axis] = index.shape[0];
  std::optional<Tensor> source;
  if (!number) {
    source = call.tensor("source");
    if (source->rank() != self.rank()) refuse("has a source of {} dimensions", source->rank());
    for (std::size_t i = 0; i < shape.size(); ++i) sizes.unify(shape[i], source->shape[i]);
  } else if (call.is_tensor("value")) {
    source = expanded(sizes, call.tensor("value"), shape);
  }
  if (adds && adds_atomically(self.type)) {
    const double alpha = call.number("alpha", 1);
    const Tensor result = copy_of_self(call, self);
    Kernel kernel(call.to, "index_add", "One thread for each source.");
    const auto where = kernel.in("index", index);
    const auto x = kernel.in("source", *source);
    const auto y = kernel.inout("y", result);
    const Indices at = kernel.each_element(*source);
    kernel.line(fmt::format("long long place = {};", kernel.load_raw(where, {at[axis]})));
    Indices to = at;
    to[axis] = "place";
    std::string value = converted(kernel.load(x, at), source->type, result.type);
    if (alpha != 1) value += fmt::format(" * {}", literal(alpha, result.type));
    add_at(kernel, y, to, result.type, value);
    kernel.launch();
    return;
  }
  if (call.number("alpha", 1) != 1) refuse("scales what it adds to {}", torch_name(self.type));
  Scatter the;
  the.self = self;
  the.name = adds ? "index_add" : "index_put";
  the.combine = adds ? Combine::kAdd : Combine::kReplace;
  the.source.tensor = source;
  if (!source) the.source.number = number_of(call, "value", self.type);
  the.places = {{index}, {axis}, index.shape, false};
  the.index_axis.assign(self.shape.size(), -1);
  for (std::size_t i = 0; i < self.shape.size(); ++i) {
    the.source_axis.push_back(i == axis ? -1 : static_cast<int>(i));
  }
  the.looped = {0};
  the.looped_source = {static_cast<int>(axis)};
  write_scatter(call, the);
}

void index_add(Call& call) { index_rows(call, true); }
void index_copy(Call& call) { index_rows(call, false); }
void index_fill(Call& call) { index_rows(call, false); }

/// self[mask] = value, with one value for all.
void put_under_mask(Call& call, const Tensor& self, const Tensor& mask, const Tensor& value) {
  Sizes& sizes = call.to.sizes;
  if (sizes.value(value.elements()) != 1) {
    refuse("puts different values under a mask, as many as only data say");
  }
  if (mask.rank() > self.rank()) refuse("has a mask of {} dimensions", mask.rank());
  Tensor over = mask, all = value;
  for (std::size_t i = 0; i < mask.shape.size(); ++i) sizes.unify(mask.shape[i], self.shape[i]);
  over.shape = self.shape;
  over.strides.resize(self.shape.size(), 0);
  all.shape = self.shape;
  all.strides.assign(self.shape.size(), 0);
  const Tensor result = call.make(self.shape);
  Kernel kernel(call.to, "put_under_mask", "");
  const auto x = kernel.in("x", self);
  const auto m = kernel.in("mask", over);
  const auto v = kernel.in("value", all);
  const auto y = kernel.out("y", result);
  const Indices at = kernel.each_element(result);
  kernel.store(
      y, at,
      stored_as(result.type, fmt::format("{} ? {} : {}", kernel.load(m, at),
                                         converted(kernel.load(v, at), value.type, result.type),
                                         kernel.load(x, at))));
  kernel.launch();
}

/// self[:, i, j] = values, or += with `accumulate`.
void index_put(Call& call) {
  Sizes& sizes = call.to.sizes;
  Scatter the;
  the.self = call.tensor("self");
  auto indices = call.tensors("indices");
  if (indices.size() > the.self.shape.size()) refuse("has more indices than dimensions");
  const bool adds = call.flag("accumulate", false);
  if (indices.size() == 1 && indices[0] && indices[0]->type == ScalarType::kBool && !adds) {
    return put_under_mask(call, the.self, *indices[0], call.tensor("values"));
  }
  indices.resize(the.self.shape.size());
  the.places.from_end = true;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (!indices[i]) continue;
    check_index(*indices[i]);
    call.to.index_into(*indices[i], the.self.shape[i], true);
    the.places.shape = broadcast(sizes, the.places.shape, indices[i]->shape);
    the.places.axes.push_back(i);
  }
  if (the.places.axes.empty()) refuse("has no index");
  for (const std::size_t axis : the.places.axes) {
    the.places.indices.push_back(expanded(sizes, *indices[axis], the.places.shape));
  }
  // What the indexed dimensions become stands where they are if they are neighbours, else in front.
  const std::size_t first = the.places.axes.front();
  const bool neighbours = the.places.axes.back() - first + 1 == the.places.axes.size();
  const std::size_t front = neighbours ? first : 0;
  std::vector<Dim> shape;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (!indices[i]) shape.push_back(the.self.shape[i]);
  }
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(front), the.places.shape.begin(),
               the.places.shape.end());
  const Tensor values = call.tensor("values");
  broadcast(sizes, shape, values.shape);
  the.source.tensor = expanded(sizes, values, shape);
  the.index_axis.assign(the.self.shape.size(), -1);
  std::size_t next = 0;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (next == front) next += the.places.shape.size();
    the.source_axis.push_back(indices[i] ? -1 : static_cast<int>(next++));
  }
  for (std::size_t i = 0; i < the.places.shape.size(); ++i) {
    the.looped.push_back(i);
    the.looped_source.push_back(static_cast<int>(front + i));
  }
  the.name = "index_put";
  the.combine = adds ? Combine::kAdd : Combine::kReplace;
  write_scatter(call, the);
}

/// 1 where an element is the index of its place, else 0.
void one_hot(Call& call) {
  const Tensor from = call.tensor("self");
  check_index(from);
  std::vector<Dim> shape = from.shape;
  const std::int64_t classes = call.whole("num_classes", -1);
  if (classes < 1) refuse("has as many classes as only data say; give num_classes");
  call.to.index_into(from, classes);
  shape.emplace_back(classes);
  const Tensor result = call.make(shape);
  Kernel kernel(call.to, "one_hot", "");
  const auto x = kernel.in("x", from);
  const auto y = kernel.out("y", result);
  const Indices at = kernel.each_element(result);
  kernel.store(
      y, at,
      fmt::format("{} == {} ? 1 : 0", kernel.load(x, {at.begin(), at.end() - 1}), at.back()));
  kernel.launch();
}

/// self with `src` in a part of it, which a view says.
void put_part(Call& call, Tensor (*part_of)(Call& call, const Tensor& whole)) {
  const Tensor self = call.tensor("self"), source = call.tensor("src");
  const Tensor result = copy_of_self(call, self);
  const Tensor part = part_of(call, result);
  if (part.rank() != source.rank()) refuse("has a source of {} dimensions", source.rank());
  for (std::size_t i = 0; i < part.shape.size(); ++i) {
    call.to.sizes.unify(part.shape[i], source.shape[i]);
  }
  if (source.type != result.type)
    refuse("puts {} into {}", torch_name(source.type), torch_name(result.type));
  call.to.copy(source, part, "put_part", "Into a part of what was copied.");
}

void slice_scatter(Call& call) {
  put_part(call, [](Call& inner, const Tensor& whole) { return slice_of(inner, whole); });
}
void select_scatter(Call& call) {
  put_part(call, [](Call& inner, const Tensor& whole) { return selected(inner, whole); });
}

constexpr Operation kOperations[] = {
    {"aten.scatter.src", scatter},
    {"aten.scatter.value", scatter},
    {"aten.scatter.reduce", scatter},
    {"aten.scatter.value_reduce", scatter},
    {"aten.scatter_add.default", scatter_add},
    {"aten.scatter_reduce.two", scatter_reduce},
    {"aten.index_add.default", index_add},
    {"aten.index_copy.default", index_copy},
    {"aten.index_fill.int_Scalar", index_fill},
    {"aten.index_fill.int_Tensor", index_fill},
    {"aten.index_put.default", index_put},
    {"aten.one_hot.default", one_hot},
    {"aten.slice_scatter.default", slice_scatter},
    {"aten.select_scatter.default", select_scatter},
};

}  // namespace
}  // namespace scattering

std::span<const Operation> scattering_operations() { return scattering::kOperations; }

}  // namespace hone::pytorch
