// What a stream's copies bring to shared memory, byte by byte, and what its products leave in each
// thread's sums, against the formulas of the layouts.
#include "tests/unit/rewriters/tile_stream_probe.h"

namespace hone::tile {
namespace {

// --- Copies -------------------------------------------------------------------------------------

struct CopyCase {
  ScalarType type = ScalarType::kF16;  ///< of the tile
  ScalarType from = ScalarType::kF16;  ///< of the matrix
  std::int64_t rows = 64, ks = 64;     ///< of the matrix
  std::int64_t tile_rows = 32, tile_k = 32;
  Layout layout;
  CopyWay way = CopyWay::kAsync;
  bool along_k = true;
  int piece = 1, warps = 4, stages = 3;
  std::int64_t first = 0;  ///< row
  /// Of (row, k); empty: of the matrix.
  std::function<Ref(Streamed&)> value = nullptr, mask = nullptr;
};

/// C for the place of (r, k) in a layout, by its own formula.
std::string place_of(const Layout& layout, ScalarType type) {
  std::string offset = "0";
  for (std::size_t d = 0; d < 2; ++d) {
    std::string rest = d == 0 ? "r" : "k";
    for (std::size_t m = 0; m < layout.dimension(d).size(); ++m) {
      const Mode& mode = layout.dimension(d)[m];
      const bool last = m + 1 == layout.dimension(d).size();
      offset += last ? fmt::format(" + {} * {}", rest, mode.stride)
                     : fmt::format(" + {} % {} * {}", rest, mode.extent, mode.stride);
      rest = fmt::format("({} / {})", rest, mode.extent);
    }
  }
  if (layout.swizzle() == 0) return offset;
  const auto size = size_of(type);
  return fmt::format("((({0}) * {1}) ^ ((({0}) * {1} >> 7 & {2}) << 4)) / {1}", offset, size,
                     layout.swizzle() / 16 - 1);
}

void expect_copied(const CopyCase& c) {
  SCOPED_TRACE(fmt::format(
      "{} from {}, {} x {} by {} x {} as {}, way {}, along k {}, piece {}, {} "
      "warps, {} stages",
      to_string(c.type), to_string(c.from), c.rows, c.ks, c.tile_rows, c.tile_k,
      c.layout.describe(), static_cast<int>(c.way), c.along_k, c.piece, c.warps, c.stages));
  const std::int64_t rounds = (c.ks + c.tile_k - 1) / c.tile_k, each = c.tile_rows * c.tile_k;
  Streamed test(c.warps, c.stages, rounds * each);
  test.rounds(c.ks, c.tile_k);
  const SharedTile tile{"tile", c.type, c.layout};
  test.p.rings[0].tiles = {tile};
  Ref value = test.matrix("A", c.from, c.rows, c.along_k);
  if (c.value) value = c.value(test);
  const Ref read = value;
  if (value->type != c.type) value = test.nodes.cast(value, c.type);
  CopyTile copy =
      test.copy(0, value->is(Op::kCast) ? read : value, c.rows, c.along_k, c.piece, c.way);
  copy.row = test.number(c.first);
  if (c.mask) copy.mask = c.mask(test);
  test.stream.copies = {copy};
  const auto got = test.probed(
      "__syncthreads();",
      fmt::format(
          "for (int i = thread; i < {0}; i += {1}) {{\n  const int r = i / {2}, k = i % {2};"
          "\n  probe[round * {0} + i] = static_cast<float>(tile[stage * {3} + {4}]);\n}}",
          each, c.warps * 32, c.tile_k,
          tile.streamed_bytes() / static_cast<std::int64_t>(size_of(c.type)),
          place_of(c.layout, c.type)));
  if (got.empty()) return;
  for (std::int64_t round = 0; round < rounds; ++round) {
    for (std::int64_t r = 0; r < c.tile_rows; ++r) {
      for (std::int64_t k = 0; k < c.tile_k; ++k) {
        const std::int64_t row = c.first + r, all_k = round * c.tile_k + k;
        const bool inside =
            row < c.rows && all_k < c.ks && test.value_at(copy.mask, row, all_k) != 0;
        const double want =
            inside ? schedules::round_to(c.type, test.value_at(read, row, all_k)) : 0;
        ASSERT_EQ(got[static_cast<std::size_t>(round * each + r * c.tile_k + k)], want)
            << "round " << round << ", row " << r << ", k " << k;
      }
    }
  }
}

/// 16 bytes, 8 and 4 of every width of swizzled lines, with rows and k beyond the matrix.
TEST(TileStreams, AsyncCopiesToSwizzledLines) {
  for (const ScalarType type : {ScalarType::kF16, ScalarType::kF32, ScalarType::kE4m3}) {
    const auto size = static_cast<int>(size_of(type));
    for (const int width : {16, 32, 64, 128, 256}) {
      const std::int64_t line = width / size;
      for (const bool along_k : {true, false}) {
        const std::int64_t tile_rows = along_k ? 32 : line, tile_k = along_k ? line : 32;
        for (const int bytes : {16, 8, 4}) {
          const std::int64_t piece = bytes / size;
          CopyCase c{.type = type, .from = type, .tile_rows = tile_rows, .tile_k = tile_k};
          c.layout = swizzled_lines(tile_rows, tile_k, along_k, type);
          c.rows = along_k ? 45 : line * 2 + piece;
          c.ks = along_k ? line * 2 + piece : 45;
          c.first = along_k ? 16 : line;
          c.along_k = along_k;
          c.piece = static_cast<int>(piece);
          c.stages = 2 + bytes / 8;
          expect_copied(c);
        }
      }
    }
  }
}

TEST(TileStreams, AsyncCopiesToPaddedLines) {
  for (const auto& [type, bytes] : {std::pair{ScalarType::kF32, 16},
                                    {ScalarType::kF32, 4},
                                    {ScalarType::kF64, 16},
                                    {ScalarType::kF64, 8}}) {
    const int piece = bytes / static_cast<int>(size_of(type));
    CopyCase c{.type = type, .from = type, .rows = 72, .ks = 40, .tile_rows = 32, .tile_k = 16};
    c.layout = padded_lines(32, 16, false, 36);
    c.along_k = false;
    c.first = 48;
    c.piece = piece;
    expect_copied(c);
    // Across the lines: one element at a time.
    c.along_k = true;
    c.piece = 1;
    expect_copied(c);
  }
}

/// Loaded early and written late, or at once: as they are, rounded to another type, several
/// neighbours along the lines and across them, one by one.
TEST(TileStreams, CopiesThroughRegisters) {
  const ScalarType f32 = ScalarType::kF32, bf16 = ScalarType::kBf16, f16 = ScalarType::kF16;
  for (const CopyWay way : {CopyWay::kRegisters, CopyWay::kAtOnce}) {
    for (const bool along_k : {true, false}) {
      for (const int piece : {1, 2, 4}) {
        CopyCase c{.type = bf16, .from = f32, .rows = 52, .ks = 84, .way = way};
        c.along_k = along_k;
        c.layout = swizzled_lines(32, 32, along_k, bf16);
        c.first = 32;
        c.piece = piece;
        expect_copied(c);
        c.type = f32;
        c.layout = padded_lines(32, 32, false, 36);
        expect_copied(c);
        c.mask = [](Streamed& test) {
          return test.nodes.non_negative(
              test.nodes.add(test.nodes.subtract(test.row(), test.k()), test.number(5)));
        };
        expect_copied(c);
        c.type = c.from = f16;
        c.layout = swizzled_lines(32, 32, along_k, f16);
        expect_copied(c);
      }
    }
  }
}

/// Threads with more than one piece each, with less than one, and in numbers that divide no line.
TEST(TileStreams, CopiesByAnyNumberOfThreads) {
  for (const int warps : {1, 2, 3, 8, 16}) {
    for (const CopyWay way : {CopyWay::kAsync, CopyWay::kRegisters, CopyWay::kAtOnce}) {
      CopyCase c{.rows = 40, .ks = 72, .way = way, .piece = 8, .warps = warps};
      c.layout = swizzled_lines(32, 32, true, ScalarType::kF16);
      expect_copied(c);
      c.rows = 44;
      c.layout = swizzled_lines(32, 32, false, ScalarType::kF16);
      c.along_k = false;
      c.piece = 4;
      expect_copied(c);
      c.layout = swizzled_lines(128, 32, true, ScalarType::kF16);
      c.tile_rows = 128;
      c.along_k = true;
      c.piece = way == CopyWay::kAsync ? 2 : 1;
      expect_copied(c);
    }
  }
}

/// Elements whose places are no sum of a row's and a k's: digits, what is read, what is computed.
TEST(TileStreams, CopiesOfEveryAddress) {
  const ScalarType f32 = ScalarType::kF32;
  for (const CopyWay way : {CopyWay::kAsync, CopyWay::kRegisters}) {
    for (const bool along_k : {true, false}) {
      for (const int which : {0, 1, 2, 3}) {
        CopyCase c{.type = f32, .from = f32, .rows = 50, .ks = 36, .tile_k = 16, .way = way};
        c.layout = padded_lines(32, 16, false, 40);
        c.along_k = along_k;
        c.first = 32;
        c.value = [which](Streamed& test) {
          nest::Nodes& nodes = test.nodes;
          const auto digit = [&](Ref of, std::int64_t by) {
            return nodes.remainder(of, test.number(by));
          };
          const auto rest = [&](Ref of, std::int64_t by) {
            return nodes.divide(of, test.number(by));
          };
          // Rows in digits, k in digits, both in one, and both in one whatever else.
          const Ref place[] = {
              nodes.add(nodes.scale(digit(test.row(), 7), 36), test.k()),
              nodes.add(nodes.scale(digit(test.k(), 5), 50),
                        nodes.add(test.row(), rest(test.k(), 5))),
              rest(nodes.add(nodes.scale(test.row(), 36), nodes.scale(test.k(), 3)), 2),
              nodes.add(nodes.scale(rest(test.row(), 3), 36),
                        digit(nodes.add(test.row(), test.k()), 36))};
          return nodes.load("A", ScalarType::kF32, place[which]);
        };
        expect_copied(c);
      }
    }
  }
  for (const bool along_k : {true, false}) {
    CopyCase c{.type = f32, .from = f32, .rows = 50, .ks = 36, .tile_k = 16};
    c.way = CopyWay::kRegisters;
    c.layout = padded_lines(32, 16, false, 40);
    c.along_k = along_k;
    c.first = 32;
    c.value = [](Streamed& test) {
      test.buffer("Index", ScalarType::kI32, 50, hone::Role::kIn);
      for (std::size_t i = 0; i < 50; ++i)
        test.contents["Index"][i] = static_cast<double>(i * 7 % 50);
      test.p.parameters.push_back({"Index", ScalarType::kI32, false});
      const Ref row = test.nodes.load("Index", ScalarType::kI32, test.row());
      return test.nodes.load("A", ScalarType::kF32,
                             test.nodes.add(test.nodes.scale(row, 36), test.k()));
    };
    expect_copied(c);
    c.value = [](Streamed& test) {
      const Ref load = test.nodes.load("A", ScalarType::kF32,
                                       test.nodes.add(test.nodes.scale(test.row(), 36), test.k()));
      return test.nodes.op(Op::kMul, ScalarType::kF32, {load, load});
    };
    expect_copied(c);
  }
}

// --- Products -----------------------------------------------------------------------------------

struct WarpCase {
  ScalarType a = ScalarType::kF16, b = ScalarType::kF16;
  bool a_along_k = true, b_along_k = true, thrice = false;
  int stages = 3;
  std::int64_t rows = 64, columns = 64, tile_k = 32, ks = 72;
  int warp_rows = 32, warp_columns = 32;
};

void expect_warps(const WarpCase& c) {
  SCOPED_TRACE(fmt::format("{} {} {} by {} {}, {} x {} of {} x {}, {}", to_string(c.a), c.a_along_k,
                           c.thrice, to_string(c.b), c.b_along_k, c.warp_rows, c.warp_columns,
                           c.rows, c.columns, c.ks));
  const std::int64_t across = c.columns / c.warp_columns;
  const int warps = static_cast<int>(c.rows / c.warp_rows * across);
  const int count = c.warp_rows * c.warp_columns / 32;
  const bool tf32 = c.a == ScalarType::kF32;
  Streamed test(warps, c.stages, std::int64_t{warps} * 32 * count);
  test.rounds(c.ks, c.tile_k);
  const auto tile = [&](const char* name, ScalarType type, std::int64_t rows, bool along_k) {
    return SharedTile{name, type,
                      tf32 && !along_k ? padded_lines(rows, c.tile_k, false, rows + 8)
                                       : swizzled_lines(rows, c.tile_k, along_k, type)};
  };
  test.p.rings[0].tiles = {tile("tile_a", c.a, c.rows, c.a_along_k),
                           tile("tile_b", c.b, c.columns, c.b_along_k)};
  const auto piece = [](ScalarType type) { return 8 / static_cast<int>(size_of(type)); };
  const Ref a = test.matrix("A", c.a, c.rows, c.a_along_k);
  const Ref b = test.matrix("B", c.b, c.columns, c.b_along_k);
  if (tf32) add_bits(test.contents["A"]), add_bits(test.contents["B"]);
  test.stream.copies = {test.copy(0, a, c.rows, c.a_along_k, piece(c.a), CopyWay::kAsync),
                        test.copy(1, b, c.columns, c.b_along_k, piece(c.b), CopyWay::kAsync)};
  test.p.sums = {{"sums", c.warp_columns, c.warp_rows, SumsOf::kWarp}};
  const Ref warp = test.nodes.index(test.p.warp);
  test.stream.body = {{WarpMultiply{
      .a_row = test.nodes.scale(test.nodes.divide(warp, test.number(across)), c.warp_rows),
      .b_row = test.nodes.scale(test.nodes.remainder(warp, test.number(across)), c.warp_columns),
      .thrice = c.thrice}}};
  const auto got = test.probed(
      "fill + 1;\n  }",
      fmt::format("for (int i = 0; i < {0}; ++i) probe[thread * {0} + i] = sums[i];", count));
  if (got.empty()) return;
  const auto element = [&](const char* name, std::int64_t rows, bool along_k, std::int64_t row,
                           std::int64_t k) {
    const double value =
        test.contents[name][static_cast<std::size_t>(along_k ? row * c.ks + k : k * rows + row)];
    return tf32 && !c.thrice ? static_cast<double>(rounded(static_cast<float>(value))) : value;
  };
  for (std::int64_t thread = 0; thread < std::int64_t{warps} * 32; ++thread) {
    for (std::int64_t value = 0; value < count; ++value) {
      const std::int64_t at = mma_sums().offset({thread % 32, value % 4});
      const std::int64_t block = value / 4, blocks = c.warp_columns / 8;
      const std::int64_t row = thread / 32 / across * c.warp_rows + block / blocks * 16 + at / 8;
      const std::int64_t column =
          thread / 32 % across * c.warp_columns + block % blocks * 8 + at % 8;
      double sum = 0;
      for (std::int64_t k = 0; k < c.ks; ++k) {
        const double left = element("A", c.rows, c.a_along_k, row, k);
        const double right = element("B", c.columns, c.b_along_k, column, k);
        sum += left * right;
        // What rounding leaves of both is not multiplied.
        if (c.thrice) {
          sum -= (left - static_cast<double>(rounded(static_cast<float>(left)))) *
                 (right - static_cast<double>(rounded(static_cast<float>(right))));
        }
      }
      ASSERT_EQ(got[static_cast<std::size_t>(thread * count + value)], sum)
          << "thread " << thread << ", value " << value;
    }
  }
}

TEST(TileStreams, ProductsOfWarps) {
  for (const bool a_along_k : {true, false}) {
    for (const bool b_along_k : {true, false}) {
      WarpCase c{.a_along_k = a_along_k, .b_along_k = b_along_k};
      expect_warps(c);
      c.a = c.b = ScalarType::kBf16;
      c.rows = 16, c.columns = 128, c.warp_rows = 16, c.warp_columns = 64, c.tile_k = 64;
      expect_warps(c);
      c = {ScalarType::kF32, ScalarType::kF32, a_along_k, b_along_k};
      c.tile_k = 16, c.ks = 36;
      expect_warps(c);
      c.thrice = true;
      c.rows = 128, c.warp_rows = 64, c.warp_columns = 16, c.stages = 2;
      expect_warps(c);
    }
  }
}

TEST(TileStreams, ProductsOfWarpsInEightBits) {
  const ScalarType e4m3 = ScalarType::kE4m3, e5m2 = ScalarType::kE5m2;
  for (const auto& [a, b] : {std::pair{e4m3, e4m3}, {e4m3, e5m2}, {e5m2, e4m3}, {e5m2, e5m2}}) {
    WarpCase c{a, b};
    c.tile_k = 64, c.ks = 104, c.stages = 4;
    expect_warps(c);
  }
}

/// Sums of products that are new in every round are those of the last one.
TEST(TileStreams, FreshProducts) {
  Streamed test(1, 2, 32 * 8);
  test.rounds(64, 32);
  const Layout layout = swizzled_lines(16, 32, true, ScalarType::kF16);
  test.p.rings[0].tiles = {{"tile_a", ScalarType::kF16, layout},
                           {"tile_b", ScalarType::kF16, layout}};
  const Ref a = test.matrix("A", ScalarType::kF16, 16, true);
  test.stream.copies = {test.copy(0, a, 16, true, 8, CopyWay::kAsync),
                        test.copy(1, a, 16, true, 8, CopyWay::kAsync)};
  test.p.sums = {{"sums", 16, 16, SumsOf::kWarp}};
  test.stream.body = {
      {WarpMultiply{.a_row = test.number(0), .b_row = test.number(0), .fresh = true}}};
  const auto got =
      test.probed("fill + 1;\n  }", "for (int i = 0; i < 8; ++i) probe[thread * 8 + i] = sums[i];");
  if (got.empty()) return;
  for (std::int64_t thread = 0; thread < 32; ++thread) {
    for (std::int64_t value = 0; value < 8; ++value) {
      const std::int64_t at = mma_sums().offset({thread, value % 4});
      double sum = 0;
      for (std::int64_t k = 32; k < 64; ++k) {
        sum += test.contents["A"][static_cast<std::size_t>(at / 8 * 64 + k)] *
               test.contents["A"][static_cast<std::size_t>((value / 4 * 8 + at % 8) * 64 + k)];
      }
      ASSERT_EQ(got[static_cast<std::size_t>(thread * 8 + value)], sum) << thread << ", " << value;
    }
  }
}

/// Multiply-adds: 16 bytes of neighbours, from places that warps of 4 x 8 threads take in turns.
TEST(TileStreams, ProductsOfThreads) {
  for (const auto& [type, rows, columns, across, warps] :
       {std::tuple{ScalarType::kF32, 8, 8, 16, 4},
        {ScalarType::kF32, 4, 16, 8, 2},
        {ScalarType::kF64, 4, 2, 8, 4},
        {ScalarType::kF64, 8, 8, 16, 2}}) {
    for (const int stages : {2, 3, 5}) {
      for (const bool along_k : {true, false}) {
        SCOPED_TRACE(fmt::format("{} {} x {}, {} across, {}", to_string(type), rows, columns,
                                 across, stages));
        const std::int64_t down = std::int64_t{warps} * 32 / across, ks = 44;
        const std::int64_t all_rows = down * rows, all_columns = std::int64_t{across} * columns;
        Streamed test(warps, stages, std::int64_t{warps} * 32 * rows * columns);
        test.rounds(ks, 8);
        const auto size = static_cast<int>(size_of(type));
        test.p.rings[0].tiles = {
            {"tile_a", type, padded_lines(all_rows, 8, false, all_rows + 16 / size)},
            {"tile_b", type, padded_lines(all_columns, 8, false, all_columns)}};
        const Ref a = test.matrix("A", type, all_rows, along_k);
        const Ref b = test.matrix("B", type, all_columns, false);
        test.stream.copies = {test.copy(0, a, all_rows, along_k, along_k ? 1 : 16 / size,
                                        along_k ? CopyWay::kRegisters : CopyWay::kAsync),
                              test.copy(1, b, all_columns, false, 16 / size, CopyWay::kAsync)};
        test.p.sums = {{"sums", columns, rows, SumsOf::kThread, type, across}};
        test.stream.body = {{ThreadMultiply{}}};
        const int count = rows * columns, run = 16 / size;
        // Behind the loop over rounds, which is the last to end.
        const auto got =
            test.probed("now_b[k % 2][j / " + std::to_string(run) + "].at[j % " +
                            std::to_string(run) + "];\n        }\n      }\n    }\n  }",
                        fmt::format("for (int i = 0; i < {0}; ++i) probe[thread * {0} + i] = "
                                    "static_cast<float>(sums[i]);",
                                    count));
        if (got.empty()) return;
        for (std::int64_t thread = 0; thread < std::int64_t{warps} * 32; ++thread) {
          const std::int64_t warp = thread / 32, lane = thread % 32;
          const std::int64_t row_at = warp / (across / 8) * 4 + lane / 16 * 2 + lane % 2;
          const std::int64_t column_at = warp % (across / 8) * 8 + lane / 2 % 8;
          for (std::int64_t i = 0; i < rows; ++i) {
            for (std::int64_t j = 0; j < columns; ++j) {
              const std::int64_t row = i / run * down * run + row_at * run + i % run;
              const std::int64_t column = j / run * across * run + column_at * run + j % run;
              double sum = 0;
              for (std::int64_t k = 0; k < ks; ++k) {
                sum += test.contents["A"][static_cast<std::size_t>(along_k ? row * ks + k
                                                                           : k * all_rows + row)] *
                       test.contents["B"][static_cast<std::size_t>(k * all_columns + column)];
              }
              ASSERT_EQ(got[static_cast<std::size_t>(thread * count + i * columns + j)], sum)
                  << "thread " << thread << ": " << i << ", " << j;
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace hone::tile
