// Blocks whose data decide that they do other work than those of a sample: sim/data_kinds.h.
#include "tests/unit/emulator/harness.h"

namespace hone::emulator {
namespace {

constexpr std::uint32_t kBlocks = 640, kThreads = 64, kLong = 477;

/// `decide` sets %r2 from %rd1, %r0 = %ctaid.x and %r1 = %tid.x; a loop runs while %r3 < %r2.
std::string kernel(const std::string& decide) {
  return ".version 8.0\n.target sm_90\n.address_size 64\n"
         ".visible .entry k(.param .u64 data, .param .u64 out, .param .u32 n)\n{\n"
         ".reg .pred %p<8>;\n.reg .b32 %r<32>;\n.reg .b64 %rd<16>;\n"
         ".shared .align 4 .b8 mem[4];\n"
         "ld.param.u64 %rd1, [data]; ld.param.u64 %rd2, [out]; ld.param.u32 %r9, [n];\n"
         "mov.u32 %r0, %ctaid.x; mov.u32 %r1, %tid.x; mov.u32 %r3, 0;\n" +
         decide +
         "\nLOOP:\nsetp.ge.s32 %p1, %r3, %r2;\n@%p1 bra DONE;\n"
         "add.u32 %r3, %r3, 1;\nbra LOOP;\nDONE:\n"
         "mad.lo.u32 %r4, %r0, 64, %r1; mul.wide.u32 %rd3, %r4, 4; add.u64 %rd3, %rd3, %rd2;\n"
         "st.global.u32 [%rd3], %r3;\nret;\n}\n";
}
/// Of the block, into %r2.
const std::string kOfBlock =
    "mul.wide.u32 %rd4, %r0, 4; add.u64 %rd5, %rd1, %rd4; ld.global.u32 %r2, [%rd5];\n";

Counters sampled(const std::string& text, const std::vector<std::int32_t>& data, bool by_data,
                 RunReport* whole = nullptr) {
  Launch l("k", {kBlocks, 1, 1}, {kThreads, 1, 1});
  l.in("data", data).out("out", std::size_t{4} * kBlocks * kThreads).value(7);
  RunOptions options;
  options.sample_blocks = 16;
  options.sample_seed = 5;
  options.by_data = by_data ? 200'000 : 0;
  options.check_initialised = options.check_races = false;
  RunReport r = l.run(load(text), options);
  if (whole != nullptr)
    *whole = r;
  else
    EXPECT_EQ(r.verdict, Verdict::kOk) << r.detail;
  return r.counters;
}

void expect_found(const std::string& text, const std::vector<std::int32_t>& data) {
  EXPECT_TRUE(decides_by_data(*load(text), "k"));
  const Counters without = sampled(text, data, false), with = sampled(text, data, true);
  EXPECT_NE(without.longest_block, kLong) << "the sample has it by chance";
  EXPECT_EQ(with.longest_block, kLong);
  EXPECT_GT(with.most_of_a_block, 10 * without.most_of_a_block);
  EXPECT_GT(with.critical_path_cycles, 5 * without.critical_path_cycles);
  // What the sample counts is the sample's alone.
  EXPECT_EQ(with.warp_instructions, without.warp_instructions);
  EXPECT_EQ(with.blocks, without.blocks);
}

std::vector<std::int32_t> one_of(std::int32_t value, std::int32_t others,
                                 std::size_t count = kBlocks, std::size_t at = kLong) {
  std::vector<std::int32_t> data(count, others);
  data[at] = value;
  return data;
}

TEST(DataKinds, ALoopThatOneBlockRunsLong) { expect_found(kernel(kOfBlock), one_of(1000, 3)); }

TEST(DataKinds, ABranchThatOneBlockTakes) {
  std::vector<std::int32_t> data(kBlocks);
  for (std::uint32_t i = 0; i < kBlocks; ++i)
    data[i] = static_cast<std::int32_t>((i + kBlocks - kLong + 300) % kBlocks);
  // As a volatile load, too; and where another condition comes first.
  const std::string decide = R"(
mul.wide.u32 %rd4, %r0, 4; add.u64 %rd5, %rd1, %rd4; ld.volatile.global.u32 %r5, [%rd5];
setp.eq.s32 %p2, %r5, 300; setp.gt.s32 %p3, %r9, 5; and.pred %p4, %p2, %p3; mov.u32 %r2, 2;
@!%p4 bra SHORT;
mov.u32 %r6, 0;
LONG: add.u32 %r6, %r6, 1; setp.lt.u32 %p5, %r6, 900; @%p5 bra LONG;
SHORT:)";
  expect_found(kernel(decide), data);
}

TEST(DataKinds, AThreadOfABlock) {
  const std::string decide =
      "mad.lo.u32 %r5, %r0, 64, %r1; mul.wide.u32 %rd4, %r5, 4; add.u64 %rd5, %rd1, %rd4;\n"
      "ld.global.u32 %r2, [%rd5];\n";
  expect_found(kernel(decide), one_of(1000, 3, std::size_t{kBlocks} * kThreads, kLong * 64 + 41));
}

TEST(DataKinds, FromOneOffsetToTheNext) {
  std::vector<std::int32_t> data(kBlocks + 1);
  for (std::uint32_t i = 0; i < kBlocks; ++i) data[i + 1] = data[i] + (i == kLong ? 1000 : 3);
  const std::string decide =
      "mul.wide.u32 %rd4, %r0, 4; add.u64 %rd5, %rd1, %rd4; ld.global.u32 %r13, [%rd5];\n"
      "ld.global.u32 %r2, [%rd5+4]; mov.u32 %r3, %r13;\n";
  expect_found(kernel(decide), data);
}

TEST(DataKinds, AtAnIndexThatIsData) {
  std::vector<std::int32_t> data(2 * kBlocks, 3);
  for (std::uint32_t i = 0; i < kBlocks; ++i) data[i] = static_cast<std::int32_t>(kBlocks + i);
  data[kBlocks + kLong] = 1000;
  const std::string decide = kOfBlock +
                             "mul.wide.s32 %rd6, %r2, 4; add.u64 %rd7, %rd1, %rd6;\n"
                             "ld.global.u32 %r10, [%rd7];\n";
  std::string text = kernel(decide);
  text.replace(text.find("%r3, %r2;\n@"), 9, "%r3, %r10;");
  expect_found(text, data);
}

TEST(DataKinds, ThroughSharedMemory) {
  const std::string decide =
      "mov.u32 %r12, mem; setp.eq.u32 %p2, %r1, 0;\n"
      "mul.wide.u32 %rd4, %r0, 4; add.u64 %rd5, %rd1, %rd4;\n"
      "@!%p2 bra READ;\nld.global.u32 %r11, [%rd5]; st.shared.u32 [%r12], %r11;\n"
      "READ: bar.sync 0; ld.shared.u32 %r2, [%r12];\n";
  expect_found(kernel(decide), one_of(1000, 3));
}

TEST(DataKinds, WhatDecidesNoLoopIsNotAsked) {
  EXPECT_FALSE(decides_by_data(*load(kernel("mov.u32 %r2, %r9;\n")), "k"));
  // A few instructions more or less.
  EXPECT_FALSE(decides_by_data(*load(kernel("mov.u32 %r2, %r9;\n"
                                            "ld.global.u32 %r5, [%rd1]; setp.gt.s32 %p2, %r5, 0;\n"
                                            "@%p2 bra NEXT;\nadd.u32 %r6, %r5, 1;\nNEXT:")),
                               "k"));
}

TEST(DataKinds, ABlockThatDoesNotEndIsSaid) {
  RunReport r;
  (void)sampled(kernel(kOfBlock), one_of(2'000'000'000, 3), true, &r);
  EXPECT_EQ(r.verdict, Verdict::kTimeout);
  EXPECT_TRUE(r.outlasted);
}

}  // namespace
}  // namespace hone::emulator
