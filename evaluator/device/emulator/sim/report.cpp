// Where and why a run failed, and the uninitialised values that registers carry.
#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "evaluator/device/emulator/sim/block.h"

namespace hone::emulator {

namespace {
constexpr std::uint64_t kNullPage = 64 * 1024;  // addresses that come from a null pointer

std::string readable(const std::string& name) {
  int status = 0;
  char* text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  std::string result = status == 0 && text ? text : name;
  std::free(text);
  return result;
}
}  // namespace

std::string Block::place(const Warp& w, int lane, std::uint32_t line) const {
  const std::uint32_t t =
      static_cast<std::uint32_t>(w.index) * 32 + static_cast<std::uint32_t>(lane);
  const auto& b = run_.launch->block;
  return fmt::format("{}block ({},{},{}), thread ({},{},{}), kernel {}",
                     line ? fmt::format("line {}, ", line) : "", id_[0], id_[1], id_[2], t % b[0],
                     t / b[0] % b[1], t / b[0] / b[1], run_.launch->kernel);
}

bool Block::fail(Verdict verdict, std::string what, const Warp& w, int lane, std::uint32_t line) {
  if (pending_.verdict != Verdict::kOk && verdict != Verdict::kRace) {
    run_.failure = pending_;  // what came of it says less
    return false;
  }
  run_.failure.verdict = verdict;
  run_.failure.detail = fmt::format("{}, {}", what, place(w, lane & 31, line));
  return false;
}

std::string Block::describe(std::uint64_t a) const {
  if (a - kSharedBase < kWindowBytes) {
    const std::uint64_t at = a - kSharedBase;
    for (const SharedSymbol& s : module_.shared) {
      if ((s.function == -1 || s.function == run_.function) && at >= s.offset &&
          at < s.offset + s.bytes)
        return fmt::format("shared {}+{}", readable(s.name), at - s.offset);
    }
    if (at >= run_.static_shared && at < run_.shared_bytes)
      return fmt::format("shared (dynamic)+{}", at - run_.static_shared);
    return fmt::format("shared memory offset {} (of {} B)", at, run_.shared_bytes);
  }
  if (a - kLocalBase < kWindowBytes) return fmt::format("local memory offset {}", a - kLocalBase);
  if (a - kConstBase < kWindowBytes)
    return fmt::format("constant memory offset {}", a - kConstBase);
  const Allocation* buffer = run_.memory->find(a);
  if (!buffer) buffer = run_.memory->nearest(a);
  if (!buffer)
    return fmt::format("address {:#x} ({})", a, a < kNullPage ? "null pointer" : "no buffer");
  const auto offset = static_cast<std::int64_t>(a - buffer->base);
  return fmt::format("{}{}{} (buffer of {} B)", buffer->name, offset < 0 ? "" : "+", offset,
                     buffer->bytes);
}

bool Block::fail_access(const Warp& w, const Inst& in, int lane, std::uint64_t address,
                        const char* why) {
  const char* what = in.kind == Kind::kStore ? "write" : in.kind == Kind::kAtom ? "atomic" : "read";
  std::uint64_t shown = address;
  if (address < kGlobalBase && in.space == Space::kShared) shown += kSharedBase;
  if (address < kGlobalBase && in.space == Space::kLocal) shown += kLocalBase;
  return fail(Verdict::kFault,
              fmt::format("{} {} of {} B at {}", why, what, in.esize * in.vec, describe(shown)), w,
              lane, in.line);
}

bool Block::fail_race(const Warp& w, const Inst& in, int lane, std::uint64_t offset,
                      const Cell& before) {
  // The other side: the last writer, or a reader where a write comes after a read.
  const bool write = in.kind != Kind::kLoad;
  const Stamp* other = nullptr;
  const char* kind = "write";
  if (unordered(clocks_, before.writer, w.index, lane)) {
    other = &before.writer;
  } else if (write) {
    kind = "read";
    if (unordered(clocks_, before.reader, w.index, lane)) other = &before.reader;
  }
  std::string who = "another thread";
  if (other && other->lane != kManyLanes) {
    const std::uint32_t t = other->warp * 32u + other->lane;
    const auto& b = run_.launch->block;
    who = fmt::format("thread ({},{},{})", t % b[0], t / b[0] % b[1], t / b[0] / b[1]);
  } else if (other) {
    who = fmt::format("several threads of warp {}", other->warp);
  }
  if (!other && before.readers & ~(1u << w.index))
    who = fmt::format("threads of warp {}", std::countr_zero(before.readers & ~(1u << w.index)));
  return fail(Verdict::kRace,
              fmt::format("race: {} of {} without a barrier after a {} by {}",
                          in.kind == Kind::kAtom ? "atomic"
                          : write                ? "write"
                                                 : "read",
                          describe(kSharedBase + offset), kind, who),
              w, lane, in.line);
}

// ---- uninitialised values ----

std::uint32_t* Block::taints(Warp&) {
  return reinterpret_cast<std::uint32_t*>(frame_ + function_->taint_offset);
}

std::uint32_t Block::slot_taint(Warp& w, const Inst&, Slot slot) const {
  if (slot < 0 || slot == kNone) return 0;
  const auto& slots = function_->reg_slots;
  const auto it = std::lower_bound(slots.begin(), slots.end(), slot);
  if (it == slots.end() || *it != slot) return 0;
  return const_cast<Block*>(this)->taints(w)[it - slots.begin()];
}

void Block::propagate_taint(Warp& w, const Inst& in, std::uint32_t mask) {
  std::uint32_t* taint = taints(w);
  const std::uint32_t* r = function_->regs.data() + in.regs;
  std::uint32_t t = 0;
  if (in.kind == Kind::kLane && in.sub == kSelect) {
    const std::uint32_t p = *reg32(in.c);
    t = (slot_taint(w, in, in.a) & p) | (slot_taint(w, in, in.b) & ~p) | slot_taint(w, in, in.c);
  } else if (in.kind == Kind::kLane && (in.sub == kAndPredicate || in.sub == kOrPredicate)) {
    const std::uint32_t ta = slot_taint(w, in, in.a);
    const std::uint32_t tb = slot_taint(w, in, in.b);
    if (ta | tb) {  // the destination may be a source: what is left decides
      const std::uint32_t flip = in.sub == kOrPredicate ? 0xFFFFFFFFu : 0;
      const std::uint32_t a = *reg32(in.a) ^ flip;
      const std::uint32_t b = *reg32(in.b) ^ flip;
      t = (ta & tb) | (ta & b) | (tb & a);
      if (in.d == in.a || in.d == in.b) t = ta & tb;
    }
  } else {
    for (int k = 0; k < in.sources; ++k) t |= taint[r[k]];
  }
  for (int k = in.sources; k < in.sources + in.destinations; ++k)
    taint[r[k]] = (taint[r[k]] & ~mask) | (t & mask);
}

void Block::set_taint(Warp& w, const Inst& in, std::uint32_t mask, std::uint32_t t) {
  std::uint32_t* taint = taints(w);
  const std::uint32_t* r = function_->regs.data() + in.regs + in.sources;
  for (int k = 0; k < in.destinations; ++k) taint[r[k]] = (taint[r[k]] & ~mask) | (t & mask);
}

bool Block::tainted_address(Warp& w, const Inst& in, std::uint32_t mask) {
  const std::uint32_t t = slot_taint(w, in, in.a) & mask;
  return t == 0 || tainted_value(w, in, t, "is used as an address");
}

bool Block::tainted_value(Warp& w, const Inst& in, std::uint32_t lanes, const char* use) {
  fail(Verdict::kFault,
       fmt::format("uninitialised value of {} {}",
                   uninitialised_.empty() ? "an inactive lane's register" : uninitialised_, use),
       w, std::countr_zero(lanes), in.line);
  if (!check_races_ || !uninitialised_.starts_with("shared")) return false;
  // The writer may only come later in this run: then it is a race, and found before the block ends.
  if (pending_.verdict == Verdict::kOk) pending_ = run_.failure;
  run_.failure = Failure{};
  return true;
}

// ---- small instructions ----

void Block::special_register(Warp& w, const Inst& in, std::uint32_t mask) {
  const auto set = [&](auto&& value) {
    for (std::uint32_t m = mask; m; m &= m - 1) {
      const int lane = std::countr_zero(m);
      if (in.dst_wide)
        reg64(in.d)[lane] = value(lane);
      else
        reg32(in.d)[lane] = static_cast<std::uint32_t>(value(lane));
    }
  };
  if (in.imm < 0) {  // dynamic shared memory
    const std::uint64_t at = run_.static_shared + static_cast<std::uint64_t>(-1 - in.imm);
    return set([&](int) { return at; });
  }
  const LaunchConfig& l = *run_.launch;
  const auto thread = [&](int lane) { return static_cast<std::uint64_t>(w.index) * 32 + lane; };
  const auto id = static_cast<SpecialRegister>(in.imm);
  const auto one = [&](std::uint64_t v) { set([&](int) { return v; }); };
  const std::uint64_t clock = counting_ ? w.cycle : run_.executed;
  switch (id) {
    case SpecialRegister::kTidX:
      return set([&](int i) { return thread(i) % l.block[0]; });
    case SpecialRegister::kTidY:
      return set([&](int i) { return thread(i) / l.block[0] % l.block[1]; });
    case SpecialRegister::kTidZ:
      return set([&](int i) { return thread(i) / l.block[0] / l.block[1]; });
    case SpecialRegister::kNtidX:
      return one(l.block[0]);
    case SpecialRegister::kNtidY:
      return one(l.block[1]);
    case SpecialRegister::kNtidZ:
      return one(l.block[2]);
    case SpecialRegister::kCtaidX:
      return one(id_[0]);
    case SpecialRegister::kCtaidY:
      return one(id_[1]);
    case SpecialRegister::kCtaidZ:
      return one(id_[2]);
    case SpecialRegister::kNctaidX:
      return one(l.grid[0]);
    case SpecialRegister::kNctaidY:
      return one(l.grid[1]);
    case SpecialRegister::kNctaidZ:
      return one(l.grid[2]);
    case SpecialRegister::kLaneid:
      return set([](int i) { return static_cast<std::uint64_t>(i); });
    case SpecialRegister::kWarpid:
      return one(static_cast<std::uint64_t>(w.index));
    case SpecialRegister::kNwarpid:
      return one(static_cast<std::uint64_t>(run_.profile->max_warps_per_sm));
    case SpecialRegister::kSmid:
      return one(
          (id_[0] + std::uint64_t{l.grid[0]} * (id_[1] + std::uint64_t{l.grid[1]} * id_[2])) %
          static_cast<std::uint64_t>(run_.profile->sm_count));
    case SpecialRegister::kNsmid:
      return one(static_cast<std::uint64_t>(run_.profile->sm_count));
    case SpecialRegister::kGridid:
      return one(1);
    case SpecialRegister::kClock:
    case SpecialRegister::kClock64:
      return one(clock);
    case SpecialRegister::kClockHi:
      return one(clock >> 32);
    case SpecialRegister::kGlobaltimer:
    case SpecialRegister::kGlobaltimerLo:
      return one(clock);
    case SpecialRegister::kGlobaltimerHi:
      return one(clock >> 32);
    case SpecialRegister::kLanemaskEq:
      return set([](int i) { return std::uint64_t{1} << i; });
    case SpecialRegister::kLanemaskLt:
      return set([](int i) { return (std::uint64_t{1} << i) - 1; });
    case SpecialRegister::kLanemaskLe:
      return set([](int i) { return (std::uint64_t{2} << i) - 1; });
    case SpecialRegister::kLanemaskGt:
      return set([](int i) { return 0xFFFFFFFFull & ~((std::uint64_t{2} << i) - 1); });
    case SpecialRegister::kLanemaskGe:
      return set([](int i) { return 0xFFFFFFFFull & ~((std::uint64_t{1} << i) - 1); });
    case SpecialRegister::kDynamicSmem:
      return one(l.dynamic_shared_bytes);
    case SpecialRegister::kTotalSmem:
      return one(run_.shared_bytes);
    case SpecialRegister::kOne:
      return one(1);
    default:
      return one(0);
  }
}

void Block::pack(Warp&, const Inst& in, std::uint32_t mask) {
  const Slot* parts = function_->extra.data() + in.extra;
  const int bits = in.esize * 8;
  for (std::uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    std::uint64_t v = 0;
    for (int k = 0; k < in.vec; ++k) {
      const std::uint64_t piece = reg32(parts[k])[lane];
      v |= (bits == 32 ? piece : piece & ((1ull << bits) - 1)) << (bits * k);
    }
    if (in.dst_wide)
      reg64(in.d)[lane] = v;
    else
      reg32(in.d)[lane] = static_cast<std::uint32_t>(v);
  }
}

void Block::unpack(Warp&, const Inst& in, std::uint32_t mask) {
  const Slot* parts = function_->extra.data() + in.extra;
  const int bits = in.esize * 8;
  for (std::uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const std::uint64_t v = in.addr_wide ? reg64(in.a)[lane] : reg32(in.a)[lane];
    for (int k = 0; k < in.vec; ++k)
      if (parts[k] != kNone)
        reg32(parts[k])[lane] =
            static_cast<std::uint32_t>((v >> (bits * k)) & ((1ull << bits) - 1));
  }
}

}  // namespace hone::emulator
