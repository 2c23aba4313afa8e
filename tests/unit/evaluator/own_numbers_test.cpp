// Numbers that a program's code names, and which of them an input may hold.
#include <gtest/gtest.h>

#include <algorithm>

#include "evaluator/check/own_numbers.h"

namespace hone::check {
namespace {

constexpr const char* kReference = R"(
.visible .entry k(.param .u64 k_param_0) {
.reg .b32 %r<99>;
  ld.param.u64 %rd1, [k_param_0+4000];
  mul.lo.s32 %r1, %r2, 1664525;
})";

ConcreteBuffer buffer(ScalarType type, const Fill& fill) {
  return {"x", type, {100}, Role::kIn, fill};
}

TEST(OwnNumbers, AreThoseThatTheReferenceDoesNotHave) {
  const auto numbers = own_numbers(kReference, R"(
.visible .entry k(.param .u64 k_param_0) {
.reg .b32 %r<99>;
.shared .align 4 .b8 table[2048];
  mul.lo.s32 %r1, %r2, 1664525; // 12345
  setp.eq.s32 %p1, %r1, -559038737;
  @%p1 bra $L__BB0_77;
  setp.gt.f32 %p2, %f1, 0f3F7FFFEF;
  add.s32 %r3, %r3, 16;
  and.b32 %r4, %r3, 1024;
  xor.b32 %r5, %r4, 0xABCDEF;
})");
  ASSERT_EQ(numbers.size(), 3U);
  EXPECT_EQ(numbers[0], (OwnNumber{OwnNumber::Kind::kInteger, 0ULL - 559038737}));
  EXPECT_EQ(numbers[1], (OwnNumber{OwnNumber::Kind::kF32, 0x3F7FFFEF}));
  EXPECT_EQ(numbers[2], (OwnNumber{OwnNumber::Kind::kInteger, 0xABCDEF}));
  EXPECT_TRUE(own_numbers(kReference, kReference).empty());
}

TEST(OwnNumbers, GoIntoInputsThatMayHoldThem) {
  const std::vector<OwnNumber> numbers = {{OwnNumber::Kind::kInteger, 0ULL - 559038737},
                                          {OwnNumber::Kind::kInteger, 500},
                                          {OwnNumber::Kind::kF32, 0x3F7FFFEF}};
  const auto has = [&](const ConcreteBuffer& of, std::uint64_t bits) {
    return std::ranges::count(elements_of(numbers, of), bits) == 1;
  };
  const Fill all{.kind = Fill::Kind::kIntegers, .a = 0, .b = 4294967295.0};
  EXPECT_TRUE(has(buffer(ScalarType::kU32, all), 0xDEADBEEF));
  EXPECT_TRUE(has(buffer(ScalarType::kU32, all), 0xDEADBEEE));
  const Fill thousand{.kind = Fill::Kind::kIntegers, .a = 0, .b = 500};
  EXPECT_FALSE(has(buffer(ScalarType::kU32, thousand), 0xDEADBEEF));
  EXPECT_TRUE(has(buffer(ScalarType::kI32, thousand), 500));
  EXPECT_FALSE(has(buffer(ScalarType::kI32, thousand), 501));
  const Fill unit{.kind = Fill::Kind::kUniform, .a = -1, .b = 1};
  EXPECT_EQ(elements_of(numbers, buffer(ScalarType::kF32, unit)),
            (std::vector<std::uint64_t>{0x3F7FFFEF, 0x3F7FFFEE, 0x3F7FFFF0}));
  EXPECT_TRUE(
      elements_of(numbers, buffer(ScalarType::kI32, {.kind = Fill::Kind::kPermutation})).empty());
}

}  // namespace
}  // namespace hone::check
