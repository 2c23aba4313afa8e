// What streams do to sums beside adding products to them, thread by thread against the formulas of
// the layouts: tiles that are copied once or exchanged, fragments, sums of half a warp, rows.
#include "rewriters/schedules/printing/print_value.h"
#include "tests/unit/rewriters/tile_stream_probe.h"

namespace hone::tile {
namespace {

constexpr int kEarly = 0, kLate = 1;  // sums
constexpr int kOnce = 1, kKept = 2;   // rings

struct RowsCase {
  ScalarType type = ScalarType::kF16;
  SumsOf of = SumsOf::kWarp;
  int warps = 2, stages = 2;
  std::int64_t rounds = 3, tile_k = 32;
  int warp_rows = 16;
  int columns = 32, late_columns = 32;  ///< of both sums: of a warp, or of a thread of half a warp
  bool along_k = true;                  ///< how tiles lie
  CopyWay way = CopyWay::kAsync;

  [[nodiscard]] std::string describe() const {
    return fmt::format("{} {}, {} warps of {} rows, {} and {} columns, {} of k {}, {} stages, {}",
                       to_string(type), of == SumsOf::kWarp, warps, warp_rows, columns,
                       late_columns, tile_k, along_k, stages, rounds);
  }
};

/// Queries in a tile that is copied once; keys and values in two tiles of each round, of which each
/// round has its own part of k.
class StreamedRows : public Streamed {
 public:
  RowsCase c;

  explicit StreamedRows(const RowsCase& of)
      : Streamed(of.warps, of.stages, std::int64_t{of.warps} * 32 * 512), c(of) {
    rounds(c.rounds * c.tile_k, c.tile_k);
    all_rows = std::int64_t{c.warps} * c.warp_rows;
    p.rings = {
        {"tiles", c.stages, {tile("K", across(c.columns)), tile("V", across(c.late_columns))}},
        {"once", 1, {tile("Q", all_rows)}}};
    stream.copies = {copied(0, "K", across(c.columns)), copied(1, "V", across(c.late_columns))};
    stream.once_ring = kOnce;
    stream.once = {copied(0, "Q", all_rows)};
    stream.once[0].k = number(0);
    if (c.way == CopyWay::kRegisters) stream.once[0].way = CopyWay::kAtOnce;
    const int rows = is_half() ? c.warp_rows / 2 : c.warp_rows;
    p.sums = {{"early", c.columns, rows, c.of}, {"late", c.late_columns, rows, c.of}};
  }

  bool is_half() const { return c.of == SumsOf::kHalfWarp; }
  std::int64_t across(int columns) const { return std::int64_t{is_half() ? 16 : 1} * columns; }
  Ref warp_row() { return nodes.scale(nodes.index(p.warp), c.warp_rows); }
  Ref leaf() { return nodes.load("%sum", ScalarType::kF32, number(0)); }
  Ref real(double value) { return nodes.number(value, ScalarType::kF32); }
  Ref f32(Op op, Ref a, Ref b) { return nodes.op(op, ScalarType::kF32, {a, b}); }

  SharedTile tile(const std::string& name, std::int64_t rows) const {
    const bool padded = is_half() || (c.type == ScalarType::kF32 && !c.along_k);
    return {"tile_" + name, c.type,
            padded ? padded_lines(rows, c.tile_k, false, rows + (is_half() ? 4 : 8))
                   : swizzled_lines(rows, c.tile_k, c.along_k, c.type)};
  }
  CopyTile copied(int tile, const std::string& name, std::int64_t rows) {
    const Ref value = matrix(name, c.type, rows, c.along_k);
    return copy(tile, value, rows, c.along_k, 16 / static_cast<int>(size_of(c.type)), c.way);
  }

