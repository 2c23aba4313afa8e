// Machine code read back: what kernels whose PTX is known were compiled to.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "evaluator/compile/compile.h"
#include "evaluator/device/emulator/emulator.h"
#include "evaluator/sass/block_counts.h"
#include "evaluator/sass/code_hash.h"
#include "evaluator/sass/local_accesses.h"

namespace hone::sass {
namespace {

CompiledProgram build(const std::string& source, const std::string& kernel,
                      const std::string& arch = "sm_90") {
  auto program = compile::compile_program({.source = source, .kernels = {kernel}, .arch = arch});
  EXPECT_EQ(program.verdict, Verdict::kOk) << program.log;
  return program;
}

/// Sums 6 x 6 products in a loop; `bounds` may leave too few registers for them.
std::string products(const std::string& bounds) {
  return "extern \"C\" __global__ " + bounds + R"( void products(const float* x, float* y, int n) {
  float sum[6][6] = {};
  for (int k = 0; k < n; ++k) {
    float a[6], b[6];
#pragma unroll
    for (int i = 0; i < 6; ++i) { a[i] = x[k * 32 + i]; b[i] = x[k * 32 + 16 + i + threadIdx.x]; }
#pragma unroll
    for (int i = 0; i < 6; ++i)
#pragma unroll
      for (int j = 0; j < 6; ++j) sum[i][j] += a[i] * b[j];
  }
#pragma unroll
  for (int i = 0; i < 6; ++i)
#pragma unroll
    for (int j = 0; j < 6; ++j) y[(threadIdx.x * 6 + i) * 6 + j] = sum[i][j];
}
)";
}

int count(const std::vector<Instruction>& code, Op op) {
  return static_cast<int>(std::ranges::count(code, op, &Instruction::op));
}

TEST(Sass, InstructionsAreWhatPtxSays) {
  for (const std::string arch : {"sm_75", "sm_80", "sm_89", "sm_90", "sm_100", "sm_120"}) {
    const auto program = build(R"(
extern "C" __global__ void k(const float* x, float* y, int n) {
  __shared__ float s[64];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  float sum = 0;
#pragma unroll 1
  for (int i = 0; i < n; ++i) sum += s[(threadIdx.x + i) & 63];
  y[threadIdx.x] = sum;
})",
                               "k", arch);
    const auto cubin = Cubin::read(program.cubin);
    ASSERT_TRUE(cubin) << arch;
    EXPECT_EQ("sm_" + std::to_string(cubin->arch()), arch);
    const Function* k = cubin->find("k");
    ASSERT_NE(k, nullptr);
    const auto code = decode(k->code, cubin->arch());
    EXPECT_EQ(count(code, Op::kLoadGlobal), 1) << arch;
    EXPECT_EQ(count(code, Op::kStoreGlobal), 1) << arch;
    EXPECT_EQ(count(code, Op::kStoreShared), 1) << arch;
    EXPECT_EQ(count(code, Op::kLoadShared), 1) << arch;
    EXPECT_EQ(count(code, Op::kBarrier), 1) << arch;
    EXPECT_EQ(count(code, Op::kLoadLocal) + count(code, Op::kStoreLocal), 0) << arch;
    // One loop, and what is in it.
    const Flow flow = flow_of(code);
    const auto in_loop = [&](Op op) {
      for (const Block& block : flow.blocks)
        for (std::size_t i = block.begin; i < block.end; ++i)
          if (code[i].op == op) return block.loop >= 0;
      return false;
    };
    EXPECT_TRUE(in_loop(Op::kLoadShared)) << arch;
    EXPECT_FALSE(in_loop(Op::kLoadGlobal)) << arch;
    EXPECT_FALSE(in_loop(Op::kStoreGlobal)) << arch;
    // Where each came from, the file says.
    ASSERT_EQ(k->lines.size(), code.size()) << arch;
    for (std::size_t i = 0; i < code.size(); ++i) {
      if (code[i].op != Op::kLoadGlobal) continue;
      std::size_t begin = 0;
      for (std::uint32_t line = 1; line < k->lines[i].line; ++line)
        begin = program.ptx.find('\n', begin) + 1;
      const std::string line = program.ptx.substr(begin, program.ptx.find('\n', begin) - begin);
      EXPECT_NE(line.find("ld.global"), line.npos) << arch << ": " << line;
    }
  }
}

