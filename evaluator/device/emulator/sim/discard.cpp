// discard.L2: a line's bytes are as if nobody had written them, until somebody does. Of an input
// that is a write.
#include <algorithm>
#include <bit>
#include <cstring>

#include "evaluator/device/emulator/sim/block.h"

namespace hone::emulator {
namespace {
constexpr std::uint64_t kDiscardedLine = 128;  // [B]
constexpr int kDiscarded = 0xFF;               // what is read there afterwards
}  // namespace

bool Block::discard(Warp& w, const Inst& in, std::uint32_t mask) {
  if (run_.concurrent) {  // left to grid order
    run_.met = true;
    return true;
  }
  if (w.tainting)
    if (const std::uint32_t taint = slot_taint(w, in, in.a) & mask;
        taint != 0 && !tainted_value(w, in, taint, "is used as an address"))
      return false;
  land_all_late();
  ++run_.changes;
  for (std::uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const std::uint64_t line =
        (in.addr_wide ? reg64(in.a)[lane] : std::uint64_t{reg32(in.a)[lane]}) +
        static_cast<std::uint64_t>(in.imm);
    if (line % kDiscardedLine != 0)
      return fail(FindingKind::kMisaligned, "misaligned discard of the line at " + describe(line),
                  w, lane, in);
    if (!find_span(line, 1))
      return fail(FindingKind::kOutOfBounds,
                  "out-of-bounds discard of the line at " + describe(line), w, lane, in);
    // Variables of the module may share a line, a buffer has its lines for itself.
    for (std::uint64_t at = line; at < line + kDiscardedLine;) {
      if (!find_span(at, 1)) {
        ++at;
        continue;
      }
      const std::uint64_t first = at - span_.lo;
      const std::uint64_t bytes = std::min(line + kDiscardedLine - at, span_.bytes - first);
      if (tracking_ != Tracking::kOff &&
          !note_global_bytes(w, in, lane, at, bytes, Touch::kWrite, nullptr))
        return false;
      std::memset(span_.data + first, kDiscarded, bytes);
      if (!span_.page->written) span_.page->began_written();
      std::uint64_t* const written = span_.page->written.get();
      for (std::uint64_t k = 0; k < bytes; ++k) bits_clear(written, first + k, 1);
      span_.allocation->written = true;
      at += bytes;
    }
  }
  return true;
}

}  // namespace hone::emulator
