// From statements to instructions: operands, and which family a statement belongs to.
#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "evaluator/device/emulator/ptx/cost.h"
#include "evaluator/device/emulator/ptx/decode.h"

namespace hone::emulator {
namespace {

std::uint64_t immediate_bits(const Operand& o, Type type) {
  if (o.float_kind == 0) return o.value;
  if (type.bits == 64) {
    if (o.float_kind == 'd') return o.value;
    return std::bit_cast<std::uint64_t>(
        static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(o.value))));
  }
  if (o.float_kind == 'f') return o.value;
  return std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(o.value)));
}

LaneHint hint_of(std::string_view key) {
  if (key.starts_with("selp.")) return kSelect;
  if (key == "and.pred") return kAndPredicate;
  if (key == "or.pred") return kOrPredicate;
  if (any_of(key, {"mov.b32", "mov.b64", "cvt.u64.u32", "cvt.u32.u64", "cvt.s64.s32"}))
    return kCopy;
  const std::string_view op = key.substr(0, key.find('.'));
  if (any_of(op, {"add", "or", "and", "xor"})) return kSum;
  if (op == "sub") return kDifference;
  if (key.starts_with("mad.lo.") || key.starts_with("mad.wide.")) return kScaledSum;
  return kPlain;
}

std::uint8_t bits_of(std::string_view key) {
  const std::string_view op = key.substr(0, key.find('.'));
  if (any_of(op, {"and", "or", "xor", "not", "lop3", "cnot"}))
    return key.ends_with(".pred") || op == "cnot" ? 0 : kBitByBit;
  if (any_of(op, {"shl", "shr"})) return kBitByBit | kSecondMoves;
  if (op == "bfe") return kBitByBit | kSecondMoves | kThirdMoves;
  if (any_of(op, {"prmt", "shf", "selp"}))
    return key.ends_with(".pred") ? 0 : kBitByBit | kThirdMoves;
  if (key.starts_with("mov.b")) return kBitByBit;
  // Between integers, without .sat.
  if (op != "cvt" || key.contains(".sat") || key.contains("f")) return 0;
  return kBitByBit;
}

}  // namespace

void Decoder::emit(Inst inst) {
  inst.regs = static_cast<std::uint32_t>(f_.regs.size());
  const auto add = [&](const std::vector<Slot>& slots) {
    for (Slot s : slots) f_.regs.push_back(static_cast<std::uint32_t>(s));
  };
  add(read_);
  inst.sources = static_cast<std::uint8_t>(std::min<std::size_t>(read_.size(), 255));
  add(written_);
  inst.destinations = static_cast<std::uint8_t>(std::min<std::size_t>(written_.size(), 255));
  const Cost cost = cost_of(inst);
  inst.issue = cost.issue;
  if (cost.latency) inst.latency = cost.latency;
  if (named_) p_.seeds_.push_back({static_cast<std::int32_t>(f_.code.size()), named_});
  named_ = 0;
  f_.code.push_back(inst);
  read_.clear();
  written_.clear();
}

Inst Decoder::begin(const Statement& s, Kind kind) {
  Inst inst;
  inst.kind = kind;
  inst.line = p_.line_;
  inst.cost = cost_index(s);
  if (s.guard) {
    inst.guarded = true;
    inst.guard_negated = s.guard_negated;
    inst.guard = s.guard->slot;
    read_.push_back(static_cast<Slot>(s.guard->number));
  }
  return inst;
}

void Decoder::unsupported(const Statement& s) {
  read_.clear();
  written_.clear();
  Inst inst = begin(s, Kind::kUnsupported);
  inst.imm = static_cast<std::int64_t>(module_.unsupported.size());
  module_.unsupported.emplace_back(s.opcode);
  emit(inst);
}

