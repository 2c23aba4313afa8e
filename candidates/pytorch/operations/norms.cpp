// Normalisations: mean and variance of groups of elements in one kernel, their use in another.
#include <fmt/format.h>

#include "candidates/pytorch/operations.h"
#include "candidates/pytorch/operations/reduced.h"
#include "candidates/pytorch/refusal.h"
#include "candidates/pytorch/sums.h"

namespace hone::pytorch {
namespace norms {
namespace {

struct Moments {
  Tensor mean, variance;  ///< of groups; dense
};

/// A tensor whose dimensions are those of the groups, merged.
Tensor merged(const Tensor& dense, const Reduced& parts) {
  Tensor view = dense;
  view.shape = parts.kept.shape;
  view.strides = dense_strides(view.shape);
  return view;
}

/// Sums and sums of squares of parts, in f64; then both moments of them.
void write_moments_in_parts(Call& call, const Reduced& parts, const Moments& moments) {
  Sizes& sizes = call.to.sizes;
  // The outermost dimension of several is what a person would take for parts.
  const bool natural = parts.gone.shape.size() > 1;
  const Dim count = natural ? parts.gone.shape.front() : Dim(kParts);
  const Dim terms = parts.gone.elements();
  std::vector<Dim> shape = parts.kept.shape;
  shape.push_back(count);
  const Tensor sums = call.between(ScalarType::kF64, shape, "sums");
  const Tensor squares = call.between(ScalarType::kF64, shape, "squares");
  Kernel first(call.to, "moments_of_parts", "Sum and sum of squares of each part of a group.");
  const auto x = first.in("x", parts.all);
  const auto to_sums = first.out("sums", sums);
  const auto to_squares = first.out("squares", squares);
  const Indices at = first.each_element(sums);
  first.line("double sum = 0.0, square = 0.0;");
  Indices in(at.begin(), at.end() - (natural ? 0 : 1));
  int open = 0;
  if (natural) {
    for (const std::string& index : loop_over(first, parts, 1, open)) in.push_back(index);
  } else {
    const std::string each = first.size("each", sizes.ceil_div(terms, kParts));
    first.loop("j", each);
    first.line(fmt::format("{} term = {} * {} + j;", first.index_type(), at.back(), each));
    first.begin(fmt::format("if (term < {})", first.size("terms", terms)));
    open = 2;
    for (const std::string& index : digits_of(first, parts, "term")) in.push_back(index);
  }
  first.line(fmt::format("double v = {};", first.load(x, in)));
  first.line("sum += v;");
  first.line("square += v * v;");
  while (open-- > 0) first.end();
  first.store(to_sums, at, "sum");
  first.store(to_squares, at, "square");
  first.launch();

  Kernel second(call.to, "moments_from_parts", "Mean and variance of each group.");
  const auto from_sums = second.in("sums", sums);
  const auto from_squares = second.in("squares", squares);
  const auto mean = second.out("mean", merged(moments.mean, parts));
  const auto variance = second.out("variance", merged(moments.variance, parts));
  const Indices group = second.each_element(merged(moments.mean, parts));
  second.line("double sum = 0.0, square = 0.0;");
  second.loop("j", second.size("parts", count));
  Indices part = group;
  part.emplace_back("j");
  second.line(fmt::format("sum += {};", second.load(from_sums, part)));
  second.line(fmt::format("square += {};", second.load(from_squares, part)));
  second.end();
  const std::string all = second.size("terms", terms);
  second.line(fmt::format("double middle = sum / {};", all));
  second.store(mean, group, "middle");
  second.store(variance, group, fmt::format("square / {} - middle * middle", all));
  second.launch();
}

/// One thread a group, which goes over it twice.
void write_moments_at_once(Call& call, const Reduced& parts, const Moments& moments) {
  Kernel kernel(call.to, "moments", "Mean and variance of each group, one thread each.");
  const auto x = kernel.in("x", parts.all);
  const auto mean = kernel.out("mean", merged(moments.mean, parts));
  const auto variance = kernel.out("variance", merged(moments.variance, parts));
  const Indices at = kernel.each_element(merged(moments.mean, parts));
  const Dim terms = parts.gone.elements();
  const Sum sum(kernel, parts.all.type, call.to.sizes.value(terms), kLongReduction);
  const auto over_all = [&](auto body) {
    Indices in = at;
    int open = 0;
    for (const std::string& index : loop_over(kernel, parts, 0, open)) in.push_back(index);
    body(in);
    while (open-- > 0) kernel.end();
  };
  const std::string count = kernel.size("terms", terms);
  sum.begin("sum");
  over_all([&](const Indices& in) { kernel.line(sum.add("sum", kernel.load(x, in))); });
  kernel.line(fmt::format("{} middle = sum / {};", sum.type(), count));
  sum.begin("squares");
  over_all([&](const Indices& in) {
    kernel.line(fmt::format("{} difference = {} - middle;", sum.type(), kernel.load(x, in)));
    kernel.line("squares += difference * difference;");
  });
  kernel.store(mean, at, "middle");
  kernel.store(variance, at, fmt::format("squares / {}", count));
  kernel.launch();
}

/// Mean and biased variance over the last dimensions of `grouped`, those behind the first `outer`.
Moments write_moments(Call& call, const Tensor& grouped, std::size_t outer) {
  std::vector<int> axes;
  for (int i = static_cast<int>(outer); i < grouped.rank(); ++i) axes.push_back(i);
  const Reduced parts = reduced(call.to.sizes, grouped, axes);
  const std::vector<Dim> groups(grouped.shape.begin(),
                                grouped.shape.begin() + static_cast<std::ptrdiff_t>(outer));
  const ScalarType type = grouped.type == ScalarType::kF64 ? ScalarType::kF64 : ScalarType::kF32;
  const Moments moments{call.between(type, groups, "mean"), call.between(type, groups, "variance")};
  // Squares of f64 numbers lose what two passes keep.
  if (goes_in_parts(call.to.sizes, parts) && type != ScalarType::kF64) {
    write_moments_in_parts(call, parts, moments);
  } else {
    write_moments_at_once(call, parts, moments);
  }
  return moments;
}

/// y = (x - mean) / sqrt(variance + eps) * weight + bias, where all are repeated to x's shape.
struct Use {
  Tensor x, y, mean, variance;
  std::optional<Tensor> weight, bias;
  double eps = 1e-5;
};

void write_use(Call& call, std::string_view name, Use use) {
  std::vector<Tensor*> all = {&use.y, &use.x, &use.mean, &use.variance};
  if (use.weight) all.push_back(&*use.weight);
  if (use.bias) all.push_back(&*use.bias);
  merge_dimensions(call.to.sizes, all);
  Kernel kernel(call.to, std::string(name), "");
  const auto x = kernel.in("x", use.x);
  const auto mean = kernel.in("mean", use.mean);
  const auto variance = kernel.in("variance", use.variance);
  std::optional<Kernel::Operand> weight, bias;
  if (use.weight) weight = kernel.in("weight", *use.weight);
  if (use.bias) bias = kernel.in("bias", *use.bias);
  const auto y = kernel.out("y", use.y);
  const Indices at = kernel.each_element(use.y);
  const std::string root = use.x.type == ScalarType::kF64 ? "sqrt" : "sqrtf";
  std::string value =
      fmt::format("({} - {}) / {}({} + {})", kernel.load(x, at), kernel.load(mean, at), root,
                  kernel.load(variance, at), literal(use.eps, use.x.type));
  if (weight) value += " * " + kernel.load(*weight, at);
  if (bias) value += " + " + kernel.load(*bias, at);
  kernel.store(y, at, stored_as(use.y.type, value));
  kernel.launch();
}

/// A tensor of one dimension as one that lies along dimension 1 of `like`.
Tensor along_channels(const Tensor& tensor, const Tensor& like) {
  Tensor view = tensor;
  view.shape = like.shape;
  view.strides.assign(like.shape.size(), 0);
  view.strides[1] = tensor.strides[0];
  return view;
}

/// (1 - momentum) * running + momentum * now * scale: into `running`, or `into` another tensor.
void write_running(Call& call, const Tensor& running, const Tensor& now, double momentum,
                   const std::optional<Dim>& terms, const std::optional<Tensor>& into) {
  BufferText& buffer = call.to.buffer(call.to.buffer_of(running));
  if (!into && buffer.role == Role::kIn) buffer.role = Role::kInOut;
  Kernel kernel(call.to, terms ? "running_variance" : "running_mean", "");
  const auto fresh = kernel.in("now", now);
  const auto kept = into ? kernel.in("running", running) : kernel.inout("running", running);
  const auto to = into ? kernel.out("next", *into) : kept;
  const Indices at = kernel.each_element(running);
  std::string value = kernel.load(fresh, at);
  if (terms) {
    // The running variance is the unbiased one.
    const std::string count = kernel.size("terms", *terms);
    value += fmt::format(" * {} / ({} - 1)", count, count);
  }
  kernel.store(to, at,
               stored_as(running.type,
                         fmt::format("{} * {} + {} * ({})", literal(1 - momentum, now.type),
                                     kernel.load(kept, at), literal(momentum, now.type), value)));
  kernel.launch();
}

/// What a backward pass would need: 1 / sqrt(variance + eps), and the mean, where something reads
/// them. `shape` may have dimensions of extent 1 more than the moments.
void give_saved(Call& call, const Moments& moments, const std::vector<Dim>& shape, double eps) {
  if (call.is_used(1)) {
    Tensor mean = moments.mean;
    mean.shape = shape;
    mean.strides = dense_strides(shape);
    call.give(mean, 1);
  }
  if (!call.is_used(2)) return;
  Tensor variance = moments.variance;
  variance.shape = shape;
  variance.strides = dense_strides(shape);
  const Tensor result = call.make(shape, 2);
  Kernel kernel(call.to, "inverse_deviation", "");
  const auto x = kernel.in("variance", variance);
  const auto y = kernel.out("y", result);
  const Indices at = kernel.each_element(result);
  kernel.store(
      y, at,
      stored_as(result.type, fmt::format("{} / sqrt{}({} + {})", literal(1, variance.type),
                                         variance.type == ScalarType::kF64 ? "" : "f",
                                         kernel.load(x, at), literal(eps, variance.type))));
  kernel.launch();
}

void batch_norm(Call& call) {
  const Tensor x = call.tensor("input");
  Sizes& sizes = call.to.sizes;
  if (x.rank() < 2) refuse("has an input of {} dimensions", x.rank());
  for (const char* name : {"weight", "bias", "running_mean", "running_var"}) {
    if (call.has(name)) sizes.unify(call.tensor(name).shape[0], x.shape[1]);
  }
  Use use;
  use.x = x;
  use.y = call.make(x.shape);
  use.eps = call.number("eps", 1e-5);
  // Of the others neither has a flag.
  const bool stays = call.target().find("no_training") != std::string::npos;
  const bool functional = call.target().find("functional") != std::string::npos;
  const bool training = !stays && call.flag("training", call.flag("use_input_stats", false));
  if (training) {
    std::vector<int> order = {1, 0};
    for (int i = 2; i < x.rank(); ++i) order.push_back(i);
    const Moments moments = write_moments(call, permuted(x, order), 1);
    use.mean = along_channels(moments.mean, x);
    use.variance = along_channels(moments.variance, x);
    const double momentum = call.number("momentum", 0.1);
    give_saved(call, moments, {x.shape[1]}, use.eps);
    const auto next = [&](std::size_t result) {
      return functional ? std::optional(call.make({x.shape[1]}, result)) : std::nullopt;
    };
    if (call.has("running_mean")) {
      write_running(call, call.tensor("running_mean"), moments.mean, momentum, std::nullopt,
                    next(3));
    }
    if (call.has("running_var")) {
      Dim terms = x.shape[0];
      for (std::size_t i = 2; i < x.shape.size(); ++i) terms *= x.shape[i];
      write_running(call, call.tensor("running_var"), moments.variance, momentum, terms, next(4));
    }
  } else {
    for (std::size_t i = 1; i < call.results(); ++i) {
      if (call.is_used(i)) refuse("gives moments that it does not compute");
    }
    use.mean = along_channels(call.tensor("running_mean"), x);
    use.variance = along_channels(call.tensor("running_var"), x);
  }
  if (call.has("weight")) use.weight = along_channels(call.tensor("weight"), x);
  if (call.has("bias")) use.bias = along_channels(call.tensor("bias"), x);
  write_use(call, "batch_norm", use);
}

/// Channels in groups: x as [n, group, channel of the group, rest...].
void normalise_groups(Call& call, std::string_view name, std::int64_t groups) {
  Sizes& sizes = call.to.sizes;
  const Tensor x = call.to.dense(call.tensor("input"));
  if (x.rank() < 2) refuse("has an input of {} dimensions", x.rank());
  for (const char* parameter : {"weight", "bias"}) {
    if (call.has(parameter)) sizes.unify(call.tensor(parameter).shape[0], x.shape[1]);
  }
  const std::int64_t channels = sizes.value(x.shape[1]);
  if (groups < 1 || channels % groups != 0)
    refuse("has {} groups of {} channels", groups, channels);
  // Groups of one channel each: as many as there are channels, at every size.
  Dim count = x.shape[1], each = 1;
  if (groups != channels) {
    count = groups;
    each = sizes.fresh("group_channels", channels / groups);
    sizes.unify(x.shape[1], count * each);
  }
  const auto regrouped = [&](const Tensor& tensor) {
    Tensor view = tensor;
    view.shape[1] = count;
    view.shape.insert(view.shape.begin() + 2, each);
    view.strides.insert(view.strides.begin() + 2, tensor.strides[1]);
    view.strides[1] = tensor.strides[1] * each;
    return view;
  };
  Use use;
  use.x = regrouped(x);
  use.y = regrouped(call.make(x.shape));
  use.eps = call.number("eps", 1e-5);
  const Moments moments = write_moments(call, use.x, 2);
  if (call.results() > 1) give_saved(call, moments, {x.shape[0], count}, use.eps);
  const auto of_groups = [&](const Tensor& tensor) {
    Tensor view = tensor;
    view.shape = use.x.shape;
    view.strides.resize(use.x.shape.size(), 0);
    return view;
  };
  const auto of_channels = [&](const Tensor& tensor) {
    Tensor view = tensor;
    view.shape = use.x.shape;
    view.strides.assign(use.x.shape.size(), 0);
    view.strides[1] = tensor.strides[0] * each;
    view.strides[2] = tensor.strides[0];
    return view;
  };
  use.mean = of_groups(moments.mean);
  use.variance = of_groups(moments.variance);
  if (call.has("weight")) use.weight = of_channels(call.tensor("weight"));
  if (call.has("bias")) use.bias = of_channels(call.tensor("bias"));
  write_use(call, name, use);
}

void group_norm(Call& call) {
  normalise_groups(call, "group_norm", call.whole(call.has("group") ? "group" : "num_groups"));
}

void instance_norm(Call& call) {
  if (!call.flag("use_input_stats", true)) return batch_norm(call);
  if (call.has("running_mean")) refuse("updates running statistics of instances; hone does not");
  normalise_groups(call, "instance_norm", call.to.sizes.value(call.tensor("input").shape[1]));
}

void layer_norm(Call& call) {
  Sizes& sizes = call.to.sizes;
  const Tensor x = call.tensor("input");
  const std::size_t inner = call.wholes("normalized_shape").size();
  if (inner > x.shape.size()) refuse("normalises more dimensions than there are");
  const std::size_t outer = x.shape.size() - inner;
  Tensor flat = x;  // the groups, then one dimension
  Use use;
  use.x = x;
  use.y = call.make(x.shape);
  use.eps = call.number("eps", 1e-5);
  for (const char* parameter : {"weight", "bias"}) {
    if (!call.has(parameter)) continue;
    const Tensor tensor = call.tensor(parameter);
    for (std::size_t i = 0; i < inner; ++i) sizes.unify(tensor.shape[i], x.shape[outer + i]);
    Tensor view = expanded(sizes, tensor, x.shape);
    (parameter[0] == 'w' ? use.weight : use.bias) = view;
  }
  const Moments moments = write_moments(call, flat, outer);
  if (call.results() > 1) {
    std::vector<Dim> saved(x.shape.begin(), x.shape.begin() + static_cast<std::ptrdiff_t>(outer));
    saved.resize(x.shape.size(), 1);
    give_saved(call, moments, saved, use.eps);
  }
  const auto of_groups = [&](const Tensor& tensor) {
    Tensor view = tensor;
    view.shape = x.shape;
    view.strides.resize(x.shape.size(), 0);
    return view;
  };
  use.mean = of_groups(moments.mean);
  use.variance = of_groups(moments.variance);
  write_use(call, "layer_norm", use);
}

constexpr Operation kOperations[] = {
    {"aten.batch_norm.default", batch_norm},
    {"aten.group_norm.default", group_norm},
    {"aten.instance_norm.default", instance_norm},
    {"aten.layer_norm.default", layer_norm},
    // What PyTorch's decompositions make of them; the further results are for a backward pass.
    {"aten.native_batch_norm.default", batch_norm},
    {"aten._native_batch_norm_legit.default", batch_norm},
    {"aten._native_batch_norm_legit.no_stats", batch_norm},
    {"aten._native_batch_norm_legit_no_training.default", batch_norm},
    {"aten._native_batch_norm_legit_functional.default", batch_norm},
    {"aten.native_group_norm.default", group_norm},
    {"aten.native_layer_norm.default", layer_norm},
};

}  // namespace
}  // namespace norms

std::span<const Operation> norm_operations() { return norms::kOperations; }

}  // namespace hone::pytorch