  /// sums += queries by a tile of the round.
  Operation multiply(int sums, int b, bool fresh = false) {
    if (is_half()) {
      return {HalfWarpMultiply{
          .sums = sums, .b = b, .a_ring = kOnce, .a_row = warp_row(), .fresh = fresh}};
    }
    return {WarpMultiply{.sums = sums,
                         .b = b,
                         .a_row = warp_row(),
                         .b_row = number(0),
                         .fresh = fresh,
                         .a_ring = kOnce}};
  }
  WarpMultiply multiply_fragments(int sums, int b) {
    return {.sums = sums, .b = b, .b_row = number(0), .fragments = 0, .ahead = false};
  }
  Operation map(int sums, Ref value) {
    return {MapSums{.sums = sums, .sum = leaf(), .value = value}};
  }
  /// So that each round's product counts as no other does: total() of them all.
  Operation triple(int sums) { return map(sums, f32(Op::kMul, leaf(), real(3))); }
  template <class Of>
  double total(const Of& of_round) {
    double total = 0;
    for (std::int64_t round = 0; round < c.rounds; ++round) total = 3 * total + of_round(round);
    return total;
  }

  /// (row, k) of a matrix of so many rows.
  double element(const std::string& name, std::int64_t rows, std::int64_t row, std::int64_t k) {
    return contents.at(
        name)[static_cast<std::size_t>(c.along_k ? row * k_size + k : k * rows + row)];
  }
  double key(std::int64_t round, std::int64_t column, std::int64_t k) {
    return element("K", across(c.columns), column, round * c.tile_k + k);
  }
  double value(std::int64_t round, std::int64_t column, std::int64_t k) {
    return element("V", across(c.late_columns), column, round * c.tile_k + k);
  }
  /// Of queries by keys, or by values.
  double product(int sums, std::int64_t round, std::int64_t row, std::int64_t column) {
    double sum = 0;
    for (std::int64_t k = 0; k < c.tile_k; ++k) {
      sum += element("Q", all_rows, row, k) *
             (sums == kEarly ? key(round, column, k) : value(round, column, k));
    }
    return sum;
  }

  /// At the end each thread writes so many values, of place i. Returns where they are.
  std::int64_t write(const std::string& value, int count) {
    text += fmt::format(
        "#pragma unroll\nfor (int i = 0; i < {0}; ++i) probe[{1} + thread * {0} + i] = {2};\n",
        count, written, value);
    written += std::int64_t{threads()} * count;
    return written - std::int64_t{threads()} * count;
  }
  /// The same of all threads together.
  std::int64_t write_all(const std::string& value, std::int64_t count) {
    text += fmt::format("for (int i = thread; i < {}; i += {}) probe[{} + i] = {};\n", count,
                        threads(), written, value);
    written += count;
    return written - count;
  }
  std::int64_t write_sums(int sums) {
    const Sums& of = p.sums[static_cast<std::size_t>(sums)];
    return write(of.name + "[i]", of.count());
  }
  std::int64_t write_fragments(int at) {
    const Fragments& of = p.fragments[static_cast<std::size_t>(at)];
    if (of.type == ScalarType::kF32)
      return write("__uint_as_float(" + of.name + "[i / 4][i % 4])", of.registers());
    return write(fmt::format("static_cast<float>(reinterpret_cast<const {}*>(&{}[i / 8][i / 2 % "
                             "4])[i % 2])",
                             schedules::type_name(of.type), of.name),
                 of.registers() * 2);
  }
  int threads() const { return c.warps * 32; }
  const std::vector<double>& all_written() {
    if (got.empty()) got = probed("", text);
    return got;
  }

