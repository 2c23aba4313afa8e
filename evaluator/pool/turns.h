// One at a time: of those that wait, the one of the lowest rank gets the next turn, of equal ranks
// the one that came first. Who was overtaken often goes before all ranks, so that nobody waits for
// ever. Those of a group above a rank can be sent away.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <list>
#include <mutex>
#include <string>

namespace hone {

class Turns {
 public:
  /// Waits. false: sent away meanwhile, and there is no turn to give back.
  [[nodiscard]] bool take(double rank = 0, const std::string& group = "") {
    std::unique_lock hold(mutex_);
    if (!held_) {
      held_ = true;
      return true;
    }
    Waiter self(rank, group);
    waiting_.push_back(&self);
    self.called.wait(hold, [&] { return self.served || self.sent_away; });
    return self.served;
  }

  void give_back() {
    const std::lock_guard hold(mutex_);
    if (waiting_.empty()) {
      held_ = false;
      return;
    }
    auto next = waiting_.begin();
    if ((*next)->overtaken < kMostOvertaken) {
      next = std::ranges::min_element(waiting_, {}, [](const Waiter* w) { return w->rank; });
      for (auto before = waiting_.begin(); before != next; ++before) ++(*before)->overtaken;
    }
    (*next)->served = true;
    (*next)->called.notify_one();
    waiting_.erase(next);
  }

  void send_away(const std::string& group, double above) {
    const std::lock_guard hold(mutex_);
    std::erase_if(waiting_, [&](Waiter* waiter) {
      if (waiter->group != group || waiter->rank <= above) return false;
      waiter->sent_away = true;
      waiter->called.notify_one();
      return true;
    });
  }

  [[nodiscard]] std::size_t waiting() {
    const std::lock_guard hold(mutex_);
    return waiting_.size();
  }

 private:
  static constexpr int kMostOvertaken = 64;

  struct Waiter {
    double rank = 0;
    std::string group;
    int overtaken = 0;
    std::condition_variable called;
    bool served = false, sent_away = false;

    Waiter(double r, std::string g) : rank(r), group(std::move(g)) {}
  };
  std::mutex mutex_;            ///< of what follows
  std::list<Waiter*> waiting_;  ///< as they came
  bool held_ = false;
};

}  // namespace hone
