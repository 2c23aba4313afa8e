#include "evaluator/sass/flow.h"

#include <algorithm>
#include <numeric>

#include "evaluator/sass/cubin.h"

namespace hone::sass {
namespace {

bool ends_block(const Instruction& in) {
  return in.op == Op::kBranch || in.op == Op::kBranchIndexed || in.op == Op::kReturn ||
         in.op == Op::kExit;
}

bool falls_through(const Instruction& in) { return !ends_block(in) || in.conditional; }

/// The instruction that it jumps to; `count`: none of this function's.
std::size_t target_of(const Instruction& in, std::size_t count) {
  const auto limit = static_cast<std::int64_t>(count * kInstructionBytes);
  if (in.target < 0 || in.target >= limit) return count;
  return static_cast<std::size_t>(in.target) / kInstructionBytes;
}

/// Of the instruction, if a table decides and is known.
const TableJump* table_of(const std::vector<Instruction>& code, std::size_t i,
                          const std::vector<TableJump>& jumps) {
  if (code[i].op != Op::kBranchIndexed) return nullptr;
  const auto found = std::ranges::find(jumps, i * kInstructionBytes, &TableJump::at);
  return found == jumps.end() || found->targets.empty() ? nullptr : &*found;
}

std::vector<Block> blocks_of(const std::vector<Instruction>& code,
                             const std::vector<TableJump>& jumps) {
  const std::size_t n = code.size();
  std::vector<char> leads(n + 1, 0);
  if (n > 0) leads[0] = 1;
  for (std::size_t i = 0; i < n; ++i) {
    if (ends_block(code[i])) leads[i + 1] = 1;
    leads[target_of(code[i], n)] = 1;
    if (const TableJump* table = table_of(code, i, jumps))
      for (const std::uint64_t to : table->targets)
        leads[std::min<std::size_t>(to / kInstructionBytes, n)] = 1;
  }
  std::vector<Block> blocks;
  std::vector<int> block_at(n, 0);
  for (std::size_t i = 0; i < n; ++i) {
    if (leads[i]) blocks.push_back({.begin = i, .end = i});
    blocks.back().end = i + 1;
    block_at[i] = static_cast<int>(blocks.size()) - 1;
  }
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    Block& block = blocks[b];
    const Instruction& last = code[block.end - 1];
    if (last.op == Op::kBranch)
      if (const std::size_t to = target_of(last, n); to < n) block.next.push_back(block_at[to]);
    if (const TableJump* table = table_of(code, block.end - 1, jumps))
      for (const std::uint64_t to : table->targets)
        if (to / kInstructionBytes < n) block.next.push_back(block_at[to / kInstructionBytes]);
    if (falls_through(last) && b + 1 < blocks.size()) block.next.push_back(static_cast<int>(b) + 1);
  }
  return blocks;
}

/// Loops are found from outside in: a strongly connected set of blocks is one; without the edges to
/// its head, those within it are found in the same way.
class LoopFinder {
 public:
  explicit LoopFinder(Flow& flow)
      : flow_(flow),
        before_(flow.blocks.size()),
        cut_(flow.blocks.size(), 0),
        set_(flow.blocks.size(), 0),
        number_(flow.blocks.size(), 0),
        low_(flow.blocks.size(), 0),
        open_(flow.blocks.size(), 0) {
    for (std::size_t from = 0; from < flow.blocks.size(); ++from)
      for (const int to : flow.blocks[from].next) before_[to].push_back(static_cast<int>(from));
  }

  void run() {
    std::vector<int> all(flow_.blocks.size());
    std::iota(all.begin(), all.end(), 0);
    std::vector<Work> work{{std::move(all), -1}};
    while (!work.empty()) {
      const Work now = std::move(work.back());
      work.pop_back();
      for (std::vector<int>& part : components(now.blocks)) {
        const auto& next = flow_.blocks[part.front()].next;
        const bool repeats = std::ranges::find(next, part.front()) != next.end();
        if (part.size() == 1 && (!repeats || cut_[part.front()])) continue;
        const auto index = static_cast<int>(flow_.loops.size());
        for (const int b : part) flow_.blocks[b].loop = index;
        flow_.loops.push_back({now.loop, part});
        // The head stays in its loop and is no way round any more.
        cut_[head_of(part)] = 1;
        work.push_back({std::move(part), index});
      }
    }
  }