TEST(Sass, TablesOfJumpsLeadWhereTheFileSays) {
  for (const std::string arch : {"sm_80", "sm_90", "sm_100"}) {
    const auto program = build(R"(
extern "C" __global__ void k(float* y, int n) {
  float x = y[threadIdx.x];
  asm volatile("{.reg .u32 t; ways: .branchtargets W0, W1, W2, W3, W4, W5, W6, W7; and.b32 t, %1, 7;"
      "brx.idx t, ways; W0: sqrt.rn.f32 %0, %0; bra END; W1: mul.f32 %0, %0, %0; bra END;"
      "W2: ex2.approx.f32 %0, %0; bra END; W3: sin.approx.f32 %0, %0; bra END;"
      "W4: add.f32 %0, %0, 0f40000000; bra END; W5: rcp.approx.f32 %0, %0; bra END;"
      "W6: lg2.approx.f32 %0, %0; bra END; W7: cos.approx.f32 %0, %0; END:}" : "+f"(x) : "r"(n));
  y[threadIdx.x] = x;
})",
                               "k", arch);
    const auto cubin = Cubin::read(program.cubin);
    ASSERT_TRUE(cubin) << arch;
    const Function* k = cubin->find("k");
    ASSERT_NE(k, nullptr);
    const auto code = decode(k->code, cubin->arch());
    ASSERT_EQ(count(code, Op::kBranchIndexed), 1) << arch;
    ASSERT_EQ(k->jumps.size(), 1U) << arch;
    EXPECT_GE(k->jumps[0].targets.size(), 4U) << arch;
    EXPECT_FALSE(jumps_anywhere(code, k->jumps)) << arch;
    EXPECT_TRUE(jumps_anywhere(code, {})) << arch;
    const Flow flow = flow_of(code, k->jumps);
    for (const std::uint64_t target : k->jumps[0].targets)
      EXPECT_TRUE(std::ranges::any_of(flow.blocks, [&](const Block& block) {
        return block.begin * kInstructionBytes == target && block.from_start;
      })) << arch;
  }
}

/// What the emulator counts by PTX line when eight warps run `products` with `n`.
PtxCounts counted(const CompiledProgram& program, int n) {
  const auto module = emulator::Module::parse(program.ptx);
  EXPECT_TRUE(module);
  emulator::Memory memory;
  const auto zeros = [](std::uint64_t, std::uint8_t* out, std::size_t size) {
    std::memset(out, 0, size);
  };
  const std::uint64_t x = memory.allocate("x", 1 << 20, true, zeros);
  const std::uint64_t y = memory.allocate("y", 1 << 20, true, zeros);
  emulator::LaunchConfig launch{.kernel = "products", .block = {256, 1, 1}};
  launch.parameters.resize(20);
  std::memcpy(launch.parameters.data(), &x, 8);
  std::memcpy(launch.parameters.data() + 8, &y, 8);
  std::memcpy(launch.parameters.data() + 16, &n, 4);
  emulator::RunOptions options;
  options.check_races = false;
  options.count_lines = true;
  auto report = emulator::run(**module, launch, memory, options);
  EXPECT_EQ(report.verdict, Verdict::kOk) << report.detail;
  return {.by_line = std::move(report.line_counts),
          .warps = static_cast<std::int64_t>(report.counters.warps)};
}

TEST(Sass, SpillsInALoopAreCountedAsOftenAsItRuns) {
  const auto spilling = build(products("__launch_bounds__(1024, 2)"), "products");
  ASSERT_GT(spilling.kernels[0].resources.spill_bytes, 0);
  const auto cubin = Cubin::read(spilling.cubin);
  ASSERT_TRUE(cubin);
  const auto few = local_accesses(*cubin, "products", counted(spilling, 100));
  const auto many = local_accesses(*cubin, "products", counted(spilling, 1100));
  // Each further iteration of each warp reloads what the loop spilled, and no more than that.
  const double per_trip = (many.loads - few.loads) / (8 * 1000);
  EXPECT_GE(per_trip, 4);
  EXPECT_LE(per_trip, spilling.kernels[0].resources.spill_bytes / 4.0);
  EXPECT_GT(few.words_in_loops, 0);
  EXPECT_EQ(many.words_in_loops, few.words_in_loops);

  const auto roomy = build(products(""), "products");
  const auto other = Cubin::read(roomy.cubin);
  ASSERT_TRUE(other);
  EXPECT_EQ(local_accesses(*other, "products", counted(roomy, 100)).loads, 0);
}

