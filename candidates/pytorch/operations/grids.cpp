// Samples images and volumes at a grid's coordinates (-1 and 1 are the edges), and makes such
// grids.
#include <fmt/format.h>

#include "candidates/pytorch/operations.h"
#include "candidates/pytorch/operations/windows.h"
#include "candidates/pytorch/refusal.h"

namespace hone::pytorch {
namespace grids {
namespace {

enum Mode { kLinear = 0, kNearest = 1, kCubic = 2 };
enum Padding { kZeros = 0, kBorder = 1, kReflection = 2 };

/// What all ways to sample share. The formulas are those of PyTorch on a GPU; source:
/// aten/src/ATen/native/cuda/GridSampler.cuh.
class Sampler {
 public:
  Sampler(Call& call, int dimensions)
      : call_(call),
        names_(spatial_names(dimensions)),
        from_(call.tensor("input")),
        padding_(static_cast<Padding>(call.whole("padding_mode"))),
        corners_(call.flag("align_corners", false)),
        kernel_(call.to, "grid_sampler", "") {}

  void write() {
    Sizes& sizes = call_.to.sizes;
    const Tensor grid = call_.tensor("grid");
    const auto d = names_.size();
    if (from_.shape.size() != d + 2 || grid.shape.size() != d + 2) {
      refuse("samples a tensor of {} dimensions by a grid of {}", from_.rank(), grid.rank());
    }
    const std::int64_t mode = call_.whole("interpolation_mode");
    if (padding_ < kZeros || padding_ > kReflection || mode < kLinear || mode > kCubic ||
        (mode == kCubic && d != 2)) {
      refuse("has the mode {} and the padding {} for {} dimensions", mode,
             static_cast<int>(padding_), d);
    }
    sizes.unify(from_.shape[0], grid.shape[0]);
    sizes.unify(grid.shape[d + 1], static_cast<std::int64_t>(d));
    std::vector<Dim> shape = {from_.shape[0], from_.shape[1]};
    shape.insert(shape.end(), grid.shape.begin() + 1, grid.shape.end() - 1);
    const Tensor to = call_.make(shape);
    type_ = to.type == ScalarType::kF64 ? ScalarType::kF64 : ScalarType::kF32;
    if (!is_float(to.type) || grid.type != from_.type) refuse("has elements of other types");
    real_ = computed_in(type_);
    f_ = type_ == ScalarType::kF64 ? "" : "f";
    x_ = kernel_.in("x", from_);
    const auto places = kernel_.in("grid", grid);
    const auto y = kernel_.out("y", to);
    at_ = kernel_.each_element(to);
    for (std::size_t i = 0; i < d; ++i) {
      extents_.push_back(kernel_.size("I" + names_[i], from_.shape[2 + i]));
    }
    for (std::size_t i = 0; i < d; ++i) {
      // The grid's last dimension begins with the innermost one of the image.
      Indices in = {at_[0]};
      in.insert(in.end(), at_.begin() + 2, at_.end());
      in.push_back(fmt::format("{}", d - 1 - i));
      const std::string half = number(0.5), one = number(1), &n = extents_[i];
      const std::string moved = fmt::format("({} + {})", kernel_.load(places, in), one);
      kernel_.line(
          corners_ ? fmt::format("{} s{} = {} * {} * ({} - 1);", real_, names_[i], moved, half, n)
                   : fmt::format("{} s{} = ({} * {} - {}) * {};", real_, names_[i], moved, n, one,
                                 half));
    }
    if (mode == kLinear) {
      linear();
    } else if (mode == kNearest) {
      nearest();
    } else {
      cubic();
    }
    kernel_.store(y, at_, stored_as(to.type, "sum"));
    kernel_.launch();
  }

 private:
  [[nodiscard]] std::string number(double value) const { return literal(value, type_); }