  /// Whether each thread's i-th value is what is wanted at its place, (row, column).
  template <class Want, class Place>
  void expect(std::int64_t first, int count, const Want& want, const Place& place) {
    SCOPED_TRACE(c.describe());
    if (all_written().empty()) return;
    for (std::int64_t thread = 0; thread < threads(); ++thread) {
      for (std::int64_t i = 0; i < count; ++i) {
        const auto [row, column] = place(thread % 32, i);
        ASSERT_EQ(got[static_cast<std::size_t>(first + thread * count + i)],
                  want(thread / 32 * c.warp_rows + row, column))
            << "thread " << thread << ", value " << i << ": " << row << ", " << column;
      }
    }
  }
  template <class Want>
  void expect_sums(std::int64_t first, int at, const Want& want) {
    const Sums& sums = p.sums[static_cast<std::size_t>(at)];
    expect(first, sums.count(), want, [&](std::int64_t lane, std::int64_t i) {
      if (is_half()) {
        const std::int64_t j = i % sums.columns, run = sums.run();
        return std::pair(lane / 16 * sums.rows + i / sums.columns,
                         j / run * 16 * run + lane % 16 * run + j % run);
      }
      const std::int64_t in_block = mma_sums().offset({lane, i % 4}), blocks = sums.columns / 8;
      return std::pair(i / 4 / blocks * 16 + in_block / 8, i / 4 % blocks * 8 + in_block % 8);
    });
  }
  /// Source: PTX ISA, "Matrix Fragments for mma.m16n8k16" and "mma.m16n8k8", matrix A; of tf32 what
  /// RoundSums says of the order of k.
  template <class Want>
  void expect_fragments(std::int64_t first, int at, const Want& want) {
    const Fragments& of = p.fragments[static_cast<std::size_t>(at)];
    const bool tf32 = of.type == ScalarType::kF32;
    const int each = tf32 ? 1 : 2;  // elements of a register
    const std::int64_t step = wgmma_k(of.type), steps = of.columns / step;
    expect(first, of.registers() * each, want, [&](std::int64_t lane, std::int64_t i) {
      const std::int64_t number = i / each / 4, l = i / each % 4;
      const std::int64_t in_step = tf32 ? lane % 4 * 2 + l / 2 : l / 2 * 8 + lane % 4 * 2 + i % 2;
      return std::pair(number / steps * 16 + l % 2 * 8 + lane / 4, number % steps * step + in_step);
    });
  }
  /// That both sums are total() of the products of queries by keys, and by values.
  void expect_totals() {
    const std::int64_t first[] = {write_sums(kEarly), write_sums(kLate)};
    got.clear();
    for (const int sums : {kEarly, kLate}) {
      expect_sums(first[sums], sums, [&](std::int64_t row, std::int64_t column) {
        return total([&](std::int64_t round) { return product(sums, round, row, column); });
      });
    }
  }

