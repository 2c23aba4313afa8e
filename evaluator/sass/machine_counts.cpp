#include "evaluator/sass/machine_counts.h"

#include <algorithm>
#include <map>

namespace hone::sass {
namespace {

enum class Pipe : std::uint8_t { kNone, kAlu, kFma, kImad, kImadWide, kXu, kFp64 };

/// By the low nine bits of the opcode, from NVIDIA's disassembler on kernels for sm_90.
Pipe pipe_of(std::uint16_t opcode) {
  switch (opcode & 0x1FF) {
    case 0x002:  // MOV
    case 0x003:  // P2R
    case 0x004:  // R2P
    case 0x006:  // VOTE
    case 0x007:  // SEL
    case 0x008:  // FSEL
    case 0x009:  // FMNMX
    case 0x00A:  // FSET
    case 0x00B:  // FSETP
    case 0x00C:  // ISETP
    case 0x00F:  // VIMNMX3
    case 0x010:  // IADD3
    case 0x011:  // LEA
    case 0x012:  // LOP3
    case 0x013:  // IABS
    case 0x014:  // VABSDIFF
    case 0x015:  // VABSDIFF4
    case 0x016:  // PRMT
    case 0x019:  // SHF
    case 0x01A:  // SGXT
    case 0x01B:  // BMSK
    case 0x01C:  // PLOP3
    case 0x036:  // VIADD
    case 0x03E:  // F2FP
    case 0x040:  // HMNMX2
    case 0x045:  // I2FP
    case 0x046:  // VIADDMNMX
    case 0x048:  // VIMNMX
      return Pipe::kAlu;
    case 0x020:  // FMUL
    case 0x021:  // FADD
    case 0x023:  // FFMA
      return Pipe::kFma;
    case 0x024:  // IMAD
    case 0x026:  // IDP
      return Pipe::kImad;
    case 0x025:  // IMAD.WIDE
    case 0x027:  // IMAD.HI
      return Pipe::kImadWide;
    case 0x028:  // DMUL
    case 0x029:  // DADD
    case 0x02A:  // DSETP
    case 0x02B:  // DFMA
      return Pipe::kFp64;
    case 0x100:  // FLO
    case 0x101:  // BREV
    case 0x102:  // FCHK
    case 0x104:  // F2F
    case 0x105:  // F2I
    case 0x106:  // I2F
    case 0x107:  // FRND
    case 0x108:  // MUFU
    case 0x109:  // POPC
    case 0x110:  // the same of 64 bits
    case 0x111:
    case 0x112:
    case 0x113:
      return Pipe::kXu;
    default:
      return Pipe::kNone;
  }
}

bool is_load(const Instruction& in) {
  return in.op == Op::kLoadGlobal || in.op == Op::kLoadShared || in.op == Op::kLoadGeneric;
}

/// Adds one instruction that was issued so often.
void add(MachineCounts& all, const Instruction& in, double count) {
  all.issued += count;
  switch (pipe_of(in.opcode)) {
    case Pipe::kAlu:
      all.alu += count;
      break;
    case Pipe::kFma:
      all.fma += count;
      break;
    case Pipe::kImad:
      all.imad += count;
      break;
    case Pipe::kImadWide:
      all.imad += 2 * count;
      break;
    case Pipe::kXu:
      all.xu += count;
      break;
    case Pipe::kFp64:
      all.fp64 += count;
      break;
    case Pipe::kNone:
      break;
  }
}

/// What came of a PTX instruction, if it is much, is a chain: each waits for the one before.
double chain_cycles(double instructions) {
  constexpr double kShort = 4;   // instructions that the emulator's critical path has counted
  constexpr double kCycles = 4;  // of one that waits for another, less what runs beside it
  return kCycles * std::max(0.0, instructions - kShort);
}

}  // namespace

std::optional<MachineCounts> machine_counts(const Cubin& cubin, std::string_view kernel,
                                            const PtxCounts& ptx,
                                            const std::vector<std::uint8_t>& left_out) {
  MachineCounts all;
  bool found = false;
  for (const Function& function : cubin.functions()) {
    const bool is_kernel = function.name == kernel;
    if (!is_kernel && !ran(function, ptx)) continue;
    found = found || is_kernel;
    const auto code = decode(function.code, cubin.arch());
    if (function.lines.size() < code.size()) return std::nullopt;
    if (std::ranges::any_of(code, [](const auto& in) { return in.op == Op::kBranchIndexed; }))
      return std::nullopt;
    const Flow flow = flow_of(code);
    const auto counts = block_counts(function, code, flow, ptx, is_kernel);
    std::map<std::uint32_t, double> of_line;  // arithmetic
    for (std::size_t b = 0; b < flow.blocks.size(); ++b) {
      if (!flow.blocks[b].from_start) continue;  // behind the end, or a subroutine
      for (std::size_t i = flow.blocks[b].begin; i < flow.blocks[b].end; ++i) {
        const std::uint32_t line = function.lines[i].line;
        if (code[i].is_local() || (line < left_out.size() && left_out[line] != 0)) continue;
        add(all, code[i], counts[b]);
        if (pipe_of(code[i].opcode) != Pipe::kNone) of_line[line] += counts[b];
      }
    }
    for (const auto& [line, count] : of_line) {
      if (line >= ptx.by_line.size() || ptx.by_line[line] <= 0) continue;
      const auto times = static_cast<double>(ptx.by_line[line]);
      all.chains += times * chain_cycles(count / times);
    }
  }
  return found ? std::optional(all) : std::nullopt;
}

std::optional<int> unrolled(const Cubin& cubin, std::string_view kernel, const PtxLoop& loop) {
  const Function* function = cubin.find(kernel);
  if (function == nullptr) return std::nullopt;
  const auto code = decode(function->code, cubin.arch());
  if (function->lines.size() < code.size()) return std::nullopt;
  const Flow flow = flow_of(code);
  // Of each loop of the machine code, how often it has the load of a line.
  std::map<int, std::map<std::uint32_t, int>> loads;
  for (std::size_t b = 0; b < flow.blocks.size(); ++b) {
    if (!flow.blocks[b].from_start) continue;
    for (std::size_t i = flow.blocks[b].begin; i < flow.blocks[b].end; ++i) {
      const std::uint32_t line = function->lines[i].line;
      if (is_load(code[i]) && line >= loop.first && line <= loop.last)
        ++loads[flow.blocks[b].loop][line];
    }
  }
  if (loads.empty()) return std::nullopt;
  int most = 0;
  bool any_loop = false;
  for (const auto& [index, lines] : loads) {
    if (index >= 0) any_loop = true;
    int fewest = kWholly;
    for (const auto& [line, count] : lines) fewest = std::min(fewest, count);
    if (index >= 0) most = std::max(most, fewest);
  }
  return any_loop ? std::min(most, kWholly) : kWholly;
}

std::optional<std::set<std::uint32_t>> kept_branches(const Cubin& cubin, std::string_view kernel) {
  const Function* function = cubin.find(kernel);
  if (function == nullptr) return std::nullopt;
  const auto code = decode(function->code, cubin.arch());
  if (function->lines.size() < code.size()) return std::nullopt;
  std::set<std::uint32_t> kept;
  for (std::size_t i = 0; i < code.size(); ++i)
    if (code[i].op == Op::kBranch && code[i].conditional) kept.insert(function->lines[i].line);
  return kept;
}

}  // namespace hone::sass