Slot Decoder::constant(std::uint64_t bits, int width) {
  if (width <= 16 && width > 1) bits &= (1u << width) - 1;
  const std::string key = fmt::format("{}:{:x}",
                                      width <= 1    ? 1
                                      : width <= 32 ? 32
                                                    : 64,
                                      width <= 32 ? bits & 0xFFFFFFFFu : bits);
  const auto [it, fresh] = p_.constants_.try_emplace(key, kNone);
  if (!fresh) return it->second;
  auto& pool = module_.constants;
  const auto at = static_cast<Slot>(pool.size());
  if (width <= 1) {
    const std::uint64_t mask = bits ? 0xFFFFFFFFu : 0;
    pool.resize(at + 64);
    std::memcpy(pool.data() + at, &mask, 8);
  } else if (width <= 32) {
    pool.resize(at + 128);
    for (int i = 0; i < 32; ++i) std::memcpy(pool.data() + at + i * 4, &bits, 4);
  } else {
    pool.resize(at + 256);
    for (int i = 0; i < 32; ++i) std::memcpy(pool.data() + at + i * 8, &bits, 8);
  }
  return it->second = ~at;
}

int Decoder::width_of(const Operand& o, int fallback) const {
  if (o.kind != Operand::Kind::kRegister) return fallback;
  return o.symbol->type.kind == Type::kPred ? 1 : o.symbol->type.bits;
}

namespace {
SpecialRegister special_register(std::string_view name) {
  static const std::unordered_map<std::string_view, SpecialRegister> kNames = {
      {"%tid.x", SpecialRegister::kTidX},
      {"%tid.y", SpecialRegister::kTidY},
      {"%tid.z", SpecialRegister::kTidZ},
      {"%ntid.x", SpecialRegister::kNtidX},
      {"%ntid.y", SpecialRegister::kNtidY},
      {"%ntid.z", SpecialRegister::kNtidZ},
      {"%ctaid.x", SpecialRegister::kCtaidX},
      {"%ctaid.y", SpecialRegister::kCtaidY},
      {"%ctaid.z", SpecialRegister::kCtaidZ},
      {"%nctaid.x", SpecialRegister::kNctaidX},
      {"%nctaid.y", SpecialRegister::kNctaidY},
      {"%nctaid.z", SpecialRegister::kNctaidZ},
      {"%laneid", SpecialRegister::kLaneid},
      {"%warpid", SpecialRegister::kWarpid},
      {"%nwarpid", SpecialRegister::kNwarpid},
      {"%smid", SpecialRegister::kSmid},
      {"%nsmid", SpecialRegister::kNsmid},
      {"%gridid", SpecialRegister::kGridid},
      {"%clock", SpecialRegister::kClock},
      {"%clock64", SpecialRegister::kClock64},
      {"%clock_hi", SpecialRegister::kClockHi},
      {"%globaltimer", SpecialRegister::kGlobaltimer},
      {"%globaltimer_lo", SpecialRegister::kGlobaltimerLo},
      {"%globaltimer_hi", SpecialRegister::kGlobaltimerHi},
      {"%lanemask_eq", SpecialRegister::kLanemaskEq},
      {"%lanemask_lt", SpecialRegister::kLanemaskLt},
      {"%lanemask_le", SpecialRegister::kLanemaskLe},
      {"%lanemask_gt", SpecialRegister::kLanemaskGt},
      {"%lanemask_ge", SpecialRegister::kLanemaskGe},
      {"%dynamic_smem_size", SpecialRegister::kDynamicSmem},
      {"%total_smem_size", SpecialRegister::kTotalSmem},
      {"%cluster_ctarank", SpecialRegister::kClusterRank},
      {"%cluster_nctarank", SpecialRegister::kClusterSize},
      {"%cluster_ctaid.x", SpecialRegister::kClusterCtaidX},
      {"%cluster_ctaid.y", SpecialRegister::kClusterCtaidY},
      {"%cluster_ctaid.z", SpecialRegister::kClusterCtaidZ},
      {"%cluster_nctaid.x", SpecialRegister::kClusterNctaidX},
      {"%cluster_nctaid.y", SpecialRegister::kClusterNctaidY},
      {"%cluster_nctaid.z", SpecialRegister::kClusterNctaidZ},
      {"%clusterid.x", SpecialRegister::kClusteridX},
      {"%clusterid.y", SpecialRegister::kClusteridY},
      {"%clusterid.z", SpecialRegister::kClusteridZ},
      {"%nclusterid.x", SpecialRegister::kNclusteridX},
      {"%nclusterid.y", SpecialRegister::kNclusteridY},
      {"%nclusterid.z", SpecialRegister::kNclusteridZ}};
  const auto it = kNames.find(name);
  return it == kNames.end() ? SpecialRegister::kCount : it->second;
}
}  // namespace

