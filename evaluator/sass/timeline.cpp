#include "evaluator/sass/timeline.h"

#include <algorithm>
#include <array>

namespace hone::sass {
namespace {

/// When the barriers of a warp open, and when it may issue next [cycles].
struct Clock {
  double now = 0;
  std::array<double, 8> open{};
};

class Timeline {
 public:
  Timeline(const Function& function, const std::vector<Instruction>& code, const Flow& flow,
           const Latencies& latencies)
      : function_(function), code_(code), flow_(flow), latencies_(latencies) {}

  /// By block.
  std::vector<double> durations() {
    std::vector<double> all(flow_.blocks.size(), 0);
    std::vector<int> outside;
    for (std::size_t b = 0; b < flow_.blocks.size(); ++b)
      if (flow_.blocks[b].from_start) outside.push_back(static_cast<int>(b));
    time(outside, -1, all);
    for (std::size_t l = 0; l < flow_.loops.size(); ++l) {
      std::vector<int> blocks = flow_.loops[l].blocks;
      std::ranges::sort(blocks);
      time(blocks, static_cast<int>(l), all);
    }
    return all;
  }

 private:
  /// Those whose innermost loop it is, one after another. A loop goes round twice: what its first
  /// round leaves open, the second waits for.
  void time(const std::vector<int>& blocks, int loop, std::vector<double>& all) const {
    Clock clock;
    for (int round = loop < 0 ? 1 : 0; round < 2; ++round) {
      for (const int b : blocks) {
        const double before = clock.now;
        run(flow_.blocks[b], clock);
        if (round == 1 && flow_.blocks[b].loop == loop) all[b] = clock.now - before;
      }
    }
  }

  void run(const Block& block, Clock& clock) const {
    constexpr double kRead = 12;  // until an access to memory has read its registers
    constexpr double kTaken = 6;  // a jump, beyond its own stall
    for (std::size_t i = block.begin; i < block.end; ++i) {
      const Instruction& in = code_[i];
      for (int k = 0; k < 6; ++k)
        if (in.waits >> k & 1) clock.now = std::max(clock.now, clock.open[k]);
      if (in.result_barrier < 6) clock.open[in.result_barrier] = clock.now + latency(i);
      if (in.source_barrier < 6)
        clock.open[in.source_barrier] = std::max(clock.open[in.source_barrier], clock.now + kRead);
      clock.now += std::max<double>(1, in.stall);
      if (in.op == Op::kBarrier) clock.now += latencies_.barrier;
      if (in.op == Op::kBranch && !in.conditional) clock.now += kTaken;
    }
  }

  double latency(std::size_t i) const {
    const Instruction& in = code_[i];
    const std::uint32_t line = function_.lines[i].line;
    const double seen = line < latencies_.by_line.size() ? latencies_.by_line[line] : 0;
    switch (in.op) {
      case Op::kLoadGlobal:
      case Op::kLoadGeneric:
        return seen > 0 ? seen : latencies_.l1;
      case Op::kLoadShared:
        return seen > 0 ? seen : latencies_.shared;
      case Op::kLoadLocal:
        return latencies_.l1;
      case Op::kAtomic:
        return seen > 0 ? seen : latencies_.l2;
      case Op::kShuffle:
        return latencies_.shuffle;
      case Op::kTensor:
        return latencies_.tensor;
      default:
        break;
    }
    switch (in.opcode & 0x1FF) {
      case 0x108:  // MUFU
        return latencies_.special;
      case 0x028:  // DMUL, DADD, DSETP, DFMA
      case 0x029:
      case 0x02A:
      case 0x02B:
        return latencies_.fp64;
      case 0x182:  // LDC
        return latencies_.constant;
      default:
        return latencies_.conversion;
    }
  }

  const Function& function_;
  const std::vector<Instruction>& code_;
  const Flow& flow_;
  const Latencies& latencies_;
};

}  // namespace

std::optional<double> warp_cycles(const Cubin& cubin, std::string_view kernel, const PtxCounts& ptx,
                                  const Latencies& latencies) {
  double all = 0;
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
    const auto durations = Timeline(function, code, flow, latencies).durations();
    for (std::size_t b = 0; b < flow.blocks.size(); ++b)
      if (flow.blocks[b].from_start) all += counts[b] * durations[b];
  }
  return found ? std::optional(all) : std::nullopt;
}

}  // namespace hone::sass
