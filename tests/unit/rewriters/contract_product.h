// A matrix product as a nest, for tests of generate-contract.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "rewriters/schedules/contract/contract.h"
#include "tests/unit/rewriters/generator_harness.h"

namespace hone::schedules {

using nest::Op;
using nest::Ref;
using nest::SymbolId;

struct Shape {
  std::int64_t m = 1, n = 1, k = 1, batch = 1;
  bool a_transposed = false, b_transposed = false;
  ScalarType type = ScalarType::kF32, out = ScalarType::kF32;
  std::optional<ScalarType> b_type = {};  ///< else as A's
  bool sum_in_f64 = false;
};

/// C = A * B, with a way to change factors, body and result.
class Product : public NestCase {
 public:
  using Change = std::function<Ref(Product&, Ref)>;
  SymbolId batch, i, j, k;

  Product(const Shape& s, const Change& body = {}, const Change& result = {},
          MathLevel math = MathLevel::kReassociate) {
    task.math = math;
    batch = nodes.new_symbol("b", s.batch);
    i = nodes.new_symbol("i", s.m);
    j = nodes.new_symbol("j", s.n);
    k = nodes.new_symbol("k", s.k);
    buffer("A", s.type, s.batch * s.m * s.k, Role::kIn);
    const ScalarType b_type = s.b_type.value_or(s.type);
    buffer("B", b_type, s.batch * s.k * s.n, Role::kIn);
    buffer("bias", ScalarType::kF32, s.n, Role::kIn);
    buffer("C", s.out, s.batch * s.m * s.n, Role::kOut);
    const auto at = [&](SymbolId row, std::int64_t rows, SymbolId column, std::int64_t columns,
                        bool transposed) {
      const Ref inside =
          transposed ? nodes.add(nodes.scale(nodes.index(column), rows), nodes.index(row))
                     : nodes.add(nodes.scale(nodes.index(row), columns), nodes.index(column));
      return nodes.add(nodes.scale(nodes.index(batch), rows * columns), inside);
    };
    const bool f64 = s.type == ScalarType::kF64 || s.sum_in_f64;
    const ScalarType sum = f64 ? ScalarType::kF64 : ScalarType::kF32;
    const Ref a = nodes.cast(nodes.load("A", s.type, at(i, s.m, k, s.k, s.a_transposed)), sum);
    const Ref b = nodes.cast(nodes.load("B", b_type, at(k, s.k, j, s.n, s.b_transposed)), sum);
    Ref term = nodes.op(Op::kMul, sum, {a, b});
    if (body) term = body(*this, term);
    Ref value = nodes.reduce(Op::kAdd, {k}, term);
    if (result) value = result(*this, value);
    nest.buffer = "C";
    nest.type = s.out;
    nest.dims = {batch, i, j};
    nest.element = at(i, s.m, j, s.n, false);
    nest.guard = nodes.boolean(true);
    nest.value = nodes.cast(value, s.out);
    nest.covers = true;
  }

  Ref f32(Op op, std::vector<Ref> args) { return nodes.op(op, ScalarType::kF32, std::move(args)); }
};

inline const std::unique_ptr<Generator> kContract = make_contract();
using Choice = std::map<std::string, std::string>;

}  // namespace hone::schedules
