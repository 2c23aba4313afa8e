#include "evaluator/device/emulator/sim/stores.h"

#include <fmt/format.h>

#include <bit>
#include <mutex>

#include "evaluator/device/emulator/sim/block.h"

namespace hone::emulator {

void note_stores(Memory::Impl& memory, Page& page, std::uint64_t at, std::uint64_t count) {
  PageStores* stores = page.stores.load(std::memory_order_acquire);
  if (stores == nullptr || stores->run.load(std::memory_order_acquire) != memory.epoch) {
    const std::lock_guard lock(memory.lock_of(page));
    stores = page.stores.load(std::memory_order_acquire);
    if (stores == nullptr) {
      stores = new PageStores;
      page.stores.store(stores, std::memory_order_release);
    }
    if (stores->run.load(std::memory_order_acquire) != memory.epoch) {
      stores->bits.fill(0);
      stores->run.store(memory.epoch, std::memory_order_release);
    }
  }
  bits_set_shared(stores->bits.data(), at, count);
}

bool stored_in_run(const Memory::Impl& memory, const Page& page, std::uint64_t at,
                   std::uint64_t count) {
  const PageStores* stores = page.stores.load(std::memory_order_acquire);
  if (stores == nullptr || stores->run.load(std::memory_order_acquire) != memory.epoch)
    return false;
  const std::uint64_t mask = (count >= 64 ? ~0ull : (1ull << count) - 1) << (at & 63);
  const std::atomic_ref<std::uint64_t> word(const_cast<std::uint64_t&>(stores->bits[at >> 6]));
  return (word.load(std::memory_order_relaxed) & mask) != 0;
}

void Block::note_stored(std::uint32_t mask, std::uint64_t bytes) {
  for (std::uint32_t m = mask; m; m &= m - 1) {
    const std::uint64_t address = address_[std::countr_zero(m)];
    if (find_span(address, bytes))
      note_stores(*run_.memory, *span_.page, address - span_.lo, bytes);
  }
}

bool Block::check_noncoherent(const Warp& w, const Inst& in, std::uint32_t mask) {
  for (std::uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const std::uint64_t address = address_[lane], bytes = std::uint64_t{in.esize} * in.vec;
    if (!find_span(address, bytes) ||
        !stored_in_run(*run_.memory, *span_.page, address - span_.lo, bytes))
      continue;
    if (!fail(FindingKind::kRace,
              fmt::format("non-coherent load (ld.global.nc, __ldg) of {}, which this launch has "
                          "written: it may give what was there before",
                          describe(address)),
              w, lane, in))
      return false;
  }
  return true;
}

}  // namespace hone::emulator
