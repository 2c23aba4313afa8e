// Parts of programs at sizes that are too large to run in full: which blocks write a byte, what is
// compared, how blocks that count or wait are sampled.
#include "evaluator/runner/partial_run.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "evaluator/check/judge.h"
#include "evaluator/compile/compile.h"
#include "evaluator/runner/compare_timed.h"
#include "evaluator/runner/sample_launches.h"

namespace hone::runner {
namespace {

using Made = PartialRun::Made;

struct Built {
  protocol::Runnable runnable;
  std::shared_ptr<const emulator::Module> module;
};

struct OneLaunch {
  std::string kernel;
  std::array<std::int64_t, 3> grid, block;
};

/// Every kernel has the buffers as its arguments, in order.
Built build(const std::string& source, std::vector<ConcreteBuffer> buffers,
            const std::vector<OneLaunch>& launches) {
  Built built;
  CompileJob job{.source = source, .kernels = {}, .arch = "sm_90"};
  ConcreteProgram& program = built.runnable.program;
  program.source = source;
  program.buffers = std::move(buffers);
  for (const OneLaunch& one : launches) {
    job.kernels.push_back(one.kernel);
    ConcreteLaunch launch;
    launch.kernel = one.kernel;
    std::ranges::copy(one.grid, launch.grid.begin());
    std::ranges::copy(one.block, launch.block.begin());
    for (std::size_t i = 0; i < program.buffers.size(); ++i)
      launch.args.emplace_back(BufferIndex{static_cast<int>(i)});
    program.launches.push_back(std::move(launch));
  }
  built.runnable.compiled = compile::compile_program(job);
  EXPECT_EQ(built.runnable.compiled.verdict, Verdict::kOk) << built.runnable.compiled.log;
  built.runnable.key = source;
  if (auto module = emulator::Module::parse(built.runnable.compiled.ptx)) built.module = *module;
  return built;
}

std::unique_ptr<PartialRun> load(const Built& built, double units = 1e8) {
  auto run =
      PartialRun::load(built.runnable, *built.module, 7, units, std::make_shared<SharedInputs>());
  EXPECT_TRUE(run.has_value());
  return std::move(*run);
}

std::vector<ConcreteBuffer> in_and_out(std::int64_t in, std::int64_t out) {
  return {{"x", ScalarType::kF32, {in}, Role::kIn, {Fill::Kind::kUniform, 0.5, 1}},
          {"y", ScalarType::kF32, {out}, Role::kOut, {}}};
}

float at(const PartialRun& run, int buffer, std::uint64_t offset) {
  float value = 0;
  run.program().read(buffer, offset, {reinterpret_cast<std::uint8_t*>(&value), sizeof value});
  return value;
}

constexpr const char* kOverlapping = R"(
__global__ void zero(const float* x, float* y) { y[blockIdx.x * 64 + threadIdx.x] = 0; }
__global__ void add(const float* x, float* y) {
  atomicAdd(&y[blockIdx.x * 32 + threadIdx.x], x[blockIdx.x * 128 + threadIdx.x]);
})";

TEST(PartialRun, AddsWhatAllNeighboursAdd) {
  const Built built =
      build(kOverlapping, in_and_out(1000 * 128, 33024),
            {{"zero", {516, 1, 1}, {64, 1, 1}}, {"add", {1000, 1, 1}, {128, 1, 1}}});
  const auto part = load(built), whole = load(built);
  ASSERT_TRUE(whole->run_whole(100'000'000));
  for (const std::uint64_t element : {500 * 32 + 7, 31 * 32, 700 * 32 + 31}) {
    ASSERT_EQ(part->make(1, element * 4), Made::kMade) << part->why();
    EXPECT_FLOAT_EQ(at(*part, 1, element * 4), at(*whole, 1, element * 4)) << element;
  }
  for (const auto& range : part->made(1)) EXPECT_LE(range.end - range.begin, 32U * 4);
}

TEST(PartialRun, DoesNotAddToWhatNobodyWrote) {
  const Built built =
      build(kOverlapping, in_and_out(1000 * 128, 33024), {{"add", {1000, 1, 1}, {128, 1, 1}}});
  const auto run = load(built);
  EXPECT_EQ(run->make(1, 500 * 128), Made::kFailed);
  EXPECT_NE(run->why().find("uninitialised"), std::string::npos) << run->why();
  EXPECT_EQ(run->verdict(), Verdict::kOk) << "who writes it may only not have been found";
}

TEST(PartialRun, FindsBlocksThatGoDown) {
  const Built built = build(R"(
__global__ void k(const float* x, float* y) {
  int i = (gridDim.x - 1 - blockIdx.x) * 64 + threadIdx.x;
  y[i] = x[i];
})",
                            in_and_out(64000, 64000), {{"k", {1000, 1, 1}, {64, 1, 1}}});
  const auto run = load(built);
  for (std::uint64_t element = 13; element < 64000; element += 4441)
    EXPECT_EQ(run->make(1, element * 4), Made::kMade) << element;
}