// A value that an instruction of its own makes, before the one in hand.
Slot Decoder::helper_value(Inst inst, int width, const Symbol* from) {
  const Symbol result =
      p_.make_register({width <= 1 ? Type::kPred : Type::kBits, static_cast<std::uint8_t>(width)});
  inst.line = p_.line_;
  inst.d = result.slot;
  inst.dst_wide = width == 64;
  const auto read = std::move(read_);
  const auto written = std::move(written_);
  const std::uint16_t named = named_;
  read_.clear();
  if (from) {
    inst.a = from->slot;
    read_.push_back(static_cast<Slot>(from->number));
  }
  named_ = inst.variable;
  inst.variable = 0;
  written_ = {static_cast<Slot>(result.number)};
  emit(inst);
  read_ = read;
  written_ = written;
  named_ = named;
  read_.push_back(static_cast<Slot>(result.number));
  return result.slot;
}

// The address of a variable plus an offset.
Slot Decoder::address_of(const Operand& o, int width) {
  const Symbol& symbol = *o.symbol;
  const bool dynamic = symbol.space == Space::kShared && symbol.address == UINT32_MAX;
  std::uint16_t variable = 0;
  if (symbol.space == Space::kShared || symbol.space == Space::kLocal) {
    if (!symbol.variable && f_.variables.size() < kSeveral - 1) {
      if (f_.variables.empty()) f_.variables.emplace_back();  // 0 is none
      symbol.variable = static_cast<std::uint16_t>(f_.variables.size());
      f_.variables.push_back(
          {symbol.space, dynamic ? 0 : static_cast<std::uint32_t>(symbol.address),
           static_cast<std::uint32_t>(symbol.bytes), dynamic, std::string(o.name), symbol.padding});
    }
    variable = symbol.variable;
  }
  const bool in_frame = symbol.space == Space::kLocal && !f_.entry;
  if (!dynamic && !in_frame) {
    named_ = named_ && named_ != variable ? kSeveral : variable;
    return constant(symbol.address + static_cast<std::uint64_t>(o.offset), width);
  }
  Inst inst;
  inst.kind = Kind::kSpecial;
  inst.cls = Class::kInteger;
  inst.variable = variable;
  if (dynamic) {
    inst.imm = -1 - o.offset;  // the start of dynamic shared memory, plus an offset
  } else {
    inst.imm = static_cast<std::int64_t>(SpecialRegister::kLocalFrame);
    inst.target = static_cast<std::int32_t>(symbol.address + static_cast<std::uint64_t>(o.offset));
  }
  return helper_value(inst, width);
}

