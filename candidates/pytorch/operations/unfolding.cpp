// The windows over an image as the columns of a matrix, and such columns added up to an image.
#include <fmt/format.h>

#include "candidates/pytorch/operations.h"
#include "candidates/pytorch/operations/windows.h"
#include "candidates/pytorch/refusal.h"
#include "candidates/pytorch/sums.h"

namespace hone::pytorch {
namespace unfolding {
namespace {

std::vector<Window> windows_of(const Call& call) {
  const auto taps = call.for_each_dimension("kernel_size", 2, 1);
  const auto stride = call.for_each_dimension("stride", 2, 1);
  const auto padding = call.for_each_dimension("padding", 2, 0);
  const auto dilation = call.for_each_dimension("dilation", 2, 1);
  std::vector<Window> windows;
  for (std::size_t i = 0; i < 2; ++i) {
    if (taps[i] < 1 || stride[i] < 1 || dilation[i] < 1 || padding[i] < 0) {
      refuse("has a window of {} elements, stride {}, padding {}, dilation {}", taps[i], stride[i],
             padding[i], dilation[i]);
    }
    windows.push_back({taps[i], stride[i], padding[i], dilation[i], padding[i]});
  }
  return windows;
}

/// With a batch of one where it has none.
Tensor with_batch(Tensor tensor, int rank) {
  if (tensor.rank() == rank - 1) {
    tensor.shape.insert(tensor.shape.begin(), 1);
    tensor.strides.insert(tensor.strides.begin(), 0);
  }
  if (tensor.rank() != rank) refuse("has a tensor of {} dimensions", tensor.rank());
  return tensor;
}

/// [N, C kh kw, L] as [N, C, kh, kw, OH, OW].
Tensor columns_apart(const Tensor& columns, const Dim& channels, const std::vector<Window>& windows,
                     const std::vector<Dim>& places) {
  Tensor apart = columns;
  apart.shape = {columns.shape[0], channels,  windows[0].taps,
                 windows[1].taps,  places[0], places[1]};
  const Dim row = columns.strides[1], column = columns.strides[2];
  apart.strides = {columns.strides[0],         row * Dim(windows[0].taps * windows[1].taps),
                   row * Dim(windows[1].taps), row,
                   column * places[1],         column};
  return apart;
}

/// [N, C, H, W] -> [N, C kh kw, OH OW]: 0 where a window reaches out of the image.
void im2col(Call& call) {
  const Tensor self = call.tensor("self");
  const Tensor from = with_batch(self, 4);
  const auto windows = windows_of(call);
  const std::vector<Dim> places = {window_extent(call.to.sizes, from.shape[2], windows[0]),
                                   window_extent(call.to.sizes, from.shape[3], windows[1])};
  const Dim rows = from.shape[1] * Dim(windows[0].taps * windows[1].taps);
  std::vector<Dim> shape = {from.shape[0], rows, places[0] * places[1]};
  if (self.rank() == 3) shape.erase(shape.begin());
  const Tensor result = with_batch(call.make(shape), 3);
  Kernel kernel(call.to, "im2col", "Each window over the image is a column.");
  const auto x = kernel.in("x", from);
  const auto y = kernel.out("y", columns_apart(result, from.shape[1], windows, places));
  const Indices at = kernel.each({{"n", from.shape[0]},
                                  {"c", from.shape[1]},
                                  {"kh", windows[0].taps},
                                  {"kw", windows[1].taps},
                                  {"oh", places[0]},
                                  {"ow", places[1]}});
  Indices in = {at[0], at[1]};
  std::string inside;
  for (std::size_t i = 0; i < 2; ++i) {
    const Window& window = windows[i];
    const std::string place = i == 0 ? "h" : "w";
    kernel.line(fmt::format("{} {} = {} * {} + {} * {} - {};", kernel.index_type(), place,
                            at[4 + i], window.stride, at[2 + i], window.dilation, window.padding));
    in.push_back(place);
    if (window.padding == 0) continue;
    const std::string extent = kernel.size(i == 0 ? "H" : "W", from.shape[2 + i]);
    inside += fmt::format("{0}{1} >= 0 && {1} < {2}", inside.empty() ? "" : " && ", place, extent);
  }
  kernel.store(y, at,
               inside.empty()
                   ? kernel.load_raw(x, in)
                   : stored_as(result.type, fmt::format("{} ? {} : {}", inside, kernel.load(x, in),
                                                        literal(0, result.type))));
  kernel.launch();
}

/// [N, C kh kw, OH OW] -> [N, C, H, W]: each element is the sum of those that im2col makes of it.
void col2im(Call& call) {
  Sizes& sizes = call.to.sizes;
  const Tensor self = call.tensor("self");
  const Tensor from = with_batch(self, 3);
  const auto windows = windows_of(call);
  const auto extents = call.for_each_dimension("output_size", 2, 1);
  const std::int64_t taps = windows[0].taps * windows[1].taps;
  const std::int64_t rows = sizes.value(from.shape[1]);
  if (rows % taps != 0) refuse("has {} rows for windows of {} elements", rows, taps);
  const Dim channels = sizes.fresh(call.name() + "_channels", rows / taps);
  sizes.unify(from.shape[1], channels * Dim(taps));
  std::vector<Dim> places;
  for (std::size_t i = 0; i < 2; ++i) {
    places.push_back(window_extent(sizes, extents[i], windows[i]));
    if (sizes.value(places[i]) < 1) refuse("has windows larger than the image");
  }
  sizes.unify(from.shape[2], places[0] * places[1]);
  std::vector<Dim> shape = {from.shape[0], channels, extents[0], extents[1]};
  if (self.rank() == 2) shape.erase(shape.begin());
  const Tensor result = with_batch(call.make(shape), 4);
  Kernel kernel(call.to, "col2im", "Adds what the windows have of each element.");
  const auto x = kernel.in("x", columns_apart(from, channels, windows, places));
  const auto y = kernel.out("y", result);
  const Indices at = kernel.each(
      {{"n", from.shape[0]}, {"c", channels}, {"h", result.shape[2]}, {"w", result.shape[3]}});
  const Sum sum(kernel, result.type, taps);
  sum.begin("sum");
  Indices tap, place;
  for (std::size_t i = 0; i < 2; ++i) {
    const Window& window = windows[i];
    const std::string n = i == 0 ? "h" : "w", from_edge = "from_" + n;
    tap.push_back("k" + n);
    place.push_back("o" + n);
    kernel.loop(tap[i], fmt::format("{}", window.taps));
    kernel.line(fmt::format("{} {} = {} + {} - {} * {};", kernel.index_type(), from_edge, at[2 + i],
                            window.padding, tap[i], window.dilation));
    kernel.line(fmt::format("if ({0} < 0 || {0} % {1} != 0) continue;", from_edge, window.stride));
    kernel.line(
        fmt::format("{} {} = {} / {};", kernel.index_type(), place[i], from_edge, window.stride));
    kernel.line(fmt::format("if ({} >= {}) continue;", place[i],
                            kernel.size(i == 0 ? "OH" : "OW", places[i])));
  }
  kernel.line(sum.add("sum", kernel.load(x, {at[0], at[1], tap[0], tap[1], place[0], place[1]})));
  kernel.end();
  kernel.end();
  kernel.store(y, at, stored_as(result.type, sum.value("sum")));
  kernel.launch();
}

constexpr Operation kOperations[] = {
    {"aten.im2col.default", im2col},
    {"aten.col2im.default", col2im},
};

}  // namespace
}  // namespace unfolding

std::span<const Operation> unfolding_operations() { return unfolding::kOperations; }

}  // namespace hone::pytorch
