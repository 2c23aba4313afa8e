#include "evaluator/device/emulator/ptx/straight.h"

namespace hone::emulator {
namespace {

// Others may wait for it, or it for others.
bool has_its_own_time(const Inst& in) {
  return in.ordered && (in.kind == Kind::kLoad || in.kind == Kind::kStore) &&
         (in.space == Space::kGlobal || in.space == Space::kGeneric);
}

// Runs on to the next instruction whatever happens, for all lanes of the entry. Reading the clock
// is left out: it wants the time of its own issue.
/// What releases is timed as a fence is.
bool runs_on(const Inst& in) {
  return in.kind < Kind::kBranch && in.kind != Kind::kSpecial && !in.guarded && !in.release &&
         !has_its_own_time(in);
}

Op make_op(const Inst& in) {
  Op op;
  op.fn = in.fn;
  op.d = in.d;
  op.a = in.a;
  op.b = in.b;
  op.c = in.c;
  op.imm = static_cast<std::uint32_t>(in.imm);
  op.kind = in.kind;
  return op;
}

Timing make_timing(const Function& f, const Inst& in) {
  Timing t;
  t.latency = in.latency;
  t.issue = in.issue;
  t.sync = in.sync != 0;
  t.moves = in.kind == Kind::kLoad || in.kind == Kind::kStore || in.kind == Kind::kAtom;
  if (in.sources > 3 || in.destinations > 1) {
    t.many = true;
    return t;
  }
  const std::uint32_t* r = f.regs.data() + in.regs;
  for (int k = 0; k < in.sources; ++k) t.source[k] = r[k] + kFirstReady;
  if (in.destinations) t.destination = r[in.sources] + kFirstReady;
  return t;
}

}  // namespace

void straighten(Function& f) {
  const auto n = static_cast<std::int32_t>(f.code.size());
  std::vector<char> leader(static_cast<std::size_t>(n) + 1, 0);
  const auto lead = [&](std::int32_t pc) {
    if (pc >= 0) leader[pc] = 1;
  };
  for (std::int32_t i = 0; i < n; ++i) {
    const Inst& in = f.code[i];
    if (!runs_on(in)) lead(i + 1);
    lead(in.reconverge);
    if (in.kind == Kind::kBranch) lead(in.target);
    if (in.kind == Kind::kBranchIndexed)
      for (const std::int32_t t : f.branch_targets[in.target]) lead(t);
  }
  f.ops.clear();
  f.timings.clear();
  for (const Inst& in : f.code) {
    f.ops.push_back(make_op(in));
    f.timings.push_back(make_timing(f, in));
  }
  std::uint16_t run = 0;
  for (std::int32_t i = n - 1; i >= 0; --i) {
    if (!runs_on(f.code[i])) {
      run = 0;
      continue;
    }
    // A run that grows too long for its counter is cut: the rest counts for itself.
    run = leader[i + 1] || run == kLongestRun ? 1 : static_cast<std::uint16_t>(run + 1);
    f.ops[i].run = run;
  }
}

}  // namespace hone::emulator
