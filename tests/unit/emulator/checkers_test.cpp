// For each checker a kernel that breaks exactly that rule, and a twin that does not.
#include <atomic>

#include "tests/unit/emulator/harness.h"

namespace hone::emulator {
namespace {

void expect(const RunReport& r, Verdict verdict, std::initializer_list<std::string> words) {
  EXPECT_EQ(r.verdict, verdict) << to_string(r.verdict) << ": " << r.detail;
  for (const auto& w : words)
    EXPECT_NE(r.detail.find(w), std::string::npos) << "no '" << w << "' in: " << r.detail;
}

std::string line(const std::string& text, const std::string& after) {
  return "line " + std::to_string(source_line(text, after)) + ",";
}

RunReport run_on_output(const char* kernel, std::uint32_t threads, std::size_t bytes) {
  Launch l(kernel, {1, 1, 1}, {threads, 1, 1});
  l.out("out", bytes);
  return l.run(kernels());
}

TEST(Checkers, OutOfBoundsWrite) {
  Launch bad("write_past_end", {4, 1, 1}, {32, 1, 1});
  bad.out("out", 400).value(100);
  expect(bad.run(kernels()), Verdict::kFault,
         {"out-of-bounds write of 4 B at out+400 (buffer of 400 B)", "block (3,0,0)",
          "thread (4,0,0)", line("if (i <= n)", "write_past_end")});
  Launch good("write_past_end_clean", {4, 1, 1}, {32, 1, 1});
  good.out("out", 400).value(100);
  expect(good.run(kernels()), Verdict::kOk, {});
}

TEST(Checkers, OutOfBoundsReadBeforeTheBuffer) {
  Launch bad("read_before_start", {1, 1, 1}, {32, 1, 1});
  bad.in("x", ramp(32)).out("out", 128).value(1);
  expect(bad.run(kernels()), Verdict::kFault,
         {"out-of-bounds read of 4 B at x-4", "thread (0,0,0)"});
  Launch good("read_before_start", {1, 1, 1}, {32, 1, 1});
  good.in("x", ramp(32)).out("out", 128).value(0);
  expect(good.run(kernels()), Verdict::kOk, {});
}

TEST(Checkers, Misaligned) {
  Launch bad("misaligned", {1, 1, 1}, {8, 1, 1});
  bad.in("x", ramp(64)).out("out", 128).value(1);
  expect(bad.run(kernels()), Verdict::kFault, {"misaligned read of 16 B at x+4", "thread (0,0,0)"});
  Launch good("misaligned", {1, 1, 1}, {8, 1, 1});
  good.in("x", ramp(64)).out("out", 128).value(4);
  expect(good.run(kernels()), Verdict::kOk, {});
}

TEST(Checkers, SharedOutOfBounds) {
  Launch bad("shared_past_end", {1, 1, 1}, {32, 1, 1});
  bad.out("out", 128).value(5);
  expect(bad.run(kernels()), Verdict::kFault,
         {"out-of-bounds read of 4 B at shared", "thread (27,0,0)"});
  Launch good("shared_past_end", {1, 1, 1}, {32, 1, 1});
  good.out("out", 128).value(0);
  expect(good.run(kernels()), Verdict::kOk, {});
}

TEST(Checkers, RaceBetweenWarps) {
  expect(run_on_output("race_between_warps", 64, 256), Verdict::kRace,
         {"race: write of shared race_between_warps::s+128", "after a read by thread (31,0,0)",
          line("s[threadIdx.x] =", "race_between_warps")});
  expect(run_on_output("race_between_warps_clean", 64, 256), Verdict::kOk, {});
}

TEST(Checkers, RaceInsideAWarp) {
  expect(run_on_output("race_inside_warp", 32, 128), Verdict::kRace, {"race: read of shared"});
  expect(run_on_output("race_inside_warp_clean", 32, 128), Verdict::kOk, {});
}

TEST(Checkers, RaceOfAWriteAfterReads) {
  for (bool clean : {false, true}) {
    Launch l(clean ? "race_missing_second_barrier_clean" : "race_missing_second_barrier", {1, 1, 1},
             {64, 1, 1});
    l.in("x", ramp(256)).out("out", 256);
    if (clean)
      expect(l.run(kernels()), Verdict::kOk, {});
    else
      expect(l.run(kernels()), Verdict::kRace, {"race: write of shared", "after a read by"});
  }
}

TEST(Checkers, RaceOnBytes) {
  expect(run_on_output("race_same_byte", 64, 64), Verdict::kRace,
         {"race: write of shared", "after a write by"});
  expect(run_on_output("race_same_byte_clean", 64, 64), Verdict::kOk, {});
}

TEST(Checkers, NoRaceWhereThereIsNone) {
  Launch flag("flag_all_write", {1, 1, 1}, {128, 1, 1});
  flag.out("out", 512).value(70);
  expect(flag.run(kernels()), Verdict::kOk, {});
  Launch histogram("histogram_shared", {1, 1, 1}, {96, 1, 1});
  histogram.in("x", std::vector<int>(1000, 3)).out("out", 64).value(1000);
  expect(histogram.run(kernels()), Verdict::kOk, {});
  EXPECT_EQ(histogram.read<int>("out", 16)[3], 1000);
  Launch reduce("volatile_warp_reduce", {1, 1, 1}, {64, 1, 1});
  reduce.in("x", std::vector<float>(64, 1.f)).out("out", 4);
  expect(reduce.run(kernels()), Verdict::kOk, {});
  EXPECT_EQ(reduce.read<float>("out", 1)[0], 64.f);
}

TEST(Checkers, RacesAreNotLookedForWhenOff) {
  Launch l("race_between_warps", {1, 1, 1}, {64, 1, 1});
  l.out("out", 256);
  RunOptions options;
  options.check_races = options.check_initialised = false;
  expect(l.run(kernels(), options), Verdict::kOk, {});
}

TEST(Checkers, UninitialisedShared) {
  Launch bad("shared_never_written", {1, 1, 1}, {64, 1, 1});
  bad.out("out", 256).value(50);
  expect(
      bad.run(kernels()), Verdict::kFault,
      {"uninitialised value of shared", "+200", "is stored to global memory", "thread (50,0,0)"});
  Launch good("shared_never_written", {1, 1, 1}, {64, 1, 1});
  good.out("out", 256).value(64);
  expect(good.run(kernels()), Verdict::kOk, {});
  Launch unused("uninitialised_selected_away", {1, 1, 1}, {64, 1, 1});
  unused.out("out", 256).value(50);
  expect(unused.run(kernels()), Verdict::kOk, {});
}

TEST(Checkers, UninitialisedOutput) {
  expect(run_on_output("accumulates_into_output", 32, 128), Verdict::kFault,
         {"uninitialised value of out+0", "is stored to global memory"});
  Launch good("accumulates_into_output", {1, 1, 1}, {32, 1, 1});
  good.in("out", std::vector<float>(32, 1.f));
  expect(good.run(kernels()), Verdict::kOk, {});
}

TEST(Checkers, UninitialisedBranchAndAddress) {
  for (const char* kernel : {"uninitialised_branch", "uninitialised_address"}) {
    Launch bad(kernel, {1, 1, 1}, {32, 1, 1});
    bad.out("scratch", 128).in("out", std::vector<int>(32));
    const bool branch = std::string(kernel) == "uninitialised_branch";
    expect(bad.run(kernels()), Verdict::kFault,
           {"uninitialised value of scratch", branch ? "decides" : "is used as an address"});
    Launch good(kernel, {1, 1, 1}, {32, 1, 1});
    good.in("scratch", std::vector<int>(32, 2)).in("out", std::vector<int>(32));
    expect(good.run(kernels()), Verdict::kOk, {});
  }
}

TEST(Checkers, DivergentBarrier) {
  expect(run_on_output("divergent_barrier", 64, 256), Verdict::kFault,
         {"divergent barrier", line("__syncthreads", "divergent_barrier")});
  Launch good("early_exit_barrier", {1, 1, 1}, {64, 1, 1});
  good.out("out", 256).value(40);
  expect(good.run(kernels()), Verdict::kOk, {});
}

TEST(Checkers, MissingLanes) {
  expect(run_on_output("shuffle_missing_lanes", 32, 128), Verdict::kFault,
         {"names lanes that never reach it"});
  expect(run_on_output("shuffle_half_mask", 32, 128), Verdict::kOk, {});
}

// Two tiles of a warp vote in one instruction: each hears only itself.
TEST(Checkers, TilesVoteByThemselves) {
  Launch l("tiles", {1, 1, 1}, {32, 1, 1});
  l.out("y", 128).value(1);
  expect(l.run(kernels("checkers/warp_masks.ptx")), Verdict::kOk, {});
  const auto y = l.read<std::uint32_t>("y", 32);
  for (std::uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(y[i], (i ^ 1) + (i < 16 ? 0xAAAAu : 0xAAAA0000u));
}

TEST(Checkers, EndlessLoop) {
  Launch l("endless", {1, 1, 1}, {32, 1, 1});
  l.in("out", std::vector<int>{0});
  RunOptions options;
  options.max_warp_instructions = 1'000'000;
  expect(l.run(kernels(), options), Verdict::kTimeout, {"1000000"});
  std::atomic<bool> cancel{true};
  options.max_warp_instructions = ~0ull;
  options.cancel = &cancel;
  expect(l.run(kernels(), options), Verdict::kTimeout, {"cancelled"});
}

TEST(Checkers, LaunchLimits) {
  const auto with = [](std::array<std::uint32_t, 3> grid, std::array<std::uint32_t, 3> block,
                       std::uint32_t shared) {
    Launch l("bounded", grid, block);
    l.shared(shared).out("out", 1 << 16);
    return l.run(kernels());
  };
  expect(with({1, 1, 1}, {64, 1, 1}, 0), Verdict::kOk, {});
  expect(with({1, 1, 1}, {65, 1, 1}, 0), Verdict::kLaunchError, {"compiled for at most 64"});
  expect(with({1, 1, 1}, {2048, 1, 1}, 0), Verdict::kLaunchError, {"1024"});
  expect(with({1, 1, 1}, {1, 1, 0}, 0), Verdict::kLaunchError, {});
  expect(with({1, 70000, 1}, {1, 1, 1}, 0), Verdict::kLaunchError, {"grid"});
  expect(with({1, 1, 1}, {32, 1, 1}, 232449), Verdict::kLaunchError, {"shared memory"});
  Launch unknown("no_such", {1, 1, 1}, {1, 1, 1});
  expect(unknown.run(kernels()), Verdict::kLaunchError, {"no_such"});
}

TEST(Checkers, UnsupportedOnlyWhenReached) {
  auto module = load(R"(.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out, .param .u32 go)
{
.reg .pred %p<2>; .reg .b32 %r<3>; .reg .b64 %rd<2>; .reg .f32 %f<2>;
ld.param.u64 %rd0, [out]; ld.param.u32 %r0, [go];
setp.eq.u32 %p0, %r0, 0;
@%p0 bra SKIP;
tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd0], [%rd0], 128;
SKIP: st.global.u32 [%rd0], %r0;
ret;
}
)");
  for (int go : {0, 1}) {
    Launch l("k", {1, 1, 1}, {1, 1, 1});
    l.out("out", 1024).value(go);
    if (go)
      expect(l.run(module), Verdict::kUnsupported, {"tensormap."});
    else
      expect(l.run(module), Verdict::kOk, {});
  }
}

// NVRTC shortens an array to what is used of it, here 28 of 32 bytes, and still reads its last
// elements as a vector; what is behind the array up to its alignment belongs to nobody.
TEST(Checkers, AVectorMayReadThePaddingOfItsArray) {
  auto module = load(R"(.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out, .param .u32 at)
{
.reg .b32 %r<6>; .reg .b64 %rd<2>;
.shared .align 16 .b8 tile[28];
.shared .align 4 .b8 next[4];
ld.param.u64 %rd0, [out]; ld.param.u32 %r0, [at];
mov.u32 %r1, tile;
st.shared.v4.u32 [tile], {%r0, %r0, %r0, %r0};
st.shared.v2.u32 [tile+16], {%r0, %r0};
st.shared.u32 [tile+24], %r0;
st.shared.u32 [next], %r0;
add.u32 %r1, %r1, %r0;
ld.shared.v4.u32 {%r2, %r3, %r4, %r5}, [%r1];
st.global.u32 [%rd0], %r4;
ret;
}
.visible .entry scalar(.param .u64 out, .param .u32 at)
{
.reg .b32 %r<3>; .reg .b64 %rd<2>;
.shared .align 16 .b8 tile[28];
ld.param.u64 %rd0, [out]; ld.param.u32 %r0, [at];
mov.u32 %r1, tile;
add.u32 %r1, %r1, %r0;
st.shared.u32 [tile+24], %r0;
ld.shared.u32 %r2, [%r1];
st.global.u32 [%rd0], %r2;
ret;
}
)");
  const auto run = [&](const char* kernel, int at) {
    Launch l(kernel, {1, 1, 1}, {1, 1, 1});
    l.out("out", 4).value(at);
    return l.run(module);
  };
  expect(run("k", 16), Verdict::kOk, {});
  expect(run("k", 32), Verdict::kFault, {"out-of-bounds read of 16 B"});
  expect(run("scalar", 24), Verdict::kOk, {});
  expect(run("scalar", 28), Verdict::kFault, {"out-of-bounds read of 4 B"});
}

}  // namespace
}  // namespace hone::emulator
