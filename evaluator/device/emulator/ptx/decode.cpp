// From statements to instructions: operands, and everything that computes lane by lane.
#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "evaluator/device/emulator/ptx/parser.h"

namespace hone::emulator {
namespace {

bool any_of(std::string_view w, std::initializer_list<std::string_view> list) {
  for (auto x : list)
    if (x == w) return true;
  return false;
}

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

Class class_of(Type t) {
  if (t.kind == Type::kFloat || t.kind == Type::kBFloat) {
    if (t.bits == 64 && !t.packed) return Class::kFp64;
    if (t.bits == 16 || (t.packed && t.bits == 32)) return Class::kFp16;
    return Class::kFp32;
  }
  return Class::kInteger;
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
  f_.code.push_back(inst);
  read_.clear();
  written_.clear();
}

Inst Decoder::begin(const Statement& s, Kind kind) {
  Inst inst;
  inst.kind = kind;
  inst.line = p_.line_;
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
      {"%cluster_ctarank", SpecialRegister::kZero},
      {"%cluster_nctarank", SpecialRegister::kOne},
      {"%cluster_ctaid.x", SpecialRegister::kZero},
      {"%cluster_ctaid.y", SpecialRegister::kZero},
      {"%cluster_ctaid.z", SpecialRegister::kZero},
      {"%cluster_nctaid.x", SpecialRegister::kOne},
      {"%cluster_nctaid.y", SpecialRegister::kOne},
      {"%cluster_nctaid.z", SpecialRegister::kOne},
      {"%clusterid.x", SpecialRegister::kCtaidX},
      {"%clusterid.y", SpecialRegister::kCtaidY},
      {"%clusterid.z", SpecialRegister::kCtaidZ},
      {"%nclusterid.x", SpecialRegister::kNctaidX},
      {"%nclusterid.y", SpecialRegister::kNctaidY},
      {"%nclusterid.z", SpecialRegister::kNctaidZ}};
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

// Everything of the shape op{.modifiers}.type d, a{, b{, c}} with one lane function.
bool Decoder::decode_lane(const Statement& s) {
  const std::string_view op = s.words[0];
  if (s.operands.size() < 2 || s.words.size() < 2) return false;
  const auto last = parse_type(s.words.back());
  if (!last) return false;
  const Type type = *last;
  const Type u32{Type::kUnsigned, 32};
  const Type pred{Type::kPred, 1};
  std::string key(op);
  for (std::size_t i = 1; i < s.words.size(); ++i) {
    if (any_of(s.words[i], {"rn", "approx", "full", "noftz"})) continue;
    key += '.';
    key += s.words[i];
  }
  Class cls = class_of(type);
  int latency = 4;
  int flops = 0;
  int d_bits = type.kind == Type::kPred ? 1 : type.bits;
  std::vector<Type> types(s.operands.size() - 1, type);
  const bool is_float = type.kind == Type::kFloat || type.kind == Type::kBFloat;
  if (is_float && type.bits == 64) latency = 8;
  if (any_of(op, {"add", "sub", "mul", "min", "max"}) && is_float) flops = type.packed ? 2 : 1;
  if (any_of(op, {"fma", "mad"}) && is_float) {
    flops = type.packed ? 4 : 2;
    if (op == "mad") key = "fma" + key.substr(3);
  }
  if (any_of(op, {"rcp", "sqrt", "rsqrt", "ex2", "lg2", "sin", "cos", "tanh"})) {
    if (type.bits != 64) cls = Class::kSfu;
    latency = type.bits == 64 ? 40 : 20;
    flops = 1;
  }
  if (op == "div" || op == "rem") {
    latency = is_float ? 36 : 40;
    if (is_float) flops = 1;
  }
  if (any_of(op, {"popc", "clz", "bfind", "brev"})) {
    cls = Class::kSfu;
    latency = 10;
    if (op != "brev") d_bits = 32;
  }
  if ((op == "mul" || op == "mad") && s.has("wide")) {
    d_bits = type.bits * 2;
    if (op == "mad") types[2].bits = static_cast<std::uint8_t>(d_bits);
  }
  if (op == "shl" || op == "shr") types[1] = u32;
  if (op == "bfe") types[1] = types[2] = u32;
  if (op == "testp") d_bits = 1;
  if (op == "selp") types[2] = pred;
  if (op == "slct") {
    const auto first = parse_type(s.words[s.words.size() - 2]);
    if (!first) return false;
    types[0] = types[1] = *first;
    d_bits = first->bits;
    if (types.size() < 3) return false;
  }
  if (op == "dp4a" || op == "dp2a") types.assign(types.size(), u32);
  if (s.has("cc") || op == "addc" || op == "subc" || op == "madc") {
    Operand cc;
    cc.kind = Operand::Kind::kRegister;
    cc.symbol = p_.lookup("%%cc");
    if (!cc.symbol) cc.symbol = &(p_.scopes_[1].symbols["%%cc"] = p_.make_register(pred));
    Slot a;
    Slot b;
    std::string base(key);
    if (op == "mad" || op == "madc") {  // as a multiplication and an addition
      const Symbol product = p_.make_register({Type::kBits, type.bits});
      const std::string multiply =
          fmt::format("mul.{}.{}", s.has("hi") ? "hi" : "lo", s.words.back());
      const Slot x = source(s.operands[1], type);
      const Slot y = source(s.operands[2], type);
      written_.push_back(static_cast<Slot>(product.number));
      if (!lane(s, multiply, cls, latency, product.slot, x, y)) return false;
      read_.push_back(static_cast<Slot>(product.number));
      a = product.slot;
      b = source(s.operands[3], type);
      base = fmt::format("{}{}.{}", op == "mad" ? "add" : "addc", s.has("cc") ? ".cc" : "",
                         s.words.back());
    } else {
      a = source(s.operands[1], type);
      b = source(s.operands[2], type);
    }
    const Slot c = source(cc, pred);
    const Slot d = destination(s.operands[0], d_bits);
    destination(cc, 1);
    return lane(s, base, cls, latency, d, a, b, c);
  }
  if (op == "bfi") {  // position and length travel in one register
    if (s.operands.size() != 5) return false;
    const Symbol packed = p_.make_register(u32);
    const Slot pos = source(s.operands[3], u32);
    const Slot len = source(s.operands[4], u32);
    written_.push_back(static_cast<Slot>(packed.number));
    if (!lane(s, "bfi.pack", cls, latency, packed.slot, pos, len)) return false;
    const Slot a = source(s.operands[1], type);
    const Slot b = source(s.operands[2], type);
    read_.push_back(static_cast<Slot>(packed.number));
    return lane(s, key, cls, latency, destination(s.operands[0], d_bits), a, b, packed.slot);
  }
  std::uint32_t imm = 0;
  std::size_t count = types.size();
  if (op == "lop3") {
    if (count != 4 || s.operands[4].kind != Operand::Kind::kImmediate) return false;
    imm = static_cast<std::uint32_t>(s.operands[4].value);
    count = 3;
  }
  if (count > 3 || !find_lane(key)) return false;
  Slot in[3] = {kNone, kNone, kNone};
  for (std::size_t i = 0; i < count; ++i) in[i] = source(s.operands[i + 1], types[i]);
  if (s.operands[0].kind == Operand::Kind::kRegister && width_of(s.operands[0], 0) == 64 &&
      d_bits < 64) {
    const Symbol narrow = p_.make_register(u32);
    written_.push_back(static_cast<Slot>(narrow.number));
    lane(s, key, cls, latency, narrow.slot, in[0], in[1], in[2], flops);
    read_.push_back(static_cast<Slot>(narrow.number));
    return lane(s,
                fmt::format("cvt.{}64.{}{}", type.kind == Type::kSigned ? 's' : 'u',
                            type.kind == Type::kSigned ? 's' : 'u', std::max(d_bits, 16)),
                Class::kConversion, 4, destination(s.operands[0], 64), narrow.slot);
  }
  const Slot d = destination(s.operands[0], d_bits);
  if (!lane(s, key, cls, latency, d, in[0], in[1], in[2], flops)) return false;
  f_.code.back().imm = imm;
  return true;
}

// setp.cmp{.bool}{.ftz}.type p{|q}, a, b{, c} and set.cmp.dtype.stype d, a, b
bool Decoder::decode_setp(const Statement& s) {
  const std::string_view op = s.words[0];
  if (op != "setp" && op != "set") return false;
  const auto type = parse_type(s.words.back());
  if (!type || s.words.size() < 3 || s.operands.size() < 3) return false;
  std::string boolean;
  std::string key = fmt::format("setp.{}", s.words[1]);
  for (std::size_t i = 2; i + 1 < s.words.size(); ++i) {
    if (any_of(s.words[i], {"and", "or", "xor"})) boolean = s.words[i];
    if (s.words[i] == "ftz") key += ".ftz";
  }
  key += fmt::format(".{}", s.words.back());
  const Class cls = class_of(*type);
  if (!find_lane(key)) return false;
  const Type pred{Type::kPred, 1};
  const Slot a = source(s.operands[1], *type);
  const Slot b = source(s.operands[2], *type);
  const bool pair = s.operands[0].kind == Operand::Kind::kList || type->packed;
  const bool simple = op == "setp" && boolean.empty() && !pair;
  if (simple) return lane(s, key, cls, 5, destination(s.operands[0], 1), a, b);
  if (type->packed) return false;
  const Symbol raw = p_.make_register(pred);
  written_.push_back(static_cast<Slot>(raw.number));
  if (!lane(s, key, cls, 5, raw.slot, a, b)) return false;
  Operand result;
  result.kind = Operand::Kind::kRegister;
  result.symbol = &(p_.temporaries_.emplace_back(raw));
  Operand inverse = result;
  inverse.negated = true;
  const auto finish = [&](const Operand& from, const Operand& to) {
    if (to.kind == Operand::Kind::kSink) return true;
    Slot x = source(from, pred);
    if (boolean.empty()) return lane(s, "mov.pred", Class::kInteger, 4, destination(to, 1), x);
    const Slot y = source(s.operands[3], pred);
    return lane(s, boolean + ".pred", Class::kInteger, 4, destination(to, 1), x, y);
  };
  if (op == "setp") {
    if (!pair) return finish(result, s.operands[0]);
    return finish(result, s.operands[0].parts[0]) && finish(inverse, s.operands[0].parts[1]);
  }
  const auto to = parse_type(s.words[s.words.size() - 2]);
  if (!to) return false;
  if (!boolean.empty()) {
    const Slot x = source(result, pred);
    const Slot y = source(s.operands[3], pred);
    written_.push_back(static_cast<Slot>(raw.number));
    lane(s, boolean + ".pred", Class::kInteger, 4, raw.slot, x, y);
  }
  const std::uint64_t one = to->kind == Type::kFloat    ? (to->bits == 16 ? 0x3C00u : 0x3F800000u)
                            : to->kind == Type::kBFloat ? 0x3F80u
                                                        : ~0ull;
  const Slot p = source(result, pred);
  return lane(s, "selp.b32", Class::kInteger, 4, destination(s.operands[0], 32),
              constant(one, to->bits), constant(0, to->bits), p);
}

bool Decoder::decode_cvt(const Statement& s) {
  if (s.words[0] != "cvt" || s.words.size() < 3) return false;
  const auto to = parse_type(s.words[s.words.size() - 2]);
  const auto from = parse_type(s.words.back());
  if (!to || !from) return false;
  std::string key = "cvt";
  for (std::size_t i = 1; i + 2 < s.words.size(); ++i) key += fmt::format(".{}", s.words[i]);
  key += fmt::format(".{}.{}", s.words[s.words.size() - 2], s.words.back());
  const bool two = s.operands.size() == 3;  // cvt.rn.f16x2.f32 d, a, b
  if (!find_lane(key)) {
    // Rounding that cannot matter, and ftz where neither side is f32.
    std::string plain = "cvt";
    for (std::size_t i = 1; i + 2 < s.words.size(); ++i)
      if (s.words[i] != "ftz" || from->bits == 32 || to->bits == 32)
        plain += fmt::format(".{}", s.words[i]);
    plain += fmt::format(".{}.{}", s.words[s.words.size() - 2], s.words.back());
    if (!find_lane(plain)) return false;
    key = plain;
  }
  const bool wide = to->bits == 64 || from->bits == 64;
  const bool integer_only = to->kind != Type::kFloat && from->kind != Type::kFloat &&
                            to->kind != Type::kBFloat && from->kind != Type::kBFloat &&
                            to->kind != Type::kOther;
  const Class cls = integer_only ? Class::kInteger : Class::kConversion;
  const Slot a = source(s.operands[1], *from);
  const Slot b = two ? source(s.operands[2], *from) : kNone;
  const int latency = integer_only ? 4 : wide ? 20 : 12;
  const int dst_width = width_of(s.operands[0], to->bits);
  if (dst_width == 64 && to->bits < 64) {
    const Symbol narrow = p_.make_register({Type::kBits, 32});
    written_.push_back(static_cast<Slot>(narrow.number));
    lane(s, key, cls, latency, narrow.slot, a, b);
    read_.push_back(static_cast<Slot>(narrow.number));
    const char sign = to->kind == Type::kSigned ? 's' : 'u';
    return lane(s, fmt::format("cvt.{}64.{}{}", sign, sign, to->bits), Class::kInteger, 4,
                destination(s.operands[0], 64), narrow.slot);
  }
  if (dst_width == 32 && to->bits < 32 && to->kind == Type::kSigned) {
    // The register is wider than the type: the sign goes all the way up.
    const Symbol narrow = p_.make_register({Type::kBits, 32});
    written_.push_back(static_cast<Slot>(narrow.number));
    lane(s, key, cls, latency, narrow.slot, a, b);
    read_.push_back(static_cast<Slot>(narrow.number));
    return lane(s, fmt::format("cvt.s32.s{}", to->bits), Class::kInteger, 4,
                destination(s.operands[0], 32), narrow.slot);
  }
  return lane(s, key, cls, latency, destination(s.operands[0], to->bits), a, b);
}

bool Decoder::decode_mov(const Statement& s) {
  const std::string_view op = s.words[0];
  if (op == "cvta") {  // addresses are generic except for shared, local and param offsets
    if (s.operands.size() != 2) return false;
    const bool wide = s.words.back() == "u64";
    const Type type{Type::kUnsigned, static_cast<std::uint8_t>(wide ? 64 : 32)};
    std::uint64_t base = 0;
    if (s.has("shared") || s.has("shared::cta") || s.has("shared::cluster")) base = kSharedBase;
    if (s.has("local")) base = kLocalBase;
    if (s.has("param") || s.has("param::entry")) base = kParamBase;
    const Slot a = source(s.operands[1], type);
    const Slot d = destination(s.operands[0], type.bits);
    if (base == 0) return lane(s, wide ? "mov.b64" : "mov.b32", Class::kInteger, 2, d, a);
    return lane(s, s.has("to") ? "sub.u64" : "add.u64", Class::kInteger, 2, d, a,
                constant(base, 64));
  }
  if (op != "mov" || s.operands.size() != 2) return false;
  const auto type = parse_type(s.words.back());
  if (!type) return false;
  const Operand& to = s.operands[0];
  const Operand& from = s.operands[1];
  const auto piece_bits = [&](const Operand& vector) {
    return static_cast<std::uint8_t>(type->bits / vector.parts.size());
  };
  if (from.kind == Operand::Kind::kVector) {
    const Type piece{Type::kBits, piece_bits(from)};
    std::vector<Slot> slots;
    for (const Operand& part : from.parts) slots.push_back(source(part, piece));
    Inst inst = begin(s, Kind::kPack);
    inst.cls = Class::kInteger;
    inst.esize = piece.bits / 8;
    inst.vec = static_cast<std::uint8_t>(slots.size());
    inst.dst_wide = type->bits == 64;
    if (type->bits > 64) return false;
    inst.d = destination(to, type->bits);
    inst.extra = static_cast<std::uint32_t>(f_.extra.size());
    f_.extra.insert(f_.extra.end(), slots.begin(), slots.end());
    emit(inst);
    return true;
  }
  if (to.kind == Operand::Kind::kVector) {
    if (type->bits > 64) return false;
    const Type piece{Type::kBits, piece_bits(to)};
    const Slot a = source(from, *type);
    Inst inst = begin(s, Kind::kUnpack);
    inst.cls = Class::kInteger;
    inst.a = a;
    inst.esize = piece.bits / 8;
    inst.vec = static_cast<std::uint8_t>(to.parts.size());
    inst.addr_wide = type->bits == 64;
    std::vector<Slot> slots;
    for (const Operand& part : to.parts)
      slots.push_back(part.kind == Operand::Kind::kSink ? kNone : destination(part, piece.bits));
    inst.extra = static_cast<std::uint32_t>(f_.extra.size());
    f_.extra.insert(f_.extra.end(), slots.begin(), slots.end());
    emit(inst);
    return true;
  }
  if (type->bits == 128) return false;
  const std::string key = type->kind == Type::kPred ? "mov.pred"
                          : type->bits == 64        ? "mov.b64"
                                                    : "mov.b32";
  const Slot a = source(from, *type);
  return lane(s, key, Class::kInteger, 4, destination(to, type->bits), a);
}

void Decoder::decode(const Statement& s) {
  const std::size_t mark = f_.code.size();
  try {
    if (decode_control(s) || decode_memory(s) || decode_atomic(s) || decode_warp(s) ||
        decode_setp(s) || decode_cvt(s) || decode_mov(s) || decode_lane(s)) {
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