 private:
  struct Work {
    std::vector<int> blocks;
    int loop = -1;
  };
  struct Visit {
    int block;
    std::size_t edge;
  };

  void mark(const std::vector<int>& blocks) {
    ++sets_;
    for (const int b : blocks) set_[b] = sets_;
  }

  /// Where the loop is entered; of several places the first.
  int head_of(const std::vector<int>& part) {
    mark(part);
    int head = -1;
    for (const int b : part) {
      const bool entered =
          std::ranges::any_of(before_[b], [&](int from) { return set_[from] != sets_; });
      if (entered && (head < 0 || b < head)) head = b;
    }
    return head < 0 ? *std::ranges::min_element(part) : head;
  }

  /// Tarjan's algorithm, without recursion: a function may have as many blocks as it likes.
  std::vector<std::vector<int>> components(const std::vector<int>& blocks) {
    mark(blocks);
    for (const int b : blocks) number_[b] = 0;
    std::vector<std::vector<int>> parts;
    std::vector<int> stack;
    std::vector<Visit> path;
    int last = 0;
    const auto enter = [&](int b) {
      number_[b] = low_[b] = ++last;
      stack.push_back(b);
      open_[b] = 1;
      path.push_back({b, 0});
    };
    for (const int root : blocks) {
      if (number_[root] != 0) continue;
      enter(root);
      while (!path.empty()) {
        auto& [b, edge] = path.back();
        const auto& next = flow_.blocks[b].next;
        if (edge < next.size()) {
          const int to = next[edge++];
          if (set_[to] != sets_ || cut_[to]) continue;
          if (number_[to] == 0) {
            enter(to);
          } else if (open_[to]) {
            low_[b] = std::min(low_[b], number_[to]);
          }
          continue;
        }
        const int done = b;
        path.pop_back();
        if (!path.empty()) {
          int& above = low_[path.back().block];
          above = std::min(above, low_[done]);
        }
        if (low_[done] != number_[done]) continue;
        std::vector<int>& part = parts.emplace_back();
        do {
          part.push_back(stack.back());
          open_[stack.back()] = 0;
          stack.pop_back();
        } while (part.back() != done);
      }
    }
    return parts;
  }

  Flow& flow_;
  std::vector<std::vector<int>> before_;
  std::vector<char> cut_;  ///< heads of loops that were found: edges to them are left out
  std::vector<int> set_;   ///< the last set of blocks that each was marked as one of
  int sets_ = 0;
  std::vector<int> number_, low_;
  std::vector<char> open_;
};

void mark_reached(Flow& flow) {
  if (flow.blocks.empty()) return;
  std::vector<int> work{0};
  flow.blocks[0].from_start = true;
  while (!work.empty()) {
    const int b = work.back();
    work.pop_back();
    for (const int to : flow.blocks[b].next) {
      if (flow.blocks[to].from_start) continue;
      flow.blocks[to].from_start = true;
      work.push_back(to);
    }
  }
}

}  // namespace

bool jumps_anywhere(const std::vector<Instruction>& code, const std::vector<TableJump>& jumps) {
  for (std::size_t i = 0; i < code.size(); ++i)
    if (code[i].op == Op::kBranchIndexed && table_of(code, i, jumps) == nullptr) return true;
  return false;
}

Flow flow_of(const std::vector<Instruction>& code, const std::vector<TableJump>& jumps) {
  Flow flow;
  flow.blocks = blocks_of(code, jumps);
  mark_reached(flow);
  LoopFinder(flow).run();
  return flow;
}

}  // namespace hone::sass
