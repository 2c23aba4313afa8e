// What each thread of each block of a cluster has once sums are shared: those of all blocks, in its
// own block's columns.
#include "tests/unit/rewriters/tile_probe.h"

namespace hone::tile {
namespace {

TEST(TileSharedSums, OfEveryThreadOfACluster) {
  constexpr std::int64_t kTiles = 2, kClusters = 2, kRows = 128, kK = 64;
  for (const auto& [cluster, columns] :
       {std::pair{2, 16}, {2, 64}, {2, 208}, {4, 32}, {4, 96}, {4, 256}}) {
    SCOPED_TRACE(fmt::format("{} blocks, {} columns", cluster, columns));
    const int own = columns / cluster, count = own / 2;
    const std::int64_t blocks = kClusters * cluster, all_rows = kTiles * blocks * kRows;
    Probed test(all_rows * own, 2, cluster);
    nest::Nodes& nodes = test.nodes;
    Program& p = test.p;
    p.grid = blocks;
    p.block = nodes.new_symbol("block", blocks);
    const int a = test.operand("A", ScalarType::kF16, all_rows, kK, true);
    const int b = test.operand("B", ScalarType::kF16, columns, kK, true);
    // Of A each block has other rows for each tile.
    const SymbolId tile = nodes.new_symbol("tile", kTiles);
    p.rings[0].tiles[0].layout = wgmma_operand(kRows, kK, true);
    p.views[0].box[0] = kRows;
    std::get<BulkCopy>(test.copies[0].is).from[0] =
        nodes.scale(nodes.add(nodes.scale(nodes.index(tile), blocks), nodes.index(p.block)), kRows);
    test.fill();
    p.sums = {{"sums", columns}, {"shared", own}};
    p.stagings = {{2, {"exchanged", ScalarType::kF32, exchanged_sums(columns)}}};
    test.math() = {{Wait{0}},
                   {Multiply{.a = a,
                             .b = b,
                             .a_row = nodes.scale(nodes.index(p.group), 64),
                             .fresh = nodes.boolean(true)}},
                   {Await{0}},
                   {Release{0}},
                   {ShareSums{}}};
    for (Role& role : p.roles)
      role.body = {{Loop{.symbol = tile,
                         .first = test.number(0),
                         .end = test.number(kTiles),
                         .step = test.number(1),
                         .body = role.body}}};
    const auto got =
        test.probed({{"share_parity ^= 1;",
                      fmt::format("#pragma unroll\nfor (int i = 0; i < {0}; ++i) probe[((tile * "
                                  "{1} + blockIdx.x) * 256 + threadIdx.x - 128) * {0} + i] = "
                                  "shared[i];",
                                  count, blocks)}});
    if (got.empty()) return;
    const Layout sums = wgmma_sums(own);
    const auto element = [&](const char* name, std::int64_t row, std::int64_t k) {
      return test.contents[name][static_cast<std::size_t>(row * kK + k)];
    };
    for (std::size_t i = 0; i < got.size(); ++i) {
      const auto place = static_cast<std::int64_t>(i);
      const std::int64_t thread = place / count % 256, block = place / count / 256;  // of each tile
      const std::int64_t at = sums.offset({thread % 128, place % count});
      const std::int64_t row = thread / 128 * 64 + at / own;
      const std::int64_t column = block % cluster * own + at % own;
      double sum = 0;
      for (std::int64_t k = 0; k < kK; ++k) {
        double of_all = 0;  // blocks of the cluster
        for (std::int64_t rank = 0; rank < cluster; ++rank)
          of_all += element("A", (block / cluster * cluster + rank) * kRows + row, k);
        sum += of_all * element("B", column, k);
      }
      ASSERT_EQ(got[i], sum) << "tile " << block / blocks << ", block " << block % blocks
                             << ", thread " << thread << ", value " << place % count;
    }
  }
}

}  // namespace
}  // namespace hone::tile
