// wmma.load, wmma.store, wmma.mma: become element loads and stores and products of m16n8 blocks,
// with fragments that lie as in mma.sync, as on the hardware. m8n32k16 is the transpose of
// m32n8k16. Fragments of f16 that the ISA gives twice the registers hold everything twice.
#include <fmt/format.h>

#include "evaluator/device/emulator/ptx/parser.h"

namespace hone::emulator {

std::optional<TensorType> parse_tensor_type(std::string_view word);
bool parse_shape(std::string_view word, TensorOp& op);
void tensor_registers(TensorOp& op);

namespace {

bool known_wmma(const TensorOp& op, bool accumulators) {
  const auto is = [&](int m, int n, int k) { return op.m == m && op.n == n && op.k == k; };
  const bool large = is(16, 16, 16) || is(32, 8, 16) || is(8, 32, 16);
  switch (op.a) {
    case TensorType::kF16:
      return large && (!accumulators || op.c == TensorType::kF16 || op.c == TensorType::kF32);
    case TensorType::kBF16:
      return large && (!accumulators || (op.c == TensorType::kF32));
    case TensorType::kS8:
    case TensorType::kU8:
      return large && (!accumulators || op.c == TensorType::kS32);
    case TensorType::kTF32:
      return is(16, 16, 8) && (!accumulators || op.c == TensorType::kF32);
    case TensorType::kF64:
      return is(8, 8, 4) && (!accumulators || op.c == TensorType::kF64);
    case TensorType::kS4:
    case TensorType::kU4:
      return is(8, 8, 32) && (!accumulators || op.c == TensorType::kS32);
    case TensorType::kB1:
      return is(8, 8, 128) && (!accumulators || op.c == TensorType::kS32);
    default:
      return false;
  }
}

/// The first `count` of a list that may hold them several times over.
template <class List>
bool cut(List& list, std::size_t count) {
  if (count == 0 || list.size() < count || list.size() % count != 0) return false;
  list.resize(count);
  return true;
}

}  // namespace

bool Decoder::decode_wmma(const Statement& s) {
  if (s.words.size() < 5 || !s.has("sync")) return false;
  if (s.words[1] == "mma") return decode_wmma_mma(s);
  if (s.words[1] == "load" || s.words[1] == "store") return decode_wmma_memory(s);
  return false;
}

bool Decoder::decode_wmma_mma(const Statement& s) {
  if (s.operands.size() != 4) return false;
  TensorOp op;
  bool shape = false;
  std::vector<TensorType> types;
  for (std::size_t i = 2; i < s.words.size(); ++i) {
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
      return false;
    }
  }
  if (!shape) return false;
  if (types.size() == 2) {
    op.d = types[0];
    op.c = types[1];
  } else if (types.size() == 4) {
    op.d = types[0];
    op.a = types[1];
    op.b = types[2];
    op.c = types[3];
  } else {
    return false;
  }
  if (!known_wmma(op, true) || op.a != op.b || (op.saturate && op.a == TensorType::kF16))
    return false;
  // What the hardware does with an f32 accumulator for an f16 result is not known to us.
  if (op.d != op.c && !(op.d == TensorType::kF32 && op.c == TensorType::kF16)) return false;
  std::vector<Operands> lists;
  for (const Operand& o : s.operands) {
    if (o.kind != Operand::Kind::kVector) return false;
    lists.emplace_back();
    for (const Operand& part : o.parts) lists.back().push_back(&part);
  }
  if (op.m == 8 && op.n == 32) {
    std::swap(op.m, op.n);
    std::swap(lists[1], lists[2]);
  }
  tensor_registers(op);
  if (!cut(lists[1], op.row_blocks() * op.a_regs) || !cut(lists[2], op.column_blocks() * op.b_regs))
    return false;
  return emit_mma(s, op, lists[0], lists[1], lists[2], lists[3]);
}