// x counts the row of a tile of 12 rows and then the column; the last tile has rows outside.
TEST(PartialRun, FindsBlocksWhoseNumbersHaveDigits) {
  const Built built = build(R"(
__global__ void k(const float* x, float* y) {
  int row = blockIdx.y * 12 + blockIdx.x % 12, column = blockIdx.x / 12 * 32 + threadIdx.x;
  if (row < 100) y[(blockIdx.z * 100 + row) * 320 + column] = x[row * 320 + column];
})",
                            in_and_out(32000, 96000), {{"k", {120, 9, 3}, {32, 1, 1}}});
  const auto run = load(built);
  for (std::uint64_t element = 13; element < 96000; element += 2477)
    EXPECT_EQ(run->make(1, element * 4), Made::kMade) << element;
  EXPECT_LT(run->blocks_run(), 200U) << "of 3240";
}

/// Tiles of 8 x 8 in a row of 512, whose last rows nobody writes.
constexpr const char* kTiles = R"(
__global__ void all(const float* x, float* y) {
  int i = (blockIdx.y * 8 + threadIdx.y) * 512 + blockIdx.x * 8 + threadIdx.x;
  y[i] = 2 * x[i];
}
__global__ void most(const float* x, float* y) {
  int i = (blockIdx.y * 8 + threadIdx.y) * 512 + blockIdx.x * 8 + threadIdx.x;
  if (threadIdx.y < 6) y[i] = 2 * x[i];
}
__global__ void wrong(const float* x, float* y) {
  int i = (blockIdx.y * 8 + threadIdx.y) * 512 + blockIdx.x * 8 + threadIdx.x;
  y[i] = blockIdx.x % 4 == 1 ? x[i] : 2 * x[i];
}
__device__ float rounded(float v, int dropped) {
  return __uint_as_float((__float_as_uint(v) + (1u << (dropped - 1))) >> dropped << dropped);
}
__global__ void tf32(const float* x, float* y) {
  int i = (blockIdx.y * 8 + threadIdx.y) * 512 + blockIdx.x * 8 + threadIdx.x;
  y[i] = 2 * rounded(x[i], 13);
}
__device__ int ready;
__global__ void waiting_tf32(const float* x, float* y) {
  int i = (blockIdx.y * 8 + threadIdx.y) * 512 + blockIdx.x * 8 + threadIdx.x;
  if (blockIdx.x == 0 && blockIdx.y == 0) atomicExch(&ready, 1);
  while (atomicAdd(&ready, 0) == 0) {
  }
  y[i] = 2 * rounded(x[i], 13);
}
__global__ void bf16(const float* x, float* y) {
  int i = (blockIdx.y * 8 + threadIdx.y) * 512 + blockIdx.x * 8 + threadIdx.x;
  y[i] = 2 * rounded(x[i], 16);
}
__global__ void in_double(const double* x, double* y) {
  int i = (blockIdx.y * 8 + threadIdx.y) * 512 + blockIdx.x * 8 + threadIdx.x;
  y[i] = 2 * x[i];
})";

Built tiles(const std::string& kernel) {
  return build(kTiles, in_and_out(512 * 512, 512 * 512), {{kernel, {64, 64, 1}, {8, 8, 1}}});
}

