// Convolutions of one to three dimensions, with groups, strides, padding and dilation, and the
// transposed ones: a thread for each element of the result, which gathers its window.
#include <fmt/format.h>

#include <numeric>

#include "candidates/pytorch/operations.h"
#include "candidates/pytorch/operations/windows.h"
#include "candidates/pytorch/refusal.h"
#include "candidates/pytorch/sums.h"

namespace hone::pytorch {
namespace convolutions {
namespace {

struct Convolution {
  Tensor x, weight;
  std::optional<Tensor> bias;
  std::vector<Window> windows;
  std::vector<std::int64_t> output_padding;
  std::int64_t groups = 1;
  bool transposed = false;

  [[nodiscard]] int dimensions() const { return static_cast<int>(windows.size()); }
  [[nodiscard]] std::int64_t taps() const {
    std::int64_t product = 1;
    for (const Window& window : windows) product *= window.taps;
    return product;
  }
};

/// Channels of the result; what the operator says of the weight's extents.
Dim channels_out(Sizes& sizes, const Convolution& conv) {
  const Dim in = conv.x.shape[1], first = conv.weight.shape[0], second = conv.weight.shape[1];
  if (conv.transposed) {
    sizes.unify(in, first);
    if (conv.groups == 1) return second;
    sizes.unify(first,
                sizes.fresh("group_in", sizes.value(first) / conv.groups) * Dim(conv.groups));
    return second * Dim(conv.groups);
  }
  if (conv.groups == 1) {
    sizes.unify(in, second);
    return first;
  }
  sizes.unify(in, second * Dim(conv.groups));
  sizes.unify(first, sizes.fresh("group_out", sizes.value(first) / conv.groups) * Dim(conv.groups));
  return first;
}

/// For each dimension the place of a tap in the input, of a transposed convolution.
int loop_over_sources(Kernel& kernel, const std::string& out, const std::string& tap,
                      const std::string& place, const std::string& extent, const Window& window) {
  std::string at = window.padding == 0 ? out : fmt::format("{} + {}", out, window.padding);
  // Also over one tap: what lies outside is left by `continue`, which wants a loop.
  kernel.loop(tap, fmt::format("{}", window.taps));
  at += window.dilation == 1 ? " - " + tap : fmt::format(" - {} * {}", tap, window.dilation);
  if (window.stride == 1) {
    kernel.line(fmt::format("{} {} = {};", kernel.index_type(), place, at));
    kernel.line(fmt::format("if ({} < 0 || {} >= {}) continue;", place, place, extent));
  } else {
    kernel.line(fmt::format("{} from_{} = {};", kernel.index_type(), place, at));
    kernel.line(fmt::format("if (from_{} < 0 || from_{} % {} != 0) continue;", place, place,
                            window.stride));
    kernel.line(
        fmt::format("{} {} = from_{} / {};", kernel.index_type(), place, place, window.stride));
    kernel.line(fmt::format("if ({} >= {}) continue;", place, extent));
  }
  return 1;
}

std::vector<Dim> result_shape(Sizes& sizes, const Convolution& conv, const Dim& channels) {
  std::vector<Dim> shape = {conv.x.shape[0], channels};
  for (std::size_t i = 0; i < conv.windows.size(); ++i) {
    const Window& window = conv.windows[i];
    const Dim& extent = conv.x.shape[i + 2];
    if (conv.transposed) {
      shape.push_back((extent - 1) * Dim(window.stride) - Dim(2 * window.padding) +
                      Dim(window.dilation * (window.taps - 1) + conv.output_padding[i] + 1));
    } else {
      shape.push_back(window_extent(sizes, extent, window));
    }
  }
  return shape;
}

void write_convolution(Call& call, const Convolution& conv, bool without_batch) {
  Sizes& sizes = call.to.sizes;
  const Dim channels = channels_out(sizes, conv);
  const std::vector<Dim> shape = result_shape(sizes, conv, channels);
  Tensor y = call.make(without_batch ? std::vector<Dim>(shape.begin() + 1, shape.end()) : shape);
  y.shape = shape;
  y.strides = dense_strides(shape);
  Kernel kernel(call.to,
                fmt::format("conv{}{}d", conv.transposed ? "_transpose" : "", conv.dimensions()),
                "One thread for each element of the result, which gathers its window.");
  const auto x = kernel.in("x", conv.x);
  const auto weight = kernel.in("weight", conv.weight);
  std::optional<Kernel::Operand> bias;
  if (conv.bias) bias = kernel.in("bias", *conv.bias);
  const auto out = kernel.out("y", y);
  const auto names = spatial_names(conv.dimensions());
  std::vector<std::pair<std::string, Dim>> extents = {{"n", shape[0]}, {"o", shape[1]}};
  for (std::size_t i = 0; i < names.size(); ++i) extents.emplace_back("o" + names[i], shape[i + 2]);
  const Indices at = kernel.each(extents);
  const Dim in_group =
      conv.transposed ? sizes.floor_div(conv.x.shape[1], conv.groups) : conv.weight.shape[1];
  const Dim out_group = sizes.floor_div(channels, conv.groups);
  const Sum sum(kernel, y.type, sizes.value(in_group) * conv.taps());
  sum.begin("sum");
  // Channels of the input; `c` counts within the group.
  const bool single = sizes.value(in_group) == 1;
  if (single) sizes.freeze(in_group);
  int open = 0;
  if (!single) {
    kernel.loop("c", kernel.size("C", in_group));
    ++open;
  }
  Indices from = {at[0], single ? "0" : "c"};
  if (conv.groups > 1) {
    const std::string group = sizes.value(out_group) == 1
                                  ? at[1]
                                  : fmt::format("{} / {}", at[1], kernel.size("OG", out_group));
    from[1] = single ? group : fmt::format("{} * {} + c", group, kernel.size("C", in_group));
  }
  Indices of_weight = {at[1], single ? "0" : "c"};
  if (conv.transposed) {
    of_weight = {from[1], conv.groups > 1 && sizes.value(out_group) != 1
                              ? fmt::format("{} % {}", at[1], kernel.size("OG", out_group))
                          : conv.groups > 1 ? "0"
                                            : at[1]};
  }
  static const char* const kTaps[] = {"q", "r", "s"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string tap = kTaps[3 - names.size() + i], place = "i" + names[i];
    const std::string extent = kernel.size(fmt::format("I{}", names[i]), conv.x.shape[i + 2]);
    open += conv.transposed
                ? loop_over_sources(kernel, at[i + 2], tap, place, extent, conv.windows[i])
                : loop_over_taps(kernel, at[i + 2], tap, place, extent, conv.windows[i]);
    from.push_back(place);
    of_weight.push_back(conv.windows[i].taps > 1 ? tap : "0");
  }
  kernel.line(sum.add("sum", kernel.load(x, from), kernel.load(weight, of_weight)));
  while (open-- > 0) kernel.end();
  std::string value = sum.value("sum");
  if (bias) value += " + " + kernel.load(*bias, {at[1]});
  kernel.store(out, at, stored_as(y.type, value));
  kernel.launch();
}

/// Padding of one tap more behind than before, where "same" needs an odd number.
void pad_same(std::vector<Window>& windows) {
  for (Window& window : windows) {
    const std::int64_t all = window.dilation * (window.taps - 1);
    window.padding = all / 2;
    window.padding_after = all - window.padding;
  }
}

void convolution(Call& call, bool transposed) {
  Convolution conv;
  conv.x = call.tensor("input");
  conv.weight = call.tensor("weight");
  conv.bias = call.maybe_tensor("bias");
  conv.transposed = transposed;
  conv.groups = call.whole("groups", 1);
  if (conv.groups < 1) refuse("has {} groups", conv.groups);
  const int dimensions = conv.weight.rank() - 2;
  if (dimensions < 1 || dimensions > 3)
    refuse("convolves in {} dimensions; hone in 1 to 3", dimensions);
  const auto strides = call.for_each_dimension("stride", dimensions, 1);
  const auto dilations = call.for_each_dimension("dilation", dimensions, 1);
  conv.output_padding = call.for_each_dimension("output_padding", dimensions, 0);
  const bool by_word = call.target().ends_with(".padding");
  const auto paddings = by_word ? std::vector<std::int64_t>(static_cast<std::size_t>(dimensions), 0)
                                : call.for_each_dimension("padding", dimensions, 0);
  for (int i = 0; i < dimensions; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (strides[at] < 1 || dilations[at] < 1 || paddings[at] < 0) {
      refuse("has stride {}, padding {}, dilation {}", strides[at], paddings[at], dilations[at]);
    }
    // The window is no size of the task: its loops stay as they are.
    call.to.sizes.freeze(conv.weight.shape[at + 2]);
    conv.windows.push_back({call.to.sizes.value(conv.weight.shape[at + 2]), strides[at],
                            paddings[at], dilations[at], paddings[at]});
  }
  if (by_word && call.text("padding", "valid") == "same") pad_same(conv.windows);
  const bool without_batch = conv.x.rank() == dimensions + 1;
  if (without_batch) {
    conv.x.shape.insert(conv.x.shape.begin(), 1);
    conv.x.strides.insert(conv.x.strides.begin(), 0);
  }
  if (conv.x.rank() != dimensions + 2) refuse("has an input of {} dimensions", conv.x.rank());
  if (conv.bias) call.to.sizes.unify(conv.bias->shape[0], channels_out(call.to.sizes, conv));
  write_convolution(call, conv, without_batch);
}

void forward(Call& call) { convolution(call, false); }
void transposed(Call& call) { convolution(call, true); }
void either(Call& call) { convolution(call, call.flag("transposed", false)); }

constexpr Operation kOperations[] = {
    {"aten.conv1d.default", forward},
    {"aten.conv2d.default", forward},
    {"aten.conv3d.default", forward},
    {"aten.conv1d.padding", forward},
    {"aten.conv2d.padding", forward},
    {"aten.conv3d.padding", forward},
    {"aten.conv_transpose1d.default", transposed},
    {"aten.conv_transpose2d.input", transposed},
    {"aten.conv_transpose3d.input", transposed},
    {"aten.convolution.default", either},
};

}  // namespace
}  // namespace convolutions

std::span<const Operation> convolution_operations() { return convolutions::kOperations; }

}  // namespace hone::pytorch
