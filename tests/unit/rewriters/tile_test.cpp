// Layouts, and what is refused of tile programs before any CUDA is printed. What they compute is in
// contract_bulk_test.cpp.
#include "rewriters/schedules/contract/hopper.h"
#include "rewriters/tile/operands.h"
#include "tests/unit/rewriters/contract_product.h"

namespace hone::tile {
namespace {

using schedules::Product;

/// The coordinates of the `number`th element, dimension 0 fastest.
std::vector<std::int64_t> counted(const Layout& layout, std::int64_t number) {
  std::vector<std::int64_t> at;
  for (std::size_t d = 0; d < layout.rank(); ++d) {
    at.push_back(number % layout.extent(d));
    number /= layout.extent(d);
  }
  return at;
}

TEST(Layout, ModesHaveStridesOfTheirOwn) {
  // 64 columns in bands of 8 that lie 512 apart, 64 rows of 8.
  const Layout bands({{{64, 8}}, {{8, 1}, {8, 512}}});
  EXPECT_EQ(bands.elements(), 4096);
  EXPECT_EQ(bands.reach(), 4096);
  EXPECT_EQ(bands.offset({3, 0}), 24);
  EXPECT_EQ(bands.offset({3, 13}), 24 + 5 + 512);
  EXPECT_EQ(bands.describe(), "(64:8) x (8:1, 8:512)");
  EXPECT_EQ(bands.vector_width(1, 16), 8);
  EXPECT_EQ(bands.vector_width(0, 16), 1);
  EXPECT_EQ(Layout({{{4, 6}}, {{6, 1}}}).vector_width(1, 8), 2) << "rows begin at multiples of 6";
}

TEST(Layout, DividedIsTheSameElements) {
  const Layout whole({{{16, 64}, {4, 4096}}, {{64, 1}}});
  for (const std::int64_t extent : {1, 2, 8, 16, 32, 64}) {
    const auto parts = whole.divided(0, extent);
    ASSERT_TRUE(parts.has_value()) << extent << ": " << parts.error().message;
    EXPECT_EQ(parts->extent(0), extent);
    EXPECT_EQ(parts->extent(2), 64 / extent);
    for (std::int64_t row = 0; row < 64; ++row)
      for (const std::int64_t column : {0, 1, 63})
        ASSERT_EQ(parts->offset({row % extent, column, row / extent}), whole.offset({row, column}))
            << extent << " of row " << row;
  }
  EXPECT_FALSE(whole.divided(0, 3).has_value());
  EXPECT_FALSE(whole.divided(0, 24).has_value());
}

TEST(Layout, AfterAnotherGivesTheNumbersOfBoth) {
  // Where the sums of each thread lie in a row-major tile, and in one of columns.
  const Layout sums = wgmma_sums(64);
  for (const Layout& tile : {Layout({{{64, 1}}, {{64, 72}}}), Layout({{{64, 64}}, {{64, 1}}}),
                             Layout({{{8, 1}, {8, 512}}, {{64, 8}}})}) {
    const auto both = tile.after(sums);
    ASSERT_TRUE(both.has_value()) << tile.describe() << ": " << both.error().message;
    for (std::int64_t thread = 0; thread < 128; ++thread)
      for (std::int64_t value = 0; value < 32; ++value)
        ASSERT_EQ(both->offset({thread, value}),
                  tile.offset(counted(tile, sums.offset({thread, value}))))
            << tile.describe();
  }
  EXPECT_FALSE(Layout({{{6, 1}}, {{4, 6}}}).after(Layout({{{4, 4}}})).has_value());
  EXPECT_FALSE(Layout({{{4, 1}}}).after(Layout({{{8, 1}}})).has_value());
}

/// Every element has one owner, whom the instruction set's manual names.
TEST(Layout, SumsOfTheTensorCores) {
  for (const int n : {8, 64, 104, 256}) {
    const Layout sums = wgmma_sums(n);
    std::set<std::int64_t> seen;
    for (std::int64_t thread = 0; thread < 128; ++thread) {
      for (std::int64_t value = 0; value < n / 2; ++value) {
        const std::int64_t row = thread / 32 * 16 + thread % 32 / 4 + value / 2 % 2 * 8;
        const std::int64_t column = value / 4 * 8 + thread % 4 * 2 + value % 2;
        ASSERT_EQ(sums.offset({thread, value}), row * n + column);
        seen.insert(sums.offset({thread, value}));
      }
    }
    EXPECT_EQ(seen.size(), static_cast<std::size_t>(64 * n));
  }
  for (std::int64_t lane = 0; lane < 32; ++lane)
    for (std::int64_t value = 0; value < 4; ++value)
      EXPECT_EQ(mma_sums().offset({lane, value}),
                (lane / 4 + value / 2 * 8) * 8 + lane % 4 * 2 + value % 2);
}

TEST(Layout, SwizzledPiecesOfAColumnAreInDifferentBanks) {
  const auto rounds = [](int swizzle, std::int64_t line) {
    const Layout tile({{{64, line}}, {{line, 1}}}, swizzle);
    std::vector<std::int64_t> bytes;
    for (std::int64_t row = 0; row < 32; ++row) bytes.push_back(tile.byte_of({row, 8}, 2));
    return shared_rounds(bytes, 16);
  };
  EXPECT_EQ(rounds(0, 64), 32) << "all in the same four banks";
  EXPECT_EQ(rounds(128, 64), 4) << "the best that there is";
  // Sixteen bytes of neighbours, and words that all lanes share.
  std::vector<std::int64_t> neighbours, same(32, 64);
  for (std::int64_t lane = 0; lane < 32; ++lane) neighbours.push_back(lane * 16);
  EXPECT_EQ(shared_rounds(neighbours, 16), 4);
  EXPECT_EQ(shared_rounds(same, 4), 1);
  // No two pieces change places with one.
  const Layout tile({{{64, 64}}, {{64, 1}}}, 128);
  std::set<std::int64_t> places;
  for (std::int64_t row = 0; row < 64; ++row)
    for (std::int64_t k = 0; k < 64; ++k) places.insert(tile.byte_of({row, k}, 2));
  EXPECT_EQ(places.size(), 4096U);
  EXPECT_EQ(*places.rbegin(), 8190);
}

/// A product of 256 x 256 x 256 as a tile program.
class TileProgram : public ::testing::Test {
 protected:
  Program program(bool a_transposed = false, int cluster = 1, ScalarType out = ScalarType::kF32) {
    product_.emplace(schedules::Shape{.m = 256,
                                      .n = 256,
                                      .k = 256,
                                      .a_transposed = a_transposed,
                                      .type = ScalarType::kF16,
                                      .out = out});
    goal_ = product_->goal();
    const auto contraction = schedules::contract::analyse(goal_);
    EXPECT_TRUE(contraction.has_value());
    contraction_ = *contraction;
    const schedules::contract::Schedule schedule{.pipe = schedules::contract::Pipe::kWgmmaBulk,
                                                 .bm = 128,
                                                 .bn = 128,
                                                 .bk = 64,
                                                 .stages = 4,
                                                 .cluster = cluster};
    return schedules::contract::bulk_program(contraction_, schedule, goal_, "g_");
  }

