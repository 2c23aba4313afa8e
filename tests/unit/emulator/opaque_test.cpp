// What a kernel may hold but not understand, and what it may not count on: states of mbarriers,
// bytes of tensor maps, the size of shared memory, the number of multiprocessors.
#include <fmt/format.h>

#include <set>

#include "evaluator/device/emulator/sim/opaque.h"
#include "evaluator/device/emulator/sim/tensor_map.h"
#include "tests/unit/emulator/harness.h"

namespace hone::emulator {
namespace {

std::string one_thread(const std::string& body) {
  return ".version 8.0\n.target sm_90\n.address_size 64\n"
         ".visible .entry k(.param .u64 out)\n{\n"
         ".reg .pred %p<8>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<16>;\n"
         ".shared .align 8 .b8 mem[40];\nld.param.u64 %rd0, [out];\nmov.u32 %r0, mem;\n" +
         body + "ret;\n}\n";
}

std::vector<std::uint64_t> words_of(const std::string& text, std::size_t count,
                                    std::uint64_t seed = 0, bool counters = false) {
  Launch l("k", {1, 1, 1}, {1, 1, 1});
  if (seed != 0) l.memory().begin_anywhere(seed);
  l.out("out", 8 * count);
  RunOptions options;
  options.counters = counters;
  const RunReport r = l.run(load(text), options);
  EXPECT_EQ(r.verdict, Verdict::kOk) << r.detail;
  return l.read<std::uint64_t>("out", count);
}

TEST(Opaque, ScramblingIsUndone) {
  std::set<std::uint64_t> seen;
  for (std::uint64_t k = 0; k < 1000; ++k)
    for (const std::uint32_t place : {0, 1, 7}) {
      const std::uint64_t word = k < 500 ? k : k << 32;
      EXPECT_EQ(unscrambled(scrambled(word, place), place), word);
      seen.insert(scrambled(word, place));
    }
  EXPECT_EQ(seen.size(), 3000U);
}

TEST(Opaque, StatesOfAnMBarrierSayNothingAndServe) {
  const auto words = words_of(one_thread(R"(
mbarrier.init.shared.b64 [%r0], 3;
mbarrier.arrive.shared.b64 %rd1, [%r0];
mbarrier.arrive.shared.b64 %rd2, [%r0];
mbarrier.test_wait.shared.b64 %p1, [%r0], %rd2;
mbarrier.arrive.shared.b64 %rd3, [%r0];
mbarrier.test_wait.shared.b64 %p2, [%r0], %rd3;
mbarrier.pending_count.b64 %r1, %rd2;
selp.u32 %r2, 1, 0, %p1; selp.u32 %r3, 1, 0, %p2;
mov.b64 %rd4, {%r2, %r3}; cvt.u64.u32 %rd5, %r1;
st.global.u64 [%rd0], %rd1; st.global.u64 [%rd0+8], %rd2; st.global.u64 [%rd0+16], %rd3;
st.global.u64 [%rd0+24], %rd4; st.global.u64 [%rd0+32], %rd5;
)"),
                              5);
  EXPECT_EQ(words[3], std::uint64_t{1} << 32);  // the phase was not complete, then it was
  EXPECT_EQ(words[4], 2U);
  // Of the first phase, with 3, 2 and 1 arrivals to come.
  for (int k = 0; k < 3; ++k) EXPECT_GT(words[static_cast<std::size_t>(k)] >> 8, 0U);
  EXPECT_NE(words[0] - words[1], words[1] - words[2]);
}

TEST(Opaque, BytesOfATensorMap) {
  TensorMapSpec spec;
  spec.type = TensorMapSpec::Type::kF32;
  spec.rank = 1;
  spec.address = 0x1000;
  spec.sizes[0] = 64;
  spec.box[0] = 16;
  spec.element_strides[0] = 1;
  const auto bytes = encode_tiled_tensor_map(spec);
  ASSERT_TRUE(bytes) << bytes.error().message;
  std::set<std::uint64_t> words;
  for (std::size_t k = 0; k < 16; ++k) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes->data() + 8 * k, 8);
    EXPECT_GT(word >> 16, 0U) << "word " << k << " is as small as what it stands for";
    words.insert(word);
  }
  EXPECT_EQ(words.size(), 16U) << "words that are alike look alike";
  const auto back = decode_tensor_map(*bytes);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->address, spec.address);
  EXPECT_EQ(back->sizes[0], 64U);
}

