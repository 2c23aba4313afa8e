// mma.sync, ldmatrix, stmatrix, movmatrix. Fragment layouts: PTX ISA, "Matrix fragments for
// mma.m16n8k...": they are one scheme, written down in sim/tensor.cpp.
#include <fmt/format.h>

#include <cstring>

#include "evaluator/device/emulator/ptx/parser.h"

namespace hone::emulator {

std::optional<TensorType> parse_tensor_type(std::string_view word) {
  static const std::unordered_map<std::string_view, TensorType> kTypes = {
      {"f16", TensorType::kF16},   {"bf16", TensorType::kBF16}, {"tf32", TensorType::kTF32},
      {"e4m3", TensorType::kE4M3}, {"e5m2", TensorType::kE5M2}, {"s8", TensorType::kS8},
      {"u8", TensorType::kU8},     {"s4", TensorType::kS4},     {"u4", TensorType::kU4},
      {"b1", TensorType::kB1},     {"f64", TensorType::kF64},   {"f32", TensorType::kF32},
      {"s32", TensorType::kS32}};
  const auto it = kTypes.find(word);
  return it == kTypes.end() ? std::nullopt : std::optional(it->second);
}

// "m16n8k16"
bool parse_shape(std::string_view word, TensorOp& op) {
  int m = 0;
  int n = 0;
  int k = 0;
  int end = 0;
  const std::string text(word);
  if (std::sscanf(text.c_str(), "m%dn%dk%d%n", &m, &n, &k, &end) != 3 ||
      end != static_cast<int>(text.size()))
    return false;
  op.m = static_cast<std::uint16_t>(m);
  op.n = static_cast<std::uint16_t>(n);
  op.k = static_cast<std::uint16_t>(k);
  return true;
}

namespace {

bool is_int(TensorType t) {
  return t == TensorType::kS8 || t == TensorType::kU8 || t == TensorType::kS4 ||
         t == TensorType::kU4 || t == TensorType::kB1;
}
/// The types that may stand together, and with which k for m16n8; m8n8 has its own.
bool known_mma(const TensorOp& op) {
  const int bits = tensor_bits(op.a);
  if (op.n != 8 || (op.m != 16 && op.m != 8) || tensor_bits(op.b) != bits || op.c != op.d)
    return false;
  const bool small = op.m == 8;
  const auto k_is = [&](std::initializer_list<int> list) {
    for (int k : list)
      if (op.k == k) return true;
    return false;
  };
  if (is_int(op.a)) {
    if (op.c != TensorType::kS32 || !is_int(op.b)) return false;
    if (bits == 1) return small ? k_is({128}) : k_is({128, 256});
    if (bits == 4) return small ? k_is({32}) : k_is({32, 64});
    return small ? k_is({16}) : k_is({16, 32});
  }
  if (is_fp8(op.a))
    return is_fp8(op.b) && !small && k_is({16, 32}) &&
           (op.c == TensorType::kF32 || op.c == TensorType::kF16);
  if (op.a != op.b) return false;
  switch (op.a) {
    case TensorType::kF16:
      return !small && k_is({8, 16}) && (op.c == TensorType::kF32 || op.c == TensorType::kF16);
    case TensorType::kBF16:
      return !small && k_is({8, 16}) && op.c == TensorType::kF32;
    case TensorType::kTF32:
      return !small && k_is({4, 8}) && op.c == TensorType::kF32;
    case TensorType::kF64:
      return op.c == TensorType::kF64 && (small ? k_is({4}) : k_is({4, 8, 16}));
    default:
      return false;
  }
}

}  // namespace

// Registers of one block of 16 (or 8) rows, of 8 columns, and of their product.
void tensor_registers(TensorOp& op) {
  const auto per_lane = [](int elements, int bits) {
    return static_cast<std::uint8_t>(bits == 64 ? elements / 32 : elements * bits / 32 / 32);
  };
  op.a_regs = per_lane(op.rows() * op.k, tensor_bits(op.a));
  op.b_regs = per_lane(8 * op.k, tensor_bits(op.b));
  op.c_regs = per_lane(op.rows() * 8, tensor_bits(op.c));
  op.d_regs = per_lane(op.rows() * 8, tensor_bits(op.d));
}

Symbol Decoder::hidden(int bits) {
  return p_.make_register({Type::kBits, static_cast<std::uint8_t>(bits)});
}

Slot Decoder::lane_constant(const std::array<std::uint32_t, 32>& values, int width) {
  std::string key = fmt::format("lanes{}", width);
  for (std::uint32_t v : values) key += fmt::format(":{:x}", v);
  const auto [it, fresh] = p_.constants_.try_emplace(key, kNone);
  if (!fresh) return it->second;
  auto& pool = module_.constants;
  const auto at = static_cast<Slot>(pool.size());
  pool.resize(at + (width == 64 ? 256 : 128));
  for (int i = 0; i < 32; ++i) std::memcpy(pool.data() + at + i * (width / 8), &values[i], 4);
  return it->second = ~at;
}

Slot Decoder::lane_mask(std::uint32_t lanes) {
  const auto [it, fresh] = p_.constants_.try_emplace(fmt::format("mask:{:x}", lanes), kNone);
  if (!fresh) return it->second;
  auto& pool = module_.constants;
  const auto at = static_cast<Slot>(pool.size());
  pool.resize(at + 64);
  std::memcpy(pool.data() + at, &lanes, 4);
  return it->second = ~at;
}

void Decoder::helper_lane(const Statement& s, const char* key, const Symbol& d, Slot a, Slot b,
                          Slot c, const std::vector<Slot>& read) {
  const LaneFn fn = find_lane(key);
  if (!fn) throw ParseError("a helper operation is missing");
  Inst inst = begin(s, Kind::kLane);
  read_.insert(read_.end(), read.begin(), read.end());
  written_.push_back(static_cast<Slot>(d.number));
  inst.cls = Class::kInteger;
  inst.helper = true;
  inst.fn = fn;
  inst.d = d.slot;
  inst.a = a;
  inst.b = b;
  inst.c = c == kNone ? a : c;
  emit(inst);
}

Inst Decoder::begin_tensor(const Statement& s, const TensorOp& op, bool helper) {
  Inst inst = begin(s, Kind::kTensor);
  inst.cls = helper ? Class::kOther : Class::kTensor;
  inst.helper = helper;
  inst.e = constant(0xFFFFFFFFu, 32);  // who takes part (Block::gather_lanes)
  inst.imm = static_cast<std::int64_t>(f_.tensors.size());
  inst.latency = helper ? 1 : 33;
  f_.tensors.push_back(op);
  return inst;
}

bool Decoder::emit_mma(const Statement& s, const TensorOp& op, const Operands& d, const Operands& a,
                       const Operands& b, const Operands& c) {
  const auto count = [](int blocks, int regs) { return static_cast<std::size_t>(blocks * regs); };
  const int rb = op.row_blocks();
  const int cb = op.column_blocks();
  if (d.size() != count(rb * cb, op.d_regs) || a.size() != count(rb, op.a_regs) ||
      b.size() != count(cb, op.b_regs) || c.size() != count(rb * cb, op.c_regs))
    return false;
  const auto register_type = [](TensorType t) -> Type {
    if (t == TensorType::kF64) return {Type::kFloat, 64};
    return {t == TensorType::kF32 ? Type::kFloat : Type::kBits, 32};
  };
  std::vector<Slot> slots(d.size());
  const auto read = [&](const Operands& list, TensorType type) {
    for (const Operand* o : list) slots.push_back(source(*o, register_type(type)));
  };
  read(a, op.a);
  read(b, op.b);
  read(c, op.c);
  Inst inst = begin_tensor(s, op, false);
  for (std::size_t i = 0; i < d.size(); ++i)
    slots[i] = destination(*d[i], register_type(op.d).bits);
  inst.extra = static_cast<std::uint32_t>(f_.extra.size());
  f_.extra.insert(f_.extra.end(), slots.begin(), slots.end());
  emit(inst);
  return true;
}

bool Decoder::decode_tensor(const Statement& s) {
  const std::string_view op = s.words[0];
  if (op == "mma") return decode_mma(s);
  if (op == "ldmatrix" || op == "stmatrix" || op == "movmatrix") return decode_matrix(s);
  if (op == "wmma") return decode_wmma(s);
  if (op == "wgmma") return decode_wgmma(s);
  return false;
}

bool Decoder::decode_mma(const Statement& s) {
  if (s.operands.size() != 4 || !s.has("sync") || !s.has("row") || !s.has("col")) return false;
  TensorOp op;
  bool shape = false;
  std::vector<TensorType> types;
  for (std::size_t i = 1; i < s.words.size(); ++i) {
    const std::string_view w = s.words[i];
    if (const auto type = parse_tensor_type(w)) {
      types.push_back(*type);
    } else if (w.size() > 1 && w[0] == 'm' && std::isdigit(static_cast<unsigned char>(w[1]))) {
      shape = parse_shape(w, op);
    } else if (w == "satfinite") {
      op.saturate = true;
    } else if (w == "and") {
      op.b1_and = true;
    } else if (w != "sync" && w != "aligned" && w != "row" && w != "col" && w != "xor" &&
               w != "popc" && w != "rn") {
      return false;  // .sp, .kind, .block_scale, other roundings
    }
  }
  if (!shape || types.size() != 4) return false;
  op.d = types[0];
  op.a = types[1];
  op.b = types[2];
  op.c = types[3];
  if (!known_mma(op)) return false;
  tensor_registers(op);
  const auto list = [](const Operand& o) {
    Operands out;
    if (o.kind == Operand::Kind::kVector)
      for (const Operand& part : o.parts) out.push_back(&part);
    else
      out.push_back(&o);
    return out;
  };
  return emit_mma(s, op, list(s.operands[0]), list(s.operands[1]), list(s.operands[2]),
                  list(s.operands[3]));
}

// A row of eight 16-bit elements is 16 bytes at one lane's address: lanes 0-7 name the first
// matrix, 8-15 the second, and so on. As a load of four words by those lanes it meets the same
// checks and the same bank conflicts as every other access; what it loaded is then spread.
bool Decoder::decode_matrix(const Statement& s) {
  const bool move = s.words[0] == "movmatrix";
  const bool load = s.words[0] == "ldmatrix";
  TensorOp op;
  op.transpose = s.has("trans");
  if (!s.has("sync") || !s.has("m8n8") || s.words.back() != "b16") return false;
  if (move) {
    if (!op.transpose || s.operands.size() != 2) return false;
    op.what = TensorOp::What::kTranspose;
    op.matrices = 1;
    const Slot a = source(s.operands[1], {Type::kBits, 32});
    Inst inst = begin_tensor(s, op, false);
    inst.cls = Class::kShuffle;
    inst.latency = 10;
    inst.d = destination(s.operands[0], 32);
    inst.a = a;
    emit(inst);
    return true;
  }
  op.matrices = s.has("x1") ? 1 : s.has("x2") ? 2 : s.has("x4") ? 4 : 0;
  if (op.matrices == 0 || s.operands.size() != 2) return false;
  const Operand& list = s.operands[load ? 0 : 1];
  Operands registers;
  if (list.kind == Operand::Kind::kVector)
    for (const Operand& part : list.parts) registers.push_back(&part);
  else
    registers.push_back(&list);
  if (registers.size() != op.matrices) return false;
  const std::uint32_t lanes = op.matrices == 4 ? 0xFFFFFFFFu : (1u << 8 * op.matrices) - 1;

  TensorOp gather = op;
  gather.what = TensorOp::What::kGather;
  emit(begin_tensor(s, gather, true));

  Symbol rows[4];
  for (Symbol& row : rows) row = hidden(32);
  if (!load) {
    std::vector<Slot> slots;
    for (const Symbol& row : rows) slots.push_back(row.slot);
    for (const Operand* o : registers) slots.push_back(source(*o, {Type::kBits, 32}));
    op.what = TensorOp::What::kCollect;
    Inst inst = begin_tensor(s, op, true);
    for (const Symbol& row : rows) written_.push_back(static_cast<Slot>(row.number));
    inst.extra = static_cast<std::uint32_t>(f_.extra.size());
    f_.extra.insert(f_.extra.end(), slots.begin(), slots.end());
    emit(inst);
  }

  // Which lanes go to memory.
  Slot guard = lane_mask(lanes);
  std::vector<Slot> guard_read;
  if (s.guard) {
    Slot own = s.guard->slot;
    std::vector<Slot> from = {static_cast<Slot>(s.guard->number)};
    Statement plain = s;
    plain.guard = nullptr;
    if (s.guard_negated) {
      const Symbol inverse = p_.make_register({Type::kPred, 1});
      helper_lane(plain, "not.pred", inverse, own, own, kNone, from);
      own = inverse.slot;
      from = {static_cast<Slot>(inverse.number)};
    }
    const Symbol both = p_.make_register({Type::kPred, 1});
    helper_lane(plain, "and.pred", both, own, guard, kNone, from);
    guard = both.slot;
    guard_read = {static_cast<Slot>(both.number)};
  }
  Inst probe;
  probe.space = Space::kShared;
  const bool generic = !s.has("shared") && !s.has("shared::cta");
  address(s.operands[load ? 1 : 0], probe);
  const auto address_read = read_;
  read_.clear();
  if (generic) {  // what is not shared memory ends as out of bounds
    if (!probe.addr_wide) return false;
    const Symbol offset = hidden(64);
    Statement plain = s;
    plain.guard = nullptr;
    helper_lane(plain, "sub.u64", offset, probe.a, constant(kSharedBase, 64), kNone, address_read);
    probe.a = offset.slot;
    guard_read.push_back(static_cast<Slot>(offset.number));
  } else {
    guard_read.insert(guard_read.end(), address_read.begin(), address_read.end());
  }
  Statement plain = s;
  plain.guard = nullptr;
  Inst inst = begin(plain, load ? Kind::kLoad : Kind::kStore);
  inst.guarded = true;
  inst.guard = guard;
  read_ = guard_read;
  inst.space = Space::kShared;
  inst.a = probe.a;
  inst.addr_wide = probe.addr_wide;
  inst.imm = probe.imm;
  inst.cls = Class::kMemory;
  inst.esize = 4;
  inst.vec = 4;
  inst.type = {Type::kBits, 32};
  inst.extra = static_cast<std::uint32_t>(f_.extra.size());
  for (const Symbol& row : rows) {
    f_.extra.push_back(row.slot);
    (load ? written_ : read_).push_back(static_cast<Slot>(row.number));
  }
  emit(inst);
  if (!load) return true;

  op.what = TensorOp::What::kSpread;
  inst = begin_tensor(s, op, true);
  for (const Symbol& row : rows) read_.push_back(static_cast<Slot>(row.number));
  inst.extra = static_cast<std::uint32_t>(f_.extra.size());
  for (const Symbol& row : rows) f_.extra.push_back(row.slot);
  std::vector<Slot> slots;
  for (const Operand* o : registers) slots.push_back(destination(*o, 32));
  f_.extra.insert(f_.extra.end(), slots.begin(), slots.end());
  emit(inst);
  return true;
}

}  // namespace hone::emulator
