// wgmma: to be written below.
#include "evaluator/device/emulator/sim/block.h"

namespace hone::emulator {

bool Block::wgmma(Warp& w, const Inst& in, const TensorOp&) {
  return fail(FindingKind::kUnsupported, "the emulator does not cover 'wgmma'", w, 0, in);
}

}  // namespace hone::emulator
