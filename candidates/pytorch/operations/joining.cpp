// Operators that put elements elsewhere: several tensors as one, borders, other orders.
#include <fmt/format.h>

#include <algorithm>

#include "candidates/pytorch/operations.h"
#include "candidates/pytorch/refusal.h"

namespace hone::pytorch {
namespace joining {
namespace {

/// As many pieces as one kernel chooses among.
constexpr std::size_t kMostPieces = 16;

std::vector<Tensor> given(const Call& call, std::string_view name) {
  std::vector<Tensor> tensors;
  for (const auto& tensor : call.tensors(name)) {
    if (!tensor) refuse("has an absent tensor in its list");
    tensors.push_back(*tensor);
  }
  if (tensors.empty()) refuse("has an empty list of tensors");
  return tensors;
}

/// Converts on the way, as PyTorch does where types differ.
std::string moved(Kernel& kernel, Kernel::Operand from, ScalarType is, ScalarType wanted,
                  const Indices& at) {
  if (is == wanted) return kernel.load_raw(from, at);
  return stored_as(wanted, converted(kernel.load(from, at), is, wanted));
}

/// One kernel that asks in which piece an element lies.
void write_choice(Call& call, const std::vector<Tensor>& pieces, std::size_t axis,
                  const Tensor& result) {
  Kernel kernel(call.to, "cat", "");
  std::vector<Kernel::Operand> from;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    from.push_back(kernel.in(fmt::format("x{}", i), pieces[i]));
  }
  const auto y = kernel.out("y", result);
  const Indices at = kernel.each_element(result);
  Dim begin = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const Dim end = begin + pieces[i].shape[axis];
    Indices in = at;
    if (i > 0) {
      in[axis] = fmt::format("{} - {}", at[axis], kernel.size(fmt::format("begin{}", i), begin));
    }
    const bool last = i + 1 == pieces.size();
    if (!last) {
      kernel.begin(fmt::format("{}if ({} < {})", i == 0 ? "" : "else ", at[axis],
                               kernel.size(fmt::format("begin{}", i + 1), end)));
    } else if (i > 0) {
      kernel.begin("else");
    }
    kernel.store(y, at, moved(kernel, from[i], pieces[i].type, result.type, in));
    if (pieces.size() > 1) kernel.end();
    begin = end;
  }
  kernel.launch();
}

/// A launch for each piece, which writes its part of the result.
void write_pieces(Call& call, const std::vector<Tensor>& pieces, std::size_t axis,
                  const Tensor& result) {
  Dim begin = 0;
  for (const Tensor& piece : pieces) {
    Tensor part = result;
    part.offset += begin * result.strides[axis];
    part.shape[axis] = piece.shape[axis];
    Kernel kernel(call.to, "cat_part", "One of the tensors into its part of the result.");
    const auto x = kernel.in("x", piece);
    const auto y = kernel.out("y", part);
    const Indices at = kernel.each_element(piece);
    kernel.store(y, at, moved(kernel, x, piece.type, result.type, at));
    kernel.launch();
    begin += piece.shape[axis];
  }
}

void join(Call& call, std::vector<Tensor> pieces, std::int64_t dim) {
  Sizes& sizes = call.to.sizes;
  const int rank = pieces.front().rank();
  if (rank == 0) refuse("joins tensors without dimensions");
  const auto axis = static_cast<std::size_t>(Call::axis(dim, rank));
  std::vector<Dim> shape = pieces.front().shape;
  Dim all = 0;
  for (const Tensor& piece : pieces) {
    if (piece.rank() != rank) refuse("joins tensors of {} and {} dimensions", rank, piece.rank());
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (i != axis) sizes.unify(shape[i], piece.shape[i]);
    }
    all += piece.shape[axis];
  }
  // Sums of sums, as DenseNet's, would become longer than all else in a task.
  if (sizes.resolve(all).terms().size() > kMostPieces) sizes.freeze(all);
  shape[axis] = all;
  const Tensor result = call.make(shape);
  Whole elements = call.to.whole_of(pieces.front());
  for (const Tensor& piece : pieces) {
    elements = whole_made("either", {elements, call.to.whole_of(piece)});
  }
  call.to.set_whole(result, elements);
  if (pieces.size() <= kMostPieces) {
    write_choice(call, pieces, axis, result);
  } else {
    write_pieces(call, pieces, axis, result);
  }
}

