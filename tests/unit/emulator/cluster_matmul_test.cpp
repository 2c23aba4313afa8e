// A whole product in the way of Hopper's fast ones (data/cluster.cu): right, and used wrongly.
#include <fmt/format.h>

#include "evaluator/device/emulator/lanes/dot.h"
#include "tests/unit/emulator/harness.h"

namespace hone::emulator {
namespace {

constexpr int kTiles = 5, kClusters = 2, kRows = kClusters * 2 * 64, kDepth = kTiles * 64;

struct alignas(64) MapBytes {
  std::array<std::uint8_t, 128> bytes;
};

struct Product {
  std::vector<int> a = std::vector<int>(kRows * kDepth);
  std::vector<int> b = std::vector<int>(64 * kDepth);
  RunReport report;
  std::vector<float> d;

  explicit Product(int way, std::uint64_t seed = 0) {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<int>(i * 7 % 13) - 6;
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<int>(i * 5 % 11) - 5;
    Launch l("multicast_matmul", {kClusters * 2, 1, 1}, {160, 1, 1});
    l.in("A", halves(a)).in("B", halves(b));
    l.config().parameters.clear();
    const MapBytes map_a = map(l.address("A"), kRows, 64);
    const MapBytes map_b = map(l.address("B"), 64, 32);
    l.value(map_a).value(map_b).out("D", kRows * 64 * 4).value(kTiles).value(way);
    RunOptions options;
    options.schedule_seed = seed;
    report = l.run(kernels("cluster_sm_90a.ptx"), options);
    d = l.read<float>("D", kRows * 64);
  }
  static std::vector<std::uint16_t> halves(const std::vector<int>& v) {
    std::vector<std::uint16_t> h;
    for (const int x : v) h.push_back(static_cast<std::uint16_t>(half_bits(static_cast<float>(x))));
    return h;
  }
  static MapBytes map(std::uint64_t address, int rows, int box) {
    TensorMapSpec s;
    s.type = TensorMapSpec::Type::kF16;
    s.rank = 2;
    s.address = address;
    s.sizes = {kDepth, static_cast<std::uint64_t>(rows)};
    s.strides = {kDepth * 2};
    s.box = {64, static_cast<std::uint32_t>(box)};
    s.swizzle = TensorMapSpec::Swizzle::k128B;
    const auto bytes = encode_tiled_tensor_map(s);
    EXPECT_TRUE(bytes) << bytes.error().message;
    return {*bytes};
  }
};

TEST(ClusterMatmul, IsRightInEverySchedule) {
  for (const int seed : {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}) {
    const Product p(seed % 2 ? 6 : 0, static_cast<std::uint64_t>(seed / 2));
    ASSERT_EQ(p.report.verdict, Verdict::kOk) << p.report.detail;
    for (int i = 0; i < kRows; ++i)
      for (int j = 0; j < 64; ++j) {
        int want = 0;
        for (int k = 0; k < kDepth; ++k) want += p.a[i * kDepth + k] * p.b[j * kDepth + k];
        ASSERT_EQ(p.d[i * 64 + j], want) << i << "," << j << " seed " << seed;
      }
  }
}

TEST(ClusterMatmul, WrongUseIsReported) {
  const auto expect = [](int way, Verdict verdict, const std::string& what) {
    const Product p(way);
    EXPECT_EQ(p.report.verdict, verdict) << way << ": " << p.report.detail;
    EXPECT_NE(p.report.detail.find(what), std::string::npos) << way << ": " << p.report.detail;
  };
  expect(1, Verdict::kRace, "write of shared multicast_matmul::Bs+0 in block 1 of the cluster");
  expect(2, Verdict::kRace, "race");
  expect(3, Verdict::kRace, "before its wait");
  expect(4, Verdict::kFault, "that was not initialised");
  expect(7, Verdict::kRace, "race");
  expect(5, Verdict::kFault, "which has already ended");
}

}  // namespace
}  // namespace hone::emulator