Slot Decoder::source(const Operand& o, Type type) {
  const int width = type.kind == Type::kPred ? 1 : type.bits;
  switch (o.kind) {
    case Operand::Kind::kRegister: {
      if (o.negated) return predicate(o);
      if (o.symbol->type.bits == 64 && width < 64 && width > 1) {  // reads the low part
        Inst inst;
        inst.kind = Kind::kLane;
        inst.cls = Class::kConversion;
        inst.sub = width == 32 ? kCopy : kPlain;
        inst.fn = find_lane(width == 16  ? "cvt.u16.u64"
                            : width == 8 ? "cvt.u8.u64"
                                         : "cvt.u32.u64");
        return helper_value(inst, 32, o.symbol);
      }
      read_.push_back(static_cast<Slot>(o.symbol->number));
      return o.symbol->slot;
    }
    case Operand::Kind::kImmediate:
      return constant(immediate_bits(o, type), width);
    case Operand::Kind::kName: {
      if (o.symbol) return address_of(o, width);
      if (o.name == "WARP_SZ") return constant(32, width);
      const SpecialRegister special = special_register(o.name);
      if (special != SpecialRegister::kCount) {
        Inst inst;
        inst.kind = Kind::kSpecial;
        inst.cls = Class::kInteger;
        inst.imm = static_cast<std::int64_t>(special);
        return helper_value(inst, width);
      }
      if (o.name.starts_with("%")) throw ParseError(fmt::format("unknown register '{}'", o.name));
      return constant(kFunctionBase + p_.function_index(o.name), width);
    }
    default:
      throw ParseError("an operand is no value");
  }
}

Slot Decoder::predicate(const Operand& o) {
  if (o.kind == Operand::Kind::kImmediate) return constant(o.value != 0, 1);
  if (o.kind != Operand::Kind::kRegister) throw ParseError("expected a predicate");
  if (!o.negated) {
    read_.push_back(static_cast<Slot>(o.symbol->number));
    return o.symbol->slot;
  }
  Inst inst;
  inst.kind = Kind::kLane;
  inst.cls = Class::kInteger;
  inst.fn = find_lane("not.pred");
  return helper_value(inst, 1, o.symbol);
}

Slot Decoder::destination(const Operand& o, int bits) {
  if (o.kind == Operand::Kind::kSink) {
    const Symbol temp = p_.make_register({Type::kBits, static_cast<std::uint8_t>(bits)});
    return temp.slot;
  }
  if (o.kind != Operand::Kind::kRegister) throw ParseError("expected a destination register");
  written_.push_back(static_cast<Slot>(o.symbol->number));
  return o.symbol->slot;
}

bool Decoder::lane(const Statement& s, const std::string& key, Class cls, int latency, Slot d,
                   Slot a, Slot b, Slot c, int flops) {
  const LaneFn fn = find_lane(key);
  if (!fn) return false;
  Inst inst = begin(s, Kind::kLane);
  inst.fn = fn;
  inst.cls = cls;
  inst.latency = static_cast<std::uint8_t>(latency);
  inst.d = d;
  inst.a = a;
  inst.b = b == kNone ? a : b;
  inst.c = c == kNone ? a : c;
  inst.flops = static_cast<std::uint8_t>(flops);
  inst.sub = hint_of(key);
  inst.bits = bits_of(key);
  emit(inst);
  return true;
}

void Decoder::decode(const Statement& s) {
  const std::size_t mark = f_.code.size();
  try {
    if (decode_async(s) || decode_control(s) || decode_alloca(s) || decode_memory(s) ||
        decode_atomic(s) || decode_warp(s) || decode_tensor(s) || decode_setp(s) || decode_cvt(s) ||
        decode_mov(s) || decode_video(s) || decode_lane(s)) {
      // The register lists hold numbers; guards that turn a helper instruction off are harmless.
      return;
    }
  } catch (const ParseError&) {
    // Not understood is not yet wrong: the kernel may never get here.
  }
  f_.code.resize(mark);
  named_ = 0;
  while (!p_.seeds_.empty() && p_.seeds_.back().inst >= static_cast<std::int32_t>(mark))
    p_.seeds_.pop_back();
  while (!p_.uses_.empty() && p_.uses_.back().inst >= mark) p_.uses_.pop_back();
  unsupported(s);
}

}  // namespace hone::emulator
