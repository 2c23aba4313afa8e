// generate-attention against references of many styles: both run on the emulator.
#include "rewriters/schedules/attention/attention.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "candidates/task_reader.h"
#include "rewriters/schedules/rewriter.h"
#include "tests/lift/harness.h"
#include "tests/unit/rewriters/plain_text.h"

namespace hone::schedules {
namespace {

/// A reference of three launches, put together from text.
struct Reference {
  std::string type = "f32";
  int heads = 2, groups = 1, queries = 64, keys = 64, depth = 16, columns = 16;
  /// Where elements lie; h: head, of keys and values h / groups.
  std::string query_at = "(h * Q + q) * D + d", key_at = "(h / G * K + k) * D + d";
  std::string value_at = "(h / G * K + k) * E + e", out_at = "(h * Q + q) * E + e";
  std::string product = "x * y";        ///< of an element of a query and of a key
  std::string logit = "score * 0.25f";  ///< of score, q, k, h, bias
  std::string begin = "-INFINITY";      ///< where the maximum starts
  std::string last = "K";               ///< keys before it are looked at
  std::string weight = "expf(s - top)";
  std::string whole = "weight / sum";  ///< what of a weight is kept
  std::string term = "p * v", result = "out";
  std::string bias = "bias";  ///< what its buffer is called
  int room = 1;               ///< of the inputs, times what their elements take
  bool packed = false;        ///< keys and values are in A, too

  [[nodiscard]] Task task(MathLevel math) const {
    const std::string element = type == "f16"    ? "__half"
                                : type == "bf16" ? "__nv_bfloat16"
                                                 : "float";
    const std::string read = type == "f16"    ? "__half2float"
                             : type == "bf16" ? "__bfloat162float"
                                              : "";
    const std::string write = type == "f16"    ? "__float2half"
                              : type == "bf16" ? "__float2bfloat16"
                                               : "";
    const auto buffer = [&](const char* name, const std::string& of, std::int64_t size,
                            const std::string& rest) {
      return fmt::format(R"({{"name": "{}", "type": "{}", "shape": [{}], {}}})", name, of, size,
                         rest);
    };
    const std::string in = R"("fill": {"uniform": [-1, 1]})";
    const std::int64_t q = std::int64_t{heads} * queries, k = std::int64_t{heads} / groups * keys;
    std::string text =
        "/* hone { \"name\": \"t\", \"sizes\": {\"Q\": 1}, \"check_sizes\": [{\"Q\": 1}], "
        "\"buffers\": [";
    text +=
        buffer("A", type, q * depth * room, in) + ", " +
        (packed ? ""
                : buffer("B", type, k * depth * room, in) + ", " +
                      buffer("C", type, k * columns * room, in) + ", ") +
        buffer(bias.c_str(), "f32", std::int64_t{queries} * keys, in) + ", " +
        buffer("length", "i32", heads, fmt::format(R"("fill": {{"integers": [1, {}]}})", keys)) +
        ", " + buffer("S", "f32", q * keys, "\"role\": \"scratch\"") + ", " +
        buffer("P", "f32", q * keys, "\"role\": \"scratch\"") + ", " +
        buffer("O", type, q * columns, "\"role\": \"out\"");
    text += fmt::format(R"(], "launches": [
      {{"kernel": "scores", "grid": [{}, {}, {}], "block": [16, 8], "args": ["A", "{}", "{}", "length", "S"]}},
      {{"kernel": "weights", "grid": [{}], "block": [32], "args": ["S", "P"]}},
      {{"kernel": "mix", "grid": [{}, {}, {}], "block": [16, 8], "args": ["P", "{}", "O"]}} ],
      "tolerance": {{"rtol": 1e-4, "atol": 1e-5}}, "math": "{}" }} */
#include <cuda_fp16.h>
#include <cuda_bf16.h>
)",
                        (keys + 15) / 16, (queries + 7) / 8, heads, packed ? "A" : "B", bias,
                        (q + 31) / 32, (columns + 15) / 16, (queries + 7) / 8, heads,
                        packed ? "A" : "C", to_string(math));
    text += fmt::format("constexpr int H = {}, G = {}, Q = {}, K = {}, D = {}, E = {};\n", heads,
                        groups, queries, keys, depth, columns);
    text += fmt::format(R"(
__global__ void scores(const {0}* A, const {0}* B, const float* bias, const int* length, float* S) {{
  int k = blockIdx.x * 16 + threadIdx.x, q = blockIdx.y * 8 + threadIdx.y, h = blockIdx.z;
  if (q >= Q || k >= K) return;
  float score = 0.0f;
  for (int d = 0; d < D; d++) {{
    float x = {1}(A[{2}]), y = {1}(B[{3}]);
    score += {4};
  }}
  S[(h * Q + q) * K + k] = {5};
}}
)",
                        element, read, query_at, key_at, product, logit);
    text += fmt::format(R"(
__global__ void weights(const float* S, float* P) {{
  int row = blockIdx.x * 32 + threadIdx.x;
  if (row >= H * Q) return;
  int q = row % Q;
  float top = {0}, sum = 0.0f;
  for (int k = 0; k < {1}; k++) top = fmaxf(top, S[row * K + k]);
  for (int k = 0; k < {1}; k++) {{
    float s = S[row * K + k];
    sum += {2};
  }}
  for (int k = 0; k < K; k++) {{
    float s = S[row * K + k], weight = {2};
    P[row * K + k] = k < {1} ? {3} : 0.0f;
  }}
}}
)",
                        begin, last, weight, whole);
    text += fmt::format(R"(
__global__ void mix(const float* P, const {0}* C, {0}* O) {{
  int e = blockIdx.x * 16 + threadIdx.x, q = blockIdx.y * 8 + threadIdx.y, h = blockIdx.z;
  if (q >= Q || e >= E) return;
  float out = 0.0f;
  for (int k = 0; k < {5}; k++) {{
    float p = P[(h * Q + q) * K + k], v = {1}(C[{2}]);
    out += {3};
  }}
  O[{4}] = {6}({7});
}}
)",
                        element, read, value_at, term, out_at, last, write, result);
    auto task = parse_task(text, "t.cu");
    EXPECT_TRUE(task.has_value()) << (task ? "" : task.error().message) << text;
    return task ? *task : Task{};
  }
};