TEST(SpecialRegisters, SharedMemoryComesInUnits) {
  const auto words = words_of(one_thread(R"(
st.shared.u32 [%r0+36], 1;
mov.u32 %r1, %total_smem_size; cvt.u64.u32 %rd1, %r1; st.global.u64 [%rd0], %rd1;
)"),
                              1);
  EXPECT_EQ(words[0], 128U);
}

TEST(SpecialRegisters, HowManyMultiprocessorsThereAreOnlyTheModelKnows) {
  const std::string text = one_thread(R"(
mov.u32 %r1, %nsmid; cvt.u64.u32 %rd1, %r1; st.global.u64 [%rd0], %rd1;
mov.u32 %r2, %smid; cvt.u64.u32 %rd2, %r2; st.global.u64 [%rd0+8], %rd2;
)");
  const auto all = static_cast<std::uint64_t>(find_profile("sm_90")->sm_count);
  // In the same place of memory, too: in one call after another, and in one memory after another.
  for (const int memories : {1, 50}) {
    int few = 0, many = 0;
    std::set<std::uint64_t> seen;
    std::unique_ptr<Launch> l;
    for (int call = 0; call < 50; ++call) {
      if (call < memories) {
        l = std::make_unique<Launch>("k", std::array{1U, 1U, 1U}, std::array{1U, 1U, 1U});
        l->memory().begin_anywhere(7);
        l->out("out", 16);
      }
      RunOptions options;
      options.counters = false;
      EXPECT_EQ(l->run(load(text), options).verdict, Verdict::kOk);
      const auto words = l->read<std::uint64_t>("out", 2);
      EXPECT_LT(words[1], words[0]);
      many += words[0] == all;
      few += words[0] < all / 2;
      seen.insert(words[0]);
      l->memory().renew(l->address("out"), {});
    }
    EXPECT_EQ(few + many, 50);
    EXPECT_GT(few, 10);
    EXPECT_GT(many, 10);
    EXPECT_EQ(seen.size(), 4U);
  }
  EXPECT_EQ(words_of(text, 2, 1, true)[0], all);
}

/// A line of `x` is discarded, then thread t of 32 writes the words t below `again` of it.
RunReport discards(Launch& launch, int again, int offset = 0) {
  launch.value(again).value(offset);
  return launch.run(load(R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u32 again, .param .u32 offset)
{
.reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<8>;
ld.param.u64 %rd0, [x]; ld.param.u32 %r1, [again]; ld.param.s32 %r2, [offset];
mov.u32 %r0, %tid.x; setp.eq.u32 %p0, %r0, 0; setp.lt.u32 %p1, %r0, %r1;
mul.wide.s32 %rd1, %r2, 1; add.u64 %rd1, %rd1, %rd0;
@%p0 discard.global.L2 [%rd1], 128;
bar.sync 0;
mul.wide.u32 %rd2, %r0, 4; add.u64 %rd2, %rd2, %rd0;
@%p1 st.global.u32 [%rd2], %r0;
ret;
}
)"));
}

TEST(Discard, OfAnInputIsAWrite) {
  Launch l("k", {1, 1, 1}, {32, 1, 1});
  l.in("x", ramp(64));
  EXPECT_EQ(discards(l, 0).verdict, Verdict::kOk);
  EXPECT_TRUE(l.memory().was_written(l.address("x")));
  EXPECT_EQ(l.memory().first_unwritten(l.address("x"), 256), 0);
  EXPECT_EQ(l.memory().first_unwritten(l.address("x") + 128, 128), -1);
  EXPECT_NE(l.read<float>("x", 64)[3], ramp(64)[3]);
  EXPECT_EQ(l.read<float>("x", 64)[33], ramp(64)[33]);
}

