// What each instruction of a tile program does, thread by thread and byte by byte, against the
// formulas of its layout.
#include "tests/unit/rewriters/tile_probe.h"

namespace hone::tile {
namespace {

// --- Bulk copies to shared memory ---------------------------------------------------------------

/// One copy of a box to a tile of its own.
struct BoxCase {
  std::vector<std::int64_t> shape, box, from;
  Layout layout;
  std::vector<std::int64_t> to = {0, 0};
};

/// Copies all of the cases in one kernel, and compares every element of every tile.
void expect_boxes(ScalarType type, const std::vector<BoxCase>& cases) {
  std::int64_t all = 0;
  for (const BoxCase& one : cases) all += one.layout.elements();
  Probed test(all);
  for (std::size_t c = 0; c < cases.size(); ++c) {
    const BoxCase& one = cases[c];
    const std::string name = fmt::format("T{}", c);
    std::int64_t elements = 1;
    std::vector<std::int64_t> strides;
    for (std::size_t d = one.shape.size(); d-- > 0;) {
      if (d + 1 < one.shape.size()) strides.insert(strides.begin(), elements);
      elements *= one.shape[d];
    }
    test.buffer(name, type, elements, hone::Role::kIn);
    // Exact in every type, and no two neighbours alike.
    const int period = type == ScalarType::kBf16 ? 251 : 2039;
    auto& values = test.contents[name];
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i % period + 1);
    test.p.views.push_back(
        {"map_" + name, name, type, one.shape, strides, one.box, one.layout.swizzle()});
    test.p.rings[0].tiles.push_back({"tile_" + name, type, one.layout});
    test.copies.push_back({BulkCopy{.tile = static_cast<int>(c),
                                    .view = static_cast<int>(c),
                                    .from = test.numbers(one.from),
                                    .to = one.to}});
  }
  test.read_ring();
  Probed::Lines lines;
  std::int64_t first = 0;
  for (std::size_t c = 0; c < cases.size(); ++c) {
    const std::int64_t elements = cases[c].layout.elements();
    lines.push_back({"g_wait_for(&full[stage], parity);",
                     Probed::raw(fmt::format("tile_T{}", c), elements, std::to_string(first))});
    first += elements;
  }
  const std::vector<double> got = test.probed(lines);
  if (got.empty()) return;
  first = 0;
  for (std::size_t c = 0; c < cases.size(); ++c) {
    const BoxCase& one = cases[c];
    SCOPED_TRACE(fmt::format("case {}, {}", c, one.layout.describe()));
    const bool along_k = is_along_k(test.p.rings[0].tiles[c]);
    const int size = static_cast<int>(size_of(type));
    for (std::int64_t row = 0; row < one.layout.extent(0); ++row) {
      for (std::int64_t k = 0; k < one.layout.extent(1); ++k) {
        // The coordinates in the tensor; what lies beyond it is zero.
        std::vector<std::int64_t> at = one.from;
        at.back() += along_k ? k : row;
        if (at.size() > 1) at[at.size() - 2] += along_k ? row : k;
        // Rows that run through two dimensions of the box go around those of k.
        if (!along_k && at.size() > 2 && one.box[at.size() - 3] > 1) {
          at.back() = one.from.back() + row % one.box.back();
          at[at.size() - 3] += row / one.box.back();
        }
        std::int64_t element = 0;
        bool inside = true;
        for (std::size_t d = 0; d < at.size(); ++d) {
          inside = inside && at[d] >= 0 && at[d] < one.shape[d];
          element = element * one.shape[d] + at[d];
        }
        const auto place =
            static_cast<std::size_t>(first + one.layout.byte_of({row, k}, size) / size);
        const double want =
            inside ? test.contents.at(fmt::format("T{}", c))[static_cast<std::size_t>(element)] : 0;
        ASSERT_EQ(got[place], want) << "(" << row << ", " << k << ")";
      }
    }
    first += one.layout.elements();
  }
}

/// Lines of as many bytes as the swizzle has, along k or along the rows.
Layout lines_of(std::int64_t count, int swizzle, ScalarType type, bool along_k) {
  const std::int64_t width = swizzle / static_cast<std::int64_t>(size_of(type));
  std::vector<Dimension> dimensions = {{{count, width}}, {{width, 1}}};
  if (!along_k) std::swap(dimensions[0], dimensions[1]);
  return Layout(std::move(dimensions), swizzle);
}

TEST(TileAtoms, BulkCopiesOfEverySwizzle) {
  for (const ScalarType type : {ScalarType::kF16, ScalarType::kBf16, ScalarType::kF32}) {
    SCOPED_TRACE(to_string(type));
    std::vector<BoxCase> cases;
    for (const bool along_k : {true, false}) {
      for (const int swizzle : {32, 64, 128}) {
        const std::int64_t width = swizzle / static_cast<std::int64_t>(size_of(type));
        cases.push_back({{80, 72}, {32, width}, {3, 8}, lines_of(32, swizzle, type, along_k)});
      }
      std::vector<Dimension> plain = {{{24, 40}}, {{40, 1}}};
      if (!along_k) std::swap(plain[0], plain[1]);
      cases.push_back({{80, 72}, {24, 40}, {5, 8}, Layout(plain)});
    }
    expect_boxes(type, cases);
  }
}

/// The first element of the box may lie before the tensor, the last one beyond it.
TEST(TileAtoms, BulkCopiesBeyondTheTensorAreZero) {
  const ScalarType type = ScalarType::kF16;
  std::vector<BoxCase> cases;
  for (const std::vector<std::int64_t>& from :
       {std::vector<std::int64_t>{-3, -8}, {30, 40}, {-5, 56}, {100, 0}, {0, -64}})
    cases.push_back({{45, 72}, {32, 64}, from, lines_of(32, 128, type, true)});
  expect_boxes(type, cases);
}

TEST(TileAtoms, BulkCopiesOfEveryRank) {
  const ScalarType type = ScalarType::kF16;
  const Layout lines = lines_of(16, 64, type, true);
  expect_boxes(type, {{{200}, {64}, {24}, Layout({{{1, 64}}, {{64, 1}}})},
                      {{20, 40}, {16, 32}, {2, 8}, lines},
                      {{3, 20, 40}, {1, 16, 32}, {2, 9, 0}, lines},
                      {{2, 3, 20, 40}, {1, 1, 16, 32}, {1, 2, 1, 16}, lines},
                      {{3, 2, 3, 20, 40}, {1, 1, 1, 16, 32}, {2, 1, 0, 0, 8}, lines},
                      {{3, 2, 3, 20, 40}, {1, 1, 1, 16, 32}, {2, 1, 3, 0, 8}, lines}});
}

/// A window's patch: k between lines of rows, with what lies beyond each edge of the tensor.
TEST(TileAtoms, BulkCopiesOfThreeDimensions) {
  const Layout patch({{{24, 1}, {5, 8 * 24}}, {{8, 24}}});
  for (const ScalarType type : {ScalarType::kF16, ScalarType::kF32})
    expect_boxes(type, {{{6, 12, 40}, {5, 8, 24}, {1, 2, 8}, patch},
                        {{6, 12, 40}, {5, 8, 24}, {-1, 8, -8}, patch},
                        {{3, 6, 12, 40}, {1, 5, 8, 24}, {2, 3, 0, 32}, patch}});
}

/// Several boxes side by side in one tile, as operands of products have them.
TEST(TileAtoms, BulkCopiesToPartsOfATile) {
  for (const bool along_k : {true, false}) {
    Probed test(128 * 128);
    const int tile = test.operand("T", ScalarType::kF16, 128, 128, along_k);
    ASSERT_EQ(tile, 0);
    const Layout layout = test.p.rings[0].tiles[0].layout;
    test.read_ring();
    const auto got =
        test.probed({{"g_wait_for(&full[stage], parity);", Probed::raw("tile_T", 128 * 128, "0")}});
    if (got.empty()) return;
    for (std::int64_t row = 0; row < 128; ++row)
      for (std::int64_t k = 0; k < 128; ++k)
        ASSERT_EQ(got[static_cast<std::size_t>(layout.byte_of({row, k}, 2) / 2)],
                  test.element("T", 128, 128, along_k, row, k))
            << row << ", " << k;
  }
}

/// Each block of a cluster copies its part to all of them: all have the whole tile.
TEST(TileAtoms, BulkCopiesToAllBlocksOfACluster) {
  for (const int cluster : {2, 4}) {
    SCOPED_TRACE(cluster);
    const std::int64_t rows = 64, part = rows / cluster;
    Probed test(rows * 64 * cluster, 1, cluster);
    test.whole_numbers("T", ScalarType::kBf16, rows * 64);
    test.p.views = {{"map_T", "T", ScalarType::kBf16, {rows, 64}, {64}, {part, 64}, 128}};
    test.p.rings[0].tiles = {{"tile_T", ScalarType::kBf16, wgmma_operand(rows, 64, true)}};
    const Ref rank = test.nodes.remainder(test.nodes.index(test.p.block), test.number(cluster));
    test.copies = {{BulkCopy{.from = {test.nodes.scale(rank, part), test.number(0)},
                             .to = {0, 0},
                             .step_by_rank = {part, 0}}}};
    const Layout layout = test.p.rings[0].tiles[0].layout;
    test.read_ring();
    const auto got = test.probed({{"g_wait_for(&full[stage], parity);",
                                   Probed::raw("tile_T", rows * 64, "blockIdx.x * 4096")}});
    if (got.empty()) return;
    for (std::int64_t block = 0; block < cluster; ++block)
      for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t k = 0; k < 64; ++k)
          ASSERT_EQ(got[static_cast<std::size_t>(block * 4096 + layout.byte_of({row, k}, 2) / 2)],
                    test.element("T", rows, 64, true, row, k))
              << "block " << block << ": " << row << ", " << k;
  }
}

