// Pooling over windows of one to three dimensions.
#include <fmt/format.h>

#include "candidates/pytorch/operations.h"
#include "candidates/pytorch/operations/windows.h"
#include "candidates/pytorch/refusal.h"
#include "candidates/pytorch/sums.h"

namespace hone::pytorch {
namespace pooling {
namespace {

int dimensions_of(const Call& call) {
  const std::string& target = call.target();
  const std::size_t at = target.find("pool");
  if (at == std::string::npos || at + 4 >= target.size()) refuse("says no number of dimensions");
  return target[at + 4] - '0';
}

/// The batch and the channels as one dimension where both tensors let them be, then the image.
struct Planes {
  Tensor in, out;
};
Planes as_planes(const Sizes& sizes, const Tensor& in, const Tensor& out, int dimensions) {
  if (in.rank() < dimensions) refuse("pools a tensor of {} dimensions", in.rank());
  const auto first = static_cast<std::ptrdiff_t>(in.rank() - dimensions);
  Planes planes{in, out};
  for (Tensor* tensor : {&planes.in, &planes.out}) {
    tensor->shape.resize(static_cast<std::size_t>(first));
    tensor->strides.resize(static_cast<std::size_t>(first));
  }
  if (first > 1) merge_dimensions(sizes, {&planes.in, &planes.out});
  const auto add_image = [&](Tensor& outer, const Tensor& whole) {
    outer.shape.insert(outer.shape.end(), whole.shape.begin() + first, whole.shape.end());
    outer.strides.insert(outer.strides.end(), whole.strides.begin() + first, whole.strides.end());
  };
  add_image(planes.in, in);
  add_image(planes.out, out);
  return planes;
}

struct Pool {
  std::vector<Window> windows;
  bool up = false;  ///< ceil_mode: a last window may hang over
};

Pool pool_of(Call& call, int dimensions) {
  Pool pool;
  const auto taps = call.for_each_dimension("kernel_size", dimensions, 1);
  const auto stride =
      call.wholes("stride").empty() ? taps : call.for_each_dimension("stride", dimensions, 1);
  const auto padding = call.for_each_dimension("padding", dimensions, 0);
  const auto dilation = call.for_each_dimension("dilation", dimensions, 1);
  for (std::size_t i = 0; i < taps.size(); ++i) {
    if (taps[i] < 1 || stride[i] < 1 || dilation[i] < 1 || padding[i] < 0) {
      refuse("has a window of {} elements, stride {}, padding {}, dilation {}", taps[i], stride[i],
             padding[i], dilation[i]);
    }
    pool.windows.push_back({taps[i], stride[i], padding[i], dilation[i], padding[i]});
  }
  pool.up = call.flag("ceil_mode", false);
  return pool;
}

/// With ceil_mode one more window where it begins within the image or the padding before it.
std::vector<Dim> pooled_shape(Call& call, const Tensor& from, Pool& pool) {
  Sizes& sizes = call.to.sizes;
  if (from.shape.size() < pool.windows.size()) {
    refuse("pools a tensor of {} dimensions", from.rank());
  }
  const std::size_t first = from.shape.size() - pool.windows.size();
  std::vector<Dim> shape(from.shape.begin(),
                         from.shape.begin() + static_cast<std::ptrdiff_t>(first));
  for (std::size_t i = 0; i < pool.windows.size(); ++i) {
    Window& window = pool.windows[i];
    const Dim& extent = from.shape[first + i];
    if (pool.up) {
      sizes.freeze(extent);
      const std::int64_t in = sizes.value(extent);
      const std::int64_t reach = window.dilation * (window.taps - 1) + 1;
      std::int64_t out = (in + 2 * window.padding - reach + window.stride - 1) / window.stride + 1;
      if ((out - 1) * window.stride >= in + window.padding) --out;
      shape.emplace_back(out);
      // What hangs over is skipped like padding.
      window.padding_after = std::max<std::int64_t>(
          window.padding, (out - 1) * window.stride + reach - in - window.padding);
    } else {
      shape.push_back(window_extent(sizes, extent, window));
    }
  }
  return shape;
}

/// What one pooling kernel has: its operands, the index of its result and of the window's element.
struct Frame {
  Kernel kernel;
  Kernel::Operand x, y;
  Indices at, in;
  int open = 0;
};

void open_window(Frame& frame, const Tensor& planes, const Pool& pool) {
  const auto names = spatial_names(static_cast<int>(pool.windows.size()));
  static const char* const kTaps[] = {"q", "r", "s"};
  const std::size_t first = frame.at.size() - names.size();
  frame.in.assign(frame.at.begin(), frame.at.begin() + static_cast<std::ptrdiff_t>(first));
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Window& window = pool.windows[i];
    const std::string place = "i" + names[i];
    const std::string extent = frame.kernel.size("I" + names[i], planes.shape[first + i]);
    frame.open += loop_over_taps(frame.kernel, frame.at[first + i], kTaps[3 - names.size() + i],
                                 place, extent, window);
    frame.in.push_back(place);
  }
}

Frame begin_pool(Call& call, std::string_view name, const Tensor& planes, const Tensor& result) {
  Frame frame{Kernel(call.to, std::string(name), "One thread for each window."), {}, {}, {}, {}};
  frame.x = frame.kernel.in("x", planes);
  frame.y = frame.kernel.out("y", result);
  std::vector<std::pair<std::string, Dim>> extents;
  for (const Dim& extent : result.shape) {
    extents.emplace_back(fmt::format("o{}", extents.size()), extent);
  }
  frame.at = frame.kernel.each(extents);
  return frame;
}

/// "(id * Ih + ih) * Iw + iw": the place in the image of an element that `at` names.
std::string place_in_image(Kernel& kernel, const Tensor& planes, const Indices& at,
                           const std::vector<std::string>& names) {
  const std::size_t first = at.size() - names.size();
  std::string place = at[first];
  for (std::size_t i = 1; i < names.size(); ++i) {
    place = fmt::format("{} * {} + {}", i > 1 ? "(" + place + ")" : place,
                        kernel.size("I" + names[i], planes.shape[first + i]), at[first + i]);
  }
  return place;
}

/// The first of equal ones, but the last NaN, as PyTorch's kernels have it.
void take_largest(Frame& frame, const Tensor& planes, int dimensions) {
  frame.kernel.line(
      fmt::format("{} v = {};", computed_in(planes.type), frame.kernel.load(frame.x, frame.in)));
  frame.kernel.begin("if (where < 0 || v > best || v != v)");
  frame.kernel.line("best = v;");
  frame.kernel.line(fmt::format(
      "where = {};", place_in_image(frame.kernel, planes, frame.in, spatial_names(dimensions))));
  frame.kernel.end();
}

void max_pool_with_places(Call& call, const Tensor& from, const Pool& pool,
                          const std::vector<Dim>& shape) {
  const int dimensions = static_cast<int>(pool.windows.size());
  const auto [planes, result] = as_planes(call.to.sizes, from, call.make(shape), dimensions);
  const auto [same, to_places] = as_planes(call.to.sizes, from, call.make(shape, 1), dimensions);
  static_cast<void>(same);
  Frame frame = begin_pool(call, fmt::format("max_pool{}d_places", dimensions), planes, result);
  const auto places = frame.kernel.out("places", to_places);
  frame.kernel.line(fmt::format("{} best = -INFINITY;", computed_in(from.type)));
  frame.kernel.line("long long where = -1;");
  open_window(frame, planes, pool);
  take_largest(frame, planes, dimensions);
  while (frame.open-- > 0) frame.kernel.end();
  frame.kernel.store(frame.y, frame.at, stored_as(from.type, "best"));
  frame.kernel.store(places, frame.at, "where");
  frame.kernel.launch();
}

void max_pool(Call& call) {
  const int dimensions = dimensions_of(call);
  const Tensor from = call.tensor("self");
  Pool pool = pool_of(call, dimensions);
  const auto shape = pooled_shape(call, from, pool);
  if (!is_float(from.type)) refuse("pools whole numbers");
  if (call.results() > 1 && call.is_used(1)) return max_pool_with_places(call, from, pool, shape);
  const auto [planes, result] = as_planes(call.to.sizes, from, call.make(shape), dimensions);
  Frame frame = begin_pool(call, fmt::format("max_pool{}d", dimensions), planes, result);
  frame.kernel.line(fmt::format("{} best = -INFINITY;", computed_in(from.type)));
  open_window(frame, planes, pool);
  frame.kernel.line(
      fmt::format("{} v = {};", computed_in(from.type), frame.kernel.load(frame.x, frame.in)));
  frame.kernel.line("best = v > best || v != v ? v : best;");
  while (frame.open-- > 0) frame.kernel.end();
  frame.kernel.store(frame.y, frame.at, stored_as(from.type, "best"));
  frame.kernel.launch();
}

/// How many elements a window's sum is divided by, as text.
std::string divisor(Frame& frame, const Call& call, const Tensor& planes, const Pool& pool) {
  if (call.has("divisor_override")) {
    const std::int64_t by = call.whole("divisor_override");
    if (by == 0) refuse("divides by 0");
    return by < 0 ? fmt::format("({})", by) : fmt::format("{}", by);
  }
  const auto names = spatial_names(static_cast<int>(pool.windows.size()));
  const std::size_t first = frame.at.size() - names.size();
  const bool counts_padding = call.flag("count_include_pad", true);
  std::string product;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Window& window = pool.windows[i];
    const bool cut =
        window.padding_after > window.padding || (!counts_padding && window.padding > 0);
    std::string count = fmt::format("{}", window.taps);
    if (cut) {
      const std::string extent = frame.kernel.size("I" + names[i], planes.shape[first + i]);
      const std::string begin = fmt::format("b{}", names[i]), end = fmt::format("e{}", names[i]);
      frame.kernel.line(fmt::format("int {} = {} * {} - {};", begin, frame.at[first + i],
                                    window.stride, window.padding));
      frame.kernel.line(fmt::format("int {} = min({} + {}, {} + {});", end, begin, window.taps,
                                    extent, counts_padding ? window.padding : 0));
      count = counts_padding ? fmt::format("({} - {})", end, begin)
                             : fmt::format("({} - max({}, 0))", end, begin);
    }
    product += (product.empty() ? "" : " * ") + count;
  }
  return pool.windows.size() > 1 ? "(" + product + ")" : product;
}

void avg_pool(Call& call) {
  const int dimensions = dimensions_of(call);
  const Tensor from = call.tensor("self");
  Pool pool = pool_of(call, dimensions);
  const auto shape = pooled_shape(call, from, pool);
  const auto [planes, result] = as_planes(call.to.sizes, from, call.make(shape), dimensions);
  Frame frame = begin_pool(call, fmt::format("avg_pool{}d", dimensions), planes, result);
  std::int64_t terms = 1;
  for (const Window& window : pool.windows) terms *= window.taps;
  const Sum sum(frame.kernel, from.type, terms);
  sum.begin("sum");
  open_window(frame, planes, pool);
  frame.kernel.line(sum.add("sum", frame.kernel.load(frame.x, frame.in)));
  while (frame.open-- > 0) frame.kernel.end();
  const std::string by = divisor(frame, call, planes, pool);
  frame.kernel.store(frame.y, frame.at,
                     stored_as(from.type, fmt::format("{} / {}", sum.value("sum"), by)));
  frame.kernel.launch();
}

/// Windows that divide the image as evenly as can be: where one begins and ends. Gives how many
/// elements it has, as text.
std::string open_adaptive_window(Frame& frame, const Tensor& planes, const Tensor& result,
                                 int dimensions) {
  Kernel& kernel = frame.kernel;
  const auto names = spatial_names(dimensions);
  const std::size_t skip = frame.at.size() - names.size();
  frame.in.assign(frame.at.begin(), frame.at.begin() + static_cast<std::ptrdiff_t>(skip));
  std::string count;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string in = kernel.size("I" + names[i], planes.shape[skip + i]);
    const std::string out = kernel.size("O" + names[i], result.shape[skip + i]);
    const std::string begin = "b" + names[i], end = "e" + names[i];
    if (out == "1") {
      count += (count.empty() ? "" : " * ") + in;
      continue;
    }
    kernel.line(fmt::format("int {} = {} * {} / {};", begin, frame.at[skip + i], in, out));
    kernel.line(fmt::format("int {} = (({} + 1) * {} + {} - 1) / {};", end, frame.at[skip + i], in,
                            out, out));
    count += fmt::format("{}({} - {})", count.empty() ? "" : " * ", end, begin);
  }
  for (std::size_t i = 0; i < names.size(); ++i) frame.in.push_back("i" + names[i]);
  frame.open = static_cast<int>(names.size());
  return count;
}