TEST(PartialRun, KnowsAHoleFromAPlaceThatItCannotFind) {
  const Built built = tiles("most");
  const auto run = load(built);
  const std::uint64_t hole = (8 * 20 + 7) * 512 + 100, none = (8 * 20 + 5) * 512 + 100;
  EXPECT_EQ(run->make(1, hole * 4), Made::kNotFound);
  EXPECT_TRUE(run->is_hole(1, hole * 4));
  EXPECT_FALSE(run->is_hole(1, none * 4));
  EXPECT_EQ(run->make(1, none * 4), Made::kMade);
}

TimedComparison compared(const std::string& kernel) {
  const Built reference = tiles("all"), candidate = tiles(kernel);
  const protocol::Case one{.reference = reference.runnable,
                           .candidate = candidate.runnable,
                           .precise = std::nullopt,
                           .seed = 7};
  return compare_timed(one, {*reference.module, *candidate.module},
                       {.tolerance = {1e-4, 1e-5}, .places = 11});
}

TEST(CompareTimed, WantsWhatTheReferenceWrites) {
  const auto right = compared("all"), holes = compared("most"), wrong = compared("wrong");
  EXPECT_EQ(right.verdict, Verdict::kOk) << right.detail;
  EXPECT_GE(right.blocks, 40);
  EXPECT_EQ(right.not_compared, "");
  EXPECT_EQ(holes.verdict, Verdict::kWrongResult);
  EXPECT_NE(holes.detail.find("was not written"), std::string::npos) << holes.detail;
  EXPECT_EQ(wrong.verdict, Verdict::kWrongResult);
}

TEST(CompareTimed, MayBeOffAsTf32IsWhereTheLevelIsThat) {
  Built precise = tiles("in_double");
  for (ConcreteBuffer& buffer : precise.runnable.program.buffers) {
    buffer.type = ScalarType::kF64;
    buffer.fill.through = ScalarType::kF32;
  }
  const auto verdict = [&](const std::string& kernel, MathLevel level, bool in_double) {
    const Built reference = tiles("all"), candidate = tiles(kernel);
    protocol::Case one{.reference = reference.runnable, .candidate = candidate.runnable, .seed = 7};
    if (in_double) one.precise = precise.runnable;
    return compare_timed(
               one,
               {*reference.module, *candidate.module, in_double ? precise.module.get() : nullptr},
               {.tolerance = {1e-5, 0}, .math = level, .places = 11, .candidate_units = 3e6})
        .verdict;
  };
  for (const bool in_double : {true, false}) {
    EXPECT_EQ(verdict("all", MathLevel::kTf32, in_double), Verdict::kOk);
    EXPECT_EQ(verdict("tf32", MathLevel::kTf32, in_double), Verdict::kOk);
    // Blocks that wait for others: the candidate runs in full, and has made more than was drawn.
    EXPECT_EQ(verdict("waiting_tf32", MathLevel::kTf32, in_double), Verdict::kOk);
    EXPECT_EQ(verdict("bf16", MathLevel::kTf32, in_double), Verdict::kWrongResult);
    EXPECT_EQ(verdict("tf32", MathLevel::kTf32x3, in_double), Verdict::kWrongResult);
    EXPECT_EQ(verdict("tf32", MathLevel::kReduced, in_double), Verdict::kWrongResult);
  }
}

constexpr const char* kLongBlocks = R"(
__global__ void sums(const float* x, float* y) {
  float sum = 0;
  for (int i = 0; i < 20000; ++i) sum += x[(i * 64 + threadIdx.x) % 4096];
  y[blockIdx.x * 64 + threadIdx.x] = sum;
})";

