// Where and why a run failed.
#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "evaluator/device/emulator/sim/async.h"
#include "evaluator/device/emulator/sim/block.h"

namespace hone::emulator {

namespace {
constexpr std::uint64_t kAnySm = 1 << 16;
constexpr std::uint64_t kSomeTime = 1'764'000'000'000'000'000;  // since 1970 [ns], as on a GPU
constexpr std::uint64_t kNullPage = 64 * 1024;  // addresses that come from a null pointer

Verdict verdict_of(FindingKind kind) {
  switch (kind) {
    case FindingKind::kRace:
    case FindingKind::kAsync:
      return Verdict::kRace;
    case FindingKind::kTimeout:
      return Verdict::kTimeout;
    case FindingKind::kUnsupported:
      return Verdict::kUnsupported;
    default:
      return Verdict::kFault;
  }
}

FindingKind kind_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kRace:
      return FindingKind::kRace;
    case Verdict::kTimeout:
      return FindingKind::kTimeout;
    case Verdict::kUnsupported:
      return FindingKind::kUnsupported;
    default:
      return FindingKind::kOther;
  }
}

/// Does a run that collects findings go on after one of this kind?
bool may_go_on(FindingKind kind) {
  return kind == FindingKind::kOutOfBounds || kind == FindingKind::kMisaligned ||
         kind == FindingKind::kRace || kind == FindingKind::kUninitialised;
}

}  // namespace

std::string readable(const std::string& name) {
  int status = 0;
  // NVCC numbers the copies of a variable that it makes.
  const std::string plain = name.substr(0, name.rfind("_$_"));
  char* text = abi::__cxa_demangle(plain.c_str(), nullptr, nullptr, &status);
  std::string result = status == 0 && text ? text : name;
  std::free(text);
  return result;
}

std::string text_of(const Finding& f) {
  std::string text = f.what;
  if (f.place.line) text += fmt::format(", line {}", f.place.line);
  if (f.place.ptx_line) text += fmt::format(", PTX line {}", f.place.ptx_line);
  if (f.has_thread)
    text += fmt::format(", block ({},{},{}), thread ({},{},{})", f.block[0], f.block[1], f.block[2],
                        f.thread[0], f.thread[1], f.thread[2]);
  return text + fmt::format(", kernel {}", f.kernel);
}

CodePlace Block::code_place(std::uint32_t place) const {
  CodePlace out;
  if (place >= module_.places.size()) return out;
  const StatementPlace& p = module_.places[place];
  out.ptx_line = p.ptx_line;
  const std::string_view text = std::string_view(module_.text).substr(p.offset);
  // The statement may go over several lines.
  for (const char c : text.substr(0, std::min(text.find(';'), std::size_t{200}))) {
    const bool space = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (!space)
      out.instruction += c;
    else if (!out.instruction.empty() && out.instruction.back() != ' ')
      out.instruction += ' ';
  }
  out.instruction += ';';
  const auto file = [&](std::uint32_t number) {
    const auto it = module_.files.find(number);
    return it == module_.files.end() ? std::string() : it->second;
  };
  std::int32_t at = p.location;
  const auto user = static_cast<std::uint32_t>(module_.user_file);
  const auto& locations = module_.locations;
  if (at >= 0 && locations[at].file != user) {
    out.inner_file = file(locations[at].file);
    out.inner_line = locations[at].line;
    // Bounded: a damaged file may hold a circle.
    for (int depth = 0; depth < 100 && at >= 0 && locations[at].file != user; ++depth)
      at = locations[at].inlined_at;
  }
  if (at < 0) return out;
  out.file = file(locations[at].file);
  out.line = locations[at].line;
  const std::int32_t call = locations[at].inlined_at;
  if (call >= 0 && locations[call].file == user) out.call_line = locations[call].line;
  return out;
}

Finding Block::finding_at(FindingKind kind, std::string what, const Warp& w, int lane,
                          const Inst* in) const {
  Finding f;
  f.kind = kind;
  f.verdict = verdict_of(kind);
  f.what = std::move(what);
  f.kernel = run_.launch->kernel;
  if (in) {
    f.place = code_place(in->place);
    if (!f.place.line) f.place.line = in->line;
  }
  const std::uint32_t t =
      static_cast<std::uint32_t>(w.index) * 32 + static_cast<std::uint32_t>(lane & 31);
  const auto& b = run_.launch->block;
  f.block = id_;
  f.thread = {t % b[0], t / b[0] % b[1], t / b[0] / b[1]};
  return f;
}

