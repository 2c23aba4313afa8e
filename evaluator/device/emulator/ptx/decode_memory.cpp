// Loads, stores and atomics.
#include <fmt/format.h>

#include "evaluator/device/emulator/ptx/decode.h"
#include "evaluator/device/emulator/ptx/parser.h"

namespace hone::emulator {
namespace {

Space space_of(const Statement& s) {
  if (s.has("global")) return Space::kGlobal;
  if (s.has("shared") || s.has("shared::cta") || s.has("shared::cluster")) return Space::kShared;
  if (s.has("local")) return Space::kLocal;
  if (s.has("const")) return Space::kConst;
  if (s.has("param") || s.has("param::entry") || s.has("param::func")) return Space::kParam;
  return Space::kGeneric;
}

bool is_ordered(const Statement& s) {
  return s.has("volatile") || s.has("relaxed") || s.has("acquire") || s.has("release") ||
         s.has("mmio");
}

void fences(const Statement& s, Inst& inst) {
  inst.publishes = s.has("release") || s.has("acq_rel");
  // Of a cluster it is known what orders its shared memory, and nothing of its global memory.
  inst.block_scope = s.has("cta") || s.has("cluster");
  inst.of_cluster = s.has("cluster");
  if (s.has("cta")) return;  // orders nothing between blocks
  inst.acquire = s.has("acquire") || s.has("acq_rel");
  inst.release = s.has("release") || s.has("acq_rel");
}

}  // namespace

// Base register and offset, or the constant address of a variable.
void Decoder::address(const Operand& o, Inst& inst) {
  if (o.kind != Operand::Kind::kAddress) throw ParseError("expected an address");
  inst.imm = o.offset;
  if (!o.symbol) {
    if (!o.name.empty()) throw ParseError("unknown name in an address");
    inst.a = constant(0, 64);
    inst.addr_wide = true;
    return;
  }
  if (o.symbol->kind == Symbol::Kind::kRegister) {
    read_.push_back(static_cast<Slot>(o.symbol->number));
    inst.a = o.symbol->slot;
    inst.addr_wide = o.symbol->type.bits == 64;
    return;
  }
  if (o.symbol->space == Space::kShared || o.symbol->space == Space::kLocal) {
    Operand name;
    name.kind = Operand::Kind::kName;
    name.symbol = o.symbol;
    name.name = o.name;
    inst.a = source(name, {Type::kUnsigned, 64});
    inst.addr_wide = true;
    return;
  }
  if (o.symbol->space == Space::kFormal) inst.space = Space::kFormal;
  inst.a = constant(0, 64);
  inst.addr_wide = true;
  inst.imm += static_cast<std::int64_t>(o.symbol->address);
}

bool Decoder::decode_prefetch(const Statement& s, const Operand* bytes, LineHint hint) {
  if (s.operands.empty() || s.has("tensormap")) {
    emit(begin(s, Kind::kNop));
    return true;
  }
  const Slot size = bytes ? source(*bytes, kU32) : kNone;
  Inst where;
  address(s.operands[0], where);
  Inst inst = begin(s, Kind::kPrefetch);
  inst.cls = Class::kMemory;
  inst.a = where.a;
  inst.imm = where.imm;
  inst.addr_wide = where.addr_wide;
  inst.b = size;
  inst.sub = static_cast<std::uint8_t>(hint);
  inst.esize = 4;
  inst.vec = 1;
  emit(inst);
  return true;
}

bool Decoder::decode_memory(const Statement& s) {
  const std::string_view op = s.words[0];
  if (op == "applypriority") return decode_prefetch(s, nullptr, LineHint::kPriority);
  if (op == "discard") return decode_prefetch(s, nullptr, LineHint::kDiscard);
  if (op == "prefetch" || op == "prefetchu") return decode_prefetch(s, nullptr);
  if (op == "isspacep") {
    const Slot a = source(s.operands[1], {Type::kUnsigned, 64});
    Inst inst = begin(s, Kind::kIsSpace);
    inst.cls = Class::kInteger;
    inst.a = a;
    inst.space = space_of(s);
    if (inst.space == Space::kGeneric) return false;
    inst.imm = s.has("shared::cluster");
    inst.d = destination(s.operands[0], 1);
    emit(inst);
    return true;
  }
  const bool load = op == "ld" || op == "ldu";
  if ((!load && op != "st") || s.operands.size() < 2) return false;
  if (s.has("async")) return false;
  const auto type = parse_type(s.words.back());
  if (type && type->bits == 128 && s.operands[load ? 0 : 1].kind == Operand::Kind::kRegister) {
    Statement halves = s;  // as two b64
    halves.words.back() = "b64";
    halves.operands[load ? 0 : 1] = wide_halves(s.operands[load ? 0 : 1]);
    if (!decode_memory(halves)) return false;
    f_.code.back().whole = true;
    return true;
  }
  if (!type || type->bits > 64 || type->bits < 8) return false;
  const Operand& where = s.operands[load ? 0 + 1 : 0];
  const Operand& value = s.operands[load ? 0 : 1];
  // Sources first: they may need helper instructions, which must precede this one.
  std::vector<Slot> slots;
  const bool vector = value.kind == Operand::Kind::kVector;
  const std::size_t count = vector ? value.parts.size() : 1;
  int width = 0;
  if (!load) {
    for (std::size_t i = 0; i < count; ++i) {
      const Operand& part = vector ? value.parts[i] : value;
      width = std::max(width, width_of(part, type->bits) == 64 ? 64 : 32);
      slots.push_back(
          source(part, {type->kind, static_cast<std::uint8_t>(width == 64 ? 64 : type->bits)}));
    }
  }
  Inst probe;
  probe.space = space_of(s);
  address(where, probe);
  Inst inst = begin(s, load ? Kind::kLoad : Kind::kStore);
  inst.space = probe.space;
  if (inst.space == Space::kParam && !f_.entry) inst.space = Space::kFormal;
  inst.a = probe.a;
  inst.addr_wide = probe.addr_wide;
  inst.imm = probe.imm;
  inst.cls = Class::kMemory;
  inst.esize = type->bits / 8;
  inst.vec = static_cast<std::uint8_t>(count);
  inst.sign_extend = type->kind == Type::kSigned;
  inst.ordered = is_ordered(s);
  inst.noncoherent = load && s.has("nc");
  module_.noncoherent = module_.noncoherent || inst.noncoherent;
  fences(s, inst);
  inst.bypass_l1 =
      inst.ordered || s.has("cg") || s.has("cv") || s.has("wt") || s.has("L1::no_allocate");
  inst.type = *type;
  if (load) {
    for (std::size_t i = 0; i < count; ++i) {
      const Operand& part = vector ? value.parts[i] : value;
      if (part.kind == Operand::Kind::kSink) {
        slots.push_back(kNone);
        continue;
      }
      width = std::max(width, width_of(part, type->bits) == 64 ? 64 : 32);
      slots.push_back(destination(part, type->bits));
    }
  }
  inst.dst_wide = width == 64;
  if (inst.space == Space::kShared || inst.space == Space::kGeneric)
    module_.shared_granule = std::min<int>(module_.shared_granule, inst.esize);
  inst.extra = static_cast<std::uint32_t>(f_.extra.size());
  f_.extra.insert(f_.extra.end(), slots.begin(), slots.end());
  emit(inst);
  return true;
}

bool Decoder::decode_atomic(const Statement& s) {
  const std::string_view op = s.words[0];
  if (op != "atom" && op != "red") return false;
  if (s.has("async")) return false;
  const bool red = op == "red";
  // atom.add.u32, but atom.v4.f32.add.noftz
  std::optional<Type> type;
  for (auto w : s.words)
    if (const auto t = parse_type(w)) type = t;
  if (!type) return false;
  if (type->bits == 128) {
    Statement halves = s;
    halves.words.back() = "b64";
    halves.words.push_back("v2");
    for (Operand& o : halves.operands)
      if (o.kind == Operand::Kind::kRegister) o = wide_halves(o);
    return decode_atomic(halves);
  }
  if (type->bits > 64) return false;
  int vec = 1;
  for (auto w : s.words)
    if (w.size() == 2 && w[0] == 'v' && w[1] >= '2' && w[1] <= '8') vec = w[1] - '0';
  static const std::unordered_map<std::string_view, AtomicOp> kOps = {
      {"add", AtomicOp::kAdd}, {"min", AtomicOp::kMin}, {"max", AtomicOp::kMax},
      {"inc", AtomicOp::kInc}, {"dec", AtomicOp::kDec}, {"and", AtomicOp::kAnd},
      {"or", AtomicOp::kOr},   {"xor", AtomicOp::kXor}, {"exch", AtomicOp::kExch},
      {"cas", AtomicOp::kCas}};
  const AtomicOp* what = nullptr;
  for (auto w : s.words)
    if (const auto it = kOps.find(w); it != kOps.end()) what = &it->second;
  const std::size_t first = red ? 0 : 1;
  if (!what || s.operands.size() < first + 2) return false;
  const bool wide = type->bits == 64;
  std::vector<Slot> values;
  const Operand& value = s.operands[first + 1];
  if (value.kind == Operand::Kind::kVector) {
    if (static_cast<int>(value.parts.size()) != vec) return false;
    for (const Operand& part : value.parts) values.push_back(source(part, *type));
  } else {
    values.push_back(source(value, *type));
  }
  Slot second = kNone;
  if (*what == AtomicOp::kCas) {
    const Operand& swap = s.operands.at(first + 2);
    if (swap.kind == Operand::Kind::kVector) {
      second = source(swap.parts[0], *type);
      source(swap.parts[1], *type);
    } else {
      second = source(swap, *type);
    }
  }
  Inst probe;
  probe.space = space_of(s);
  address(s.operands[first], probe);
  Inst inst = begin(s, Kind::kAtom);
  inst.space = probe.space;
  inst.a = probe.a;
  inst.addr_wide = probe.addr_wide;
  inst.imm = probe.imm;
  inst.cls = Class::kMemory;
  inst.esize = type->bits / 8;
  inst.vec = static_cast<std::uint8_t>(vec);
  inst.dst_wide = wide;
  inst.sub = static_cast<std::uint8_t>(*what);
  inst.type = *type;
  inst.noreturn = red;
  inst.ordered = true;
  fences(s, inst);
  inst.c = second;
  std::vector<Slot> results;
  if (!red) {
    const Operand& to = s.operands[0];
    if (to.kind == Operand::Kind::kVector) {
      for (const Operand& part : to.parts)
        results.push_back(part.kind == Operand::Kind::kSink ? kNone
                                                            : destination(part, type->bits));
    } else {
      results.push_back(to.kind == Operand::Kind::kSink ? kNone : destination(to, type->bits));
    }
  }
  results.resize(vec, kNone);
  if (inst.space != Space::kGlobal)
    module_.shared_granule = std::min<int>(module_.shared_granule, inst.esize);
  inst.extra = static_cast<std::uint32_t>(f_.extra.size());
  f_.extra.insert(f_.extra.end(), values.begin(), values.end());
  f_.extra.insert(f_.extra.end(), results.begin(), results.end());
  emit(inst);
  return true;
}

}  // namespace hone::emulator
