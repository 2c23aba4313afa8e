// Tiles of f32 made tf32: to registers, and to tiles of another ring by a role of its own.
#include <bit>
#include <cmath>

#include "tests/unit/rewriters/tile_probe.h"

namespace hone::tile {
namespace {

/// C = A * B of 64 x 64 x 32 in f32 by three products of tf32; the parts that a change needs by
/// their names.
struct Tf32Program : Probed {
  explicit Tf32Program(bool a_along_k = true, std::int64_t probes = 1) : Probed(probes) {
    operand("A", ScalarType::kF32, 64, 32, a_along_k);
    operand("B", ScalarType::kF32, 64, 32, true);
    std::mt19937 random(7);
    std::uniform_real_distribution<float> some(-2, 2);
    for (const char* name : {"A", "B"})
      for (double& value : contents[name]) value = some(random);
    const Layout made = wgmma_operand(64, 32, true, ScalarType::kF32);
    p.rings.push_back({"made", 1, {{"rest_of_b", ScalarType::kF32, made}}});
    p.sums = {{"sums", 64}};
    p.fragments = {{"of_a", 32, ScalarType::kF32}, {"rest_of_a", 32, ScalarType::kF32}};
    fill();
    p.roles.push_back(
        {.name = "split",
         .body = {{Wait{0}}, {Acquire{1}}, {SplitTile{0, 1, 1, 0}}, {Commit{1}}, {Release{0}}}});
    buffer("C", ScalarType::kF32, 64 * 64, hone::Role::kOut);
    p.parameters.push_back({"C", ScalarType::kF32, true});
    const Ref yes = nodes.boolean(true), sum = nodes.load("%sum", ScalarType::kF32, number(0));
    const SymbolId m = nodes.new_symbol("m_at", 64), n = nodes.new_symbol("n_at", 64);
    math() = {{Wait{0}},
              {ReadFragments{0, 1, 0, 0, number(0)}},
              {Wait{1}},
              {Multiply{.ring = 0, .b = 1, .fresh = yes, .fragments = 1}},
              {Multiply{.ring = 1, .b = 0, .fragments = 0}},
              {Multiply{.ring = 0, .b = 1, .fragments = 0}},
              {Await{0}},
              {Release{0}},
              {Release{1}},
              {Store{.sums = 0,
                     .row = number(0),
                     .column = number(0),
                     .row_symbol = m,
                     .column_symbol = n,
                     .rows = 64,
                     .columns = 64,
                     .buffer = "C",
                     .type = ScalarType::kF32,
                     .sum = sum,
                     .value = sum,
                     .element = nodes.add(nodes.scale(nodes.index(m), 64), nodes.index(n)),
                     .guard = yes,
                     .contiguous = 2}}};
  }

