// Operators that read elements at places which another tensor holds.
#include <fmt/format.h>

#include "candidates/pytorch/operations.h"
#include "candidates/pytorch/refusal.h"

namespace hone::pytorch {
namespace indexing {
namespace {

void check_index(const Tensor& index) {
  if (index.type != ScalarType::kI64 && index.type != ScalarType::kI32) {
    refuse("is indexed by {}; hone has whole numbers, as a mask gives a shape that only data say",
           torch_name(index.type));
  }
}

/// self[..., index, ...] along one dimension; the index's dimensions take its place.
void pick(Call& call, const Tensor& from, std::size_t axis, const Tensor& index,
          std::string_view name) {
  check_index(index);
  call.to.index_into(index, from.shape[axis]);
  std::vector<Dim> shape = from.shape;
  const auto place = shape.begin() + static_cast<std::ptrdiff_t>(axis);
  shape.insert(shape.erase(place), index.shape.begin(), index.shape.end());
  const Tensor result = call.make(shape);
  Kernel kernel(call.to, std::string(name), "");
  const auto x = kernel.in("x", from);
  const auto where = kernel.in("index", index);
  const auto y = kernel.out("y", result);
  const Indices at = kernel.each_element(result);
  const auto first = at.begin() + static_cast<std::ptrdiff_t>(axis);
  const auto last = first + index.rank();
  kernel.line(fmt::format("long long row = {};", kernel.load_raw(where, Indices(first, last))));
  Indices in(at.begin(), first);
  in.emplace_back("row");
  in.insert(in.end(), last, at.end());
  kernel.store(y, at, kernel.load_raw(x, in));
  kernel.launch();
}

void index_select(Call& call) {
  const Tensor from = call.tensor("self");
  if (from.rank() == 0) refuse("picks from a number");
  const Tensor index = call.tensor("index");
  if (index.rank() != 1) refuse("has an index of {} dimensions", index.rank());
  pick(call, from, static_cast<std::size_t>(Call::axis(call.whole("dim"), from.rank())), index,
       "index_select");
}

void embedding(Call& call) {
  pick(call, call.tensor("weight"), 0, call.tensor("indices"), "embedding");
}

void gather_along(Call& call, const Tensor& from, const Tensor& index, std::size_t axis) {
  Sizes& sizes = call.to.sizes;
  check_index(index);
  if (from.rank() != index.rank() || from.rank() == 0) refuse("has an index of another rank");
  for (std::size_t i = 0; i < from.shape.size(); ++i) {
    if (i == axis) continue;
    if (sizes.value(index.shape[i]) > sizes.value(from.shape[i])) {
      refuse("has {} indices for {} elements", sizes.value(index.shape[i]),
             sizes.value(from.shape[i]));
    }
    if (sizes.value(from.shape[i]) == sizes.value(index.shape[i])) {
      sizes.unify(from.shape[i], index.shape[i]);
    } else {
      sizes.freeze(from.shape[i]);
      sizes.freeze(index.shape[i]);
    }
  }
  call.to.index_into(index, from.shape[axis]);
  const Tensor result = call.make(index.shape);
  Kernel kernel(call.to, "gather", "");
  const auto x = kernel.in("x", from);
  const auto where = kernel.in("index", index);
  const auto y = kernel.out("y", result);
  const Indices at = kernel.each_element(result);
  kernel.line(fmt::format("long long place = {};", kernel.load_raw(where, at)));
  Indices in = at;
  in[axis] = "place";
  kernel.store(y, at, kernel.load_raw(x, in));
  kernel.launch();
}

void gather(Call& call) {
  const Tensor from = call.tensor("self");
  gather_along(call, from, call.tensor("index"),
               static_cast<std::size_t>(Call::axis(call.whole("dim"), from.rank())));
}

/// Both are repeated to one shape but along one dimension.
void take_along_dim(Call& call) {
  Sizes& sizes = call.to.sizes;
  Tensor from = call.tensor("self"), index = call.tensor("indices");
  if (!call.has("dim")) refuse("takes along all dimensions at once");
  if (from.rank() != index.rank() || from.rank() == 0) refuse("has an index of another rank");
  const auto axis = static_cast<std::size_t>(Call::axis(call.whole("dim"), from.rank()));
  std::vector<Dim> of_from = from.shape, of_index = index.shape;
  of_from[axis] = of_index[axis] = 1;
  const std::vector<Dim> shape = broadcast(sizes, of_from, of_index);
  of_from = of_index = shape;
  of_from[axis] = from.shape[axis];
  of_index[axis] = index.shape[axis];
  gather_along(call, expanded(sizes, from, of_from), expanded(sizes, index, of_index), axis);
}

/// x[:, i, j]: the indices are repeated to one shape, which stands where they stand if they are
/// neighbours, else in front. Negative ones count from the end.
void index(Call& call) {
  Sizes& sizes = call.to.sizes;
  const Tensor from = call.tensor("self");
  auto indices = call.tensors("indices");
  if (indices.size() > from.shape.size()) refuse("has more indices than dimensions");
  indices.resize(from.shape.size());
  std::vector<Dim> common;
  std::vector<std::size_t> indexed;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (!indices[i]) continue;
    check_index(*indices[i]);
    call.to.index_into(*indices[i], from.shape[i], true);
    common = broadcast(sizes, common, indices[i]->shape);
    indexed.push_back(i);
  }
  if (indexed.empty()) refuse("has no index");
  const bool neighbours = indexed.back() - indexed.front() + 1 == indexed.size();
  const std::size_t front = neighbours ? indexed.front() : 0;
  std::vector<Dim> shape;
  for (std::size_t i = 0; i < from.shape.size(); ++i) {
    if (!indices[i]) shape.push_back(from.shape[i]);
  }
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(front), common.begin(), common.end());
  const Tensor result = call.make(shape);
  Kernel kernel(call.to, "index", "");
  const auto x = kernel.in("x", from);
  std::vector<std::optional<Kernel::Operand>> operands(indices.size());
  std::vector<Tensor> views(indices.size());
  for (const std::size_t i : indexed) {
    views[i] = expanded(sizes, *indices[i], common);
    operands[i] = kernel.in(fmt::format("index{}", i), views[i]);
  }
  const auto y = kernel.out("y", result);
  const Indices at = kernel.each_element(result);
  const auto begin = at.begin() + static_cast<std::ptrdiff_t>(front);
  const Indices place(begin, begin + static_cast<std::ptrdiff_t>(common.size()));
  Indices in;
  std::size_t next = 0;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (next == front && !common.empty()) next += common.size();
    if (!indices[i]) {
      in.push_back(at[next++]);
      continue;
    }
    const std::string name = fmt::format("p{}", i);
    kernel.line(fmt::format("long long {} = {};", name, kernel.load_raw(*operands[i], place)));
    kernel.line(fmt::format("if ({0} < 0) {0} += {1};", name,
                            kernel.size(fmt::format("X{}", i), from.shape[i])));
    in.push_back(name);
  }
  kernel.store(y, at, kernel.load_raw(x, in));
  kernel.launch();
}

constexpr Operation kOperations[] = {
    {"aten.index_select.default", index_select},
    {"aten.embedding.default", embedding},
    {"aten.gather.default", gather},
    {"aten.take_along_dim.default", take_along_dim},
    {"aten.index.Tensor", index},
};

}  // namespace
}  // namespace indexing

std::span<const Operation> indexing_operations() { return indexing::kOperations; }

}  // namespace hone::pytorch