// --- Products -----------------------------------------------------------------------------------

struct ProductCase {
  ScalarType type = ScalarType::kF16;
  int columns = 64, k = 64;
  bool a_along_k = true, b_along_k = true;
  int groups = 1;
};

/// Whether each thread's values are what `sums` says of the matrix `want` of (row, column).
void expect_sums(const std::vector<double>& got, int columns, std::int64_t first, int groups,
                 const std::function<double(std::int64_t, std::int64_t)>& want) {
  const Layout sums = wgmma_sums(columns);
  for (std::int64_t thread = 0; thread < std::int64_t{128} * groups; ++thread) {
    for (std::int64_t value = 0; value < columns / 2; ++value) {
      const std::int64_t at = sums.offset({thread % 128, value});
      const std::int64_t row = thread / 128 * 64 + at / columns;
      ASSERT_EQ(got[static_cast<std::size_t>(first + thread * (columns / 2) + value)],
                want(row, at % columns))
          << "thread " << thread << ", value " << value;
    }
  }
}

TEST(TileAtoms, ProductsOfTilesInSharedMemory) {
  for (const ProductCase& c :
       {ProductCase{.columns = 8, .k = 64}, ProductCase{.columns = 104, .k = 128, .groups = 2},
        ProductCase{.columns = 64, .k = 48, .a_along_k = false, .b_along_k = false, .groups = 2},
        ProductCase{.type = ScalarType::kBf16, .columns = 128, .k = 64, .a_along_k = false},
        ProductCase{.type = ScalarType::kBf16, .columns = 192, .k = 128, .b_along_k = false},
        ProductCase{.columns = 256, .k = 64, .b_along_k = false}}) {
    SCOPED_TRACE(fmt::format("{} {} x {}, {} {}", to_string(c.type), c.columns, c.k, c.a_along_k,
                             c.b_along_k));
    const std::int64_t rows = std::int64_t{64} * c.groups;
    Probed test(rows * c.columns, c.groups);
    const int a = test.operand("A", c.type, rows, c.k, c.a_along_k);
    const int b = test.operand("B", c.type, c.columns, c.k, c.b_along_k);
    test.p.sums = {{"sums", c.columns}};
    test.fill();
    const Ref row =
        c.groups == 1 ? test.number(0) : test.nodes.scale(test.nodes.index(test.p.group), 64);
    test.math() = {{Wait{0}},
                   {Multiply{.a = a, .b = b, .a_row = row, .fresh = test.nodes.boolean(true)}},
                   {Await{0}},
                   {Release{0}}};
    const auto got = test.probed({{"g_settle(sums);", Probed::each_of("sums[i]", c.columns / 2)}});
    if (got.empty()) return;
    expect_sums(got, c.columns, 0, c.groups, [&](std::int64_t row, std::int64_t column) {
      double sum = 0;
      for (std::int64_t k = 0; k < c.k; ++k)
        sum += test.element("A", rows, c.k, c.a_along_k, row, k) *
               test.element("B", c.columns, c.k, c.b_along_k, column, k);
      return sum;
    });
  }
}

