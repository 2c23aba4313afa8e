// What verify() refuses of a tile program: each reason, provoked by one change. More of them are in
// tile_test.cpp and, for what is done to sums, in ../schedules/tile_rows_test.cpp.
#include "tests/unit/rewriters/tile_probe.h"

namespace hone::tile {
namespace {

/// Out = rounded(A * B) * B, stored by threads; the parts that a change needs by their names.
class TileRefusals : public ::testing::Test {
 protected:
  struct Good : Probed {
    Good() : Probed(64 * 64, 2) {
      operand("A", ScalarType::kF16, 128, 64, true);
      operand("B", ScalarType::kF16, 64, 64, true);
      p.sums = {{"scores", 64}, {"out", 64}};
      p.fragments = {{"weights", 64, ScalarType::kF16}};
      const Ref top = nodes.load("%top", ScalarType::kF32, number(0));
      p.rows = {{"top", top}};
      sum = nodes.load("%sum", ScalarType::kF32, number(0));
      fill();
      const SymbolId m = nodes.new_symbol("m_at", 128), n = nodes.new_symbol("n_at", 64);
      buffer("C", ScalarType::kF16, 128 * 64, hone::Role::kOut);
      p.parameters.push_back({"C", ScalarType::kF16, true});
      p.views.push_back({"map_c", "C", ScalarType::kF16, {128, 64}, {64}, {64, 64}, 128});
      p.stagings = {{2, {"staged", ScalarType::kF16, wgmma_operand(64, 64, true)}}};
      const Ref group = nodes.scale(nodes.index(p.group), 64);
      math() = {{Wait{0}},
                {Multiply{.b = 1, .a_row = group, .fresh = nodes.boolean(true)}},
                {Await{0}},
                {ReduceRows{.rows = 0, .sums = 0, .op = Op::kMax}},
                {MapRows{0, top}},
                {MapSums{.sums = 0, .sum = sum, .value = f32("-", {sum, top})}},
                {RoundSums{0, 0}},
                {Multiply{.sums = 1, .b = 1, .fresh = nodes.boolean(true), .fragments = 0}},
                {Await{0}},
                {Release{0}},
                {Store{.sums = 1,
                       .row = group,
                       .column = number(0),
                       .row_symbol = m,
                       .column_symbol = n,
                       .rows = 128,
                       .columns = 64,
                       .buffer = "C",
                       .type = ScalarType::kF16,
                       .sum = sum,
                       .value = nodes.cast(sum, ScalarType::kF16),
                       .element = nodes.add(nodes.scale(nodes.index(m), 64), nodes.index(n)),
                       .guard = nodes.boolean(true),
                       .contiguous = 8}}};
    }
    template <class One>
    std::size_t place(Body& body, int which) {
      for (std::size_t i = 0; i < body.size(); ++i)
        if (std::holds_alternative<One>(body[i].is) && which-- == 0) return i;
      ADD_FAILURE() << "no such operation";
      return 0;
    }
    template <class One>
    One& the(int which = 0) {
      Body& body = std::is_same_v<One, BulkCopy> ? load() : math();
      return std::get<One>(body[place<One>(body, which)].is);
    }
    template <class One>
    void erase(Body& body, int which = 0) {
      body.erase(body.begin() + static_cast<std::ptrdiff_t>(place<One>(body, which)));
    }
    void first(Body& body, Operation one) { body.insert(body.begin(), std::move(one)); }
    SharedTile& tile(int which) { return p.rings[0].tiles[static_cast<std::size_t>(which)]; }
    Ref sum = nullptr;
  };

