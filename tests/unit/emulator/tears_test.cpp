// Ordered stores of more than eight bytes are seen in parts: of two seeds that follow each other
// one shows whoever takes a part for a sign of the rest, whatever else goes on.
#include <fmt/format.h>

#include "tests/unit/emulator/harness.h"

namespace hone::emulator {
namespace {

constexpr std::uint32_t kReaders = 3;
constexpr std::uint64_t kSeeds = 24;

/// Block 0 does `writes`, the others `reads`, each a thread with %x0 at 32 bytes of 0 that all
/// share; who reads stores %r9 to its word of `out`.
std::string kernel(const std::string& writes, const std::string& reads) {
  return fmt::format(R"(.version 8.7
.target sm_100
.address_size 64
.visible .entry k(.param .u64 data, .param .u64 out)
{{
.reg .pred %p<8>; .reg .b32 %r<32>; .reg .b64 %x<16>; .reg .b128 %q<4>;
ld.param.u64 %x0, [data]; ld.param.u64 %x2, [out];
mov.u32 %r4, %ctaid.x; mul.wide.u32 %x3, %r4, 4; add.u64 %x2, %x2, %x3;
mov.u32 %r7, 1; mov.u32 %r8, 42; mov.u32 %r5, 0;
mov.u64 %x7, 1; mov.u64 %x8, 42;
setp.eq.u32 %p0, %r4, 0;
@!%p0 bra READS;
{}
bra END;
READS:
{}
st.global.u32 [%x2], %r9;
END:
ret;
}}
)",
                     writes, reads);
}

std::string wait_for(const std::string& loads, const std::string& flag) {
  return "WAIT: " + loads + " setp.eq.u32 %p1, " + flag + ", 0; @%p1 bra WAIT;\n";
}

struct Exchange {
  std::string name, writes, reads;
};
void PrintTo(const Exchange& exchange, std::ostream* out) { *out << exchange.name; }

/// What the readers found; empty where the run failed.
std::vector<int> run(const std::shared_ptr<const Module>& module, std::uint64_t seed) {
  Launch l("k", {1 + kReaders, 1, 1}, {1, 1, 1});
  l.in("data", std::vector<int>(8)).in("out", std::vector<int>(1 + kReaders));
  RunOptions options;
  options.schedule_seed = seed;
  options.max_warp_instructions = 20'000'000;
  const RunReport r = l.run(module, options);
  EXPECT_EQ(r.verdict, Verdict::kOk) << seed << " " << r.detail;
  auto out = l.read<int>("out", 1 + kReaders);
  out.erase(out.begin());
  return out;
}

const std::vector<int> kRight(kReaders, 42);

class Torn : public ::testing::TestWithParam<Exchange> {};

TEST_P(Torn, OneOfTwoSeedsMisleads) {
  const auto module = load(kernel(GetParam().writes, GetParam().reads));
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const bool right = run(module, seed) == kRight && run(module, seed + 1) == kRight;
    EXPECT_FALSE(right) << seed;
  }
  EXPECT_EQ(run(module, 0), kRight);
}

const std::string kFlagLast = "st.volatile.global.v4.u32 [%x0], {%r8, %r5, %r5, %r7};\n";
const std::string kAll = "ld.volatile.global.v4.u32 {%r9, %r10, %r11, %r12}, [%x0];";
const std::string kAfterWork = R"(mov.u32 %r20, 0;
WORK: mad.lo.u32 %r21, %r20, %r20, %r21; add.u32 %r20, %r20, 1; setp.lt.u32 %p2, %r20, 20000;
@%p2 bra WORK;
)";

