// Everything that computes lane by lane: arithmetic, bits, selection.
#include <fmt/format.h>

#include <algorithm>

#include "evaluator/device/emulator/ptx/decode.h"

namespace hone::emulator {

// Everything of the shape op{.modifiers}.type d, a{, b{, c}} with one lane function.
bool Decoder::decode_lane(const Statement& s) {
  const std::string_view op = s.words[0];
  if (s.operands.size() < 2 || s.words.size() < 2) return false;
  auto last = parse_type(s.words.back());
  if (!last && op == "prmt") last = kU32;  // prmt.b32.f4e
  if (!last) return false;
  const Type type = *last;
  if (op == "lop3" && s.words.size() == 3) return decode_lop3_predicate(s);
  if (type.packed && type.bits == 64) return decode_pair_of_f32(s);
  if (any_of(op, {"min", "max"}) && s.operands.size() == 4) return decode_three_inputs(s);
  const Type u32 = kU32;
  const Type pred = kPredicate;
  std::string key(op);
  for (std::size_t i = 1; i < s.words.size(); ++i) {
    if (any_of(s.words[i], {"rn", "approx", "full", "noftz"})) continue;
    key += '.';
    key += s.words[i];
  }
  if (type == Type{Type::kFloat, 32} && (s.has("approx") || s.has("full"))) key += ".approximate";
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
  if (s.opcode == "add.u64") note_frame_part(s);
  return true;
}

// The compiler keeps all local arrays of a function in one variable, its depot, and derives each
// array's start, and nothing else, as add.u64 d, %SP or %SPL, offset.
void Decoder::note_frame_part(const Statement& s) {
  const Operand& base = s.operands[1];
  const Operand& offset = s.operands[2];
  if ((base.name != "%SP" && base.name != "%SPL") || offset.kind != Operand::Kind::kImmediate)
    return;
  const auto depot = std::find_if(f_.variables.begin(), f_.variables.end(), [](const Extent& v) {
    return v.name.starts_with("__local_depot");
  });
  if (depot == f_.variables.end() || offset.value >= depot->bytes ||
      f_.variables.size() >= kSeveral - 1)
    return;
  Extent part = *depot;
  part.offset += static_cast<std::uint32_t>(offset.value);
  part.bytes -= static_cast<std::uint32_t>(offset.value);
  part.name = "part";
  const auto known = std::find_if(f_.variables.begin(), f_.variables.end(), [&](const Extent& v) {
    return v.name == part.name && v.offset == part.offset;
  });
  const auto number = static_cast<std::uint16_t>(known - f_.variables.begin());
  if (known == f_.variables.end()) f_.variables.push_back(part);
  p_.seeds_.push_back({static_cast<std::int32_t>(f_.code.size()) - 1, number, true});
}

/// A register operand for a temporary of this statement.
Operand Decoder::temporary(Type type) {
  Operand o;
  o.kind = Operand::Kind::kRegister;
  o.symbol = &p_.temporaries_.emplace_back(p_.make_register(type));
  return o;
}

// lop3.BoolOp.b32 d|p, a, b, c, table, q: p = (d != 0) BoolOp q.
bool Decoder::decode_lop3_predicate(const Statement& s) {
  if (s.operands.size() != 6 || s.operands[0].kind != Operand::Kind::kList) return false;
  const Operand& table = s.operands[4];
  if (table.kind != Operand::Kind::kImmediate || !any_of(s.words[1], {"and", "or"})) return false;
  const Slot q = predicate(s.operands[5]);
  const std::vector<Slot> q_read = std::move(read_);
  read_.clear();
  const Operand result = temporary(kU32);
  const Operand some = temporary(kPredicate);
  const Slot a = source(s.operands[1], kU32);
  const Slot b = source(s.operands[2], kU32);
  const Slot c = source(s.operands[3], kU32);
  lane(s, "lop3.b32", Class::kInteger, 4, destination(result, 32), a, b, c);
  f_.code.back().imm = static_cast<std::int64_t>(table.value & 0xFF);
  const Slot r = source(result, kU32);
  lane(s, "test.b32", Class::kInteger, 4, destination(some, 1), r);
  const Slot x = source(some, kPredicate);
  read_.insert(read_.end(), q_read.begin(), q_read.end());
  const Operand& d = s.operands[0].parts[0];
  lane(s, std::string(s.words[1]) + ".pred", Class::kInteger, 4,
       destination(s.operands[0].parts[1], 1), x, q);
  if (d.kind == Operand::Kind::kSink) return true;
  const Slot from = source(result, kU32);
  return lane(s, "mov.b32", Class::kInteger, 4, destination(d, 32), from);
}

// {add,sub,mul,fma}{.rnd}{.ftz}.f32x2 d, a, b{, c}: each half as f32.
bool Decoder::decode_pair_of_f32(const Statement& s) {
  const Type f32{Type::kFloat, 32};
  const Type b64{Type::kBits, 64};
  std::string key(s.words[0]);
  for (std::size_t i = 1; i + 1 < s.words.size(); ++i)
    if (s.words[i] != "rn") key += fmt::format(".{}", s.words[i]);
  key += ".f32";
  const std::size_t count = s.operands.size() - 1;
  if (!find_lane(key) || count < 2 || count > 3) return false;
  std::vector<Operand> halves[2];
  for (std::size_t i = 0; i < count; ++i) {
    const Slot from = source(s.operands[i + 1], b64);
    Inst inst = begin(s, Kind::kUnpack);
    inst.cls = Class::kInteger;
    inst.a = from;
    inst.esize = 4;
    inst.vec = 2;
    inst.addr_wide = true;
    inst.extra = static_cast<std::uint32_t>(f_.extra.size());
    for (auto& half : halves) {
      half.push_back(temporary(f32));
      f_.extra.push_back(destination(half.back(), 32));
    }
    emit(inst);
  }
  std::vector<Operand> results;
  for (auto& half : halves) {
    results.push_back(temporary(f32));
    Slot in[3] = {kNone, kNone, kNone};
    for (std::size_t i = 0; i < count; ++i) in[i] = source(half[i], f32);
    lane(s, key, Class::kFp32, 4, destination(results.back(), 32), in[0], in[1], in[2],
         count == 3 ? 2 : 1);
  }
  std::vector<Slot> slots;
  for (const Operand& r : results) slots.push_back(source(r, f32));
  Inst inst = begin(s, Kind::kPack);
  inst.cls = Class::kInteger;
  inst.esize = 4;
  inst.vec = 2;
  inst.dst_wide = true;
  inst.d = destination(s.operands[0], 64);
  inst.extra = static_cast<std::uint32_t>(f_.extra.size());
  f_.extra.insert(f_.extra.end(), slots.begin(), slots.end());
  emit(inst);
  return true;
}

// {min,max}{.ftz}{.NaN}{.abs}.f32 d, a, b, c (sm_100): two of two inputs.
bool Decoder::decode_three_inputs(const Statement& s) {
  if (s.words.back() != "f32" || s.has("abs")) return false;
  const Type f32{Type::kFloat, 32};
  const std::string key(s.opcode);
  if (!find_lane(key)) return false;
  const Operand first = temporary(f32);
  const Slot a = source(s.operands[1], f32);
  const Slot b = source(s.operands[2], f32);
  lane(s, key, Class::kFp32, 4, destination(first, 32), a, b, kNone, 1);
  const Slot x = source(first, f32);
  const Slot c = source(s.operands[3], f32);
  return lane(s, key, Class::kFp32, 4, destination(s.operands[0], 32), x, c, kNone, 1);
}

}  // namespace hone::emulator
