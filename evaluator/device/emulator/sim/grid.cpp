#include "evaluator/device/emulator/sim/grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

namespace hone::emulator {
namespace {
// Polling without any change for this long is waiting for ever. A kernel may give up polling by
// itself, so this is far beyond a plausible retry count.
constexpr std::uint64_t kQuietPasses = 16;
constexpr std::uint64_t kQuietInstructions = 16'000'000;
// Times the limit on warp instructions: so many more may be spent on polling.
constexpr std::uint64_t kForgiven = 3;
}  // namespace

Grid::Grid(RunState& run, std::vector<std::uint64_t> clusters, std::uint64_t resident)
    : run_(run), order_(std::move(clusters)), dice_(run.options->schedule_seed) {
  const auto& c = run.launch->cluster;
  in_cluster_ = std::size_t{c[0]} * c[1] * c[2];
  slots_ = std::max<std::size_t>(1, resident / in_cluster_);
  if (run.options->schedule_seed != 0) permute();
}

// Blocks may wait for those with a lower number (they are started first), so none moves further
// than the device holds at once.
void Grid::permute() {
  for (std::size_t first = 0; first < order_.size(); first += slots_) {
    const std::size_t n = std::min(slots_, order_.size() - first);
    for (std::size_t i = n; i > 1; --i)
      std::swap(order_[first + i - 1], order_[first + dice_.below(i)]);
  }
}

Grid::Cluster& Grid::start_next() {
  if (next_ == order_.size() / 2) {
    for (auto& a : run_.memory->allocations) a->touched_at_half = a->touched;
    half_blocks_ = next_ * in_cluster_;
  }
  std::unique_ptr<Cluster> cluster;
  if (!pool_.empty()) {
    cluster = std::move(pool_.back());
    pool_.pop_back();
  } else {
    cluster = std::make_unique<Cluster>();
    for (std::size_t i = 0; i < in_cluster_; ++i) {
      cluster->blocks.push_back(std::make_unique<Block>(run_));
      cluster->peers.push_back(cluster->blocks.back().get());
    }
  }
  std::uint64_t begin = 0;
  if (next_ >= slots_ && !free_at_.empty()) {
    std::ranges::pop_heap(free_at_, std::greater());
    begin = free_at_.back();
    free_at_.pop_back();
  }
  cluster->number = next_;
  const std::uint64_t id = order_[next_++];
  cluster->finished.assign(in_cluster_, false);
  cluster->left = in_cluster_;
  for (std::size_t i = 0; i < in_cluster_; ++i) {
    Block& block = *cluster->blocks[i];
    block.join_cluster(cluster->peers, static_cast<int>(i));
    block.begins_at(begin);
    block.start(id * in_cluster_ + i);
  }
  live_.push_back(std::move(cluster));
  ++run_.worked;
  return *live_.back();
}

Progress Grid::advance(Cluster& cluster) {
  bool turn = false;
  bool polling = false;
  for (std::size_t i = 0; i < in_cluster_; ++i) {
    if (cluster.finished[i]) continue;
    switch (cluster.blocks[i]->advance()) {
      case Progress::kFinished:
        cluster.finished[i] = true;
        --cluster.left;
        turn = true;
        break;
      case Progress::kTurn:
        turn = true;
        break;
      case Progress::kPolling:
        polling = true;
        break;
      case Progress::kWaiting:
        break;
      case Progress::kFailed:
        return Progress::kFailed;
    }
  }
  if (cluster.left == 0) return Progress::kFinished;
  return turn ? Progress::kTurn : polling ? Progress::kPolling : Progress::kWaiting;
}

std::uint64_t Grid::end_of_all() const {
  const std::uint64_t ran = order_.size() * in_cluster_, half = ran / 2;
  if (half == 0 || end_ <= end_of_half_) return end_;
  const double each = static_cast<double>(end_ - end_of_half_) / static_cast<double>(ran - half);
  return end_ +
         static_cast<std::uint64_t>(each * static_cast<double>(run_.counters.blocks_total - ran));
}

void Grid::retire(std::size_t live_index) {
  std::uint64_t end = 0;
  for (const auto& block : live_[live_index]->blocks) end = std::max(end, block->ended_at());
  free_at_.push_back(end);
  std::ranges::push_heap(free_at_, std::greater());
  end_ = std::max(end_, end);
  if (live_[live_index]->number < order_.size() / 2) end_of_half_ = std::max(end_of_half_, end);
  pool_.push_back(std::move(live_[live_index]));
  live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(live_index));
  ++ended_;
  quiet_passes_ = 0;
  quiet_since_ = run_.executed;
}

