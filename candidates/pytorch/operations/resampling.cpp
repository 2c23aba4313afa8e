// Images of another size: nearest, linear and cubic interpolation, channels to pixels and back.
#include <fmt/format.h>

#include <cmath>

#include "candidates/pytorch/operations.h"
#include "candidates/pytorch/operations/windows.h"
#include "candidates/pytorch/refusal.h"

namespace hone::pytorch {
namespace resampling {
namespace {

struct Resampled {
  Tensor from, to;
  int dimensions = 0;
  /// Input pixels for one of the output, as text: PyTorch computes it in f32, and between elements
  /// that are f64 in f64.
  std::vector<std::string> steps;
};

/// `scale_factors`, or one argument for each dimension, where they were given; else the sizes alone
/// count.
std::vector<double> factors_of(const Call& call, int dimensions) {
  std::vector<double> factors = call.numbers("scale_factors");
  static const char* const kEach[] = {"scales_d", "scales_h", "scales_w"};
  for (int i = 3 - dimensions; i < 3; ++i) {
    const char* name = dimensions == 1 ? "scales" : kEach[i];
    if (call.has(name)) factors.push_back(call.number(name));
  }
  if (!factors.empty() && factors.size() != static_cast<std::size_t>(dimensions)) {
    refuse("has {} scale factors", factors.size());
  }
  for (const double factor : factors) {
    if (!std::isfinite(factor) || factor <= 0) refuse("has the scale factor {}", factor);
  }
  return factors;
}

Resampled resampled(Call& call, int dimensions, bool in_f64 = false) {
  Sizes& sizes = call.to.sizes;
  Resampled the;
  the.dimensions = dimensions;
  the.from = call.tensor(call.has("input") ? "input" : "self");
  if (the.from.rank() != dimensions + 2) refuse("has {} dimensions", the.from.rank());
  const std::vector<double> factors = factors_of(call, dimensions);
  const bool corners = call.flag("align_corners", false);
  std::vector<Dim> shape = the.from.shape;
  for (std::size_t i = 0; i < static_cast<std::size_t>(dimensions); ++i) {
    Dim& extent = shape[2 + i];
    const std::int64_t in = sizes.value(extent), out = call.extent(2 + i);
    const bool whole = !factors.empty() && factors[i] == static_cast<double>(out / in) &&
                       out % in == 0 && !corners;
    if (whole) {
      extent = extent * Dim(out / in);
    } else {
      sizes.freeze(extent);
      extent = out;
    }
    const auto ratio = [&](std::int64_t a, std::int64_t b) {
      return in_f64 ? static_cast<double>(a) / static_cast<double>(b)
                    : static_cast<float>(a) / static_cast<float>(b);
    };
    const double step = corners           ? (out > 1 ? ratio(in - 1, out - 1) : 0.0)
                        : factors.empty() ? ratio(in, out)
                                          : 1.0 / factors[i];
    the.steps.push_back(literal(step, in_f64 ? ScalarType::kF64 : ScalarType::kF32));
  }
  the.to = call.make(shape);
  return the;
}

void nearest(Call& call, int dimensions) {
  const Resampled the = resampled(call, dimensions);
  Kernel kernel(call.to, "upsample_nearest", "");
  const auto x = kernel.in("x", the.from);
  const auto y = kernel.out("y", the.to);
  const Indices at = kernel.each_element(the.to);
  Indices in = at;
  const auto names = spatial_names(dimensions);
  for (std::size_t i = 0; i < names.size(); ++i) {
    in[2 + i] = "i" + names[i];
    const std::string extent = kernel.size("I" + names[i], the.from.shape[2 + i]);
    kernel.line(fmt::format("int {} = min((int)floorf({} * {}), {} - 1);", in[2 + i], at[2 + i],
                            the.steps[i], extent));
  }
  kernel.store(y, at, kernel.load_raw(x, in));
  kernel.launch();
}

/// The place in the input of an element of the output, as a number with a fraction.
std::string source_place(const Resampled& the, std::size_t i, const std::string& at, bool corners,
                         ScalarType type) {
  if (corners) return fmt::format("{} * {}", the.steps[i], at);
  const std::string half = literal(0.5, type);
  return fmt::format("{} * ({} + {}) - {}", the.steps[i], at, half, half);
}

void linear(Call& call, int dimensions) {
  const ScalarType type = call.type() == ScalarType::kF64 ? ScalarType::kF64 : ScalarType::kF32;
  const Resampled the = resampled(call, dimensions, type == ScalarType::kF64);
  const std::string real(computed_in(type)), f = type == ScalarType::kF64 ? "" : "f";
  const bool corners = call.flag("align_corners", false);
  Kernel kernel(call.to, "upsample_linear", "Between the 2, 4 or 8 nearest elements.");
  const auto x = kernel.in("x", the.from);
  const auto y = kernel.out("y", the.to);
  const Indices at = kernel.each_element(the.to);
  const auto names = spatial_names(dimensions);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string& n = names[i];
    const std::string extent = kernel.size("I" + n, the.from.shape[2 + i]);
    const std::string place = source_place(the, i, at[2 + i], corners, type);
    kernel.line(corners
                    ? fmt::format("{} s{} = {};", real, n, place)
                    : fmt::format("{} s{} = fmax{}({}, {});", real, n, f, place, literal(0, type)));
    kernel.line(fmt::format("int {0}0 = min((int)s{0}, {1} - 1), {0}1 = min({0}0 + 1, {1} - 1);", n,
                            extent));
    kernel.line(fmt::format("{1} {0}w = s{0} - {0}0;", n, real));
  }
  std::string value;
  for (int corner = 0; corner < 1 << dimensions; ++corner) {
    Indices in = at;
    std::string weight;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const bool second = (corner >> i & 1) != 0;
      in[2 + i] = names[i] + (second ? "1" : "0");
      weight += second ? fmt::format(" * {}w", names[i])
                       : fmt::format(" * ({} - {}w)", literal(1, type), names[i]);
    }
    value += fmt::format("{}{}{}", value.empty() ? "" : " + ", kernel.load(x, in), weight);
  }
  kernel.store(y, at, stored_as(the.to.type, value));
  kernel.launch();
}

/// Of the 16 nearest elements, with the weights of a cubic convolution (a = -0.75); what would be
/// outside is the border's. Source: PyTorch's aten/src/ATen/native/UpSample.h.
void bicubic2d(Call& call) {
  const ScalarType type = call.type() == ScalarType::kF64 ? ScalarType::kF64 : ScalarType::kF32;
  const Resampled the = resampled(call, 2, type == ScalarType::kF64);
  const std::string real(computed_in(type)), f = type == ScalarType::kF64 ? "" : "f";
  const bool corners = call.flag("align_corners", false);
  Kernel kernel(call.to, "upsample_bicubic", "Of the 16 nearest elements.");
  const auto x = kernel.in("x", the.from);
  const auto y = kernel.out("y", the.to);
  const Indices at = kernel.each_element(the.to);
  const auto number = [&](double value) { return literal(value, type); };
  for (std::size_t i = 0; i < 2; ++i) {
    const char n = "hw"[i];
    kernel.line(
        fmt::format("{} s{} = {};", real, n, source_place(the, i, at[2 + i], corners, type)));
    kernel.line(fmt::format("int {0}0 = (int)floor{1}(s{0});", n, f));
    kernel.line(fmt::format("{1} {0}t = s{0} - {0}0;", n, real));
  }
  const auto weight = [&](const std::string& name, const std::string& tap, char n) {
    // How far away the tap is: t + 1, t, 1 - t, 2 - t.
    kernel.line(
        fmt::format("{0} d{3} = fabs{1}({2}t + {4} - {5});", real, f, n, n, number(1), tap));
    kernel.line(fmt::format(
        "{0} {1} = d{2} <= {3} ? ({4} * d{2} - {5}) * d{2} * d{2} + {3} : (({6} * d{2} + {7}) * "
        "d{2} - {8}) * d{2} + {9};",
        real, name, n, number(1), number(1.25), number(2.25), number(-0.75), number(3.75),
        number(6), number(3)));
  };
  kernel.line(fmt::format("{} sum = {};", real, number(0)));
  kernel.loop("q", "4");
  weight("by_row", "q", 'h');
  kernel.line(fmt::format("int ih = min(max(h0 - 1 + q, 0), {} - 1);",
                          kernel.size("Ih", the.from.shape[2])));
  kernel.line(fmt::format("{} row = {};", real, number(0)));
  kernel.loop("r", "4");
  weight("by_column", "r", 'w');
  kernel.line(fmt::format("int iw = min(max(w0 - 1 + r, 0), {} - 1);",
                          kernel.size("Iw", the.from.shape[3])));
  kernel.line(fmt::format("row += by_column * {};", kernel.load(x, {at[0], at[1], "ih", "iw"})));
  kernel.end();
  kernel.line("sum += by_row * row;");
  kernel.end();
  kernel.store(y, at, stored_as(the.to.type, "sum"));
  kernel.launch();
}

void nearest1d(Call& call) { nearest(call, 1); }
void nearest2d(Call& call) { nearest(call, 2); }
void nearest3d(Call& call) { nearest(call, 3); }
void linear1d(Call& call) { linear(call, 1); }
void bilinear2d(Call& call) { linear(call, 2); }
void trilinear3d(Call& call) { linear(call, 3); }

/// [..., C r r, H, W] -> [..., C, H r, W r], or back.
void shuffle(Call& call, bool back) {
  Sizes& sizes = call.to.sizes;
  const Tensor from = call.to.dense(call.tensor("self"));
  const std::int64_t r = call.whole(back ? "downscale_factor" : "upscale_factor");
  if (from.rank() < 3 || r < 1) refuse("has {} dimensions and the factor {}", from.rank(), r);
  const std::size_t c = from.shape.size() - 3;
  const std::vector<Dim> outer(from.shape.begin(),
                               from.shape.begin() + static_cast<std::ptrdiff_t>(c));
  // An extent as a multiple of what the factor makes of it.
  const auto divided = [&](const Dim& extent, std::int64_t by) {
    const std::int64_t now = sizes.value(extent);
    if (now % by != 0) refuse("does not divide {} by {}", now, by);
    const Dim less = sizes.fresh(call.name() + "_part", now / by);
    sizes.unify(extent, less * Dim(by));
    return less;
  };
  std::vector<Dim> parts = outer, shape = outer;
  std::vector<int> order;
  for (int i = 0; i < static_cast<int>(c); ++i) order.push_back(i);
  const int n = static_cast<int>(c);
  if (back) {
    const Dim h = divided(from.shape[c + 1], r), w = divided(from.shape[c + 2], r);
    parts.insert(parts.end(), {from.shape[c], h, r, w, r});
    order.insert(order.end(), {n, n + 2, n + 4, n + 1, n + 3});
    shape.insert(shape.end(), {from.shape[c] * Dim(r * r), h, w});
  } else {
    const Dim channels = divided(from.shape[c], r * r);
    parts.insert(parts.end(), {channels, r, r, from.shape[c + 1], from.shape[c + 2]});
    order.insert(order.end(), {n, n + 3, n + 1, n + 4, n + 2});
    shape.insert(shape.end(), {channels, from.shape[c + 1] * Dim(r), from.shape[c + 2] * Dim(r)});
  }
  Tensor view = from;
  view.shape = parts;
  view.strides = dense_strides(parts);
  Tensor result = call.to.dense(permuted(view, order));
  result.shape = shape;
  result.strides = dense_strides(shape);
  call.give(result);
}

void pixel_shuffle(Call& call) { shuffle(call, false); }
void pixel_unshuffle(Call& call) { shuffle(call, true); }

constexpr Operation kOperations[] = {
    {"aten.upsample_nearest1d.vec", nearest1d},
    {"aten.upsample_nearest2d.vec", nearest2d},
    {"aten.upsample_nearest3d.vec", nearest3d},
    {"aten.upsample_linear1d.vec", linear1d},
    {"aten.upsample_bilinear2d.vec", bilinear2d},
    {"aten.upsample_trilinear3d.vec", trilinear3d},
    {"aten.upsample_bicubic2d.vec", bicubic2d},
    {"aten.upsample_nearest1d.default", nearest1d},
    {"aten.upsample_nearest2d.default", nearest2d},
    {"aten.upsample_nearest3d.default", nearest3d},
    {"aten.upsample_linear1d.default", linear1d},
    {"aten.upsample_bilinear2d.default", bilinear2d},
    {"aten.upsample_trilinear3d.default", trilinear3d},
    {"aten.upsample_bicubic2d.default", bicubic2d},
    {"aten.pixel_shuffle.default", pixel_shuffle},
    {"aten.pixel_unshuffle.default", pixel_unshuffle},
};

}  // namespace
}  // namespace resampling

std::span<const Operation> resampling_operations() { return resampling::kOperations; }

}  // namespace hone::pytorch
