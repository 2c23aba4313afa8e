// Many reductions of the same rows: the parts of their folds fill the shared memory of a block.
#include "rewriters/schedules/rowwise/rowwise.h"
#include "tests/unit/schedules/harness.h"

namespace hone::schedules {
namespace {

/// y[r] = the sum of `count` maxima over a row: of a row in memory, or `across`, of a column.
/// With `deviations` these are of what the row is above its sum.
void many_maxima(Problem& p, std::int64_t rows, std::int64_t cols, int count, bool across,
                 ScalarType type = ScalarType::kF32, bool deviations = false) {
  p.in("x", across ? std::vector{cols, rows} : std::vector{rows, cols}, type);
  p.out("y", {rows}, type);
  const SymbolId r = p.symbol("r", rows), k = p.symbol("k", cols);
  const Ref x = across ? p.load("x", {p.at(k), p.at(r)}) : p.load("x", {p.at(r), p.at(k)});
  const Ref from = deviations ? p.f("-", {x, p.nodes.reduce(Op::kAdd, {k}, x)}) : x;
  Ref all = p.nodes.number(0, type);
  for (int i = 0; i < count; ++i) {
    const Ref turned = p.f("*", {from, p.f("-", {from, p.nodes.number(0.1 * i, type)})});
    all = p.f("+", {all, p.nodes.reduce(Op::kMax, {k}, turned)});
  }
  p.store("y", {r}, {p.at(r)}, all);
}

TEST(RowwiseFolds, OfColumnsThatWantMoreThanStaticSharedMemory) {
  Problem p;  // 26 x 16 x 32 floats
  many_maxima(p, 64, 100, 26, true);
  expect_right(*make_rowwise(), p, {{"threads", std::int64_t{16}}});
}

TEST(RowwiseFolds, OfColumnsBesideRowsInSharedMemory) {
  Problem p;  // 1650 x 32 floats, and 20 x 16 x 32
  many_maxima(p, 32, 1650, 20, true, ScalarType::kF32, true);
  expect_right(*make_rowwise(), p,
               {{"threads", std::int64_t{16}}, {"keep", std::string("shared")}});
}

TEST(RowwiseFolds, OfClustersThatWantMoreThanStaticSharedMemory) {
  Problem p;  // 14 x 2 x 8 x 32 doubles
  many_maxima(p, 4, 8192, 14, false, ScalarType::kF64);
  expect_right(*make_rowwise(), p,
               {{"threads", std::int64_t{1024}},
                {"rows", std::int64_t{1}},
                {"cluster", std::int64_t{8}},
                {"blocks_per_sm", std::int64_t{1}},
                {"keep", std::string("reread")}});
}

}  // namespace
}  // namespace hone::schedules