  /// Brings the variable of a place into the image, as the padding has it. What is no number, or no
  /// int, lies outside.
  void pad(const std::string& place, std::size_t i) {
    const std::string& extent = extents_[i];
    if (padding_ == kReflection) {
      const std::string low = number(-0.5), zero = number(0);
      if (!corners_) kernel_.line(fmt::format("{} -= {};", place, low));
      kernel_.line(fmt::format("{0} = fabs{1}({0});", place, f_));
      const std::string span = corners_ ? fmt::format("({} - 1)", extent) : extent;
      kernel_.line(
          fmt::format("{0} rest_{1} = fmod{2}({1}, ({0}){3}), flips_{1} = floor{2}({1} / "
                      "{3});",
                      real_, place, f_, span));
      std::string value = fmt::format("fmod{0}(flips_{1}, {2}) == {3} ? rest_{1} : {4} - rest_{1}",
                                      f_, place, number(2), zero, span);
      // A row of one element has no span between the middles of its first and last one.
      if (corners_) value = fmt::format("{} == 1 ? {} : {}", extent, zero, value);
      kernel_.line(fmt::format("{} = {};", place, value));
      if (!corners_) kernel_.line(fmt::format("{} += {};", place, low));
    }
    if (padding_ != kZeros) {
      kernel_.line(fmt::format("{0} = fmin{1}(fmax{1}({0}, {2}), ({3})({4} - 1));", place, f_,
                               number(0), real_, extent));
    }
    kernel_.line(fmt::format("if (!(fabs{0}({1}) < {2})) {1} = {3};", f_, place, number(2147483520),
                             number(-100)));
  }

  /// "h0 >= 0 && h0 < Ih && ..."
  [[nodiscard]] std::string inside(const Indices& places) const {
    std::string text;
    for (std::size_t i = 0; i < places.size(); ++i) {
      text += fmt::format("{0}{1} >= 0 && {1} < {2}", text.empty() ? "" : " && ", places[i],
                          extents_[i]);
    }
    return text;
  }

  std::string element(const Indices& places) {
    Indices in = {at_[0], at_[1]};
    in.insert(in.end(), places.begin(), places.end());
    return kernel_.load(x_, in);
  }

  void linear() {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const std::string& n = names_[i];
      pad("s" + n, i);
      kernel_.line(fmt::format("int {0}0 = (int)floor{1}(s{0}), {0}1 = {0}0 + 1;", n, f_));
      kernel_.line(fmt::format("{0} {1}w = s{1} - {1}0;", real_, n));
    }
    kernel_.line(fmt::format("{} sum = {};", real_, number(0)));
    for (int corner = 0; corner < 1 << names_.size(); ++corner) {
      Indices places;
      std::string weight;
      for (std::size_t i = 0; i < names_.size(); ++i) {
        const bool second = (corner >> i & 1) != 0;
        places.push_back(names_[i] + (second ? "1" : "0"));
        weight += second ? fmt::format(" * {}w", names_[i])
                         : fmt::format(" * ({} - {}w)", number(1), names_[i]);
      }
      kernel_.line(fmt::format("if ({}) sum += {}{};", inside(places), element(places), weight));
    }
  }

  void nearest() {
    Indices places;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      pad("s" + names_[i], i);
      places.push_back("i" + names_[i]);
      kernel_.line(fmt::format("int {} = (int)rint{}(s{});", places[i], f_, names_[i]));
    }
    kernel_.line(fmt::format("{} sum = {};", real_, number(0)));
    kernel_.line(fmt::format("if ({}) sum = {};", inside(places), element(places)));
  }

  /// Of the 16 nearest elements, with the weights of a cubic convolution (a = -0.75).
  void cubic() {
    for (const std::string& n : names_) {
      kernel_.line(fmt::format("{0} {1}t = s{1} - floor{2}(s{1});", real_, n, f_));
    }
    // How far away the tap is: t + 1, t, 1 - t, 2 - t.
    const auto tap = [&](std::size_t i, const std::string& counter) {
      const std::string& n = names_[i];
      kernel_.loop(counter, "4");
      kernel_.line(
          fmt::format("{0} d{1} = fabs{2}({1}t + {3} - {4});", real_, n, f_, number(1), counter));
      kernel_.line(
          fmt::format("{0} {1}w = d{1} <= {2} ? ({3} * d{1} - {4}) * d{1} * d{1} + {2} : "
                      "(({5} * d{1} + {6}) * d{1} - {7}) * d{1} + {8};",
                      real_, n, number(1), number(1.25), number(2.25), number(-0.75), number(3.75),
                      number(6), number(3)));
      const std::string place = "p" + n;
      kernel_.line(fmt::format("{0} {1} = floor{2}(s{3}) - {4} + {5};", real_, place, f_, n,
                               number(1), counter));
      pad(place, i);
      kernel_.line(fmt::format("int i{0} = (int){1};", n, place));
    };
    kernel_.line(fmt::format("{} sum = {};", real_, number(0)));
    tap(0, "q");
    kernel_.line(fmt::format("{} row = {};", real_, number(0)));
    tap(1, "r");
    kernel_.line(fmt::format("if ({}) row += {} * {}w;", inside({"ih", "iw"}),
                             element({"ih", "iw"}), names_[1]));
    kernel_.end();
    kernel_.line(fmt::format("sum += {}w * row;", names_[0]));
    kernel_.end();
  }

