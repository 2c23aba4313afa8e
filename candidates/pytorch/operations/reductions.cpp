// Operators that make one number of many along some dimensions: a thread for each result, a loop
// over the rest. Where results are few and terms many, a first kernel makes parts.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "candidates/pytorch/operations.h"
#include "candidates/pytorch/operations/reduced.h"
#include "candidates/pytorch/refusal.h"
#include "candidates/pytorch/sums.h"

namespace hone::pytorch {

Reduced reduced(const Sizes& sizes, const Tensor& tensor, const std::vector<int>& axes) {
  Reduced result;
  result.kept = tensor;
  result.gone = tensor;
  for (Tensor* part : {&result.kept, &result.gone}) {
    part->shape.clear();
    part->strides.clear();
  }
  for (int i = 0; i < tensor.rank(); ++i) {
    const bool goes = std::ranges::find(axes, i) != axes.end();
    Tensor& part = goes ? result.gone : result.kept;
    part.shape.push_back(tensor.shape[static_cast<std::size_t>(i)]);
    part.strides.push_back(tensor.strides[static_cast<std::size_t>(i)]);
  }
  merge_dimensions(sizes, {&result.kept});
  merge_dimensions(sizes, {&result.gone});
  result.all = tensor;
  result.all.shape = result.kept.shape;
  result.all.strides = result.kept.strides;
  result.all.shape.insert(result.all.shape.end(), result.gone.shape.begin(),
                          result.gone.shape.end());
  result.all.strides.insert(result.all.strides.end(), result.gone.strides.begin(),
                            result.gone.strides.end());
  return result;
}

std::vector<Dim> reduced_shape(const Tensor& tensor, const std::vector<int>& axes, bool keep) {
  std::vector<Dim> shape;
  for (int i = 0; i < tensor.rank(); ++i) {
    const bool goes = std::ranges::find(axes, i) != axes.end();
    if (!goes) shape.push_back(tensor.shape[static_cast<std::size_t>(i)]);
    if (goes && keep) shape.emplace_back(1);
  }
  return shape;
}

bool goes_in_parts(const Sizes& sizes, const Reduced& reduced) {
  return sizes.value(reduced.kept.elements()) < kFewResults &&
         sizes.value(reduced.gone.elements()) >= kManyTerms;
}

Indices loop_over(Kernel& kernel, const Reduced& reduced, std::size_t first, int& open) {
  static const char* const kNames[] = {"j", "k", "l", "p", "q", "r", "s", "t"};
  Indices at;
  for (std::size_t i = first; i < reduced.gone.shape.size(); ++i) {
    if (reduced.gone.shape[i] == Dim(1)) {
      at.emplace_back("0");
      continue;
    }
    const std::string extent =
        kernel.size(i == 0 ? "count" : fmt::format("count{}", i), reduced.gone.shape[i]);
    kernel.loop(kNames[i], extent);
    at.emplace_back(kNames[i]);
    ++open;
  }
  return at;
}

Indices digits_of(Kernel& kernel, const Reduced& reduced, const std::string& flat) {
  Indices at(reduced.gone.shape.size());
  std::string below;
  for (std::size_t i = at.size(); i-- > 0;) {
    const std::string extent = kernel.size(fmt::format("count{}", i), reduced.gone.shape[i]);
    at[i] = below.empty() ? flat : fmt::format("{} / ({})", flat, below);
    if (i > 0) at[i] = fmt::format("{} % {}", at[i], extent);
    if (at.size() > 1) at[i] = "(" + at[i] + ")";
    below = below.empty() ? extent : fmt::format("{} * {}", extent, below);
  }
  return at;
}

namespace reductions {
namespace {

/// How terms become one number. `$v` is a term, `$r` the result so far.
struct Reduction {
  std::string_view name;
  std::string_view first;  ///< a formula of the type: "0", "-INFINITY"
  std::string_view term;   ///< what is added of `$v`
  std::string_view step;   ///< "" for sums: "$r += term"
  bool as_is = false;      ///< `$v` is of the input's type, else of the result's
};

std::string put(std::string_view formula, std::string_view what, std::string_view value) {
  std::string text(formula);
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + value.size())) {
    text.replace(at, what.size(), value);
  }
  return text;
}

constexpr Reduction kSum{"sum", "0", "$v", ""};
constexpr Reduction kNumbers{"nansum", "0", "$v == $v ? $v : 0", ""};
constexpr Reduction kCount{"count_nonzero", "0", "$v != 0 ? 1 : 0", "", true};
constexpr Reduction kProduct{"product", "1", "$v", "$r *= $v;"};
// NaN stays, once it is there: no later element is more than it.
constexpr Reduction kLargest{"largest", "-INFINITY", "$v", "$r = $v > $r || $v != $v ? $v : $r;"};
constexpr Reduction kSmallest{"smallest", "INFINITY", "$v", "$r = $v < $r || $v != $v ? $v : $r;"};
constexpr Reduction kLargestSize{"norm_inf", "0", "fabsf($v)",
                                 "$r = $v > $r || $v != $v ? $v : $r;"};
constexpr Reduction kAny{"any", "0", "$v", "if ($v) $r = 1;"};
constexpr Reduction kAll{"all", "1", "$v", "if (!$v) $r = 0;"};

struct Finish {
  std::string_view formula = "$r";  ///< what is made of the reduced number
  bool is_mean = false;
};

/// The operator's extreme, as integers have no infinity.
std::string first_of(const Reduction& reduction, ScalarType type) {
  if (reduction.first == "-INFINITY" || reduction.first == "INFINITY") {
    const bool low = reduction.first.starts_with('-');
    if (is_float(type)) return std::string(reduction.first);
    if (type == ScalarType::kI64)
      return low ? "(-9223372036854775807ll - 1)" : "9223372036854775807ll";
    if (type == ScalarType::kI32) return low ? "(-2147483647 - 1)" : "2147483647";
    if (type == ScalarType::kI8) return low ? "-128" : "127";
    if (type == ScalarType::kU8) return low ? "0" : "255";
    return low ? "0" : "1";
  }
  return std::string(reduction.first);
}

void step(Kernel& kernel, const Reduction& reduction, const Sum& sum, const std::string& loaded,
          ScalarType type) {
  if (reduction.step.empty()) {
    const std::string term = put(reduction.term, "$v", "v");
    if (reduction.term == "$v") {
      kernel.line(sum.add("result", loaded));
    } else {
      const bool longer = sum.is_long() && !reduction.as_is;
      kernel.line(fmt::format("{} v = {};", longer ? sum.type() : computed_in(type), loaded));
      const bool wide = sum.is_long() || type == ScalarType::kF64;
      kernel.line(fmt::format("result += {};", wide ? put(term, "fabsf", "fabs") : term));
    }
    return;
  }
  kernel.line(fmt::format("{} v = {};", computed_in(type), loaded));
  std::string text = put(put(reduction.step, "$v", put(reduction.term, "$v", "v")), "$r", "result");
  if (!is_float(type)) text = put(text, " || v != v", "");
  if (type == ScalarType::kF64) text = put(text, "fabsf", "fabs");
  kernel.line(text);
}

void write_reduction(Call& call, const Tensor& from, const std::vector<int>& axes,
                     const Reduction& reduction, const Finish& finish, bool keep,
                     const std::optional<Tensor>& into = std::nullopt) {
  Sizes& sizes = call.to.sizes;
  const Reduced parts = reduced(sizes, from, axes);
  const Tensor result = into ? *into : call.make(reduced_shape(from, axes, keep));
  Tensor flat_result = result;  // with the dimensions that are kept, merged like the input's
  flat_result.shape = parts.kept.shape;
  flat_result.strides = dense_strides(parts.kept.shape);
  const std::int64_t terms = sizes.value(parts.gone.elements());
  const bool is_sum = reduction.step.empty();
  // PyTorch converts before it adds: bools and short integers to i64, and what `dtype` says.
  const bool converts = is_sum || reduction.name == kProduct.name;
  const ScalarType type = converts ? result.type : from.type;
  const ScalarType term_type = reduction.as_is ? from.type : type;
  const bool in_parts = is_sum && goes_in_parts(sizes, parts);
  const auto begin = [&](Kernel& kernel, const Sum& sum) {
    if (is_sum) {
      sum.begin("result");
    } else {
      kernel.line(fmt::format("{} result = {};",
                              computed_in(type == ScalarType::kBool ? ScalarType::kI32 : type),
                              first_of(reduction, type)));
    }
  };
  const auto finished = [&](Kernel& kernel, std::string value) {
    if (finish.is_mean) {
      const std::string count = kernel.size("terms", parts.gone.elements());
      value = fmt::format("{} / {}", value, count);
    }
    std::string text = put(finish.formula, "$r", value);
    if (result.type == ScalarType::kF64) text = put(put(text, "sqrtf", "sqrt"), "fabsf", "fabs");
    return stored_as(result.type, text);
  };
  std::optional<Tensor> partial;
  if (in_parts) {
    std::vector<Dim> shape = parts.kept.shape;
    shape.emplace_back(kParts);
    const ScalarType wide = is_float(type) ? ScalarType::kF64 : ScalarType::kI64;
    partial = call.between(wide, shape, "parts");
    Kernel kernel(call.to, fmt::format("{}_of_parts", reduction.name),
                  "One thread for each part of what becomes one result.");
    const auto x = kernel.in("x", parts.all);
    const auto out = kernel.out("parts", *partial);
    Indices at = kernel.each_element(*partial);
    const std::string part = at.back();
    const std::string count = kernel.size("terms", parts.gone.elements());
    const std::string each = kernel.size("each", sizes.ceil_div(parts.gone.elements(), kParts));
    const Sum sum(kernel, type, kLongSum);
    sum.begin("result");
    kernel.loop("j", each);
    kernel.line(fmt::format("{} term = {} * {} + j;", kernel.index_type(), part, each));
    kernel.begin(fmt::format("if (term < {})", count));
    Indices in = at;
    in.pop_back();
    for (const std::string& index : digits_of(kernel, parts, "term")) in.push_back(index);
    step(kernel, reduction, sum, kernel.load(x, in), term_type);
    kernel.end();
    kernel.end();
    kernel.store(out, at, "result");
    kernel.launch();
  }
  Kernel kernel(call.to, std::string(reduction.name), "One thread for each result.");
  const auto x = kernel.in("x", partial ? *partial : parts.all);
  const auto y = kernel.out("y", flat_result);
  Indices at = kernel.each_element(flat_result);
  const Sum sum(kernel, partial && is_float(type) ? ScalarType::kF64 : type, partial ? 0 : terms,
                kLongReduction);
  begin(kernel, sum);
  int open = 0;
  Indices in = at;
  if (partial) {
    kernel.loop("j", fmt::format("{}", kParts));
    ++open;
    in.emplace_back("j");
    kernel.line(sum.add("result", kernel.load(x, in)));
  } else {
    for (const std::string& index : loop_over(kernel, parts, 0, open)) in.push_back(index);
    step(kernel, reduction, sum, kernel.load(x, in), term_type);
  }
  while (open-- > 0) kernel.end();
  std::string value = partial && is_float(type) && type != ScalarType::kF64 ? "(float)result"
                      : is_sum                                              ? sum.value("result")
                                                                            : "result";
  kernel.store(y, at, finished(kernel, value));
  kernel.launch();
}

void over(Call& call, const Reduction& reduction, const Finish& finish = {}) {
  const Tensor from = call.tensor("self");
  write_reduction(call, from, call.axes("dim", from.rank()), reduction, finish,
                  call.flag("keepdim", false));
}

void total(Call& call, const Tensor& from, bool mean, const std::optional<Tensor>& into) {
  std::vector<int> axes;
  for (int i = 0; i < from.rank(); ++i) axes.push_back(i);
  Finish finish;
  finish.is_mean = mean;
  write_reduction(call, from, axes, kSum, finish, false, into);
}

void sum(Call& call) { over(call, kSum); }
void mean(Call& call) {
  Finish finish;
  finish.is_mean = true;
  over(call, kSum, finish);
}
void product(Call& call) { over(call, kProduct); }
void largest(Call& call) { over(call, kLargest); }
void smallest(Call& call) { over(call, kSmallest); }
void any(Call& call) { over(call, kAny); }
void all(Call& call) { over(call, kAll); }

void nansum(Call& call) { over(call, kNumbers); }
void count_nonzero(Call& call) { over(call, kCount); }

/// The smallest and the largest element.
void aminmax(Call& call) {
  const Tensor from = call.tensor("self");
  const auto axes = call.axes("dim", from.rank());
  const bool keep = call.flag("keepdim", false);
  for (const std::size_t i : {0, 1}) {
    if (!call.is_used(i)) continue;
    const Tensor result = call.make(reduced_shape(from, axes, keep), i);
    write_reduction(call, from, axes, i == 0 ? kSmallest : kLargest, {}, keep, result);
  }
}

/// The sum of the elements with two equal indices.
void trace(Call& call) {
  Tensor diagonal = call.tensor("self");
  if (diagonal.rank() != 2) refuse("has {} dimensions", diagonal.rank());
  Sizes& sizes = call.to.sizes;
  const Dim rows = diagonal.shape[0], columns = diagonal.shape[1];
  if (!sizes.same(rows, columns)) {
    sizes.freeze(rows);
    sizes.freeze(columns);
  }
  diagonal.shape = {sizes.value(rows) < sizes.value(columns) ? rows : columns};
  diagonal.strides = {diagonal.strides[0] + diagonal.strides[1]};
  write_reduction(call, diagonal, {0}, kSum, {}, false);
}

/// ||x||_p over some dimensions.
void write_norm(Call& call, const Tensor& from, double p, const std::vector<int>& axes) {
  const bool keep = call.flag("keepdim", false);
  Finish finish;
  if (p == 2) {
    finish.formula = "sqrtf($r)";
    return write_reduction(call, from, axes, {"norm2", "0", "$v * $v", ""}, finish, keep);
  }
  if (p == 1)
    return write_reduction(call, from, axes, {"norm1", "0", "fabsf($v)", ""}, finish, keep);
  if (p == std::numeric_limits<double>::infinity())
    return write_reduction(call, from, axes, kLargestSize, finish, keep);
  refuse("takes the norm of order {}; hone has 1, 2 and infinity", p);
}

void norm(Call& call) {
  const Tensor from = call.tensor("self");
  write_norm(call, from, call.number(call.has("ord") ? "ord" : "p", 2),
             call.axes("dim", from.rank()));
}

/// Without an order all elements are one vector; with one, two dimensions are a matrix, whose norms
/// hone does not have.
void linalg_norm(Call& call) {
  const Tensor from = call.tensor("self");
  const auto axes = call.axes("dim", from.rank());
  if (call.has("ord") && axes.size() > 1) refuse("takes the norm of a matrix");
  write_norm(call, from, call.number("ord", 2), axes);
}

void matrix_norm(Call& call) {
  const Tensor from = call.tensor("self");
  if (call.text("ord", "fro") != "fro") refuse("takes the norm '{}'", call.text("ord", ""));
  std::vector<int> axes;
  for (const std::int64_t axis :
       call.has("dim") ? call.wholes("dim") : std::vector<std::int64_t>{-2, -1})
    axes.push_back(Call::axis(axis, from.rank()));
  std::ranges::sort(axes);
  write_norm(call, from, 2, axes);
}

/// ||self - other||_p of all elements.
void dist(Call& call) {
  const Tensor difference = write_pointwise_between(call, "difference", "$self - $other");
  write_norm(call, difference, call.number("p", 2), call.axes("dim", difference.rank()));
}

/// The extreme and where it is, the first of equal ones.
void extreme_and_place(Call& call, bool largest, std::size_t value_result,
                       std::size_t place_result) {
  Sizes& sizes = call.to.sizes;
  Tensor from = call.tensor("self");
  std::vector<int> axes;
  if (call.has("dim")) {
    axes.push_back(Call::axis(call.whole("dim"), from.rank()));
  } else {
    for (int i = 0; i < from.rank(); ++i) axes.push_back(i);
  }
  if (axes.size() > 1) from = call.to.dense(from);  // places are of the elements in a row
  const Reduced parts = reduced(sizes, from, axes);
  if (parts.gone.shape.size() > 1) refuse("flattens what does not lie in one row");
  const auto shape = reduced_shape(from, axes, call.flag("keepdim", false));
  const auto flat = [&](Tensor tensor) {
    tensor.shape = parts.kept.shape;
    tensor.strides = dense_strides(parts.kept.shape);
    return tensor;
  };
  const bool wants_value = value_result < call.results() && call.is_used(value_result);
  const bool wants_place = place_result < call.results() && call.is_used(place_result);
  if (!wants_value && !wants_place) return;
  Kernel kernel(call.to, largest ? "largest_of" : "smallest_of",
                "The first of the extreme elements.");
  const auto x = kernel.in("x", parts.all);
  std::optional<Kernel::Operand> value, place;
  const Tensor like =
      flat(wants_value ? call.make(shape, value_result) : call.make(shape, place_result));
  if (wants_value) value = kernel.out("values", like);
  if (wants_place) {
    place = kernel.out("places", wants_value ? flat(call.make(shape, place_result)) : like);
  }
  Indices at = kernel.each_element(like);
  Indices first = at, now = at;
  for (const Dim& extent : parts.gone.shape) {
    static_cast<void>(extent);
    first.emplace_back("0");
    now.emplace_back("j");
  }
  kernel.line(fmt::format("{} best = {};", computed_in(from.type), kernel.load(x, first)));
  kernel.line(fmt::format("{} where = 0;", kernel.index_type()));
  if (!parts.gone.shape.empty() && sizes.value(parts.gone.shape[0]) > 1) {
    kernel.loop("j", kernel.size("count", parts.gone.shape[0]), "1");
    kernel.line(fmt::format("{} v = {};", computed_in(from.type), kernel.load(x, now)));
    // The first NaN is more, and less, than any number.
    kernel.begin(fmt::format("if (v {} best{})", largest ? ">" : "<",
                             is_float(from.type) ? " || (v != v && best == best)" : ""));
    kernel.line("best = v;");
    kernel.line("where = j;");
    kernel.end();
    kernel.end();
  }
  if (value) kernel.store(*value, at, stored_as(from.type, "best"));
  if (place) kernel.store(*place, at, "where");
  kernel.launch();
}

constexpr std::size_t kNone = 9;
void max_along(Call& call) { extreme_and_place(call, true, 0, 1); }
void min_along(Call& call) { extreme_and_place(call, false, 0, 1); }
void argmax(Call& call) { extreme_and_place(call, true, kNone, 0); }
void argmin(Call& call) { extreme_and_place(call, false, kNone, 0); }

constexpr Operation kOperations[] = {
    {"aten.sum.default", sum},
    {"aten.sum.dim_IntList", sum},
    {"aten.mean.default", mean},
    {"aten.mean.dim", mean},
    {"aten.prod.default", product},
    {"aten.prod.dim_int", product},
    {"aten.amax.default", largest},
    {"aten.amin.default", smallest},
    {"aten.max.default", largest},
    {"aten.min.default", smallest},
    {"aten.any.default", any},
    {"aten.any.dim", any},
    {"aten.any.dims", any},
    {"aten.all.default", all},
    {"aten.all.dim", all},
    {"aten.all.dims", all},
    {"aten.max.dim", max_along},
    {"aten.min.dim", min_along},
    {"aten.argmax.default", argmax},
    {"aten.argmin.default", argmin},
    {"aten.nansum.default", nansum},
    {"aten.count_nonzero.default", count_nonzero},
    {"aten.count_nonzero.dim_IntList", count_nonzero},
    {"aten.aminmax.default", aminmax},
    {"aten.trace.default", trace},
    {"aten.dist.default", dist},
    {"aten.linalg_norm.default", linalg_norm},
    {"aten.linalg_matrix_norm.str_ord", matrix_norm},
    {"aten.linalg_vector_norm.default", norm},
    {"aten.norm.ScalarOpt_dim", norm},
    {"aten.norm.Scalar", norm},
    {"aten.frobenius_norm.dim", norm},
};

}  // namespace
}  // namespace reductions

void write_total(Call& call, const Tensor& from, bool mean) {
  reductions::total(call, from, mean, std::nullopt);
}

Tensor sum_of_all(Call& call, const Tensor& from, std::string_view what) {
  const Tensor into = call.between(from.type, {}, what);
  reductions::total(call, from, false, into);
  return into;
}

std::span<const Operation> reduction_operations() { return reductions::kOperations; }

}  // namespace hone::pytorch