void cat(Call& call) { join(call, given(call, "tensors"), call.whole("dim", 0)); }

/// A dimension of one element at this place.
void add_dimension(Tensor& tensor, int at) {
  tensor.shape.insert(tensor.shape.begin() + at, 1);
  tensor.strides.insert(tensor.strides.begin() + at, 0);
}

void stack(Call& call) {
  std::vector<Tensor> pieces = given(call, "tensors");
  const int axis = Call::axis(call.whole("dim", 0), pieces.front().rank() + 1);
  for (Tensor& piece : pieces) {
    if (piece.rank() < axis) refuse("stacks tensors of different shapes");
    add_dimension(piece, axis);
  }
  join(call, std::move(pieces), axis);
}

/// Beside one another: numbers and vectors along dimension 0, all else along dimension 1.
void hstack(Call& call) {
  std::vector<Tensor> pieces = given(call, "tensors");
  for (Tensor& piece : pieces) {
    if (piece.rank() == 0) add_dimension(piece, 0);
  }
  const int axis = pieces.front().rank() == 1 ? 0 : 1;
  join(call, std::move(pieces), axis);
}

/// Vectors are rows.
void vstack(Call& call) {
  std::vector<Tensor> pieces = given(call, "tensors");
  for (Tensor& piece : pieces) {
    while (piece.rank() < 2) add_dimension(piece, 0);
  }
  join(call, std::move(pieces), 0);
}

/// Vectors are columns.
void column_stack(Call& call) {
  std::vector<Tensor> pieces = given(call, "tensors");
  for (Tensor& piece : pieces) {
    while (piece.rank() < 2) add_dimension(piece, piece.rank());
  }
  join(call, std::move(pieces), 1);
}

/// Along a third dimension: a vector is a row of a matrix.
void dstack(Call& call) {
  std::vector<Tensor> pieces = given(call, "tensors");
  for (Tensor& piece : pieces) {
    while (piece.rank() < 2) add_dimension(piece, 0);
    if (piece.rank() == 2) add_dimension(piece, 2);
  }
  join(call, std::move(pieces), 2);
}

/// Of one dimension: how many elements are put before and after; negative ones are cut off.
struct Border {
  std::int64_t before = 0, after = 0;
};

/// The place in the input, declared where it needs arithmetic.
std::string place_inside(Kernel& kernel, const std::string& at, const std::string& name,
                         const std::string& extent, const Border& border, const std::string& mode) {
  kernel.line(fmt::format("{} {} = {} - {};", kernel.index_type(), name, at, border.before));
  if (mode == "reflect") {
    kernel.line(fmt::format("if ({0} < 0) {0} = -{0};", name));
    kernel.line(fmt::format("if ({0} >= {1}) {0} = 2 * ({1} - 1) - {0};", name, extent));
  } else if (mode == "replicate") {
    kernel.line(fmt::format("{0} = min(max({0}, 0), {1} - 1);", name, extent));
  } else {
    kernel.line(fmt::format("{0} = ({0} + {1}) % {1};", name, extent));
  }
  return name;
}

