// Loads and stores of local memory, of constant banks and of call parameters.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "evaluator/device/emulator/sim/block.h"
#include "evaluator/device/emulator/sim/lane_move.h"

namespace hone::emulator {

// Callers' variables may be meant, their callees' not.
Bounds Block::local_bounds(const Warp& w, const Inst& in) const {
  const std::uint64_t frame = w.stack.back().local;
  if (in.variable != 0) {
    const Extent& v = function_->variables[in.variable];
    if (v.space == Space::kLocal) return {frame + v.offset, frame + v.offset + v.bytes};
  }
  return {0, frame + function_->local_bytes};
}

/// Memory is laid out so that one word of all lanes is one line: as many as there are different
/// words.
std::uint32_t Block::local_lines(std::uint32_t mask, std::uint32_t bytes) const {
  std::uint64_t words[32];
  std::uint32_t distinct = 0;
  for (std::uint32_t m = mask; m; m &= m - 1) {
    const std::uint64_t word = address_[std::countr_zero(m)] >> 2;
    if (std::find(words, words + distinct, word) == words + distinct) words[distinct++] = word;
  }
  return distinct * std::max(1u, bytes / 4);
}

namespace {

constexpr std::uint32_t kWritten = 0x01010101;  // a word of which every byte was written
constexpr std::size_t kRow = 32;                // words

/// Words of a row that somebody has not written, as lanes.
std::uint32_t unwritten_words(const std::uint8_t* row) {
  std::uint32_t differ = 0;
  for (std::size_t i = 0; i < kRow; ++i) differ |= get<std::uint32_t>(row + 4 * i) ^ kWritten;
  if (differ == 0) return 0;
  std::uint32_t lanes = 0;
  for (std::size_t i = 0; i < kRow; ++i)
    lanes |= static_cast<std::uint32_t>(get<std::uint32_t>(row + 4 * i) != kWritten) << i;
  return lanes;
}

/// One element of each lane between a register and local memory, where all lanes mean the same
/// words: in rows from `data` on. `written`: one byte a byte; null: not looked at. Gives the lanes
/// that read what nobody wrote.
template <class T>
std::uint32_t move_rows(bool store, T* reg, std::uint8_t* data, std::uint8_t* written) {
  constexpr std::size_t kWords = sizeof(T) / 4;
  std::uint32_t holes = 0;
  std::uint32_t row[kWords][kRow];
  if (store) {
    for (std::size_t i = 0; i < kRow; ++i)
      for (std::size_t k = 0; k < kWords; ++k)
        row[k][i] = static_cast<std::uint32_t>(reg[i] >> (32 * k));
    std::memcpy(data, row, sizeof row);
    if (written != nullptr) std::memset(written, 1, sizeof row);
    return 0;
  }
  std::memcpy(row, data, sizeof row);
  for (std::size_t i = 0; i < kRow; ++i) {
    reg[i] = row[0][i];
    if constexpr (kWords == 2) reg[i] |= static_cast<T>(row[1][i]) << 32;
  }
  for (std::size_t k = 0; written != nullptr && k < kWords; ++k)
    holes |= unwritten_words(written + k * sizeof row[0]);
  return holes;
}

/// The same where each lane has an address of its own.
template <class T>
std::uint32_t move_words(bool store, T* reg, std::uint8_t* data, std::uint8_t* written,
                         std::uint64_t offset, const std::uint64_t* at, std::uint32_t mask) {
  std::uint32_t holes = 0;
  for (std::uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    T value = store ? reg[lane] : 0;
    for (std::size_t k = 0; k < sizeof(T) / 4; ++k) {
      const std::size_t where = local_place(at[lane] + offset + 4 * k, lane);
      if (store) {
        const auto word = static_cast<std::uint32_t>(value >> (32 * k));
        std::memcpy(data + where, &word, sizeof word);
        if (written != nullptr) std::memcpy(written + where, &kWritten, sizeof kWritten);
      } else {
        value |= static_cast<T>(get<std::uint32_t>(data + where)) << (32 * k);
        if (written != nullptr)
          holes |= static_cast<std::uint32_t>(get<std::uint32_t>(written + where) != kWritten)
                   << lane;
      }
    }
    if (!store) reg[lane] = value;
  }
  return holes;
}

}  // namespace

bool Block::local_access(Warp& w, const Inst& in, std::uint32_t mask) {
  const bool store = in.kind == Kind::kStore;
  const std::uint32_t total = in.esize * in.vec;
  const Slot* slots = function_->extra.data() + in.extra;
  const Bounds bounds = local_bounds(w, in);
  if (counting_) {
    Counters& c = run_.counters;
    ++c.local_accesses;
    ++(store ? c.local_stores : c.local_loads);
    (store ? c.local_store_lines : c.local_load_lines) += local_lines(mask, total);
    access_latency_ = static_cast<std::uint32_t>(run_.profile->l1_latency);
  }
  std::uint32_t taint = 0;
  if (store && w.tainting)
    for (int v = 0; v < in.vec; ++v) taint |= slot_taint(w, in, slots[v]);
  // Arrays of words that the compiler left in memory: a candidate may do little else.
  const bool words = in.dst_wide ? in.esize == 8 : in.esize == 4;
  if (words && taint == 0 && summary_.lowest <= summary_.highest &&
      bounds.hold(summary_.lowest, total) && bounds.hold(summary_.highest, total)) {
    std::uint8_t* const data = w.local.data();
    std::uint8_t* const written = check_init_ ? w.local_written.data() : nullptr;
    const bool together = mask == 0xFFFFFFFFu && summary_.lowest == summary_.highest;
    for (int v = 0; v < in.vec; ++v) {
      if (slots[v] == kNone) continue;
      const std::uint64_t offset = static_cast<std::uint64_t>(v) * in.esize;
      const auto move = [&](auto* to) {
        if (!together) return move_words(store, to, data, written, offset, address_, mask);
        const std::size_t row = local_place(address_[0] + offset, 0);
        return move_rows(store, to, data + row, written != nullptr ? written + row : nullptr);
      };
      const std::uint32_t holes = in.dst_wide ? move(static_cast<std::uint64_t*>(reg(slots[v])))
                                              : move(static_cast<std::uint32_t*>(reg(slots[v])));
      if (holes == 0) continue;
      if (!load_taint_) {
        uninitialised_ = fmt::format("local memory at offset {} (read at line {})",
                                     address_[std::countr_zero(holes)], in.line);
        uninitialised_global_ = false;
      }
      load_taint_ |= holes;
      for (std::uint32_t m = holes; m; m &= m - 1)
        note_hole(std::countr_zero(m), ((1u << in.esize) - 1) << offset);
    }
    return true;
  }
  for (std::uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const std::uint64_t at = address_[lane];
    if (!bounds.hold(at, total)) return fail_access(w, in, lane, kLocalBase + at, "out-of-bounds");
    std::uint8_t bytes[64];  // eight elements of eight bytes
    for (std::uint32_t b = 0; !store && b < total; ++b)
      bytes[b] = w.local[local_place(at + b, lane)];
    for (int v = 0; v < in.vec; ++v) {
      if (slots[v] == kNone) continue;
      std::uint8_t* element = bytes + v * in.esize;
      if (!store) {
        put_lane(reg(slots[v]), in.dst_wide, in.sign_extend, in.esize, lane, element);
        continue;
      }
      get_lane(reg(slots[v]), in.dst_wide, in.esize, lane, element);
      for (std::uint32_t b = 0; b < in.esize; ++b)
        w.local[local_place(at + static_cast<std::uint64_t>(v) * in.esize + b, lane)] = element[b];
    }
    if (!check_init_) continue;
    const auto written = [&](std::uint32_t b) -> std::uint8_t& {
      return w.local_written[local_place(at + b, lane)];
    };
    for (std::uint32_t b = 0; b < total; ++b) {
      if (store) {
        const int v = static_cast<int>(b / in.esize);
        written(b) = (taint >> lane & 1) == 0 || !element_taint(w, in, v, lane);
      } else if (written(b) == 0) {
        if (!load_taint_) {
          uninitialised_ = fmt::format("local memory at offset {} (read at line {})", at, in.line);
          uninitialised_global_ = false;
        }
        load_taint_ |= 1u << lane;
        note_hole(lane, 1u << b);
      }
    }
  }
  return true;
}

// One word after another. The cache of an SM's constants holds little, and a miss is long.
void Block::count_constant(const Inst& in, std::uint32_t mask) {
  constexpr std::uint64_t kLineBytes = 64, kHit = 2, kMiss = 28;  // [cycles]
  Counters& c = run_.counters;
  ++c.constant_loads;
  std::uint64_t words[32];
  std::uint32_t distinct = 0;
  std::uint64_t misses = 0;
  for (std::uint32_t m = mask; m; m &= m - 1) {
    const std::uint64_t word = address_[std::countr_zero(m)] >> 2;
    if (std::find(words, words + distinct, word) != words + distinct) continue;
    words[distinct++] = word;
    const std::uint64_t line = word * 4 / kLineBytes;
    std::uint64_t& known = constant_lines_[line % constant_lines_.size()];
    misses += known != line + 1;
    known = line + 1;
  }
  const std::uint64_t cycles = kHit * (distinct - 1) + kMiss * misses;
  c.constant_cycles += cycles;
  access_latency_ = std::max<std::uint32_t>(in.latency, static_cast<std::uint32_t>(30 + cycles));
}

bool Block::bank_access(Warp& w, const Inst& in, std::uint32_t mask, const std::uint8_t* bytes,
                        std::uint64_t size, std::uint64_t base) {
  const std::uint32_t total = in.esize * in.vec;
  const Slot* slots = function_->extra.data() + in.extra;
  if (counting_) count_constant(in, mask);
  for (std::uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const std::uint64_t at = address_[lane] - base;
    if (in.kind == Kind::kStore || at >= size || size - at < total)
      return fail_access(w, in, lane, address_[lane], "out-of-bounds");
    for (int v = 0; v < in.vec; ++v)
      if (slots[v] != kNone)
        put_lane(reg(slots[v]), in.dst_wide, in.sign_extend, in.esize, lane,
                 bytes + at + v * in.esize);
  }
  return true;
}

bool Block::formal_access(Warp& w, const Inst& in, std::uint32_t mask) {
  const bool store = in.kind == Kind::kStore;
  const std::uint32_t total = in.esize * in.vec;
  const Slot* slots = function_->extra.data() + in.extra;
  for (std::uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const std::uint64_t at = address_[lane];
    if (at + total > function_->formal_bytes || at + total < total)
      return fail_access(w, in, lane, at, "out-of-bounds");
    std::uint8_t* data = frame_ + function_->formal_offset + lane * function_->formal_bytes + at;
    for (int v = 0; v < in.vec; ++v) {
      if (slots[v] == kNone) continue;
      if (store)
        get_lane(reg(slots[v]), in.dst_wide, in.esize, lane, data + v * in.esize);
      else
        put_lane(reg(slots[v]), in.dst_wide, in.sign_extend, in.esize, lane, data + v * in.esize);
    }
    if (w.tainting) taint_formal(w, in, lane, at);
  }
  return true;
}

}  // namespace hone::emulator
