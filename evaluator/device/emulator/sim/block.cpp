// One block from its first instruction to its last: what its warps start with, whose turn it is.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "evaluator/device/emulator/sim/async.h"
#include "evaluator/device/emulator/sim/block.h"

namespace hone::emulator {

void AlignedBytes::resize(std::size_t bytes) {
  if (bytes <= size_) return;
  if (size_ > 0) bytes = std::max(bytes, 2 * size_);  // recursion grows a call at a time
  std::vector<std::uint8_t> store(bytes + 64);
  auto* data = store.data() + (64 - reinterpret_cast<std::uintptr_t>(store.data()) % 64) % 64;
  if (size_) std::memcpy(data, data_, size_);
  store_ = std::move(store);
  data_ = data;
  size_ = bytes;
}

Block::Block(RunState& run)
    : run_(run), module_(*run.module), constants_(run.module->constants.data()) {
  threads_ = run.launch->block[0] * run.launch->block[1] * run.launch->block[2];
  warps_.resize((threads_ + 31) / 32);
  lane_stores_.resize(warps_.size());
  shared_.resize(run.shared_bytes + 64);
  check_races_ = run.options->check_races;
  check_noncoherent_ = check_races_ && module_.noncoherent;
  check_init_ = run.options->check_initialised;
  counting_ = run.options->counters;
  order_.resize(warps_.size());
  if (run.l1_bytes > 0) l1_.resize(run.l1_bytes);
  if (check_races_ || check_init_)
    shadow_.resize(run.shared_bytes, module_.shared_granule, run.findings.collects());
  if (module_.async_reads) clocks_.track_proxies();
  for (const Function& f : module_.functions) {
    max_local_ = std::max(max_local_, f.local_bytes);
    max_registers_ = std::max<std::uint32_t>(max_registers_, f.reg_slots.size());
  }
}

Block::~Block() = default;

void Block::start_warps() {
  const Function& f = module_.functions[run_.function];
  for (std::size_t i = 0; i < warps_.size(); ++i) {
    Warp& w = warps_[i];
    const std::uint32_t left = threads_ - static_cast<std::uint32_t>(i) * 32;
    w.index = static_cast<int>(i);
    w.launched = w.alive = left >= 32 ? 0xFFFFFFFFu : (1u << left) - 1;
    w.stack.clear();
    Entry entry;
    entry.mask = w.alive;
    entry.function = run_.function;
    w.stack.push_back(entry);
    w.frames.resize(f.frame_bytes);
    auto* taint = reinterpret_cast<std::uint32_t*>(w.frames.data() + f.taint_offset);
    std::fill_n(taint, taint_words(f), 0u);
    if (f.local_bytes > 0) {
      w.local_stride = std::max(w.local_stride, f.local_bytes);
      w.local.resize(local_size(w.local_stride));
      if (check_init_) w.local_written.assign(local_size(w.local_stride), 0);
    }
    if (counting_) w.ready.assign(max_registers_ + kFirstReady, 0);
    w.cycle = w.latest = w.idle = w.given = w.far = w.executed = 0;
    w.late = 0;
    w.torn = false;
    w.barrier = -1;
    w.stored = false;
    w.stored_lines = 0;
    w.stored_remotely = 0;
    w.wgmma_group = 1;
    w.wgmma_done = 0;
    w.wgmma_fenced = false;
    w.wgmma_history = 0;
    w.wgmma_writes.clear();
    w.doubts.clear();
    w.tainting = w.spinning = w.flattened = false;
    w.passed = w.barrier_predicate = 0;
    w.polled = w.looked = nullptr;
    if (check_init_) taint_live_in(w, f, taint, w.alive);
  }
}

}  // namespace hone::emulator