/// Sums rounded to fragments, and these multiplied by a tile.
TEST(TileAtoms, ProductsOfFragments) {
  for (const ScalarType type : {ScalarType::kF16, ScalarType::kBf16}) {
    for (const bool along_k : {true, false}) {
      SCOPED_TRACE(to_string(type));
      const int k = along_k ? 64 : 48, columns = 64;
      Probed test(128 * k / 2 + 64 * columns);
      // A's own products with ones at the diagonal are A: fragments of it.
      const int a = test.operand("A", type, 64, 64, true);
      const int one = test.operand("I", type, k, 64, true);
      const int b = test.operand("B", type, columns, k, along_k);
      for (int i = 0; i < k; ++i)
        for (int j = 0; j < 64; ++j)
          test.contents["I"][static_cast<std::size_t>(i * 64 + j)] = i == j ? 1 : 0;
      test.p.sums = {{"plain", k}, {"sums", columns}};
      test.p.fragments = {{"parts", k, type}};
      test.fill();
      const Ref fresh = test.nodes.boolean(true);
      test.math() = {
          {Wait{0}},
          {Multiply{.sums = 0, .a = a, .b = one, .a_row = test.number(0), .fresh = fresh}},
          {Await{0}},
          {RoundSums{0, 0}},
          {Multiply{.sums = 1, .b = b, .fresh = fresh, .fragments = 0}},
          {Await{0}},
          {Release{0}}};
      const std::string half = type == ScalarType::kF16 ? "__half" : "__nv_bfloat16";
      const auto got = test.probed(
          {{"g_settle(parts[j]);",
            fmt::format("#pragma unroll\nfor (int i = 0; i < 8; ++i)\n"
                        "  probe[(threadIdx.x - 128) * {} + j * 8 + i] = static_cast<float>("
                        "reinterpret_cast<const {}*>(&parts[j][i / 2])[i % 2]);",
                        k / 2, half)},
           {"g_settle(sums);", Probed::each_of("sums[i]", columns / 2, 128 * k / 2)}});
      if (got.empty()) return;
      // Source: PTX ISA, "Register Fragments for wgmma.mma_async.m64nNk16", matrix A.
      for (std::int64_t thread = 0; thread < 128; ++thread) {
        for (std::int64_t value = 0; value < k / 2; ++value) {
          const std::int64_t row = thread / 32 * 16 + thread % 32 / 4 + value / 2 % 2 * 8;
          const std::int64_t column =
              value / 8 * 16 + value / 4 % 2 * 8 + thread % 4 * 2 + value % 2;
          ASSERT_EQ(got[static_cast<std::size_t>(thread * (k / 2) + value)],
                    test.element("A", 64, 64, true, row, column))
              << "thread " << thread << ", value " << value;
        }
      }
      expect_sums(got, columns, std::int64_t{128} * k / 2, 1,
                  [&](std::int64_t row, std::int64_t column) {
                    double sum = 0;
                    for (std::int64_t at = 0; at < k; ++at)
                      sum += test.element("A", 64, 64, true, row, at) *
                             test.element("B", columns, k, along_k, column, at);
                    return sum;
                  });
    }
  }
}

