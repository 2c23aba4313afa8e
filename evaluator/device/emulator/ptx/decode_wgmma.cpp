// wgmma: Hopper's asynchronous products of a warpgroup. PTX ISA, "Asynchronous warpgroup level
// matrix multiply-accumulate".
#include "evaluator/device/emulator/ptx/parser.h"

namespace hone::emulator {

std::optional<TensorType> parse_tensor_type(std::string_view word);
bool parse_shape(std::string_view word, TensorOp& op);
void tensor_registers(TensorOp& op);

namespace {

bool is_s8(TensorType t) { return t == TensorType::kS8 || t == TensorType::kU8; }

bool known_wgmma(const TensorOp& op) {
  if (op.n < 8 || op.n > 256 || op.n % 8 != 0) return false;
  if (is_s8(op.a)) {
    const bool n = op.n <= 32 || op.n % 16 == 0;
    return is_s8(op.b) && op.d == TensorType::kS32 && op.k == 32 && n;
  }
  if (is_fp8(op.a))
    return is_fp8(op.b) && op.k == 32 && (op.d == TensorType::kF16 || op.d == TensorType::kF32);
  if (op.a != op.b) return false;
  if (op.a == TensorType::kF16)
    return op.k == 16 && (op.d == TensorType::kF16 || op.d == TensorType::kF32);
  if (op.a == TensorType::kBF16) return op.k == 16 && op.d == TensorType::kF32;
  return op.a == TensorType::kTF32 && op.k == 8 && op.d == TensorType::kF32;
}

}  // namespace

bool Decoder::decode_wgmma(const Statement& s) {
  if (s.words.size() < 4 || !s.has("sync") || !s.has("aligned")) return false;
  TensorOp op;
  const std::string_view what = s.words[1];
  if (what == "fence" || what == "commit_group" || what == "wait_group") {
    op.what = what == "fence"          ? TensorOp::What::kWgmmaFence
              : what == "commit_group" ? TensorOp::What::kWgmmaCommit
                                       : TensorOp::What::kWgmmaWait;
    if (what == "wait_group") {
      if (s.operands.size() != 1 || s.operands[0].kind != Operand::Kind::kImmediate) return false;
      op.pending = static_cast<std::uint8_t>(std::min<std::uint64_t>(s.operands[0].value, 255));
    }
    Inst inst = begin_tensor(s, op, false);
    inst.cls = Class::kOther;
    inst.latency = 1;
    emit(inst);
    return true;
  }
  if (what != "mma_async") return false;
  op.what = TensorOp::What::kWgmma;
  bool shape = false;
  std::vector<TensorType> types;
  for (std::size_t i = 2; i < s.words.size(); ++i) {
    const std::string_view w = s.words[i];
    if (const auto type = parse_tensor_type(w)) {
      types.push_back(*type);
    } else if (w.starts_with("m64n")) {
      shape = parse_shape(w, op);
    } else if (w == "satfinite") {
      op.saturate = true;
    } else if (w != "sync" && w != "aligned") {
      return false;  // .sp, .b1
    }
  }
  if (!shape || types.size() != 3) return false;
  op.m = 16;
  op.d = op.c = types[0];
  op.a = types[1];
  op.b = types[2];
  if (!known_wgmma(op)) return false;
  tensor_registers(op);
  const int bits = tensor_bits(op.a);
  // d, a, b, scale-d {, scale-a, scale-b {, trans-a}, trans-b}
  if (s.operands.size() < 4 || s.operands[0].kind != Operand::Kind::kVector) return false;
  op.a_shared = s.operands[1].kind != Operand::Kind::kVector;
  const std::size_t scales = is_s8(op.a) ? 0 : 2;
  const std::size_t turns = bits != 16 ? 0 : op.a_shared ? 2 : 1;
  if (s.operands.size() != 4 + scales + turns) return false;
  std::vector<std::int64_t> flags;
  for (std::size_t i = 4; i < s.operands.size(); ++i) {
    if (s.operands[i].kind != Operand::Kind::kImmediate) return false;
    flags.push_back(static_cast<std::int64_t>(s.operands[i].value));
  }
  for (std::size_t i = 0; i < flags.size(); ++i)
    if (i < scales ? flags[i] != 1 && flags[i] != -1 : flags[i] != 0 && flags[i] != 1) return false;
  if (scales) {
    op.a_negated = flags[0] == -1;
    op.b_negated = flags[1] == -1;
  }
  if (turns) {
    op.b_across = flags.back() == 1;
    op.a_across = turns == 2 && flags[2] == 1;
  }
  const auto& results = s.operands[0].parts;
  if (results.size() != static_cast<std::size_t>(op.column_blocks() * op.d_regs)) return false;
  const Type word{op.d == TensorType::kF32 ? Type::kFloat : Type::kBits, 32};
  std::vector<Slot> slots;
  for (const Operand& o : results) slots.push_back(source(o, word));
  Slot a = kNone;
  if (op.a_shared) {
    a = source(s.operands[1], {Type::kUnsigned, 64});
  } else {
    if (s.operands[1].parts.size() != op.a_regs) return false;
    for (const Operand& o : s.operands[1].parts) slots.push_back(source(o, {Type::kBits, 32}));
  }
  const Slot b = source(s.operands[2], {Type::kUnsigned, 64});
  const Slot scale = predicate(s.operands[3]);
  Inst inst = begin_tensor(s, op, false);
  inst.a = a;
  inst.b = b;
  inst.c = scale;
  inst.esize = 16;  // what a report calls an access of it
  module_.async_reads = true;
  for (const Operand& o : results) (void)destination(o, 32);
  inst.extra = static_cast<std::uint32_t>(f_.extra.size());
  f_.extra.insert(f_.extra.end(), slots.begin(), slots.end());
  emit(inst);
  return true;
}

}  // namespace hone::emulator