TEST(CompareTimed, SpendsLittleOnWhatRulesMade) {
  const Built built =
      build(kLongBlocks, in_and_out(4096, 4096 * 64), {{"sums", {4096, 1, 1}, {64, 1, 1}}});
  const protocol::Case same{.reference = built.runnable, .candidate = built.runnable, .seed = 3};
  const TimedModules modules{*built.module, *built.module};
  const auto of_rules =
      compare_timed(same, modules, {.tolerance = {}, .places = 1, .by_rules = true});
  const auto of_others = compare_timed(same, modules, {.tolerance = {}, .places = 1});
  EXPECT_EQ(of_rules.verdict, Verdict::kOk) << of_rules.detail;
  EXPECT_EQ(of_others.verdict, Verdict::kOk) << of_others.detail;
  EXPECT_GE(of_rules.blocks, 2);
  EXPECT_GE(of_others.blocks, 16);
  EXPECT_LT(2 * of_rules.units, of_others.units);
  EXPECT_LT(of_rules.units, 40e6);
}

TEST(CompareTimed, RunsNoProgramInFullOfWhichABlockTakesTooLong) {
  const Built built =
      build(kLongBlocks, in_and_out(4096, 4096 * 64), {{"sums", {4096, 1, 1}, {64, 1, 1}}});
  const auto run = load(built, 1000);
  EXPECT_EQ(run->make(1, 0), Made::kFailed);
  EXPECT_TRUE(run->is_too_long());
}

TEST(BlockGroups, AreNeighboursOrEquallyFarApart) {
  using List = std::vector<std::uint64_t>;
  const BlockGroups neighbours(
      {96, 2, 1}, [](std::uint64_t block) { return List{block / 96 * 100 + block % 96 / 12}; });
  EXPECT_EQ(neighbours.size(), 12U);
  EXPECT_EQ(neighbours.extents(), (BlockGroups::Grid{8, 2, 1}));
  EXPECT_EQ(neighbours.members(9).front(), 96U + 12);
  EXPECT_EQ(neighbours.members(9).back(), 96U + 23);
  const BlockGroups along_z({4, 4, 16}, [](std::uint64_t block) { return List{block % 16}; });
  EXPECT_EQ(along_z.extents(), (BlockGroups::Grid{4, 4, 1}));
  EXPECT_EQ(along_z.members(5)[1], 16U + 5);
  const BlockGroups apart({96, 1, 1}, [](std::uint64_t block) { return List{block % 12}; });
  EXPECT_EQ(apart.members(3), (List{3, 15, 27, 39, 51, 63, 75, 87}));
  const BlockGroups none({96, 1, 1}, [](std::uint64_t) { return List{}; });
  EXPECT_EQ(none.size(), 1U);
}

ProgramSample sampled(const Built& built) {
  return sample_launches(built.runnable, 7, *built.module, *emulator::find_profile("sm_90"),
                         candidate_sample(true));
}

TEST(Sample, RunsBlocksThatCountTogether) {
  for (const char* which : {"blockIdx.x / 8", "blockIdx.x % (gridDim.x / 8)"}) {
    const std::string tile = which;
    const Built built = build(
        "__device__ unsigned ended[4096];\n"
        "__global__ void k(const float* x, float* y) {\n"
        "  __shared__ bool last;\n"
        "  for (int i = 0; i < 400; ++i) if (x[i] < 0) y[i] = 0;\n"
        "  int tile = " +
            tile +
            ";\n"
            "  if (threadIdx.x == 0) last = atomicInc(&ended[tile], 7) == 7;\n"
            "  __syncthreads();\n"
            "  if (last) y[tile * 64 + threadIdx.x] = x[tile];\n}\n",
        in_and_out(4096, 4096 * 64), {{"k", {4096 * 8, 1, 1}, {64, 1, 1}}});
    const auto sample = sampled(built);
    ASSERT_EQ(sample.verdict, Verdict::kOk) << sample.detail;
    EXPECT_NEAR(sample.written.at("y"), 1, 0.01) << tile;
    EXPECT_LT(sample.launches.front().counters.blocks, 4096U);
  }
}