  /// The reason, "" where there is none.
  static std::string refusal(const Program& program, const Limits& limits = {}) {
    const auto ok = verify(program, limits);
    return ok ? "" : ok.error().message;
  }

  /// The body of the loop over k of the role.
  static Body& round(Program& program, int role) {
    auto& over_tiles = std::get<Loop>(program.roles[static_cast<std::size_t>(role)].body[0].is);
    for (Operation& operation : over_tiles.body)
      if (auto* loop = std::get_if<Loop>(&operation.is)) return loop->body;
    ADD_FAILURE() << "no loop over k";
    return over_tiles.body;
  }
  static Body& tile_body(Program& program, int role) {
    return std::get<Loop>(program.roles[static_cast<std::size_t>(role)].body[0].is).body;
  }

  std::optional<Product> product_;
  schedules::Goal goal_;  ///< what the contraction looks into
  schedules::contract::Contraction contraction_;
};

TEST_F(TileProgram, IsAccepted) {
  for (const bool transposed : {false, true}) EXPECT_EQ(refusal(program(transposed)), "");
}

TEST_F(TileProgram, WithoutACopyIsRefused) {
  Program p = program();
  auto& body = round(p, 0);
  body.erase(body.begin() + 1);
  EXPECT_EQ(refusal(p),
            "tile program: ring 'tiles' is committed with 8192 of 16384 elements copied");
}

TEST_F(TileProgram, CopiesBeforeTheStageIsEmptyAreRefused) {
  Program p = program();
  auto& body = round(p, 0);
  std::swap(body[0], body[1]);
  EXPECT_EQ(refusal(p), "tile program: 'tile_a' is copied to before its stage is empty");
}

TEST_F(TileProgram, ProductsBeforeTheStageIsFullAreRefused) {
  Program p = program();
  auto& body = round(p, 1);
  body.erase(body.begin());
  EXPECT_EQ(refusal(p), "tile program: 'tile_a' and 'tile_b' are multiplied before they are full");
}

TEST_F(TileProgram, StagesThatNobodyReleasesAreRefused) {
  Program p = program();
  round(p, 1).pop_back();
  EXPECT_EQ(refusal(p),
            "tile program: a round of the loop over 'k_first' does not leave the rings as it found "
            "them");
  p = program();
  std::erase_if(tile_body(p, 1),
                [](const Operation& one) { return std::holds_alternative<Drain>(one.is); });
  EXPECT_EQ(refusal(p), "tile program: sums are stored while products are on their way");
}

TEST_F(TileProgram, RingsHaveOneProducerAndAReader) {
  Program p = program();
  p.roles.push_back(p.roles[0]);
  p.roles.back().name = "another";
  for (Role& role : p.roles) role.registers = 0;
  EXPECT_EQ(refusal(p), "tile program: ring 'tiles' is filled by 2 roles; it must be one");
  p = program();
  p.roles.pop_back();
  EXPECT_EQ(refusal(p), "tile program: nobody reads ring 'tiles'");
  p = program();
  p.roles[0].one_thread = false;
  EXPECT_EQ(
      refusal(p),
      "tile program: ring 'tiles' is filled by all threads of role 'load'; bulk copies need one");
}

TEST_F(TileProgram, LayoutsMustFitTheirInstructions) {
  Program p = program();
  p.rings[0].tiles[0].layout = Layout({{{128, 64}}, {{64, 1}}});
  EXPECT_EQ(refusal(p),
            "tile program: copy of 'A' to 'tile_a': a swizzle of 128 bytes is read as one of 0");
  p = program();
  p.views[0].swizzle = 0;
  p.rings[0].tiles[0].layout = Layout({{{128, 64}}, {{64, 1}}});
  EXPECT_EQ(refusal(p), "tile program: 'tile_a' does not lie as wgmma reads it: (128:64) x (64:1)");
  p = program();
  p.rings[0].tiles[0].layout = wgmma_operand(128, 64, false);
  EXPECT_EQ(refusal(p), "tile program: copy of 'A' to 'tile_a': (0, 64) is outside of the tile");
  p = program();
  p.sums[0].columns = 64;
  EXPECT_EQ(refusal(p), "tile program: 'tile_b' has 128 columns, the sums have 64");
  p = program();
  p.views[0].strides = {100};
  EXPECT_TRUE(refusal(p).contains("stride of 200 B in dimension 1 (a multiple of 16"));
}

TEST_F(TileProgram, ClustersDivideTheirCopies) {
  Program p = program(false, 2);
  EXPECT_EQ(refusal(p), "");
  p.cluster = 1;
  EXPECT_EQ(refusal(p), "tile program: a copy of 'B' is for a cluster, which there is not");
  p = program(false, 2);
  std::get<BulkCopy>(round(p, 0)[2].is).step_by_rank.clear();
  EXPECT_EQ(refusal(p),
            "tile program: ring 'tiles' is committed with 12288 of 16384 elements copied");
  p = program(false, 2);
  p.grid = 3;
  EXPECT_EQ(refusal(p), "tile program: clusters of 2 blocks; 1 to 8 that divide the grid of 3");
  p.grid = 0;
  EXPECT_EQ(refusal(p), "tile program: clusters of 2 blocks; 1 to 8 that divide the grid of 0");
}

TEST_F(TileProgram, EachPartOfATileIsCopiedOnce) {
  Program p = program();
  auto& body = round(p, 0);
  ASSERT_EQ(body.size(), 5U) << "acquire, three boxes, commit";
  std::get<BulkCopy>(body[3].is).to = {0, 0};
  EXPECT_EQ(refusal(p), "tile program: a part of 'tile_b' is copied twice");
  std::get<BulkCopy>(body[3].is).to = {-64, 0};
  EXPECT_EQ(refusal(p), "tile program: copy of 'B' to 'tile_b': its place is no place in the tile");
  std::get<BulkCopy>(body[3].is).tile = 2;
  EXPECT_EQ(refusal(p), "tile program: a copy of what is not there");
  p = program();
  p.rings[0].tiles[0].layout = Layout({{}, {{64, 1}}});
  EXPECT_EQ(refusal(p), "tile program: tile 'tile_a' has 2 dimensions; it must have 2, none empty");
}

TEST_F(TileProgram, StagesAreReadBeforeTheyAreLeft) {
  Program p = program();
  std::erase_if(round(p, 1),
                [](const Operation& one) { return std::holds_alternative<Multiply>(one.is); });
  EXPECT_EQ(refusal(p),
            "tile program: ring 'tiles' is advanced where no stage of it was multiplied");
  p = program();
  std::get<Advance>(round(p, 1)[2].is).nothing_before = nullptr;
  EXPECT_EQ(
      refusal(p),
      "tile program: ring 'tiles' is advanced without a word on when there is no stage before");
  p = program();
  p.roles[1].warp_groups = 4;
  for (Role& role : p.roles) role.registers = 0;
  p.sums[0].columns = 128;
  EXPECT_TRUE(refusal(p).contains("registers of sums do not fit") ||
              refusal(p).contains("multiplies rows that 'tile_a' may not have"))
      << refusal(p);
  p = program();
  std::get<Multiply>(round(p, 1)[1].is).a_row = p.nodes->integer(128);
  EXPECT_EQ(refusal(p), "tile program: role 'math' multiplies rows that 'tile_a' may not have");
}

TEST_F(TileProgram, RegistersAndSharedMemoryEnd) {
  Program p = program();
  p.rings[0].stages = 8;
  EXPECT_EQ(refusal(p), "tile program: 262272 bytes of shared memory; a block has 232448");
  p = program();
  p.roles[1].registers = 248;
  EXPECT_EQ(refusal(p), "tile program: the roles have 66560 registers; there are 64512");
  p = program();
  p.roles[1].registers = 88;
  EXPECT_EQ(refusal(p), "tile program: 64 registers of sums do not fit role 'math', which has 88");
  p = program();
  EXPECT_EQ(refusal(p, {.compute_capability = 80}),
            "tile program: what is printed here is for sm_90, not sm_80");
}

TEST_F(TileProgram, OutputsAreStagedAsTheirCopiesReadThem) {
  const Program good = program(false, 1, ScalarType::kF16);
  ASSERT_EQ(good.stagings.size(), 1U);
  EXPECT_EQ(refusal(good), "");
  const auto store_of = [](Program& p) -> Store& {
    return std::get<Store>(tile_body(p, 1).back().is);
  };
  Program p = good;
  p.stagings[0].tile.layout = Layout({{{64, 64}}, {{64, 1}}});
  EXPECT_EQ(refusal(p),
            "tile program: 'staged' does not lie as its copies read it: (64:64) x (64:1)");
  p = good;
  p.stagings[0].tile.type = ScalarType::kBf16;
  EXPECT_EQ(refusal(p),
            "tile program: 'staged' holds bf16 for outputs of f16; both must be f32, or the same "
            "16 bits");
  p = good;
  p.stagings[0].warp_groups = 1;
  EXPECT_EQ(refusal(p), "tile program: 'staged' is for 1 warp groups of one role");
  p = good;
  p.views[2].box = {32, 64};
  EXPECT_EQ(refusal(p), "tile program: 'staged' goes to a view of other rows and columns");
  p = good;
  store_of(p).columns = 128;
  EXPECT_EQ(refusal(p), "tile program: 'staged' goes to a view of other rows and columns");
  p = good;
  p.views[2].swizzle = 0;
  EXPECT_EQ(refusal(p),
            "tile program: copy of 'staged' to 'C': a swizzle of 0 bytes is read as one of 128");
  p = good;
  store_of(p).contiguous = 1;
  EXPECT_EQ(refusal(p), "tile program: outputs by 'staged' that are not all there, side by side");
  p = good;
  store_of(p).view = 3;
  EXPECT_EQ(refusal(p), "tile program: a store by what is not there");
}

TEST_F(TileProgram, IsPrintedAsAPersonWouldKeepIt) {
  const std::string text = print(program());
  EXPECT_NE(text.find("// Role 'load'."), std::string::npos) << text;
  EXPECT_NE(
      text.find("__launch_bounds__(384, 1) g_contract(const __grid_constant__ CUtensorMap map_a"),
      std::string::npos)
      << text;
  EXPECT_LT(std::ranges::count(text, '\n'), 260) << text;
}

}  // namespace
}  // namespace hone::tile
