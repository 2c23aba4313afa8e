#include "evaluator/sass/block_counts.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace hone::sass {
namespace {

/// How well an instruction tells how often the code around it runs.
enum class Witness { kNone, kWeak, kStrong };

/// Memory, barriers and floating point stay where PTX has them or are copied with their loop.
/// Addresses, constants and moves are hoisted and made again as ptxas likes.
Witness witness(const Instruction& in) {
  switch (in.op) {
    case Op::kFloat:
    case Op::kTensor:
    case Op::kLoadGlobal:
    case Op::kStoreGlobal:
    case Op::kLoadShared:
    case Op::kStoreShared:
    case Op::kLoadGeneric:
    case Op::kStoreGeneric:
    case Op::kAtomic:
    case Op::kCopyAsync:
    case Op::kShuffle:
    case Op::kBarrier:
      return Witness::kStrong;
    case Op::kOther:
      return Witness::kWeak;
    default:
      return Witness::kNone;
  }
}

/// By block: copies of one PTX line.
using Copies = std::vector<std::pair<int, int>>;

/// PTX lines and where the machine code has them, by strength. One PTX instruction may have become
/// several: of its machine instructions the rarest counts.
std::map<std::uint32_t, Copies> copies_of(const Function& function,
                                          const std::vector<Instruction>& code, const Flow& flow,
                                          const PtxCounts& ptx, Witness strength) {
  std::map<std::uint32_t, Copies> copies;
  for (std::size_t b = 0; b < flow.blocks.size(); ++b) {
    std::map<std::pair<std::uint32_t, std::uint16_t>, int> by_opcode;
    for (std::size_t i = flow.blocks[b].begin; i < flow.blocks[b].end; ++i) {
      const std::uint32_t line = function.lines[i].line;
      if (witness(code[i]) != strength || line >= ptx.by_line.size() ||
          ptx.by_line[line] == PtxCounts::kNoInstruction)
        continue;
      ++by_opcode[{line, code[i].opcode}];
    }
    for (const auto& [place, count] : by_opcode) {
      Copies& of_line = copies[place.first];
      if (of_line.empty() || of_line.back().first != static_cast<int>(b))
        of_line.emplace_back(static_cast<int>(b), count);
      of_line.back().second = std::min(of_line.back().second, count);
    }
  }
  return copies;
}

double upper_median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace

bool ran(const Function& function, const PtxCounts& ptx) {
  return std::ranges::any_of(function.lines, [&](const PtxLine& at) {
    return at.line < ptx.by_line.size() && ptx.by_line[at.line] > 0;
  });
}

std::vector<double> block_counts(const Function& function, const std::vector<Instruction>& code,
                                 const Flow& flow, const PtxCounts& ptx, bool is_kernel) {
  const std::size_t n = flow.blocks.size();
  const auto warps = static_cast<double>(ptx.warps);
  double hottest = warps;
  for (const std::int64_t count : ptx.by_line)
    hottest = std::max(hottest, static_cast<double>(count));
  const auto once = [&](std::size_t b) {
    return is_kernel && flow.blocks[b].from_start && flow.blocks[b].loop < 0;
  };

  std::vector<std::optional<double>> counts(n);
  const bool has_lines = function.lines.size() >= code.size();
  for (const Witness strength : {Witness::kStrong, Witness::kWeak}) {
    if (!has_lines) break;
    std::vector<std::vector<double>> said(n);
    for (const auto& [line, copies] : copies_of(function, code, flow, ptx, strength)) {
      // All copies together are issued as often as the PTX was. Those outside of loops take their
      // part first; the others get the least-squares share: a loop that was unrolled four times and
      // its remainder share 16 to 1.
      auto left = static_cast<double>(ptx.by_line[line]);
      double squares = 0;
      for (const auto& [b, count] : copies)
        if (once(b)) {
          const double part = std::min(warps, left / count);
          said[b].push_back(part);
          left -= part * count;
        } else {
          squares += static_cast<double>(count) * count;
        }
      for (const auto& [b, count] : copies)
        if (!once(b)) said[b].push_back(left * count / squares);
    }
    for (std::size_t b = 0; b < n; ++b)
      if (!counts[b] && !said[b].empty()) counts[b] = upper_median(said[b]);
  }

  std::vector<std::optional<double>> of_loop(flow.loops.size());
  for (std::size_t b = 0; b < n; ++b)
    if (const int loop = flow.blocks[b].loop; loop >= 0 && counts[b])
      of_loop[loop] = std::max(of_loop[loop].value_or(0), *counts[b]);
  std::vector<double> result(n);
  for (std::size_t b = 0; b < n; ++b) {
    const int loop = flow.blocks[b].loop;
    result[b] = counts[b].value_or(once(b)     ? warps
                                   : loop >= 0 ? of_loop[loop].value_or(hottest)
                                               : hottest);
    if (once(b)) result[b] = std::min(result[b], warps);
  }
  return result;
}

}  // namespace hone::sass
