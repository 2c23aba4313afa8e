// Clusters in CUDA C++ (data/cluster_cpp.cu): right in several schedules, and used wrongly.
#include <algorithm>

#include "tests/unit/emulator/harness.h"

namespace hone::emulator {
namespace {

const char* const kFile = "cluster_cpp_sm_90a.ptx";
constexpr int kSteps = 9;

template <class T>
struct Outcome {
  RunReport report;
  std::vector<T> out;
};
/// Two clusters of four blocks of 128 threads.
template <class T>
Outcome<T> run_exchange(const char* name, const std::vector<T>& in, int way, std::uint64_t seed) {
  Launch l(name, {8, 1, 1}, {128, 1, 1});
  l.out("out", 1024 * sizeof(T)).in("in", in).value(kSteps).value(way);
  RunOptions options;
  options.schedule_seed = seed;
  Outcome<T> o;
  o.report = l.run(kernels(kFile), options);
  o.out = l.read<T>("out", 1024);
  return o;
}

TEST(ClusterCpp, Histogram) {
  std::vector<int> in(1000);
  std::vector<int> want(256);
  for (std::size_t i = 0; i < in.size(); ++i) ++want[(in[i] = static_cast<int>(i * i % 977)) & 255];
  Launch l("histogram", {4, 1, 1}, {128, 1, 1});
  l.out("bins", 1024).in("in", in).value(1000);
  const RunReport r = l.run(kernels(kFile));
  ASSERT_EQ(r.verdict, Verdict::kOk) << r.detail;
  EXPECT_EQ(l.read<int>("bins", 256), want);
}

TEST(ClusterCpp, Ring) {
  std::vector<int> in(1024);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<int>(i * 7919 % 1009);
  std::vector<int> want(1024);
  for (int cluster = 0; cluster < 2; ++cluster) {
    std::vector<int> v(in.begin() + cluster * 512, in.begin() + (cluster + 1) * 512);
    for (int k = 0; k < kSteps; ++k) {
      std::rotate(v.begin(), v.end() - 128, v.end());  // to the next block
      for (int b = 0; b < 4; ++b) std::reverse(v.begin() + b * 128, v.begin() + (b + 1) * 128);
      for (int i = 0; i < 512; ++i) want[cluster * 512 + i] += v[i];
    }
  }
  for (const std::uint64_t seed : {0, 1, 2, 3}) {
    const auto o = run_exchange("ring", in, 0, seed);
    ASSERT_EQ(o.report.verdict, Verdict::kOk) << o.report.detail;
    EXPECT_EQ(o.out, want) << seed;
  }
  const auto wrong = run_exchange("ring", in, 1, 0);
  EXPECT_EQ(wrong.report.verdict, Verdict::kRace) << wrong.report.detail;
}

TEST(ClusterCpp, Halo) {
  std::vector<float> in(1024);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i * 31 % 64);
  for (const std::uint64_t seed : {0, 1, 2, 3}) {
    const auto o = run_exchange("halo", in, 0, seed);
    ASSERT_EQ(o.report.verdict, Verdict::kOk) << o.report.detail;
    for (int cluster = 0; cluster < 2; ++cluster) {
      std::vector<double> v(514);
      std::copy_n(in.begin() + cluster * 512, 512, v.begin() + 1);
      for (int k = 0; k < kSteps; ++k) {
        const std::vector<double> old = v;
        for (int i = 1; i <= 512; ++i) v[i] = 0.25 * old[i - 1] + 0.5 * old[i] + 0.25 * old[i + 1];
      }
      for (int i = 0; i < 512; ++i) ASSERT_NEAR(o.out[cluster * 512 + i], v[i + 1], 1e-3) << i;
    }
  }
  const auto fence = run_exchange("halo", in, 1, 0);
  EXPECT_NE(fence.report.detail.find("missing fence.proxy.async"), std::string::npos)
      << fence.report.detail;
  const auto wait = run_exchange("halo", in, 2, 0);
  EXPECT_EQ(wait.report.verdict, Verdict::kRace) << wait.report.detail;
}

}  // namespace
}  // namespace hone::emulator
