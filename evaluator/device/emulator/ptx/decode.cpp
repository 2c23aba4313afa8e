// From statements to instructions: operands, and which family a statement belongs to.
#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "evaluator/device/emulator/ptx/cost.h"
#include "evaluator/device/emulator/ptx/parser.h"

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

Slot Decoder::source(const Operand& o, Type type) {
  const int width = type.kind == Type::kPred ? 1 : type.bits;
  switch (o.kind) {
    case Operand::Kind::kRegister: {
      if (o.negated) return predicate(o);
      if (o.symbol->type.bits == 64 && width < 64 && width > 1) {  // reads the low part
        const Symbol low = p_.make_register({Type::kBits, 32});
        Inst inst;
        inst.kind = Kind::kLane;
        inst.cls = Class::kConversion;
        inst.line = p_.line_;
        inst.fn = find_lane(width == 16  ? "cvt.u16.u64"
                            : width == 8 ? "cvt.u8.u64"
                                         : "cvt.u32.u64");
        inst.d = low.slot;
        inst.a = o.symbol->slot;
        auto save = std::move(read_);
        auto saved_written = std::move(written_);
        read_ = {static_cast<Slot>(o.symbol->number)};
        written_ = {static_cast<Slot>(low.number)};
        emit(inst);
        read_ = std::move(save);
        written_ = std::move(saved_written);
        read_.push_back(static_cast<Slot>(low.number));
        return low.slot;
      }
      read_.push_back(static_cast<Slot>(o.symbol->number));
      return o.symbol->slot;
    }
    case Operand::Kind::kImmediate:
      return constant(immediate_bits(o, type), width);
    case Operand::Kind::kName: {
      if (o.symbol) {  // the address of a variable
        if (o.symbol->space == Space::kShared && o.symbol->address == UINT32_MAX) {
          const Symbol base = p_.make_register({Type::kBits, static_cast<std::uint8_t>(width)});
          Inst inst;
          inst.kind = Kind::kSpecial;
          inst.cls = Class::kInteger;
          inst.line = p_.line_;
          inst.imm = -1 - o.offset;  // the start of dynamic shared memory, plus an offset
          inst.d = base.slot;
          inst.dst_wide = width == 64;
          auto save = std::move(read_);
          auto saved_written = std::move(written_);
          read_.clear();
          written_ = {static_cast<Slot>(base.number)};
          emit(inst);
          read_ = std::move(save);
          written_ = std::move(saved_written);
          read_.push_back(static_cast<Slot>(base.number));
          return base.slot;
        }
        return constant(o.symbol->address + static_cast<std::uint64_t>(o.offset), width);
      }
      if (o.name == "WARP_SZ") return constant(32, width);
      const SpecialRegister special = special_register(o.name);
      if (special != SpecialRegister::kCount) {
        const Symbol temp = p_.make_register({Type::kBits, static_cast<std::uint8_t>(width)});
        Inst inst;
        inst.kind = Kind::kSpecial;
        inst.cls = Class::kInteger;
        inst.line = p_.line_;
        inst.imm = static_cast<std::int64_t>(special);
        inst.d = temp.slot;
        inst.dst_wide = width == 64;
        auto save = std::move(read_);
        auto saved_written = std::move(written_);
        read_.clear();
        written_ = {static_cast<Slot>(temp.number)};
        emit(inst);
        read_ = std::move(save);
        written_ = std::move(saved_written);
        read_.push_back(static_cast<Slot>(temp.number));
        return temp.slot;
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
  const Symbol temp = p_.make_register({Type::kPred, 1});
  Inst inst;
  inst.kind = Kind::kLane;
  inst.cls = Class::kInteger;
  inst.line = p_.line_;
  inst.fn = find_lane("not.pred");
  inst.d = temp.slot;
  inst.a = o.symbol->slot;
  auto save = std::move(read_);
  auto saved_written = std::move(written_);
  read_ = {static_cast<Slot>(o.symbol->number)};
  written_ = {static_cast<Slot>(temp.number)};
  emit(inst);
  read_ = std::move(save);
  written_ = std::move(saved_written);
  read_.push_back(static_cast<Slot>(temp.number));
  return temp.slot;
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
  if (key.starts_with("selp.")) inst.sub = kSelect;
  if (key == "and.pred") inst.sub = kAndPredicate;
  if (key == "or.pred") inst.sub = kOrPredicate;
  emit(inst);
  return true;
}

void Decoder::decode(const Statement& s) {
  const std::size_t mark = f_.code.size();
  try {
    if (decode_async(s) || decode_control(s) || decode_alloca(s) || decode_memory(s) ||
        decode_atomic(s) || decode_warp(s) || decode_tensor(s) || decode_setp(s) || decode_cvt(s) ||
        decode_mov(s) || decode_lane(s)) {
      // The register lists hold numbers; guards that turn a helper instruction off are harmless.
      return;
    }
  } catch (const ParseError&) {
    // Not understood is not yet wrong: the kernel may never get here.
  }
  f_.code.resize(mark);
  while (!p_.uses_.empty() && p_.uses_.back().inst >= mark) p_.uses_.pop_back();
  unsupported(s);
}

}  // namespace hone::emulator