/// mma.sync, whose layout generators of older devices use.
TEST(TileAtoms, SumsOfAWarpsProduct) {
  Probed test(128);
  test.whole_numbers("A", ScalarType::kF16, 16 * 16);
  test.whole_numbers("B", ScalarType::kF16, 8 * 16);
  schedules::Generated kernel;
  kernel.includes = {"cuda_fp16.h"};
  kernel.source = R"(
__global__ void g_test(const __half* A, const __half* B, float* probe) {
  const int lane = threadIdx.x, row = lane / 4, k = lane % 4 * 2;
  const auto two = [](const __half* at) { return *reinterpret_cast<const unsigned*>(at); };
  float d[4] = {};
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(two(&A[row * 16 + k])), "r"(two(&A[(row + 8) * 16 + k])),
        "r"(two(&A[row * 16 + k + 8])), "r"(two(&A[(row + 8) * 16 + k + 8])),
        "r"(two(&B[row * 16 + k])), "r"(two(&B[row * 16 + k + 8])));
  for (int i = 0; i < 4; ++i) probe[lane * 4 + i] = d[i];
}
)";
  kernel.launches = {{.kernel = "g_test", .grid = {1}, .block = {32}, .args = {"A", "B", "probe"}}};
  const auto got = test.run(kernel);
  ASSERT_EQ(got.size(), 128U);
  for (std::int64_t lane = 0; lane < 32; ++lane) {
    for (std::int64_t value = 0; value < 4; ++value) {
      const std::int64_t at = mma_sums().offset({lane, value});
      double sum = 0;
      for (std::int64_t k = 0; k < 16; ++k)
        sum +=
            test.element("A", 16, 16, true, at / 8, k) * test.element("B", 8, 16, true, at % 8, k);
      EXPECT_EQ(got[static_cast<std::size_t>(lane * 4 + value)], sum) << lane << ", " << value;
    }
  }
}

