// What tile programs do to sums in registers between products, and what is refused of it. What such
// programs compute is in attention_test.cpp.
#include <gtest/gtest.h>

#include "rewriters/tile/operands.h"
#include "rewriters/tile/program.h"

namespace hone::tile {
namespace {

constexpr int kA = 0, kB = 1, kC = 2;  // rings
constexpr int kScores = 0, kOut = 1;   // sums
constexpr int kTop = 0, kTotal = 1;    // rows

/// Out = round(exp2(A * B - their largest)) * C, in rounds of 64: a softmax without its rescaling.
class TileRows : public ::testing::Test {
 protected:
  TileRows() {
    p.kernel = "g_test";
    p.prefix = "g_";
    p.nodes = &nodes;
    p.block = nodes.new_symbol("block", 1);
    p.group = nodes.new_symbol("group", 2);
    const auto view = [](const char* name, std::int64_t rows) {
      return View{.name = name,
                  .buffer = name,
                  .type = ScalarType::kF16,
                  .shape = {256, 64},
                  .strides = {64},
                  .box = {rows, 64},
                  .swizzle = 128};
    };
    p.views = {view("A", 128), view("B", 64), view("C", 64)};
    p.rings = {{"a", 1, {{"tile_a", ScalarType::kF16, wgmma_operand(128, 64, true)}}},
               {"b", 2, {{"tile_b", ScalarType::kF16, wgmma_operand(64, 64, true)}}},
               {"c", 2, {{"tile_c", ScalarType::kF16, wgmma_operand(64, 64, false)}}}};
    p.sums = {{"scores", 64}, {"out", 64}};
    p.rows = {{"top", nodes.load("%top", ScalarType::kF32, nodes.integer(0))},
              {"total", nodes.load("%total", ScalarType::kF32, nodes.integer(0))}};
    p.fragments = {{"weights", 64, ScalarType::kF16}};
    score = nodes.load("%score", ScalarType::kF32, nodes.integer(0));
    round = nodes.new_symbol("k_round", 4);
    p.roles = {{.name = "load", .registers = 24, .one_thread = true},
               {.name = "math", .warp_groups = 2, .registers = 240}};
    load().push_back({Acquire{kA}});
    load().push_back({BulkCopy{kA, 0, 0, {zero(), zero()}, {0, 0}}});
    load().push_back({Commit{kA}});
    Body copies;
    for (const int ring : {kB, kC}) {
      copies.push_back({Acquire{ring}});
      copies.push_back(
          {BulkCopy{ring, 0, ring, {nodes.scale(nodes.index(round), 64), zero()}, {0, 0}}});
      copies.push_back({Commit{ring}});
    }
    load().push_back({over(std::move(copies))});
    math() = {
        {MapRows{kTotal, number(0)}},
        {MapSums{.sums = kOut, .value = number(0)}},
        {Wait{kA}},
        {over(
            {{Wait{kB}},
             {TakeTurn{}},
             {Multiply{.sums = kScores,
                       .ring = kB,
                       .a_row = nodes.scale(nodes.index(p.group), 64),
                       .fresh = nodes.boolean(true),
                       .a_ring = kA}},
             {PassTurn{}},
             {Await{0}},
             {Release{kB}},
             {ReduceRows{.rows = kTop, .sums = kScores, .op = Op::kMax}},
             {MapSums{.sums = kScores, .sum = score, .value = weight()}},
             {ReduceRows{
                 .rows = kTotal, .sums = kScores, .op = Op::kAdd, .onto = true, .in_lanes = true}},
             {RoundSums{0, kScores}},
             {Wait{kC}},
             {Multiply{.sums = kOut, .ring = kC, .fragments = 0}},
             {Await{0}},
             {Release{kC}}})},
        {Release{kA}},
        {FoldRows{kTotal, Op::kAdd}},
        {MapSums{.sums = kOut, .sum = score, .value = f32("/", {score, p.rows[kTotal].value})}}};
  }