using Choice = std::map<std::string, ParameterValue>;
const std::unique_ptr<Generator> kAttention = make_attention();

Choice at(const std::string& pipe, std::int64_t rows, std::int64_t keys, std::int64_t stages = 2) {
  return {{"pipe", pipe}, {"rows", rows}, {"keys", keys}, {"stages", stages}};
}

/// What a reference gives, once for all points of the space.
const lift_tests::Emulated& emulated(const Task& task) {
  static std::map<std::string, lift_tests::Emulated> known;
  const auto [place, is_new] = known.try_emplace(task.reference.source);
  if (is_new) place->second = lift_tests::emulate(task.reference, task.sizes);
  return place->second;
}

/// Errors relative to the largest output.
void expect_right(const Reference& reference, const Choice& choice, double tolerance = 2e-5,
                  const std::string& arch = "sm_90", int multiprocessors = 0,
                  std::string* source = nullptr) {
  const Task task = reference.task(MathLevel::kReduced);
  RewriteContext context{&task, task.sizes, target_limits(arch)};
  if (multiprocessors != 0) context.target.sm_count = multiprocessors;
  const auto rewriter = make_rewriter(*kAttention);
  Step step;
  step.rewriter = "generate-attention";
  step.site = "O";
  step.params = choice;
  const auto made = rewriter->apply(task.reference, step, context);
  if (!made) {
    const auto why = explained(task.reference, context);
    FAIL() << made.error().message << "\n" << (why ? why->sites : "");
  }
  ASSERT_EQ(made->launches.size(), 1U);
  SCOPED_TRACE(made->source);
  if (source != nullptr) *source = made->source;
  if (std::getenv("SHOW_SOURCE") != nullptr) std::puts(made->source.c_str());
  expect_plain(made->source);
  const lift_tests::Emulated& want = emulated(task);
  ASSERT_EQ(want.failure, "");
  const auto got = lift_tests::emulate(*made, task.sizes);
  ASSERT_EQ(got.failure, "");
  const std::vector<double>& x = want.after.at("O");
  const std::vector<double>& y = got.after.at("O");
  double largest = 0;
  for (const double value : x)
    largest = std::isfinite(value) ? std::max(largest, std::abs(value)) : largest;
  int wrong = 0;
  for (std::size_t i = 0; i < x.size() && wrong < 4; ++i) {
    if (std::isnan(x[i]) ? std::isnan(y[i]) : std::abs(x[i] - y[i]) <= tolerance * largest)
      continue;
    ++wrong;
    ADD_FAILURE() << "O[" << i << "] is " << y[i] << ", not " << x[i];
  }
}

TEST(Attention, MmaAtManyPoints) {
  const Reference reference{
      .type = "f16", .heads = 2, .queries = 160, .keys = 136, .depth = 64, .columns = 64};
  expect_right(reference, at("mma", 64, 64), 2e-3, "sm_80");
  for (const std::int64_t warp_rows : {16, 32}) {
    for (const char* query : {"registers", "shared"}) {
      for (const std::int64_t stages : {1, 3}) {
        SCOPED_TRACE(fmt::format("{} {} {}", warp_rows, query, stages));
        Choice choice = at("mma", stages == 1 ? 64 : 128, stages == 3 ? 32 : 64, stages);
        choice["warp_rows"] = warp_rows;
        choice["query"] = std::string(query);
        expect_right(reference, choice, 2e-3);
      }
    }
  }
}

Choice bulk(std::int64_t rows, std::int64_t keys, std::int64_t stages = 2, bool turns = false,
            bool persistent = false) {
  Choice choice = at("wgmma-bulk", rows, keys, stages);
  choice["turns"] = std::string(turns ? "yes" : "no");
  choice["persistent"] = std::string(persistent ? "yes" : "no");
  return choice;
}