/// The loops over such a window.
void loop_over_adaptive_window(Frame& frame, const Tensor& planes, const Tensor& result,
                               int dimensions, const Sizes& sizes) {
  const auto names = spatial_names(dimensions);
  const std::size_t skip = frame.at.size() - names.size();
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool one = sizes.value(result.shape[skip + i]) == 1;
    const std::string in = frame.kernel.size("I" + names[i], planes.shape[skip + i]);
    frame.kernel.loop("i" + names[i], one ? in : "e" + names[i], one ? "0" : "b" + names[i]);
  }
}

std::vector<Dim> adaptive_shape(Call& call, const Tensor& from, int dimensions) {
  if (from.rank() < dimensions) refuse("pools a tensor of {} dimensions", from.rank());
  const std::size_t first = from.shape.size() - static_cast<std::size_t>(dimensions);
  std::vector<Dim> shape(from.shape.begin(),
                         from.shape.begin() + static_cast<std::ptrdiff_t>(first));
  for (std::size_t i = first; i < from.shape.size(); ++i) {
    // An output of the image's own size stays one at every size.
    const std::int64_t out = call.extent(i);
    shape.push_back(call.to.sizes.value(from.shape[i]) == out ? from.shape[i] : Dim(out));
  }
  return shape;
}

void adaptive_avg_pool(Call& call) {
  const int dimensions = dimensions_of(call);
  const Tensor from = call.tensor("self");
  Sizes& sizes = call.to.sizes;
  const auto shape = adaptive_shape(call, from, dimensions);
  const auto [planes, result] = as_planes(sizes, from, call.make(shape), dimensions);
  Frame frame = begin_pool(call, fmt::format("adaptive_avg_pool{}d", dimensions), planes, result);
  Kernel& kernel = frame.kernel;
  const std::string count = open_adaptive_window(frame, planes, result, dimensions);
  std::int64_t terms = 1;
  for (std::size_t i = shape.size() - static_cast<std::size_t>(dimensions); i < shape.size(); ++i) {
    terms *= sizes.value(from.shape[i]) / sizes.value(shape[i]) + 1;
  }
  const Sum sum(kernel, from.type, terms, kLongReduction);
  sum.begin("sum");
  loop_over_adaptive_window(frame, planes, result, dimensions, sizes);
  kernel.line(sum.add("sum", kernel.load(frame.x, frame.in)));
  while (frame.open-- > 0) kernel.end();
  kernel.store(frame.y, frame.at,
               stored_as(from.type, fmt::format("{} / ({})", sum.value("sum"), count)));
  kernel.launch();
}

