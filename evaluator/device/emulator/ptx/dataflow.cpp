#include "evaluator/device/emulator/ptx/dataflow.h"

#include <algorithm>
#include <iterator>

namespace hone::emulator {

std::int32_t register_at(const Function& f, Slot slot) {
  if (slot < 0 || slot == kNone) return kNoRegister;
  const auto it = std::lower_bound(f.reg_slots.begin(), f.reg_slots.end(), slot);
  if (it == f.reg_slots.end() || *it != slot) return kNoRegister;
  return static_cast<std::int32_t>(it - f.reg_slots.begin());
}

namespace {

// ---- registers read before they are written ----

struct CodeBlock {
  std::int32_t begin = 0, end = 0;
  std::vector<std::int32_t> next;            ///< blocks
  std::vector<std::uint32_t> reads, writes;  ///< before any write of its own; for all lanes
};

bool jumps(const Inst& in) {
  return in.kind == Kind::kBranch || in.kind == Kind::kBranchIndexed || in.kind == Kind::kRet ||
         in.kind == Kind::kExit || in.kind == Kind::kTrap;
}

std::vector<CodeBlock> blocks_of(const Function& f) {
  const auto n = static_cast<std::int32_t>(f.code.size());
  std::vector<std::int32_t> block_at(static_cast<std::size_t>(n) + 1, 0);
  const auto lead = [&](std::int32_t pc) { block_at[pc] = 1; };
  lead(0);
  for (std::int32_t i = 0; i < n; ++i) {
    if (!jumps(f.code[i])) continue;
    lead(i + 1);
    if (f.code[i].kind == Kind::kBranch) lead(f.code[i].target);
    if (f.code[i].kind == Kind::kBranchIndexed)
      for (const std::int32_t t : f.branch_targets[f.code[i].target]) lead(t);
  }
  std::vector<CodeBlock> blocks;
  for (std::int32_t i = 0; i < n; ++i) {
    if (block_at[i]) blocks.push_back({i, i, {}, {}, {}});
    block_at[i] = static_cast<std::int32_t>(blocks.size()) - 1;
    blocks.back().end = i + 1;
  }
  for (CodeBlock& b : blocks) {
    const Inst& last = f.code[b.end - 1];
    if (last.kind == Kind::kBranch) b.next.push_back(block_at[last.target]);
    if (last.kind == Kind::kBranchIndexed)
      for (const std::int32_t t : f.branch_targets[last.target]) b.next.push_back(block_at[t]);
    if ((!jumps(last) || last.guarded) && b.end < n) b.next.push_back(block_at[b.end]);
  }
  return blocks;
}

/// Fills reads and writes; returns the registers that some block reads and has not written.
std::vector<std::uint32_t> summarise(const Function& f, const std::vector<char>& declared,
                                     std::vector<CodeBlock>& blocks) {
  constexpr std::int32_t kNoBlock = -1;
  std::vector<std::int32_t> written_in(f.reg_slots.size(), kNoBlock);
  std::vector<std::int32_t> read_in(f.reg_slots.size(), kNoBlock);
  std::vector<char> open(f.reg_slots.size(), 0);
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const auto number = static_cast<std::int32_t>(b);
    for (std::int32_t i = blocks[b].begin; i < blocks[b].end; ++i) {
      const Inst& in = f.code[i];
      const std::uint32_t* r = f.regs.data() + in.regs;
      for (int k = 0; k < in.sources; ++k) {
        if (!declared[r[k]] || written_in[r[k]] == number || read_in[r[k]] == number) continue;
        read_in[r[k]] = number;
        open[r[k]] = 1;
        blocks[b].reads.push_back(r[k]);
      }
      if (in.guarded) continue;
      for (int k = in.sources; k < in.sources + in.destinations; ++k) {
        if (written_in[r[k]] == number) continue;
        written_in[r[k]] = number;
        blocks[b].writes.push_back(r[k]);
      }
    }
  }
  std::vector<std::uint32_t> registers;
  for (std::size_t r = 0; r < open.size(); ++r)
    if (open[r]) registers.push_back(static_cast<std::uint32_t>(r));
  return registers;
}

// ---- where addresses come from ----

/// Of a register: nothing known yet, a number, an address in one variable (from kFirst on), or
/// anything.
using Origin = std::int32_t;
constexpr Origin kUnseen = -1, kNumber = 0, kAnything = kSeveral;

Origin meet(Origin a, Origin b) {
  if (a == kUnseen || a == b) return b;
  return b == kUnseen ? a : kAnything;
}

/// Of two summands, at most one of which may be an address.
Origin add(Origin a, Origin b) {
  if (a == kUnseen || b == kUnseen) return kUnseen;
  if (a == kNumber) return b;
  return b == kNumber ? a : kAnything;
}

/// What depends on an address in other ways is no address that we can follow.
Origin computed(Origin a) { return a > kNumber ? kAnything : a; }

class Addresses {
 public:
  Addresses(Function& f, const std::vector<AddressSeed>& seeds)
      : f_(f), origin_(f.reg_slots.size(), kUnseen), seed_(f.code.size(), kNumber) {
    for (const AddressSeed& s : seeds) {
      seed_[s.inst] = s.variable;
      if (s.part) parts_.push_back(s.inst);
    }
  }

