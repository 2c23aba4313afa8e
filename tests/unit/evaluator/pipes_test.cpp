// What the machine code of instructions costs: pipes, chains, constants, locks.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "evaluator/compile/compile.h"
#include "evaluator/device/emulator/emulator.h"
#include "evaluator/sass/machine_counts.h"
#include "evaluator/sass/pipes.h"
#include "evaluator/sass/timeline.h"

namespace hone::sass {
namespace {

CompiledProgram build(const std::string& source) {
  auto program = compile::compile_program({.source = source, .kernels = {"k"}, .arch = "sm_90"});
  EXPECT_EQ(program.verdict, Verdict::kOk) << program.log;
  return program;
}

/// A kernel that does `body` to its x and y, `n` times.
std::string repeated(const std::string& type, const std::string& body) {
  return "#include <cuda_fp16.h>\nextern \"C\" __global__ void k(const " + type + "* a, const " +
         type + "* b, " + type +
         "* c, int n) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  " + type +
         " x = a[i], y = b[i];\n#pragma unroll 1\n  for (int r = 0; r < n; ++r) { " + body +
         " }\n  c[i] = x;\n}\n";
}

emulator::RunReport run(const CompiledProgram& program, int blocks, int n) {
  const auto module = emulator::Module::parse(program.ptx);
  EXPECT_TRUE(module);
  emulator::Memory memory;
  emulator::LaunchConfig launch{
      .kernel = "k", .grid = {static_cast<std::uint32_t>(blocks), 1, 1}, .block = {32, 1, 1}};
  launch.parameters.resize(28);
  for (int i = 0; i < 3; ++i) {
    const std::uint64_t buffer = memory.allocate(
        "b", 1 << 20, true, [](std::uint64_t offset, std::uint8_t* out, std::size_t size) {
          for (std::size_t j = 0; j < size; ++j)
            out[j] = (offset + j) % 4 == 0 ? static_cast<std::uint8_t>((offset + j) / 4) : 0;
        });
    std::memcpy(launch.parameters.data() + 8 * i, &buffer, 8);
  }
  std::memcpy(launch.parameters.data() + 24, &n, 4);
  emulator::RunOptions options;
  options.check_races = false;
  options.count_lines = true;
  auto report = emulator::run(**module, launch, memory, options);
  EXPECT_EQ(report.verdict, Verdict::kOk) << report.detail;
  return report;
}

struct Cost {
  MachineCounts counts;
  double cycles = 0;
};

/// Of one more round of a warp.
Cost cost_of_a_round(const std::string& source) {
  const auto program = build(source);
  const auto cubin = Cubin::read(program.cubin);
  EXPECT_TRUE(cubin);
  const auto at = [&](int n) {
    const auto report = run(program, 1, n);
    const PtxCounts ptx = {.by_line = report.line_counts, .warps = 1};
    const auto counts = machine_counts(*cubin, "k", ptx, {});
    const auto cycles = warp_cycles(*cubin, "k", ptx, {.by_line = report.line_latencies});
    EXPECT_TRUE(counts && cycles);
    return Cost{counts.value_or(MachineCounts{}), cycles.value_or(0)};
  };
  const Cost few = at(100);
  const Cost many = at(1100);
  Cost round;
  round.counts.issued = (many.counts.issued - few.counts.issued) / 1000;
  round.counts.alu = (many.counts.alu - few.counts.alu) / 1000;
  round.counts.fma = (many.counts.fma - few.counts.fma) / 1000;
  round.counts.xu = (many.counts.xu - few.counts.xu) / 1000;
  round.cycles = (many.cycles - few.cycles) / 1000;
  return round;
}

TEST(Pipes, AVideoInstructionIsManyOfTheMachine) {
  const auto one = cost_of_a_round(repeated("int", "x += y; x ^= r;"));
  const auto many = cost_of_a_round(
      repeated("int",
               "int t; asm volatile(\"vset4.s32.s32.lt %0, %1, %2, %1;\" : \"=r\"(t) : "
               "\"r\"(x), \"r\"(y)); x = t ^ r;"));
  EXPECT_LT(one.counts.issued, 8);
  EXPECT_GT(many.counts.issued, one.counts.issued + 25);
  EXPECT_GT(many.counts.alu, 20);
}

TEST(Pipes, LogicOfPredicatesIsCounted) {
  std::string logic =
      "asm volatile(\"{.reg .pred p, q, s; setp.gt.s32 p, %0, %1; setp.lt.s32 q, %0, 77;";
  for (int i = 0; i < 10; ++i)
    logic += "xor.pred s, p, q; and.pred p, q, s; or.pred q, s, p; not.pred p, p;";
  logic += "selp.s32 %0, %0, %1, q; add.s32 %0, %0, 3;}\" : \"+r\"(x) : \"r\"(y));";
  EXPECT_GT(cost_of_a_round(repeated("int", logic)).counts.alu, 5);
}

TEST(Timeline, AChainTakesTheLatencyOfEachLink) {
  std::string chain;
  for (int i = 0; i < 50; ++i) chain += "x = x * 0.9f + y; ";
  const auto fma = cost_of_a_round(repeated("float", chain));
  EXPECT_NEAR(fma.counts.fma, 50, 1);
  EXPECT_GT(fma.cycles, 4 * 50);
  EXPECT_LT(fma.cycles, 4 * 50 + 40);
  // Four chains beside each other take little more than one.
  std::string four = "float a1 = x + 1, a2 = x + 2, a3 = x + 3; ";
  for (int i = 0; i < 50; ++i)
    four += "x = x * 0.9f + y; a1 = a1 * 0.8f + y; a2 = a2 * 0.7f + y; a3 = a3 * 0.6f + y; ";
  const auto side_by_side = cost_of_a_round(repeated("float", four + "x += a1 + a2 + a3;"));
  EXPECT_NEAR(side_by_side.counts.fma, 206, 4);
  EXPECT_LT(side_by_side.cycles, 1.4 * fma.cycles);
}

TEST(Constants, LanesThatAskForDifferentWordsWait) {
  const auto with = [](const std::string& index) {
    return run(build("__constant__ int table[1024] = {1, 2, 3};\n" +
                     repeated("int", "x += table[(" + index + ") & 1023];")),
               1, 50)
        .counters;
  };
  const auto same = with("r"), each = with("threadIdx.x * 16 + r");
  EXPECT_LT(same.constant_cycles, 50U * 4);
  EXPECT_GT(each.constant_cycles, 50U * 32);
}

TEST(Locks, TurnsAtOneWordAreCounted) {
  const std::string lock =
      "__device__ int held;\n" +
      repeated("int",
               "if (threadIdx.x == 0) { while (atomicCAS(&held, 0, 1) != 0) {} __threadfence(); "
               "*(volatile int*)c += y; __threadfence(); atomicExch(&held, 0); }");
  const auto counters = run(build(lock), 10, 3).counters;
  EXPECT_EQ(counters.turns, 30U);
  EXPECT_EQ(counters.turns_released, 30U);
  EXPECT_EQ(counters.turns_shared, 1U);
  EXPECT_GT(counters.turns_held, 30U * 200);
  // Thousands of them take turns, however many SMs there are.
  emulator::Counters many = counters;
  many.blocks_total = 10000;
  emulator::LaunchConfig launch{.kernel = "k", .grid = {10000, 1, 1}, .block = {32, 1, 1}};
  const auto* h200 = emulator::find_profile("sm_90");
  const double locked = emulator::model(*h200, many, launch, 32, 0).time_us;
  many.turns = 0;
  EXPECT_GT(locked, 20 * emulator::model(*h200, many, launch, 32, 0).time_us);
}

/// Units by the names that NVIDIA's disassembler gives.
const std::map<std::string, Pipe>& named() {
  static const std::map<std::string, Pipe> pipes = [] {
    std::map<std::string, Pipe> all;
    const auto put = [&](Pipe pipe, std::initializer_list<const char*> names) {
      for (const char* name : names) all[name] = pipe;
    };
    put(Pipe::kAlu, {"MOV",  "SEL",  "FSEL", "FMNMX", "FSET", "FSETP",  "ISETP",    "IADD3",
                     "LEA",  "LOP3", "IABS", "PRMT",  "SHF",  "SGXT",   "BMSK",     "PLOP3",
                     "F2FP", "VOTE", "I2FP", "P2R",   "R2P",  "VIMNMX", "VABSDIFF", "HMNMX2"});
    put(Pipe::kFma, {"FMUL", "FADD", "FFMA"});
    put(Pipe::kImad, {"IMAD", "IDP", "VIADD"});
    put(Pipe::kImadWide, {"IMAD.WIDE", "IMAD.HI"});
    put(Pipe::kXu, {"FLO", "BREV", "F2F", "F2I", "I2F", "FRND", "MUFU", "POPC", "REDUX"});
    put(Pipe::kFp64, {"DMUL", "DADD", "DSETP", "DFMA"});
    put(Pipe::kNone, {"LDG", "STG", "LDS", "STS", "LDC", "ULDC", "BRA", "EXIT", "S2R", "SHFL",
                      "HADD2", "HFMA2", "HMUL2", "BAR", "MATCH", "UIADD3", "UMOV", "NOP"});
    return all;
  }();
  return pipes;
}

TEST(Pipes, OpcodesAreThoseOfTheDisassembler) {
  const char* chosen = std::getenv("HONE_CUOBJDUMP");
  const std::string tool = chosen != nullptr ? chosen : "cuobjdump";
  if (std::system((tool + " --version > /dev/null 2>&1").c_str()) != 0)
    GTEST_SKIP() << "no cuobjdump: HONE_CUOBJDUMP may name one";
  const std::string scratch = ::testing::TempDir() + "hone_pipes_" + std::to_string(::getpid());
  std::filesystem::create_directories(scratch);
  std::size_t compared = 0;
  std::map<std::string, int> seen;
  const std::vector<std::pair<std::string, std::string>> bodies = {
      {"int", "x = (x ^ y) + min(x, y) + abs(x) + __popc(x) + __clz(y) + __brev(x);"},
      {"int",
       "x = __mulhi(x, y) + x * y + __dp4a(x, y, 3) + (x >> (y & 7)) + __byte_perm(x, y, 0x1234);"},
      {"int",
       "x = __ballot_sync(~0u, x > y) + __shfl_xor_sync(~0u, x, 1) + __reduce_add_sync(~0u, "
       "(unsigned)x);"},
      {"int", "x = __match_any_sync(~0u, x) + x / (y | 1) + (int)(((long long)x * y) >> 13);"},
      {"int",
       "bool p = x > 3, q = y < r; for (int k = 0; k < y; ++k) { p = (p != q) || (q && !p); q = p "
       "!= q; } x += p;"},
      {"float",
       "x = fminf(x, y) + x * y + sinf(x) + expf(y) + sqrtf(x) + (float)(int)x + floorf(y);"},
      {"float", "x = x / y + __half2float(__float2half(x)) + (x > y ? 1.0f : x);"},
      {"double", "x = x * y + fmin(x, y) + x / y + (double)(int)x + (double)(float)y;"}};
  for (std::size_t k = 0; k < bodies.size(); ++k) {
    const auto program = build(repeated(bodies[k].first, bodies[k].second));
    const std::string file = scratch + "/k.cubin", listing = scratch + "/k.sass";
    std::ofstream(file, std::ios::binary) << program.cubin;
    ASSERT_EQ(std::system((tool + " -sass " + file + " > " + listing + " 2> /dev/null").c_str()),
              0);
    std::ifstream in(listing);
    for (std::string line; std::getline(in, line);) {
      // "  /*0040*/   @P0 IMAD.WIDE R0, R0, UR4, R3 ;   /* 0x0000000400007c24 */"
      const auto code = line.find("/* 0x"), text = line.find("*/");
      if (code == line.npos || text == line.npos || text > code) continue;
      std::istringstream words(line.substr(text + 2, code - text - 2));
      std::string name;
      words >> name;
      if (name.starts_with("@")) words >> name;
      if (name.empty()) continue;
      const auto opcode =
          static_cast<std::uint16_t>(std::stoull(line.substr(code + 5), nullptr, 16) & 0xFFF);
      std::string known = name.substr(0, name.find('.'));
      if (name.starts_with("IMAD.WIDE") || name.starts_with("IMAD.HI"))
        known = name.substr(0, name.find('.', 5));
      const auto pipe = named().find(known);
      if (pipe == named().end()) continue;
      EXPECT_EQ(static_cast<int>(pipe_of(opcode)), static_cast<int>(pipe->second))
          << name << fmt::format(" {:03x}", opcode);
      ++seen[known];
      ++compared;
    }
  }
  std::filesystem::remove_all(scratch);
  EXPECT_GT(compared, 300U);
  EXPECT_GT(seen.size(), 35U);
}

}  // namespace
}  // namespace hone::sass