/// Values, and their places in the image.
void adaptive_max_pool(Call& call) {
  const int dimensions = dimensions_of(call);
  const Tensor from = call.tensor("self");
  if (!is_float(from.type)) refuse("pools whole numbers");
  Sizes& sizes = call.to.sizes;
  const auto shape = adaptive_shape(call, from, dimensions);
  const auto [planes, result] = as_planes(sizes, from, call.make(shape), dimensions);
  Frame frame = begin_pool(call, fmt::format("adaptive_max_pool{}d", dimensions), planes, result);
  Kernel& kernel = frame.kernel;
  const bool with_places = call.is_used(1);
  std::optional<Kernel::Operand> places;
  if (with_places) {
    places = kernel.out("places", as_planes(sizes, from, call.make(shape, 1), dimensions).out);
  }
  static_cast<void>(open_adaptive_window(frame, planes, result, dimensions));
  kernel.line(fmt::format("{} best = -INFINITY;", computed_in(from.type)));
  if (with_places) kernel.line("long long where = -1;");
  loop_over_adaptive_window(frame, planes, result, dimensions, sizes);
  if (with_places) {
    take_largest(frame, planes, dimensions);
  } else {
    kernel.line(fmt::format("{} v = {};", computed_in(from.type), kernel.load(frame.x, frame.in)));
    kernel.line("best = v > best || v != v ? v : best;");
  }
  while (frame.open-- > 0) kernel.end();
  kernel.store(frame.y, frame.at, stored_as(from.type, "best"));
  if (places) kernel.store(*places, frame.at, "where");
  kernel.launch();
}