TEST(Sample, RunsTheFirstBlocksOfAChain) {
  const Built built = build(R"(
__device__ int said[65536];
__global__ void k(const float* x, float* y) {
  if (threadIdx.x == 0) {
    int before = 1;
    if (blockIdx.x > 0)
      while ((before = *(volatile int*)&said[blockIdx.x - 1]) == 0) {}
    __threadfence();
    *(volatile int*)&said[blockIdx.x] = before + 1;
  }
  __syncthreads();
  y[blockIdx.x * 64 + threadIdx.x] = x[blockIdx.x];
})",
                            in_and_out(65536, 65536 * 64), {{"k", {65536, 1, 1}, {64, 1, 1}}});
  const auto sample = sampled(built);
  ASSERT_EQ(sample.verdict, Verdict::kOk) << sample.detail;
  EXPECT_NEAR(sample.written.at("y"), 1, 0.01);
}

TEST(Sample, HoldsAsManyOfAKindAsTheGrid) {
  // A tenth of the blocks, all at the end of the grid, take ten times as long.
  const Built built = build(R"(
__global__ void k(const float* x, float* y) {
  int times = blockIdx.x >= 58982 ? 60000 : 6000;
  float sum = 0;
  for (int i = 0; i < times; ++i) sum = sum * 0.5f + x[(i & 255) * 64 + threadIdx.x];
  y[blockIdx.x * 64 + threadIdx.x] = sum;
})",
                            in_and_out(65536, 65536 * 64), {{"k", {65536, 1, 1}, {64, 1, 1}}});
  const auto each = [&](SampleOptions options) {
    const auto sample = sample_launches(built.runnable, 7, *built.module,
                                        *emulator::find_profile("sm_90"), options);
    EXPECT_EQ(sample.verdict, Verdict::kOk) << sample.detail;
    const emulator::Counters& c = sample.launches.front().counters;
    EXPECT_GE(c.blocks, 4U);
    EXPECT_LT(c.blocks, 65536U);
    return std::pair(static_cast<double>(c.warp_instructions) / static_cast<double>(c.blocks),
                     sampling_error(c));
  };
  SampleOptions options = candidate_sample(true);
  options.seed = 1;
  const double thorough = each(options).first;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    options = candidate_sample(false);
    options.seed = seed;
    const auto [quick, error] = each(options);
    EXPECT_NEAR(quick / thorough, 1, 2 * error + 0.03) << seed;
    EXPECT_LT(error, 0.4) << seed;
  }
}

TEST(Sample, SaysHowFarOffItMayBe) {
  emulator::Counters c;
  c.blocks = 100;
  c.blocks_total = 10000;
  c.warp_instructions = 100 * 1000;
  EXPECT_EQ(sampling_error(c), 0);
  c.runs = 27;
  c.run_bends = 25;
  c.run_bends_squared = 25ULL * 6 * 200 * 200;  // a deviation of 200 each
  EXPECT_NEAR(sampling_error(c), 200 * std::sqrt(0.99 / 27) / 1000, 1e-9);
  c.mixed_bends = 25;  // not asked
  c.mixed_runs = 27;
  c.unlike_grid = 60;
  EXPECT_NEAR(sampling_error(c), std::hypot(0.06, 0.2 * std::sqrt(0.99 / 27)), 1e-9);
  c.blocks_total = 100;
  EXPECT_EQ(sampling_error(c), 0) << "all ran";
}

TEST(Judge, SaysWhereInTheBufferAnElementIs) {
  const std::vector<float> want(512, 1), got = [&] {
    std::vector<float> v = want;
    v[300] = 2;
    return v;
  }();
  std::vector<std::int64_t> places(512);
  std::iota(places.begin(), places.end(), 10'000);
  const auto bytes = [](const std::vector<float>& v) {
    return std::span(reinterpret_cast<const std::uint8_t*>(v.data()), v.size() * 4);
  };
  const auto judged = check::judge({.want = {bytes(want), ScalarType::kF32},
                                    .got = {bytes(got), ScalarType::kF32},
                                    .width = 256,
                                    .tolerance = {1e-4, 1e-5},
                                    .truth = [] { return check::Elements{}; },
                                    .places = places},
                                   "y");
  ASSERT_TRUE(judged);
  EXPECT_FALSE(judged->ok());
  EXPECT_EQ(judged->comparison.first_mismatch, 10'300);
}

}  // namespace
}  // namespace hone::runner