TEST(Attention, Bulk) {
  for (const int depth : {64, 128}) {
    SCOPED_TRACE(depth);
    Reference reference{
        .type = "f16", .queries = 128, .keys = 256, .depth = depth, .columns = depth};
    expect_right(reference, bulk(128, 128), 2e-3);
    // Ends of queries and of keys; a single tile of keys.
    reference.queries = 200, reference.keys = 333;
    expect_right(reference, bulk(128, 64, 3, true), 2e-3);
    reference.keys = 45;
    expect_right(reference, bulk(64, 64), 2e-3);
  }
}

/// Only tiles up to the diagonal, those that it crosses masked; blocks that do several tiles of
/// queries, of several heads, whose lengths differ.
TEST(Attention, BulkCausal) {
  Reference reference{
      .type = "bf16", .heads = 3, .queries = 300, .keys = 300, .depth = 72, .columns = 64};
  reference.logit = "k <= q ? score * 0.25f : -INFINITY";
  expect_right(reference, bulk(128, 96, 2, true, true), 1.5e-2, "sm_90", 4);
  reference.depth = 128, reference.type = "f16";
  expect_right(reference, bulk(192, 64, 2, true), 2e-3);
  for (const std::int64_t together : {1, 2, 4}) {
    Choice choice = bulk(64, 128, 2, false, true);
    choice["together"] = together;
    expect_right(reference, choice, 2e-3, "sm_90", 4);
  }
}

/// Heads so small that no search would ask for these pipes: a recipe is checked at such sizes.
TEST(Attention, WgmmaOfSmallHeads) {
  for (const auto& [depth, columns] : {std::pair(16, 16), {8, 24}, {32, 32}}) {
    SCOPED_TRACE(fmt::format("{} {}", depth, columns));
    Reference reference{
        .type = "f16", .queries = 70, .keys = 45, .depth = depth, .columns = columns};
    expect_right(reference, bulk(64, 32), 2e-3);
    expect_right(reference, bulk(128, 128, 2, true, true), 2e-3);
    reference.logit = "k <= q ? score * 0.25f : -INFINITY";
    expect_right(reference, bulk(64, 64, 2, false, true), 2e-3);
  }
}

/// Blocks do tile after tile, the last round with fewer blocks.
TEST(Attention, BulkTileAfterTile) {
  Reference reference{
      .type = "f16", .heads = 3, .queries = 300, .keys = 130, .depth = 64, .columns = 64};
  for (const int multiprocessors : {1, 7, 14})
    expect_right(reference, bulk(64, 64, 3, false, true), 2e-3, "sm_90", multiprocessors);
}

TEST(Attention, HeadsOfManySizes) {
  for (const auto& [depth, columns] :
       {std::pair(11, 11), {16, 40}, {72, 24}, {128, 128}, {136, 256}}) {
    SCOPED_TRACE(fmt::format("{} {}", depth, columns));
    const Reference reference{.queries = 70, .keys = 45, .depth = depth, .columns = columns};
    expect_right(reference, at("fma", 64, 32));
    expect_right(reference, at("tf32x3", 64, 32));
    if (depth <= 16) expect_right(reference, at("tf32", 64, 64), 3e-3);
    Reference half = reference;
    half.type = depth == 72 ? "bf16" : "f16";
    expect_right(half, at("mma", 64, 64), depth == 72 ? 1.5e-2 : 2e-3);
    if (depth == 16) expect_right(half, at("fma", 64, 64), 1e-3);
  }
}

const std::map<std::string, Reference> kStyles = {
    {"causal", {.logit = "k <= q ? score * 0.25f : -INFINITY"}},
    {"causal by a large number", {.logit = "k <= q ? score * 0.25f : -1e30f", .begin = "-1e30f"}},
    {"causal by a term", {.logit = "score * 0.25f + (k > q ? -1e9f : 0.0f)"}},
    {"causal by a bound", {.last = "q + 1"}},
    {"causal with keys before",
     {.queries = 40, .keys = 150, .logit = "k <= q + 110 ? score : -INFINITY"}},
    {"window", {.queries = 150, .keys = 150, .logit = "k <= q && k > q - 20 ? score : -INFINITY"}},
    {"window both ways",
     {.queries = 150, .keys = 150, .logit = "abs(k - q) < 30 ? score : -INFINITY"}},
    {"rows without a key",
     {.queries = 70, .keys = 70, .logit = "k < q - 30 ? score : -INFINITY", .begin = "-1e30f"}},
    {"rows without a key, by a number",
     {.queries = 70, .keys = 70, .logit = "k < q - 30 ? score : -1e30f"}},
    {"rows without a key, as PyTorch has it",
     {.queries = 70,
      .keys = 70,
      .logit = "k < q - 30 ? score * 0.25f : -INFINITY",
      .whole = "top == -INFINITY ? 0.0f : weight / sum",
      .result = "out + 0.5f"}},
    {"bias", {.queries = 70, .keys = 45, .logit = "score / sqrtf((float)D) + bias[q * K + k]"}},
    {"bias of heads", {.logit = "score * 0.2f - 0.5f / (h + 1) * (q - k)"}},
    {"lengths", {.queries = 70, .keys = 85, .logit = "k < length[h] ? score : -INFINITY"}},
    {"capped", {.logit = "5.0f * tanhf(score / 5.0f)"}},
    {"no maximum", {.weight = "expf(s)"}},
    {"scaled in the exponent", {.logit = "score", .weight = "expf((s - top) * 0.25f)"}},
    {"negative scale", {.logit = "score * -0.3f"}},
    {"power of two", {.weight = "exp2f(s - top)"}},
    {"scaled query", {.product = "(x * 0.25f) * y", .logit = "score"}},
    {"inverse", {.whole = "weight * (1.0f / sum)"}},
    {"other result", {.result = "2.0f * out + 0.5f"}},
    {"shared heads",
     {.heads = 4, .groups = 2, .queries = 70, .logit = "k <= q ? score * 0.25f : -INFINITY"}},
    {"sequence first",
     {.query_at = "(q * H + h) * D + d",
      .key_at = "(k * (H / G) + h / G) * D + d",
      .value_at = "(k * (H / G) + h / G) * E + e",
      .out_at = "(q * H + h) * E + e"}},
    {"columns first",
     {.queries = 72,
      .keys = 48,
      .query_at = "(h * D + d) * Q + q",
      .key_at = "(h * D + d) * K + k",
      .value_at = "(h * E + e) * K + k",
      .out_at = "(h * E + e) * Q + q"}},
    {"columns first, odd",
     {.queries = 71,
      .keys = 45,
      .query_at = "(h * D + d) * Q + q",
      .key_at = "(h * D + d) * K + k",
      .value_at = "(h * E + e) * K + k",
      .out_at = "(h * E + e) * Q + q"}},
    {"one query", {.heads = 8, .groups = 4, .queries = 1, .keys = 100}},
};