bool Grid::run() {
  const bool seeded = run_.options->schedule_seed != 0;
  while (next_ < order_.size() || !live_.empty()) {
    // Those that wait, once each.
    bool can_go_on = false;
    const std::uint64_t changes = run_.changes, executed = run_.executed, ended = ended_;
    for (std::size_t i = 0; i < live_.size();) {
      const Progress p = advance(*live_[i]);
      if (p == Progress::kFailed) {
        stalled();
        return false;
      }
      if (p == Progress::kFinished) {
        retire(i);
        if (run_.met) return false;
        continue;
      }
      can_go_on = can_go_on || p == Progress::kTurn;
      ++i;
    }
    const bool unchanged = !live_.empty() && changes == run_.changes && ended == ended_;
    if (unchanged) forgive(run_.executed - executed);
    if (seeded) {
      const bool all_at_once = run_.options->share_counters;
      while (all_at_once && next_ < order_.size() && live_.size() < slots_) start_next();
      if (next_ < order_.size() && live_.size() < slots_ &&
          (live_.empty() || executed == run_.executed || dice_.below(2) == 0)) {
        start_next();
        // Not always last in turn.
        std::swap(live_.back(), live_[dice_.below(live_.size())]);
      }
      // They may all wait for one that has not begun.
      for (std::size_t n = live_.size(); unchanged && run_.polled && n > 0; --n)
        if (next_ < order_.size() && live_.size() < slots_) start_next();
      if (stalled()) return false;
      continue;
    }
    // New ones as long as there is room, each as far as it goes by itself.
    while (!can_go_on && next_ < order_.size() && live_.size() < slots_) {
      Cluster& cluster = start_next();
      Progress p = Progress::kTurn;
      while (p == Progress::kTurn) p = advance(cluster);
      if (p == Progress::kFailed) {
        stalled();
        return false;
      }
      if (p == Progress::kFinished) {
        retire(live_.size() - 1);
        if (run_.met) return false;
      }
    }
    if (!can_go_on && stalled()) return false;
  }
  return true;
}

void Grid::forgive(std::uint64_t executed) {
  if (!run_.polled || run_.options->max_warp_instructions > ~0ULL / (2 * kForgiven)) return;
  run_.forgiven =
      std::min(run_.forgiven + executed, kForgiven * run_.options->max_warp_instructions);
}

bool Grid::stalled() {
  if (run_.failure.verdict != Verdict::kOk) {
    // The limit on instructions ended it: say what it waited for, where that is what it did.
    const bool quiet = run_.changes == seen_changes_ && quiet_passes_ > 0;
    const std::string limit =
        fmt::format("more than {} warp instructions", run_.options->max_warp_instructions);
    if (quiet && run_.failure.detail.starts_with(limit)) {
      if (auto why = why_waiting())
        fail_waiting(std::move(*why), FindingKind::kTimeout, Verdict::kTimeout, limit + ": ");
    }
    return true;
  }
  if (live_.empty()) return false;
  if (run_.changes != seen_changes_) {
    seen_changes_ = run_.changes;
    quiet_since_ = run_.executed;
    quiet_passes_ = 0;
    return false;
  }
  ++quiet_passes_;
  if (quiet_passes_ >= kQuietPasses && run_.executed == quiet_since_) {
    std::string text = "the blocks of a cluster wait for each other for ever";
    if (auto why = why_waiting())
      fail_waiting(std::move(*why), FindingKind::kDeadlock, Verdict::kFault, text + "; one: ");
    else
      run_.failure = {Verdict::kFault, std::move(text)};
    return true;
  }
  // A seeded schedule's turns are too short to tell polling from computing: only the limit ends it.
  if (run_.options->schedule_seed != 0) return false;
  if (quiet_passes_ < kQuietPasses || run_.executed - quiet_since_ < kQuietInstructions)
    return false;
  auto why = why_waiting();
  if (!why) return false;
  fail_waiting(std::move(*why), FindingKind::kTimeout, Verdict::kTimeout, "");
  return true;
}

void Grid::fail_waiting(Finding why, FindingKind kind, Verdict verdict, const std::string& before) {
  why.kind = kind;
  why.verdict = verdict;
  why.what = before + why.what;
  run_.failure = {verdict, text_of(why)};
  run_.findings.end_with(std::move(why));
}

std::optional<Finding> Grid::why_waiting() const {
  std::optional<Finding> where;
  for (const auto& cluster : live_) {
    for (std::size_t i = 0; i < in_cluster_ && !where; ++i)
      if (!cluster->finished[i]) where = cluster->blocks[i]->waiting_for();
  }
  if (!where) return where;
  const std::uint64_t total = run_.counters.blocks_total;
  const std::size_t live = live_.size() * in_cluster_;
  if (next_ < order_.size() && live_.size() < slots_)
    where->what = fmt::format("waits while {} of {} blocks have begun: {}",
                              live + ended_ * in_cluster_, total, where->what);
  else if (next_ < order_.size())
    where->what = fmt::format(
        "waits for a block that is not resident: the {} of {} blocks that the device holds at once "
        "wait, and none can end; one {}",
        live, total, where->what);
  else if (order_.size() * in_cluster_ < total)
    where->what = fmt::format("waits for ever, perhaps for a block that the sample leaves out: {}",
                              where->what);
  else
    where->what =
        fmt::format("waits for ever: the {} blocks left all poll memory that nobody writes; one {}",
                    live, where->what);
  return where;
}

}  // namespace hone::emulator
