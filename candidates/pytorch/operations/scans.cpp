// Running sums, products and extremes: a thread for each row.
#include <fmt/format.h>

#include <algorithm>

#include "candidates/pytorch/operations.h"
#include "candidates/pytorch/refusal.h"
#include "candidates/pytorch/sums.h"

namespace hone::pytorch {
namespace scans {
namespace {

/// A thread for each row; `at` is the index of an element, with "j" along the row.
struct Rows {
  Indices at;
  std::string count;
};

Rows each_row(Call& call, Kernel& kernel, const Tensor& from) {
  static const char* const kNames[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
  if (from.rank() == 0) refuse("goes along a number");
  if (from.rank() > 8) refuse("has more than 8 dimensions");
  const auto axis = static_cast<std::size_t>(Call::axis(call.whole("dim"), from.rank()));
  std::vector<std::pair<std::string, Dim>> extents;
  for (std::size_t i = 0; i < from.shape.size(); ++i) {
    extents.emplace_back(kNames[i], i == axis ? Dim(1) : from.shape[i]);
  }
  Rows rows{kernel.each(extents), kernel.size("count", from.shape[axis])};
  rows.at[axis] = "j";
  return rows;
}

void write_scan(Call& call, bool product) {
  const Tensor from = call.tensor("self");
  const Tensor result = call.make(from.shape);
  Kernel kernel(call.to, product ? "cumprod" : "cumsum", "One thread for each row.");
  const auto x = kernel.in("x", from);
  const auto y = kernel.out("y", result);
  const auto [at, count] = each_row(call, kernel, from);
  const auto axis = static_cast<std::size_t>(Call::axis(call.whole("dim"), from.rank()));
  const Sum sum(kernel, result.type, call.to.sizes.value(from.shape[axis]));
  if (product) {
    kernel.line(fmt::format("{} result = 1;", sum.type()));
  } else {
    sum.begin("result");
  }
  kernel.loop("j", count);
  const std::string element = converted(kernel.load(x, at), from.type, result.type);
  kernel.line(product ? fmt::format("result *= {};", element) : sum.add("result", element));
  kernel.store(y, at, stored_as(result.type, sum.value("result")));
  kernel.end();
  kernel.launch();
}

/// The extreme so far and where it is: the last of equal ones, and of NaNs.
void write_extreme(Call& call, bool largest) {
  const Tensor from = call.tensor("self");
  const Tensor result = call.make(from.shape);
  Kernel kernel(call.to, largest ? "cummax" : "cummin", "One thread for each row.");
  const auto x = kernel.in("x", from);
  const auto y = kernel.out("y", result);
  std::optional<Kernel::Operand> places;
  if (call.is_used(1)) places = kernel.out("places", call.make(from.shape, 1));
  const auto [at, count] = each_row(call, kernel, from);
  Indices first = at;
  std::ranges::replace(first, "j", "0");
  const std::string type(computed_in(from.type));
  kernel.line(fmt::format("{} best = {};", type, kernel.load(x, first)));
  if (places) kernel.line(fmt::format("{} where = 0;", kernel.index_type()));
  kernel.loop("j", count);
  kernel.line(fmt::format("{} v = {};", type, kernel.load(x, at)));
  const std::string nan = is_float(from.type) ? " || v != v" : "";
  if (places) {
    kernel.begin(fmt::format("if (v {} best{})", largest ? ">=" : "<=", nan));
    kernel.line("best = v;");
    kernel.line("where = j;");
    kernel.end();
    kernel.store(*places, at, "where");
  } else {
    kernel.line(fmt::format("best = v {} best{} ? v : best;", largest ? ">" : "<", nan));
  }
  kernel.store(y, at, stored_as(from.type, "best"));
  kernel.end();
  kernel.launch();
}

/// log of the sum of exp so far, beside a running maximum.
void logcumsumexp(Call& call) {
  const Tensor from = call.tensor("self");
  if (!is_float(from.type)) refuse("has whole numbers");
  const Tensor result = call.make(from.shape);
  Kernel kernel(call.to, "logcumsumexp", "One thread for each row.");
  const auto x = kernel.in("x", from);
  const auto y = kernel.out("y", result);
  const auto [at, count] = each_row(call, kernel, from);
  const std::string type(computed_in(from.type)), f = from.type == ScalarType::kF64 ? "" : "f";
  kernel.line(fmt::format("{0} largest = -INFINITY, sum = {1};", type, literal(0, from.type)));
  kernel.loop("j", count);
  kernel.line(fmt::format("{} v = {};", type, kernel.load(x, at)));
  kernel.begin("if (v > largest)");
  kernel.line(fmt::format("sum = sum * exp{}(largest - v) + {};", f, literal(1, from.type)));
  kernel.line("largest = v;");
  kernel.end();
  // Nothing is added by exp(-infinity), of which the difference may be NaN.
  kernel.begin("else if (v != -INFINITY)");
  kernel.line(
      fmt::format("sum += v == largest ? {} : exp{}(v - largest);", literal(1, from.type), f));
  kernel.end();
  kernel.store(y, at, stored_as(from.type, fmt::format("largest + log{}(sum)", f)));
  kernel.end();
  kernel.launch();
}

void cumsum(Call& call) { write_scan(call, false); }
void cumprod(Call& call) { write_scan(call, true); }
void cummax(Call& call) { write_extreme(call, true); }
void cummin(Call& call) { write_extreme(call, false); }

constexpr Operation kOperations[] = {
    {"aten.cumsum.default", cumsum},
    {"aten.cumprod.default", cumprod},
    {"aten.cummax.default", cummax},
    {"aten.cummin.default", cummin},
    {"aten.logcumsumexp.default", logcumsumexp},
};

}  // namespace
}  // namespace scans

std::span<const Operation> scan_operations() { return scans::kOperations; }

}  // namespace hone::pytorch