// --- What is done to sums -----------------------------------------------------------------------

/// The program of read_ring() with more operations behind it, whose sums are A^T A of 64 x 16.
class TileSums : public ::testing::Test {
 protected:
  TileSums() { test.read_ring(); }
  double sum(std::int64_t row, std::int64_t column) {
    double sum = 0;
    for (std::int64_t k = 0; k < 16; ++k)
      sum += test.element("A", 64, 16, false, row, k) * test.element("A", 64, 16, false, column, k);
    return sum;
  }
  int rows(const char* name) {
    test.p.rows.push_back(
        {name, test.nodes.load(fmt::format("%{}", name), ScalarType::kF32, test.number(0))});
    return static_cast<int>(test.p.rows.size()) - 1;
  }
  Ref leaf() { return test.nodes.load("%sum", ScalarType::kF32, test.number(0)); }

  Probed test{64 * 64};
};

TEST_F(TileSums, MapsKnowTheirRowsAndColumns) {
  const SymbolId m = test.nodes.new_symbol("m_at", 200), n = test.nodes.new_symbol("n_at", 200);
  const Ref place =
      test.nodes.add(test.nodes.scale(test.nodes.index(m), 1000), test.nodes.index(n));
  test.math().push_back(
      {MapSums{.sums = 0,
               .sum = leaf(),
               .value = test.f32("+", {leaf(), test.nodes.cast(place, ScalarType::kF32)}),
               .row = test.number(64),
               .column = test.number(128),
               .row_symbol = m,
               .column_symbol = n}});
  const auto got = test.probed({{"g_settle(sums);", Probed::each_of("sums[i]", 32)}});
  ASSERT_FALSE(got.empty());
  expect_sums(got, 64, 0, 1, [&](std::int64_t row, std::int64_t column) {
    return sum(row, column) + static_cast<double>((64 + row) * 1000 + 128 + column);
  });
}

/// All lanes of a row have what the row has one of; before FoldRows, each what its own columns
/// give.
TEST_F(TileSums, RowsOfEveryLane) {
  const int top = rows("top"), share = rows("share"), total = rows("total");
  Body& math = test.math();
  math.push_back({ReduceRows{.rows = top, .sums = 0, .op = Op::kMax}});
  math.push_back({ReduceRows{.rows = share, .sums = 0, .op = Op::kAdd, .in_lanes = true}});
  math.push_back({MapRows{total, test.f32("*", {test.p.rows[0].value, test.real(2)})}});
  math.push_back({MapSums{.sums = 0, .sum = leaf(), .value = leaf()}});
  math.push_back({FoldRows{share, Op::kAdd}});
  math.push_back({MapSums{.sums = 0, .sum = leaf(), .value = test.p.rows[1].value}});
  const std::string settled = "g_settle(sums);";
  // What was written first is found last: the sums, then what lanes have before the fold.
  const auto got = test.probed(
      {{settled, Probed::each_of("top[i]", 2) + Probed::each_of("total[i]", 2, 256) +
                     Probed::each_of("share[i]", 2, 512)},
       {"sums[i] = sums[i];\n    }\n    g_settle(sums);", Probed::each_of("share[i]", 2, 768)}});
  ASSERT_FALSE(got.empty());
  for (std::int64_t thread = 0; thread < 128; ++thread) {
    for (std::int64_t half = 0; half < 2; ++half) {
      const std::int64_t row = thread / 32 * 16 + thread % 32 / 4 + half * 8;
      double largest = sum(row, 0), all = 0, own = 0;
      for (std::int64_t column = 0; column < 64; ++column) {
        largest = std::max(largest, sum(row, column));
        all += sum(row, column);
        if (column / 2 % 4 == thread % 4) own += sum(row, column);
      }
      const auto at = [&](std::int64_t first) {
        return got[static_cast<std::size_t>(first + thread * 2 + half)];
      };
      ASSERT_EQ(at(0), largest) << thread;
      ASSERT_EQ(at(256), 2 * largest) << thread;
      ASSERT_EQ(at(512), all) << thread;
      ASSERT_EQ(at(768), own) << thread;
    }
  }
}

