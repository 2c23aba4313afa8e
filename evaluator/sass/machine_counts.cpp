#include "evaluator/sass/machine_counts.h"

#include <algorithm>
#include <map>

#include "evaluator/sass/pipes.h"

namespace hone::sass {
namespace {

constexpr double kNear = 32 << 10, kFarthest = 120 << 10;  // instruction caches [B]
constexpr double kFar = 48 << 10;  // of such a loop the nearest one holds next to nothing [B]

/// Machine code that runs, of the whole function and then of each loop [B].
std::vector<double> code_sizes(const Flow& flow, const std::vector<double>& counts) {
  std::vector<double> sizes(flow.loops.size() + 1, 0);
  const auto size = [&](std::size_t b) {
    const Block& block = flow.blocks[b];
    return block.from_start && counts[b] > 0
               ? static_cast<double>((block.end - block.begin) * kInstructionBytes)
               : 0;
  };
  for (std::size_t b = 0; b < flow.blocks.size(); ++b) sizes[0] += size(b);
  for (std::size_t l = 0; l < flow.loops.size(); ++l)
    for (const int b : flow.loops[l].blocks) sizes[l + 1] += size(static_cast<std::size_t>(b));
  return sizes;
}

bool is_load(const Instruction& in) {
  return in.op == Op::kLoadGlobal || in.op == Op::kLoadShared || in.op == Op::kLoadGeneric;
}

/// Adds one instruction that was issued so often.
void add(MachineCounts& all, const Instruction& in, double count) {
  all.issued += count;
  if ((in.opcode & 0x1FF) == 0x0BB) all.uniform_constants += count;
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
    if (jumps_anywhere(code, function.jumps)) return std::nullopt;
    const Flow flow = flow_of(code, function.jumps);
    const auto counts = block_counts(function, code, flow, ptx, is_kernel);
    const auto sizes = code_sizes(flow, counts);
    for (std::size_t b = 0; b < flow.blocks.size(); ++b) {
      if (!flow.blocks[b].from_start) continue;  // behind the end, or a subroutine
      const double size = sizes[flow.blocks[b].loop + 1];
      const double issued =
          counts[b] * static_cast<double>(flow.blocks[b].end - flow.blocks[b].begin);
      if (size > kFarthest) {
        all.code_farther += issued;
      } else if (size > kNear) {
        all.code_far += issued * std::min(1.0, (size - kNear) / (kFar - kNear));
      }
      for (std::size_t i = flow.blocks[b].begin; i < flow.blocks[b].end; ++i) {
        const std::uint32_t line = function.lines[i].line;
        if (code[i].is_local() || (line < left_out.size() && left_out[line] != 0)) continue;
        add(all, code[i], counts[b]);
      }
    }
  }
  return found ? std::optional(all) : std::nullopt;
}

std::optional<int> unrolled(const Cubin& cubin, std::string_view kernel, const PtxLoop& loop) {
  const Function* function = cubin.find(kernel);
  if (function == nullptr) return std::nullopt;
  const auto code = decode(function->code, cubin.arch());
  if (function->lines.size() < code.size()) return std::nullopt;
  const Flow flow = flow_of(code, function->jumps);
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