TEST(Sass, WithoutLinesASpillIsChargedAtTheHottestCount) {
  const auto spilling = build(products("__launch_bounds__(1024, 2)"), "products");
  const auto cubin = Cubin::read(spilling.cubin);
  ASSERT_TRUE(cubin);
  Function bare = *cubin->find("products");
  bare.lines.clear();
  const auto code = decode(bare.code, cubin->arch());
  const Flow flow = flow_of(code);
  const auto counts = block_counts(bare, code, flow, {.by_line = {-1, 8, 4000}, .warps = 8}, true);
  for (std::size_t b = 0; b < counts.size(); ++b) {
    const Block& block = flow.blocks[b];
    EXPECT_EQ(counts[b], block.loop >= 0 || !block.from_start ? 4000 : 8) << b;
  }
}

/// Machine code of the given instructions, all of one PTX line.
struct Made {
  std::vector<Instruction> code;
  Function function;
};
Instruction made(Op op, std::uint16_t opcode) { return {.op = op, .opcode = opcode}; }

TEST(Sass, AnUnrolledLoopAndItsRemainderShareWhatPtxCounted) {
  // 0: before; 1..4: four copies, back to 1; 6: the remainder, back to 6; then the end.
  Made m;
  const auto add = [&](Instruction in, std::uint32_t line) {
    m.code.push_back(in);
    m.function.lines.push_back({line, true});
  };
  add(made(Op::kOther, 1), 1);
  for (int i = 0; i < 4; ++i) add(made(Op::kLoadShared, 0x984), 2);
  Instruction back = made(Op::kBranch, 0x947);
  back.conditional = true;
  back.target = 1 * 16;
  add(back, 3);
  add(made(Op::kLoadShared, 0x984), 2);
  back.target = 6 * 16;
  add(back, 3);
  add(made(Op::kExit, 0x94D), 4);
  const Flow flow = flow_of(m.code);
  ASSERT_EQ(flow.blocks.size(), 4U);
  ASSERT_EQ(flow.loops.size(), 2U);
  const auto counts = block_counts(m.function, m.code, flow,
                                   {.by_line = {-1, 10, 1700, 1700, 10}, .warps = 10}, true);
  EXPECT_NEAR(4 * counts[1] + counts[2], 1700, 1e-6) << "all copies are what PTX ran";
  EXPECT_NEAR(counts[1], 400, 1e-6);
  EXPECT_EQ(counts[0], 10);
  EXPECT_EQ(counts[3], 10);
}

TEST(Sass, LoopsInLoops) {
  // 0; 1 head of the outer; 2 the inner; 3 back to 1; 4 end.
  std::vector<Instruction> code(5);
  Instruction back = made(Op::kBranch, 0x947);
  back.conditional = true;
  code[2] = back;
  code[2].target = 2 * 16;
  code[3] = back;
  code[3].target = 1 * 16;
  code[4] = made(Op::kExit, 0x94D);
  const Flow flow = flow_of(code);
  ASSERT_EQ(flow.loops.size(), 2U);
  EXPECT_EQ(flow.loops[0].parent, -1);
  EXPECT_EQ(flow.loops[1].parent, 0);
  EXPECT_EQ(flow.blocks.front().loop, -1);
  EXPECT_EQ(flow.blocks.back().loop, -1);
  const auto inner = std::ranges::find(flow.blocks, 2U, &Block::begin);
  ASSERT_NE(inner, flow.blocks.end());
  EXPECT_EQ(inner->loop, 1);
}

