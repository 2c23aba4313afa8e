// Every element type through every generator that reduces or maps.
#include <gtest/gtest.h>

#include "rewriters/schedules/map/map.h"
#include "rewriters/schedules/reduce/reduce.h"
#include "rewriters/schedules/rowwise/rowwise.h"
#include "rewriters/schedules/scan/scan.h"
#include "tests/unit/schedules/harness.h"

namespace hone::schedules {
namespace {

constexpr ScalarType kTypes[] = {ScalarType::kF32,  ScalarType::kF64,  ScalarType::kF16,
                                 ScalarType::kBf16, ScalarType::kE4m3, ScalarType::kE5m2,
                                 ScalarType::kI32,  ScalarType::kI64,  ScalarType::kI8,
                                 ScalarType::kU8,   ScalarType::kU32};

double low(ScalarType type) {
  if (type == ScalarType::kU8 || type == ScalarType::kU32) return 0;
  return is_float(type) ? -1 : -9;
}
double tolerance(ScalarType type) {
  if (type == ScalarType::kE4m3 || type == ScalarType::kE5m2)  // a step
    return type == ScalarType::kE4m3 ? 0.126 : 0.251;
  return type == ScalarType::kF16 ? 4e-3 : type == ScalarType::kBf16 ? 3e-2 : 1e-4;
}

/// Values of a type: loads of integers stand in sums.
Ref value(Problem& p, Ref load) {
  return load->is_integer() ? p.nodes.add(load, p.nodes.integer(0)) : load;
}

TEST(Types, Rows) {
  const auto generator = make_rowwise();
  for (const ScalarType type : kTypes) {
    SCOPED_TRACE(to_string(type));
    Problem p;
    p.in("x", {6, 96}, type, low(type), is_float(type) ? 1 : 9);
    int i = 0;
    for (const Op op : {Op::kAdd, Op::kMax, Op::kMin, Op::kArgMin, Op::kArgMax}) {
      const bool place = op == Op::kArgMin || op == Op::kArgMax;
      const ScalarType of = place                               ? ScalarType::kI64
                            : !is_float(type) && op == Op::kAdd ? ScalarType::kI64
                                                                : type;
      const std::string name = "y" + std::to_string(i++);
      p.out(name, {6}, of);
      const SymbolId row = p.symbol("i", 6), k = p.symbol("k", 96);
      p.store(name, {row}, {p.at(row)},
              p.nodes.reduce(op, {k}, value(p, p.load("x", {p.at(row), p.at(k)}))));
    }
    expect_right(*generator, p, {}, tolerance(type));
    expect_right(*generator, p, {{"threads", std::int64_t{64}}, {"keep", std::string("reread")}},
                 tolerance(type));
  }
}

TEST(Types, Maps) {
  const auto generator = make_map();
  for (const ScalarType type : kTypes) {
    SCOPED_TRACE(to_string(type));
    Problem p;
    p.in("x", {5, 66}, type, low(type), is_float(type) ? 1 : 9);
    p.out("y", {5, 66}, type);
    p.out("z", {5, 66}, ScalarType::kBool);
    const SymbolId i = p.symbol("i", 5), j = p.symbol("j", 66), k = p.symbol("k", 5),
                   l = p.symbol("l", 66);
    const auto make = [&](double number) {
      return is_float(type) ? p.nodes.number(number, type)
                            : p.nodes.integer(static_cast<std::int64_t>(number));
    };
    const ScalarType of = is_float(type) ? type : ScalarType::kI64;
    const Ref x = value(p, p.load("x", {p.at(i), p.at(j)}));
    const Ref capped = p.nodes.op(Op::kMin, of, {x, make(4)});
    p.store("y", {i, j}, {p.at(i), p.at(j)},
            p.nodes.op(Op::kMax, of, {p.nodes.op(Op::kMul, of, {capped, make(2)}), make(1)}));
    const Ref other = value(p, p.load("x", {p.at(k), p.at(l)}));
    p.store("z", {k, l}, {p.at(k), p.at(l)},
            p.nodes.op(Op::kLess, ScalarType::kBool, {make(0), other}));
    for (const char* cache : {"default", "stream"}) {
      expect_right(*generator, p, {{"cache", std::string(cache)}}, tolerance(type));
      expect_right(*generator, p, {{"cache", std::string(cache)}, {"vector", std::int64_t{1}}},
                   tolerance(type));
    }
  }
}

TEST(Types, BuffersBeyondTwoToThe31) {
  // The last blocks of the grid: their addresses need 64 bits. Sampled, so that few pages are made.
  Problem p;
  p.in("x", {70000, 40000}, ScalarType::kF16);
  p.out("y", {70000, 40000}, ScalarType::kF16);
  const SymbolId i = p.symbol("i", 70000), j = p.symbol("j", 40000);
  const Ref x = p.load("x", {p.at(i), p.at(j)});
  p.store("y", {i, j}, {p.at(i), p.at(j)}, p.nodes.op(Op::kMul, x->type, {x, x}));
  EXPECT_NE(generate(*make_map(), p, {}).source.find("long long point"), std::string::npos);
  EXPECT_GT(modelled_us(*make_map(), p), 0);
  Problem q;
  q.in("x", {70000, 40000}, ScalarType::kF16);
  q.out("y", {70000});
  const SymbolId row = q.symbol("i", 70000), k = q.symbol("k", 40000);
  q.store("y", {row}, {q.at(row)},
          q.nodes.reduce(Op::kAdd, {k},
                         q.nodes.cast(q.load("x", {q.at(row), q.at(k)}), ScalarType::kF32)));
  EXPECT_NE(generate(*make_rowwise(), q, {}).source.find("(long long)row"), std::string::npos);
  EXPECT_GT(modelled_us(*make_rowwise(), q), 0);
}

TEST(Types, WholesAndScans) {
  for (const ScalarType type : kTypes) {
    SCOPED_TRACE(to_string(type));
    const ScalarType of = is_float(type) ? type : ScalarType::kI64;
    Problem p;
    p.in("x", {640}, type, low(type), is_float(type) ? 1 : 9);
    p.out("y", {1}, of);
    p.out("at", {1}, ScalarType::kI64);
    const SymbolId k = p.symbol("k", 640);
    const Ref x = value(p, p.load("x", {p.at(k)}));
    p.store("y", {}, {p.nodes.integer(0)}, p.nodes.reduce(Op::kMax, {k}, x));
    p.store("at", {}, {p.nodes.integer(0)}, p.nodes.reduce(Op::kArgMax, {k}, x));
    expect_right(*make_reduce(), p, {{"parts", std::int64_t{1}}}, tolerance(type));

    Problem q;
    q.in("x", {3, 160}, type, low(type), is_float(type) ? 1 : 9);
    q.out("y", {3, 160}, of);
    const SymbolId i = q.symbol("i", 3), j = q.symbol("j", 160), r = q.symbol("r", 160);
    const Ref each = value(q, q.load("x", {q.at(i), q.at(r)}));
    const Ref before = q.nodes.non_negative(q.nodes.subtract(q.at(j), q.at(r)));
    q.store("y", {i, j}, {q.at(i), q.at(j)},
            q.nodes.reduce(Op::kMax, {r},
                           q.nodes.select(before, each, q.nodes.identity(Op::kMax, each->type))));
    expect_right(*make_scan(), q, {}, tolerance(type));
  }
}

}  // namespace
}  // namespace hone::schedules