INSTANTIATE_TEST_SUITE_P(
    All, Torn,
    ::testing::Values(
        Exchange{"FlagLast", kFlagLast, wait_for(kAll, "%r12")},
        Exchange{"FlagFirst", "st.volatile.global.v4.u32 [%x0], {%r7, %r5, %r8, %r8};\n",
                 wait_for("ld.volatile.global.v4.u32 {%r10, %r11, %r12, %r9}, [%x0];", "%r10")},
        Exchange{"Relaxed", "st.relaxed.gpu.global.v2.u64 [%x0], {%x8, %x7};\n",
                 wait_for("ld.relaxed.gpu.global.v2.u64 {%x9, %x10}, [%x0]; cvt.u32.u64 %r9, %x9;"
                          " cvt.u32.u64 %r10, %x10;",
                          "%r10")},
        Exchange{"Released", "st.release.gpu.global.v4.u32 [%x0], {%r8, %r5, %r5, %r7};\n",
                 wait_for("ld.acquire.gpu.global.v4.u32 {%r9, %r10, %r11, %r12}, [%x0];", "%r12")},
        Exchange{"ByAnyAddress", "st.volatile.v4.u32 [%x0], {%r8, %r5, %r5, %r7};\n",
                 wait_for("ld.volatile.v4.u32 {%r9, %r10, %r11, %r12}, [%x0];", "%r12")},
        Exchange{"TheFlagAloneIsPolled", kFlagLast,
                 wait_for("ld.volatile.global.u32 %r12, [%x0+12];", "%r12") +
                     "ld.volatile.global.u32 %r9, [%x0];\n"},
        Exchange{"OneOfFourParts", "st.relaxed.gpu.global.v4.u64 [%x0], {%x8, %x8, %x7, %x7};\n",
                 wait_for("ld.relaxed.gpu.global.v4.u64 {%x9, %x10, %x11, %x12}, [%x0];"
                          " cvt.u32.u64 %r9, %x10; cvt.u32.u64 %r10, %x11;",
                          "%r10")},
        Exchange{"AFenceFollows", kFlagLast + "membar.gl;\n", wait_for(kAll, "%r12")},
        Exchange{"AfterLongWork", kFlagLast, kAfterWork + wait_for(kAll, "%r12")},
        Exchange{"WhileOthersLookAtTheValue", kFlagLast, R"(setp.lt.u32 %p3, %r4, 3; @!%p3 bra POLL;
mov.u32 %r9, 42;
VALUE: ld.volatile.global.u32 %r13, [%x0]; setp.eq.u32 %p1, %r13, 0; @%p1 bra VALUE;
bra STORE;
POLL:
)" + wait_for(kAll, "%r12") + "STORE:\n"}),
    [](const auto& info) { return info.param.name; });

class Whole : public ::testing::TestWithParam<Exchange> {};

TEST_P(Whole, NoSeedMisleads) {
  const auto module = load(kernel(GetParam().writes, GetParam().reads));
  for (std::uint64_t seed = 0; seed <= kSeeds; ++seed) EXPECT_EQ(run(module, seed), kRight) << seed;
}

INSTANTIATE_TEST_SUITE_P(
    All, Whole,
    ::testing::Values(
        Exchange{"WordsOf128Bits",
                 "mov.b128 %q0, {%x8, %x7}; st.relaxed.gpu.global.b128 [%x0], %q0;\n",
                 wait_for("ld.relaxed.gpu.global.b128 %q1, [%x0]; mov.b128 {%x9, %x10}, %q1;"
                          " cvt.u32.u64 %r9, %x9; cvt.u32.u64 %r10, %x10;",
                          "%r10")},
        Exchange{"PairsOfWords", "st.volatile.global.v2.u32 [%x0], {%r8, %r7};\n",
                 wait_for("ld.volatile.global.v2.u32 {%r9, %r10}, [%x0];", "%r10")},
        Exchange{"AFlagInEachPair", "st.volatile.global.v4.u32 [%x0], {%r8, %r7, %r8, %r7};\n",
                 wait_for(kAll + " and.b32 %r10, %r10, %r12;", "%r10")},
        Exchange{"AFlagBehindAFence",
                 "st.volatile.global.v4.u32 [%x0], {%r8, %r5, %r5, %r8}; membar.gl;\n"
                 "st.volatile.global.u32 [%x0+16], %r7;\n",
                 wait_for("ld.volatile.global.u32 %r10, [%x0+16];", "%r10") + "membar.gl;\n" +
                     kAll + "\n"},
        Exchange{"NobodyReadsIt", "st.volatile.global.v4.u32 [%x0], {%r8, %r5, %r5, %r7};\n",
                 kAfterWork + "mov.u32 %r9, 42;\n"},
        // Who has the lock stores in parts, while all others spin for it.
        Exchange{"UnderALock", R"(TAKE: atom.acquire.gpu.global.cas.b32 %r6, [%x0+16], 0, 1;
setp.ne.u32 %p1, %r6, 0; @%p1 bra TAKE;
st.volatile.global.v4.u32 [%x0], {%r8, %r5, %r5, %r7};
membar.gl; atom.release.gpu.global.exch.b32 %r6, [%x0+16], 0;
)",
                 R"(AGAIN: atom.acquire.gpu.global.cas.b32 %r6, [%x0+16], 0, 1;
setp.ne.u32 %p1, %r6, 0; @%p1 bra AGAIN;
)" + kAll + "\nmembar.gl; atom.release.gpu.global.exch.b32 %r6, [%x0+16], 0;\n" +
                     "setp.eq.u32 %p1, %r12, 0; @%p1 bra AGAIN;\n"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace hone::emulator
