// Boxes that copies bring, fragments that are read of them place by place, and outputs that are
// turned: every register and every output, on the emulator.
#include <array>

#include "tests/unit/rewriters/tile_probe.h"

namespace hone::tile {
namespace {

constexpr int kChannels = 16;  // k of the patch

/// How the outputs of two warp groups read a patch.
struct Steps {
  std::int64_t width = 32, across = 1;
  bool down = true;  ///< the next line of outputs reads the next row of the patch, or the same one

  [[nodiscard]] std::int64_t row() const { return width * across + 8; }  // of the patch [elements]
  [[nodiscard]] std::int64_t next() const { return down ? kChannels * row() : 0; }
  [[nodiscard]] std::int64_t rows() const { return 128 / width + 1; }
};

/// Sums of 128 x 64 x 32. Two places of a window, a patch's 16 channels each, are the 32 of k; the
/// parts that a change needs by their names.
struct PatchProgram : Probed {
  explicit PatchProgram(const Steps& steps = {}, bool rest = false, std::int64_t probes = 1)
      : Probed(probes, 2) {
    operand("B", ScalarType::kF32, 64, 32, true);
    const std::int64_t line = steps.row(), row = kChannels * line, rows = steps.rows();
    buffer("X", ScalarType::kF32, rows * row, hone::Role::kIn);
    p.rings[0].tiles.push_back(
        {"patch", ScalarType::kF32, Layout({{{line, 1}, {rows, row}}, {{kChannels, line}}})});
    p.views.push_back({.name = "map_X",
                       .buffer = "X",
                       .type = ScalarType::kF32,
                       .shape = {rows, kChannels, line},
                       .strides = {row, line},
                       .box = {rows, kChannels, line},
                       .as_tf32 = !rest});
    copies.push_back({BulkCopy{.tile = 1, .view = 1, .from = numbers({0, 0, 0}), .to = {0, 0}}});
    p.sums = {{"sums", 64}};
    p.fragments = {{"of_x", 32, ScalarType::kF32}, {"rest_of_x", 32, ScalarType::kF32}};
    fill();
    const auto read = [&](int first, std::int64_t from, Ref there) {
      return ReadPatch{.fragments = 0,
                       .rest = rest ? 1 : -1,
                       .ring = 0,
                       .tile = 1,
                       .first = first,
                       .row = nodes.scale(nodes.index(p.group), 64),
                       .from = number(from),
                       .there = there,
                       .width = steps.width,
                       .across = steps.across,
                       .down = steps.next()};
    };
    const Ref yes = nodes.boolean(true);
    math() = {{Wait{0}},
              {read(0, kFrom[0], yes)},
              {read(kChannels, row + kFrom[1], yes)},
              {Multiply{.b = 0, .fresh = yes, .fragments = 0}},
              {Await{0}},
              {Release{0}}};
  }

