// What verify() refuses of programs that stream: each reason, provoked by one change.
#include "tests/unit/rewriters/tile_stream_probe.h"

namespace hone::tile {
namespace {

/// C = A * B of f16, 64 x 64 by four warps, or of f32 by threads.
struct GoodStream : Streamed {
  explicit GoodStream(bool by_threads = false) : Streamed(4, 3, 1) {
    const ScalarType type = by_threads ? ScalarType::kF32 : ScalarType::kF16;
    rounds(96, 32);
    const Ref a = matrix("A", type, 64, !by_threads), b = matrix("B", type, 64, !by_threads);
    const Layout layout =
        by_threads ? padded_lines(64, 32, false, 64) : swizzled_lines(64, 32, true, type);
    p.rings[0].tiles = {{"tile_a", type, layout}, {"tile_b", type, layout}};
    const int piece = 16 / static_cast<int>(size_of(type));
    stream.copies = {copy(0, a, 64, !by_threads, piece, CopyWay::kAsync),
                     copy(1, b, 64, !by_threads, piece, CopyWay::kAsync)};
    if (by_threads) {
      p.sums = {{"sums", 8, 4, SumsOf::kThread, type, 8}};
      stream.body = {{ThreadMultiply{}}};
    } else {
      p.sums = {{"sums", 32, 32, SumsOf::kWarp}};
      const Ref warp = nodes.index(p.warp);
      stream.body = {{WarpMultiply{.a_row = nodes.scale(nodes.divide(warp, number(2)), 32),
                                   .b_row = nodes.scale(nodes.remainder(warp, number(2)), 32)}}};
    }
  }
  SharedTile& tile(int which) { return p.rings[0].tiles[static_cast<std::size_t>(which)]; }
  CopyTile& copies(int which) { return stream.copies[static_cast<std::size_t>(which)]; }
  WarpMultiply& multiply() { return std::get<WarpMultiply>(stream.body[0].is); }
  /// In the role's body, behind the stream.
  Body behind;
  bool twice = false;
};

std::string refusal(GoodStream& good, int capability = 90) {
  Body& body = good.p.roles[0].body;
  body = {{good.stream}};
  if (good.twice) body.push_back({good.stream});
  for (const Operation& one : good.behind) body.push_back(one);
  const auto ok = verify(good.p, {.compute_capability = capability});
  const std::string before = "tile program: ";
  if (ok) return "";
  EXPECT_EQ(ok.error().code, ErrorCode::kRefused);
  return ok.error().message.substr(before.size());
}

std::string with(const std::function<void(GoodStream&)>& change, int capability = 90) {
  GoodStream good;
  change(good);
  return refusal(good, capability);
}

std::string with_threads(const std::function<void(GoodStream&)>& change) {
  GoodStream good(true);
  change(good);
  return refusal(good);
}

TEST(TileStreamRefusals, NothingOfWhatIsRight) {
  EXPECT_EQ(with([](GoodStream&) {}), "");
  EXPECT_EQ(with([](GoodStream&) {}, 80), "");
  EXPECT_EQ(with_threads([](GoodStream&) {}), "");
}

TEST(TileStreamRefusals, RolesThatStream) {
  const std::string alone = "role 'all' streams, and is not alone with the rings it fills";
  EXPECT_EQ(with([](GoodStream& g) { g.p.rings.push_back({"others", 2, {}}); }), alone);
  EXPECT_EQ(with([](GoodStream& g) { g.p.roles[0].one_thread = true; }), alone);
  EXPECT_EQ(with([](GoodStream& g) { g.p.grid = g.p.cluster = 2; }), alone);
  EXPECT_EQ(
      with([](GoodStream& g) {
        g.p.stagings = {{1, {"staged", ScalarType::kF16, staged_outputs(64, ScalarType::kF16)}}};
      }),
      alone);
  EXPECT_EQ(with([](GoodStream& g) { g.behind = {{Wait{0}}}; }),
            "role 'all' streams, and does what such a role does not");
  EXPECT_EQ(with([](GoodStream& g) { g.twice = true; }), "ring 'tiles' is streamed twice");
  EXPECT_EQ(with([](GoodStream& g) { g.p.sums.push_back({"others", 64}); }),
            "'others' are sums of a warp group; those of warps and threads are for roles that "
            "stream");
  EXPECT_EQ(with([](GoodStream& g) {
              g.p.sums.clear();
              g.stream.ring = 1;
            }),
            "a ring that is not there");
}

TEST(TileStreamRefusals, Rounds) {
  EXPECT_EQ(with([](GoodStream& g) { g.p.rings[0].stages = 1; }),
            "ring 'tiles' is streamed in 1 stages; at least 2");
  EXPECT_EQ(with([](GoodStream& g) { g.stream.end = nullptr; }),
            "ring 'tiles' is streamed from and to what is not said");
  EXPECT_EQ(with([](GoodStream& g) { g.stream.end = g.nodes.index(g.p.warp); }),
            "warps may stream ring 'tiles' in unlike numbers of rounds");
  EXPECT_EQ(with([](GoodStream& g) { g.stream.body.push_back({Await{0}}); }),
            "the stream of ring 'tiles' does what does not belong there");
  EXPECT_EQ(with_threads([](GoodStream& g) { g.stream.body.push_back(g.stream.body[0]); }),
            "the stream of ring 'tiles' does not begin with its multiply-adds");
}

TEST(TileStreamRefusals, Copies) {
  EXPECT_EQ(with([](GoodStream& g) { g.copies(0).tile = 2; }), "a copy of what is not there");
  EXPECT_EQ(with([](GoodStream& g) { g.copies(0).tile = 1; }),
            "'tile_a' is copied 0 times a round");
  EXPECT_EQ(with([](GoodStream& g) { g.copies(0).value = nullptr; }),
            "'tile_a' is copied from what is not there");
  EXPECT_EQ(with([](GoodStream& g) { g.copies(0).row = g.number(-1); }),
            "'tile_a' may be copied from before the operand's beginning");
  EXPECT_EQ(with([](GoodStream& g) { g.copies(0).row = g.nodes.index(g.p.warp); }),
            "warps may copy parts of 'tile_a' from unlike places");
  EXPECT_EQ(with([](GoodStream& g) { g.p.parameters.pop_back(); }),
            "'B' is read, and is no parameter");
  EXPECT_EQ(with([](GoodStream& g) { g.copies(1).ks = 95; }),
            "'B' is read 8 at once, of which 8 lie side by side in 95");
  EXPECT_EQ(with([](GoodStream& g) {
              g.copies(1).value = g.nodes.load("B", ScalarType::kF16,
                                               g.nodes.add(g.nodes.scale(g.row(), 98), g.k()));
            }),
            "'B' is read 8 at once, of which 2 lie side by side in 96");
}

TEST(TileStreamRefusals, HowTilesAreCopied) {
  EXPECT_EQ(
      with([](GoodStream& g) { g.tile(0).layout = Layout({{{64, 40}}, {{16, 1}, {2, 20}}}); }),
      "'tile_a' does not lie in lines: (64:40) x (16:1, 2:20)");
  EXPECT_EQ(with([](GoodStream& g) { g.copies(0).along_k = false; }),
            "'tile_a' is copied across its swizzled lines");
  for (const int piece : {0, 5, 16}) {
    EXPECT_EQ(with([&](GoodStream& g) { g.copies(0).piece = piece; }),
              fmt::format("'tile_a' is copied in pieces of {} of f16", piece));
  }
  // Of 2 bytes, under a mask of its own for each element, of another type, and of what is read from
  // a place that has to be read.
  const std::string once = "cp.async cannot make 'tile_a', 1 of f16 at a time";
  EXPECT_EQ(with([](GoodStream& g) { g.copies(0).piece = 1; }), once);
  EXPECT_EQ(with([](GoodStream& g) {
              g.copies(0).mask = g.nodes.non_negative(g.nodes.subtract(g.row(), g.k()));
            }),
            "cp.async cannot make 'tile_a', 8 of f16 at a time");
  EXPECT_EQ(with([](GoodStream& g) {
              g.copies(0).value = g.nodes.load("A", ScalarType::kBf16, g.copies(0).value->args[0]);
            }),
            "cp.async cannot make 'tile_a', 8 of f16 at a time");
  EXPECT_EQ(with_threads([](GoodStream& g) {
              const Ref place = g.nodes.load("Index", ScalarType::kI32, g.row());
              g.copies(0).value = g.nodes.load("A", ScalarType::kF32, place);
              g.copies(0).piece = 1;
            }),
            "cp.async cannot make 'tile_a', 1 of f32 at a time");
}

TEST(TileStreamRefusals, ProductsOfWarps) {
  const std::string nothing = "a product of what is not there";
  EXPECT_EQ(with([](GoodStream& g) { g.multiply().a = 2; }), nothing);
  EXPECT_EQ(with([](GoodStream& g) { g.multiply().sums = 1; }), nothing);
  EXPECT_EQ(with([](GoodStream& g) { g.behind = {g.stream.body[0]}; }),
            "role 'all' streams, and does what such a role does not");
  EXPECT_EQ(with([](GoodStream& g) { g.multiply().ring = 1; }),
            "a product of a ring that is not streamed there");
  const auto types = [](GoodStream& g, ScalarType a, ScalarType b) {
    for (const auto& [which, type] : {std::pair{0, a}, {1, b}}) {
      g.tile(which).type = type;
      g.tile(which).layout = swizzled_lines(64, 32, true, type);
      CopyTile& copy = g.copies(which);
      copy.value = g.nodes.load(which == 0 ? "A" : "B", type, copy.value->args[0]);
      copy.piece = 16 / static_cast<int>(size_of(type));
    }
  };
  EXPECT_EQ(with([&](GoodStream& g) { types(g, ScalarType::kF16, ScalarType::kBf16); }),
            "mma.sync does not multiply f16 by bf16");
  EXPECT_EQ(with([&](GoodStream& g) { types(g, ScalarType::kE4m3, ScalarType::kE5m2); }, 89), "");
  EXPECT_EQ(with([&](GoodStream& g) { types(g, ScalarType::kE4m3, ScalarType::kE5m2); }, 80),
            "mma.sync of e4m3 is for sm_89 and later, not sm_80");
  EXPECT_EQ(with([](GoodStream&) {}, 75), "cp.async is for sm_80 and later, not sm_75");
  EXPECT_EQ(with(
                [](GoodStream& g) {
                  for (CopyTile& copy : g.stream.copies) copy.way = CopyWay::kRegisters;
                },
                75),
            "mma.sync of f16 is for sm_80 and later, not sm_75");
  EXPECT_EQ(with([](GoodStream& g) { g.multiply().thrice = true; }),
            "three products of f16, of which one leaves nothing");
  EXPECT_EQ(with([](GoodStream& g) { g.p.sums[0].columns = 24; }),
            "'sums' are no blocks of 16 x 16 of a warp");
  EXPECT_EQ(with([](GoodStream& g) {
              g.tile(1).layout = swizzled_lines(64, 64, true, ScalarType::kF16);
              g.copies(1).ks = 64;
            }),
            "32 and 64 of k in 'tile_a' and 'tile_b'; mma.sync has a same multiple of 16");
  EXPECT_EQ(with([&](GoodStream& g) {
              types(g, ScalarType::kE4m3, ScalarType::kE4m3);
              g.tile(1).layout = padded_lines(64, 32, false, 80);
              g.copies(1).piece = 1;
              g.copies(1).way = CopyWay::kRegisters;
            }),
            "'tile_b' lies along its rows; mma.sync reads 8-bit floats along k only");
  EXPECT_EQ(with([](GoodStream& g) {
              g.tile(0).layout = padded_lines(64, 32, true, 36);
              g.copies(0).piece = 4;
            }),
            "lines of 'tile_a' do not begin at multiples of 16 bytes");
  EXPECT_EQ(with([](GoodStream& g) { g.multiply().b_row = g.number(48); }),
            "warps multiply rows that 'tile_b' may not have");
  EXPECT_EQ(with([](GoodStream& g) { g.p.roles[0].warps = 8; }),
            "warps multiply rows that 'tile_a' may not have");
  EXPECT_EQ(with([](GoodStream& g) {
              for (const int which : {0, 1}) {
                SharedTile more = g.tile(which);
                more.name += "_more";
                more.type = ScalarType::kBf16;
                g.p.rings[0].tiles.push_back(more);
                CopyTile copy = g.copies(which);
                copy.tile = which + 2;
                copy.value =
                    g.nodes.load(which == 0 ? "A" : "B", ScalarType::kBf16, copy.value->args[0]);
                g.stream.copies.push_back(copy);
              }
              WarpMultiply other = g.multiply();
              other.a = 2;
              other.b = 3;
              g.stream.body.push_back({other});
            }),
            "mma.sync of f16 by f16 and of bf16 by bf16 in one program");
}

TEST(TileStreamRefusals, ProductsOfThreads) {
  EXPECT_EQ(with_threads([](GoodStream& g) {
              for (const int which : {0, 1}) g.tile(which).layout = padded_lines(64, 31, false, 64);
            }),
            "31 of k in 'tile_a' and 'tile_b'; multiply-adds take two in turns");
  EXPECT_EQ(with_threads([](GoodStream& g) { g.p.sums[0].type = ScalarType::kF64; }),
            "f32 by f32 is not added up in 'sums' of a thread");
  EXPECT_EQ(with_threads([](GoodStream& g) { g.p.sums[0].rows = 8; }),
            "128 threads with 8 x 8 sums each do not fill 'tile_a' by 'tile_b'");
  EXPECT_EQ(with_threads([](GoodStream& g) {
              g.tile(1).layout = padded_lines(64, 32, false, 66);
              g.copies(1).piece = 1;
            }),
            "'tile_b' does not lie as threads read it: (64:1) x (32:66)");
}

TEST(TileStreamRefusals, Conditions) {
  EXPECT_EQ(with([](GoodStream& g) { g.behind = {{When{nullptr, {}}}}; }),
            "a part of a program that runs under no condition of its own");
  EXPECT_EQ(with([](GoodStream& g) {
              g.behind = {{When{g.nodes.is_zero(g.nodes.index(g.p.block)), {g.stream.body[0]}}}};
            }),
            "what all threads do together is done under a condition");
}

}  // namespace
}  // namespace hone::tile
