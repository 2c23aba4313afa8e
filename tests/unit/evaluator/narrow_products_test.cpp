// Tensor cores that multiply fewer bits than the task's inputs have.
#include "evaluator/check/narrow_products.h"

#include <gtest/gtest.h>

#include <string>

namespace hone::check {
namespace {

ConcreteProgram with(std::vector<ScalarType> inputs) {
  ConcreteProgram program;
  for (const ScalarType type : inputs)
    program.buffers.push_back(
        {"x" + std::to_string(program.buffers.size()), type, {8}, Role::kIn, {}});
  program.buffers.push_back({"y", ScalarType::kF16, {8}, Role::kOut, {}});
  return program;
}

constexpr const char* kBf16 =
    "  mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f1,%f2}, {%r1}, {%r2}, {%f3};\n";
constexpr const char* kTf32 = "$L1: wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 %f1;\n";
constexpr const char* kHalves =
    "  @%p1 wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%f1}, {%r1}, {%r2}, {%f2};\n";
constexpr const char* kBytes =
    "  wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.s32 {%r1}, {%r2}, {%r3}, {%r4};\n";
constexpr const char* kNone = "  fma.rn.f32 %f1, %f2, %f3, %f4; cvt.rn.bf16.f32 %rs1, %f1;\n";

TEST(NarrowProducts, AreThoseOfFewerBitsThanEveryInput) {
  const auto f32 = with({ScalarType::kF32, ScalarType::kF32});
  EXPECT_EQ(narrow_products(f32, kNone, kBf16), "bf16");
  EXPECT_EQ(narrow_products(f32, kNone, kTf32), "tf32");
  EXPECT_EQ(narrow_products(f32, kNone, kHalves), "f16");
  EXPECT_EQ(narrow_products(f32, kNone, kNone), "");
  EXPECT_EQ(narrow_products(f32, kNone, kBytes), "");
  // As the reference itself does.
  EXPECT_EQ(narrow_products(f32, kBf16, kBf16), "");
  EXPECT_EQ(narrow_products(f32, kBf16, kTf32), "");
  EXPECT_EQ(narrow_products(f32, kTf32, kBf16), "bf16");
}

TEST(NarrowProducts, AreNoneWhereAnInputIsAsNarrow) {
  EXPECT_EQ(narrow_products(with({ScalarType::kF16}), kNone, kHalves), "");
  EXPECT_EQ(narrow_products(with({ScalarType::kF32, ScalarType::kBf16}), kNone, kBf16), "");
  EXPECT_EQ(narrow_products(with({ScalarType::kF16}), kNone, kBf16), "bf16");
  EXPECT_EQ(narrow_products(with({ScalarType::kI32}), kNone, kHalves), "");
  EXPECT_EQ(narrow_products(with({ScalarType::kF64}), kNone, kTf32), "tf32");
}

TEST(NarrowProducts, CopiesThatRoundAreAsNarrow) {
  const auto mapped = [](ScalarType input, bool as_tf32) {
    ConcreteProgram program = with({input, ScalarType::kF32});
    ConcreteLaunch launch;
    launch.args.emplace_back(BufferIndex{0});
    launch.args.emplace_back(ConcreteTensorMap{1, {8}, {}, {8}, 0, as_tf32});
    program.launches.push_back(launch);
    return program;
  };
  const auto f32 = mapped(ScalarType::kF32, false), rounded = mapped(ScalarType::kF32, true);
  EXPECT_TRUE(copies_as_tf32(f32, kNone, rounded));
  EXPECT_FALSE(copies_as_tf32(f32, kNone, f32));
  // As the reference itself does.
  EXPECT_FALSE(copies_as_tf32(rounded, kNone, rounded));
  EXPECT_FALSE(copies_as_tf32(f32, kTf32, rounded));
  // Another input is as narrow, but not the one that is rounded.
  EXPECT_TRUE(copies_as_tf32(mapped(ScalarType::kF16, false), kNone, rounded));
  // A buffer of the candidate's own holds what the inputs have, perhaps of the narrow one.
  auto own = rounded;
  own.buffers[1].name = "kept";
  EXPECT_FALSE(copies_as_tf32(mapped(ScalarType::kF16, false), kNone, own));
  EXPECT_TRUE(copies_as_tf32(f32, kNone, own));
  EXPECT_FALSE(copies_as_tf32(with({ScalarType::kI32}), kNone, rounded));
}

}  // namespace
}  // namespace hone::check
