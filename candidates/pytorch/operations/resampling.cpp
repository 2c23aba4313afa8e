// Images of another size: nearest and linear interpolation, channels to pixels and back.
#include <fmt/format.h>

#include "candidates/pytorch/operations.h"
#include "candidates/pytorch/operations/windows.h"
#include "candidates/pytorch/refusal.h"

namespace hone::pytorch {
namespace resampling {
namespace {

struct Resampled {
  Tensor from, to;
  int dimensions = 0;
  /// Input pixels for one of the output, as text: PyTorch computes it in f32.
  std::vector<std::string> steps;
};

/// `scale_factors`, where they were given; else the sizes alone count.
std::vector<double> factors_of(const Call& call, int dimensions) {
  std::vector<double> factors = call.numbers("scale_factors");
  if (!factors.empty() && factors.size() != static_cast<std::size_t>(dimensions)) {
    refuse("has {} scale factors", factors.size());
  }
  return factors;
}

Resampled resampled(Call& call, int dimensions) {
  Sizes& sizes = call.to.sizes;
  Resampled the;
  the.dimensions = dimensions;
  the.from = call.tensor("input");
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
    const float step =
        corners ? (out > 1 ? static_cast<float>(in - 1) / static_cast<float>(out - 1) : 0.0F)
        : factors.empty() ? static_cast<float>(in) / static_cast<float>(out)
                          : static_cast<float>(1.0 / factors[i]);
    the.steps.push_back(literal(step, ScalarType::kF32));
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

void linear(Call& call, int dimensions) {
  const Resampled the = resampled(call, dimensions);
  if (the.from.type == ScalarType::kF64) refuse("interpolates f64, which hone does in f32");
  const bool corners = call.flag("align_corners", false);
  Kernel kernel(call.to, "upsample_linear", "Between the 2, 4 or 8 nearest elements.");
  const auto x = kernel.in("x", the.from);
  const auto y = kernel.out("y", the.to);
  const Indices at = kernel.each_element(the.to);
  const auto names = spatial_names(dimensions);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string& n = names[i];
    const std::string extent = kernel.size("I" + n, the.from.shape[2 + i]);
    kernel.line(corners ? fmt::format("float s{} = {} * {};", n, the.steps[i], at[2 + i])
                        : fmt::format("float s{} = fmaxf({} * ({} + 0.5f) - 0.5f, 0.0f);", n,
                                      the.steps[i], at[2 + i]));
    kernel.line(fmt::format("int {0}0 = min((int)s{0}, {1} - 1), {0}1 = min({0}0 + 1, {1} - 1);", n,
                            extent));
    kernel.line(fmt::format("float {0}w = s{0} - {0}0;", n));
  }
  std::string value;
  for (int corner = 0; corner < 1 << dimensions; ++corner) {
    Indices in = at;
    std::string weight;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const bool second = (corner >> i & 1) != 0;
      in[2 + i] = names[i] + (second ? "1" : "0");
      weight +=
          fmt::format(" * {}", second ? names[i] + "w" : fmt::format("(1.0f - {}w)", names[i]));
    }
    value += fmt::format("{}{}{}", value.empty() ? "" : " + ", kernel.load(x, in), weight);
  }
  kernel.store(y, at, stored_as(the.to.type, value));
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
    {"aten.pixel_shuffle.default", pixel_shuffle},
    {"aten.pixel_unshuffle.default", pixel_unshuffle},
};

}  // namespace
}  // namespace resampling

std::span<const Operation> resampling_operations() { return resampling::kOperations; }

}  // namespace hone::pytorch