TEST(Discard, WhatIsWrittenAfterItIsThere) {
  for (const int again : {32, 5}) {
    Launch l("k", {1, 1, 1}, {32, 1, 1});
    l.out("x", 128);
    EXPECT_EQ(discards(l, again).verdict, Verdict::kOk);
    EXPECT_EQ(l.memory().first_unwritten(l.address("x"), 128), again == 32 ? -1 : 4 * again);
  }
}

TEST(Discard, NeedsALineOfABuffer) {
  for (const auto& [offset, what] :
       std::map<int, const char*>{{4, "misaligned discard"}, {1 << 20, "out-of-bounds discard"}}) {
    Launch l("k", {1, 1, 1}, {32, 1, 1});
    l.out("x", 128);
    const RunReport r = discards(l, 32, offset);
    EXPECT_EQ(r.verdict, Verdict::kFault);
    EXPECT_TRUE(r.detail.starts_with(what)) << r.detail;
  }
}

TEST(Discard, RacesWithOtherBlocks) {
  Launch l("k", {2, 1, 1}, {32, 1, 1});
  l.out("x", 128);
  const RunReport r = discards(l, 32);
  EXPECT_EQ(r.verdict, Verdict::kRace) << r.detail;
}

std::uint64_t cycles_of(const std::string& what, const char* name) {
  const std::string text = fmt::format(R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{{
.reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<8>;
ld.param.u64 %rd0, [x]; mov.u32 %r0, %tid.x;
mul.wide.u32 %rd1, %r0, 128; add.u64 %rd1, %rd1, %rd0;
st.global.u32 [%rd1], %r0;
{}
ret;
}}
)",
                                       what);
  Launch l("k", {1, 1, 1}, {32, 1, 1});
  l.out("x", 128 * 32);
  RunOptions options;
  options.counters = true;
  const Counters c = l.run(load(text), options).counters;
  return std::string(name) == "fences" ? c.fence_cycles
         : std::string(name) == "path" ? c.critical_path_cycles
                                       : c.l1_wavefronts;
}

/// They are what ptxas makes of them: two MEMBARs and a CCTL, one MEMBAR, or nothing that waits.
TEST(Cost, ProxyFencesThatAreMembars) {
  const std::uint64_t device = cycles_of("membar.gl;", "fences");
  const std::uint64_t both = device + cycles_of("membar.sys;", "fences");
  EXPECT_EQ(cycles_of("fence.proxy.alias;", "fences"), both);
  EXPECT_EQ(cycles_of("membar.proxy.alias;", "fences"), both);
  EXPECT_EQ(cycles_of("fence.proxy.async;", "fences"), device);
  EXPECT_EQ(cycles_of("fence.proxy.async.global;", "fences"), 0U);
  EXPECT_EQ(cycles_of("fence.proxy.async.shared::cta;", "fences"), 0U);
  EXPECT_EQ(cycles_of("fence.proxy.tensormap::generic.release.gpu;", "fences"), device);
  EXPECT_GT(cycles_of("fence.proxy.alias;", "path"), cycles_of("membar.gl;", "path"));
}

TEST(Cost, HintsAreARequestForEachLine) {
  for (const char* hint : {"applypriority.global.L2::evict_normal [%rd1], 128;",
                           "discard.global.L2 [%rd1], 128;", "prefetch.global.L2 [%rd1];"})
    EXPECT_EQ(cycles_of(hint, "L1") - cycles_of("", "L1"), 32U) << hint;
  EXPECT_EQ(cycles_of("prefetch.global.L2 [%rd0];", "L1"), 1U);
}

}  // namespace
}  // namespace hone::emulator
