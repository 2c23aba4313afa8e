// Losses: one number for each element or row, then their sum or mean.
#include <fmt/format.h>

#include <array>

#include "candidates/pytorch/operations.h"
#include "candidates/pytorch/operations/reduced.h"
#include "candidates/pytorch/refusal.h"
#include "candidates/pytorch/sums.h"

namespace hone::pytorch {
namespace losses {
namespace {

/// PyTorch's numbers.
enum Reduction : std::int64_t { kNone = 0, kMean = 1, kSum = 2 };

Reduction reduction_of(const Call& call) {
  const std::int64_t number = call.whole("reduction", kMean);
  if (number < kNone || number > kSum) refuse("has the reduction {}", number);
  return static_cast<Reduction>(number);
}

void by_formula(Call& call, std::string_view name, std::string_view formula) {
  const Reduction reduction = reduction_of(call);
  if (reduction == kNone) return write_pointwise(call, name, formula);
  write_total(call, write_pointwise_between(call, name, formula), reduction == kMean);
}

// Source of the formulas: the pages of torch.nn.functional's losses, and ATen's Loss.cpp.
void mse(Call& call) { by_formula(call, "mse_loss", "($self - $target) * ($self - $target)"); }
void l1(Call& call) { by_formula(call, "l1_loss", "fabsf($self - $target)"); }
void smooth_l1(Call& call) {
  if (call.number("beta", 1) == 0) return l1(call);
  by_formula(call, "smooth_l1_loss",
             "fabsf($self - $target) < $beta=1.0 ? 0.5f * ($self - $target) * ($self - $target) / "
             "$beta=1.0 : fabsf($self - $target) - 0.5f * $beta=1.0");
}
void huber(Call& call) {
  by_formula(call, "huber_loss",
             "fabsf($self - $target) < $delta=1.0 ? 0.5f * ($self - $target) * ($self - $target) : "
             "$delta=1.0 * (fabsf($self - $target) - 0.5f * $delta=1.0)");
}
void kl_div(Call& call) {
  if (!call.flag("log_target", false)) call.to.keep_within(call.tensor("target"), 0, 1);
  by_formula(call, "kl_div",
             call.flag("log_target", false)
                 ? "expf($target) * ($target - $self)"
                 : "($target == 0.0f ? 0.0f : $target * logf($target)) - $target * $self");
}
void binary_cross_entropy(Call& call) {
  call.to.keep_within(call.tensor("self"), 0.01, 0.99);
  call.to.keep_within(call.tensor("target"), 0, 1);
  const std::string_view kFormula =
      "($target - 1.0f) * (log1pf(-$self) < -100.0f ? -100.0f : log1pf(-$self)) - $target * "
      "(logf($self) < -100.0f ? -100.0f : logf($self))";
  by_formula(call, "binary_cross_entropy",
             call.has("weight") ? fmt::format("({}) * $weight", kFormula) : std::string(kFormula));
}
void binary_cross_entropy_with_logits(Call& call) {
  const std::string_view kLogSigmoid =
      "(($self < 0.0f ? $self : 0.0f) - log1pf(expf(-fabsf($self))))";
  std::string formula = fmt::format(
      "(1.0f - $target) * $self - {}{}",
      call.has("pos_weight") ? "(($pos_weight - 1.0f) * $target + 1.0f) * " : "", kLogSigmoid);
  if (call.has("weight")) formula = fmt::format("({}) * $weight", formula);
  by_formula(call, "bce_with_logits", formula);
}
void soft_margin(Call& call) {
  by_formula(call, "soft_margin_loss", "log1pf(expf(-$target * $self))");
}
void hinge_embedding(Call& call) {
  by_formula(call, "hinge_embedding_loss",
             "($target != -1.0f ? $self : 0.0f) + ($target != 1.0f ? ($margin=1.0 - $self < 0.0f ? "
             "0.0f : $margin=1.0 - $self) : 0.0f)");
}
void margin_ranking(Call& call) {
  by_formula(call, "margin_ranking_loss",
             "-$target * ($input1 - $input2) + $margin=0.0 < 0.0f ? 0.0f : -$target * ($input1 - "
             "$input2) + $margin=0.0");
}

/// A loss for each row of several tensors of one shape, whose last dimension is the row.
struct Rows {
  std::vector<Tensor> operands;
  std::vector<Dim> shape;  ///< of the losses
  Dim length;
};

Rows rows_of(Call& call, const std::vector<std::string_view>& names) {
  Sizes& sizes = call.to.sizes;
  Rows rows;
  std::vector<Dim> whole;
  for (const std::string_view name : names) {
    rows.operands.push_back(call.tensor(name));
    whole = broadcast(sizes, whole, rows.operands.back().shape);
  }
  if (whole.empty()) refuse("has no rows");
  for (Tensor& tensor : rows.operands) tensor = expanded(sizes, tensor, whole);
  rows.length = whole.back();
  whole.pop_back();
  rows.shape = whole;
  return rows;
}

/// The losses: the result itself, or something between, of which total() makes the result.
Tensor losses_for(Call& call, const std::vector<Dim>& shape) {
  return reduction_of(call) == kNone ? call.make(shape) : call.between(call.type(), shape, "each");
}
void total(Call& call, const Tensor& losses) {
  if (reduction_of(call) != kNone) write_total(call, losses, reduction_of(call) == kMean);
}

void triplet_margin(Call& call) {
  const Rows rows = rows_of(call, {"anchor", "positive", "negative"});
  const double p = call.number("p", 2);
  if (p != 1 && p != 2) refuse("takes distances of order {}; hone has 1 and 2", p);
  const ScalarType type = call.type();
  const bool wide = type == ScalarType::kF64, swap = call.flag("swap", false);
  const std::string real(computed_in(type)), f = wide ? "" : "f";
  const Tensor losses = losses_for(call, rows.shape);
  Kernel kernel(call.to, "triplet_margin_loss", "One thread for each row.");
  const auto a = kernel.in("anchor", rows.operands[0]);
  const auto b = kernel.in("positive", rows.operands[1]);
  const auto c = kernel.in("negative", rows.operands[2]);
  const auto y = kernel.out("y", losses);
  const Indices at = kernel.each_element(losses);
  Indices in = at;
  in.emplace_back("j");
  const std::string eps = literal(call.number("eps", 1e-6), type);
  const Sum sum(kernel, type, call.to.sizes.value(rows.length));
  std::vector<std::array<std::string, 3>> pairs = {{"near", "va", "vb"}, {"far", "va", "vc"}};
  if (swap) pairs.push_back({"other", "vb", "vc"});
  for (const auto& [name, first, second] : pairs) sum.begin(name);
  kernel.loop("j", kernel.size("count", rows.length));
  kernel.line(fmt::format("{} va = {}, vb = {}, vc = {};", real, kernel.load(a, in),
                          kernel.load(b, in), kernel.load(c, in)));
  for (const auto& [name, first, second] : pairs) {
    const std::string d = fmt::format("({} - {} + {})", first, second, eps);
    kernel.line(p == 1 ? sum.add(name, fmt::format("fabs{}{}", f, d)) : sum.add(name, d, d));
  }
  kernel.end();
  const auto distance = [&](std::string_view name) {
    return p == 1 ? sum.value(name) : fmt::format("sqrt{}({})", f, sum.value(name));
  };
  kernel.line(fmt::format("{} away = {};", real, distance("far")));
  if (swap) {
    kernel.line(fmt::format("{} swapped = {};", real, distance("other")));
    kernel.line("if (swapped < away || swapped != swapped) away = swapped;");
  }
  kernel.line(fmt::format("{} loss = {} + {} - away;", real,
                          literal(call.number("margin", 1), type), distance("near")));
  kernel.store(y, at, stored_as(type, fmt::format("loss < {0} ? {0} : loss", literal(0, type))));
  kernel.launch();
  total(call, losses);
}

void cosine_embedding(Call& call) {
  const Rows rows = rows_of(call, {"input1", "input2"});
  const Tensor target = call.tensor("target");
  const ScalarType type = call.type();
  const std::string real(computed_in(type)), f = type == ScalarType::kF64 ? "" : "f";
  broadcast(call.to.sizes, rows.shape, target.shape);
  const Tensor losses = losses_for(call, rows.shape);
  Kernel kernel(call.to, "cosine_embedding_loss", "One thread for each row.");
  const auto a = kernel.in("x1", rows.operands[0]);
  const auto b = kernel.in("x2", rows.operands[1]);
  const auto t = kernel.in("target", expanded(call.to.sizes, target, rows.shape));
  const auto y = kernel.out("y", losses);
  const Indices at = kernel.each_element(losses);
  Indices in = at;
  in.emplace_back("j");
  const Sum sum(kernel, type, call.to.sizes.value(rows.length));
  for (const char* name : {"both", "first", "second"}) sum.begin(name);
  kernel.loop("j", kernel.size("count", rows.length));
  kernel.line(fmt::format("{} va = {}, vb = {};", real, kernel.load(a, in), kernel.load(b, in)));
  kernel.line(sum.add("both", "va", "vb"));
  kernel.line(sum.add("first", "va", "va"));
  kernel.line(sum.add("second", "vb", "vb"));
  kernel.end();
  const std::string eps = literal(1e-12, type), zero = literal(0, type);
  kernel.line(fmt::format("{} cosine = {} / sqrt{}(({} + {}) * ({} + {}));", real,
                          sum.value("both"), f, sum.value("first"), eps, sum.value("second"), eps));
  kernel.line(
      fmt::format("{} apart = cosine - {};", real, literal(call.number("margin", 0), type)));
  kernel.line(fmt::format("{} side = {};", real, converted(kernel.load(t, at), target.type, type)));
  kernel.store(
      y, at,
      stored_as(type, fmt::format("side == {1} ? {1} - cosine : side == -{1} ? (apart < {0} "
                                  "? {0} : apart) : {0}",
                                  zero, literal(1, type))));
  kernel.launch();
  total(call, losses);
}

/// What cross entropy and the negative log likelihood have in common: x[N, C, ...].
struct Classes {
  Tensor x;
  std::size_t axis = 0;
  Dim count;
  std::vector<Dim> shape;  ///< without the classes
  std::optional<Tensor> weight;
};

Classes classes_of(Call& call) {
  Classes classes;
  classes.x = call.tensor("self");
  if (classes.x.rank() == 0) refuse("has no classes");
  classes.axis = classes.x.rank() == 1 ? 0 : 1;
  classes.count = classes.x.shape[classes.axis];
  classes.shape = classes.x.shape;
  classes.shape.erase(classes.shape.begin() + static_cast<std::ptrdiff_t>(classes.axis));
  classes.weight = call.maybe_tensor("weight");
  if (classes.weight) call.to.sizes.unify(classes.weight->shape[0], classes.count);
  return classes;
}

Indices with_class(const Classes& classes, Indices at, const std::string& index) {
  at.insert(at.begin() + static_cast<std::ptrdiff_t>(classes.axis), index);
  return at;
}

/// "float total": the logarithm of the sum of all classes' exponentials.
void write_log_sum(Call& call, Kernel& kernel, const Classes& classes, Kernel::Operand x,
                   const Indices& at) {
  const ScalarType type = classes.x.type;
  const std::string f = type == ScalarType::kF64 ? "" : "f", real(computed_in(type));
  const std::string count = kernel.size("classes", classes.count);
  const std::string element = kernel.load(x, with_class(classes, at, "k"));
  kernel.line(fmt::format("{} largest = -INFINITY;", real));
  kernel.loop("k", count);
  kernel.line(fmt::format("largest = fmax{}(largest, {});", f, element));
  kernel.end();
  const Sum sum(kernel, type, call.to.sizes.value(classes.count));
  sum.begin("sum");
  kernel.loop("k", count);
  kernel.line(sum.add("sum", fmt::format("exp{}({} - largest)", f, element)));
  kernel.end();
  kernel.line(fmt::format("{} total = largest + log{}({});", real, f, sum.value("sum")));
}

/// Of class numbers; `logits`: x is not yet the logarithm of probabilities.
void write_by_class(Call& call, bool logits) {
  Sizes& sizes = call.to.sizes;
  const Classes classes = classes_of(call);
  const Tensor target = call.tensor("target");
  if (target.type != ScalarType::kI64) refuse("has classes of {}", torch_name(target.type));
  if (target.shape.size() != classes.shape.size()) refuse("has a target of another shape");
  for (std::size_t i = 0; i < target.shape.size(); ++i) {
    sizes.unify(target.shape[i], classes.shape[i]);
  }
  call.to.index_into(target, classes.count);
  const ScalarType type = classes.x.type;
  const double smoothing = logits ? call.number("label_smoothing", 0) : 0;
  const Reduction reduction = reduction_of(call);
  const Tensor losses = losses_for(call, classes.shape);
  std::optional<Tensor> weights;  // what a mean divides by
  if (reduction == kMean) weights = call.between(type, classes.shape, "weights");
  Kernel kernel(call.to, logits ? "cross_entropy" : "nll_loss", "One thread for each target.");
  const auto x = kernel.in("x", classes.x);
  const auto t = kernel.in("target", target);
  std::optional<Kernel::Operand> w, to_weights;
  if (classes.weight) w = kernel.in("weight", *classes.weight);
  const auto y = kernel.out("y", losses);
  if (weights) to_weights = kernel.out("weights", *weights);
  const Indices at = kernel.each_element(losses);
  const std::string real(computed_in(type)), zero = literal(0, type), one = literal(1, type);
  kernel.line(fmt::format("long long label = {};", kernel.load_raw(t, at)));
  kernel.line(fmt::format("{} loss = {}, weight_here = {};", real, zero, zero));
  kernel.begin(fmt::format("if (label != {})", call.whole("ignore_index", -100)));
  kernel.line(fmt::format("weight_here = {};", w ? kernel.load(*w, {"label"}) : one));
  if (logits) write_log_sum(call, kernel, classes, x, at);
  const std::string own = kernel.load(x, with_class(classes, at, "label"));
  kernel.line(logits ? fmt::format("loss = weight_here * (total - {});", own)
                     : fmt::format("loss = -weight_here * {};", own));
  if (smoothing != 0) {
    const Sum rest(kernel, type, sizes.value(classes.count));
    rest.begin("smooth");
    const std::string count = kernel.size("classes", classes.count);
    kernel.loop("k", count);
    const std::string term =
        fmt::format("(total - {})", kernel.load(x, with_class(classes, at, "k")));
    kernel.line(w ? rest.add("smooth", term, kernel.load(*w, {"k"})) : rest.add("smooth", term));
    kernel.end();
    kernel.line(fmt::format("loss = {} * loss + {} / {} * {};", literal(1 - smoothing, type),
                            literal(smoothing, type), count, rest.value("smooth")));
  }
  kernel.end();
  kernel.store(y, at, stored_as(type, "loss"));
  if (weights) kernel.store(*to_weights, at, stored_as(type, "weight_here"));
  kernel.launch();
  if (reduction == kSum) return write_total(call, losses, false);
  if (reduction == kNone) return;
  const Tensor sum = sum_of_all(call, losses, "sum"), by = sum_of_all(call, *weights, "by");
  Kernel last(call.to, "quotient", "");
  const auto above = last.in("sum", sum), below = last.in("by", by);
  const auto result = last.out("y", call.make({}));
  const Indices none = last.each_element(sum);
  last.store(
      result, none,
      stored_as(type, fmt::format("{} / {}", last.load(above, none), last.load(below, none))));
  last.launch();
}

/// Of a probability for each class.
void write_by_probabilities(Call& call) {
  Sizes& sizes = call.to.sizes;
  const Classes classes = classes_of(call);
  const Tensor target = call.tensor("target");
  if (target.rank() != classes.x.rank()) refuse("has probabilities of another shape");
  for (std::size_t i = 0; i < target.shape.size(); ++i) {
    sizes.unify(target.shape[i], classes.x.shape[i]);
  }
  const ScalarType type = classes.x.type;
  const double smoothing = call.number("label_smoothing", 0);
  const Tensor losses = losses_for(call, classes.shape);
  Kernel kernel(call.to, "cross_entropy_of", "One thread for each distribution.");
  const auto x = kernel.in("x", classes.x);
  const auto t = kernel.in("target", target);
  std::optional<Kernel::Operand> w;
  if (classes.weight) w = kernel.in("weight", *classes.weight);
  const auto y = kernel.out("y", losses);
  const Indices at = kernel.each_element(losses);
  write_log_sum(call, kernel, classes, x, at);
  const Sum sum(kernel, type, sizes.value(classes.count));
  sum.begin("loss");
  const std::string count = kernel.size("classes", classes.count);
  kernel.loop("k", count);
  const Indices in = with_class(classes, at, "k");
  std::string wanted = converted(kernel.load(t, in), target.type, type);
  if (smoothing != 0) {
    wanted = fmt::format("({} * {} + {} / {})", wanted, literal(1 - smoothing, type),
                         literal(smoothing, type), count);
  }
  std::string term = fmt::format("(total - {})", kernel.load(x, in));
  if (w) term = fmt::format("({} * {})", term, kernel.load(*w, {"k"}));
  kernel.line(sum.add("loss", term, wanted));
  kernel.end();
  kernel.store(y, at, stored_as(type, sum.value("loss")));
  kernel.launch();
  total(call, losses);
}

void cross_entropy(Call& call) {
  if (is_float(call.tensor("target").type)) return write_by_probabilities(call);
  write_by_class(call, true);
}
void nll(Call& call) { write_by_class(call, false); }

constexpr Operation kOperations[] = {
    {"aten.mse_loss.default", mse},
    {"aten.l1_loss.default", l1},
    {"aten.smooth_l1_loss.default", smooth_l1},
    {"aten.huber_loss.default", huber},
    {"aten.kl_div.default", kl_div},
    {"aten.binary_cross_entropy.default", binary_cross_entropy},
    {"aten.binary_cross_entropy_with_logits.default", binary_cross_entropy_with_logits},
    {"aten.soft_margin_loss.default", soft_margin},
    {"aten.hinge_embedding_loss.default", hinge_embedding},
    {"aten.margin_ranking_loss.default", margin_ranking},
    {"aten.triplet_margin_loss.default", triplet_margin},
    {"aten.cosine_embedding_loss.default", cosine_embedding},
    {"aten.cross_entropy_loss.default", cross_entropy},
    {"aten.nll_loss.default", nll},
    {"aten.nll_loss_nd.default", nll},
    {"aten.nll_loss2d.default", nll},
};

}  // namespace
}  // namespace losses

std::span<const Operation> loss_operations() { return losses::kOperations; }

}  // namespace hone::pytorch
