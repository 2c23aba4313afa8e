// Comparisons, conversions and moves.
#include <fmt/format.h>

#include "evaluator/device/emulator/ptx/decode.h"

namespace hone::emulator {

Operand Decoder::copied_predicate(const Statement& s, const Operand& o) {
  const Operand copy = temporary(kPredicate);
  const Slot from = predicate(o);
  lane(s, "mov.pred", Class::kInteger, 4, destination(copy, 1), from);
  return copy;
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
  if (op == "setp" && type->packed) return decode_packed_setp(s);
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
  // Either destination may be the third operand too.
  Operand third = boolean.empty() ? Operand{} : s.operands.at(3);
  if (pair && !boolean.empty()) third = copied_predicate(s, third);
  const auto finish = [&](const Operand& from, const Operand& to) {
    if (to.kind == Operand::Kind::kSink) return true;
    Slot x = source(from, pred);
    if (boolean.empty()) return lane(s, "mov.pred", Class::kInteger, 4, destination(to, 1), x);
    const Slot y = source(third, pred);
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

// setp.cmp{.bool}{.ftz}.{f16x2,bf16x2} p|q, a, b{, c}: p from the lower halves, q from the upper.
bool Decoder::decode_packed_setp(const Statement& s) {
  const auto type = parse_type(s.words.back());
  const Type half{type->kind, 16};
  std::string key = fmt::format("setp.{}", s.words[1]);
  std::string boolean;
  for (std::size_t i = 2; i + 1 < s.words.size(); ++i) {
    if (s.words[i] == "ftz") key += ".ftz";
    if (any_of(s.words[i], {"and", "or", "xor"})) boolean = s.words[i];
  }
  key += half.kind == Type::kFloat ? ".f16" : ".bf16";
  if (!find_lane(key) || s.operands[0].kind != Operand::Kind::kList) return false;
  std::vector<Operand> lower;
  std::vector<Operand> upper;
  for (std::size_t i = 1; i <= 2; ++i) {
    const Slot from = source(s.operands[i], kU32);
    Inst inst = begin(s, Kind::kUnpack);
    inst.cls = Class::kInteger;
    inst.a = from;
    inst.esize = 2;
    inst.vec = 2;
    inst.extra = static_cast<std::uint32_t>(f_.extra.size());
    for (auto* list : {&lower, &upper}) {
      list->push_back(temporary(half));
      f_.extra.push_back(destination(list->back(), 16));
    }
    emit(inst);
  }
  Operand third;
  if (!boolean.empty()) third = copied_predicate(s, s.operands.at(3));
  for (int k = 0; k < 2; ++k) {
    const auto& in = k == 0 ? lower : upper;
    const Operand& to = s.operands[0].parts[static_cast<std::size_t>(k)];
    if (to.kind == Operand::Kind::kSink) continue;
    const Slot a = source(in[0], half);
    const Slot b = source(in[1], half);
    if (boolean.empty()) {
      lane(s, key, Class::kFp16, 5, destination(to, 1), a, b);
      continue;
    }
    const Operand raw = temporary(kPredicate);
    lane(s, key, Class::kFp16, 5, destination(raw, 1), a, b);
    const Slot x = source(raw, kPredicate);
    const Slot y = predicate(third);
    lane(s, boolean + ".pred", Class::kInteger, 4, destination(to, 1), x, y);
  }
  return true;
}

bool Decoder::decode_cvt(const Statement& s) {
  if (s.words[0] != "cvt" || s.words.size() < 3) return false;
  if (s.words[1] == "pack") {  // cvt.pack.sat.u8.s32.b32 d, a, b, c
    const std::string key(s.opcode);
    if (!find_lane(key) || s.operands.size() < 3) return false;
    const Slot a = source(s.operands[1], kU32);
    const Slot b = source(s.operands[2], kU32);
    const Slot c = s.operands.size() > 3 ? source(s.operands[3], kU32) : kNone;
    return lane(s, key, Class::kConversion, 8, destination(s.operands[0], 32), a, b, c);
  }
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

Operand Decoder::wide_halves(const Operand& o) {
  if (o.kind == Operand::Kind::kVector && o.parts.size() == 2) return o;
  if (o.kind != Operand::Kind::kRegister || o.symbol->type.bits != 128)
    throw ParseError("expected a 128-bit register");
  Operand pair;
  pair.kind = Operand::Kind::kVector;
  for (std::uint32_t k = 0; k < 2; ++k) {
    Operand half;
    half.kind = Operand::Kind::kRegister;
    Symbol symbol = *o.symbol;
    symbol.type = {Type::kBits, 64};
    symbol.number += k;
    symbol.slot += static_cast<Slot>(k) * kWideHalf;
    half.symbol = &p_.temporaries_.emplace_back(symbol);
    pair.parts.push_back(half);
  }
  return pair;
}

void Decoder::move(const Statement& s, const Operand& to, const Operand& from, Type type) {
  if (to.kind == Operand::Kind::kSink) return;
  const Slot a = source(from, type);
  lane(s, type.bits == 64 ? "mov.b64" : "mov.b32", Class::kInteger, 4, destination(to, type.bits),
       a);
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
  if (type->bits == 128) {
    const Operand d = wide_halves(to);
    const Operand a = wide_halves(from);
    const Type half{Type::kBits, 64};
    for (std::size_t k = 0; k < 2; ++k) move(s, d.parts.at(k), a.parts.at(k), half);
    return true;
  }
  if (s.has("v2") || s.has("v4")) {  // of vector registers; sources may be destinations too
    if (to.kind != Operand::Kind::kVector || from.kind != Operand::Kind::kVector ||
        to.parts.size() != from.parts.size())
      return false;
    std::vector<Operand> copies;
    for (const Operand& part : from.parts) {
      copies.push_back(temporary(*type));
      move(s, copies.back(), part, *type);
    }
    for (std::size_t k = 0; k < copies.size(); ++k) move(s, to.parts[k], copies[k], *type);
    return true;
  }
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

}  // namespace hone::emulator