TEST(Model, WhatSpillsInALoopIsNeverBetterThanTheSameWithout) {
  const emulator::Profile& profile = *emulator::find_profile("sm_90");
  const emulator::LaunchConfig launch{.grid = {4096, 1, 1}, .block = {256, 1, 1}};
  for (const std::uint64_t memory_bound : {0, 1}) {
    emulator::Counters roomy;
    roomy.blocks = 8;
    roomy.blocks_total = 4096;
    roomy.warps = 64;
    roomy.issued = 64 * 5000;
    roomy.critical_path_sum = 8 * 40'000;  // what more resident blocks would hide
    roomy.l1_miss_sectors = roomy.l2_miss_sectors = memory_bound * 64 * 4000;
    for (const int words : {1, 8, 40, 100}) {
      const int registers = 168;
      const double without = emulator::model(profile, roomy, launch, registers, 0).time_us;
      emulator::Counters spilling = roomy;
      spilling.spilled_in_loops = words;
      spilling.frame_bytes = 4 * words;
      double last = 0;
      for (const std::uint64_t trips : {1, 10, 100, 1000}) {
        spilling.local_loads = spilling.local_load_lines = 64 * words * trips;
        spilling.local_stores = spilling.local_store_lines = 64 * words * trips;
        const double with =
            emulator::model(profile, spilling, launch, registers - words, 0).time_us;
        EXPECT_GE(with, without) << words << " words, " << trips << " times";
        EXPECT_GE(with, last) << "more of it costs no less";
        last = with;
      }
      if (words >= 8) {
        EXPECT_GT(last, 1.5 * without) << "hot spills are charged";
      }
    }
  }
}

TEST(CodeHash, NamesCommentsAndLinesDoNotMatter) {
  const std::string source = R"(
__device__ int seen;
__constant__ float weights[3] = {1, 2, 3};
__device__ __noinline__ float twice(float x) { return 2 * x; }
extern "C" __global__ void first(float* y, int n) {
  if (threadIdx.x < n) y[threadIdx.x] = twice(y[threadIdx.x]) + weights[n % 3];
  seen = n;
}
)";
  const auto hash = [](const std::string& text, const std::string& kernel) {
    return build(text, kernel).find(kernel)->code_hash;
  };
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string text = source;
    for (std::size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size())
      text.replace(at, from.size(), to);
    return text;
  };
  const std::string first = hash(source, "first");
  EXPECT_EQ(first.size(), 32U);
  EXPECT_EQ(hash(replaced("first", "a_kernel_with_a_longer_name"), "a_kernel_with_a_longer_name"),
            first);
  EXPECT_EQ(hash("// a comment\n\n\n" + replaced("  if", "\n\n  // why\n  if"), "first"), first);
  EXPECT_EQ(hash(replaced("seen", "noticed"), "first"), first);
  EXPECT_EQ(hash(replaced("twice", "doubled"), "first"), first);
  EXPECT_EQ(hash("__global__ void other(int* x) { *x = 1; }\n" + source, "first"), first);
  EXPECT_NE(hash(replaced("2 * x", "3 * x"), "first"), first) << "in a function that it calls";
  EXPECT_NE(hash(replaced("{1, 2, 3}", "{1, 2, 4}"), "first"), first) << "a constant";
  EXPECT_NE(hash(replaced("threadIdx.x < n", "threadIdx.x <= n"), "first"), first);
}

TEST(Cubin, WhatIsCutOrDamagedIsAnErrorOrReadWithoutFault) {
  const std::string whole = build(products("__launch_bounds__(1024, 2)"), "products").cubin;
  EXPECT_FALSE(Cubin::read(""));
  EXPECT_FALSE(Cubin::read("no ELF file"));
  EXPECT_FALSE(Cubin::read(std::string_view(whole).substr(0, whole.size() / 2)));
  std::uint64_t state = 1;
  for (int round = 0; round < 2000; ++round) {
    std::string damaged = whole;
    for (int k = 0; k < 8; ++k) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      damaged[(state >> 33) % damaged.size()] = static_cast<char>(state >> 25);
    }
    const auto cubin = Cubin::read(damaged);
    if (!cubin) continue;
    (void)local_accesses(*cubin, "products", {.by_line = {8, 8, 8}, .warps = 8});
    (void)code_hash(*cubin, "products");
  }
}

}  // namespace
}  // namespace hone::sass