  Ref zero() { return nodes.integer(0); }
  Ref number(double value) { return nodes.number(value, ScalarType::kF32); }
  Ref f32(const char* name, std::vector<Ref> args) {
    return nodes.call(name, ScalarType::kF32, std::move(args));
  }
  Ref weight() { return f32("exp2", {f32("-", {score, p.rows[kTop].value})}); }
  Operation over(Body body) {
    return {Loop{round, zero(), nodes.integer(4), nodes.integer(1), std::move(body), ""}};
  }
  Body& load() { return p.roles[0].body; }
  Body& math() { return p.roles[1].body; }
  /// The body of the loop of those that multiply.
  Body& rounds() { return std::get<Loop>(math()[3].is).body; }
  template <class One>
  std::size_t place_of(const Body& body, int which = 0) {
    for (std::size_t i = 0; i < body.size(); ++i)
      if (std::holds_alternative<One>(body[i].is) && which-- == 0) return i;
    ADD_FAILURE() << "no such operation";
    return 0;
  }
  template <class One>
  void erase(Body& body, int which = 0) {
    body.erase(body.begin() + static_cast<std::ptrdiff_t>(place_of<One>(body, which)));
  }
  /// The reason without what stands before each, "" where there is none.
  std::string refusal() {
    const auto ok = verify(p, {});
    const std::string before = "tile program: ";
    return ok ? "" : ok.error().message.substr(before.size());
  }