  Body& role(std::string_view name) { return std::ranges::find(p.roles, name, &Role::name)->body; }
  Body& math() { return role("math"); }
  Body& split() { return role("split"); }
  SplitTile& splitting() { return std::get<SplitTile>(split()[2].is); }
  ReadFragments& reading() { return std::get<ReadFragments>(math()[1].is); }
  SharedTile& tile(int which) { return p.rings[0].tiles[static_cast<std::size_t>(which)]; }
  SharedTile& made() { return p.rings[1].tiles[0]; }
};

float upper(float x) { return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & 0xffffe000U); }

TEST(TileTf32, RegistersAndTilesHaveWhatTheLayoutsSay) {
  for (const bool a_along_k : {true, false}) {
    SCOPED_TRACE(a_along_k);
    constexpr std::int64_t kTile = 64 * 32, kOfThread = 16;
    Tf32Program test(a_along_k, 3 * kTile);
    const std::vector<double> got = test.probed(
        {{"g_wait_for(&full_made[stage_made], parity_made);",
          Probed::each_of("__uint_as_float(of_a[i / 4][i % 4])", kOfThread) +
              Probed::each_of("__uint_as_float(rest_of_a[i / 4][i % 4])", kOfThread, kTile) +
              Probed::raw("rest_of_b", kTile, std::to_string(2 * kTile))}});
    ASSERT_FALSE(got.empty());
    // Source: PTX ISA, "Register Fragments for wgmma.mma_async.m64nNk8", matrix A.
    for (int thread = 0; thread < 128; ++thread) {
      for (int i = 0; i < kOfThread; ++i) {
        const int row = thread / 32 * 16 + thread % 32 / 4 + i % 2 * 8;
        const int k = i / 4 * 8 + thread % 4 + i % 4 / 2 * 4;
        const auto x = static_cast<float>(test.element("A", 64, 32, a_along_k, row, k));
        const auto at = static_cast<std::size_t>(thread * kOfThread + i);
        ASSERT_EQ(got[at], rounded(x)) << "thread " << thread << ", " << i;
        ASSERT_EQ(got[kTile + at], rounded(x - rounded(x))) << "thread " << thread << ", " << i;
      }
    }
    const Layout layout = wgmma_operand(64, 32, true, ScalarType::kF32);
    for (std::int64_t row = 0; row < 64; ++row) {
      for (std::int64_t k = 0; k < 32; ++k) {
        const auto x = static_cast<float>(test.element("B", 64, 32, true, row, k));
        const auto at = static_cast<std::size_t>(layout.byte_of({row, k}, 4) / 4);
        ASSERT_EQ(got[2 * kTile + at], rounded(x - upper(x))) << row << ", " << k;
      }
    }
  }
}

/// What copies have rounded is read as it is.
TEST(TileTf32, RegistersHaveWhatCopiesRounded) {
  for (const bool a_along_k : {true, false}) {
    SCOPED_TRACE(a_along_k);
    constexpr std::int64_t kOfThread = 16;
    Tf32Program test(a_along_k, 64 * 32);
    test.p.views[0].as_tf32 = test.reading().rounded = true;
    test.reading().rest = -1;
    test.math().erase(test.math().begin() + 3);  // of what would be left
    const auto got =
        test.probed({{"g_wait_for(&full_made[stage_made], parity_made);",
                      Probed::each_of("__uint_as_float(of_a[i / 4][i % 4])", kOfThread)}});
    ASSERT_FALSE(got.empty());
    for (int thread = 0; thread < 128; ++thread) {
      for (int i = 0; i < kOfThread; ++i) {
        const int row = thread / 32 * 16 + thread % 32 / 4 + i % 2 * 8;
        const int k = i / 4 * 8 + thread % 4 + i % 4 / 2 * 4;
        const auto x = static_cast<float>(test.element("A", 64, 32, a_along_k, row, k));
        ASSERT_EQ(got[static_cast<std::size_t>(thread * kOfThread + i)], rounded(x))
            << "thread " << thread << ", " << i;
      }
    }
  }
}

/// In whatever way A lies, what is read and written takes as many rounds of shared
/// memory, of which some ways read 16 bytes of each lane and others 4: no two lanes meet in a bank.
TEST(TileTf32, EveryBankOnce) {
  std::set<std::uint64_t> rounds;
  for (const bool a_along_k : {true, false}) {
    Tf32Program test(a_along_k);
    test.nest.buffer = "C";
    ASSERT_FALSE(test.probed({}).empty());
    rounds.insert(test.last_counters.shared_wavefronts);
  }
  EXPECT_EQ(rounds.size(), 1U) << *rounds.begin() << " to " << *rounds.rbegin();
}

/// The reason why the program with this change is refused; "" where it is not.
std::string with(const std::function<void(Tf32Program&)>& change) {
  Tf32Program program;
  std::swap(program.p.roles[1], program.p.roles[2]);  // who splits is looked at first
  change(program);
  const auto ok = verify(program.p, {});
  return ok ? "" : ok.error().message.substr(std::string("tile program: ").size());
}

TEST(TileTf32, Refusals) {
  EXPECT_EQ(with([](Tf32Program&) {}), "");
  // Rings that threads write.
  EXPECT_EQ(with([](Tf32Program& t) { t.p.roles[1].one_thread = true; }),
            "one thread alone of role 'split' reads ring 'tiles'");
  EXPECT_EQ(with([](Tf32Program& t) {
              t.p.roles[1].one_thread = true;
              t.split().erase(t.split().begin());
            }),
            "ring 'made' is written by one thread alone of role 'split'");
  EXPECT_EQ(with([](Tf32Program& t) { t.p.cluster = t.p.grid = 2; }),
            "ring 'made' is written in each block of a cluster; only copies are shared");
  EXPECT_EQ(with([](Tf32Program& t) {
              BulkCopy copy{
                  .ring = 1, .tile = 0, .view = 0, .from = t.numbers({0, 0}), .to = {0, 0}};
              t.split().insert(t.split().begin() + 2, {copy});
            }),
            "'rest_of_b' is copied to, and threads write its ring");
  // Warps that read by themselves.
  EXPECT_EQ(with([](Tf32Program& t) {
              t.p.cluster = t.p.grid = 2;
              t.p.roles.erase(t.p.roles.begin() + 1);
            }),
            "warps read ring 'tiles' by themselves, which blocks of a cluster share");
  EXPECT_EQ(with([](Tf32Program& t) {
              t.p.rings[0].stages = 2;
              t.math()[7] = {Advance{0, t.nodes.boolean(true)}};
            }),
            "ring 'tiles' is advanced where warps read it; each of them releases it");
  EXPECT_EQ(with([](Tf32Program& t) { t.split().push_back({Wait{1}}); }),
            "role 'split' reads ring 'made', which it fills");
  EXPECT_EQ(with([](Tf32Program& t) { t.math().push_back({Acquire{1}}); }),
            "role 'math' reads ring 'made', which it fills");
  EXPECT_EQ(with([](Tf32Program& t) {
              t.p.roles.push_back({.name = "idle", .warp_groups = 5, .body = {}});
              const Layout wide = wgmma_operand(80, 32, true, ScalarType::kF32);
              t.tile(1).layout = t.made().layout = wide;
              t.p.views[1].shape[0] = t.p.views[1].box[0] = 80;
              t.p.sums[0].columns = 80;
            }),
            "40 registers of sums are written at once; of 1024 threads the compiler gives each 64");
  // Tiles that are split.
  const std::string nothing = "a split of what is not there";
  EXPECT_EQ(with([](Tf32Program& t) { t.splitting().tile = 2; }), nothing);
  EXPECT_EQ(with([](Tf32Program& t) { t.splitting().ring = 1; }), nothing);
  EXPECT_EQ(with([](Tf32Program& t) { t.splitting().rest = 1; }), nothing);
  EXPECT_EQ(with([](Tf32Program& t) { t.split().erase(t.split().begin()); }),
            "'tile_B' is split before it is full");
  EXPECT_EQ(with([](Tf32Program& t) { t.split().erase(t.split().begin() + 1); }),
            "'tile_B' is split to a stage that is not empty");
  EXPECT_EQ(with([](Tf32Program& t) {
              const Operation again = t.split()[2];
              t.split().insert(t.split().begin() + 3, again);
            }),
            "a part of 'rest_of_b' is written twice");
  EXPECT_EQ(with([](Tf32Program& t) { t.made().type = ScalarType::kBf16; }),
            "'tile_B' is split to 'rest_of_b', which is of another type or shape");
  EXPECT_EQ(with([](Tf32Program& t) {
              t.made().layout = wgmma_operand(64, 32, false, ScalarType::kF32);
            }),
            "'rest_of_b' does not lie as wgmma reads it: (32:1, 2:1024) x (32:32) swizzle 128");
  EXPECT_EQ(with([](Tf32Program& t) { t.p.roles[1].warp_groups = 3; }),
            "384 threads do not split the 2048 elements of 'tile_B' in fours");
  EXPECT_EQ(with([](Tf32Program& t) {
              t.tile(1).layout = wgmma_operand(64, 32, false, ScalarType::kF32);
              t.p.views[1] = {"map_B", "B", ScalarType::kF32, {32, 64}, {64}, {32, 32}, 128};
              Body& load = t.load();
              std::get<BulkCopy>(load[2].is).to = {0, 0};
              load.insert(load.begin() + 3, load[2]);
              std::get<BulkCopy>(load[3].is).to = {32, 0};
            }),
            "'tile_B' lies along its rows, and is split as if wgmma read it itself");
  // Tiles that are read to registers.
  const std::string no_fragments = "fragments of what is not there";
  EXPECT_EQ(with([](Tf32Program& t) { t.reading().tile = 2; }), no_fragments);
  EXPECT_EQ(with([](Tf32Program& t) { t.reading().rest = 0; }), no_fragments);
  EXPECT_EQ(with([](Tf32Program& t) { t.math().erase(t.math().begin()); }),
            "'tile_A' is read before it is full");
  // Copies of A round, or do not.
  EXPECT_EQ(with([](Tf32Program& t) { t.reading().rounded = t.p.views[0].as_tf32 = true; }),
            "nothing is left of 'tile_A', which is rounded");
  EXPECT_EQ(with([](Tf32Program& t) {
              t.reading().rounded = true;
              t.reading().rest = -1;
            }),
            "'tile_A' is not rounded by its copies");
  EXPECT_EQ(with([](Tf32Program& t) { t.p.fragments[1].columns = 64; }),
            "32 of k of 'tile_A' are read to 64 columns of f32 of 'rest_of_a'");
  EXPECT_EQ(with([](Tf32Program& t) { t.reading().row = t.number(64); }),
            "role 'math' multiplies rows that 'tile_A' may not have");
  EXPECT_EQ(with([](Tf32Program& t) {
              const Operation again = t.math()[1];
              t.math().insert(t.math().begin() + 4, again);
            }),
            "'rest_of_a' are written while products read them");
  const SharedTile halves{"h", ScalarType::kF16, wgmma_operand(64, 64, true)};
  EXPECT_EQ(read_mistake(halves, {"of", 64, ScalarType::kF32}),
            "'h' are f16; f32 is rounded to tf32");
  const SharedTile longer{"l", ScalarType::kF32, wgmma_operand(64, 64, true, ScalarType::kF32)};
  EXPECT_EQ(read_mistake(longer, {"of", 64, ScalarType::kF32}),
            "'l' does not lie as a line of k, or of rows: (64:32) x (32:1, 2:2048) swizzle 128");
  const SharedTile rows{"r", ScalarType::kF32, wgmma_operand(64, 32, false, ScalarType::kF32)};
  EXPECT_EQ(product_mistake(rows, rows, 64),
            "'r' lies along its rows; wgmma reads tf32 along k only");
}

}  // namespace
}  // namespace hone::tile
