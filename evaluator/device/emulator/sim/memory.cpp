#include "evaluator/device/emulator/sim/memory.h"

#include <algorithm>
#include <bit>
#include <new>
#include <random>

#include "evaluator/device/emulator/sim/order.h"
#include "evaluator/device/emulator/sim/stores.h"
#include "evaluator/device/emulator/sim/touches.h"

namespace hone::emulator {

Page::Page() = default;
Page::~Page() { delete stores.load(); }

void Page::began_written() {
  written = std::make_unique_for_overwrite<std::uint64_t[]>(kPageBytes / 64);
  std::memset(written.get(), 0xFF, kPageBytes / 8);
}

Page& Allocation::page(std::uint64_t index, std::uint32_t run) {
  PageSlot& slot = pages[index];
  if (Page* there = slot.get()) return *there;
  const std::lock_guard lock(making[index % making.size()]);
  if (Page* there = slot.get()) return *there;
  if (--*pages_left < 0) {
    ++*pages_left;
    throw std::bad_alloc();
  }
  auto page = std::make_unique<Page>();
  page->data = std::make_unique_for_overwrite<std::uint8_t[]>(kPageBytes);
  if (!initialised) page->written = std::make_unique<std::uint64_t[]>(kPageBytes / 64);
  page->made = run;
  fill(*page, index);
  Page& made = *page;
  slot.put(std::move(page));
  return made;
}

bool Allocation::live_span(std::uint64_t address, Span& out) {
  const std::uint64_t offset = address - base;
  if (offset >= bytes) return false;
  const std::uint64_t index = offset / kPageBytes;
  Page* const page = pages[index].get();
  if (!page) return false;
  out = {base + index * kPageBytes, std::min(kPageBytes, bytes - index * kPageBytes),
         page->data.get(), page, this};
  return true;
}

void Allocation::fill(Page& page, std::uint64_t index) const {
  const std::uint64_t offset = index * kPageBytes;
  const std::uint64_t size = std::min(kPageBytes, bytes - offset);
  if (source)
    source(offset, page.data.get(), size);
  else
    std::memset(page.data.get(), 0, size);
  if (initialised)
    page.written.reset();
  else
    std::memset(page.written.get(), 0, kPageBytes / 8);
}

Allocation* Memory::Impl::nearest(std::uint64_t address) const {
  Allocation* best = nullptr;
  std::uint64_t distance = ~0ull;
  for (const auto& a : allocations) {
    const std::uint64_t d = address < a->base               ? a->base - address
                            : address >= a->base + a->bytes ? address - (a->base + a->bytes)
                                                            : 0;
    if (d < distance) {
      distance = d;
      best = a.get();
    }
  }
  return distance < (1ull << 36) ? best : nullptr;
}

Allocation* Memory::Impl::find(std::uint64_t address) const {
  auto it = std::upper_bound(allocations.begin(), allocations.end(), address,
                             [](std::uint64_t x, const auto& a) { return x < a->base; });
  if (it == allocations.begin()) return nullptr;
  --it;
  return address - (*it)->base < (*it)->bytes ? it->get() : nullptr;
}

bool Memory::Impl::span(std::uint64_t address, std::uint64_t size, Span& out) {
  Allocation* a = find(address);
  if (!a || a->bytes - (address - a->base) < size) return false;
  const std::uint64_t index = (address - a->base) / kPageBytes;
  Page& page = a->page(index, epoch);
  out.lo = a->base + index * kPageBytes;
  out.bytes = std::min(kPageBytes, a->bytes - index * kPageBytes);
  out.data = page.data.get();
  out.page = &page;
  out.allocation = a;
  return true;
}

Allocation& Memory::Impl::place(std::string name, std::uint64_t base, std::uint64_t bytes,
                                bool initialised, PageSource source) {
  auto a = std::make_unique<Allocation>();
  a->name = std::move(name);
  a->base = base;
  a->bytes = bytes;
  a->initialised = initialised;
  a->source = std::move(source);
  a->pages_left = &pages_left;
  a->pages = std::vector<PageSlot>((bytes + kPageBytes - 1) / kPageBytes);
  const auto it = std::upper_bound(allocations.begin(), allocations.end(), base,
                                   [](std::uint64_t x, const auto& b) { return x < b->base; });
  return **allocations.insert(it, std::move(a));
}

void Memory::Impl::place_globals(const ModuleImpl& module) {
  if (!modules.try_emplace(module.id, true).second) return;
  for (const Variable& v : module.globals) {
    if (v.bytes == 0) continue;
    Allocation& placed =
        place(v.name, v.address, v.bytes, true,
              [init = v.init](std::uint64_t offset, std::uint8_t* out, std::size_t size) {
                std::memcpy(out, init.data() + offset, size);
              });
    placed.variable = true;
    placed.empty = std::ranges::all_of(v.init, [](std::uint8_t byte) { return byte == 0; });
    if (const auto left = inherited.find(v.address); left != inherited.end()) {
      placed.source = left->second;
      placed.empty = false;
    }
  }
}

Memory::Memory() : impl_(std::make_unique<Impl>()) {
  static std::atomic<std::uint64_t> memories = 0;
  impl_->call = memories++ << 32;
}
Memory::~Memory() = default;

void Memory::begin_anywhere(std::uint64_t seed) {
  constexpr std::uint64_t kPlaces = 7 << 17, kEach = 2 << 20;  // up to 0x7FC0...
  std::mt19937_64 random(seed);
  impl_->next = kGlobalBase + random() % kPlaces * kEach;
}

void Memory::round_by(std::uint64_t seed) {
  impl_->rounding_salt = seed == 0 ? 0 : std::mt19937_64(seed)() | 1;
}

std::uint64_t Memory::allocate(std::string name, std::uint64_t bytes, bool initialised,
                               PageSource source) {
  // Page-aligned, with at least 1 MiB of nothing in between.
  const std::uint64_t base = impl_->next;
  impl_->next = (base + bytes + (2ull << 20)) / (1ull << 20) * (1ull << 20);
  impl_->place(std::move(name), base, bytes, initialised, std::move(source));
  return base;
}

bool Memory::read(std::uint64_t address, void* out, std::uint64_t bytes) const {
  auto* to = static_cast<std::uint8_t*>(out);
  while (bytes > 0) {
    Span span;
    if (!impl_->span(address, 1, span)) return false;
    const std::uint64_t n = std::min(bytes, span.lo + span.bytes - address);
    std::memcpy(to, span.data + (address - span.lo), n);
    to += n;
    address += n;
    bytes -= n;
  }
  return true;
}

bool Memory::write(std::uint64_t address, const void* data, std::uint64_t bytes) {
  const auto* from = static_cast<const std::uint8_t*>(data);
  while (bytes > 0) {
    Span span;
    if (!impl_->span(address, 1, span)) return false;
    const std::uint64_t at = address - span.lo;
    const std::uint64_t n = std::min(bytes, span.bytes - at);
    std::memcpy(span.data + at, from, n);
    if (span.page->written)
      for (std::uint64_t i = 0; i < n; ++i) bits_set(span.page->written.get(), at + i, 1);
    from += n;
    address += n;
    bytes -= n;
  }
  return true;
}

std::int64_t Memory::first_unwritten(std::uint64_t address, std::uint64_t bytes) const {
  const Allocation* a = impl_->find(address);
  if (!a) return 0;
  for (std::uint64_t i = 0; i < bytes;) {
    const std::uint64_t at = address - a->base + i;
    if (at >= a->bytes) return static_cast<std::int64_t>(i);
    const Page* page = a->pages[at / kPageBytes].get();
    const std::uint64_t bit = at % kPageBytes;
    if (a->initialised && !(page && page->written)) {
      i += kPageBytes - bit;
      continue;
    }
    if (!page) return static_cast<std::int64_t>(i);
    if (bit % 64 == 0 && bytes - i >= 64 && page->written[bit / 64] == ~0ull) {
      i += 64;
      continue;
    }
    if (!bits_all_set(page->written.get(), bit, 1)) return static_cast<std::int64_t>(i);
    ++i;
  }
  return -1;
}

std::uint64_t Memory::touched_bytes(std::uint64_t address) const {
  const Allocation* a = impl_->find(address);
  return a ? std::min(a->bytes, 32 * a->touched) : 0;
}

namespace {

/// Adds what `bits` say of the page that begins at `base`; a bit stands for `each` bytes.
void add_ranges(std::vector<ByteRange>& ranges, const std::uint64_t* bits, std::uint64_t words,
                std::uint64_t each, std::uint64_t base, std::uint64_t bytes) {
  for (std::uint64_t w = 0; w < words; ++w) {
    std::uint64_t word = bits[w];
    while (word != 0) {
      const auto first = static_cast<std::uint64_t>(std::countr_zero(word));
      const auto count = static_cast<std::uint64_t>(std::countr_one(word >> first));
      const std::uint64_t begin = base + (64 * w + first) * each;
      const std::uint64_t end = std::min(begin + count * each, bytes);
      if (!ranges.empty() && ranges.back().end == begin)
        ranges.back().end = end;
      else if (begin < end)
        ranges.push_back({begin, end});
      word &= first + count >= 64 ? 0 : ~0ull << (first + count);
    }
  }
}

}  // namespace

std::vector<ByteRange> Memory::touched_ranges(std::uint64_t address) const {
  std::vector<ByteRange> ranges;
  const Allocation* a = impl_->find(address);
  for (std::uint64_t i = 0; a && i < a->pages.size(); ++i) {
    const Page* page = a->pages[i].get();
    if (page && page->epoch == impl_->epoch)
      add_ranges(ranges, page->touched, std::size(page->touched), 32, i * kPageBytes, a->bytes);
  }
  return ranges;
}

std::vector<ByteRange> Memory::written_ranges(std::uint64_t address) const {
  std::vector<ByteRange> ranges;
  const Allocation* a = impl_->find(address);
  for (std::uint64_t i = 0; a && i < a->pages.size(); ++i) {
    const Page* page = a->pages[i].get();
    if (page && page->written)
      add_ranges(ranges, page->written.get(), kPageBytes / 64, 1, i * kPageBytes, a->bytes);
  }
  return ranges;
}

std::uint64_t Memory::written_bytes(std::uint64_t address) const {
  const Allocation* a = impl_->find(address);
  std::uint64_t bytes = 0;
  for (std::uint64_t i = 0; a && i < a->pages.size(); ++i) {
    const Page* page = a->pages[i].get();
    for (std::uint64_t k = 0; page && page->written && k < kPageBytes / 64; ++k)
      bytes += static_cast<std::uint64_t>(std::popcount(page->written[k]));
  }
  return bytes;
}

bool Memory::touched_empty_variable() const {
  return std::ranges::any_of(impl_->allocations, [](const auto& a) {
    return a->variable && a->empty && a->touched > 0 && !a->written;
  });
}

std::uint64_t Memory::touched_bytes_at_half(std::uint64_t address) const {
  const Allocation* a = impl_->find(address);
  return a ? std::min(a->bytes, 32 * a->touched_at_half) : 0;
}

void Memory::next_launch(std::int64_t l2_bytes) {
  // Each half of the GPU keeps what it reads of the other one, too.
  const double room = static_cast<double>(l2_bytes) / 32 / 2;
  double last = 0;
  double before = 0;
  for (const auto& a : impl_->allocations) {
    last += a->leaves;
    before += std::max(0.0, a->left - a->leaves);
  }
  const double kept = last > room ? 0 : std::min(1.0, (room - last) / std::max(1.0, before));
  for (auto& a : impl_->allocations) {
    a->left = last > room ? 0 : a->leaves + kept * std::max(0.0, a->left - a->leaves);
    a->leaves = 0;
  }
}

bool Memory::was_written(std::uint64_t address) const {
  const Allocation* a = impl_->find(address);
  return a && a->written;
}

bool Memory::was_added_to(std::uint64_t address) const {
  const Allocation* a = impl_->find(address);
  return a && a->added_to;
}

std::vector<std::pair<std::uint64_t, bool>> Memory::touched_variables() const {
  std::vector<std::pair<std::uint64_t, bool>> touched;
  for (const auto& a : impl_->allocations)
    if (a->variable && a->touched > 0) touched.emplace_back(a->base, a->written);
  return touched;
}

bool Memory::variables_were_written() const {
  return std::ranges::any_of(impl_->allocations,
                             [](const auto& a) { return a->variable && a->written; });
}

std::vector<std::uint8_t> Memory::variables() const {
  std::vector<std::uint8_t> out;
  for (const auto& a : impl_->allocations) {
    for (std::uint64_t i = 0; a->variable && i < a->pages.size(); ++i) {
      const Page* page = a->pages[i].get();
      out.push_back(page != nullptr ? 1 : 0);
      const std::uint64_t bytes = std::min(kPageBytes, a->bytes - i * kPageBytes);
      if (page != nullptr) out.insert(out.end(), &page->data[0], &page->data[0] + bytes);
    }
  }
  return out;
}

namespace {

/// each(bytes, count) of the words that somebody has looked at.
template <class Each>
void for_each_word(const std::vector<std::unique_ptr<Allocation>>& allocations, Each&& each) {
  for (const auto& a : allocations) {
    for (std::uint64_t i = 0; a->variable && i < a->pages.size(); ++i) {
      const Page* page = a->pages[i].get();
      const std::uint64_t bytes = std::min(kPageBytes, a->bytes - i * kPageBytes);
      for (std::uint64_t at = 0; page != nullptr && at < bytes; at += 4)
        each(&page->data[at], std::min<std::uint64_t>(4, bytes - at));
    }
  }
}

}  // namespace

std::vector<std::uint32_t> Memory::variable_words() const {
  std::vector<std::uint32_t> words;
  for_each_word(impl_->allocations, [&](const std::uint8_t* bytes, std::uint64_t count) {
    std::memcpy(&words.emplace_back(0), bytes, count);
  });
  return words;
}

void Memory::add_to_variables(std::span<const std::uint32_t> numbers, std::uint32_t times) {
  std::size_t next = 0;
  for_each_word(impl_->allocations, [&](std::uint8_t* bytes, std::uint64_t count) {
    std::uint32_t word = 0;
    std::memcpy(&word, bytes, count);
    if (next < numbers.size()) word += times * numbers[next++];
    std::memcpy(bytes, &word, count);
  });
}

void Memory::inherit_variables(const Memory& from) {
  using Bytes = std::vector<std::uint8_t>;
  for (const auto& a : from.impl_->allocations) {
    if (!a->variable) continue;
    auto pages = std::make_shared<std::vector<Bytes>>(a->pages.size());
    for (std::size_t i = 0; i < a->pages.size(); ++i) {
      const std::uint64_t bytes = std::min(kPageBytes, a->bytes - i * kPageBytes);
      if (const Page* page = a->pages[i].get())
        (*pages)[i].assign(page->data.get(), page->data.get() + bytes);
    }
    impl_->inherited[a->base] = [pages, first = a->source](std::uint64_t offset, std::uint8_t* out,
                                                           std::size_t size) {
      const Bytes& left = (*pages)[offset / kPageBytes];
      if (left.empty())
        first(offset, out, size);
      else
        std::memcpy(out, left.data(), size);
    };
  }
}

void Memory::limit(std::uint64_t most_bytes) {
  impl_->pages_left =
      static_cast<std::int64_t>((most_bytes - std::min(most_bytes, live_bytes())) / kPageBytes);
}

std::uint64_t Memory::live_bytes() const {
  std::uint64_t pages = 0;
  for (const auto& a : impl_->allocations)
    for (const PageSlot& slot : a->pages) pages += slot.get() != nullptr ? 1 : 0;
  return pages * kPageBytes;
}

void Memory::renew(std::uint64_t address, PageSource source) {
  Allocation* a = impl_->find(address);
  if (!a) return;
  a->source = std::move(source);
  for (const PageSlot& slot : a->pages) impl_->pages_left += slot.get() != nullptr ? 1 : 0;
  a->pages = std::vector<PageSlot>(a->pages.size());
  a->written = false;
  a->added_to = false;
  ++impl_->call;
}

}  // namespace hone::emulator
