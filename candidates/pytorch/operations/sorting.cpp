// Operators that order elements: a thread for each element counts how many come before it, which is
// its place.
#include <fmt/format.h>

#include "candidates/pytorch/operations.h"
#include "candidates/pytorch/refusal.h"

namespace hone::pytorch {
namespace sorting {
namespace {

/// Ascending or descending; equal ones keep their order. NaN is more than any number.
struct Order {
  bool descending = false;
};

/// Whether `a` comes before `b`, both expressions, wherever they stand.
std::string comes_before(const std::string& a, const std::string& b, ScalarType type, Order order) {
  const std::string more = order.descending ? ">" : "<";
  if (!is_float(type)) return fmt::format("{} {} {}", a, more, b);
  return order.descending ? fmt::format("({0} > {1} || ({0} != {0} && {1} == {1}))", a, b)
                          : fmt::format("({0} < {1} || ({1} != {1} && {0} == {0}))", a, b);
}

/// The first `kept` of the order along an axis, which is the result's extent there: values, and
/// their places before.
void write_order(Call& call, Order order, const Dim& kept, std::size_t value_result,
                 std::size_t place_result) {
  const Tensor from = call.tensor("self");
  const bool wants_values = call.is_used(value_result), wants_places = call.is_used(place_result);
  if (from.rank() == 0) refuse("orders a number");
  const auto axis = static_cast<std::size_t>(Call::axis(call.whole("dim", -1), from.rank()));
  std::vector<Dim> shape = from.shape;
  shape[axis] = kept;
  Kernel kernel(call.to, order.descending ? "largest_first" : "smallest_first",
                "One thread for each element counts those that come before it.");
  const auto x = kernel.in("x", from);
  std::optional<Kernel::Operand> values, places;
  if (wants_values) values = kernel.out("values", call.make(shape, value_result));
  if (wants_places) places = kernel.out("places", call.make(shape, place_result));
  if (!values && !places) return;
  const Indices at = kernel.each_element(from);
  const std::string count = kernel.size("count", from.shape[axis]);
  const bool all = call.to.sizes.same(kept, from.shape[axis]);
  const std::string type(computed_in(from.type));
  kernel.line(fmt::format("{} v = {};", type, kernel.load(x, at)));
  kernel.line(fmt::format("{} place = 0;", kernel.index_type()));
  kernel.loop("j", count);
  Indices other = at;
  other[axis] = "j";
  kernel.line(fmt::format("{} w = {};", type, kernel.load(x, other)));
  kernel.line(fmt::format("bool before = {};", comes_before("w", "v", from.type, order)));
  kernel.line(fmt::format("bool after = {};", comes_before("v", "w", from.type, order)));
  kernel.line(fmt::format("if (before || (!after && j < {})) place++;", at[axis]));
  kernel.end();
  if (!all) kernel.line(fmt::format("if (place >= {}) return;", kernel.size("kept", kept)));
  Indices to = at;
  // An axis of one element has no index.
  if (at[axis] != "0") to[axis] = "place";
  if (values) kernel.store(*values, to, kernel.load_raw(x, at));
  if (places) kernel.store(*places, to, at[axis]);
  kernel.launch();
}

Dim whole_axis(const Call& call) {
  const Tensor from = call.tensor("self");
  if (from.rank() == 0) refuse("orders a number");
  return from.shape[static_cast<std::size_t>(Call::axis(call.whole("dim", -1), from.rank()))];
}

void sort(Call& call) {
  write_order(call, {call.flag("descending", false)}, whole_axis(call), 0, 1);
}

void argsort(Call& call) {
  constexpr std::size_t kNone = 9;
  write_order(call, {call.flag("descending", false)}, whole_axis(call), kNone, 0);
}

void topk(Call& call) {
  const std::int64_t k = call.whole("k"), all = call.to.sizes.value(whole_axis(call));
  if (k < 1 || k > all) refuse("takes {} of {} elements", k, all);
  // As many are there at every size.
  call.to.sizes.freeze(whole_axis(call));
  write_order(call, {call.flag("largest", true)}, k, 0, 1);
}

constexpr Operation kOperations[] = {
    {"aten.sort.default", sort},       {"aten.sort.stable", sort},
    {"aten.argsort.default", argsort}, {"aten.argsort.stable", argsort},
    {"aten.topk.default", topk},
};

}  // namespace
}  // namespace sorting

std::span<const Operation> sorting_operations() { return sorting::kOperations; }

}  // namespace hone::pytorch