  /// The reason why the program with this change is refused; "" where it is not.
  static std::string with(const std::function<void(Good&)>& change) {
    Good good;
    change(good);
    const auto ok = verify(good.p, {});
    const std::string before = "tile program: ";
    if (ok) return "";
    EXPECT_EQ(ok.error().code, ErrorCode::kRefused);
    return ok.error().message.substr(before.size());
  }
};

TEST_F(TileRefusals, NothingOfWhatIsRight) {
  EXPECT_EQ(with([](Good&) {}), "");
}

TEST_F(TileRefusals, EndsOfRoles) {
  EXPECT_EQ(with([](Good& g) { g.math().push_back({TakeTurn{}}); }),
            "role 'math' ends in its turn");
  EXPECT_EQ(with([](Good& g) { g.erase<Release>(g.math()); }),
            "role 'math' ends with a stage of ring 'tiles' in its hands");
  EXPECT_EQ(with([](Good& g) { g.erase<Commit>(g.load()); }),
            "role 'load' ends with a stage of ring 'tiles' in its hands");
  EXPECT_EQ(with([](Good& g) {
              g.p.rings[0].stages = 2;
              g.math().resize(2);
              g.math().push_back({Advance{0, g.nodes.boolean(true)}});
            }),
            "role 'math' ends while its products are on their way");
}

TEST_F(TileRefusals, ThreadsAndRegisters) {
  EXPECT_EQ(with([](Good& g) { g.p.roles[1].warp_groups = 8; }),
            "1152 threads; a block has 1 to 1024");
  EXPECT_EQ(with([](Good& g) { g.p.roles.clear(); }), "0 threads; a block has 1 to 1024");
  for (const int registers : {16, 28, 264})
    EXPECT_EQ(with([&](Good& g) {
                for (Role& role : g.p.roles) role.registers = 40;
                g.p.roles[0].registers = registers;
              }),
              fmt::format("role 'load' has {} registers; 24 to 256 in steps of 8", registers));
  EXPECT_EQ(with([](Good& g) { g.p.roles[1].registers = 160; }),
            "some roles say how many registers they have, others not");
}

TEST_F(TileRefusals, WhatStreamsAloneDo) {
  EXPECT_EQ(with([](Good& g) { g.math().push_back({Exchange{}}); }),
            "tiles are exchanged in no round of a stream");
  EXPECT_EQ(with([](Good& g) {
              g.p.rings.push_back({"kept", 1, {g.tile(0)}});
              g.math().push_back({KeepSums{.ring = 1}});
            }),
            "sums are kept in no round of a stream");
  EXPECT_EQ(with([](Good& g) { g.p.sums.clear(); }), "rows of sums, of which there are none");
}

TEST_F(TileRefusals, StagesInHand) {
  EXPECT_EQ(with([](Good& g) { g.first(g.load(), {Acquire{0}}); }),
            "ring 'tiles' is acquired where a stage of it is in hand");
  EXPECT_EQ(with([](Good& g) { g.first(g.math(), {Wait{0}}); }),
            "ring 'tiles' is waited for where a stage of it is in hand");
  EXPECT_EQ(with([](Good& g) {
              g.p.roles.push_back({.name = "one", .one_thread = true, .body = {{Wait{0}}}});
            }),
            "one thread alone of role 'one' reads ring 'tiles'");
  EXPECT_EQ(with([](Good& g) { g.math().push_back({Drain{0}}); }),
            "ring 'tiles' is drained where there is no last stage");
  EXPECT_EQ(with([](Good& g) { g.math().push_back({Release{0}}); }),
            "ring 'tiles' is released where no stage of it was multiplied");
  EXPECT_EQ(with([](Good& g) {
              g.p.roles[1].warp_groups = 1;
              g.first(g.math(), {TakeTurn{}});
            }),
            "role 'math' takes turns alone");
}

TEST_F(TileRefusals, RingsThatAreNotThere) {
  for (const int ring : {-1, 1}) {
    for (const Operation& one : {Operation{Acquire{ring}},
                                 {Commit{ring}},
                                 {Wait{ring}},
                                 {Advance{ring}},
                                 {Drain{ring}},
                                 {Release{ring}}})
      EXPECT_EQ(with([&](Good& g) { g.math().push_back(one); }), "a ring that is not there");
    EXPECT_EQ(with([&](Good& g) { g.the<BulkCopy>().ring = ring; }), "a copy of what is not there");
    EXPECT_EQ(with([&](Good& g) { g.the<Multiply>().ring = ring; }),
              "a product of what is not there");
  }
}

TEST_F(TileRefusals, ProductsOfWhatIsNotThere) {
  const std::string why = "a product of what is not there";
  EXPECT_EQ(with([](Good& g) { g.the<Multiply>().b = 2; }), why);
  EXPECT_EQ(with([](Good& g) { g.the<Multiply>().sums = 2; }), why);
  EXPECT_EQ(with([](Good& g) { g.the<Multiply>().a = -1; }), why);
  EXPECT_EQ(with([](Good& g) { g.the<Multiply>().a_ring = 1; }), why);
  EXPECT_EQ(with([](Good& g) { g.the<Multiply>(1).fragments = 1; }), why);
}

TEST_F(TileRefusals, SumsAndRowsThatAreNotThere) {
  const std::string sums = "sums that are not there", rows = "rows that are not there";
  EXPECT_EQ(with([](Good& g) { g.the<MapSums>().sums = 2; }), sums);
  EXPECT_EQ(with([](Good& g) {
              g.the<MapSums>().sums = 2;
              g.the<MapSums>().unless = g.nodes.boolean(true);
              g.the<MapSums>().awaits = true;
            }),
            sums);
  EXPECT_EQ(with([](Good& g) { g.the<MapSums>().value = nullptr; }),
            "sums become what is not said");
  EXPECT_EQ(with([](Good& g) { g.the<ReduceRows>().sums = -1; }), sums);
  EXPECT_EQ(with([](Good& g) { g.the<ReduceRows>().rows = 1; }), rows);
  EXPECT_EQ(with([](Good& g) { g.the<MapRows>().rows = 1; }), rows);
  EXPECT_EQ(with([](Good& g) { g.the<MapRows>().value = nullptr; }), rows);
  EXPECT_EQ(with([](Good& g) { g.math().push_back({FoldRows{-1, Op::kAdd}}); }), rows);
  EXPECT_EQ(with([](Good& g) { g.the<RoundSums>().sums = 2; }), sums);
  EXPECT_EQ(with([](Good& g) { g.the<RoundSums>().fragments = 1; }),
            "fragments that are not there");
}

TEST_F(TileRefusals, SumsOfTwoKindsOfProducts) {
  EXPECT_EQ(with([](Good& g) { g.the<Multiply>(1).sums = 0; }),
            "'scores' are sums of products of two kinds");
}

TEST_F(TileRefusals, RunsAndTheirSums) {
  // Before the store: `out` are runs that have been added to `scores`.
  const auto add = [](Good& g, AddRuns add) { g.math().insert(g.math().end() - 1, {add}); };
  EXPECT_EQ(with([&](Good& g) { add(g, {0, 1}); }), "");
  EXPECT_EQ(with([&](Good& g) {
              add(g, {0, 1, true});
              g.the<Store>().sums = 0;
              g.the<Store>().runs = 1;
            }),
            "sums are stored with 'out', which they have already");
  EXPECT_EQ(with([&](Good& g) {
              g.p.sums.push_back({"wider", 128});
              add(g, {0, 2});
            }),
            "'wider' are added to 'scores': others of f32 and of as many rows and columns");
  EXPECT_EQ(with([&](Good& g) {
              g.the<Store>().runs = 2;
              g.p.sums.push_back({"runs", 128});
            }),
            "sums are stored with runs of other rows, columns or types");
  EXPECT_EQ(with([](Good& g) { g.the<Store>().runs = 9; }),
            "sums are stored with runs that are not there");
}

TEST_F(TileRefusals, SumsThatBlocksShare) {
  // Before they are stored, two blocks of a cluster share `out`.
  const auto shared = [](Good& g, const std::function<void(ShareSums&)>& change) {
    g.p.cluster = g.p.grid = 2;
    g.p.sums.push_back({"shared", 32});
    g.p.stagings.push_back({2, {"exchanged", ScalarType::kF32, exchanged_sums(64)}});
    ShareSums share{1, 2, 1};
    change(share);
    g.math().insert(g.math().end() - 1, {share});
    g.the<Store>().sums = 2;
  };
  const auto as_is = [](ShareSums&) {};
  EXPECT_EQ(with([&](Good& g) { shared(g, as_is); }), "");
  for (const int wrong : {-1, 3}) {
    EXPECT_EQ(with([&](Good& g) { shared(g, [&](ShareSums& s) { s.sums = wrong; }); }),
              "sums that are not there");
    EXPECT_EQ(with([&](Good& g) { shared(g, [&](ShareSums& s) { s.shared = wrong; }); }),
              "sums that are not there");
    EXPECT_EQ(with([&](Good& g) { shared(g, [&](ShareSums& s) { s.staging = wrong; }); }),
              "'out' are shared by a staging that is not there");
  }
  EXPECT_EQ(with([&](Good& g) {
              shared(g, as_is);
              g.erase<Await>(g.math(), 1);
              g.erase<Release>(g.math());
            }),
            "'out' are touched while products are on their way");
  EXPECT_EQ(with([&](Good& g) {
              shared(g, as_is);
              g.p.cluster = 1;
              g.p.sums[2].columns = 64;
            }),
            "'out' are shared by the blocks of a cluster, which there is not");
  for (const int columns : {16, 64})
    EXPECT_EQ(with([&](Good& g) {
                shared(g, as_is);
                g.p.sums[2].columns = columns;
              }),
              fmt::format("64 columns of 'out' are shared by 2 blocks as {} of 'shared': each has "
                          "as many, a multiple of 8 of f32",
                          columns));
  EXPECT_EQ(with([&](Good& g) {
              shared(g, as_is);
              g.the<Multiply>(1).fresh = nullptr;
            }),
            "'out' are shared before anything has set them");
  EXPECT_EQ(with([&](Good& g) {
              shared(g, as_is);
              g.p.stagings[1].warp_groups = 1;
              g.p.roles.push_back({.name = "one",
                                   .one_thread = true,
                                   .body = {{MapSums{1, nullptr, g.f32("+", {g.sum, g.sum})}},
                                            {ShareSums{1, 2, 1}}}});
              g.math().erase(g.math().end() - 2);
              g.the<Store>().sums = 1;
            }),
            "one thread alone of role 'one' shares 'out'");
  const auto by = [&](const std::function<void(Staging&)>& change) {
    return with([&](Good& g) {
      shared(g, as_is);
      change(g.p.stagings[1]);
    });
  };
  EXPECT_EQ(by([](Staging& staging) { staging.tile.layout = exchanged_sums(32); }),
            fmt::format("'out' are shared by 'exchanged', which is {} for 2 warp groups",
                        exchanged_sums(32).describe()));
  EXPECT_EQ(by([](Staging& staging) { staging.warp_groups = 1; }),
            fmt::format("'out' are shared by 'exchanged', which is {} for 1 warp groups",
                        exchanged_sums(64).describe()));
}

TEST_F(TileRefusals, RunsOfWhatHasNotBegun) {
  // `out` is added to `total` before it is stored.
  const auto added = [](Good& g, std::vector<Operation> before) {
    g.p.sums.push_back({"total", 64});
    for (Operation& one : before) g.math().insert(g.math().end() - 1, std::move(one));
    g.math().insert(g.math().end() - 1, {AddRuns{2, 1}});
    g.the<Store>().sums = 2;
    g.the<Store>().runs = 1;
  };
  const auto zero = [](Good& g) {
    return MapSums{.sums = 2, .value = g.nodes.number(0, ScalarType::kF32)};
  };
  const auto tiles = [](Good& g, Body body) {
    const SymbolId tile = g.nodes.new_symbol("tile", 2);
    return Loop{tile, g.number(0), g.number(2), g.number(1), std::move(body), ""};
  };
  const std::string why = "'out' are added to 'total' before anything has set 'total'";
  EXPECT_EQ(with([&](Good& g) { added(g, {{zero(g)}}); }), "");
  EXPECT_EQ(with([&](Good& g) { added(g, {}); }), why);
  EXPECT_EQ(with([&](Good& g) {
              MapSums doubled = zero(g);
              doubled.sum = g.sum;
              doubled.value = g.f32("+", {g.sum, g.sum});
              added(g, {{doubled}});
            }),
            why);
  EXPECT_EQ(with([&](Good& g) {
              MapSums sometimes = zero(g);
              sometimes.unless = g.nodes.boolean(true);
              added(g, {{sometimes}});
            }),
            why);
  for (const bool said : {true, false}) {
    EXPECT_EQ(with([&](Good& g) {
                added(g, {{zero(g)}});
                g.the<Multiply>(1).fresh = said ? g.nodes.boolean(false) : nullptr;
              }),
              "'out' are added to 'total' before anything has set 'out'");
  }
  // The second tile's sums begin anew.
  EXPECT_EQ(with([&](Good& g) {
              added(g, {{zero(g)}});
              g.math() = {{tiles(g, g.math())}};
            }),
            "");
  EXPECT_EQ(with([&](Good& g) {
              added(g, {});
              g.math() = {{zero(g)}, {tiles(g, g.math())}};
            }),
            why);
}

TEST_F(TileRefusals, Stores) {
  EXPECT_EQ(with([](Good& g) { g.the<Store>().contiguous = 0; }), "a store of no elements");
  EXPECT_EQ(with([](Good& g) { g.the<Store>().sums = 2; }), "a store of what is not there");
  EXPECT_EQ(with([](Good& g) { g.the<Store>().value = nullptr; }), "a store of what is not there");
  EXPECT_EQ(with([](Good& g) { g.p.parameters.pop_back(); }),
            "a store to 'C', which is no place to write to");
  EXPECT_EQ(with([](Good& g) { g.the<Store>().element = nullptr; }),
            "a store to 'C', which is no place to write to");
  EXPECT_EQ(with([](Good& g) {
              Store store = g.the<Store>();
              store.staging = 0;
              store.view = 2;
              store.to = {store.row, store.column};
              g.load().push_back({store});
            }),
            "one thread alone of role 'load' stores by a staging");
}

TEST_F(TileRefusals, CopiesThatAdd) {
  const auto adds = [](Good& g, ScalarType type) {
    Store& store = g.the<Store>();
    store.adds = true;
    store.staging = 0;
    store.view = 2;
    store.type = g.p.stagings[0].tile.type = g.p.views[2].type = type;
    store.to = {store.row, store.column};
    store.value = type == ScalarType::kF32 ? g.sum : g.nodes.cast(g.sum, type);
    g.p.stagings[0].tile.layout = staged_outputs(64, type);
    g.p.views[2].box[1] = staged_columns(type);
  };
  EXPECT_EQ(with([&](Good& g) { adds(g, ScalarType::kF32); }), "");
  EXPECT_EQ(with([&](Good& g) { adds(g, ScalarType::kF16); }),
            "outputs of f16 are added to 'C', where they would be rounded twice");
  EXPECT_EQ(with([&](Good& g) {
              adds(g, ScalarType::kF32);
              g.p.views[2].as_tf32 = true;
            }),
            "'staged' goes to a view as tf32");
  EXPECT_EQ(with([&](Good& g) { g.the<Store>().adds = true; }),
            "outputs are added to 'C' by threads; only copies add");
  EXPECT_EQ(with([&](Good& g) {
              adds(g, ScalarType::kF32);
              Store& store = g.the<Store>();
              store.value = g.f32("+", {g.sum, g.nodes.load("C", ScalarType::kF32, store.element)});
            }),
            "outputs are added to 'C', which their value reads");
}

TEST_F(TileRefusals, InputsThatAreReadTogether) {
  const auto residual = [](Good& g, bool chosen, bool parameter = true) {
    Store& store = g.the<Store>();
    const Ref load = g.nodes.load("R", ScalarType::kF32, store.element);
    const Ref first = g.nodes.is_zero(g.nodes.index(store.row_symbol));
    store.value = g.f32(
        "+",
        {g.sum, chosen ? g.nodes.select(first, load, g.nodes.number(0, ScalarType::kF32)) : load});
    store.beside = {{load, 4}};
    if (parameter) g.p.parameters.push_back({"R", ScalarType::kF32, false});
  };
  EXPECT_EQ(with([&](Good& g) { residual(g, false); }), "");
  EXPECT_EQ(with([&](Good& g) { residual(g, true); }),
            "elements of 'R' are read together, which the value may not read");
  EXPECT_EQ(with([&](Good& g) { residual(g, false, false); }), "'R' is read, and is no parameter");
  EXPECT_EQ(with([&](Good& g) {
              residual(g, false);
              g.the<Store>().beside[0].contiguous = 1;
            }),
            "a store reads together what are no elements side by side");
}

TEST_F(TileRefusals, PlacesAroundOutputs) {
  const auto around = [](Good& g, std::int64_t begin, std::int64_t own, std::int64_t end) {
    Store& store = g.the<Store>();
    const SymbolId place = g.nodes.new_symbol("place", 3);
    store.places = {{place, g.nodes.integer(begin), own, end}};
    store.element = g.nodes.add(store.element, g.nodes.index(place));
    store.empty = g.nodes.number(0, store.type);
  };
  EXPECT_EQ(with([&](Good& g) { around(g, 0, 1, 3); }), "");
  const std::string why = "a store to 'C' whose places are not around its own";
  EXPECT_EQ(with([&](Good& g) { around(g, 2, 1, 3); }), why);
  EXPECT_EQ(with([&](Good& g) { around(g, 0, 3, 3); }), why);
  EXPECT_EQ(with([&](Good& g) { around(g, -1, 1, 3); }), why);
  EXPECT_EQ(with([&](Good& g) {
              around(g, 0, 1, 3);
              g.the<Store>().empty = nullptr;
            }),
            "a store to 'C' of several places by copies, or of no value for them");
}

TEST_F(TileRefusals, TilesAndTheirCopies) {
  const std::string of_a = "copy of 'A' to 'tile_A': ";
  EXPECT_EQ(with([](Good& g) { g.tile(0).layout = Layout({{{128, 72}}, {{64, 1}}}, 128); }),
            "tile 'tile_A' has gaps: (128:72) x (64:1) swizzle 128");
  EXPECT_EQ(with([](Good& g) { g.tile(0).type = ScalarType::kBf16; }), of_a + "their types differ");
  EXPECT_EQ(with([](Good& g) { g.p.views[0].as_tf32 = true; }),
            of_a + "elements of f16 rounded to tf32, as only those of f32 are");
  EXPECT_EQ(with([](Good& g) { g.p.views[0].strides = {64, 64}; }),
            of_a + "a box, a shape and strides of different ranks");
  EXPECT_EQ(with([](Good& g) {
              g.p.views[0].shape = {2, 64, 64};
              g.p.views[0].strides = {4096, 64};
              g.p.views[0].box = {2, 64, 64};
              g.the<BulkCopy>().from = g.numbers({0, 0, 0});
            }),
            of_a + "more than 2 dimensions of the box are not 1");
  EXPECT_EQ(with([](Good& g) { g.the<BulkCopy>().from.pop_back(); }),
            "copy of 'A' begins at 1 coordinates; it has 2 dimensions");
  EXPECT_EQ(with([](Good& g) { g.the<BulkCopy>().to = {4, 0}; }),
            of_a + "it does not begin at a multiple of 1024 bytes");
  EXPECT_EQ(with([](Good& g) {
              g.p.views[0].swizzle = 0;
              g.tile(0).layout = Layout({{{128, 64}}, {{64, 1}}});
              g.the<BulkCopy>().to = {0, 8};
            }),
            of_a + "it does not begin at a multiple of 128 bytes");
  EXPECT_EQ(with([](Good& g) { g.tile(0).layout = Layout({{{128, 1}}, {{64, 128}}}, 128); }),
            of_a + "(0, 1) does not lie where the copy writes it");
  EXPECT_EQ(with([](Good& g) {
              g.p.cluster = 2;
              g.p.grid = 2;
              g.the<BulkCopy>().step_by_rank = {64};
            }),
            "a copy of 'A' is divided by a step for each coordinate");
}

TEST_F(TileRefusals, ShapesOfProducts) {
  EXPECT_EQ(with([](Good& g) { g.p.sums[0].columns = 4; }),
            "4 columns; wgmma has 8 to 256 in steps of 8");
  EXPECT_EQ(with([](Good& g) {
              g.p.fragments[0].columns = 72;
              g.erase<RoundSums>(g.math());
              g.p.sums.push_back({"wide", 72});
              g.math().insert(g.math().begin() + 6, {RoundSums{0, 2}});
            }),
            "72 columns of 'wide' are rounded to 72 of 'weights'");
  EXPECT_EQ(product_mistake(Fragments{"weights", 72}, {"b", ScalarType::kF16}, 64),
            "'weights' has 72 columns of k");
  const SharedTile a{"a", ScalarType::kF16, wgmma_operand(64, 64, true)};
  const SharedTile longer{"b", ScalarType::kF16, wgmma_operand(64, 128, true)};
  const SharedTile odd{"b", ScalarType::kF16, wgmma_operand(64, 72, false)};
  const SharedTile few{"a", ScalarType::kF16, wgmma_operand(32, 64, true)};
  EXPECT_EQ(product_mistake(a, longer, 64),
            "64 and 128 of k in 'a' and 'b'; both must have a same multiple of 16");
  EXPECT_EQ(product_mistake(odd, odd, 64),
            "72 and 72 of k in 'b' and 'b'; both must have a same multiple of 16");
  EXPECT_EQ(product_mistake(a, a, 264), "264 columns; wgmma has 8 to 256 in steps of 8");
  EXPECT_EQ(product_mistake(few, a, 64), "'a' has 32 rows; each warp group multiplies 64");
}

TEST_F(TileRefusals, ProductsOfEightBits) {
  const auto tile = [](ScalarType type, std::int64_t k, bool along_k, ScalarType lies_as) {
    return SharedTile{"a", type, wgmma_operand(64, k, along_k, lies_as)};
  };
  constexpr ScalarType kE4m3 = ScalarType::kE4m3, kE5m2 = ScalarType::kE5m2,
                       kF16 = ScalarType::kF16;
  const SharedTile good = tile(kE4m3, 128, true, kE4m3);
  EXPECT_EQ(product_mistake(good, tile(kE5m2, 128, true, kE5m2), 64), "");
  EXPECT_EQ(product_mistake(good, tile(kF16, 128, true, kF16), 64),
            "wgmma does not multiply e4m3 by f16");
  EXPECT_EQ(product_mistake(good, tile(kE4m3, 128, false, kF16), 64),
            "'a' lies along its rows; wgmma reads 8-bit floats along k only");
  // In lines of 64 elements, as those of 16 bits lie.
  EXPECT_NE(product_mistake(good, tile(kE4m3, 128, true, kF16), 64)
                .find("'a' does not lie as wgmma reads it"),
            std::string::npos);
  const SharedTile short_k = {"a", kE4m3, Layout({{{64, 16}}, {{16, 1}}}, 128)};
  EXPECT_EQ(product_mistake(short_k, short_k, 64),
            "16 and 16 of k in 'a' and 'a'; both must have a same multiple of 32");
  EXPECT_EQ(product_mistake(Fragments{"weights", 128, kE4m3}, good, 64),
            "'weights' are e4m3; fragments are f16, bf16 or f32");
}

TEST_F(TileRefusals, CopiesThatBeginBesideMultiplesOf16Bytes) {
  // Of f16; x + 4 may be a multiple of 8, 8 x + 4 is none.
  const auto from = [](std::int64_t factor, std::int64_t constant) {
    return with([=](Good& g) {
      const Ref x = g.nodes.index(g.nodes.new_symbol("x", 16));
      g.the<BulkCopy>().from.back() = g.nodes.add(g.nodes.scale(x, factor), g.number(constant));
    });
  };
  const std::string why =
      "copy of 'A' does not begin at a multiple of 16 bytes of its innermost dimension";
  for (const std::int64_t constant : {4, -1}) {
    EXPECT_EQ(from(0, constant), why);
    EXPECT_EQ(from(8, constant), why);
    EXPECT_EQ(from(1, constant), "");
  }
  for (const std::int64_t constant : {0, 8, -8}) EXPECT_EQ(from(8, constant), "");
}

}  // namespace
}  // namespace hone::tile