constexpr Operation kOperations[] = {
    {"aten.max_pool1d.default", max_pool},
    {"aten.max_pool2d.default", max_pool},
    {"aten.max_pool3d.default", max_pool},
    {"aten.max_pool2d_with_indices.default", max_pool},
    {"aten.max_pool3d_with_indices.default", max_pool},
    {"aten.avg_pool1d.default", avg_pool},
    {"aten.avg_pool2d.default", avg_pool},
    {"aten.avg_pool3d.default", avg_pool},
    {"aten.adaptive_avg_pool1d.default", adaptive_avg_pool},
    {"aten.adaptive_avg_pool2d.default", adaptive_avg_pool},
    {"aten.adaptive_avg_pool3d.default", adaptive_avg_pool},
    {"aten._adaptive_avg_pool2d.default", adaptive_avg_pool},
    {"aten._adaptive_avg_pool3d.default", adaptive_avg_pool},
    {"aten.adaptive_max_pool1d.default", adaptive_max_pool},
    {"aten.adaptive_max_pool2d.default", adaptive_max_pool},
    {"aten.adaptive_max_pool3d.default", adaptive_max_pool},
    {"aten.max_pool1d_with_indices.default", max_pool},
};

}  // namespace
}  // namespace pooling

std::span<const Operation> pooling_operations() { return pooling::kOperations; }

}  // namespace hone::pytorch
