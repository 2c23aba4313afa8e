// Whole kernels as NVRTC makes them, against the same computation on the CPU.
#include <cmath>

#include "tests/unit/emulator/harness.h"

namespace hone::emulator {
namespace {

class Kernels : public testing::TestWithParam<const char*> {
 protected:
  std::shared_ptr<const Module> module() { return kernels(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Archs, Kernels, testing::Values("kernels_sm_80.ptx", "kernels_sm_90.ptx"),
                         [](const auto& info) { return std::string(info.param).substr(8, 5); });

std::vector<float> matmul(const std::vector<float>& a, const std::vector<float>& b, int m, int n,
                          int k) {
  std::vector<float> c(static_cast<std::size_t>(m) * n);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      float acc = 0;
      for (int x = 0; x < k; ++x) acc = std::fma(a[i * k + x], b[x * n + j], acc);
      c[i * n + j] = acc;
    }
  return c;
}

TEST_P(Kernels, MatmulNaiveAndTiledAreBitwiseRight) {
  const int m = 33, n = 65, k = 17;
  const auto a = ramp(m * k), b = ramp(k * n, 0.03f);
  for (const char* name : {"matmul_naive", "matmul_tiled"}) {
    Launch l(name, {5, 3, 1}, {16, 16, 1});
    l.in("A", a).in("B", b).out("C", m * n * 4).value(m).value(n).value(k);
    const RunReport r = l.run(module());
    ASSERT_EQ(r.verdict, Verdict::kOk) << r.detail;
    EXPECT_EQ(l.read<float>("C", m * n), matmul(a, b, m, n, k)) << name;
    EXPECT_EQ(l.memory().first_unwritten(l.address("C"), m * n * 4), -1);
    EXPECT_TRUE(l.memory().was_written(l.address("C")));
    EXPECT_FALSE(l.memory().was_written(l.address("A")));
    EXPECT_EQ(r.counters.blocks, 15u);
    EXPECT_EQ(r.counters.warps, 120u);
  }
}

TEST_P(Kernels, Reductions) {
  const int n = 1000;
  std::vector<float> x(n);
  for (int i = 0; i < n; ++i) x[i] = static_cast<float>(i % 17);
  float sum = 0;
  for (float v : x) sum += v;
  for (const char* name : {"reduce_shared", "reduce_warp", "sum_atomics"}) {
    Launch l(name, {4, 1, 1}, {256, 1, 1});
    l.shared(std::string(name) == "reduce_shared" ? 1024 : 0);
    l.in("x", x).in("out", std::vector<float>{0.f}).value(n);
    const RunReport r = l.run(module());
    ASSERT_EQ(r.verdict, Verdict::kOk) << name << ": " << r.detail;
    EXPECT_EQ(l.read<float>("out", 1)[0], sum) << name;
  }
}

TEST_P(Kernels, LoopsWithDifferentLengths) {
  Launch l("collatz", {1, 1, 1}, {64, 1, 1});
  l.out("out", 256);
  const RunReport r = l.run(module());
  ASSERT_EQ(r.verdict, Verdict::kOk) << r.detail;
  const auto got = l.read<int>("out", 64);
  for (int t = 0; t < 64; ++t) {
    int n = t + 1, steps = 0;
    while (n != 1) n = n % 2 ? 3 * n + 1 : n / 2, ++steps;
    EXPECT_EQ(got[t], steps);
  }
  EXPECT_GT(r.counters.divergent_branches, 0u);
  EXPECT_LT(r.counters.thread_instructions, 32 * r.counters.warp_instructions);
}

TEST_P(Kernels, Switches) {
  const int n = 64;
  std::vector<int> x(2 * n);
  for (int i = 0; i < n; ++i) x[i] = i * 7 - 100, x[n + i] = i % 9;
  Launch l("switches", {1, 1, 1}, {n, 1, 1});
  l.in("x", x).in("out", std::vector<int>(4 * n, -7)).value(n);
  const RunReport r = l.run(module());
  ASSERT_EQ(r.verdict, Verdict::kOk) << r.detail;
  const auto got = l.read<int>("out", 4 * n);
  for (int i = 0; i < n; ++i) {
    int v = x[i];
    switch (x[n + i]) {
      case 0:
        v *= 3;
        break;
      case 1:
        v /= 7;
        break;
      case 2:
        v ^= 0x55;
        EXPECT_EQ(got[i + 2 * n], v);
        break;
      case 3:
        v = static_cast<int>(static_cast<unsigned>(v) << 3) + 100;
        break;
      case 4:
        v += 100;
        break;
      case 5:
        v = __builtin_popcount(v);
        break;
      case 6:
        v = -7;
        break;
      default:
        v = -1;
    }
    EXPECT_EQ(got[i], v) << i;
  }
}

TEST_P(Kernels, CallsRecursionAndStructs) {
  {
    Launch l("recursion", {1, 1, 1}, {32, 1, 1});
    l.out("out", 128);
    const RunReport r = l.run(module());
    ASSERT_EQ(r.verdict, Verdict::kOk) << r.detail;
    const int fib[] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34};
    const auto got = l.read<int>("out", 32);
    for (int t = 0; t < 32; ++t) EXPECT_EQ(got[t], fib[t % 10]);
  }
  {
    struct Big {
      int a[5];
      double d;
    } b = {{1, 2, 3, 4, 5}, 0.25};
    Launch l("struct_call", {1, 1, 1}, {32, 1, 1});
    l.value(b).out("out", 256);
    const RunReport r = l.run(module());
    ASSERT_EQ(r.verdict, Verdict::kOk) << r.detail;
    const auto got = l.read<double>("out", 32);
    for (int t = 0; t < 32; ++t) {
      Big c = b;
      const int k = t % 5;
      for (int i = 0; i < 5; ++i) c.a[i] = c.a[(i + k) % 5] * 2;
      c.d *= k;
      EXPECT_EQ(got[t], c.a[0] + 10.0 * c.a[4] + c.d) << t;
    }
  }
  {
    Launch l("indirect", {1, 1, 1}, {32, 1, 1});
    l.out("out", 128);
    const RunReport r = l.run(module());
    ASSERT_EQ(r.verdict, Verdict::kOk) << r.detail;
    const auto got = l.read<int>("out", 32);
    for (int t = 0; t < 32; ++t) EXPECT_EQ(got[t], t & 1 ? t * t : 2 * t);
  }
}

TEST_P(Kernels, ModuleVariablesLastAsLongAsTheMemory) {
  Launch l("module_variables", {1, 1, 1}, {4, 1, 1});
  l.out("out", 16);
  const float weights[] = {1, 10, 100, 1000};
  for (int round = 1; round <= 2; ++round) {
    const RunReport r = l.run(module());
    ASSERT_EQ(r.verdict, Verdict::kOk) << r.detail;
    const auto got = l.read<float>("out", 4);
    for (int t = 0; t < 4; ++t) EXPECT_EQ(got[t], weights[t] + 7 + 5 * round);
  }
}

TEST_P(Kernels, LocalArrays) {
  std::vector<int> x(16);
  for (int i = 0; i < 16; ++i) x[i] = (i * 5 + 3) % 16;
  Launch l("local_array", {1, 1, 1}, {32, 1, 1});
  l.in("x", x).out("out", 128);
  const RunReport r = l.run(module());
  ASSERT_EQ(r.verdict, Verdict::kOk) << r.detail;
  const auto got = l.read<int>("out", 32);
  for (int t = 0; t < 32; ++t) {
    int s = 0;
    for (int i = 0; i < 16; ++i) s += x[x[i] & 15] * t * (i + 1);
    EXPECT_EQ(got[t], s);
  }
}

TEST_P(Kernels, MathFunctionsAreAccurate) {
  const int n = 64;
  const auto x = ramp(n, 0.11f);
  Launch l("math", {1, 1, 1}, {n, 1, 1});
  l.in("x", x).out("out", 12 * n * 4).value(n);
  const RunReport r = l.run(module());
  ASSERT_EQ(r.verdict, Verdict::kOk) << r.detail;
  const auto got = l.read<float>("out", 12 * n);
  const auto near = [&](int row, int i, double want, double tolerance) {
    EXPECT_NEAR(got[row * n + i], want, tolerance * (1e-30 + std::fabs(want)) + 1e-7)
        << "row " << row << ", x " << x[i];
  };
  for (int i = 0; i < n; ++i) {
    const double v = x[i], a = std::fabs(v);
    near(0, i, std::sin(v), 3e-7);
    near(1, i, std::exp(v), 3e-7);
    near(2, i, std::log(static_cast<double>(std::fabs(x[i]) + 0.1f)), 3e-7);
    EXPECT_EQ(got[3 * n + i], x[i] / 3.7f);
    EXPECT_EQ(got[4 * n + i], std::sqrt(std::fabs(x[i])));
    near(5, i, std::tanh(v), 5e-7);
    near(6, i, std::exp(v), 2e-6);
    near(7, i, std::erf(v), 3e-7);
    near(8, i, std::pow(a, static_cast<double>(1.7f)), 1e-6);
    near(9, i, 1 / std::sqrt(a + 1), 3e-7);
    near(10, i, std::exp(v), 1e-7);
    EXPECT_EQ(got[11 * n + i], std::fmod(x[i], 0.7f));
  }
}

// Exact small values, so that the bits follow from the format alone.
TEST_P(Kernels, Halves) {
  std::vector<std::uint16_t> a(32), b(32), p(32);
  const auto half = [](int v) {  // small non-negative integers
    if (v == 0) return std::uint16_t{0};
    int e = 31 - __builtin_clz(static_cast<unsigned>(v));
    return static_cast<std::uint16_t>(((e + 15) << 10) | ((v << (10 - e)) & 0x3FF));
  };
  const auto bf = [](float f) {
    return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(f) >> 16);
  };
  for (int i = 0; i < 32; ++i)
    a[i] = half(i), b[i] = half(i + 1), p[i] = bf(static_cast<float>(2 * i));
  Launch l("halves", {1, 1, 1}, {32, 1, 1});
  l.in("a", a).in("b", b).out("c", 128).in("p", p).out("q", 64);
  const RunReport r = l.run(module());
  ASSERT_EQ(r.verdict, Verdict::kOk) << r.detail;
  const auto c = l.read<std::uint16_t>("c", 64), q = l.read<std::uint16_t>("q", 32);
  for (int i = 0; i < 32; ++i) {
    EXPECT_EQ(c[i], half(i * (i + 1) + 2 * i + 1)) << i;
    EXPECT_EQ(c[32 + i], half(2 * i)) << i;
    EXPECT_EQ(q[i], bf(3.f * static_cast<float>(i))) << i;
  }
}

TEST_P(Kernels, CooperativeGroups) {
  Launch l("groups", {1, 1, 1}, {64, 1, 1});
  l.out("out", 256);
  const RunReport r = l.run(module());
  ASSERT_EQ(r.verdict, Verdict::kOk) << r.detail;
  const auto got = l.read<int>("out", 64);
  for (int t = 0; t < 64; ++t) EXPECT_EQ(got[t], t / 8 * 64 + 28);
}

TEST_P(Kernels, SpinLocksEnd) {
  Launch l("spin_lock", {2, 1, 1}, {64, 1, 1});
  l.in("lock", std::vector<int>{0}).in("counter", std::vector<int>{0});
  const RunReport r = l.run(module());
  ASSERT_EQ(r.verdict, Verdict::kOk) << r.detail;
  EXPECT_EQ(l.read<int>("counter", 1)[0], 128);
}

TEST(Kernel, ParametersAsDeclared) {
  const Kernel* k = kernels()->find("matmul_naive");
  ASSERT_NE(k, nullptr);
  ASSERT_EQ(k->parameters.size(), 6u);
  EXPECT_EQ(k->parameters[1].offset, 8);
  EXPECT_EQ(k->parameters[3].offset, 24);
  EXPECT_EQ(k->parameters[3].bytes, 4);
  EXPECT_EQ(k->parameter_bytes, 36);
  EXPECT_EQ(kernels()->find("matmul_tiled")->static_shared_bytes, 2048);
  EXPECT_EQ(kernels()->find("bounded")->max_threads, 64);
  EXPECT_EQ(kernels()->find("no_such"), nullptr);
}

TEST(Kernel, NotPtxIsAnError) {
  EXPECT_FALSE(Module::parse("int main() {}").has_value());
  EXPECT_FALSE(Module::parse("").has_value());
  const std::string whole = read_data("kernels_sm_90.ptx");
  EXPECT_FALSE(Module::parse(whole.substr(0, whole.find("bar.sync"))).has_value());
}

}  // namespace
}  // namespace hone::emulator