  nest::Nodes nodes;
  Program p;
  Ref score = nullptr;
  SymbolId round = -1;
};

TEST_F(TileRows, IsAcceptedAndPrinted) {
  EXPECT_EQ(refusal(), "");
  const std::string text = print(p);
  for (const char* part :
       {"g_multiply_out(out, weights[i], ", "g_power(scores[i] - top[row])", "cvt.rn.f16x2.f32",
        "__shfl_xor_sync(0xffffffffu, total[row], 2)", "if (group == 1) g_pass_turn(0);",
        "g_pass_turn(1 - group);", "g_arrive(&empty_a[stage_a]);"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
}

TEST_F(TileRows, SumsUnderwayAreLeftAlone) {
  erase<Await>(rounds());
  EXPECT_EQ(refusal(), "ring 'b' is released while products read its stage");
  erase<Release>(rounds());
  EXPECT_EQ(refusal(), "'scores' are touched while products are on their way");
  rounds()[place_of<ReduceRows>(rounds())] = {Await{1}};
  EXPECT_EQ(refusal(), "'scores' are touched while products are on their way");
}

TEST_F(TileRows, FragmentsUnderwayAreLeftAlone) {
  Body& body = rounds();
  body.insert(body.begin() + static_cast<std::ptrdiff_t>(place_of<Await>(body, 1)),
              {RoundSums{0, kScores}});
  EXPECT_EQ(refusal(), "'weights' are written while products read them");
}

TEST_F(TileRows, FragmentsAreRoundedBeforeTheyAreMultiplied) {
  erase<RoundSums>(rounds());
  EXPECT_EQ(refusal(), "'weights' and 'tile_c' are multiplied before they are full");
  rounds().insert(rounds().begin() + static_cast<std::ptrdiff_t>(place_of<Wait>(rounds(), 1)),
                  {RoundSums{0, kOut}});
  p.sums[kOut].columns = 128;
  EXPECT_EQ(refusal(), "128 columns of 'out' are rounded to 64 of 'weights'");
  p.sums[kOut].columns = 64;
  p.fragments[0].type = ScalarType::kF32;
  EXPECT_EQ(refusal(), "'out' are rounded to f32; wgmma reads f16 and bf16");
  p.fragments[0].type = ScalarType::kBf16;
  EXPECT_EQ(refusal(), "wgmma does not multiply bf16 by f16");
}

TEST_F(TileRows, ALoopLeavesNoProductsThatNobodyCounts) {
  const Operation multiply = {Multiply{
      .sums = kScores, .ring = kB, .a_row = zero(), .fresh = nodes.boolean(true), .a_ring = kA}};
  const auto with = [&](Body round, int left) {
    math() = {{Wait{kA}}, {Wait{kB}},    over(std::move(round)), {Await{left}},
              {Await{0}}, {Release{kB}}, {Release{kA}}};
    return refusal();
  };
  EXPECT_EQ(with({multiply}, 0),
            "every round of the loop over 'k_round' leaves more products on their way");
  // A loop without a round leaves none.
  EXPECT_EQ(with({multiply, {Await{1}}}, 1),
            "role 'math' waits for all but 1 products where it is not known how many are on their "
            "way");
  EXPECT_EQ(with({multiply, {Await{1}}}, 0), "nobody reads ring 'c'") << "else all is well";
}

TEST_F(TileRows, RowsHaveAValueBeforeTheyAreUsed) {
  erase<MapRows>(math());
  EXPECT_EQ(refusal(), "rows 'total' have no value yet") << "added onto";
  math().insert(math().begin(), {MapRows{kTotal, p.rows[kTop].value}});
  EXPECT_EQ(refusal(), "rows 'top' have no value yet");
}

TEST_F(TileRows, PartsOfRowsAreFoldedBeforeTheyAreUsed) {
  erase<FoldRows>(math());
  EXPECT_EQ(refusal(), "rows 'total' are used where lanes have parts of them");
  math().insert(math().begin() + 5, {FoldRows{kTotal, Op::kAdd}});
  EXPECT_EQ(refusal(), "");
  // The second round finds parts where the first one did not.
  rounds().insert(rounds().begin(), {MapRows{kTop, p.rows[kTotal].value}});
  EXPECT_EQ(refusal(), "rows 'total' are used where lanes have parts of them");
  erase<MapRows>(rounds());
  math().insert(math().begin() + 6, {FoldRows{kTotal, Op::kAdd}});
  EXPECT_EQ(refusal(), "rows 'total' are folded where lanes have no parts of them");
}

TEST_F(TileRows, RowsAreNotAddedFourTimes) {
  auto& reduce = std::get<ReduceRows>(rounds()[place_of<ReduceRows>(rounds(), 1)].is);
  reduce.in_lanes = false;
  EXPECT_EQ(refusal(), "rows 'total' are added to by each lane of theirs");
  reduce.op = Op::kMul;
  EXPECT_EQ(refusal(), "rows are folded by 'max' or '+', not '*'");
}

TEST_F(TileRows, MapsKnowTheirPlaces) {
  auto& map = std::get<MapSums>(rounds()[place_of<MapSums>(rounds())].is);
  map.row_symbol = nodes.new_symbol("m", 128);
  EXPECT_EQ(refusal(), "'scores' are mapped by places that are not known");
  map.row = zero();
  EXPECT_EQ(refusal(), "");
  map.awaits = true;
  EXPECT_EQ(refusal(), "sums that are mapped in any case are waited for by Await");
}

TEST_F(TileRows, TurnsAreTakenAndPassed) {
  erase<PassTurn>(rounds());
  EXPECT_EQ(refusal(), "a round of the loop over 'k_round' does not pass the turn that it takes");
  erase<TakeTurn>(rounds());
  EXPECT_EQ(refusal(), "");
  rounds().push_back({PassTurn{}});
  EXPECT_EQ(refusal(), "role 'math' passes a turn that it does not have");
  rounds().insert(rounds().end() - 1, 2, {TakeTurn{}});
  EXPECT_EQ(refusal(), "role 'math' takes a turn that it has");
}

TEST_F(TileRows, WarpGroupsTakeAsManyTurns) {
  std::get<Loop>(math()[3].is).end = nodes.add(nodes.index(p.group), nodes.integer(1));
  EXPECT_EQ(refusal(), "warp groups may take unlike numbers of turns in the loop over 'k_round'");
  const SymbolId rest = nodes.new_symbol("rest", 3);
  std::get<Loop>(math()[3].is).end = nodes.index(rest);
  math().insert(math().begin(), {Define{rest, nodes.index(p.group)}});
  EXPECT_EQ(refusal(), "warp groups may take unlike numbers of turns in the loop over 'k_round'");
}

TEST_F(TileRows, OneStageIsEnoughForThoseThatRelease) {
  p.rings[kB].stages = 1;
  EXPECT_EQ(refusal(), "");
  rounds()[place_of<Release>(rounds())] = {Advance{kB, nodes.is_zero(nodes.index(round))}};
  EXPECT_EQ(refusal(), "ring 'b' is advanced with one stage in hand, and has 1; at least 2");
  p.rings[kB].stages = 0;
  EXPECT_EQ(refusal(), "ring 'b' has 0 stages; at least 1");
}

TEST_F(TileRows, SumsAndFragmentsFitTheRegisters) {
  p.roles[1].registers = 104;
  EXPECT_EQ(refusal(), "80 registers of sums and fragments do not fit role 'math', which has 104");
  p.roles[1].registers = 112;
  EXPECT_EQ(refusal(), "");
}

}  // namespace
}  // namespace hone::tile