bool Block::settle_held() {
  std::vector<Held> held;
  held.swap(held_);
  const auto report = [&](bool races) {
    for (Held& h : held)
      if ((h.finding.kind == FindingKind::kRace) == races &&
          !add_finding(std::move(h.finding), h.place, true))
        return false;
    return true;
  };
  if (!report(true)) return false;
  return raced_ || report(false);  // else that race was reported
}

bool Block::add_finding(Finding finding, std::uint32_t place, bool go_on) {
  raced_ = raced_ || finding.kind == FindingKind::kRace;
  if (!held_.empty() && !settle_held()) return false;  // what came of it says less
  FindingList& list = run_.findings;
  const bool more = go_on && list.collects();
  if (!more) {
    run_.failure.verdict = finding.verdict;
    run_.failure.detail = text_of(finding);
  }
  if (!list.again(finding.kind, place, finding.count)) list.add(std::move(finding), place);
  if (more && list.full()) {
    run_.failure.verdict = Verdict::kFault;
    run_.failure.detail = "too many findings";
    return false;
  }
  return more;
}

bool Block::fail(FindingKind kind, std::string what, const Warp& w, int lane, const Inst& in) {
  const bool go_on = may_go_on(kind);
  if (go_on && run_.findings.collects() && held_.empty() && run_.findings.again(kind, in.place))
    return true;
  return add_finding(finding_at(kind, std::move(what), w, lane, &in), in.place, go_on);
}

bool Block::fail(Verdict verdict, std::string what, const Warp& w, int lane, std::uint32_t line) {
  const Inst* in = nullptr;
  if (!w.stack.empty() && (line || verdict == Verdict::kTimeout)) {
    const Entry& top = w.stack.back();
    const auto& code = module_.functions[top.function].code;
    if (top.pc >= 0 && top.pc < static_cast<std::int32_t>(code.size()) &&
        (line == 0 || code[top.pc].line == line))
      in = &code[top.pc];
    if (in && line == 0) lane = std::countr_zero(top.mask);
  }
  const FindingKind kind = kind_of(verdict);
  Finding f = finding_at(kind, std::move(what), w, lane, in);
  if (line) f.place.line = line;
  const bool thread = kind != FindingKind::kTimeout;
  f.has_thread = thread || in != nullptr;
  return add_finding(std::move(f), in ? in->place : ~0u, kind == FindingKind::kRace);
}

std::string Block::unsupported_text(const Inst& in) const {
  const std::string& opcode = module_.unsupported[in.imm];
  std::string text = fmt::format("the emulator does not cover '{}'", opcode);
  if (!opcode.starts_with("mov")) return text;
  // It is what moves, not the move.
  const std::string statement = code_place(in.place).instruction;
  const auto at = statement.find(", %");
  if (at == std::string::npos) return text;
  const std::string from =
      statement.substr(at + 2, statement.find_first_of(" ;,", at + 2) - at - 2);
  text += fmt::format(" of {}", from);
  if (from.starts_with("%envreg"))
    text += ", a register of the driver (cooperative groups' this_grid().sync() reads it)";
  return text;
}