  static constexpr std::array<std::int64_t, 2> kFrom = {3, 5};
  ReadPatch& reading(std::size_t which = 0) { return std::get<ReadPatch>(math()[1 + which].is); }
  SharedTile& patch() { return p.rings[0].tiles[1]; }
};

/// All registers of fragments, where only the warp groups below `there` read the second place.
void expect_fragments(const Steps& steps, bool rest, int there) {
  SCOPED_TRACE(fmt::format("width {}, across {}, down {}, rest {}, there {}", steps.width,
                           steps.across, steps.next(), rest, there));
  constexpr int kOfThread = 16, kAll = 256 * kOfThread;
  PatchProgram test(steps, rest, 2 * kAll);
  // Constants, and what each warp group computes.
  if (there == 0) test.reading(1).there = test.nodes.boolean(false);
  if (there == 1)
    test.reading(1).there = test.nodes.less(test.nodes.index(test.p.group), test.number(1));
  std::string lines = Probed::each_of("__uint_as_float(of_x[i / 4][i % 4])", kOfThread);
  if (rest) lines += Probed::each_of("__uint_as_float(rest_of_x[i / 4][i % 4])", kOfThread, kAll);
  const std::vector<double> got =
      test.probed({{"64 x 64 sums of 32 products each, which go on by themselves.", lines}});
  ASSERT_FALSE(got.empty());
  // Source: PTX ISA, "Register Fragments for wgmma.mma_async.m64nNk8", matrix A.
  for (std::int64_t thread = 0; thread < 256; ++thread) {
    for (std::int64_t i = 0; i < kOfThread; ++i) {
      const std::int64_t row = thread / 32 * 16 + thread % 32 / 4 + i % 2 * 8;
      const std::int64_t column = i / 4 * 8 + thread % 4 + i % 4 / 2 * 4;
      const bool second = column >= kChannels;
      const std::int64_t channel = column % kChannels;
      // Of X[y, channel, x], which the copy brings as it lies.
      const std::int64_t y = (steps.down ? row / steps.width : 0) + (second ? 1 : 0);
      const std::int64_t x = row % steps.width * steps.across + PatchProgram::kFrom[second ? 1 : 0];
      const auto at = static_cast<std::size_t>((y * kChannels + channel) * steps.row() + x);
      const float want =
          second && thread / 128 >= there ? 0.0F : static_cast<float>(test.contents.at("X").at(at));
      const auto place = static_cast<std::size_t>(thread * kOfThread + i);
      ASSERT_EQ(got[place], rounded(want)) << "thread " << thread << ", " << i;
      if (rest)
        ASSERT_EQ(got[kAll + place], rounded(want - rounded(want)))
            << "thread " << thread << ", " << i;
    }
  }
}

TEST(TilePatches, RegistersHaveWhatWindowsRead) {
  for (const bool rest : {false, true})
    for (const std::int64_t width : {16, 32})
      for (const std::int64_t across : {1, 2})
        for (const int there : {0, 1, 2}) expect_fragments({width, across}, rest, there);
}

/// Every line of outputs reads the same.
TEST(TilePatches, LinesThatDoNotMove) { expect_fragments({32, 2, false}, false, 2); }

/// The reason why the program with this change is refused; "" where it is not.
std::string patched(const std::function<void(PatchProgram&)>& change) {
  PatchProgram program;
  change(program);
  const auto ok = verify(program.p, {});
  return ok ? "" : ok.error().message.substr(std::string("tile program: ").size());
}

TEST(TilePatches, Refusals) {
  using P = PatchProgram;
  EXPECT_EQ(patched([](P&) {}), "");
  const std::string nothing = "fragments of what is not there";
  EXPECT_EQ(patched([](P& p) { p.reading().ring = 1; }), nothing);
  EXPECT_EQ(patched([](P& p) { p.reading().tile = 2; }), nothing);
  EXPECT_EQ(patched([](P& p) { p.reading().fragments = 2; }), nothing);
  EXPECT_EQ(patched([](P& p) { p.reading().rest = 2; }), nothing);
  EXPECT_EQ(patched([](P& p) { p.reading().rest = 0; }), nothing);
  EXPECT_EQ(patched([](P& p) { p.reading().row = nullptr; }), nothing);
  EXPECT_EQ(patched([](P& p) { p.reading().from = nullptr; }), nothing);
  EXPECT_EQ(patched([](P& p) { p.reading().there = nullptr; }), nothing);
  EXPECT_EQ(patched([](P& p) { p.math().erase(p.math().begin()); }),
            "'patch' is read before it is full");
  EXPECT_EQ(patched([](P& p) { p.reading().tile = 0; }),
            "'tile_B' is no patch of f32: (64:32) x (32:1, 1:2048) swizzle 128");
  EXPECT_EQ(
      patched([](P& p) { p.patch().layout = Layout({{{40, 1}, {5, 640}}, {{4, 40}, {4, 160}}}); }),
      "'patch' is no patch of f32: (40:1, 5:640) x (4:40, 4:160)");
  EXPECT_EQ(patched([](P& p) {
              p.patch().layout = Layout({{{40, 1}, {5, 480}}, {{12, 40}}});
              p.p.views[1].shape[1] = p.p.views[1].box[1] = 12;
              p.p.views[1].strides[0] = 480;
            }),
            "'patch' is no patch of f32: (40:1, 5:480) x (12:40)");
  EXPECT_EQ(patched([](P& p) {
              p.patch().type = p.p.views[1].type = ScalarType::kF16;
              p.p.views[1].as_tf32 = false;
            }),
            "'patch' is no patch of f32: (40:1, 5:640) x (16:40)");
  EXPECT_EQ(patched([](P& p) { p.p.views[1].as_tf32 = false; }),
            "'patch' is not rounded by its copies");
  const std::string to = "16 of k of 'patch' are read to ";
  for (const int first : {-8, 4, 24})
    EXPECT_EQ(patched([&](P& p) { p.reading().first = first; }),
              to + fmt::format("32 columns of f32 of 'of_x' from {} on", first));
  EXPECT_EQ(patched([](P& p) {
              p.reading().rest = 1;
              p.p.fragments[1].type = ScalarType::kF16;
            }),
            "16 of k of 'patch' are read to 32 columns of f16 of 'rest_of_x' from 0 on");
  EXPECT_EQ(patched([](P& p) { std::swap(p.math()[2], p.math()[3]); }),
            "'of_x' are written while products read them");
  // The last output's last channel is three rows and 31 elements on, of five rows of 640.
  const std::int64_t most = 3200 - 1 - (3 * 640 + 31 + 15 * 40);
  EXPECT_EQ(patched([&](P& p) { p.reading().from = p.number(most); }), "");
  EXPECT_EQ(patched([&](P& p) { p.reading().from = p.number(most + 1); }),
            "'patch' is read beyond its end, at 3200 of 3200");
  // Of places that are not known, or lie before the patch, none is the last one.
  const std::string beyond = "'patch' is read beyond its end, at 0 of 3200";
  EXPECT_EQ(patched([](P& p) { p.reading().from = p.number(-1); }), beyond);
  EXPECT_EQ(patched([](P& p) { p.reading().row = p.number(-64); }), beyond);
  EXPECT_EQ(patched([](P& p) { p.reading().width = 0; }), beyond);
  // More warp groups than `group` has numbers.
  EXPECT_EQ(patched([](P& p) { p.p.roles[1].warp_groups = 3; }), beyond);
  EXPECT_EQ(patched([](P& p) { p.reading().across = -1; }), beyond);
  EXPECT_EQ(patched([](P& p) { p.reading().down = -1; }), beyond);
}

// --- Outputs that are turned --------------------------------------------------------------------

/// A * B of 128 x 128 x 64, of which 100 x 120 are stored with something beside each, column after
/// column: by a staging that turns so many of them at a time, or by threads as they have them.
struct TurnedProgram : Probed {
  static constexpr std::int64_t kRows = 100, kColumns = 120;

