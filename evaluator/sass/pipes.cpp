#include "evaluator/sass/pipes.h"

namespace hone::sass {

Pipe pipe_of(std::uint16_t opcode) {
  switch (opcode & 0x1FF) {
    case 0x002:  // MOV
    case 0x003:  // P2R
    case 0x004:  // R2P
    case 0x006:  // VOTE
    case 0x007:  // SEL
    case 0x008:  // FSEL
    case 0x009:  // FMNMX
    case 0x00A:  // FSET
    case 0x00B:  // FSETP
    case 0x00C:  // ISETP
    case 0x00F:  // VIMNMX3
    case 0x010:  // IADD3
    case 0x011:  // LEA
    case 0x012:  // LOP3
    case 0x013:  // IABS
    case 0x014:  // VABSDIFF
    case 0x015:  // VABSDIFF4
    case 0x016:  // PRMT
    case 0x019:  // SHF
    case 0x01A:  // SGXT
    case 0x01B:  // BMSK
    case 0x01C:  // PLOP3
    case 0x03E:  // F2FP
    case 0x040:  // HMNMX2
    case 0x045:  // I2FP
    case 0x046:  // VIADDMNMX
    case 0x048:  // VIMNMX
      return Pipe::kAlu;
    case 0x020:  // FMUL
    case 0x021:  // FADD
    case 0x023:  // FFMA
      return Pipe::kFma;
    case 0x024:  // IMAD
    case 0x026:  // IDP
    case 0x036:  // VIADD
      return Pipe::kImad;
    case 0x025:  // IMAD.WIDE
    case 0x027:  // IMAD.HI
      return Pipe::kImadWide;
    case 0x028:  // DMUL
    case 0x029:  // DADD
    case 0x02A:  // DSETP
    case 0x02B:  // DFMA
      return Pipe::kFp64;
    case 0x100:  // FLO
    case 0x101:  // BREV
    case 0x102:  // FCHK
    case 0x104:  // F2F
    case 0x105:  // F2I
    case 0x106:  // I2F
    case 0x107:  // FRND
    case 0x108:  // MUFU
    case 0x109:  // POPC
    case 0x110:  // the same of 64 bits
    case 0x111:
    case 0x112:
    case 0x113:
    case 0x1C4:  // REDUX
      return Pipe::kXu;
    default:
      return Pipe::kNone;
  }
}

}  // namespace hone::sass
