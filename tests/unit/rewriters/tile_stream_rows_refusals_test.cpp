// What verify() refuses of programs that stream and do more to sums than add to them: tiles that
// are copied once or exchanged, fragments of warps, sums that are kept, rows. What such programs
// compute is in tile_stream_rows_test.cpp.
#include "tests/unit/rewriters/tile_stream_probe.h"

namespace hone::tile {
namespace {

constexpr int kScores = 0, kSums = 1;    // sums
constexpr int kWeights = 0, kQuery = 1;  // fragments

/// sums += round(query * keys) * values, of f16, 64 queries by four warps, 64 keys in a round.
struct Good : Streamed {
  explicit Good(int stages = 2) : Streamed(4, stages, 1) {
    const ScalarType type = ScalarType::kF16;
    rounds(128, 64);
    const Ref keys = matrix("K", type, 64, false), values = matrix("V", type, 64, true);
    const Ref query = matrix("Q", type, 64, true);
    const Layout along_k = padded_lines(64, 64, true, 72),
                 along_rows = padded_lines(64, 64, false, 72);
    p.rings = {{"tiles", stages, {{"tile_key", type, along_rows}, {"tile_values", type, along_k}}},
               {"once", 1, {{"tile_query", type, along_k}}}};
    stream.copies = {copy(0, keys, 64, false, 8, CopyWay::kAsync),
                     copy(1, values, 64, true, 8, CopyWay::kAsync)};
    stream.once_ring = 1;
    stream.once = {copy(0, query, 64, true, 8, CopyWay::kAsync)};
    stream.once[0].k = number(0);
    p.sums = {{"scores", 64, 16, SumsOf::kWarp}, {"sums", 64, 16, SumsOf::kWarp}};
    p.rows = {{"top", nodes.load("%top", ScalarType::kF32, number(0))}};
    p.fragments = {{"weights", 64, type}, {"query", 64, type}};
    const Ref warp_row = nodes.scale(nodes.index(p.warp), 16);
    stream.before = {{ReadFragments{.fragments = kQuery, .ring = 1, .row = warp_row}}};
    stream.body = {
        {WarpMultiply{.sums = kScores,
                      .b = 0,
                      .b_row = number(0),
                      .fresh = true,
                      .fragments = kQuery,
                      .ahead = false}},
        {ReduceRows{.rows = 0, .sums = kScores}},
        {RoundSums{kWeights, kScores}},
        {WarpMultiply{
            .sums = kSums, .b = 1, .b_row = number(0), .fragments = kWeights, .ahead = false}}};
    if (stages == 1) stream.body.insert(stream.body.begin() + 1, {Exchange{}});
  }
  WarpMultiply& scores() { return std::get<WarpMultiply>(stream.body.front().is); }
  WarpMultiply& sums() { return std::get<WarpMultiply>(stream.body.back().is); }
  RoundSums& round() { return std::get<RoundSums>(stream.body[stream.body.size() - 2].is); }
  ReadFragments& read() { return std::get<ReadFragments>(stream.before[0].is); }
  /// Of f32, the values along their columns.
  void make_f32() {
    const auto change = [](SharedTile& tile, bool along_k) {
      tile.type = ScalarType::kF32;
      tile.layout = padded_lines(64, 64, along_k, 68);
    };
    change(p.rings[0].tiles[0], false);
    change(p.rings[0].tiles[1], false);
    change(p.rings[1].tiles[0], true);
    for (CopyTile* one : {&stream.copies[0], &stream.copies[1], &stream.once[0]})
      one->way = CopyWay::kAtOnce, one->piece = 4;
    p.fragments[kWeights].type = ScalarType::kF32;
    stream.before.clear();
    scores().fragments = -1;
    scores().a_ring = 1;
    scores().a_row = read_row();
  }
  Ref read_row() { return nodes.scale(nodes.index(p.warp), 16); }
};

std::string refusal_of(Good& good) {
  good.p.roles[0].body = {{good.stream}};
  const auto ok = verify(good.p, {});
  const std::string before = "tile program: ";
  if (ok) return "";
  EXPECT_EQ(ok.error().code, ErrorCode::kRefused);
  return ok.error().message.substr(before.size());
}

std::string refusal_of_two_streams() {
  Good good;
  Stream other = good.stream;
  other.ring = 2;
  good.p.rings.push_back({"others", 2, good.p.rings[0].tiles});
  good.p.roles[0].body = {{good.stream}, {other}};
  const auto ok = verify(good.p, {});
  return ok ? "" : ok.error().message;
}

std::string changed(const std::function<void(Good&)>& change, int stages = 2) {
  Good good(stages);
  change(good);
  return refusal_of(good);
}

TEST(TileStreamRowsRefusals, NothingOfWhatIsRight) {
  EXPECT_EQ(changed([](Good&) {}), "");
  EXPECT_EQ(changed([](Good&) {}, 1), "");
  EXPECT_EQ(changed([](Good& g) { g.make_f32(); }), "");
}

TEST(TileStreamRowsRefusals, OneStreamOfARole) {
  EXPECT_EQ(refusal_of_two_streams(),
            "tile program: ring 'others' is streamed after another one, in one role");
}

TEST(TileStreamRowsRefusals, TilesAreExchangedOnce) {
  EXPECT_EQ(changed([](Good& g) { g.stream.body.push_back({Exchange{}}); }),
            "2 stages of 2 tiles of ring 'tiles' are exchanged 1 times; one of two, once");
  EXPECT_EQ(changed([](Good& g) { g.stream.body.push_back({Exchange{}}); }, 1),
            "1 stages of 2 tiles of ring 'tiles' are exchanged 2 times; one of two, once");
  EXPECT_EQ(changed([](Good& g) { g.scores().b = 1; }, 1),
            "'tile_values' is multiplied where it is copied");
  EXPECT_EQ(changed([](Good& g) { g.sums().b = 0; }, 1),
            "'tile_key' is multiplied where it is copied");
  EXPECT_EQ(changed([](Good& g) { g.stream.copies[0].way = CopyWay::kRegisters; }, 1),
            "'tile_key' has one stage, which nothing keeps in registers until it is empty");
  EXPECT_EQ(changed(
                [](Good& g) {
                  g.p.sums[kScores].of = SumsOf::kThread;
                  g.p.rows.clear(), g.p.fragments.clear();
                  g.stream.before.clear();
                  g.stream.body = {{ThreadMultiply{.sums = kScores}}, {Exchange{}}};
                },
                1),
            "multiply-adds read both tiles of a stage, of which one is copied");
}

TEST(TileStreamRowsRefusals, WhatIsCopiedOnce) {
  EXPECT_EQ(changed([](Good& g) {
              g.stream.once_ring = -1;
              g.p.rings.pop_back();
            }),
            "tiles are copied once to a ring that is not there");
  EXPECT_EQ(changed([](Good& g) { g.p.rings[1].stages = 2; }),
            "ring 'once' is filled once, and has 2 stages or other copies");
  EXPECT_EQ(changed([](Good& g) { g.stream.once[0].k = g.k_first; }),
            "ring 'once' is filled once by what each round has of its own");
  EXPECT_EQ(changed([](Good& g) { g.read().ring = 0; }),
            "the stream of ring 'tiles' begins with what does not belong there");
  EXPECT_EQ(changed([](Good& g) { g.read().rounded = true; }),
            "'tile_query' of f16 is not read as 64 columns of f16 of 'query'");
  EXPECT_EQ(changed([](Good& g) { g.read().row = g.number(56); }),
            "warps multiply rows that 'tile_query' may not have");
  EXPECT_EQ(changed([](Good& g) { g.scores().a_ring = 0, g.scores().fragments = -1; }),
            "warps multiply rows that 'tile_key' may not have");
}

TEST(TileStreamRowsRefusals, FragmentsOfWarps) {
  EXPECT_EQ(changed([](Good& g) { g.p.rows[0].warp_rows = 32; }),
            "'top' are 32 rows of each warp, 'scores' have 16");
  EXPECT_EQ(changed([](Good& g) { g.p.sums[kSums] = {"sums", 4, 8, SumsOf::kHalfWarp}; }),
            "lanes have rows of 'sums' and of 'scores' in unlike ways");
  EXPECT_EQ(changed([](Good& g) { g.sums().ahead = true; }),
            "'weights' are read ahead, and are in registers");
  EXPECT_EQ(changed([](Good& g) { g.stream.before.clear(); }),
            "'query' are multiplied before they have a value");
  EXPECT_EQ(changed([](Good& g) { g.sums().in_parts = g.sums().ahead = true; }),
            "products are added up by themselves of fragments only, one after the other, to sums");
  EXPECT_EQ(changed([](Good& g) { g.sums().in_parts = g.sums().fresh = true; }),
            "products are added up by themselves of fragments only, one after the other, to sums");
  EXPECT_EQ(changed([](Good& g) {
              g.make_f32();
              g.sums().thrice = true;
              g.sums().rest = kQuery;
            }),
            "'query' are no rest of 'weights', of which they have other columns or types");
  EXPECT_EQ(changed([](Good& g) {
              g.make_f32();
              g.sums().thrice = true;
            }),
            "'weights' are multiplied without what rounding them has left");
  EXPECT_EQ(changed([](Good& g) {
              g.make_f32();
              g.p.rings[0].tiles[1].layout = padded_lines(64, 64, true, 68);
            }),
            "'tile_values' lies along k; of f32 its lines are read in another order");
  EXPECT_EQ(changed([](Good& g) { g.round().rest = kQuery; }),
            "nothing takes what rounding to 'weights' leaves");
}

/// The same by multiply-adds: 64 queries by four warps, 64 keys in a round, 64 columns.
struct GoodHalfWarps : Streamed {
  GoodHalfWarps() : Streamed(4, 2, 1) {
    const ScalarType type = ScalarType::kF32;
    rounds(128, 64);
    const Ref keys = matrix("K", type, 64, false), values = matrix("V", type, 64, false);
    const Ref query = matrix("Q", type, 64, false);
    const SharedTile tile{"", type, padded_lines(64, 64, false, 68)};
    const auto called = [&](const char* name) {
      SharedTile one = tile;
      one.name = name;
      return one;
    };
    p.rings = {{"tiles", 2, {called("tile_key"), called("tile_values")}},
               {"once", 1, {called("tile_query")}},
               {"kept", 1, {called("tile_weights")}}};
    stream.copies = {copy(0, keys, 64, false, 4, CopyWay::kAsync),
                     copy(1, values, 64, false, 4, CopyWay::kAsync)};
    stream.once_ring = 1;
    stream.once = {copy(0, query, 64, false, 4, CopyWay::kAsync)};
    stream.once[0].k = number(0);
    p.sums = {{"scores", 4, 8, SumsOf::kHalfWarp}, {"sums", 4, 8, SumsOf::kHalfWarp}};
    const Ref row = nodes.scale(nodes.index(p.warp), 16);
    stream.body = {{HalfWarpMultiply{.sums = kScores, .b = 0, .a_row = row, .fresh = true}},
                   {KeepSums{.sums = kScores, .row = row}},
                   {HalfWarpMultiply{.sums = kSums, .b = 1, .a_ring = 2, .a_row = row}}};
  }
  HalfWarpMultiply& scores() { return std::get<HalfWarpMultiply>(stream.body[0].is); }
  KeepSums& keep() { return std::get<KeepSums>(stream.body[1].is); }
};

std::string changed_half(const std::function<void(GoodHalfWarps&)>& change) {
  GoodHalfWarps good;
  change(good);
  good.p.roles[0].body = {{good.stream}};
  const auto ok = verify(good.p, {});
  return ok ? "" : ok.error().message.substr(std::string("tile program: ").size());
}

TEST(TileStreamRowsRefusals, HalfWarps) {
  using Good = GoodHalfWarps;
  EXPECT_EQ(changed_half([](Good&) {}), "");
  EXPECT_EQ(
      changed_half([](Good& g) { g.p.rings[1].tiles[0].layout = padded_lines(64, 64, false, 66); }),
      "half a warp does not add up rows of 'tile_query' in 'scores'");
  EXPECT_EQ(changed_half([](Good& g) { g.p.sums[kScores].columns = 2; }),
            "16 threads with 2 columns each do not fill 'tile_query' by 'tile_key'");
  EXPECT_EQ(changed_half([](Good& g) { g.scores().a_row = g.number(56); }),
            "warps multiply rows that 'tile_query' may not have");
  EXPECT_EQ(changed_half([](Good& g) { std::swap(g.stream.body[1], g.stream.body[2]); }),
            "'tile_weights' is multiplied where the same warp has kept nothing");
  EXPECT_EQ(changed_half([](Good& g) { g.keep().tile = 1; }), "sums are kept where nothing is");
  EXPECT_EQ(changed_half([](Good& g) {
              g.p.rings[2].tiles.push_back(g.p.rings[2].tiles[0]);
              g.keep().tile = 1;
            }),
            "'tile_weights' is multiplied where the same warp has kept nothing");
  EXPECT_EQ(changed_half([](Good& g) { g.p.rings[2].stages = 2; }),
            "sums are kept in ring 'kept', which is copied to");
  EXPECT_EQ(changed_half([](Good& g) { g.keep().row = g.number(0); }),
            "'tile_weights' keeps more or less than each warp's own rows");
}

TEST(TileStreamRowsRefusals, MapsOfSums) {
  EXPECT_EQ(changed([](Good& g) {
              g.stream.body.push_back({MapSums{.sums = kSums,
                                               .value = g.nodes.number(0, ScalarType::kF32),
                                               .unless = g.nodes.boolean(false),
                                               .awaits = true}});
            }),
            "'sums' are waited for in a stream, whose products have ended");
  EXPECT_EQ(
      changed([](Good& g) {
        g.p.sums[kSums].of = SumsOf::kThread;
        g.p.rows.clear(), g.p.fragments.clear(), g.stream.before.clear();
        g.stream.body = {{MapSums{.sums = kSums, .value = g.nodes.number(0, ScalarType::kF32)}}};
      }),
      "'sums' are sums of threads, whose places a map does not know");
}

}  // namespace
}  // namespace hone::tile