  void run() {
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t i = 0; i < f_.code.size(); ++i) {
        const Inst& in = f_.code[i];
        const std::uint32_t* r = f_.regs.data() + in.regs + in.sources;
        if (in.destinations == 0) continue;
        const bool part = std::binary_search(parts_.begin(), parts_.end(), i);
        const Origin result = part ? seed_[i] : result_of(in, seed_[i]);
        for (int k = 0; k < in.destinations; ++k) {
          const Origin joined = meet(origin_[r[k]], result);
          changed = changed || joined != origin_[r[k]];
          origin_[r[k]] = joined;
        }
      }
    }
    for (std::size_t i = 0; i < f_.code.size(); ++i) {
      Inst& in = f_.code[i];
      if (in.kind != Kind::kLoad && in.kind != Kind::kStore && in.kind != Kind::kAtom) continue;
      const Origin o = of(in.a, seed_[i]);
      if (o > kNumber && o < kAnything) in.variable = static_cast<std::uint16_t>(o);
    }
  }

 private:
  /// A constant operand is the address, where the instruction names one.
  [[nodiscard]] Origin of(Slot slot, Origin seed) const {
    const std::int32_t r = register_at(f_, slot);
    return r == kNoRegister ? seed : origin_[r];
  }

  [[nodiscard]] Origin result_of(const Inst& in, Origin seed) const {
    if (in.kind == Kind::kLoad || in.kind == Kind::kAtom) return kNumber;
    if (in.kind == Kind::kSpecial) return seed;
    if (in.kind == Kind::kLane) {
      const bool both = in.a < 0 && in.b < 0;  // a name and a number, in whichever order
      switch (static_cast<LaneHint>(in.sub)) {
        case kCopy:
          return of(in.a, seed);
        case kSum:
          return both ? seed : add(of(in.a, seed), of(in.b, seed));
        case kDifference:
          return both ? computed(seed) : add(of(in.a, seed), computed(of(in.b, seed)));
        case kScaledSum:
          return add(in.c < 0 ? seed : of(in.c, kNumber),
                     computed(add(of(in.a, kNumber), of(in.b, kNumber))));
        case kSelect:
          return both ? computed(seed) : meet(of(in.a, seed), of(in.b, seed));
        default:
          break;
      }
    }
    Origin all = seed;
    const std::uint32_t* r = f_.regs.data() + in.regs;
    for (int k = 0; k < in.sources; ++k) {
      if (origin_[r[k]] == kUnseen) return kUnseen;
      all = std::max(all, origin_[r[k]]);
    }
    return computed(all);
  }

  Function& f_;
  std::vector<Origin> origin_;
  std::vector<Origin> seed_;        ///< by instruction
  std::vector<std::size_t> parts_;  ///< instructions, in order
};

void measure_parts(Function& f, const std::vector<AddressSeed>& seeds) {
  for (const AddressSeed& s : seeds) {
    if (!s.part) continue;
    Extent& own = f.variables[s.variable];
    for (const AddressSeed& other : seeds) {
      const std::uint32_t begin = f.variables[other.variable].offset;
      if (other.part && begin > own.offset) own.bytes = std::min(own.bytes, begin - own.offset);
    }
  }
}

}  // namespace