bool Decoder::decode_wmma_memory(const Statement& s) {
  const bool load = s.words[1] == "load";
  const std::string_view which = s.words[2];  // a, b, c, d
  if (s.operands.size() < 2 || (which != "a" && which != "b" && which != "c" && which != "d"))
    return false;
  TensorOp op;
  bool shape = false;
  for (const auto w : s.words)
    if (w.size() > 2 && w[0] == 'm' && std::isdigit(static_cast<unsigned char>(w[1])))
      shape = parse_shape(w, op);
  const auto type = parse_tensor_type(s.words.back());
  if (!shape || !type || (!s.has("row") && !s.has("col"))) return false;
  const bool accumulator = which == "c" || which == "d";
  bool row_major = s.has("row");
  if (accumulator) {
    op.c = op.d = *type;
    // Of what: any input type with this shape and these sums.
    bool known = false;
    for (const TensorType a :
         {TensorType::kF16, TensorType::kBF16, TensorType::kS8, TensorType::kTF32, TensorType::kF64,
          TensorType::kS4, TensorType::kB1}) {
      op.a = op.b = a;
      known = known_wmma(op, true);
      if (known) break;
    }
    if (!known) return false;
  } else {
    op.a = op.b = *type;
    if (!known_wmma(op, false)) return false;
  }
  bool is_a = which == "a";
  if (op.m == 8 && op.n == 32) {
    std::swap(op.m, op.n);
    is_a = !is_a;
    row_major = !row_major;
  }
  const int columns_of_memory = accumulator ? op.n : is_a ? op.k : op.n;
  const int rows_of_memory = accumulator ? op.m : is_a ? op.m : op.k;
  tensor_registers(op);

  const Operand& list = s.operands[load ? 0 : 1];
  if (list.kind != Operand::Kind::kVector) return false;
  Operands registers;
  for (const Operand& part : list.parts) registers.push_back(&part);
  const int bits = tensor_bits(*type);
  const std::size_t real = accumulator ? op.row_blocks() * op.column_blocks() * op.c_regs
                           : is_a      ? op.row_blocks() * op.a_regs
                                       : op.column_blocks() * op.b_regs;
  Operands copies = registers;
  if (!cut(registers, real) || (!load && copies.size() != real)) return false;

  // Where the parts of a register lie: row = lane / 4 + .., and so on (sim/tensor.cpp).
  struct Place {
    int lane_row, lane_column;    ///< multiples of lane / 4 and of lane % 4 ...
    int lane_row4, lane_column4;  ///< ... in the row and in the column
    int row, column;
  };
  const int each = accumulator ? (bits == 16 ? 2 : 1) : std::max(1, 32 / bits);
  const auto place = [&](int r, int i) -> Place {
    if (accumulator) {
      const int per = op.c_regs;
      const int block = r / per;
      const int element = r % per * each + i;
      return {1,
              0,
              0,
              2,
              16 * (block / op.column_blocks()) + 8 * (element / 2),
              8 * (block % op.column_blocks()) + element % 2};
    }
    if (is_a) {
      const int block = r / op.a_regs;
      const int q = r % op.a_regs;
      const bool tall = op.rows() == 16;
      return {
          1, 0, 0, each, 16 * block + (tall ? 8 * (q & 1) : 0), i + 4 * each * (tall ? q >> 1 : q)};
    }
    const int block = r / op.b_regs;
    return {0, 1, each, 0, i + 4 * each * (r % op.b_regs), 8 * block};
  };

  // Pointer and stride, the same in every lane.
  Inst probe;
  probe.space = s.has("global")                           ? Space::kGlobal
                : s.has("shared") || s.has("shared::cta") ? Space::kShared
                                                          : Space::kGeneric;
  address(s.operands[load ? 1 : 0], probe);
  if (probe.space == Space::kFormal) return false;
  const auto address_read = read_;
  read_.clear();
  const int smallest = row_major ? columns_of_memory : rows_of_memory;
  Slot stride = constant(static_cast<std::uint64_t>(smallest), 32);
  if (s.operands.size() > 2) stride = source(s.operands[2], {Type::kUnsigned, 32});
  const auto stride_read = read_;
  read_.clear();
  TensorOp match = op;
  match.what = TensorOp::What::kMatch;
  match.offset = probe.imm;
  match.align = bits == 64 ? 8 : 16;
  match.ld_align = static_cast<std::uint8_t>(bits == 64  ? 1
                                             : bits == 8 ? 8
                                             : bits < 8  ? 32
                                                         : 128 / bits);
  if (bits == 1) match.ld_align = 128;
  {
    Inst inst = begin_tensor(s, match, true);
    read_.insert(read_.end(), address_read.begin(), address_read.end());
    read_.insert(read_.end(), stride_read.begin(), stride_read.end());
    inst.a = probe.a;
    inst.b = stride;
    inst.addr_wide = probe.addr_wide;
    emit(inst);
  }

  const int width = probe.addr_wide ? 64 : 32;
  const int bytes = std::max(1, bits / 8);
  std::vector<Slot> step_read = stride_read;
  if (bits < 8) {  // the stride in bytes
    const Symbol step = hidden(32);
    helper_lane(s, "shr.u32", step, stride, constant(bits == 4 ? 1 : 3, 32), kNone, stride_read);
    stride = step.slot;
    step_read = {static_cast<Slot>(step.number)};
  }
  const auto major = [&](const Place& p, int lane) {
    const int g = lane / 4;
    const int t = lane % 4;
    return row_major ? p.row + p.lane_row * g + p.lane_row4 * t
                     : p.column + p.lane_column * g + p.lane_column4 * t;
  };
  const auto minor = [&](const Place& p, int lane) {
    const int g = lane / 4;
    const int t = lane % 4;
    return row_major ? p.column + p.lane_column * g + p.lane_column4 * t
                     : p.row + p.lane_row * g + p.lane_row4 * t;
  };
  // The address of each element is pointer + major * stride + minor. `lines` holds one register
  // for each offset of the major coordinate, with the lane's part of the minor one in it.
  std::unordered_map<int, Symbol> lines;
  const auto line = [&](Place p) -> const Symbol& {
    const int key = row_major ? p.row : p.column;
    const auto [it, fresh] = lines.try_emplace(key);
    if (!fresh) return it->second;
    (row_major ? p.column : p.row) = 0;
    std::array<std::uint32_t, 32> majors{};
    std::array<std::uint32_t, 32> minors{};
    for (int lane = 0; lane < 32; ++lane) {
      majors[lane] = static_cast<std::uint32_t>(major(p, lane) * bytes);
      minors[lane] =
          static_cast<std::uint32_t>(bits < 8 ? minor(p, lane) * bits / 8 : minor(p, lane) * bytes);
    }
    const Symbol start = hidden(width);
    it->second = hidden(width);
    helper_lane(s, width == 64 ? "add.u64" : "add.u32", start, probe.a,
                lane_constant(minors, width), kNone, address_read);
    auto read = step_read;
    read.push_back(static_cast<Slot>(start.number));
    helper_lane(s, width == 64 ? "mad.wide.u32" : "mad.lo.u32", it->second, stride,
                lane_constant(majors, 32), start.slot, read);
    return it->second;
  };
  const auto access = [&](const Place& p, int size, const std::vector<Slot>& slots,
                          const std::vector<Slot>& numbers) {
    const Symbol& at = line(p);
    Inst inst = begin(s, load ? Kind::kLoad : Kind::kStore);
    read_.push_back(static_cast<Slot>(at.number));
    auto& data = load ? written_ : read_;
    data.insert(data.end(), numbers.begin(), numbers.end());
    inst.space = probe.space;
    inst.a = at.slot;
    inst.addr_wide = probe.addr_wide;
    const int rest = row_major ? p.column : p.row;
    inst.imm = probe.imm + (bits < 8 ? rest * bits / 8 : rest * bytes);
    inst.cls = Class::kMemory;
    inst.esize = static_cast<std::uint8_t>(size);
    inst.vec = static_cast<std::uint8_t>(slots.size());
    inst.type = {Type::kBits, static_cast<std::uint8_t>(size * 8)};
    inst.dst_wide = size == 8;
    inst.extra = static_cast<std::uint32_t>(f_.extra.size());
    f_.extra.insert(f_.extra.end(), slots.begin(), slots.end());
    if (inst.space != Space::kGlobal)
      module_.shared_granule = std::min<int>(module_.shared_granule, size);
    emit(inst);
  };

  const Type reg_type{*type == TensorType::kF32 ? Type::kFloat : Type::kBits,
                      static_cast<std::uint8_t>(bits == 64 ? 64 : 32)};
  const auto number = [&](const Operand* o) {
    return o->kind == Operand::Kind::kRegister
               ? std::vector<Slot>{static_cast<Slot>(o->symbol->number)}
               : std::vector<Slot>{};
  };
  const auto slot_of = [&](const Operand* o) {
    const Slot slot = load ? destination(*o, reg_type.bits) : source(*o, reg_type);
    read_.clear();
    written_.clear();
    return slot;
  };
  for (std::size_t r = 0; r < registers.size(); ++r) {
    const Slot slot = slot_of(registers[r]);
    const auto numbers = number(registers[r]);
    const Place first = place(static_cast<int>(r), 0);
    const int size = bits == 64 ? 8 : 4;
    bool together = each == 1;
    if (each > 1) {
      const Place second = place(static_cast<int>(r), 1);
      together = row_major ? second.column == first.column + 1 : second.row == first.row + 1;
    }
    if (accumulator && bits == 32 && row_major) {  // neighbours in a row: one access
      const Slot second = slot_of(registers[r + 1]);
      auto both = numbers;
      const auto more = number(registers[r + 1]);
      both.insert(both.end(), more.begin(), more.end());
      access(first, size, {slot, second}, both);
      ++r;
      continue;
    }
    if (together) {
      access(first, size, {slot}, numbers);
      continue;
    }
    if (bits < 8) return false;  // the ISA has no such layout
    // Element by element.
    std::vector<Symbol> parts;
    std::vector<Slot> part_slots;
    for (int i = 0; i < each; ++i) {
      parts.push_back(hidden(32));
      part_slots.push_back(parts.back().slot);
    }
    const auto pack = [&](Kind kind) {
      Inst inst = begin(s, kind);
      auto& to = load ? written_ : read_;
      auto& from = load ? read_ : written_;
      to.insert(to.end(), numbers.begin(), numbers.end());
      for (const Symbol& part : parts) from.push_back(static_cast<Slot>(part.number));
      inst.cls = Class::kInteger;
      inst.helper = true;
      inst.esize = static_cast<std::uint8_t>(bits / 8);
      inst.vec = static_cast<std::uint8_t>(each);
      (load ? inst.d : inst.a) = slot;
      inst.extra = static_cast<std::uint32_t>(f_.extra.size());
      f_.extra.insert(f_.extra.end(), part_slots.begin(), part_slots.end());
      emit(inst);
    };
    if (!load) pack(Kind::kUnpack);
    for (int i = 0; i < each; ++i)
      access(place(static_cast<int>(r), i), bits / 8, {parts[i].slot},
             {static_cast<Slot>(parts[i].number)});
    if (load) pack(Kind::kPack);
  }
  for (std::size_t r = real; load && r < copies.size(); ++r) {
    if (copies[r]->kind != Operand::Kind::kRegister) continue;
    const Operand* from = registers[r % real];
    if (from->kind != Operand::Kind::kRegister) return false;
    const Slot slot = slot_of(from);
    helper_lane(s, "mov.b32", *copies[r]->symbol, slot, slot, kNone, number(from));
  }
  return true;
}

}  // namespace hone::emulator