/// Runs are added to sums; what rounding takes is the next run's beginning.
TEST_F(TileSums, RunsOfEveryThread) {
  test.p.sums = {{"sums", 64}, {"runs", 64}};
  Body& math = test.math();
  std::get<Multiply>(math[1].is).sums = 1;
  math.push_back({MapSums{.sums = 0, .sum = leaf(), .value = test.real(33554432)}});
  math.push_back({AddRuns{0, 1}});
  const auto got = test.probed(
      {{"g_add_runs(sums, runs);", Probed::each_of("sums[i] - 33554432.0f + runs[i]", 32)}});
  ASSERT_FALSE(got.empty());
  expect_sums(got, 64, 0, 1,
              [&](std::int64_t row, std::int64_t column) { return sum(row, column); });
}

/// Without their rounding errors: runs stay what they were.
TEST_F(TileSums, ShortRunsOfEveryThread) {
  test.p.sums = {{"sums", 64}, {"runs", 64}};
  Body& math = test.math();
  std::get<Multiply>(math[1].is).sums = 1;
  math.push_back({MapSums{.sums = 0, .sum = leaf(), .value = test.real(1000)}});
  math.push_back({AddRuns{0, 1, true}});
  const auto got = test.probed(
      {{"g_add_short_runs(sums, runs);", Probed::each_of("sums[i] - 1000.0f + runs[i]", 32)}});
  ASSERT_FALSE(got.empty());
  expect_sums(got, 64, 0, 1,
              [&](std::int64_t row, std::int64_t column) { return 2 * sum(row, column); });
}

// --- Stores -------------------------------------------------------------------------------------

/// A store of 64 x 64 outputs of that type.
Store store_of(Probed& test, ScalarType type, Ref sum) {
  test.p.parameters.push_back({"C", type, true});
  test.buffer("C", type, 64 * 64, hone::Role::kOut);
  const SymbolId m = test.nodes.new_symbol("m_at", 64), n = test.nodes.new_symbol("n_at", 64);
  return {.sums = 0,
          .row = test.number(0),
          .column = test.number(0),
          .row_symbol = m,
          .column_symbol = n,
          .rows = 64,
          .columns = 64,
          .buffer = "C",
          .type = type,
          .sum = sum,
          .value = type == ScalarType::kF32 ? sum : test.nodes.cast(sum, type),
          .element = test.nodes.add(test.nodes.scale(test.nodes.index(m), 64), test.nodes.index(n)),
          .guard = test.nodes.boolean(true),
          .contiguous = 8};
}

/// Which thread writes which outputs: two side by side as it has them, or four after lanes swapped.
TEST_F(TileSums, StoresOfEveryThread) {
  for (const ScalarType type : {ScalarType::kF32, ScalarType::kF16}) {
    Probed test(64 * 64);
    test.read_ring();
    test.math().push_back({store_of(test, type, leaf())});
    const int width = type == ScalarType::kF16 ? 4 : 2;
    const std::string inside = fmt::format("int n_run, const g_pack<float, {}>& sum) {{", width);
    const auto owners = test.probed(
        {{inside,
          fmt::format("for (int j = 0; j < {}; ++j) probe[m * 64 + n_run + j] = threadIdx.x "
                      "- 128;",
                      width)}});
    ASSERT_FALSE(owners.empty());
    // (thread, value) -> row * 64 + column; of four: lanes 0, 1, 2, 3 have columns 0, 8, 4, 12.
    const Layout four({{{2, 8}, {2, 4}, {8, 64}, {4, 1024}}, {{4, 1}, {2, 512}, {4, 16}}});
    const Layout owned = width == 4 ? four : wgmma_sums(64);
    for (std::int64_t thread = 0; thread < 128; ++thread)
      for (std::int64_t value = 0; value < 32; ++value)
        ASSERT_EQ(owners[static_cast<std::size_t>(owned.offset({thread, value}))], thread)
            << to_string(type) << ", value " << value;
    test.nest.buffer = "C";
    const auto got = test.probed({});
    ASSERT_EQ(got.size(), 4096U);
    for (std::int64_t row = 0; row < 64; ++row)
      for (std::int64_t column = 0; column < 64; ++column)
        ASSERT_EQ(got[static_cast<std::size_t>(row * 64 + column)], sum(row, column));
  }
}