  explicit TurnedProgram(std::int64_t together = 32, bool turned = true)
      : Probed(kRows * kColumns, 2) {
    const int a = operand("A", ScalarType::kF16, 128, 64, true);
    const int b = operand("B", ScalarType::kF16, 128, 64, false);
    p.sums = {{"sums", 128}};
    fill();
    buffer("C", ScalarType::kF32, kRows * kColumns, hone::Role::kOut);
    whole_numbers("D", ScalarType::kF32, kColumns);
    p.parameters.insert(p.parameters.begin(), {"D", ScalarType::kF32, false});
    p.parameters.push_back({"C", ScalarType::kF32, true});
    if (turned) p.stagings = {{2, {"turned", ScalarType::kF32, turned_outputs(together)}}};
    const Ref of_group = nodes.scale(nodes.index(p.group), 64);
    const Ref sum = nodes.load("%sum", ScalarType::kF32, number(0));
    const SymbolId m = nodes.new_symbol("m_at", 128), n = nodes.new_symbol("n_at", 128);
    math() = {{Wait{0}},
              {Multiply{.a = a, .b = b, .a_row = of_group, .fresh = nodes.boolean(true)}},
              {Await{0}},
              {Release{0}},
              {Store{.sums = 0,
                     .row = of_group,
                     .column = number(0),
                     .row_symbol = m,
                     .column_symbol = n,
                     .rows = kRows,
                     .columns = kColumns,
                     .buffer = "C",
                     .type = ScalarType::kF32,
                     .sum = sum,
                     .value = f32("+", {sum, nodes.load("D", ScalarType::kF32, nodes.index(n))}),
                     .element = nodes.add(nodes.scale(nodes.index(n), kRows), nodes.index(m)),
                     .guard = nodes.boolean(true),
                     .staging = turned ? 0 : -1}}};
  }
  Store& store() { return std::get<Store>(math().back().is); }
  double want(std::int64_t row, std::int64_t column) {
    double sum = contents.at("D")[static_cast<std::size_t>(column)];
    for (std::int64_t k = 0; k < 64; ++k)
      sum += element("A", 128, 64, true, row, k) * element("B", 128, 64, false, column, k);
    return sum;
  }
};

TEST(TilePatches, TurnedOutputs) {
  for (const std::int64_t together : {8, 32, 128}) {
    SCOPED_TRACE(together);
    TurnedProgram test(together);
    const auto owners = test.probed(
        {{"if (m < 100 && n_run < 120) {", "probe[n_run * 100 + m] = threadIdx.x - 128;"}});
    ASSERT_FALSE(owners.empty());
    test.nest.buffer = "C";
    const auto got = test.probed({});
    ASSERT_EQ(got.size(), 12000U);
    for (std::int64_t column = 0; column < TurnedProgram::kColumns; ++column) {
      for (std::int64_t row = 0; row < TurnedProgram::kRows; ++row) {
        const auto at = static_cast<std::size_t>(column * TurnedProgram::kRows + row);
        ASSERT_EQ(got[at], test.want(row, column)) << row << ", " << column;
        // Lanes have neighbouring rows; warps the halves of 64, of even columns and of odd ones.
        ASSERT_EQ(owners[at], row / 64 * 128 + column % 2 * 64 + row % 64) << row << ", " << column;
      }
    }
    // Sums go in, and of 120 columns out, 32 at a time: no two lanes meet in a bank.
    const std::uint64_t rounds = test.last_counters.shared_wavefronts;
    TurnedProgram by_threads(together, false);
    by_threads.nest.buffer = "C";
    ASSERT_EQ(by_threads.probed({}), got);
    EXPECT_EQ(rounds, by_threads.last_counters.shared_wavefronts + (128 + 120) * 128 / 32);
  }
}

TEST(TilePatches, RefusalsOfTurnedOutputs) {
  using T = TurnedProgram;
  const auto turned = [](const std::function<void(T&)>& change) {
    T program;
    change(program);
    const auto ok = verify(program.p, {});
    return ok ? "" : ok.error().message.substr(std::string("tile program: ").size());
  };
  const auto lies = [&](const Layout& layout) {
    return turned([&](T& t) { t.p.stagings[0].tile.layout = layout; });
  };
  EXPECT_EQ(turned([](T&) {}), "");
  EXPECT_EQ(turned([](T& t) { t.store().staging = 1; }), "a store by what is not there");
  EXPECT_EQ(turned([](T& t) { t.load().push_back({t.store()}); }),
            "one thread alone of role 'load' stores by a staging");
  EXPECT_EQ(turned([](T& t) { t.store().element = nullptr; }),
            "a store to 'C', which is no place to write to");
  EXPECT_EQ(turned([](T& t) { t.store().adds = true; }),
            "outputs are added to 'C' by threads; only copies add");
  EXPECT_EQ(turned([](T& t) { t.p.stagings[0].tile.type = ScalarType::kF16; }),
            "'turned' does not turn 128 columns of f32: (64:1) x (32:68)");
  EXPECT_EQ(turned([](T& t) {
              t.p.sums.push_back({"runs", 128});
              t.store().runs = 1;
            }),
            "'turned' does not turn 128 columns of f32: (64:1) x (32:68)");
  EXPECT_EQ(lies(turned_outputs(4)), "'turned' does not turn 128 columns of f32: (64:1) x (4:68)");
  EXPECT_EQ(lies(turned_outputs(48)),
            "'turned' does not turn 128 columns of f32: (64:1) x (48:68)");
  EXPECT_EQ(lies(turned_outputs(12)),
            "'turned' does not turn 128 columns of f32: (64:1) x (12:68)");
  EXPECT_EQ(lies(Layout({{{64, 1}}, {{32, 64}}})),
            "'turned' does not turn 128 columns of f32: (64:1) x (32:64)");
  EXPECT_EQ(lies(Layout({{{64, 1}}})), "'turned' does not turn 128 columns of f32: (64:1)");
  EXPECT_EQ(turned([](T& t) { t.p.stagings[0].warp_groups = 1; }),
            "'turned' is for 1 warp groups of one role");
}

}  // namespace
}  // namespace hone::tile