std::string Block::describe(std::uint64_t a) const {
  if (a - kSharedBase < kWindowBytes) {
    const std::uint64_t at = a - kSharedBase;
    for (const SharedSymbol& s : module_.shared) {
      const bool here = s.function == -1 ? module_.functions[run_.function].module_shared
                                         : s.function == run_.function;
      if (here && at >= s.offset && at < s.offset + s.bytes)
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

// An access through one variable's name that leaves it: where to, counted from its start.
std::string Block::describe_past(const Warp& w, const Inst& in, std::uint64_t a) const {
  const Extent& v = function_->variables[in.variable];
  const bool shared = v.space == Space::kShared;
  if (a - (shared ? kSharedBase : kLocalBase) >= kWindowBytes) return describe(a);
  if (!shared) {
    const std::uint64_t start = kLocalBase + w.stack.back().local + v.offset;
    return fmt::format("local memory offset {} (of {} B)", static_cast<std::int64_t>(a - start),
                       v.bytes);
  }
  const Bounds bounds = shared_bounds(in);
  std::string text =
      fmt::format("shared {}{:+d} ({} of {} B)", v.dynamic ? "(dynamic)" : readable(v.name),
                  static_cast<std::int64_t>(a - kSharedBase - bounds.begin),
                  v.dynamic ? "the launch's array" : "an array", bounds.end - bounds.begin);
  const std::string there = describe(a);
  if (there.starts_with("shared ") && !there.starts_with("shared memory"))
    text += fmt::format(", inside {}", there);
  return text;
}

bool Block::fail_access(const Warp& w, const Inst& in, int lane, std::uint64_t address,
                        const char* why) {
  const char* what = in.kind == Kind::kStore ? "write" : in.kind == Kind::kAtom ? "atomic" : "read";
  std::uint64_t shown = address;
  if (address < kConstBase && in.space == Space::kShared) shown += kSharedBase;
  if (address < kConstBase && in.space == Space::kLocal) shown += kLocalBase;
  const FindingKind kind =
      std::string_view(why) == "misaligned" ? FindingKind::kMisaligned : FindingKind::kOutOfBounds;
  if (run_.findings.collects() && held_.empty() && run_.findings.again(kind, in.place)) {
    dropped_ |= 1u << lane;
    return false;
  }
  std::string where = describe(shown);
  if (in.variable != 0 && kind == FindingKind::kOutOfBounds) where = describe_past(w, in, shown);
  Finding f = finding_at(
      kind, fmt::format("{} {} of {} B at {}", why, what, in.esize * in.vec, where), w, lane, &in);
  f.address = where;
  if (add_finding(std::move(f), in.place, true)) dropped_ |= 1u << lane;
  return false;
}

bool Block::fail_race(const Warp& w, const Inst& in, int lane, std::uint64_t offset,
                      const Cell& before) {
  // The other side: the last writer, or a reader where a write comes after a read.
  const bool bulk_read =
      in.kind == Kind::kAsync && static_cast<AsyncOp>(in.sub) == AsyncOp::kBulkStore;
  const bool write = in.kind != Kind::kLoad && !bulk_read;
  const auto of_async = [](const Stamp& s) {
    return s.warp == kAsyncAgent || s.warp == kObjectAgent;
  };
  if (async_ && (of_async(before.writer) || of_async(before.reader))) {
    bool ok = false;
    const bool reported =
        async_->conflict(write ? "write" : "read", offset, &before.writer, w, in, lane, ok);
    if (reported) return ok;
  }
  const auto knows = [&](int warp, std::uint32_t tick) {
    return warp == w.index || clocks_.ordered_across(warp, tick, w.index);
  };
  // Atomics, say, are no race among themselves.
  const bool ordered = in.kind != Kind::kAsync && (in.ordered || in.guess);
  const auto races = [&](const Stamp& s) {
    return unordered(clocks_, s, w.index, lane) && !(ordered && s.ordered);
  };
  if (write && !races(before.writer) && product_finished(offset, before, 1u << w.index, knows))
    return true;
  const Stamp* other = nullptr;
  const char* kind = "write";
  if (races(before.writer)) {
    other = &before.writer;
  } else if (write) {
    kind = "read";
    if (races(before.reader)) other = &before.reader;
  }
  if (!in.choice && run_.findings.collects() && held_.empty() &&
      run_.findings.again(FindingKind::kRace, in.place)) {
    raced_ = true;
    return true;
  }
  if (other && other->warp == kClusterAgent) run_.raced = true;
  std::string who = other ? toucher(*other) : "another thread";
  if (!other && before.readers & ~(1u << w.index))
    who = fmt::format("threads of warp {}", std::countr_zero(before.readers & ~(1u << w.index)));
  const std::string where = describe(kSharedBase + offset);
  Finding f = finding_at(
      FindingKind::kRace,
      fmt::format("race: {} of {} without a {}barrier after a {} by {}",
                  in.kind == Kind::kAtom ? "atomic"
                  : write                ? "write"
                                         : "read",
                  where, other && other->warp == kClusterAgent ? "cluster " : "", kind, who),
      w, lane, &in);
  f.address = where;
  f.other = fmt::format("{} by {}", kind, who);
  if (shadow_.keeps_sites()) {
    const auto& sites = shadow_.sites(offset >> shadow_.shift());
    f.other_place = code_place(*kind == 'w' ? sites.writer : sites.reader);
  }
  if (in.choice) {
    std::uint32_t lanes = 0;
    for (int i = 0; i < 32; ++i)
      if (address_[i] == address_[lane] && unordered(clocks_, before.writer, w.index, i))
        lanes |= 1u << i;
    return doubt(in, lanes, std::move(f), false);
  }
  return add_finding(std::move(f), in.place, true);
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
  const auto anywhere = [&]() -> std::uint64_t {
    const auto& buffers = run_.memory->allocations;  // variables of modules, then buffers
    if (buffers.empty()) return 0;
    return Dice(buffers.back()->base ^ run_.options->schedule_seed).next();
  };
  // Parts of a GPU have fewer multiprocessors. What a program answers may not hang on their number,
  // so about every second call of it sees few; how long it takes does.
  const auto multiprocessors = [&] {
    const auto all = static_cast<std::uint64_t>(run_.profile->sm_count);
    const std::uint64_t bits = Dice(anywhere() ^ run_.memory->call).next() >> 32;
    if (counting_ || (bits & 1) != 0) return all;
    return std::max<std::uint64_t>(1, all * (1 + (bits >> 1) % 3) / 8);
  };
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
    case SpecialRegister::kLocalFrame:
      return one(w.stack.back().local + static_cast<std::uint64_t>(in.target));
    case SpecialRegister::kNctaidX:
      return one(l.grid[0]);
    case SpecialRegister::kNctaidY:
      return one(l.grid[1]);
    case SpecialRegister::kNctaidZ:
      return one(l.grid[2]);
    case SpecialRegister::kLaneid:
      return set([](int i) { return static_cast<std::uint64_t>(i); });
    case SpecialRegister::kWarpid: {
      // The slot of the SM, which says nothing of the place in the block.
      const auto slots = static_cast<std::uint64_t>(run_.profile->max_warps_per_sm);
      return one((static_cast<std::uint64_t>(w.index) + anywhere() % slots + number_) % slots);
    }
    case SpecialRegister::kNwarpid:
      return one(static_cast<std::uint64_t>(run_.profile->max_warps_per_sm));
    case SpecialRegister::kSmid: {
      // Which block comes where, nobody may count on: the first one comes to any, as buffers lie
      // anywhere; in other schedules as many follow it there as fit.
      const std::uint64_t seed = run_.options->schedule_seed;
      const std::uint64_t place = seed == 0 ? number_ : number_ / run_.resident;
      return one((anywhere() % kAnySm + place) % multiprocessors());
    }
    case SpecialRegister::kNsmid:
      return one(multiprocessors());
    case SpecialRegister::kGridid:
      return one(1);
    case SpecialRegister::kClock:
    case SpecialRegister::kClock64:
      return one(clock);
    case SpecialRegister::kClockHi:
      return one(clock >> 32);
    case SpecialRegister::kGlobaltimer:
    case SpecialRegister::kGlobaltimerLo:
      return one(kSomeTime + clock);
    case SpecialRegister::kGlobaltimerHi:
      return one((kSomeTime + clock) >> 32);
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
    case SpecialRegister::kTotalSmem: {
      constexpr std::uint64_t kUnit = 128;  // [B]
      return one((run_.shared_bytes + kUnit - 1) / kUnit * kUnit);
    }
    case SpecialRegister::kClusterRank:
      return one(static_cast<std::uint64_t>(cluster_rank_));
    case SpecialRegister::kClusterSize:
      return one(std::uint64_t{l.cluster[0]} * l.cluster[1] * l.cluster[2]);
    case SpecialRegister::kClusterCtaidX:
    case SpecialRegister::kClusterCtaidY:
    case SpecialRegister::kClusterCtaidZ: {
      const int i = static_cast<int>(id) - static_cast<int>(SpecialRegister::kClusterCtaidX);
      return one(id_[i] % l.cluster[i]);
    }
    case SpecialRegister::kClusterNctaidX:
    case SpecialRegister::kClusterNctaidY:
    case SpecialRegister::kClusterNctaidZ:
      return one(
          l.cluster[static_cast<int>(id) - static_cast<int>(SpecialRegister::kClusterNctaidX)]);
    case SpecialRegister::kClusteridX:
    case SpecialRegister::kClusteridY:
    case SpecialRegister::kClusteridZ: {
      const int i = static_cast<int>(id) - static_cast<int>(SpecialRegister::kClusteridX);
      return one(id_[i] / l.cluster[i]);
    }
    case SpecialRegister::kNclusteridX:
    case SpecialRegister::kNclusteridY:
    case SpecialRegister::kNclusteridZ: {
      const int i = static_cast<int>(id) - static_cast<int>(SpecialRegister::kNclusteridX);
      return one(l.grid[i] / l.cluster[i]);
    }
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