void pad_as(Call& call, const std::string& mode, const std::vector<std::int64_t>& numbers) {
  Sizes& sizes = call.to.sizes;
  const Tensor from = call.tensor("self");
  const bool constant = mode == "constant";
  if (!constant && mode != "reflect" && mode != "replicate" && mode != "circular") {
    refuse("pads in the mode '{}', which hone does not have", mode);
  }
  if (numbers.size() % 2 != 0 || numbers.size() / 2 > from.shape.size()) {
    refuse("has {} borders for {} dimensions", numbers.size(), from.rank());
  }
  std::vector<Border> borders(from.shape.size());
  std::vector<Dim> shape = from.shape;
  for (std::size_t i = 0; i < numbers.size() / 2; ++i) {
    const std::size_t dimension = from.shape.size() - 1 - i;
    Border& border = borders[dimension];
    border = {numbers[2 * i], numbers[2 * i + 1]};
    if (!constant && (border.before < 0 || border.after < 0)) refuse("cuts off with '{}'", mode);
    // What is mirrored or goes around must be there.
    if (!constant && mode != "replicate" && (border.before > 0 || border.after > 0)) {
      sizes.freeze(shape[dimension]);
    }
    shape[dimension] += Dim(border.before + border.after);
  }
  const Tensor result = call.make(shape);
  Kernel kernel(call.to, "pad", constant ? "" : "The border: " + mode + ".");
  const auto x = kernel.in("x", from);
  const auto y = kernel.out("y", result);
  Indices at = kernel.each_element(result), in = at;
  std::string inside;
  for (std::size_t i = 0; i < borders.size(); ++i) {
    if (borders[i].before == 0 && borders[i].after == 0) continue;
    const std::string extent = kernel.size(fmt::format("X{}", i), from.shape[i]);
    if (!constant) {
      in[i] = place_inside(kernel, at[i], fmt::format("p{}", i), extent, borders[i], mode);
      continue;
    }
    if (borders[i].before > 0) {
      inside += fmt::format("{}{} >= {}", inside.empty() ? "" : " && ", at[i], borders[i].before);
    }
    if (borders[i].before != 0) {
      in[i] = borders[i].before > 0 ? fmt::format("{} - {}", at[i], borders[i].before)
                                    : fmt::format("{} + {}", at[i], -borders[i].before);
    }
    if (borders[i].after > 0) {
      inside += fmt::format("{}{} < {}", inside.empty() ? "" : " && ", in[i], extent);
    }
  }
  const std::string value = kernel.load(x, in);
  const std::string fill = literal(call.number("value", 0), from.type);
  kernel.store(y, at,
               inside.empty()
                   ? kernel.load_raw(x, in)
                   : stored_as(from.type, fmt::format("{} ? {} : {}", inside, value, fill)));
  kernel.launch();
}

void pad(Call& call) { pad_as(call, call.text("mode", "constant"), call.wholes("pad")); }
void pad_by_reflection(Call& call) { pad_as(call, "reflect", call.wholes("padding")); }
void pad_by_replication(Call& call) { pad_as(call, "replicate", call.wholes("padding")); }

void flip_along(Call& call, const std::vector<std::int64_t>& dimensions) {
  const Tensor from = call.tensor("self");
  const Tensor result = call.make(from.shape);
  Kernel kernel(call.to, "flip", "");
  const auto x = kernel.in("x", from);
  const auto y = kernel.out("y", result);
  const Indices at = kernel.each_element(result);
  Indices in = at;
  for (const std::int64_t dimension : dimensions) {
    const auto i = static_cast<std::size_t>(Call::axis(dimension, from.rank()));
    if (from.rank() == 0 || at[i] == "0") continue;
    in[i] = fmt::format("{} - 1 - {}", kernel.size(fmt::format("X{}", i), from.shape[i]), at[i]);
  }
  kernel.store(y, at, kernel.load_raw(x, in));
  kernel.launch();
}

void flip(Call& call) { flip_along(call, call.wholes("dims")); }
void flip_columns(Call& call) { flip_along(call, {1}); }
void flip_rows(Call& call) { flip_along(call, {0}); }

/// A dense tensor as one row.
Tensor as_row(Call& call, const Tensor& tensor) {
  Tensor row = call.to.dense(tensor);
  row.shape = {tensor.elements()};
  row.strides = {1};
  return row;
}

