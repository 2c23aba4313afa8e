// Operators that give another view of the same elements: no kernel, unless a reshape of what does
// not lie in one row needs a copy.
#include <algorithm>
#include <limits>
#include <optional>

#include "candidates/pytorch/operations.h"
#include "candidates/pytorch/operations/parts.h"
#include "candidates/pytorch/refusal.h"

namespace hone::pytorch {
namespace views {
namespace {

/// A place in an extent that is given as a number: the extent is frozen, but for the first place.
/// One that is outside is the nearest end, as slices have it.
std::int64_t place(Call& call, const Dim& extent, std::int64_t at) {
  if (at == 0) return 0;
  call.to.sizes.freeze(extent);
  const std::int64_t value = call.to.sizes.value(extent);
  return at < 0 ? std::max<std::int64_t>(at + value, 0) : std::min(at, value);
}

}  // namespace
}  // namespace views

Tensor selected(Call& call, const Tensor& whole) {
  Tensor view = whole;
  const int axis = Call::axis(call.whole("dim"), view.rank());
  const auto i = static_cast<std::size_t>(axis);
  const std::int64_t at = call.whole("index");
  const std::int64_t extent = call.to.sizes.value(view.shape[i]);
  if (at < -extent || at >= extent) refuse("selects element {} of {}", at, extent);
  // The last one is the last one at every size.
  const Dim index = at == -1 ? view.shape[i] - 1 : Dim(views::place(call, view.shape[i], at));
  view.offset += index * view.strides[i];
  view.shape.erase(view.shape.begin() + axis);
  view.strides.erase(view.strides.begin() + axis);
  return view;
}

Tensor slice_of(Call& call, const Tensor& whole) {
  Tensor view = whole;
  const auto i = static_cast<std::size_t>(Call::axis(call.whole("dim", 0), view.rank()));
  const std::int64_t begin = call.whole("start", 0), step = call.whole("step", 1);
  const std::int64_t end = call.whole("end", std::numeric_limits<std::int64_t>::max());
  const Dim extent = view.shape[i];
  const std::int64_t now = call.to.sizes.value(extent);
  // A number that is the whole extent is taken for a number: slices say so by a larger one.
  const Dim to = end > now ? extent
                 : end < 0 ? extent + Dim(end)
                           : Dim(views::place(call, extent, end));
  const Dim from =
      begin < 0 && -begin <= now ? extent + Dim(begin) : Dim(views::place(call, extent, begin));
  if (step < 1) refuse("has a step of {}", step);
  view.offset += from * view.strides[i];
  view.shape[i] = call.to.sizes.ceil_div(to - from, step);
  view.strides[i] *= step;
  return view;
}

namespace views {
namespace {

/// The extents that a reshape gives, found from how its dimensions group: those of the input whose
/// product is that of some of the output's.
std::vector<Dim> regroup(Call& call, const Tensor& from, const std::vector<std::int64_t>& wanted) {
  Sizes& sizes = call.to.sizes;
  std::vector<Dim> shape;
  std::size_t i = 0, o = 0;
  const std::size_t ins = from.shape.size(), outs = wanted.size();
  while (o < outs || i < ins) {
    // The shortest group of both that has equal products.
    std::int64_t left = 1, right = 1;
    Dim product = 1;
    std::vector<std::int64_t> values;
    const std::size_t first_in = i, first_out = o;
    const auto take_in = [&] {
      product *= from.shape[i];
      left *= sizes.value(from.shape[i++]);
    };
    const auto take_out = [&] {
      values.push_back(wanted[o]);
      right *= wanted[o++];
    };
    if (i < ins) take_in();
    if (o < outs) take_out();
    while (left != right) {
      if (left < right && i < ins) {
        take_in();
      } else if (o < outs) {
        take_out();
      } else if (i < ins) {
        take_in();
      } else {
        refuse("reshapes to another number of elements");
      }
    }
    // Extents of 1 that follow belong to this group, where they end a shape.
    if (o == outs)
      while (i < ins && sizes.value(from.shape[i]) == 1) take_in();
    if (i == ins)
      while (o < outs && wanted[o] == 1) take_out();
    const std::size_t n_in = i - first_in, n_out = o - first_out;
    if (n_out == 0) continue;
    if (n_out == 1) {
      shape.push_back(product);
    } else {
      static_cast<void>(n_in);
      for (const Dim& part : sizes.split(product, values, call.name())) shape.push_back(part);
    }
  }
  return shape;
}

/// The strides of a view of this shape; empty: there is none without a copy. From the last
/// dimension on, what lies in one row is a chunk, and new dimensions share it out. Source:
/// computeStride() of PyTorch's aten/src/ATen/TensorUtils.cpp, whose rule this is.
std::optional<std::vector<Dim>> view_strides(const Sizes& sizes, const Tensor& from,
                                             const std::vector<Dim>& shape) {
  std::vector<Dim> strides(shape.size(), 1);
  if (from.rank() == 0) return strides;
  std::size_t next = shape.size();
  Dim base = from.strides.back(), chunk = 1;
  std::int64_t given = 1, taken = 1;
  for (std::size_t d = from.shape.size(); d-- > 0;) {
    given *= sizes.value(from.shape[d]);
    chunk *= from.shape[d];
    const bool goes_on = d > 0 && (sizes.value(from.shape[d - 1]) == 1 ||
                                   sizes.same(from.strides[d - 1], chunk * base));
    if (goes_on) continue;
    Dim step = base;
    while (next > 0 && (taken < given || sizes.value(shape[next - 1]) == 1)) {
      --next;
      strides[next] = step;
      step *= shape[next];
      taken *= sizes.value(shape[next]);
    }
    if (taken != given) return std::nullopt;
    if (d > 0) base = from.strides[d - 1];
    chunk = 1;
    given = taken = 1;
  }
  return next == 0 ? std::optional(strides) : std::nullopt;
}

Tensor reshaped(Call& call, const Tensor& from, const std::vector<Dim>& shape) {
  if (!call.to.is_dense(from)) {
    if (auto strides = view_strides(call.to.sizes, from, shape)) {
      Tensor view = from;
      view.shape = shape;
      view.strides = *std::move(strides);
      return view;
    }
  }
  Tensor view = call.to.dense(from);
  view.shape = shape;
  view.strides = dense_strides(shape);
  return view;
}

void reshape(Call& call) {
  const Tensor from = call.tensor("self");
  call.give(reshaped(call, from, regroup(call, from, call.extents())));
}

void same(Call& call) { call.give(call.tensor(call.has("self") ? "self" : "input")); }

void flatten(Call& call) {
  const Tensor from = call.tensor("self");
  if (from.rank() == 0) return reshape(call);
  const int first = Call::axis(call.whole("start_dim", 0), from.rank());
  const int last = Call::axis(call.whole("end_dim", -1), from.rank());
  std::vector<Dim> shape;
  for (int i = 0; i < from.rank(); ++i) {
    const Dim& extent = from.shape[static_cast<std::size_t>(i)];
    if (i > first && i <= last) {
      shape.back() *= extent;
    } else {
      shape.push_back(extent);
    }
  }
  call.give(reshaped(call, from, shape));
}

void permute(Call& call) {
  const Tensor from = call.tensor("self");
  std::vector<int> order;
  for (const std::int64_t dimension : call.wholes("dims")) {
    order.push_back(Call::axis(dimension, from.rank()));
  }
  std::vector<int> each = order;
  std::ranges::sort(each);
  const bool all = std::ranges::adjacent_find(each) == each.end() &&
                   static_cast<int>(each.size()) == from.rank();
  if (!all && from.rank() > 0) refuse("names not each of {} dimensions once", from.rank());
  call.give(permuted(from, order));
}

void exchange(Call& call, std::int64_t a, std::int64_t b) {
  Tensor view = call.tensor("self");
  if (view.rank() > 0) {
    const auto i = static_cast<std::size_t>(Call::axis(a, view.rank()));
    const auto j = static_cast<std::size_t>(Call::axis(b, view.rank()));
    std::swap(view.shape[i], view.shape[j]);
    std::swap(view.strides[i], view.strides[j]);
  }
  call.give(view);
}

void transpose(Call& call) { exchange(call, call.whole("dim0"), call.whole("dim1")); }
void swap_axes(Call& call) {
  const bool axes = call.has("axis0");
  exchange(call, call.whole(axes ? "axis0" : "dim0"), call.whole(axes ? "axis1" : "dim1"));
}

/// Some dimensions to other places; the rest keep their order.
void move_dimensions(Call& call) {
  const Tensor from = call.tensor("self");
  const auto sources = call.wholes("source"), targets = call.wholes("destination");
  if (sources.size() != targets.size()) refuse("moves {} dimensions", sources.size());
  std::vector<int> order(from.shape.size(), -1), rest;
  std::vector<bool> moved(from.shape.size());
  for (std::size_t i = 0; i < sources.size() && from.rank() > 0; ++i) {
    const int source = Call::axis(sources[i], from.rank());
    int& place = order[static_cast<std::size_t>(Call::axis(targets[i], from.rank()))];
    if (place >= 0 || moved[static_cast<std::size_t>(source)]) refuse("moves a dimension twice");
    place = source;
    moved[static_cast<std::size_t>(source)] = true;
  }
  std::size_t next = 0;
  for (int& place : order) {
    if (place >= 0) continue;
    while (moved[next]) ++next;
    place = static_cast<int>(next++);
  }
  call.give(permuted(from, order));
}

/// The elements of two dimensions with equal indices, as a last dimension.
void diagonal(Call& call) {
  Sizes& sizes = call.to.sizes;
  Tensor view = call.tensor("self");
  const int first = Call::axis(call.whole("dim1", 0), view.rank());
  const int second = Call::axis(call.whole("dim2", 1), view.rank());
  if (first == second || view.rank() < 2) refuse("takes the diagonal of one dimension");
  const auto i = static_cast<std::size_t>(first), j = static_cast<std::size_t>(second);
  const std::int64_t off = call.whole("offset", 0);
  Dim length = view.shape[i];
  if (off != 0 || !sizes.same(view.shape[i], view.shape[j])) {
    sizes.freeze(view.shape[i]);
    sizes.freeze(view.shape[j]);
    const std::int64_t rows = sizes.value(view.shape[i]), columns = sizes.value(view.shape[j]);
    const std::int64_t most =
        off >= 0 ? std::min(rows, columns - off) : std::min(rows + off, columns);
    if (most < 1) refuse("has no diagonal {}", off);
    length = most;
    view.offset += off >= 0 ? Dim(off) * view.strides[j] : Dim(-off) * view.strides[i];
  }
  const Dim stride = view.strides[i] + view.strides[j];
  for (const int axis : {std::max(first, second), std::min(first, second)}) {
    view.shape.erase(view.shape.begin() + axis);
    view.strides.erase(view.strides.begin() + axis);
  }
  view.shape.push_back(length);
  view.strides.push_back(stride);
  call.give(view);
}

void transpose_last(Call& call) {
  if (call.tensor("self").rank() < 2) return same(call);
  exchange(call, -2, -1);
}

void unsqueeze(Call& call) {
  Tensor view = call.tensor("self");
  const int at = Call::axis(call.whole("dim"), view.rank() + 1);
  view.shape.insert(view.shape.begin() + at, 1);
  view.strides.insert(view.strides.begin() + at, 0);
  call.give(view);
}

void squeeze(Call& call) {
  Tensor view = call.tensor("self");
  std::vector<int> axes;
  for (const std::int64_t dimension : call.wholes("dim")) {
    axes.push_back(Call::axis(dimension, view.rank()));
  }
  for (int i = view.rank(); i-- > 0;) {
    const bool named = axes.empty() || std::ranges::find(axes, i) != axes.end();
    if (!named || call.to.sizes.value(view.shape[static_cast<std::size_t>(i)]) != 1) continue;
    call.to.sizes.freeze(view.shape[static_cast<std::size_t>(i)]);
    view.shape.erase(view.shape.begin() + i);
    view.strides.erase(view.strides.begin() + i);
  }
  call.give(view);
}

void expand(Call& call) {
  const Tensor from = call.tensor("self");
  std::vector<Dim> shape;
  const auto& wanted = call.extents();
  const std::size_t skip = wanted.size() - from.shape.size();
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const bool kept = i >= skip && call.to.sizes.value(from.shape[i - skip]) == wanted[i];
    shape.push_back(kept ? from.shape[i - skip] : call.to.sizes.fresh(call.name(), wanted[i]));
  }
  call.give(expanded(call.to.sizes, from, shape));
}

void expand_as(Call& call) {
  const Tensor from = call.tensor("self"), like = call.tensor("other");
  call.give(expanded(call.to.sizes, from, broadcast(call.to.sizes, like.shape, from.shape)));
}

void select(Call& call) { call.give(selected(call, call.tensor("self"))); }
void slice(Call& call) { call.give(slice_of(call, call.tensor("self"))); }

void narrow(Call& call) {
  Tensor view = call.tensor("self");
  const auto i = static_cast<std::size_t>(Call::axis(call.whole("dim"), view.rank()));
  const std::int64_t from = place(call, view.shape[i], call.whole("start"));
  call.to.sizes.freeze(view.shape[i]);
  const std::int64_t length = call.whole("length"), extent = call.to.sizes.value(view.shape[i]);
  if (length < 1 || from + length > extent) {
    refuse("takes {} elements from {} on, of {}", length, from, extent);
  }
  view.offset += Dim(from) * view.strides[i];
  view.shape[i] = length;
  call.give(view);
}

void give_pieces(Call& call, const std::vector<Dim>& lengths) {
  const Tensor from = call.tensor("self");
  const auto axis = static_cast<std::size_t>(Call::axis(call.whole("dim", 0), from.rank()));
  Dim at = 0;
  for (std::size_t piece = 0; piece < lengths.size(); ++piece) {
    Tensor view = from;
    view.offset += at * view.strides[axis];
    view.shape[axis] = lengths[piece];
    at += lengths[piece];
    call.give(view, piece);
  }
}

/// Pieces of one length, the last may be shorter.
void split_evenly(Call& call, std::int64_t length) {
  const Tensor from = call.tensor("self");
  const auto axis = static_cast<std::size_t>(Call::axis(call.whole("dim", 0), from.rank()));
  const Dim extent = from.shape[axis];
  const std::int64_t all = call.to.sizes.value(extent);
  const auto pieces = static_cast<std::int64_t>(call.results());
  if (length < 1) refuse("splits into pieces of {} elements", length);
  std::vector<Dim> lengths;
  if (length * pieces == all) {
    // As many pieces at every size, each a part of the whole.
    const Dim each = call.to.sizes.fresh(call.name() + "_piece", length);
    call.to.sizes.unify(extent, each * Dim(pieces));
    lengths.assign(static_cast<std::size_t>(pieces), each);
  } else {
    call.to.sizes.freeze(extent);
    for (std::int64_t at = 0; at < all; at += length)
      lengths.emplace_back(std::min(length, all - at));
  }
  give_pieces(call, lengths);
}

void split(Call& call) { split_evenly(call, call.whole("split_size")); }
void chunk(Call& call) {
  const Tensor from = call.tensor("self");
  const auto axis = static_cast<std::size_t>(Call::axis(call.whole("dim", 0), from.rank()));
  const std::int64_t all = call.to.sizes.value(from.shape[axis]), chunks = call.whole("chunks");
  if (chunks < 1) refuse("splits into {} pieces", chunks);
  split_evenly(call, (all + chunks - 1) / chunks);
}

void split_with_sizes(Call& call) {
  const Tensor from = call.tensor("self");
  const auto axis = static_cast<std::size_t>(Call::axis(call.whole("dim", 0), from.rank()));
  std::vector<Dim> lengths;
  Dim all = 0;
  for (const std::int64_t length :
       call.wholes(call.has("split_sizes") ? "split_sizes" : "split_size")) {
    if (length < 1) refuse("splits into pieces of {} elements", length);
    lengths.push_back(call.to.sizes.fresh(call.name() + "_piece", length));
    all += lengths.back();
  }
  call.to.sizes.unify(from.shape[axis], all);
  give_pieces(call, lengths);
}

void unbind(Call& call) {
  const Tensor from = call.tensor("self");
  const int axis = Call::axis(call.whole("dim", 0), from.rank());
  const auto i = static_cast<std::size_t>(axis);
  call.to.sizes.freeze(from.shape[i]);
  for (std::size_t piece = 0; piece < call.results(); ++piece) {
    Tensor view = from;
    view.offset += Dim(static_cast<std::int64_t>(piece)) * from.strides[i];
    view.shape.erase(view.shape.begin() + axis);
    view.strides.erase(view.strides.begin() + axis);
    call.give(view, piece);
  }
}

/// Pieces that end at these places, the last at the end.
void split_at(Call& call, std::vector<std::int64_t> ends, std::int64_t dimension) {
  const Tensor from = call.tensor("self");
  const auto axis = static_cast<std::size_t>(Call::axis(dimension, from.rank()));
  call.to.sizes.freeze(from.shape[axis]);
  ends.push_back(call.to.sizes.value(from.shape[axis]));
  if (ends.size() != call.results())
    refuse("has {} pieces for {} results", ends.size(), call.results());
  for (std::size_t piece = 0; piece < ends.size(); ++piece) {
    const std::int64_t begin = piece == 0 ? 0 : ends[piece - 1];
    if (begin < 0 || ends[piece] <= begin || ends[piece] > ends.back()) {
      refuse("splits from {} to {} of {}", begin, ends[piece], ends.back());
    }
    Tensor view = from;
    view.offset += Dim(begin) * view.strides[axis];
    view.shape[axis] = ends[piece] - begin;
    call.give(view, piece);
  }
}

/// So many pieces; where they are not of one length, the first ones are longer by one.
void split_into(Call& call, std::int64_t sections, std::int64_t dimension) {
  const Tensor from = call.tensor("self");
  const auto axis = static_cast<std::size_t>(Call::axis(dimension, from.rank()));
  const std::int64_t all = call.to.sizes.value(from.shape[axis]);
  if (sections < 1 || sections > all) refuse("splits {} elements into {} pieces", all, sections);
  std::vector<std::int64_t> ends;
  for (std::int64_t i = 1, at = 0; i < sections; ++i) {
    at += all / sections + (i <= all % sections ? 1 : 0);
    ends.push_back(at);
  }
  split_at(call, std::move(ends), dimension);
}

void tensor_split(Call& call) { split_into(call, call.whole("sections"), call.whole("dim", 0)); }
void split_at_places(Call& call) {
  const Tensor from = call.tensor("self");
  const auto axis = static_cast<std::size_t>(Call::axis(call.whole("dim", 0), from.rank()));
  std::vector<std::int64_t> ends = call.wholes("indices");
  for (std::int64_t& end : ends) end = place(call, from.shape[axis], end);
  split_at(call, std::move(ends), call.whole("dim", 0));
}
void split_rows(Call& call) { split_into(call, call.whole("sections"), 0); }
void split_columns(Call& call) {
  split_into(call, call.whole("sections"), call.tensor("self").rank() > 1 ? 1 : 0);
}
void split_depth(Call& call) { split_into(call, call.whole("sections"), 2); }

/// Windows along one dimension, as a view: the new last dimension is within the window.
void unfold(Call& call) {
  Tensor view = call.tensor("self");
  const auto i = static_cast<std::size_t>(Call::axis(call.whole("dimension"), view.rank()));
  const std::int64_t size = call.whole("size"), step = call.whole("step");
  view.shape.emplace_back(size);
  view.strides.push_back(view.strides[i]);
  view.shape[i] = call.to.sizes.floor_div(view.shape[i] + Dim(step - size), step);
  view.strides[i] *= step;
  call.give(view);
}

void contiguous(Call& call) { call.give(call.to.dense(call.tensor("self"))); }

/// Of another type a copy, else the tensor itself.
void convert(Call& call) {
  const bool copies = call.flag("copy", false);
  if (!copies && call.tensor("self").type == call.type()) return same(call);
  write_pointwise(call, "convert", "$self");
}

/// Says something of a tensor to PyTorch alone.
void nothing(Call& call) { static_cast<void>(call); }

constexpr Operation kOperations[] = {
    {"aten.view.default", reshape},
    {"aten.reshape.default", reshape},
    {"aten._unsafe_view.default", reshape},
    {"aten.view_as.default", reshape},
    {"aten.flatten.using_ints", flatten},
    {"aten.unflatten.int", reshape},
    {"aten.reshape_as.default", reshape},
    {"aten.ravel.default", reshape},
    {"aten.atleast_1d.default", reshape},
    {"aten.atleast_2d.default", reshape},
    {"aten.atleast_3d.default", reshape},
    {"aten.permute.default", permute},
    {"aten.transpose.int", transpose},
    {"aten.swapaxes.default", swap_axes},
    {"aten.swapdims.default", swap_axes},
    {"aten.movedim.int", move_dimensions},
    {"aten.movedim.intlist", move_dimensions},
    {"aten.moveaxis.int", move_dimensions},
    {"aten.moveaxis.intlist", move_dimensions},
    {"aten.diagonal.default", diagonal},
    {"aten.t.default", transpose_last},
    {"aten.mT.default", transpose_last},
    {"aten.numpy_T.default", transpose_last},
    {"aten.adjoint.default", transpose_last},
    {"aten.mH.default", transpose_last},
    {"aten.matrix_H.default", transpose_last},
    {"aten.unsqueeze.default", unsqueeze},
    {"aten.squeeze.default", squeeze},
    {"aten.squeeze.dim", squeeze},
    {"aten.squeeze.dims", squeeze},
    {"aten.expand.default", expand},
    {"aten.expand_as.default", expand_as},
    {"aten.select.int", select},
    {"aten.slice.Tensor", slice},
    {"aten.narrow.default", narrow},
    {"aten.split.Tensor", split},
    {"aten.split_with_sizes.default", split_with_sizes},
    {"aten.split.sizes", split_with_sizes},
    {"aten.chunk.default", chunk},
    {"aten.tensor_split.sections", tensor_split},
    {"aten.tensor_split.indices", split_at_places},
    {"aten.vsplit.int", split_rows},
    {"aten.hsplit.int", split_columns},
    {"aten.dsplit.int", split_depth},
    {"aten.unbind.int", unbind},
    {"aten.unfold.default", unfold},
    {"aten.contiguous.default", contiguous},
    {"aten.alias.default", same},
    {"aten.detach.default", same},
    {"aten.positive.default", same},
    {"aten.real.default", same},
    {"aten.conj.default", same},
    {"aten.conj_physical.default", same},
    {"aten.resolve_conj.default", same},
    {"aten.resolve_neg.default", same},
    {"aten.lift_fresh_copy.default", same},
    {"aten.to.dtype", convert},
    {"aten.to.dtype_layout", convert},
    {"aten.to.device", convert},
    {"aten.type_as.default", convert},
    {"aten._assert_tensor_metadata.default", nothing},
    {"aten._assert_async.msg", nothing},
};

}  // namespace
}  // namespace views

std::span<const Operation> view_operations() { return views::kOperations; }

}  // namespace hone::pytorch
