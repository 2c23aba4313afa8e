// Candidates for a GPU go through the cheap gates (compiling, the emulator's checks, the time
// model) on workers without one first, so that GPU nodes measure and do little else.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>

#include "engine/queue/queue.h"

namespace hone {

/// What is asked of it goes to `emulators` where they are there and have room, and what passes, to
/// `gpu`, without checks; everything else straight to `gpu`: other stages than the search's, and
/// what the emulators cannot judge. The final stage repeats every gate, so they are believed in the
/// search only.
class GatedQueue final : public SearchQueue {
 public:
  /// `capacity`: how many evaluations the emulators take at once now, 0 where there are none.
  GatedQueue(std::unique_ptr<SearchQueue> gpu, std::unique_ptr<SearchQueue> emulators,
             std::function<int()> capacity);

  bool submit(Work work) override;
  std::optional<Done> next_result(std::chrono::milliseconds timeout) override;
  void wake() override { gpu_->wake(); }
  void post(Done done) override { gpu_->post(std::move(done)); }
  void cancel() override;
  void resume() override;

  /// Candidates that the emulators have answered for.
  [[nodiscard]] std::int64_t judged() const { return judged_; }

 private:
  bool take_in(const Work& work, int capacity);
  std::optional<Work> take_out(std::uint64_t id);
  void forward(const std::stop_token& stopping);
  void take(Done done);
  [[nodiscard]] bool gpu_is_busy();
  void give_up_on_the_emulators();
  void submit_to_gpu(Work work);

  /// Failures in a row, after which the emulators are asked no more.
  static constexpr int kMostFailures = 3;
  /// What has passed and was not measured yet, so that the GPU does not idle.
  static constexpr std::size_t kBusyGpu = 4;
  const std::unique_ptr<SearchQueue> gpu_, emulators_;
  const std::function<int()> capacity_;
  std::atomic<std::int64_t> judged_ = 0;
  std::atomic<int> failures_ = 0;
  std::mutex mutex_;  ///< of what follows
  std::unordered_map<std::uint64_t, Work> at_the_gates_;
  std::unordered_map<std::uint64_t, Evaluation> passed_;  ///< what the gates said, by id
  std::jthread forwarder_;                                ///< last: it uses all of the above
};

}  // namespace hone