void roll(Call& call) {
  Tensor from = call.tensor("self");
  const Tensor whole = call.make(from.shape);
  Tensor result = whole;
  const auto shifts = call.wholes("shifts");
  auto dims = call.wholes("dims");
  if (dims.empty()) {
    from = as_row(call, from);
    result = as_row(call, result);
    dims = {0};
  }
  if (dims.size() != shifts.size()) refuse("has {} shifts", shifts.size());
  if (from.rank() == 0) refuse("rolls a number");
  Kernel kernel(call.to, "roll", "");
  const auto x = kernel.in("x", from);
  const auto y = kernel.out("y", result);
  const Indices at = kernel.each_element(result);
  std::vector<std::int64_t> by(from.shape.size());
  for (std::size_t i = 0; i < dims.size(); ++i) {
    by[static_cast<std::size_t>(Call::axis(dims[i], from.rank()))] += shifts[i];
  }
  Indices in = at;
  for (std::size_t i = 0; i < by.size(); ++i) {
    if (by[i] == 0 || at[i] == "0") continue;
    const std::string extent = kernel.size(fmt::format("X{}", i), from.shape[i]);
    in[i] = by[i] > 0
                ? fmt::format("(({} + {} - {} % {}) % {})", at[i], extent, by[i], extent, extent)
                : fmt::format("(({} + {}) % {})", at[i], -by[i], extent);
  }
  kernel.store(y, at, kernel.load_raw(x, in));
  kernel.launch();
}

void repeat(Call& call) {
  Tensor from = call.tensor("self");
  auto repeats = call.wholes(call.has("repeats") ? "repeats" : "dims");
  if (repeats.size() < from.shape.size()) {
    repeats.insert(repeats.begin(), from.shape.size() - repeats.size(), 1);
  }
  while (from.shape.size() < repeats.size()) {
    from.shape.insert(from.shape.begin(), 1);
    from.strides.insert(from.strides.begin(), 0);
  }
  std::vector<Dim> shape;
  for (std::size_t i = 0; i < repeats.size(); ++i) {
    if (repeats[i] < 1) refuse("repeats {} times", repeats[i]);
    shape.push_back(from.shape[i] * Dim(repeats[i]));
  }
  const Tensor result = call.make(shape);
  Kernel kernel(call.to, "repeat", "");
  const auto x = kernel.in("x", from);
  const auto y = kernel.out("y", result);
  const Indices at = kernel.each_element(result);
  Indices in = at;
  for (std::size_t i = 0; i < repeats.size(); ++i) {
    if (call.to.sizes.resolve(from.shape[i]) == Dim(1)) {
      in[i] = "0";
    } else if (repeats[i] > 1) {
      in[i] = fmt::format("{} % {}", at[i], kernel.size(fmt::format("X{}", i), from.shape[i]));
    }
  }
  kernel.store(y, at, kernel.load_raw(x, in));
  kernel.launch();
}

/// Each element several times, one after the other.
void repeat_each(Call& call) {
  Tensor from = call.tensor("self");
  const std::int64_t repeats = call.whole("repeats");
  if (repeats < 1) refuse("repeats {} times", repeats);
  if (!call.has("dim")) from = as_row(call, from);
  if (from.rank() == 0) refuse("repeats a number");
  const auto i = static_cast<std::size_t>(Call::axis(call.whole("dim", 0), from.rank()));
  std::vector<Dim> shape = from.shape;
  shape[i] *= Dim(repeats);
  const Tensor result = call.make(shape);
  Kernel kernel(call.to, "repeat_each", "");
  const auto x = kernel.in("x", from);
  const auto y = kernel.out("y", result);
  const Indices at = kernel.each_element(result);
  Indices in = at;
  if (at[i] != "0") in[i] = fmt::format("({} / {})", at[i], repeats);
  kernel.store(y, at, kernel.load_raw(x, in));
  kernel.launch();
}

void triangle(Call& call, bool lower) {
  const Tensor from = call.tensor("self");
  if (from.rank() < 2) refuse("takes a triangle of {} dimensions", from.rank());
  const std::int64_t diagonal = call.whole("diagonal", 0);
  const Tensor result = call.make(from.shape);
  Kernel kernel(call.to, lower ? "tril" : "triu", "");
  const auto x = kernel.in("x", from);
  const auto y = kernel.out("y", result);
  const Indices at = kernel.each_element(result);
  const std::string row = at[at.size() - 2], column = at.back();
  const std::string limit = diagonal == 0  ? row
                            : diagonal > 0 ? fmt::format("{} + {}", row, diagonal)
                                           : fmt::format("{} - {}", row, -diagonal);
  const std::string zero = is_float(from.type) ? literal(0, from.type) : "0";
  kernel.store(y, at,
               stored_as(from.type, fmt::format("{} {} {} ? {} : {}", column, lower ? "<=" : ">=",
                                                limit, kernel.load(x, at), zero)));
  kernel.launch();
}

