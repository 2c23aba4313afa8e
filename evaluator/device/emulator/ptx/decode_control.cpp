// Branches, calls, barriers and what the lanes of a warp do together.
#include <fmt/format.h>

#include "evaluator/device/emulator/ptx/decode.h"
#include "evaluator/device/emulator/ptx/parser.h"

namespace hone::emulator {
namespace {
constexpr std::uint32_t kAllocaBytes = 16384;  // per lane and call
}  // namespace

bool Decoder::decode_control(const Statement& s) {
  const std::string_view op = s.words[0];
  if (op == "bra") {
    if (s.operands.size() != 1) return false;
    Inst inst = begin(s, Kind::kBranch);
    inst.cls = Class::kControl;
    p_.uses_.push_back({p_.scope_, f_.code.size(), s.operands[0].name});
    emit(inst);
    return true;
  }
  if (op == "brx") {
    if (s.operands.size() != 2) return false;
    const auto it = p_.tables_.find(s.operands[1].name);
    if (it == p_.tables_.end()) return false;
    const Slot a = source(s.operands[0], kU32);
    Inst inst = begin(s, Kind::kBranchIndexed);
    inst.cls = Class::kControl;
    inst.a = a;
    inst.target = static_cast<int>(f_.branch_targets.size());
    f_.branch_targets.emplace_back(it->second.labels.size());
    for (std::size_t i = 0; i < it->second.labels.size(); ++i)
      p_.uses_.push_back(
          {p_.scope_, f_.code.size(), it->second.labels[i], inst.target, static_cast<int>(i)});
    emit(inst);
    return true;
  }
  if (op == "ret" || op == "exit") {
    if (op == "ret") store_results(s);
    Inst inst = begin(s, op == "exit" || f_.entry ? Kind::kExit : Kind::kRet);
    inst.cls = Class::kControl;
    emit(inst);
    return true;
  }
  if (op == "trap" || op == "brkpt") {
    emit(begin(s, op == "trap" ? Kind::kTrap : Kind::kNop));
    return true;
  }
  if (op == "call") return decode_call(s);
  if (op == "membar" || op == "fence") {
    if (s.has("proxy")) {  // fence.proxy is asynchronous work's; membar.proxy.alias
      if (!s.has("alias")) return false;
      Inst inst = begin(s, Kind::kNop);
      inst.sub = static_cast<std::uint8_t>(Membars::kDeviceAndSystem);
      emit(inst);
      return true;
    }
    if (s.has("mbarrier_init")) return false;
    Inst inst = begin(s, Kind::kFence);
    inst.sub = s.has("cta") ? 1 : s.has("cluster") ? 2 : 0;
    inst.imm = s.has("sys") ? 1 : 0;
    emit(inst);
    return true;
  }
  if (op == "griddepcontrol" || op == "pmevent" || op == "nanosleep") {
    const bool sleeps = op == "nanosleep" && !s.operands.empty();
    const Slot time = sleeps ? source(s.operands[0], kU32) : kNone;
    Inst inst = begin(s, Kind::kNop);
    inst.cls = Class::kControl;
    inst.a = time;
    emit(inst);
    return true;
  }
  if (op == "bar" || op == "barrier") {
    if (s.has("warp")) {
      if (!s.has("sync")) return false;
      const Slot a = source(s.operands.at(0), kU32);
      Inst inst = begin(s, Kind::kWarpBarrier);
      inst.cls = Class::kBarrier;
      inst.a = a;
      emit(inst);
      return true;
    }
    if (s.has("cluster")) return false;
    const bool red = s.has("red");
    if (!red && !s.has("sync") && !s.has("arrive")) return false;
    std::size_t at = red ? 1 : 0;
    if (s.operands.size() <= at) return false;
    const Slot id = source(s.operands[at], kU32);
    const std::size_t rest = s.operands.size() - at - 1;
    const bool counted = red ? rest == 2 : rest == 1;
    const Slot count = counted ? source(s.operands[at + 1], kU32) : kNone;
    const Slot p = red ? predicate(s.operands.back()) : kNone;
    Inst inst = begin(s, red ? Kind::kBarrierRed : Kind::kBarrier);
    inst.cls = Class::kBarrier;
    inst.a = id;
    inst.b = count;
    inst.c = p;
    inst.arrive = s.has("arrive");
    inst.aligned = op == "bar" || s.has("aligned");
    if (red) {
      inst.sub = s.has("popc") ? 0 : s.has("and") ? 1 : 2;
      inst.d = destination(s.operands[0], s.has("popc") ? 32 : 1);
    }
    emit(inst);
    return true;
  }
  return false;
}

bool Decoder::decode_call(const Statement& s) {
  std::size_t at = 0;
  std::vector<Operand> results;
  std::vector<Operand> arguments;
  if (at < s.operands.size() && s.operands[at].kind == Operand::Kind::kList)
    results = s.operands[at++].parts;
  if (at >= s.operands.size()) return false;
  const Operand& callee = s.operands[at++];
  if (at < s.operands.size() && s.operands[at].kind == Operand::Kind::kList)
    arguments = s.operands[at].parts;
  // Registers and numbers travel through areas of their own.
  CallSite site;
  std::vector<std::pair<const Operand*, CallArgument>> loads;
  for (const Operand& o : arguments) {
    if (o.symbol && o.symbol->kind == Symbol::Kind::kVariable) {
      if (o.symbol->space != Space::kFormal) return false;
      site.arguments.push_back({static_cast<std::uint32_t>(o.symbol->address), 0,
                                static_cast<std::uint32_t>(o.symbol->bytes)});
      continue;
    }
    const Type type{Type::kBits, static_cast<std::uint8_t>(width_of(o, 64))};
    const std::uint32_t area = p_.formal_area(8, 8);
    store_formal(s, o, area, type);
    site.arguments.push_back({area, 0, 8});
  }
  for (const Operand& o : results) {
    if (o.symbol && o.symbol->kind == Symbol::Kind::kVariable) {
      if (o.symbol->space != Space::kFormal) return false;
      site.results.push_back({0, static_cast<std::uint32_t>(o.symbol->address),
                              static_cast<std::uint32_t>(o.symbol->bytes)});
      continue;
    }
    const CallArgument area{0, p_.formal_area(8, 8), 8};
    site.results.push_back(area);
    if (o.kind != Operand::Kind::kSink) loads.push_back({&o, area});
  }
  Inst inst;
  if (callee.kind == Operand::Kind::kRegister) {
    const Slot a = source(callee, {Type::kUnsigned, 64});
    inst = begin(s, Kind::kCallIndirect);
    inst.a = a;
  } else {
    if (callee.name == "vprintf") {
      inst = begin(s, Kind::kPrintf);
    } else if (callee.name == "__assertfail") {
      inst = begin(s, Kind::kTrap);
      inst.sub = 1;  // with a message
    } else {
      inst = begin(s, Kind::kCall);
      inst.target = p_.function_index(callee.name);
    }
  }
  inst.cls = Class::kControl;
  // Areas in the callee are laid out from the declared types alone, in this order: results, then
  // arguments (Parser::function); an indirect callee has the same layout.
  inst.extra = static_cast<std::uint32_t>(f_.calls.size());
  f_.calls.push_back(std::move(site));
  emit(inst);
  for (const auto& [to, area] : loads)
    load_formal(s, *to, area.to, {Type::kBits, static_cast<std::uint8_t>(width_of(*to, 32))});
  return true;
}

void Decoder::store_formal(const Statement& s, const Operand& from, std::uint32_t area, Type type) {
  const Slot value = type.kind == Type::kPred ? kNone : source(from, type);
  Inst inst = begin(s, Kind::kStore);
  inst.space = Space::kFormal;
  inst.cls = Class::kOther;
  inst.a = constant(0, 64);
  inst.addr_wide = true;
  inst.imm = area;
  inst.esize = std::max<std::uint8_t>(type.bits / 8, 1);
  inst.dst_wide = type.bits == 64;
  inst.type = type;
  inst.extra = static_cast<std::uint32_t>(f_.extra.size());
  f_.extra.push_back(value);
  emit(inst);
}

void Decoder::load_formal(const Statement& s, const Operand& to, std::uint32_t area, Type type) {
  Inst inst = begin(s, Kind::kLoad);
  inst.space = Space::kFormal;
  inst.cls = Class::kOther;
  inst.a = constant(0, 64);
  inst.addr_wide = true;
  inst.imm = area;
  inst.esize = std::max<std::uint8_t>(type.bits / 8, 1);
  inst.dst_wide = type.bits == 64;
  inst.type = type;
  inst.extra = static_cast<std::uint32_t>(f_.extra.size());
  f_.extra.push_back(destination(to, type.bits));
  emit(inst);
}

void Decoder::begin_function(const std::vector<Parser::Formal>& formals, bool has_alloca) {
  for (const Parser::Formal& p : formals) {
    if (!p.in_register) continue;
    Operand to;
    to.kind = Operand::Kind::kRegister;
    to.symbol = p_.lookup(p.name);
    load_formal({}, to, p.area.from, p.type);
  }
  if (!has_alloca) return;
  f_.local_bytes = (f_.local_bytes + 15) / 16 * 16;
  Symbol& top = p_.scopes_[1].symbols["%%alloca"] = p_.make_register({Type::kUnsigned, 64});
  Operand to;
  to.kind = Operand::Kind::kRegister;
  to.symbol = &top;
  Symbol pool;
  pool.space = Space::kLocal;
  pool.address = f_.local_bytes;
  pool.bytes = kAllocaBytes;
  Operand start;
  start.kind = Operand::Kind::kName;
  start.symbol = &pool;
  start.name = "alloca";
  const Slot from = source(start, {Type::kUnsigned, 64});
  lane({}, "mov.b64", Class::kInteger, 4, destination(to, 64), from);
  f_.local_bytes += kAllocaBytes;
}

void Decoder::store_results(const Statement& s) {
  for (const Parser::Formal& p : p_.register_results_) {
    Operand from;
    from.kind = Operand::Kind::kRegister;
    from.symbol = p_.lookup(p.name);
    store_formal(s, from, p.area.from, p.type);
  }
}

// alloca.u64 d, size{, align}; stacksave d; stackrestore a: a pool after the function's own local
// variables, and a register that says how far it is used. Beyond the pool accesses are faults.
bool Decoder::decode_alloca(const Statement& s) {
  const std::string_view op = s.words[0];
  if (op != "alloca" && op != "stacksave" && op != "stackrestore") return false;
  const Type u64{Type::kUnsigned, 64};
  Operand top;
  top.kind = Operand::Kind::kRegister;
  top.symbol = p_.lookup("%%alloca");
  if (!top.symbol || s.words.back() != "u64") return false;
  if (op == "stacksave") move(s, s.operands.at(0), top, u64);
  if (op == "stackrestore") move(s, top, s.operands.at(0), u64);
  if (op != "alloca") return true;
  const std::uint64_t align = s.operands.size() > 2 ? s.operands[2].value : 8;
  Slot a = source(top, u64);
  lane(s, "add.u64", Class::kInteger, 4, destination(top, 64), a, constant(align - 1, 64));
  a = source(top, u64);
  lane(s, "and.b64", Class::kInteger, 4, destination(top, 64), a, constant(~(align - 1), 64));
  const Operand start = temporary(u64);
  move(s, start, top, u64);
  a = source(top, u64);
  const Slot size = source(s.operands.at(1), u64);
  lane(s, "add.u64", Class::kInteger, 4, destination(top, 64), a, size);
  move(s, s.operands[0], start, u64);
  return true;
}

bool Decoder::decode_warp(const Statement& s) {
  const std::string_view op = s.words[0];
  if (op == "shfl") {
    if (!s.has("sync") || s.operands.size() != 5) return false;
    const Slot a = source(s.operands[1], kU32);
    const Slot b = source(s.operands[2], kU32);
    const Slot c = source(s.operands[3], kU32);
    const Slot e = source(s.operands[4], kU32);
    Inst inst = begin(s, Kind::kShuffle);
    inst.cls = Class::kShuffle;
    inst.latency = 23;
    inst.a = a;
    inst.b = b;
    inst.c = c;
    inst.e = e;
    inst.sub = static_cast<std::uint8_t>(s.has("up")     ? ShuffleMode::kUp
                                         : s.has("down") ? ShuffleMode::kDown
                                         : s.has("bfly") ? ShuffleMode::kBfly
                                                         : ShuffleMode::kIdx);
    const Operand& to = s.operands[0];
    if (to.kind == Operand::Kind::kList) {
      inst.d = destination(to.parts[0], 32);
      inst.d2 = destination(to.parts[1], 1);
    } else {
      inst.d = destination(to, 32);
    }
    emit(inst);
    return true;
  }
  if (op == "vote") {
    if (!s.has("sync") || s.operands.size() != 3) return false;
    const Slot a = predicate(s.operands[1]);
    const Slot e = source(s.operands[2], kU32);
    Inst inst = begin(s, Kind::kVote);
    inst.cls = Class::kShuffle;
    inst.latency = 12;
    inst.a = a;
    inst.e = e;
    inst.sub = static_cast<std::uint8_t>(s.has("all")   ? VoteMode::kAll
                                         : s.has("any") ? VoteMode::kAny
                                         : s.has("uni") ? VoteMode::kUni
                                                        : VoteMode::kBallot);
    inst.d = destination(s.operands[0], s.has("ballot") ? 32 : 1);
    emit(inst);
    return true;
  }
  if (op == "match") {
    if (s.operands.size() != 3) return false;
    const bool wide = s.words.back() == "b64";
    const Slot a = source(s.operands[1], {Type::kBits, static_cast<std::uint8_t>(wide ? 64 : 32)});
    const Slot e = source(s.operands[2], kU32);
    Inst inst = begin(s, Kind::kMatch);
    inst.cls = Class::kShuffle;
    inst.latency = 24;
    inst.a = a;
    inst.e = e;
    inst.addr_wide = wide;
    inst.sub = s.has("all");
    const Operand& to = s.operands[0];
    if (to.kind == Operand::Kind::kList) {
      inst.d = destination(to.parts[0], 32);
      inst.d2 = destination(to.parts[1], 1);
    } else {
      inst.d = destination(to, 32);
    }
    emit(inst);
    return true;
  }
  if (op == "redux") {
    const auto type = parse_type(s.words.back());
    if (!type || type->bits != 32 || type->kind == Type::kFloat || s.operands.size() != 3)
      return false;
    const Slot a = source(s.operands[1], *type);
    const Slot e = source(s.operands[2], kU32);
    Inst inst = begin(s, Kind::kReduce);
    inst.cls = Class::kShuffle;
    inst.latency = 30;
    inst.a = a;
    inst.e = e;
    inst.type = *type;
    const bool signed_type = type->kind == Type::kSigned;
    inst.sub = static_cast<std::uint8_t>(s.has("add")   ? AtomicOp::kAdd
                                         : s.has("min") ? AtomicOp::kMin
                                         : s.has("max") ? AtomicOp::kMax
                                         : s.has("and") ? AtomicOp::kAnd
                                         : s.has("or")  ? AtomicOp::kOr
                                                        : AtomicOp::kXor);
    inst.sign_extend = signed_type;
    inst.d = destination(s.operands[0], 32);
    emit(inst);
    return true;
  }
  if (op == "activemask") {
    Inst inst = begin(s, Kind::kActiveMask);
    inst.cls = Class::kInteger;
    inst.d = destination(s.operands.at(0), 32);
    emit(inst);
    return true;
  }
  if (op == "elect") {
    const Operand& to = s.operands.at(0);
    if (to.kind != Operand::Kind::kList) return false;
    const Slot e = source(s.operands.at(1), kU32);
    Inst inst = begin(s, Kind::kElect);
    inst.cls = Class::kShuffle;
    inst.e = e;
    inst.d = destination(to.parts[0], 32);
    inst.d2 = destination(to.parts[1], 1);
    emit(inst);
    return true;
  }
  return false;
}

}  // namespace hone::emulator