TEST(Attention, Styles) {
  for (const auto& [name, reference] : kStyles) {
    SCOPED_TRACE(name);
    expect_right(reference, at("fma", 64, 32));
  }
}

TEST(Attention, StylesOnTensorCores) {
  for (const char* name :
       {"causal with keys before", "window", "rows without a key",
        "rows without a key, by a number", "rows without a key, as PyTorch has it", "bias",
        "lengths", "shared heads", "sequence first", "columns first", "columns first, odd",
        "one query"}) {
    SCOPED_TRACE(name);
    Reference reference = kStyles.at(name);
    reference.type = "f16";
    expect_right(reference, at("mma", 64, 32), 2e-3);
  }
}

/// Shapes, layouts and points of the space that nobody chose.
TEST(Attention, RandomPoints) {
  std::mt19937 random(29);
  const auto one_of = [&]<class T>(std::initializer_list<T> all) {
    return *(all.begin() + static_cast<std::ptrdiff_t>(random() % all.size()));
  };
  for (int round = 0; round < 16; ++round) {
    const char* const style = one_of({"causal", "window", "bias", "lengths", "shared heads",
                                      "sequence first", "columns first", "columns first, odd"});
    Reference reference = kStyles.at(style);
    reference.queries = static_cast<int>(random() % 150) + 1;
    reference.keys = static_cast<int>(random() % 150) + 1;
    reference.depth = static_cast<int>(random() % 70) + 1;
    reference.columns = static_cast<int>(random() % 70) + 1;
    reference.type = one_of({"f32", "f16", "bf16"});
    const bool f32 = reference.type == "f32";
    Choice choice = at(f32 ? one_of({"fma", "tf32", "tf32x3"}) : one_of({"fma", "mma"}),
                       one_of({64, 128, 192}), one_of({16, 32, 64, 128}), one_of({1, 2, 3}));
    choice["warp_rows"] = std::int64_t{one_of({16, 32})};
    choice["query"] = std::string(one_of({"registers", "shared"}));
    const bool exact = f32 && choice.at("pipe") != ParameterValue(std::string("tf32"));
    SCOPED_TRACE(fmt::format("{}: {}, {} x {} by {}, {}", round, style, reference.queries,
                             reference.keys, reference.depth, reference.columns));
    expect_right(reference, choice, exact ? 1e-4 : reference.type == "bf16" ? 1.5e-2 : 4e-3);
  }
}

/// A buffer may be called as the kernel calls something of its own.
TEST(Attention, BuffersOfAnyName) {
  for (const char* name : {"i", "half", "scores", "lane", "tile_key", "stage", "weights"}) {
    SCOPED_TRACE(name);
    Reference reference{.type = "f16", .heads = 1, .depth = 64, .columns = 64, .bias = name};
    reference.logit = "score * 0.1f + bias[q * K + k]";
    expect_right(reference, bulk(64, 32), 2e-3);
    std::string source;
    expect_right(reference, at("mma", 64, 32), 2e-3, "sm_90", 0, &source);
    // One of the two is called otherwise: that it does not parse would be noticed, too.
    EXPECT_TRUE(source.contains(fmt::format("{}_2[", name))) << source;
  }
}