/// The staging as its bulk copy reads it, byte by byte, and what that copy writes, or adds to what
/// is there.
void expect_staged(ScalarType out, std::int64_t staged, bool adds,
                   std::uint64_t& shared_wavefronts) {
  SCOPED_TRACE(fmt::format("{} {}{}", to_string(out), staged, adds ? " adds" : ""));
  const ScalarType type = ScalarType::kF16;
  const std::int64_t columns = 128;
  const auto size = static_cast<int>(size_of(out));
  const std::int64_t band = 128 / size, box = 64 * band;
  Probed test(128 * columns, 2);
  const int a = test.operand("A", type, 128, 64, true);
  const int b = test.operand("B", type, columns, 64, false);
  test.p.sums = {{"sums", static_cast<int>(columns)}};
  test.fill();
  test.buffer("C", out, 100 * 120, adds ? hone::Role::kInOut : hone::Role::kOut);
  test.p.stagings = {{2, {"staged", out, staged_outputs(staged, out)}}};
  test.p.views.push_back({"map_c", "C", out, {100, 120}, {120}, {64, band}, 128});
  const Ref of_group = test.nodes.scale(test.nodes.index(test.p.group), 64);
  const Ref sum = test.nodes.load("%sum", ScalarType::kF32, test.number(0));
  test.math() = {{Wait{0}},
                 {Multiply{.a = a, .b = b, .a_row = of_group, .fresh = test.nodes.boolean(true)}},
                 {Await{0}},
                 {Release{0}},
                 {Store{.sums = 0,
                        .row = of_group,
                        .column = test.number(0),
                        .row_symbol = test.nodes.new_symbol("m_at", 128),
                        .column_symbol = test.nodes.new_symbol("n_at", 128),
                        .rows = 100,
                        .columns = 120,
                        .buffer = "C",
                        .type = out,
                        .sum = sum,
                        .value = out == type ? test.nodes.cast(sum, type) : sum,
                        .guard = test.nodes.boolean(true),
                        .contiguous = 8,
                        .staging = 0,
                        .view = 2,
                        .adds = adds,
                        .to = {of_group, test.number(0)}}}};
  const auto want = [&](std::int64_t row, std::int64_t column) {
    double sum = 0;
    for (std::int64_t k = 0; k < 64; ++k)
      sum += test.element("A", 128, 64, true, row, k) *
             test.element("B", columns, 64, false, column, k);
    return sum;
  };
  const Layout layout = test.p.stagings[0].tile.layout;
  const auto raw = test.probed(
      {{"g_publish();", "g_meet_group();\n" + Probed::raw("box", box,
                                                          fmt::format("(group * {} + part) * {}",
                                                                      columns / band, box))}});
  ASSERT_FALSE(raw.empty());
  for (std::int64_t row = 0; row < 128; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      // Bands that lie side by side in the staging are printed one after the other, too.
      const std::int64_t inside =
          layout.byte_of({row % 64, column % staged}, size) / size + column / staged * staged * 64;
      ASSERT_EQ(raw[static_cast<std::size_t>(row / 64 * 64 * columns + inside)], want(row, column))
          << row << ", " << column;
    }
  }
  test.nest.buffer = "C";
  std::vector<double> before(12000);
  if (adds) before = test.contents.at("C");
  const auto got = test.probed({});
  ASSERT_EQ(got.size(), 12000U);
  shared_wavefronts = test.last_counters.shared_wavefronts;
  for (std::int64_t row = 0; row < 100; ++row)
    for (std::int64_t column = 0; column < 120; ++column)
      ASSERT_EQ(got[static_cast<std::size_t>(row * 120 + column)],
                static_cast<float>(want(row, column) +
                                   before[static_cast<std::size_t>(row * 120 + column)]));
}

TEST(TileAtoms, StagedOutputs) {
  for (const std::int64_t staged : {64, 128}) {
    std::uint64_t of_halves = 0, of_floats = 0;
    expect_staged(ScalarType::kF16, staged, false, of_halves);
    for (const bool adds : {false, true}) {
      expect_staged(ScalarType::kF32, staged, adds, of_floats);
      // Two more bytes of each output go in and out, in lines of 128: no two lanes meet in a bank.
      EXPECT_EQ(of_floats, of_halves + 2 * 128 * 128 * 2 / 128);
    }
  }
}

}  // namespace
}  // namespace hone::tile