  std::int64_t all_rows = 0, written = 0;
  std::string text;
  std::vector<double> got;
};

// --- Tiles that are copied once -----------------------------------------------------------------

TEST(TileStreamRows, ProductsOfATileThatIsCopiedOnce) {
  for (const ScalarType type : {ScalarType::kF16, ScalarType::kBf16, ScalarType::kF32}) {
    for (const bool along_k : {true, false}) {
      for (const int stages : {2, 4}) {
        StreamedRows test({.type = type,
                           .stages = stages,
                           .warp_rows = stages * 8,
                           .along_k = along_k,
                           .way = stages == 2 ? CopyWay::kAsync : CopyWay::kRegisters});
        Operation one_by_one = test.multiply(kLate, 1);
        std::get<WarpMultiply>(one_by_one.is).ahead = false;
        test.stream.body = {test.triple(kEarly), test.multiply(kEarly, 0), test.triple(kLate),
                            one_by_one};
        test.expect_totals();
      }
    }
  }
}

/// As mma.sync reads them: four registers for 16 rows by one step of k.
TEST(TileStreamRows, FragmentsOfATileThatIsCopiedOnce) {
  for (const ScalarType type : {ScalarType::kF16, ScalarType::kBf16}) {
    for (const bool along_k : {true, false}) {
      for (const int warp_rows : {16, 32}) {
        StreamedRows test({.type = type, .warp_rows = warp_rows, .along_k = along_k});
        test.p.fragments = {{"query", 32, type, warp_rows}};
        test.stream.before = {{ReadFragments{.ring = kOnce, .row = test.warp_row()}}};
        test.stream.body = {test.triple(kEarly),
                            {test.multiply_fragments(kEarly, 0)},
                            test.triple(kLate),
                            {test.multiply_fragments(kLate, 1)}};
        test.expect_fragments(test.write_fragments(0), 0, [&](std::int64_t row, std::int64_t k) {
          return test.element("Q", test.all_rows, row, k);
        });
        test.expect_totals();
      }
    }
  }
}

// --- Tiles that are copied in turns -------------------------------------------------------------

/// Each product is one of its own round's tile, whatever is copied meanwhile.
TEST(TileStreamRows, ProductsOfTilesThatAreExchanged) {
  for (const SumsOf of : {SumsOf::kWarp, SumsOf::kHalfWarp}) {
    for (const CopyWay way : {CopyWay::kAsync, CopyWay::kAtOnce}) {
      for (const int rounds : {1, 2, 4}) {
        RowsCase c{.of = of, .stages = 1, .rounds = rounds, .way = way};
        if (of == SumsOf::kHalfWarp) {
          c.type = ScalarType::kF32;
          c.columns = 2, c.late_columns = 4, c.along_k = false;
        }
        StreamedRows test(c);
        test.stream.body = {test.triple(kEarly),
                            test.multiply(kEarly, 0),
                            {Exchange{}},
                            test.triple(kLate),
                            test.multiply(kLate, 1)};
        test.expect_totals();
      }
    }
  }
}

// --- Sums of half a warp ------------------------------------------------------------------------

/// Runs of 4, 2 and 1 columns, one and several of them: scores are kept, element by element, and
/// multiplied by values.
TEST(TileStreamRows, SumsOfHalfWarps) {
  for (const auto& [columns, late_columns] :
       {std::pair{1, 4}, {2, 8}, {3, 6}, {4, 2}, {6, 3}, {8, 1}}) {
    for (const int warp_rows : {8, 16}) {
      StreamedRows test({.type = ScalarType::kF32,
                         .of = SumsOf::kHalfWarp,
                         .tile_k = std::int64_t{16} * columns,
                         .warp_rows = warp_rows,
                         .columns = columns,
                         .late_columns = late_columns,
                         .along_k = false});
      const std::int64_t rows = test.all_rows, keys = test.across(columns), line = rows + 12;
      test.p.rings.push_back(
          {"kept", 1, {{"tile_kept", ScalarType::kF32, padded_lines(rows, keys, false, line)}}});
      test.stream.body = {
          test.multiply(kEarly, 0, true),
          {KeepSums{.sums = kEarly, .ring = kKept, .row = test.warp_row()}},
          test.triple(kLate),
          {HalfWarpMultiply{.sums = kLate, .b = 1, .a_ring = kKept, .a_row = test.warp_row()}}};
      test.text = "__syncthreads();\n";
      const std::int64_t early = test.write_sums(kEarly), late = test.write_sums(kLate);
      const std::int64_t kept = test.write_all(
          fmt::format("tile_kept[i / {0} * {1} + i % {0}]", rows, line), rows * keys);
      const std::int64_t last = test.c.rounds - 1;
      // Each once: products of products are asked for often.
      std::vector<double> scores;
      for (std::int64_t round = 0; round <= last; ++round)
        for (std::int64_t k = 0; k < keys; ++k)
          for (std::int64_t row = 0; row < rows; ++row)
            scores.push_back(test.product(kEarly, round, row, k));
      const auto score = [&](std::int64_t round, std::int64_t row, std::int64_t k) {
        return scores[static_cast<std::size_t>((round * keys + k) * rows + row)];
      };
      test.expect_sums(early, kEarly, [&](std::int64_t row, std::int64_t column) {
        return score(last, row, column);
      });
      test.expect_sums(late, kLate, [&](std::int64_t row, std::int64_t column) {
        return test.total([&](std::int64_t round) {
          double sum = 0;
          for (std::int64_t k = 0; k < keys; ++k)
            sum += score(round, row, k) * test.value(round, column, k);
          return sum;
        });
      });
      for (std::int64_t i = 0; i < rows * keys && !test.got.empty(); ++i)
        ASSERT_EQ(test.got[static_cast<std::size_t>(kept + i)], score(last, i % rows, i / rows))
            << i;
    }
  }
}

/// Which thread writes which outputs: a run of neighbours at once, and none beyond the output.
TEST(TileStreamRows, StoresOfHalfWarps) {
  for (const ScalarType type : {ScalarType::kF32, ScalarType::kF16}) {
    for (const int columns : {1, 2, 3, 4, 8}) {
      StreamedRows test({.type = ScalarType::kF32,
                         .of = SumsOf::kHalfWarp,
                         .columns = columns,
                         .late_columns = 1,
                         .along_k = false});
      test.stream.body = {test.triple(kEarly), test.multiply(kEarly, 0)};
      // Less than the sums are by some rows and columns.
      const int run = test.p.sums[kEarly].run();
      const std::int64_t all = test.across(columns), width = all - 2 * run, height = 29;
      const SymbolId m = test.nodes.new_symbol("m_at", 32), n = test.nodes.new_symbol("n_at", all);
      test.buffer("C", type, height * width, hone::Role::kOut);
      test.p.parameters.push_back({"C", type, true});
      nest::Nodes& nodes = test.nodes;
      test.p.roles[0].body = {
          {Store{.sums = kEarly,
                 .row = test.warp_row(),
                 .column = test.number(0),
                 .row_symbol = m,
                 .column_symbol = n,
                 .rows = height,
                 .columns = width,
                 .buffer = "C",
                 .type = type,
                 .sum = test.leaf(),
                 .value = type == ScalarType::kF32 ? test.leaf() : nodes.cast(test.leaf(), type),
                 .element = nodes.add(nodes.scale(nodes.index(m), width), nodes.index(n)),
                 .guard = nodes.boolean(true),
                 .contiguous = run}}};
      const auto owners = test.probed(
          fmt::format("n_run < {}) {{", width),
          fmt::format("for (int j = 0; j < {}; ++j) probe[m * {} + n_run + j] = thread;", run,
                      width));
      test.nest.buffer = "C";
      const auto got = test.probed("", "");
      if (got.empty() || owners.empty()) return;
      for (std::int64_t row = 0; row < height; ++row) {
        for (std::int64_t column = 0; column < width; ++column) {
          const auto at = static_cast<std::size_t>(row * width + column);
          const std::int64_t half = row / 8;
          ASSERT_EQ(owners[at], half * 16 + column / run % 16) << row << ", " << column;
          ASSERT_EQ(got[at], schedules::round_to(type, test.total([&](std::int64_t round) {
                      return test.product(kEarly, round, row, column);
                    })))
              << row << ", " << column;
        }
      }
    }
  }
}

// --- Rows ---------------------------------------------------------------------------------------

/// What lanes and rows have: of the last round, and of all of them.
TEST(TileStreamRows, RowsOfEveryLane) {
  for (const auto& [of, warp_rows, columns] : {std::tuple{SumsOf::kWarp, 16, 32},
                                               {SumsOf::kWarp, 32, 64},
                                               {SumsOf::kHalfWarp, 8, 3},
                                               {SumsOf::kHalfWarp, 16, 4}}) {
    const bool half = of == SumsOf::kHalfWarp;
    StreamedRows test({.type = half ? ScalarType::kF32 : ScalarType::kBf16,
                       .of = of,
                       .warp_rows = warp_rows,
                       .columns = columns,
                       .late_columns = half ? 1 : 16,
                       .along_k = !half});
    enum { kTop, kBest, kAll, kMost, kOwn, kShare, kTwice };
    for (const char* name : {"top", "best", "all", "most", "own", "share", "twice"})
      test.p.rows.push_back(
          {name, test.nodes.load(fmt::format("%{}", name), ScalarType::kF32, test.number(0)),
           warp_rows});
    test.start = {{MapRows{kBest, test.real(-9)}},
                  {MapRows{kOwn, test.real(0)}},
                  {MapRows{kShare, test.real(0)}}};
    const auto reduce = [](int rows, Op op, bool onto, bool in_lanes) {
      return Operation{ReduceRows{rows, kEarly, op, onto, in_lanes}};
    };
    const auto row_of = [&](int rows) { return test.p.rows[static_cast<std::size_t>(rows)].value; };
    test.stream.body = {test.multiply(kEarly, 0, true),
                        reduce(kTop, Op::kMax, false, false),
                        reduce(kBest, Op::kMax, true, false),
                        reduce(kAll, Op::kAdd, false, false),
                        reduce(kMost, Op::kMax, false, true),
                        reduce(kOwn, Op::kAdd, true, true),
                        reduce(kShare, Op::kAdd, true, true),
                        {MapRows{kTwice, test.f32(Op::kAdd, row_of(kTop), row_of(kTop))}},
                        test.map(kEarly, test.f32(Op::kSub, test.leaf(), row_of(kAll)))};
    test.p.roles[0].body = {{FoldRows{kMost, Op::kMax}}, {FoldRows{kShare, Op::kAdd}}};
    // (row, lane) of what a lane has; lanes that have a row share its columns.
    const int lane_rows = warp_rows / (half ? 2 : 8), lanes = half ? 16 : 4;
    const auto place = [&](std::int64_t lane, std::int64_t i) {
      return half ? std::pair(lane / 16 * lane_rows + i, lane % 16)
                  : std::pair(i * 8 + lane / 4, lane % 4);
    };
    const std::int64_t run = half ? test.p.sums[kEarly].run() : 2, last = test.c.rounds - 1;
    const auto fold = [&](Op op, std::int64_t first, std::int64_t row, std::int64_t lane) {
      double folded = op == Op::kMax ? -9 : 0;
      for (std::int64_t round = first; round <= last; ++round) {
        for (std::int64_t column = 0; column < test.across(columns); ++column) {
          if (lane >= 0 && column / run % lanes != lane) continue;
          const double one = test.product(kEarly, round, row, column);
          folded = op == Op::kMax ? std::max(folded, one) : folded + one;
        }
      }
      return folded;
    };
    std::vector<std::int64_t> first;
    for (const Rows& rows : test.p.rows) first.push_back(test.write(rows.name + "[i]", lane_rows));
    const std::int64_t sums = test.write_sums(kEarly);
    for (const int rows : {kTop, kBest, kAll, kMost, kOwn, kShare, kTwice}) {
      SCOPED_TRACE(test.p.rows[static_cast<std::size_t>(rows)].name);
      const Op op = rows == kAll || rows == kOwn || rows == kShare ? Op::kAdd : Op::kMax;
      const bool of_all = rows == kBest || rows == kOwn || rows == kShare;
      test.expect(
          first[static_cast<std::size_t>(rows)], lane_rows,
          [&](std::int64_t row, std::int64_t lane) {
            return fold(op, of_all ? 0 : last, row, rows == kOwn ? lane : -1) *
                   (rows == kTwice ? 2 : 1);
          },
          place);
    }
    test.expect_sums(sums, kEarly, [&](std::int64_t row, std::int64_t column) {
      return test.product(kEarly, last, row, column) - fold(Op::kAdd, last, row, -1);
    });
  }
}

/// Sums that know where they are.
TEST(TileStreamRows, MapsKnowTheirRowsAndColumns) {
  for (const auto& [of, warp_rows, columns] : {std::tuple{SumsOf::kWarp, 16, 32},
                                               {SumsOf::kWarp, 32, 64},
                                               {SumsOf::kHalfWarp, 8, 1},
                                               {SumsOf::kHalfWarp, 8, 6},
                                               {SumsOf::kHalfWarp, 16, 8}}) {
    const bool half = of == SumsOf::kHalfWarp;
    StreamedRows test({.type = half ? ScalarType::kF32 : ScalarType::kF16,
                       .of = of,
                       .warp_rows = warp_rows,
                       .columns = columns,
                       .late_columns = half ? 1 : 16,
                       .along_k = !half});
    nest::Nodes& nodes = test.nodes;
    const SymbolId m = nodes.new_symbol("m_at", 200), n = nodes.new_symbol("n_at", 400);
    const Ref place = nodes.add(nodes.scale(nodes.index(m), 1000), nodes.index(n));
    test.stream.body = {test.triple(kEarly), test.multiply(kEarly, 0)};
    Operation add =
        test.map(kEarly, test.f32(Op::kAdd, test.leaf(), nodes.cast(place, ScalarType::kF32)));
    auto& map = std::get<MapSums>(add.is);
    map.row = nodes.add(test.warp_row(), test.number(64));
    map.column = test.number(128);
    map.row_symbol = m, map.column_symbol = n;
    test.p.roles[0].body = {add};
    test.expect_sums(test.write_sums(kEarly), kEarly, [&](std::int64_t row, std::int64_t column) {
      return static_cast<double>((64 + row) * 1000 + 128 + column) +
             test.total(
                 [&](std::int64_t round) { return test.product(kEarly, round, row, column); });
    });
  }
}

/// Left out in one round, or where all rows of a warp allow it.
TEST(TileStreamRows, MapsThatAreLeftOut) {
  for (const auto& [of, warp_rows] :
       {std::pair{SumsOf::kWarp, 16}, {SumsOf::kWarp, 32}, {SumsOf::kHalfWarp, 8}}) {
    const bool half = of == SumsOf::kHalfWarp;
    StreamedRows test({.type = half ? ScalarType::kF32 : ScalarType::kF16,
                       .of = of,
                       .warps = 4,
                       .warp_rows = warp_rows,
                       .columns = half ? 1 : 16,
                       .late_columns = half ? 1 : 16,
                       .along_k = !half});
    const std::int64_t last = test.c.rounds - 1;
    std::vector<double> tops(4, -1000);
    for (std::int64_t row = 0; row < test.all_rows; ++row) {
      double& top = tops[static_cast<std::size_t>(row / warp_rows)];
      for (std::int64_t column = 0; column < 16; ++column)
        top = std::max(top, test.product(kEarly, last, row, column));
    }
    const double limit = std::ranges::max(tops);
    ASSERT_LT(std::ranges::min(tops), limit);
    nest::Nodes& nodes = test.nodes;
    const Ref top = nodes.load("%top", ScalarType::kF32, test.number(0));
    test.p.rows = {{"top", top, warp_rows}};
    Operation of_rows = test.triple(kEarly), of_round = test.triple(kLate);
    std::get<MapSums>(of_rows.is).unless =
        nodes.op(Op::kLess, ScalarType::kBool, {top, test.real(limit)});
    std::get<MapSums>(of_round.is).unless =
        nodes.is_zero(nodes.subtract(nodes.index(test.stream.symbol), test.number(1)));
    test.stream.body = {test.multiply(kEarly, 0, true),
                        {ReduceRows{.rows = 0, .sums = kEarly}},
                        of_rows,
                        of_round,
                        test.multiply(kLate, 1)};
    const std::int64_t early = test.write_sums(kEarly), late = test.write_sums(kLate);
    test.expect_sums(early, kEarly, [&](std::int64_t row, std::int64_t column) {
      const bool kept = tops[static_cast<std::size_t>(row / warp_rows)] < limit;
      return test.product(kEarly, last, row, column) * (kept ? 1 : 3);
    });
    test.expect_sums(late, kLate, [&](std::int64_t row, std::int64_t column) {
      double total = 0;
      for (std::int64_t round = 0; round <= last; ++round)
        total = total * (round == 1 ? 1 : 3) + test.product(kLate, round, row, column);
      return total;
    });
  }
}

// --- Fragments that sums are rounded to ---------------------------------------------------------

struct RoundCase {
  ScalarType type = ScalarType::kF32;
  bool thrice = false, in_parts = false;
  int warp_rows = 16, keys = 32;
};

/// Scores that no type holds are rounded, and what is rounded, with what that leaves, multiplied.
void expect_rounded(const RoundCase& c) {
  SCOPED_TRACE(fmt::format("thrice {}, in parts {}", c.thrice, c.in_parts));
  const bool tf32 = c.type == ScalarType::kF32;
  StreamedRows test({.type = c.type,
                     .rounds = 2,
                     .tile_k = c.keys,
                     .warp_rows = c.warp_rows,
                     .columns = c.keys,
                     .late_columns = 64,
                     .along_k = false});
  for (const char* name : {"Q", "K", "V"})
    for (double& value : test.contents[name]) value = std::clamp(value, -1.0, 1.0);
  if (tf32) add_bits(test.contents["V"]);
  test.p.fragments = {{"weights", c.keys, c.type, c.warp_rows},
                      {"rest", c.keys, c.type, c.warp_rows}};
  WarpMultiply late = test.multiply_fragments(kLate, 1);
  late.thrice = c.thrice, late.in_parts = c.in_parts;
  late.rest = c.thrice ? 1 : -1;
  // Halves of what the types hold last; of which three products hold still more.
  const double more = c.thrice ? 1 + 0x1p-12 : 1 + 0x1p-11, large = 0x1p24;
  test.stream.body = {test.multiply(kEarly, 0, true),
                      test.map(kEarly, test.f32(Op::kMul, test.leaf(), test.real(more))),
                      {RoundSums{0, kEarly, late.rest}},
                      c.in_parts ? test.map(kLate, test.leaf()) : test.triple(kLate),
                      {late}};
  if (c.in_parts) test.start = {test.map(kLate, test.real(large))};
  const auto to_tf32 = [](double x) { return static_cast<double>(rounded(static_cast<float>(x))); };
  const auto score = [&](std::int64_t round, std::int64_t row, std::int64_t k) {
    return test.product(kEarly, round, row, k) * more;
  };
  const auto weight = [&](std::int64_t round, std::int64_t row, std::int64_t k) {
    const double one = score(round, row, k);
    return tf32 ? to_tf32(one) : schedules::round_to(c.type, one);
  };
  const std::int64_t last = test.c.rounds - 1, weights = test.write_fragments(0);
  const std::int64_t rest = c.thrice ? test.write_fragments(1) : 0, sums = test.write_sums(kLate);
  test.expect_fragments(weights, 0,
                        [&](std::int64_t row, std::int64_t k) { return weight(last, row, k); });
  const auto left = [&](std::int64_t round, std::int64_t row, std::int64_t k) {
    return to_tf32(score(round, row, k) - weight(round, row, k));
  };
  if (c.thrice) {
    test.expect_fragments(rest, 1,
                          [&](std::int64_t row, std::int64_t k) { return left(last, row, k); });
  }
  test.expect_sums(sums, kLate, [&](std::int64_t row, std::int64_t column) {
    double all = c.in_parts ? large : 0;
    for (std::int64_t round = 0; round <= last; ++round) {
      double part = 0;
      for (std::int64_t k = 0; k < c.keys; ++k) {
        const double value = test.value(round, column, k), big = tf32 ? to_tf32(value) : value;
        part += weight(round, row, k) * big;
        if (c.thrice) part += left(round, row, k) * big + weight(round, row, k) * (value - big);
      }
      all = c.in_parts ? static_cast<double>(static_cast<float>(all + part)) : 3 * all + part;
    }
    return all;
  });
}

TEST(TileStreamRows, RoundedSums) {
  for (const int warp_rows : {16, 32}) {
    for (const bool in_parts : {false, true}) {
      for (const ScalarType type : {ScalarType::kF16, ScalarType::kBf16, ScalarType::kF32})
        expect_rounded({.type = type, .in_parts = in_parts, .warp_rows = warp_rows});
      expect_rounded({.thrice = true, .in_parts = in_parts, .warp_rows = warp_rows});
      expect_rounded({.thrice = true, .in_parts = in_parts, .warp_rows = warp_rows, .keys = 16});
    }
  }
}

}  // namespace
}  // namespace hone::tile