  Call& call_;
  std::vector<std::string> names_, extents_;
  Tensor from_;
  Padding padding_;
  bool corners_;
  Kernel kernel_;
  Kernel::Operand x_;
  Indices at_;
  ScalarType type_ = ScalarType::kF32;
  std::string real_, f_;
};

void grid_sampler_2d(Call& call) { Sampler(call, 2).write(); }
void grid_sampler_3d(Call& call) { Sampler(call, 3).write(); }
void grid_sampler(Call& call) { Sampler(call, call.tensor("input").rank() == 5 ? 3 : 2).write(); }

/// [N, 2, 3], or [N, 3, 4] of volumes: the grid that this matrix makes of the places of an image of
/// the given size, the edges' middles at -1 and 1 with align_corners, else the edges themselves.
void affine_grid(Call& call) {
  Sizes& sizes = call.to.sizes;
  const Tensor theta = call.tensor("theta");
  const auto size = call.wholes("size");
  const bool corners = call.flag("align_corners", false);
  if (theta.rank() != 3 || (size.size() != 4 && size.size() != 5)) {
    refuse("makes a grid of {} dimensions of a tensor of {}", size.size(), theta.rank());
  }
  const std::size_t d = size.size() - 2;
  sizes.unify(theta.shape[0], size[0]);
  sizes.unify(theta.shape[1], static_cast<std::int64_t>(d));
  sizes.unify(theta.shape[2], static_cast<std::int64_t>(d + 1));
  std::vector<Dim> shape = {theta.shape[0]};
  shape.insert(shape.end(), size.begin() + 2, size.end());
  shape.emplace_back(static_cast<std::int64_t>(d));
  const Tensor result = call.make(shape);
  if (!is_float(result.type) || theta.type != result.type) refuse("has elements of other types");
  const ScalarType type = result.type == ScalarType::kF64 ? ScalarType::kF64 : ScalarType::kF32;
  Kernel kernel(call.to, "affine_grid", "");
  const auto matrix = kernel.in("theta", theta);
  const auto y = kernel.out("y", result);
  const Indices at = kernel.each_element(result);
  std::string value = kernel.load(matrix, {at[0], at[d + 1], fmt::format("{}", d)});
  for (std::size_t i = 0; i < d; ++i) {
    // The matrix begins with the innermost dimension.
    const std::size_t dimension = d - i;
    const std::int64_t extent = size[dimension + 1];
    const double step = !corners      ? 2.0 / static_cast<double>(extent)
                        : extent == 1 ? 0.0
                                      : 2.0 / static_cast<double>(extent - 1);
    const double first = extent == 1 ? 0.0 : corners ? -1.0 : step / 2 - 1;
    value += fmt::format(" + {} * ({} * {} + {})",
                         kernel.load(matrix, {at[0], at[d + 1], fmt::format("{}", i)}),
                         literal(step, type), at[dimension], literal(first, type));
  }
  kernel.store(y, at, stored_as(result.type, value));
  kernel.launch();
}

constexpr Operation kOperations[] = {
    {"aten.affine_grid_generator.default", affine_grid},
    {"aten.grid_sampler.default", grid_sampler},
    {"aten.grid_sampler_2d.default", grid_sampler_2d},
    {"aten.grid_sampler_3d.default", grid_sampler_3d},
};

}  // namespace
}  // namespace grids

std::span<const Operation> grid_operations() { return grids::kOperations; }

}  // namespace hone::pytorch