/// Two blocks copy halves of each tile of keys and values for both; an odd tile of queries has
/// nobody to share with.
TEST(Attention, BulkClusters) {
  Reference reference{
      .type = "f16", .heads = 3, .queries = 300, .keys = 150, .depth = 64, .columns = 128};
  for (const int multiprocessors : {0, 5}) {
    Choice choice = bulk(64, 64, 2, false, multiprocessors != 0);
    choice["cluster"] = std::int64_t{2};
    expect_right(reference, choice, 2e-3, "sm_90", multiprocessors);
    choice["rows"] = std::int64_t{128};
    choice["turns"] = std::string("yes");
    expect_right(reference, choice, 2e-3, "sm_90", multiprocessors);
  }
}

TEST(Attention, BulkInManyStyles) {
  for (const char* name :
       {"causal with keys before", "window", "rows without a key",
        "rows without a key, by a number", "rows without a key, as PyTorch has it", "bias",
        "lengths", "shared heads", "sequence first", "other result", "capped", "one query"}) {
    SCOPED_TRACE(name);
    Reference reference = kStyles.at(name);
    reference.type = "f16";
    reference.depth = 40, reference.columns = 48;
    expect_right(reference, bulk(64, 32), 2e-3);
    expect_right(reference, bulk(128, 64, 2, true, true), 2e-3);
  }
}

/// Queries, keys and values may lie in one buffer, in whatever order, or begin inside three.
TEST(Attention, BulkOperandsThatBeginInsideTheirBuffers) {
  struct Steps {
    const char *row, *which, *head;
  };
  for (const Steps& steps : {Steps{"3 * H * D", "H * D", "D"},
                             {"3 * H * D", "D", "3 * D"},
                             {"D", "H * Q * D", "Q * D"}}) {
    SCOPED_TRACE(steps.which);
    const auto at = [&](const char* row, int which, const char* column) {
      return fmt::format("{} * {} + {} * {} + h * {} + {}", row, steps.row, which, steps.which,
                         steps.head, column);
    };
    Reference reference{.type = "f16",
                        .heads = 3,
                        .queries = 70,
                        .keys = 70,
                        .depth = 40,
                        .columns = 40,
                        .query_at = at("q", 0, "d"),
                        .key_at = at("k", 1, "d"),
                        .value_at = at("k", 2, "e"),
                        .room = 3};
    for (const bool packed : {false, true}) {
      reference.packed = packed;
      expect_right(reference, bulk(64, 32), 2e-3);
    }
  }
}

/// Why a recipe's step cannot be done.
std::string mistake(const Reference& reference, const Choice& choice) {
  const Task task = reference.task(MathLevel::kReduced);
  const RewriteContext context{&task, task.sizes, target_limits("sm_90")};
  Step step;
  step.site = "O";
  step.params = choice;
  const auto made = make_rewriter(*kAttention)->apply(task.reference, step, context);
  return made ? "" : made.error().message;
}

/// Bulk copies begin at multiples of 16 bytes.
TEST(Attention, BulkOperandsBeginAtMultiplesOf8Elements) {
  Reference reference{.type = "f16", .depth = 64, .columns = 64, .room = 2};
  for (std::string Reference::* place :
       {&Reference::query_at, &Reference::key_at, &Reference::value_at}) {
    const std::string before = reference.*place;
    for (const int offset : {8, 4, 1}) {
      reference.*place = fmt::format("{} + {}", before, offset);
      SCOPED_TRACE(reference.*place);
      EXPECT_EQ(mistake(reference, bulk(64, 32)),
                offset == 8 ? "" : "attention: pipe wgmma-bulk cannot do this");
      EXPECT_EQ(mistake(reference, at("mma", 64, 32)), "");
    }
    reference.*place = before;
  }
  EXPECT_EQ(mistake(reference, at("wgmma", 64, 32)), "attention: no such pipe: wgmma");
}

/// Outputs that ask whether there is any weight.
TEST(Attention, BulkOfTheSumOfWeights) {
  Reference reference{.type = "f16", .queries = 70, .keys = 70, .depth = 64, .columns = 64};
  reference.logit = "k < q - 30 ? score : -INFINITY";
  reference.begin = "-1e30f";
  reference.whole = "weight * (sum == 0.0f ? 0.0f : 1.0f / sum)";
  expect_right(reference, bulk(64, 32), 2e-3);
  reference.type = "bf16";
  reference.result = "2.0f * out";
  expect_right(reference, bulk(128, 64, 2, true, true), 1.5e-2);
}

/// The same, of which no bulk copies are made: beside the sum it reads an input.
TEST(Attention, OfTheSumOfWeightsAndAnInput) {
  Reference reference{.queries = 70, .keys = 70, .depth = 24, .columns = 48};
  reference.logit = "k < q - 30 ? score : -INFINITY";
  reference.begin = "-1e30f";
  reference.whole = "weight * (sum == 0.0f ? 0.0f : 1.0f / sum)";
  reference.result = "out + C[(h * K + q) * E + e]";
  for (const std::int64_t stages : {1, 2}) {
    SCOPED_TRACE(stages);
    expect_right(reference, at("fma", 64, 128, stages));
    expect_right(reference, at("fma", 128, 16, stages));
    expect_right(reference, at("tf32x3", 64, 32, stages), 1e-4);
  }
  reference.type = "f16";
  reference.result = "out + __half2float(C[(h * K + q) * E + e])";
  expect_right(reference, at("mma", 64, 32), 2e-3);
}

