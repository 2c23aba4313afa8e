#include "evaluator/sass/instruction.h"

#include <cstring>

#include "evaluator/sass/cubin.h"

namespace hone::sass {
namespace {

constexpr std::uint8_t kStackPointer = 1;
constexpr std::uint8_t kNoRegister = 255;  // RZ
constexpr std::uint64_t kAlways = 7;       // PT

/// Bits [from, from + count) of the 128, from the lowest.
std::uint64_t bits(std::uint64_t low, std::uint64_t high, int from, int count) {
  const std::uint64_t value = from >= 64  ? high >> (from - 64)
                              : from == 0 ? low
                                          : low >> from | high << (64 - from);
  return count == 64 ? value : value & ((std::uint64_t{1} << count) - 1);
}

std::int64_t sign_extended(std::uint64_t value, int count) {
  return static_cast<std::int64_t>(value << (64 - count)) >> (64 - count);
}

/// By the low nine bits; the three above say where the operands are.
Op op_of(std::uint16_t opcode) {
  switch (opcode & 0x1FF) {
    case 0x009:  // FMNMX
    case 0x020:  // FMUL
    case 0x021:  // FADD
    case 0x023:  // FFMA
    case 0x028:  // DMUL
    case 0x029:  // DADD
    case 0x02B:  // DFMA
    case 0x104:  // I2F, F2I, F2F, MUFU and their relatives
    case 0x105:
    case 0x106:
    case 0x108:
    case 0x110:
    case 0x111:
    case 0x112:
      return Op::kFloat;
    case 0x037:  // IMMA, HMMA, BMMA, DMMA
    case 0x03C:
    case 0x03D:
    case 0x03F:
    case 0x1F0:  // HGMMA and its relatives
    case 0x1F1:
    case 0x1F3:
      return Op::kTensor;
    case 0x181:
      return Op::kLoadGlobal;
    case 0x186:
      return Op::kStoreGlobal;
    case 0x184:
    case 0x03B:  // LDSM
      return Op::kLoadShared;
    case 0x188:
    case 0x044:  // STSM
      return Op::kStoreShared;
    case 0x183:
      return Op::kLoadLocal;
    case 0x187:
      return Op::kStoreLocal;
    case 0x180:
      return Op::kLoadGeneric;
    case 0x185:
      return Op::kStoreGeneric;
    case 0x18A:  // ATOM, ATOMS, ATOMG, RED
    case 0x18B:
    case 0x18C:
    case 0x18D:
    case 0x18E:
    case 0x1A3:
    case 0x1A6:
    case 0x1A8:
    case 0x1A9:
      return Op::kAtomic;
    case 0x1AE:
      return Op::kCopyAsync;
    case 0x189:
      return Op::kShuffle;
    case 0x11D:
      return Op::kBarrier;
    case 0x147:
      return Op::kBranch;
    case 0x149:
    case 0x14A:  // JMP, JMX
    case 0x14C:
    case 0x158:  // BRXU, JMXU
    case 0x159:
      return Op::kBranchIndexed;
    case 0x143:
    case 0x144:
      return Op::kCall;
    case 0x150:
      return Op::kReturn;
    case 0x14D:
    case 0x15B:  // KILL
      return Op::kExit;
    default:
      return Op::kOther;
  }
}

/// From sm_90 on the distance's lowest byte lies apart from the rest.
std::int64_t distance(std::uint64_t low, std::uint64_t high, int arch) {
  const std::uint64_t rest = bits(low, high, 34, 48);
  if (arch < 90) return sign_extended(rest, 48) * 4;
  return sign_extended(rest << 8 | bits(low, high, 16, 8), 56) * 4;
}

int width(std::uint64_t high) {
  switch (high >> 9 & 7) {
    case 0:
    case 1:
      return 1;
    case 2:
    case 3:
      return 2;
    case 5:
      return 8;
    case 6:
    case 7:
      return 16;
    default:
      return 4;
  }
}

}  // namespace

bool Instruction::in_frame() const { return address == kStackPointer || address == kNoRegister; }

std::vector<Instruction> decode(std::string_view code, int arch) {
  std::vector<Instruction> instructions;
  for (std::size_t at = 0; at + kInstructionBytes <= code.size(); at += kInstructionBytes) {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    std::memcpy(&low, code.data() + at, sizeof low);
    std::memcpy(&high, code.data() + at + sizeof low, sizeof high);
    Instruction in;
    in.opcode = low & 0xFFF;
    in.op = op_of(in.opcode);
    in.conditional = bits(low, high, 12, 4) != kAlways;
    in.stall = static_cast<std::uint8_t>(bits(low, high, 105, 4));
    in.result_barrier = static_cast<std::uint8_t>(bits(low, high, 110, 3));
    in.source_barrier = static_cast<std::uint8_t>(bits(low, high, 113, 3));
    in.waits = static_cast<std::uint8_t>(bits(low, high, 116, 6));
    if (in.op == Op::kBranch) {
      // A branch may have a second predicate, or ask a uniform one instead.
      in.conditional =
          in.conditional || (in.opcode & 0xE00) == 0x400 || bits(low, high, 87, 4) != kAlways;
    }
    if (in.op == Op::kBranch || in.opcode == 0x944)
      in.target = static_cast<std::int64_t>(at + kInstructionBytes) + distance(low, high, arch);
    if (in.is_local()) {
      in.bytes = width(high);
      in.address = static_cast<std::uint8_t>(bits(low, high, 24, 8));
      in.offset = static_cast<std::int32_t>(sign_extended(bits(low, high, 40, 24), 24));
    }
    instructions.push_back(in);
  }
  return instructions;
}

}  // namespace hone::sass
