// The numbers of each architecture's tensor cores: how they add, and how fast.
#include "evaluator/device/emulator/sim/tensor_types.h"

#include <cmath>

#include "evaluator/device/emulator/sim/block.h"

namespace hone::emulator {

DotInput dot_input(TensorType type) {
  switch (type) {
    case TensorType::kBF16:
      return DotInput::kBF16;
    case TensorType::kTF32:
      return DotInput::kTF32;
    case TensorType::kE4M3:
      return DotInput::kE4M3;
    case TensorType::kE5M2:
      return DotInput::kE5M2;
    default:
      return DotInput::kF16;
  }
}

// MMA-Sim (arXiv:2511.10909) and its published code, which was compared bit by bit with a T4, A100,
// RTX A6000, L40S, H100, H200, B200 and RTX 5080. Turing and Ampere: 24 places, 16 bytes of A at a
// time; Ada the same, but fp8 with 13 places, 16 products at a time, results cut to 13 places.
// Hopper: 25 places and 32 bytes; its wgmma does fp8 as Ada does, 32 products at a time; its
// mma.sync of fp8 is what ptxas 13.0 emits for it, f16 products (read from the SASS). Later ones:
// 25 places, 32 bytes.
DotModel dot_model(const Profile& profile, TensorType input, TensorType result, bool wgmma) {
  using Output = DotModel::Output;
  DotModel m;
  const int bits = tensor_bits(input);
  int version = 0;
  for (const char ch : profile.arch)
    if (ch >= '0' && ch <= '9') version = version * 10 + (ch - '0');
  const bool fp8 = bits == 8;
  m.output = result == TensorType::kF16 ? Output::kF16 : Output::kF32;
  if (version < 89 || (version == 89 && !fp8)) {
    m.fraction_bits = 24;
    m.chunk = 128 / bits;
  } else if (fp8 && (version == 89 || wgmma)) {
    m.fraction_bits = 13;
    m.chunk = version == 89 ? 16 : 32;
    if (m.output == Output::kF32) m.output = Output::kE8M13;
  } else {
    m.fraction_bits = 25;
    m.chunk = 256 / bits;
    m.halves = fp8 && version == 90;
  }
  return m;
}

void count_tensor(Counters& counters, const TensorOp& op, std::uint64_t executions,
                  const Profile& profile) {
  if (op.what != TensorOp::What::kMma && op.what != TensorOp::What::kWgmma) return;
  const int bits = tensor_bits(op.a);
  const bool own = op.what == TensorOp::What::kWgmma && profile.wgmma_f16_fma > 0;
  const double bytes = own ? profile.wgmma_s8_fma : profile.tensor_s8_fma;
  const double halves = own                         ? profile.wgmma_f16_fma
                        : op.a == TensorType::kBF16 ? profile.tensor_bf16_fma
                                                    : profile.tensor_f16_fma;
  double rate = halves;
  if (bits == 64)
    rate = halves / 16;  // A100: 1024 and 64, H100: 2048 and 128
  else if (bits == 32)
    rate = own ? profile.wgmma_tf32_fma : profile.tensor_tf32_fma;
  else if (bits < 8)
    rate = bytes * 8 / bits;
  else if (bits == 8)  // fp8 through Hopper's mma.sync is done by f16 products
    rate = (op.a == TensorType::kE4M3 || op.a == TensorType::kE5M2) && !own &&
                   profile.wgmma_f16_fma > 0
               ? halves
               : bytes;
  const auto fmas = static_cast<double>(op.fmas()) * static_cast<double>(executions);
  counters.tensor += executions;
  if (op.a != TensorType::kB1) {
    counters.tensor_flops += 2 * op.fmas() * executions;
    counters.flops += 2 * op.fmas() * executions;
  }
  if (rate > 0) counters.tensor_cycles += static_cast<std::uint64_t>(std::llround(fmas / rate));
}

}  // namespace hone::emulator