/// What is added to outputs lies side by side as they do: here each query's own value.
TEST(Attention, BulkReadsInputsOfItsOutputsTogether) {
  for (const int columns : {16, 40}) {
    Reference reference = {.type = "f16", .queries = 50, .columns = columns};
    reference.result = "out + __half2float(C[(h * K + q) * E + e])";
    std::string source;
    expect_right(reference, bulk(64, 32), 2e-3, "sm_90", 0, &source);
    EXPECT_NE(source.find("= *reinterpret_cast<const hone_O_pack<__half, "), std::string::npos)
        << source;
  }
}

TEST(Attention, StylesInTf32) {
  for (const char* name :
       {"columns first, odd", "bias", "window", "rows without a key, as PyTorch has it"}) {
    SCOPED_TRACE(name);
    expect_right(kStyles.at(name), at("tf32x3", 64, 32));
  }
}

TEST(Attention, MaximumThatGrowsMuch) {
  // Beyond 2^8 from tile to tile: sums have to follow.
  Reference reference{
      .heads = 1, .queries = 64, .keys = 256, .depth = 64, .columns = 64, .logit = "score * 3.0f"};
  expect_right(reference, at("fma", 64, 32), 1e-4);
  expect_right(reference, at("tf32x3", 64, 32), 1e-4);
  reference.type = "f16";
  expect_right(reference, at("mma", 64, 32), 2e-3);
  expect_right(reference, bulk(64, 32), 2e-3);
}

/// Logits of 10^4 and of 10^9 on every pipe: a shift of 10^9 that is rounded to f32 is off by more
/// than f16 has weights for, and by more than f32 has where the logits are a little larger.
TEST(Attention, LogitsBeyondWhatAShiftCanSay) {
  Reference reference{.heads = 1, .keys = 96, .depth = 32, .columns = 32};
  for (const auto& [factor, otherwise] :
       {std::pair("4e3f", ""), {"8e8f", ""}, {"4e8f", "-INFINITY"}, {"4e8f", "-1e30f"}}) {
    reference.logit = fmt::format("score * {}", factor);
    reference.begin = "-INFINITY";
    if (*otherwise != 0) {  // the first queries are allowed no key
      reference.logit = fmt::format("k < q - 20 ? {} : {}", reference.logit, otherwise);
      reference.begin = "-1e30f";
    }
    const auto expect = [&](const char* type, const Choice& choice, double tolerance) {
      SCOPED_TRACE(fmt::format("{} {} {}", type, to_string(choice.at("pipe")), reference.logit));
      reference.type = type;
      expect_right(reference, choice, tolerance);
    };
    // The reference rounds logits of 10^4 to 2^-9 at least.
    reference.product = "x * y";
    for (const auto& [type, tolerance] : {std::pair("f16", 6e-3), {"bf16", 1.5e-2}}) {
      expect(type, bulk(64, 32), tolerance);
      for (const char* pipe : {"mma", "fma"}) expect(type, at(pipe, 64, 32), tolerance);
    }
    // Small integers: no pipe rounds them.
    reference.product = "rintf(x * 4.0f) * rintf(y * 4.0f)";
    for (const char* pipe : {"fma", "tf32x3", "tf32"}) expect("f32", at(pipe, 64, 32), 6e-3);
  }
}

/// Scales that f32 cannot hold, or whose inverse it cannot; small ones let all keys weigh alike.
TEST(Attention, ScalesNearTheEndsOfF32) {
  Reference reference{.type = "f16", .heads = 1, .keys = 70};
  for (const char* scale : {"1e-33f", "1e-36f", "1e-42f", "1e-30f * 1e-30f", "1e35f"}) {
    reference.logit = fmt::format("k <= q ? score * {} : -INFINITY", scale);
    SCOPED_TRACE(reference.logit);
    for (const Choice& choice : {bulk(64, 32), at("mma", 64, 32), at("fma", 64, 32)})
      expect_right(reference, choice, 2e-3);
  }
}

/// The largest logit grows by 16, which is one bit of it: added to the shift, 8 is rounded to 16.
TEST(Attention, LargeLogitsThatGrowByOneBit) {
  Reference reference{.type = "f16", .heads = 1, .weight = "exp2f(s - top)"};
  for (const char* logits : {"167772176.0f : 167772192.0f", "167772192.0f : 167772176.0f"}) {
    SCOPED_TRACE(logits);
    reference.logit = fmt::format("score * 0.25f + (k < 40 ? {})", logits);
    expect_right(reference, at("mma", 64, 32), 2e-3);
    expect_right(reference, bulk(64, 32), 2e-3);
  }
}

TEST(Attention, WeightsKeptInFewBits) {
  expect_right({.whole = "__half2float(__float2half(weight / sum))"}, at("fma", 64, 32), 1e-3);
}

