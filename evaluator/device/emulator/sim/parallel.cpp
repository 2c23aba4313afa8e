#include "evaluator/device/emulator/sim/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <system_error>
#include <thread>

namespace hone::emulator {
namespace {

constexpr std::uint64_t kTellEvery = 1 << 20;  // instructions of one thread

class Pool final : public Fellows {
 public:
  Pool(RunState& first, const std::vector<std::uint64_t>& blocks)
      : first_(first), blocks_(blocks), asked_(*first.options), options_(asked_) {
    // Threads run blocks in any order, so nothing may come of what an earlier one left in registers
    // or local memory; one finding is enough to give up.
    options_.check_initialised = true;
    options_.max_findings = 1;
    threads_ = std::min<std::size_t>(static_cast<std::size_t>(asked_.threads), blocks.size());
  }

  int run() {
    states_.resize(threads_);
    first_.options = &options_;
    first_.findings = FindingList();
    first_.tracking = Tracking::kMarks;
    first_.concurrent = true;
    first_.fellows = this;
    first_.tell_at = options_.threads_after;
    if (first_.tell_at == 0) start(threads_);
    work(first_);
    for (std::jthread& helper : helpers_) helper.join();
    first_.options = &asked_;
    for (const auto& state : states_)
      if (state) add(*state);
    if (stop_ || first_.executed > asked_.max_warp_instructions) return 0;
    return static_cast<int>(helpers_.size()) + 1;
  }

  bool tell(RunState& mine) override {
    const std::uint64_t more = mine.executed - mine.told;
    mine.told = mine.executed;
    mine.tell_at = mine.executed + kTellEvery;
    // One, two, four, ...: what begins small mostly ends soon.
    if (&mine == &first_ && start(helpers_.size() + 1))
      mine.tell_at = mine.executed + options_.threads_after;
    return together_.fetch_add(more, std::memory_order_relaxed) + more <=
           asked_.max_warp_instructions;
  }

  bool stopped() const override { return stop_.load(std::memory_order_relaxed); }

 private:
  /// Up to `more` helpers; false when no further ones are wanted.
  bool start(std::size_t more) {
    const std::size_t begun = std::min(next_.load(std::memory_order_relaxed), blocks_.size());
    more = std::min(more, blocks_.size() - begun);
    try {
      for (; more > 0 && helpers_.size() + 1 < threads_; --more) {
        const std::size_t i = helpers_.size();
        helpers_.emplace_back([this, i] { help(i); });
      }
    } catch (const std::system_error&) {  // no more threads here: those that there are do it
      threads_ = helpers_.size() + 1;
    }
    return helpers_.size() + 1 < threads_;
  }

  void help(std::size_t i) {
    try {
      states_[i] = std::make_unique<RunState>();
      RunState& state = *states_[i];
      state.module = first_.module;
      state.launch = first_.launch;
      state.memory = first_.memory;
      state.options = &options_;
      state.profile = first_.profile;
      state.function = first_.function;
      state.static_shared = first_.static_shared;
      state.shared_bytes = first_.shared_bytes;
      state.executions.resize(first_.module->functions.size());
      state.lanes.resize(first_.module->functions.size());
      state.waited.resize(first_.module->functions.size());
      state.tracking = Tracking::kMarks;
      state.granule_shift = first_.granule_shift;
      state.concurrent = true;
      state.fellows = this;
      state.tell_at = kTellEvery;
      work(state);
    } catch (const std::exception&) {
      stop_ = true;
    }
  }

  void work(RunState& state) {
    try {
      Block block(state);
      Block* const alone = &block;
      block.join_cluster({&alone, 1}, 0);
      while (!stopped()) {
        const std::size_t i = next_.fetch_add(1, std::memory_order_relaxed);
        if (i >= blocks_.size()) return;
        block.start(blocks_[i]);
        if (block.advance() != Progress::kFinished || state.met || !state.held.empty()) {
          stop_ = true;
          return;
        }
      }
    } catch (const std::exception&) {
      stop_ = true;
    }
  }

  void add(const RunState& state) {
    Counters& c = first_.counters;
    first_.executed += state.executed;
    first_.changes += state.changes;
    c.blocks += state.counters.blocks;
    c.warps += state.counters.warps;
    keep_longest(c, state.counters.most_of_a_block, state.counters.longest_block);
    c.critical_path_sum += state.counters.critical_path_sum;
    c.given_path_sum += state.counters.given_path_sum;
    c.warp_path_sum += state.counters.warp_path_sum;
    c.critical_path_cycles = std::max(c.critical_path_cycles, state.counters.critical_path_cycles);
  }

  RunState& first_;
  const std::vector<std::uint64_t>& blocks_;
  const RunOptions& asked_;
  RunOptions options_;
  std::size_t threads_ = 1;
  std::vector<std::unique_ptr<RunState>> states_;  ///< of the helpers, which make them
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> stop_ = false;
  std::atomic<std::uint64_t> together_ = 0;
  std::vector<std::jthread> helpers_;  ///< the caller's thread's
};

}  // namespace

bool may_run_parallel(const RunOptions& options, const Traits& traits, const LaunchConfig& launch,
                      std::uint64_t blocks) {
  const bool clusters = launch.cluster != std::array<std::uint32_t, 3>{1, 1, 1};
  // The time model's caches and latencies follow from what blocks before did.
  return options.threads > 1 && blocks > 1 && !options.counters && options.schedule_seed == 0 &&
         !clusters && traits.independent;
}

int run_parallel(RunState& state, const std::vector<std::uint64_t>& blocks) {
  return Pool(state, blocks).run();
}

}  // namespace hone::emulator
