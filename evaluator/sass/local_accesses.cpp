#include "evaluator/sass/local_accesses.h"

#include <algorithm>
#include <set>

namespace hone::sass {

LocalAccesses local_accesses(const Cubin& cubin, std::string_view kernel, const PtxCounts& ptx) {
  LocalAccesses all;
  std::set<std::int32_t> words;
  for (const Function& function : cubin.functions()) {
    const bool is_kernel = function.name == kernel;
    if (!is_kernel && !ran(function, ptx)) continue;
    const auto code = decode(function.code, cubin.arch());
    if (std::ranges::none_of(code, &Instruction::is_local)) continue;
    const Flow flow = flow_of(code, function.jumps);
    const auto counts = block_counts(function, code, flow, ptx, is_kernel);
    for (std::size_t b = 0; b < flow.blocks.size(); ++b) {
      for (std::size_t i = flow.blocks[b].begin; i < flow.blocks[b].end; ++i) {
        const Instruction& in = code[i];
        if (!in.is_local()) continue;
        const bool load = in.op == Op::kLoadLocal;
        (load ? all.loads : all.stores) += counts[b];
        const int moved = std::max(1, in.bytes / 4);
        if (!in.in_frame()) {
          (load ? all.indexed_loads : all.indexed_stores) += counts[b];
          continue;
        }
        (load ? all.load_lines : all.store_lines) += counts[b] * moved;
        if (flow.blocks[b].loop < 0) continue;
        for (int w = 0; w < moved; ++w) words.insert(in.offset / 4 + w);
      }
    }
  }
  all.words_in_loops = static_cast<int>(words.size());
  return all;
}

}  // namespace hone::sass
