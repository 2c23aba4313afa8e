#include "evaluator/device/emulator/ptx/cfg.h"

#include <algorithm>

namespace hone::emulator {
namespace {

bool ends_block(const Inst& i) {
  switch (i.kind) {
    case Kind::kBranch:
    case Kind::kBranchIndexed:
    case Kind::kRet:
    case Kind::kExit:
    case Kind::kTrap:
      return true;
    default:
      return false;
  }
}

}  // namespace

// Cooper, Harvey, Kennedy, "A simple, fast dominance algorithm", on the reversed graph.
void find_reconvergence(Function& f) {
  const int n = static_cast<int>(f.code.size());
  std::vector<char> leader(n + 1, 0);
  leader[0] = 1;
  for (int i = 0; i < n; ++i) {
    const Inst& inst = f.code[i];
    if (!ends_block(inst)) continue;
    leader[i + 1] = 1;
    if (inst.kind == Kind::kBranch) leader[inst.target] = 1;
    if (inst.kind == Kind::kBranchIndexed)
      for (int t : f.branch_targets[inst.target]) leader[t] = 1;
  }
  std::vector<int> block_of(n + 1), start;
  for (int i = 0; i < n; ++i) {
    if (leader[i]) start.push_back(i);
    block_of[i] = static_cast<int>(start.size()) - 1;
  }
  const int blocks = static_cast<int>(start.size());
  const int exit = blocks;
  std::vector<std::vector<int>> next(blocks + 1), previous(blocks + 1);
  for (int b = 0; b < blocks; ++b) {
    const int last = (b + 1 < blocks ? start[b + 1] : n) - 1;
    const Inst& inst = f.code[last];
    auto& out = next[b];
    const bool falls = !ends_block(inst) || inst.guarded;
    if (inst.kind == Kind::kBranch) out.push_back(block_of[inst.target]);
    if (inst.kind == Kind::kBranchIndexed)
      for (int t : f.branch_targets[inst.target]) out.push_back(block_of[t]);
    if (inst.kind == Kind::kRet || inst.kind == Kind::kExit || inst.kind == Kind::kTrap)
      out.push_back(exit);
    if (falls) out.push_back(last + 1 < n ? block_of[last + 1] : exit);
    for (int t : out) previous[t].push_back(b);
  }
  // Blocks that cannot reach the exit (endless loops) get an edge to it, or they have no
  // post-dominator at all.
  std::vector<char> reaches(blocks + 1, 0);
  const auto mark = [&](int from) {
    std::vector<int> work{from};
    reaches[from] = 1;
    while (!work.empty()) {
      const int b = work.back();
      work.pop_back();
      for (int p : previous[b])
        if (!reaches[p]) {
          reaches[p] = 1;
          work.push_back(p);
        }
    }
  };
  mark(exit);
  for (int b = blocks - 1; b >= 0; --b) {
    if (reaches[b]) continue;
    next[b].push_back(exit);
    previous[exit].push_back(b);
    mark(b);
  }
  // Post-order of the reversed graph from the exit.
  std::vector<int> order, rank(blocks + 1, -1), idom(blocks + 1, -1);
  std::vector<char> seen(blocks + 1, 0);
  std::vector<std::pair<int, std::size_t>> stack{{exit, 0}};
  seen[exit] = 1;
  while (!stack.empty()) {
    auto& [b, k] = stack.back();
    if (k < previous[b].size()) {
      const int p = previous[b][k++];
      if (!seen[p]) {
        seen[p] = 1;
        stack.push_back({p, 0});
      }
    } else {
      rank[b] = static_cast<int>(order.size());
      order.push_back(b);
      stack.pop_back();
    }
  }
  idom[exit] = exit;
  for (bool changed = true; changed;) {
    changed = false;
    for (int k = static_cast<int>(order.size()) - 2; k >= 0; --k) {
      const int b = order[k];
      int best = -1;
      for (int s : next[b]) {
        if (idom[s] < 0) continue;
        if (best < 0) {
          best = s;
          continue;
        }
        int x = s;
        int y = best;
        while (x != y) {
          while (rank[x] < rank[y]) x = idom[x];
          while (rank[y] < rank[x]) y = idom[y];
        }
        best = x;
      }
      if (best >= 0 && idom[b] != best) {
        idom[b] = best;
        changed = true;
      }
    }
  }
  for (int b = 0; b < blocks; ++b) {
    Inst& inst = f.code[(b + 1 < blocks ? start[b + 1] : n) - 1];
    if (inst.kind == Kind::kBranch || inst.kind == Kind::kBranchIndexed)
      inst.reconverge = idom[b] < 0 || idom[b] == exit ? -1 : start[idom[b]];
  }
}

}  // namespace hone::emulator
