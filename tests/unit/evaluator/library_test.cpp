// cuBLAS calls against a driver and a library without a GPU (tests/fakes): row-major products as
// column-major ones, and the way of a library call through the measure runner and its sandbox.
#include <gtest/gtest.h>

#include <cstdlib>

#include "evaluator/device/cuda/library_matmul.h"
#include "evaluator/library_bench.h"
#include "evaluator/protocol/library_messages.h"
#include "evaluator/timing/statistics.h"

namespace hone {
namespace {

void use_fakes() {
  setenv("HONE_LIBCUDA", HONE_BIN_DIR "/../fakes/libcuda.so.1", 1);
  setenv("HONE_LIBCUBLAS", HONE_BIN_DIR "/../fakes/libcublas.so.13", 1);
}

ConcreteBuffer buffer(const char* name, std::vector<std::int64_t> shape, Role role = Role::kIn) {
  return {name, ScalarType::kF32, std::move(shape), role, {}};
}

struct Shape {
  const char* name;
  MatmulCall call;
};
void PrintTo(const Shape& shape, std::ostream* out) { *out << shape.name; }

MatmulCall call(std::int64_t m, std::int64_t n, std::int64_t k, bool ta = false, bool tb = false) {
  MatmulCall c;
  c.b = 1;
  c.out = 2;
  c.m = m;
  c.n = n;
  c.k = k;
  c.a_transposed = ta;
  c.b_transposed = tb;
  return c;
}
MatmulCall batched(MatmulCall c, std::int64_t batch, bool same_b = false) {
  c.batch = batch;
  c.a_stride = c.m * c.k;
  c.b_stride = same_b ? 0 : c.k * c.n;
  return c;
}

class LibraryShapes : public testing::TestWithParam<Shape> {};

TEST_P(LibraryShapes, ComputeTheRowMajorProduct) {
  use_fakes();
  static auto gpu = cuda::Gpu::open(0);
  ASSERT_TRUE(gpu) << gpu.error().message;
  ASSERT_NE((*gpu)->driver().path.find("fakes"), std::string::npos);
  static const auto ready = (*gpu)->setup(
      "\x7f"
      "ELF");
  ASSERT_TRUE(ready);
  const auto text = cuda::open_libraries(**gpu);
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(*text, "cuBLAS 13.1.0");
  for (const Library library : {Library::kCublas, Library::kCublasLt}) {
    MatmulCall c = GetParam().call;
    c.library = library;
    const std::vector<ConcreteBuffer> buffers = {buffer("A", {c.batch, c.m, c.k}),
                                                 buffer("B", {c.batch, c.k, c.n}),
                                                 buffer("C", {c.batch, c.m, c.n}, Role::kOut)};
    std::vector<std::vector<float>> data;
    std::vector<std::uint64_t> addresses;
    for (const auto& b : buffers) {
      data.emplace_back(static_cast<std::size_t>(b.elements()));
      for (std::size_t i = 0; i < data.back().size(); ++i)
        data.back()[i] = static_cast<float>((i * 7 + data.size()) % 11) - 5;
    }
    for (auto& d : data) addresses.push_back(reinterpret_cast<std::uint64_t>(d.data()));
    auto matmul = cuda::LibraryMatmul::load(**gpu, c, buffers);
    ASSERT_TRUE(matmul) << matmul.error().detail;
    (*matmul)->bind(addresses);
    const auto launched = (*matmul)->launch();
    ASSERT_TRUE(launched) << launched.error().detail;
    for (std::int64_t z = 0; z < c.batch; ++z) {
      const float *a = data[0].data() + z * c.a_stride, *b = data[1].data() + z * c.b_stride;
      for (std::int64_t i = 0; i < c.m; ++i) {
        for (std::int64_t j = 0; j < c.n; ++j) {
          float want = 0;
          for (std::int64_t l = 0; l < c.k; ++l) {
            want += (c.a_transposed ? a[l * c.m + i] : a[i * c.k + l]) *
                    (c.b_transposed ? b[j * c.k + l] : b[l * c.n + j]);
          }
          ASSERT_EQ(data[2][static_cast<std::size_t>((z * c.m + i) * c.n + j)], want)
              << z << " " << i << " " << j;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, LibraryShapes,
    testing::Values(Shape{"plain", call(3, 5, 7)},
                    Shape{"b_transposed", call(3, 5, 7, false, true)},
                    Shape{"a_transposed", call(3, 5, 7, true)},
                    Shape{"both_transposed", call(3, 5, 7, true, true)},
                    Shape{"matrix_vector", call(6, 1, 4)},
                    Shape{"transposed_matrix_vector", call(6, 1, 4, true)},
                    Shape{"vector_matrix", call(1, 6, 4)},
                    Shape{"vector_transposed_matrix", call(1, 6, 4, false, true)},
                    Shape{"dot", call(1, 1, 9)}, Shape{"batched", batched(call(3, 5, 7), 4)},
                    Shape{"batched_transposed", batched(call(3, 5, 7, true, true), 4)},
                    Shape{"one_b_for_all", batched(call(3, 5, 7), 4, true)}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(LibraryMessages, TravelAndStayInsideTheirBuffers) {
  ConcreteProgram program;
  program.buffers = {buffer("A", {2, 3, 7}), buffer("B", {2, 7, 5}),
                     buffer("C", {2, 3, 5}, Role::kOut)};
  const MatmulCall good = batched(call(3, 5, 7, true, true), 2);
  const auto again = protocol::matmul_call_from(protocol::to_message(good), program);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, good);
  const auto refused = [&](auto change) {
    MatmulCall bad = good;
    change(bad);
    EXPECT_FALSE(protocol::matmul_call_from(protocol::to_message(bad), program));
  };
  refused([](MatmulCall& c) { c.a = 3; });
  refused([](MatmulCall& c) { c.out = -1; });
  refused([](MatmulCall& c) { c.m = 0; });
  refused([](MatmulCall& c) { c.k = 8; });
  refused([](MatmulCall& c) { c.batch = 3; });
  refused([](MatmulCall& c) { c.b_stride = 36; });
  refused([](MatmulCall& c) { c.a_stride = -1; });
  refused([](MatmulCall& c) { c.m = c.n = std::int64_t{1} << 40; });
}

/// y = x * (2), a product of n x 1 by 1 x 1: what the fake's kernels compute.
LibraryCase doubling(const std::string& kernel, std::int64_t n) {
  LibraryCase one;
  ConcreteProgram& p = one.reference;
  p.source = "extern \"C\" __global__ void " + kernel + R"((const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2.0f * x[i];
})";
  p.buffers = {buffer("x", {n, 1}), buffer("two", {1, 1}), buffer("y", {n, 1}, Role::kOut)};
  p.buffers[1].fill = {Fill::Kind::kConstant, 2, 0, ""};
  p.launches = {
      {kernel, {(n + 255) / 256, 1, 1}, {256, 1, 1}, 0, {BufferIndex{0}, BufferIndex{2}, n}}};
  one.call = call(n, 1, 1);
  one.seed = static_cast<std::uint64_t>(n);
  return one;
}

class LibraryOnAFakeGpu : public testing::Test {
 protected:
  void SetUp() override {
    use_fakes();
    auto opened = LibraryBench::open(0, {.final_timing_s = 60});
    ASSERT_TRUE(opened) << opened.error().message;
    bench_ = std::move(*opened);
  }
  Evaluation measure(const std::string& reference, Library library) {
    LibraryRequest request;
    request.checks = {doubling(reference, 1000)};
    request.timed = doubling(reference, 200000);
    request.timed.call.library = request.checks[0].call.library = library;
    auto result = bench_->measure(request);
    EXPECT_TRUE(result) << result.error().message;
    return result ? *result : Evaluation{};
  }
  std::unique_ptr<LibraryBench> bench_;
};

TEST_F(LibraryOnAFakeGpu, IsCheckedAndTimedAsAFinalistIs) {
  EXPECT_EQ(bench_->device_name(), "Fake GPU");
  EXPECT_EQ(bench_->versions(), "cuBLAS 13.1.0, driver 13.0");
  for (const Library library : {Library::kCublas, Library::kCublasLt}) {
    const Evaluation e = measure("scale", library);
    ASSERT_EQ(e.verdict, Verdict::kOk) << e.detail;
    EXPECT_NEAR(e.measurement.time_us, 1000, 0.1);
    EXPECT_NEAR(e.measurement.reference_time_us, 100, 0.1);
    EXPECT_EQ(e.measurement.samples_us.size(), 20U);
    EXPECT_EQ(e.max_rel_error, 0);
  }
}

TEST_F(LibraryOnAFakeGpu, ALibraryThatComputesSomethingElseIsAVerdict) {
  const Evaluation e = measure("scale_wrong", Library::kCublas);
  EXPECT_EQ(e.verdict, Verdict::kWrongResult) << e.detail;
  EXPECT_NE(e.detail.find("y[199999]"), std::string::npos) << e.detail;
}

TEST_F(LibraryOnAFakeGpu, AReferenceThatDoesNotCompileIsTheTasksError) {
  LibraryRequest request;
  request.timed = doubling("scale", 200000);
  request.timed.reference.source += "oops";
  const auto result = bench_->measure(request);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kTaskFailed);
}

TEST(LibraryMissing, IsOneClearError) {
  use_fakes();
  setenv("HONE_LIBCUBLAS", "/nowhere/libcublas.so.13", 1);
  const auto opened = LibraryBench::open(0, {});
  use_fakes();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::kEnvironment);
  EXPECT_NE(opened.error().message.find("HONE_LIBCUBLAS="), std::string::npos)
      << opened.error().message;
}

TEST(MedianInterval, HoldsTheMedianAndIsOrdered) {
  std::vector<double> samples;
  for (int i = 30; i > 0; --i) samples.push_back(i);
  const auto interval = timing::median_interval(samples);
  EXPECT_EQ(interval.low, 9);  // ranks 9 and 22 of 30
  EXPECT_EQ(interval.high, 22);
  EXPECT_EQ(timing::median_interval({5, 4, 6}).low, 4);
  EXPECT_EQ(timing::median_interval({5, 4, 6}).high, 6);
  EXPECT_EQ(timing::median_interval({}).high, 0);
}

}  // namespace
}  // namespace hone
