// Running sums and products: a thread for each row.
#include <fmt/format.h>

#include "candidates/pytorch/operations.h"
#include "candidates/pytorch/refusal.h"
#include "candidates/pytorch/sums.h"

namespace hone::pytorch {
namespace scans {
namespace {

void write_scan(Call& call, bool product) {
  Sizes& sizes = call.to.sizes;
  const Tensor from = call.tensor("self");
  const Tensor result = call.make(from.shape);
  if (from.rank() == 0) refuse("goes along a number");
  const auto axis = static_cast<std::size_t>(Call::axis(call.whole("dim"), from.rank()));
  Kernel kernel(call.to, product ? "cumprod" : "cumsum", "One thread for each row.");
  const auto x = kernel.in("x", from);
  const auto y = kernel.out("y", result);
  static const char* const kNames[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
  if (from.rank() > 8) refuse("has more than 8 dimensions");
  std::vector<std::pair<std::string, Dim>> rows;
  for (std::size_t i = 0; i < from.shape.size(); ++i) {
    rows.emplace_back(kNames[i], i == axis ? Dim(1) : from.shape[i]);
  }
  Indices at = kernel.each(rows);
  at[axis] = "j";
  const std::string count = kernel.size("count", from.shape[axis]);
  const Sum sum(kernel, result.type, sizes.value(from.shape[axis]));
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

void cumsum(Call& call) { write_scan(call, false); }
void cumprod(Call& call) { write_scan(call, true); }

constexpr Operation kOperations[] = {
    {"aten.cumsum.default", cumsum},
    {"aten.cumprod.default", cumprod},
};

}  // namespace
}  // namespace scans

std::span<const Operation> scan_operations() { return scans::kOperations; }

}  // namespace hone::pytorch