TEST(Attention, Tasks) {
  for (const char* name :
       {"attention_f32", "attention_f16", "attention_causal_f16", "attention_causal_f32"}) {
    SCOPED_TRACE(name);
    const auto task =
        read_task(fmt::format("{}/rewriters/schedules/tasks/{}.cu", HONE_SOURCE_DIR, name));
    ASSERT_TRUE(task.has_value()) << task.error().message;
    const auto rewriter = make_rewriter(*kAttention);
    for (const std::size_t i : {0U, 2U}) {
      const RewriteContext context{&*task, task->check_sizes.at(i), target_limits("sm_90")};
      const std::vector<Proposal> proposals = rewriter->propose(task->reference, context);
      ASSERT_FALSE(proposals.empty());
      const Proposal& proposal = proposals.back();  // the fastest pipe's
      Step step;
      step.site = proposal.site;
      step.math = proposal.math;
      for (std::size_t p = 0; p < proposal.parameters.size(); ++p) {
        step.params[proposal.parameters[p].name] =
            proposal.parameters[p].domain[proposal.starts.at(0)[p]];
      }
      const auto made = rewriter->apply(task->reference, step, context);
      ASSERT_TRUE(made.has_value()) << made.error().message;
      const auto want = lift_tests::emulate(task->reference, context.sizes);
      const auto got = lift_tests::emulate(*made, context.sizes);
      ASSERT_EQ(want.failure + got.failure, "");
      double square = 0;
      for (const double value : want.after.at("O")) square += value * value;
      const double rms = std::sqrt(square / static_cast<double>(want.after.at("O").size()));
      for (std::size_t e = 0; e < want.after.at("O").size(); ++e) {
        const double x = want.after.at("O")[e], y = got.after.at("O")[e];
        ASSERT_LE(std::abs(x - y),
                  task->tolerance.atol + task->tolerance.rtol * std::max(std::abs(x), rms))
            << e << ": " << y << ", not " << x;
      }
    }
  }
}

/// Why there is no offer for the site of the output.
std::string refusal(const Reference& reference, MathLevel math = MathLevel::kReduced) {
  const Task task = reference.task(math);
  const RewriteContext context{&task, task.sizes, target_limits("sm_90")};
  const auto explanation = explained(task.reference, context);
  if (!explanation) return explanation.error().message;
  const std::string& text = explanation->sites;
  const std::size_t site = text.find("site 'O'");
  const std::size_t begin = text.find("generate-attention: ", site) + 20;
  return text.substr(begin, text.find('\n', begin) - begin);
}

TEST(Attention, SaysWhatItSees) {
  EXPECT_EQ(refusal({}), "attention of 2 of 64 queries x 64 keys of 16");
  EXPECT_EQ(refusal({.columns = 24, .logit = "k <= q ? score : -INFINITY"}),
            "attention of 2 of 64 queries x 64 keys of 16 and 24, causal");
  EXPECT_EQ(refusal({.logit = "k < length[h] ? score : -INFINITY"}),
            "attention of 2 of 64 queries x 64 keys of 16, masked");
}

TEST(Attention, Refuses) {
  EXPECT_EQ(refusal({.whole = "weight"}),
            "no, attention: weights that nothing divides by their sum");
  EXPECT_EQ(refusal({.whole = "weight / (sum + 1.0f)"}),
            "no, attention: the sum of weights is used by itself");
  EXPECT_EQ(refusal({.weight = "s * s"}), "no, attention: no sum of exponentials times values");
  EXPECT_EQ(refusal({.product = "fabsf(x - y)"}),
            "no, attention: scores that are no products of queries and keys");
  EXPECT_EQ(refusal({.whole = "k % 2 == 0 ? weight / sum : 0.0f"}),
            "no, attention: the sum is of other keys than those used");
  EXPECT_EQ(
      refusal(
          {.weight = "expf(s * 0.5f - top)", .whole = "top == -INFINITY ? 0.0f : weight / sum"}),
      "no, attention: weights that are 0 where something else than the largest logit is minus "
      "infinity");
  // A term of each query alone may be minus infinity, too: no weight is left, but the kernel has
  // none of it.
  EXPECT_EQ(
      refusal({.logit = "score * 0.25f + bias[q * K]",
               .whole = "top == -INFINITY ? 0.0f : weight / sum"}),
      "no, attention: weights that are 0 where something else than the largest logit is minus "
      "infinity");
  EXPECT_EQ(refusal({.logit = "k < q - 30 ? (bias[q * K + k] > 0.0f ? score : -INFINITY) : -1e30f",
                     .whole = "top == -INFINITY ? 0.0f : weight / sum"}),
            "no, attention: rows that are masked by large numbers, and are 0 where they are minus "
            "infinity");
  EXPECT_EQ(refusal({.whole = "top == -INFINITY ? 0.0f : weight / 2.0f / sum"}),
            "no, attention: weights that are not divided by their sum at once");
  EXPECT_EQ(refusal({.depth = 300}), "no, attention: heads of more than 256");
  EXPECT_EQ(refusal({.term = "p"}), "no, attention: no sum of exponentials times values");
}

