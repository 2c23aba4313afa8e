// Global memory: exact allocations in 64 KiB pages that come to life on first touch.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "evaluator/device/emulator/ptx/isa.h"

namespace hone::emulator {

inline constexpr std::uint64_t kPageBytes = 64 * 1024;

/// What all blocks that ended touched of a page (touches.h).
struct PageTouches;
/// Who last touched what of a page (order.h).
struct PageShadow;
/// What this launch stored of a page (stores.h).
struct PageStores;

struct Page {
  Page();
  ~Page();
  std::unique_ptr<std::uint8_t[]> data;
  /// One bit a byte that was written; null where the allocation began initialised and all of it
  /// still is.
  std::unique_ptr<std::uint64_t[]> written;
  void began_written();                              ///< makes `written`, all bits set
  std::uint32_t made = 0;                            ///< run in which it came to life
  std::uint32_t epoch = 0;                           ///< run that `touched` belongs to
  std::uint64_t touched[kPageBytes / 32 / 64] = {};  ///< sectors seen by the L2 estimate
  std::unique_ptr<PageTouches> touches;
  std::unique_ptr<PageShadow> shadow;
  std::atomic<PageStores*> stores = nullptr;  ///< owned
};

struct Span;

/// Set by several threads at once, and mostly for the second time.
class Flag {
 public:
  Flag& operator=(bool to) {
    if (value_.load(std::memory_order_relaxed) != to) value_.store(to, std::memory_order_relaxed);
    return *this;
  }
  operator bool() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> value_ = false;
};

/// Owns a page that comes to life while others look for it.
class PageSlot {
 public:
  PageSlot() = default;
  PageSlot(PageSlot&& from) noexcept : page_(from.page_.exchange(nullptr)) {}
  ~PageSlot() { delete get(); }
  [[nodiscard]] Page* get() const { return page_.load(std::memory_order_acquire); }
  void put(std::unique_ptr<Page> page) { page_.store(page.release(), std::memory_order_release); }

 private:
  std::atomic<Page*> page_ = nullptr;
};

struct Allocation {
  std::string name;
  std::uint64_t base = 0, bytes = 0;
  bool initialised = true;
  bool variable = false;  ///< of a module, not of the caller
  bool empty = false;     ///< then: it begins as zero
  Flag written;
  Flag added_to;                                   ///< by an atomic
  bool was_written = false;                        ///< before this run
  std::uint64_t touched = 0, touched_at_half = 0;  ///< distinct sectors in this run
  /// Sectors in the L2: that launches before left there, and that the last one leaves.
  double left = 0, leaves = 0;
  Memory::PageSource source;
  std::atomic<std::int64_t>* pages_left = nullptr;  ///< of all allocations together
  std::vector<PageSlot> pages;
  std::array<std::mutex, 8> making;  ///< of every eighth page

  Page& page(std::uint64_t index, std::uint32_t run);  ///< materialises; any thread
  /// False, and `out` left alone, where nothing has come to life yet.
  [[nodiscard]] bool live_span(std::uint64_t address, Span& out);
  void fill(Page& page, std::uint64_t index) const;  ///< with its first contents
};

/// The part of one page that belongs to one allocation.
struct Span {
  std::uint64_t lo = 0, bytes = 0;
  std::uint8_t* data = nullptr;  ///< of address `lo`
  Page* page = nullptr;
  Allocation* allocation = nullptr;
  [[nodiscard]] bool holds(std::uint64_t address, std::uint64_t size) const {
    return address - lo < bytes && bytes - (address - lo) >= size;
  }
};

struct Memory::Impl {
  std::vector<std::unique_ptr<Allocation>> allocations;  ///< by rising base
  std::uint64_t next = kGlobalBase;
  std::uint64_t rounding_salt = 0;  ///< of runs in it
  std::uint64_t call = 0;           ///< other in each memory of the process, and after renew()
  std::uint32_t epoch = 0;
  std::atomic<std::int64_t> pages_left = std::numeric_limits<std::int64_t>::max();
  std::unordered_map<std::uint64_t, bool> modules;          ///< whose globals are placed
  std::unordered_map<std::uint64_t, PageSource> inherited;  ///< by a variable's address
  std::array<std::mutex, 64> locks;  ///< of pages, where several threads run blocks
  std::mutex& lock_of(const Page& page) {
    return locks[(reinterpret_cast<std::uintptr_t>(&page) >> 6) % locks.size()];
  }

  [[nodiscard]] Allocation* find(std::uint64_t address) const;     ///< that holds the byte, or null
  [[nodiscard]] Allocation* nearest(std::uint64_t address) const;  ///< for reports
  /// False when [address, address + size) is not inside one allocation.
  [[nodiscard]] bool span(std::uint64_t address, std::uint64_t size, Span& out);
  Allocation& place(std::string name, std::uint64_t base, std::uint64_t bytes, bool initialised,
                    PageSource source);
  void place_globals(const ModuleImpl& module);
};

inline bool bits_all_set(const std::uint64_t* bits, std::uint64_t first, std::uint64_t count) {
  // Never straddles a word: accesses are aligned and at most 32 bytes.
  const std::uint64_t mask = (count >= 64 ? ~0ull : (1ull << count) - 1) << (first & 63);
  const std::atomic_ref<std::uint64_t> word(const_cast<std::uint64_t&>(bits[first >> 6]));
  return (word.load(std::memory_order_relaxed) & mask) == mask;  // a plain load
}
inline void bits_set(std::uint64_t* bits, std::uint64_t first, std::uint64_t count) {
  bits[first >> 6] |= (count >= 64 ? ~0ull : (1ull << count) - 1) << (first & 63);
}
/// The same for any number of bits.
inline bool bits_all_set_long(const std::uint64_t* bits, std::uint64_t first, std::uint64_t count) {
  while (count > 0) {
    const std::uint64_t n = std::min<std::uint64_t>(count, 64 - (first & 63));
    if (!bits_all_set(bits, first, n)) return false;
    first += n;
    count -= n;
  }
  return true;
}
inline void bits_set_long(std::uint64_t* bits, std::uint64_t first, std::uint64_t count) {
  while (count > 0) {
    const std::uint64_t n = std::min<std::uint64_t>(count, 64 - (first & 63));
    bits_set(bits, first, n);
    first += n;
    count -= n;
  }
}
/// For words that other threads set bits of, too.
inline void bits_set_shared(std::uint64_t* bits, std::uint64_t first, std::uint64_t count) {
  while (count > 0) {
    const std::uint64_t n = std::min<std::uint64_t>(count, 64 - (first & 63));
    const std::uint64_t mask = (n >= 64 ? ~0ull : (1ull << n) - 1) << (first & 63);
    const std::atomic_ref<std::uint64_t> word(bits[first >> 6]);
    if (mask == ~0ull)
      word.store(mask, std::memory_order_relaxed);
    else if ((word.load(std::memory_order_relaxed) & mask) != mask)
      word.fetch_or(mask, std::memory_order_relaxed);
    first += n;
    count -= n;
  }
}
inline void bits_clear(std::uint64_t* bits, std::uint64_t first, std::uint64_t count) {
  bits[first >> 6] &= ~((count >= 64 ? ~0ull : (1ull << count) - 1) << (first & 63));
}

}  // namespace hone::emulator
