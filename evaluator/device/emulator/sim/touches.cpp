#include "evaluator/device/emulator/sim/touches.h"

#include <algorithm>
#include <mutex>
#include <utility>

namespace hone::emulator {
namespace {

constexpr int kWrite = static_cast<int>(Touch::kWrite);
constexpr int kRead = static_cast<int>(Touch::kRead);
constexpr int kOrdered = static_cast<int>(Touch::kOrdered);

void save(Page& page, std::uint32_t run) {
  if (!page.touches) page.touches = std::make_unique<PageTouches>();
  PageTouches& t = *page.touches;
  if (t.saved == run) return;
  t.saved = run;
  if (page.made == run) return;  // its source tells the first contents
  if (!t.data) t.data = std::make_unique_for_overwrite<std::uint8_t[]>(kPageBytes);
  std::memcpy(t.data.get(), page.data.get(), kPageBytes);
  if (!page.written) return t.written.reset();
  if (!t.written) t.written = std::make_unique_for_overwrite<std::uint64_t[]>(kPageBytes / 64);
  std::memcpy(t.written.get(), page.written.get(), kPageBytes / 8);
}

}  // namespace

BlockTouches::Marks& BlockTouches::of(const Span& span) {
  if (last_ && last_->span.page == span.page) return *last_;
  Marks*& kept = recent_[span.lo / kPageBytes % recent_.size()];
  if (!kept || kept->span.page != span.page) {
    auto& slot = pages_[span.page];
    if (!slot) {
      slot = std::make_unique<Marks>();
      slot->span = span;
    }
    kept = slot.get();
  }
  last_ = kept;
  if (!last_->touched) {
    last_->touched = true;
    touched_.push_back(last_);
  }
  return *last_;
}

void BlockTouches::note(const Span& span, Touch how, std::uint64_t first, std::uint64_t count) {
  Marks& m = of(span);
  if (how != Touch::kRead && !m.saved) {
    const std::lock_guard lock(memory_->lock_of(*span.page));
    save(*span.page, memory_->epoch);
    m.saved = true;
  }
  auto& bits = m.bits[static_cast<int>(how)];
  if (bits.empty()) bits.resize((kPageBytes >> shift_) / 64);
  const auto last = first + count - 1;
  auto word = static_cast<std::uint32_t>(first >> 6);
  const auto end = static_cast<std::uint32_t>(last >> 6);
  m.low = std::min(m.low, word);
  m.high = std::max(m.high, end);
  const std::uint64_t tail = ~0ull >> (63 - (last & 63));
  std::uint64_t mask = ~0ull << (first & 63);
  for (; word < end; ++word, mask = ~0ull) bits[word] |= mask;
  bits[end] |= mask & tail;
}

bool BlockTouches::merge() {
  bool met = false;
  const std::size_t words = (kPageBytes >> shift_) / 64;
  for (Marks* m : touched_) {
    Page& page = *m->span.page;
    {
      const std::lock_guard lock(memory_->lock_of(page));
      if (!page.touches) page.touches = std::make_unique<PageTouches>();
      PageTouches& all = *page.touches;
      if (all.run != memory_->epoch) {
        all.run = memory_->epoch;
        for (auto& bits : all.marks) bits.reset();
      }
      for (int k = 0; k < 3; ++k) {
        if (m->bits[k].empty()) continue;
        const std::uint64_t* mine = m->bits[k].data();
        const auto meets = [&](int other) {
          if (!all.marks[other]) return;
          const std::uint64_t* theirs = all.marks[other].get();
          std::uint64_t both = 0;
          for (std::uint32_t i = m->low; i <= m->high; ++i) both |= mine[i] & theirs[i];
          met = met || both != 0;
        };
        if (k != kRead) meets(kRead);
        meets(kWrite);
        if (k != kOrdered) meets(kOrdered);
      }
      for (int k = 0; k < 3; ++k) {
        if (m->bits[k].empty()) continue;
        if (!all.marks[k]) all.marks[k] = std::make_unique<std::uint64_t[]>(words);
        std::uint64_t* theirs = all.marks[k].get();
        std::uint64_t* mine = m->bits[k].data();
        for (std::uint32_t i = m->low; i <= m->high; ++i) {
          theirs[i] |= mine[i];
          mine[i] = 0;
        }
      }
    }
    m->touched = false;
    m->low = ~0u;
    m->high = 0;
  }
  touched_.clear();
  last_ = nullptr;
  return met;
}

void roll_back(Memory::Impl& memory) {
  for (const auto& a : memory.allocations) {
    bool any = false;
    for (std::uint64_t i = 0; i < a->pages.size(); ++i) {
      Page* page = a->pages[i].get();
      if (!page || !page->touches || page->touches->saved != memory.epoch) continue;
      any = true;
      const PageTouches& t = *page->touches;
      if (page->made == memory.epoch) {
        a->fill(*page, i);
        continue;
      }
      std::memcpy(page->data.get(), t.data.get(), kPageBytes);
      if (!t.written)
        page->written.reset();
      else
        std::memcpy(page->written.get(), t.written.get(), kPageBytes / 8);
    }
    if (any) a->written = a->was_written;
  }
}

}  // namespace hone::emulator