TEST(Attention, MathLevels) {
  const auto pipes = [](const Reference& reference, MathLevel math, const std::string& arch) {
    const Task task = reference.task(math);
    const RewriteContext context{&task, task.sizes, target_limits(arch)};
    std::string text;
    for (const Proposal& proposal : make_rewriter(*kAttention)->propose(task.reference, context)) {
      if (proposal.site.substr(0, 1) != "O") continue;
      text += fmt::format("{}:", to_string(proposal.math));
      for (const auto& value : proposal.parameters[0].domain) text += " " + to_string(value);
      text += "; ";
    }
    return text;
  };
  const Reference f32{}, f16{.type = "f16", .depth = 64, .columns = 64};
  EXPECT_EQ(pipes(f32, MathLevel::kReassociate, "sm_90"), "reassociate: fma; ");
  EXPECT_EQ(pipes(f32, MathLevel::kReduced, "sm_80"),
            "reassociate: fma; tf32x3: tf32x3; tf32: tf32; ");
  EXPECT_EQ(pipes(f32, MathLevel::kTf32, "sm_80"),
            "reassociate: fma; tf32x3: tf32x3; tf32: tf32; ");
  EXPECT_EQ(pipes(f32, MathLevel::kTf32x3, "sm_80"), "reassociate: fma; tf32x3: tf32x3; ");
  EXPECT_EQ(pipes(f32, MathLevel::kReduced, "sm_75"), "reassociate: fma; ");
  EXPECT_EQ(pipes(f16, MathLevel::kReassociate, "sm_90"), "reassociate: wgmma-bulk mma fma; ");
  EXPECT_EQ(pipes(f16, MathLevel::kReassociate, "sm_80"), "reassociate: mma fma; ");
}

/// A start is brought to what fits, and what it is brought to is in the space.
TEST(Attention, BulkStartsAreInTheSpace) {
  const auto starts = [](int depth, int heads, int queries = 64, const char* mask = "") {
    Reference reference{
        .type = "f16", .heads = heads, .queries = queries, .depth = depth, .columns = depth};
    if (*mask != 0) reference.logit = fmt::format("{} ? score : -INFINITY", mask);
    const Task task = reference.task(MathLevel::kReassociate);
    const RewriteContext context{&task, task.sizes, target_limits("sm_90")};
    std::string text;
    for (const Proposal& proposal : make_rewriter(*kAttention)->propose(task.reference, context)) {
      if (proposal.site.substr(0, 1) != "O") continue;
      for (const auto& start : proposal.starts) {
        std::map<std::string, std::string> at = {{"cluster", "1"}};
        for (std::size_t p = 0; p < start.size(); ++p)
          at[proposal.parameters[p].name] = to_string(proposal.parameters[p].domain[start[p]]);
        if (at["pipe"] == "wgmma-bulk")
          text += fmt::format("{} x {} by {}; ", at["rows"], at["keys"], at["cluster"]);
      }
    }
    return text;
  };
  EXPECT_EQ(starts(64, 300), "192 x 128 by 1; 128 x 128 by 1; 192 x 96 by 1; 192 x 128 by 2; ");
  EXPECT_EQ(starts(128, 300), "128 x 128 by 1; 192 x 64 by 1; 128 x 176 by 1; 128 x 128 by 2; ");
  EXPECT_EQ(starts(256, 300), "128 x 64 by 1; 128 x 64 by 2; ");
  // Too few queries for all multiprocessors.
  EXPECT_EQ(starts(64, 2), "64 x 128 by 1; 128 x 128 by 1; 64 x 96 by 1; 64 x 128 by 2; ");
  EXPECT_EQ(starts(64, 2, 64, "k <= q"),
            "64 x 128 by 1; 128 x 128 by 1; 64 x 96 by 1; 192 x 128 by 1; ");
  // 128 tiles for 132 multiprocessors: with smaller ones, some would do two.
  const auto first = [&](int depth, int heads, int queries) {
    const std::string all = starts(depth, heads, queries);
    return all.substr(0, all.find(' '));
  };
  EXPECT_EQ(first(64, 32, 768), "192");
  EXPECT_EQ(first(128, 32, 512), "128");
  // 96 tiles of 192 or 128 of 128: one round of either.
  EXPECT_EQ(first(64, 32, 512), "128");
  // 88 tiles of 192; two rounds of 176 of 128 would be longer, two of 264 of 64 are shorter.
  EXPECT_EQ(first(64, 88, 192), "64");
}

TEST(Attention, SkipsWhatIsMasked) {
  // Half of the tiles, but for the diagonal: half of the multiply-adds.
  const auto operations = [](const std::string& logit) {
    const Reference reference{.heads = 1, .queries = 256, .keys = 256, .logit = logit};
    const Task task = reference.task(MathLevel::kReassociate);
    const RewriteContext context{&task, task.sizes, target_limits("sm_90")};
    Step step;
    step.site = "O";
    step.params = at("fma", 64, 32);
    const auto made = make_rewriter(*kAttention)->apply(task.reference, step, context);
    EXPECT_TRUE(made.has_value());
    return made->source;
  };
  EXPECT_TRUE(operations("k <= q ? score : -INFINITY").contains("tile < tile_last + 1"));
  EXPECT_FALSE(operations("score").contains("tile_last"));
  // A row that is allowed nothing weighs all alike: nothing can be left out.
  EXPECT_FALSE(operations("k < q ? score : -1e30f").contains("tile_last"));
}

}  // namespace
}  // namespace hone::schedules