// Liveness at the entry, over the registers that are open in some block only.
void find_live_in(Function& f, const std::vector<char>& declared) {
  f.live_in.clear();
  f.hollow.clear();
  if (f.code.empty()) return;
  std::vector<CodeBlock> blocks = blocks_of(f);
  const std::vector<std::uint32_t> registers = summarise(f, declared, blocks);
  std::vector<std::uint32_t> place(f.reg_slots.size(), ~0u);
  for (std::size_t k = 0; k < registers.size(); ++k)
    place[registers[k]] = static_cast<std::uint32_t>(k);
  const std::size_t words = (registers.size() + 63) / 64;
  const auto rows = [&] { return std::vector<std::uint64_t>(blocks.size() * words); };
  std::vector<std::uint64_t> in = rows();
  std::vector<std::uint64_t> kept = rows();  // what a block does not write
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const auto bit = [&](std::vector<std::uint64_t>& row, std::uint32_t r) -> std::uint64_t& {
      return row[b * words + place[r] / 64];
    };
    std::fill_n(kept.begin() + static_cast<std::ptrdiff_t>(b * words), words, ~0ull);
    for (const std::uint32_t r : blocks[b].reads) bit(in, r) |= 1ull << place[r] % 64;
    for (const std::uint32_t r : blocks[b].writes)
      if (place[r] != ~0u) bit(kept, r) &= ~(1ull << place[r] % 64);
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t b = blocks.size(); b-- > 0;) {
      for (const std::int32_t next : blocks[b].next) {
        for (std::size_t k = 0; k < words; ++k) {
          std::uint64_t& mine = in[b * words + k];
          const std::uint64_t more =
              in[static_cast<std::size_t>(next) * words + k] & kept[b * words + k] & ~mine;
          mine |= more;
          changed = changed || more != 0;
        }
      }
    }
  }
  for (std::size_t k = 0; k < registers.size(); ++k)
    if (in[k / 64] >> k % 64 & 1) f.live_in.push_back(registers[k]);
  if (f.live_in.empty()) return;
  std::vector<char> written(f.reg_slots.size(), 0);
  for (const Inst& i : f.code)
    for (int k = i.sources; k < i.sources + i.destinations; ++k) written[f.regs[i.regs + k]] = 1;
  std::ranges::copy_if(f.live_in, std::back_inserter(f.hollow),
                       [&](std::uint32_t r) { return !written[r]; });
}

void find_variables(Function& f, const std::vector<AddressSeed>& seeds) {
  if (seeds.empty()) return;
  measure_parts(f, seeds);
  Addresses(f, seeds).run();
}

void find_unread(Function& f) {
  std::vector<char> read(f.reg_slots.size() + 1, 0);
  for (const Inst& in : f.code)
    for (int k = 0; k < in.sources; ++k) read[f.regs[in.regs + k]] = 1;
  for (Inst& in : f.code) {
    const std::uint32_t* r = f.regs.data() + in.regs + in.sources;
    in.unread = std::none_of(r, r + in.destinations, [&](std::uint32_t at) { return read[at]; });
  }
  for (std::size_t i = 0; i < f.code.size(); ++i) {
    Inst& atomic = f.code[i];
    if (atomic.kind != Kind::kAtom) continue;
    const std::uint32_t* made = f.regs.data() + atomic.regs + atomic.sources;
    const auto reads = [&](const Inst& in) {
      const std::uint32_t* r = f.regs.data() + in.regs;
      return std::any_of(r, r + in.sources, [&](std::uint32_t at) {
        return std::find(made, made + atomic.destinations, at) != made + atomic.destinations;
      });
    };
    for (std::size_t k = i + 1; k < f.code.size() && !atomic.used; ++k) {
      atomic.used = reads(f.code[k]);
      if (f.code[k].kind == Kind::kAtom) break;
    }
  }
}

void find_unset_formals(Function& f) {
  const auto stored = [&](std::uint32_t at, std::uint32_t bytes) {
    return std::any_of(f.code.begin(), f.code.end(), [&](const Inst& in) {
      const auto to = static_cast<std::uint64_t>(in.imm);
      return in.kind == Kind::kStore && in.space == Space::kFormal &&
             (in.a >= 0 || (to < at + bytes && to + in.esize * in.vec > at));
    });
  };
  for (CallSite& site : f.calls)
    for (CallArgument& a : site.arguments) a.unset = !stored(a.from, a.bytes);
  for (CallArgument& a : f.returns) a.unset = !stored(a.from, a.bytes);
}

}  // namespace hone::emulator