void tril(Call& call) { triangle(call, true); }
void triu(Call& call) { triangle(call, false); }

void broadcast_tensors(Call& call) {
  const std::vector<Tensor> tensors = given(call, "tensors");
  std::vector<Dim> shape;
  for (const Tensor& tensor : tensors) shape = broadcast(call.to.sizes, shape, tensor.shape);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    call.give(expanded(call.to.sizes, tensors[i], shape), i);
  }
}

/// Vectors repeated to one box, each along a dimension of its own.
void meshgrid(Call& call) {
  const std::vector<Tensor> tensors = given(call, "tensors");
  const std::string indexing = call.text("indexing", "ij");
  if (indexing != "ij" && indexing != "xy") refuse("has the indexing '{}'", indexing);
  std::vector<Dim> shape;
  for (const Tensor& tensor : tensors) {
    if (tensor.rank() > 1) refuse("has a tensor of {} dimensions", tensor.rank());
    shape.push_back(tensor.elements());
  }
  std::vector<int> order(shape.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  if (indexing == "xy" && order.size() > 1) std::swap(order[0], order[1]);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    Tensor view = tensors[i];
    view.shape = shape;
    view.strides.assign(shape.size(), 0);
    if (tensors[i].rank() == 1) view.strides[i] = tensors[i].strides[0];
    call.give(permuted(view, order), i);
  }
}

/// self's shape and type, other elements.
void copy(Call& call) {
  const Tensor self = call.tensor("self");
  broadcast(call.to.sizes, self.shape, call.tensor("src").shape);
  const Tensor from = expanded(call.to.sizes, call.tensor("src"), self.shape);
  const Tensor result = call.make(self.shape);
  Kernel kernel(call.to, "copy", "");
  const auto x = kernel.in("x", from);
  const auto y = kernel.out("y", result);
  const Indices at = kernel.each_element(result);
  kernel.store(y, at, moved(kernel, x, from.type, result.type, at));
  kernel.launch();
}

constexpr Operation kOperations[] = {
    {"aten.cat.default", cat},
    {"aten.concat.default", cat},
    {"aten.concatenate.default", cat},
    {"aten.stack.default", stack},
    {"aten.hstack.default", hstack},
    {"aten.vstack.default", vstack},
    {"aten.row_stack.default", vstack},
    {"aten.column_stack.default", column_stack},
    {"aten.dstack.default", dstack},
    {"aten.meshgrid.default", meshgrid},
    {"aten.meshgrid.indexing", meshgrid},
    {"aten.pad.default", pad},
    {"aten.reflection_pad1d.default", pad_by_reflection},
    {"aten.reflection_pad2d.default", pad_by_reflection},
    {"aten.reflection_pad3d.default", pad_by_reflection},
    {"aten.replication_pad1d.default", pad_by_replication},
    {"aten.replication_pad2d.default", pad_by_replication},
    {"aten.replication_pad3d.default", pad_by_replication},
    {"aten.constant_pad_nd.default", pad},
    {"aten.flip.default", flip},
    {"aten.fliplr.default", flip_columns},
    {"aten.flipud.default", flip_rows},
    {"aten.roll.default", roll},
    {"aten.repeat.default", repeat},
    {"aten.tile.default", repeat},
    {"aten.repeat_interleave.self_int", repeat_each},
    {"aten.tril.default", tril},
    {"aten.triu.default", triu},
    {"aten.broadcast_tensors.default", broadcast_tensors},
    {"aten.copy.default", copy},
};

}  // namespace
}  // namespace joining

std::span<const Operation> joining_operations() { return joining::kOperations; }

}  // namespace hone::pytorch
