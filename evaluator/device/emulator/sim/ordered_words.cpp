#include "evaluator/device/emulator/sim/ordered_words.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "evaluator/device/emulator/sim/block.h"
#include "evaluator/device/emulator/sim/lane_move.h"

namespace hone::emulator {
namespace {
// Who counts in one word changes it often, and nobody looks far back.
constexpr std::size_t kChangesKept = 32;
}  // namespace

void OrderedWords::wrote(std::uint64_t address, std::uint64_t before, std::uint64_t after,
                         std::uint64_t moment) {
  if (before == after) return;
  std::vector<Change>& changes = words_[address / kBytes].changes;
  // Blocks run one after another here: what is written later is no earlier.
  if (!changes.empty()) moment = std::max(moment, changes.back().moment);
  if (changes.size() == kChangesKept) changes.erase(changes.begin());
  changes.push_back({moment, before});
}

std::optional<OrderedWords::Seen> OrderedWords::at(std::uint64_t address,
                                                   std::uint64_t moment) const {
  const auto found = words_.find(address / kBytes);
  if (found == words_.end()) return std::nullopt;
  const auto& [changes, turns] = found->second;
  if (turns || changes.empty() || changes.back().moment <= moment) return std::nullopt;
  const auto next = std::ranges::upper_bound(changes, moment, {}, &Change::moment);
  return Seen{next->before, next->moment};
}

std::uint64_t Block::word_at(std::uint64_t address) {
  std::uint64_t value = 0;
  for (std::uint64_t k = 0; k < OrderedWords::kBytes;
       ++k)  // the last word of a buffer may be short
    if (find_span(address + k, 1))
      std::memcpy(reinterpret_cast<std::uint8_t*>(&value) + k,
                  span_.data + (address + k - span_.lo), 1);
  return value;
}

void Block::keep_words(std::uint32_t mask, std::uint32_t bytes) {
  kept_words_.clear();
  for_each_word(mask, bytes, [&](int, std::uint64_t at) { kept_words_.push_back(word_at(at)); });
}

void Block::note_words(const Warp& w, std::uint32_t mask, std::uint32_t bytes) {
  const std::uint64_t now = launch_time(w.moment().with_waits());
  std::size_t k = 0;
  for_each_word(mask, bytes, [&](int, std::uint64_t at) {
    run_.words->wrote(at, kept_words_[k++], word_at(at), now);
  });
}

void Block::look_back(Warp& w, const Inst& in, std::uint32_t mask, const Slot* to) {
  const std::uint32_t bytes = in.esize * in.vec;
  const std::uint64_t first = address_[std::countr_zero(mask)];
  const auto next_change = [&](std::uint64_t now) {
    std::uint64_t next = ~0ull;
    for_each_word(mask, bytes, [&](int, std::uint64_t at) {
      if (const auto seen = run_.words->at(at, now)) next = std::min(next, seen->next);
    });
    return next;
  };
  const bool again = w.looked == &in && w.looked_address == first;
  // Looking again and again is waiting, however often it was done here.
  if (again) {
    w.late = w.looked_at - static_cast<std::int64_t>(w.time());
    access_latency_ += static_cast<std::uint32_t>(w.time() - w.cycle);  // not before the last one
  }
  std::uint64_t now = launch_time(w.moment().with_waits());
  std::uint64_t next = next_change(now);
  if (again && next != ~0ull) {
    // Half of a look later, in the mean.
    next += static_cast<std::uint64_t>(run_.profile->l2_latency / 2);
    w.late += static_cast<std::int64_t>(next - now);
    now = next;
    run_.waits_for_blocks = true;
    next = next_change(now);
  }
  w.looked = &in;
  w.looked_address = first;
  w.looked_at = w.moment().with_waits();
  if (next == ~0ull) return;
  for (std::uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    std::uint8_t seen[32] = {};  // as large as the largest vector, in whole words
    std::size_t size = 0;
    for_each_word(1u << lane, bytes, [&](int, std::uint64_t at) {
      const auto earlier = run_.words->at(at, now);
      const std::uint64_t word = earlier ? earlier->value : word_at(at);
      std::memcpy(seen + size, &word, sizeof word);
      size += sizeof word;
    });
    if (size == 0) continue;
    const std::uint8_t* const data = seen + address_[lane] % OrderedWords::kBytes;
    for (int v = 0; v < in.vec; ++v)
      if (to[v] != kNone)
        put_lane(reg(to[v]), in.dst_wide, in.sign_extend, in.esize, lane, data + v * in.esize);
  }
}

bool Block::only_reads(const Inst& in, std::uint32_t mask) const {
  if (in.vec != 1 || in.type.kind == Type::kFloat || in.type.kind == Type::kBFloat) return false;
  const auto op = static_cast<AtomicOp>(in.sub);
  const auto operand = [&](Slot s, int lane) {
    return in.dst_wide ? reg64(s)[lane] : std::uint64_t{reg32(s)[lane]};
  };
  const Slot from = function_->extra[in.extra];
  for (std::uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const bool reads = op == AtomicOp::kCas ? operand(from, lane) == operand(in.c, lane)
                                            : (op == AtomicOp::kAdd || op == AtomicOp::kOr ||
                                               op == AtomicOp::kXor) &&
                                                  operand(from, lane) == 0;
    if (!reads) return false;
  }
  return true;
}

}  // namespace hone::emulator
