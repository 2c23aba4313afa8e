// Operators that draw at random. The draw is the caller's: a buffer of the task, named after the
// node. So a task computes the same every time, and can be compared with a recorded run.
#include <fmt/format.h>

#include "candidates/pytorch/operations.h"
#include "candidates/pytorch/refusal.h"

namespace hone::pytorch {
namespace drawing {
namespace {

Tensor drawn(Call& call, ScalarType type, const std::vector<Dim>& shape,
             const nlohmann::json& fill) {
  BufferText buffer;
  buffer.name = call.name();
  buffer.type = type;
  buffer.role = Role::kIn;
  buffer.shape = shape;
  buffer.fill = fill;
  return call.to.draw(buffer);
}

std::vector<Dim> said_shape(Call& call) {
  std::vector<Dim> shape;
  for (const std::int64_t extent : call.extents()) {
    shape.push_back(call.to.sizes.fresh(fmt::format("{}_size", call.name()), extent));
  }
  return shape;
}

/// Live: times a draw that is 1 / (1 - p) where an element is kept, else 0.
void dropout(Call& call) {
  const Tensor from = call.tensor(call.has("input") ? "input" : "self");
  const double p = call.number("p");
  if (!call.flag("train", true) || p == 0) return call.give(from);
  const Tensor keep = drawn(call, ScalarType::kF32, from.shape, {{"uniform", {0, 2}}});
  const Tensor result = call.make(from.shape);
  Tensor x_all = from, keep_all = keep, y_all = result;
  merge_dimensions(call.to.sizes, {&x_all, &keep_all, &y_all});
  Kernel kernel(call.to, "dropout", "keep is 1 / (1 - p) or 0.");
  const auto x = kernel.in("x", x_all);
  const auto k = kernel.in("keep", keep_all);
  const auto y = kernel.out("y", y_all);
  const Indices at = kernel.each_element(y_all);
  kernel.store(
      y, at,
      stored_as(result.type, fmt::format("{} * {}", kernel.load(x, at), kernel.load(k, at))));
  kernel.launch();
}

/// With a second result: which elements are kept.
void native_dropout(Call& call) {
  const Tensor from = call.tensor("input");
  const double p = call.number("p");
  const bool live = call.flag("train", true) && p != 0;
  if (call.is_used(1) || !live) {
    if (call.is_used(1)) refuse("gives a mask that something reads; hone has the result alone");
    return call.give(from);
  }
  dropout(call);
}

/// Other kinds are there while they do nothing.
void dropout_of_another_kind(Call& call) {
  if (call.flag("train", true) && call.number("p") != 0) {
    refuse("draws at random in a way that hone does not have; export the module in eval mode");
  }
  call.give(call.tensor(call.has("input") ? "input" : "self"));
}

nlohmann::json standard_normal() { return {{"normal", {0, 1}}}; }
nlohmann::json zero_to_one() { return {{"uniform", {0, 1}}}; }
nlohmann::json zero_or_one() { return {{"integers", {0, 1}}}; }

void randn(Call& call) { call.give(drawn(call, call.type(), said_shape(call), standard_normal())); }
void rand(Call& call) { call.give(drawn(call, call.type(), said_shape(call), zero_to_one())); }
void randn_like(Call& call) {
  call.give(drawn(call, call.type(), call.tensor("self").shape, standard_normal()));
}
void rand_like(Call& call) {
  call.give(drawn(call, call.type(), call.tensor("self").shape, zero_to_one()));
}
void bernoulli(Call& call) {
  call.give(drawn(call, call.type(), call.tensor("self").shape, zero_or_one()));
}

constexpr Operation kOperations[] = {
    {"aten.dropout.default", dropout},
    {"aten.native_dropout.default", native_dropout},
    {"aten.feature_dropout.default", dropout_of_another_kind},
    {"aten.alpha_dropout.default", dropout_of_another_kind},
    {"aten.randn.default", randn},
    {"aten.rand.default", rand},
    {"aten.randn_like.default", randn_like},
    {"aten.rand_like.default", rand_like},
    {"aten.bernoulli.default", bernoulli},
    {"aten.bernoulli.p", bernoulli},
    {"aten.bernoulli.float", bernoulli},
};

}  // namespace
}  // namespace drawing

std::span<const Operation> random_operations() { return drawing::kOperations; }

}  // namespace hone::pytorch
