#include "rewriters/llm/client/breaker.h"

#include <algorithm>
#include <utility>

namespace hone::llm {

Breaker::Breaker(Clock& clock, int failures, Milliseconds first_pause, Milliseconds longest)
    : clock_(clock), threshold_(failures), first_pause_(first_pause), longest_(longest) {}

Breaker::Admission Breaker::enter() {
  std::lock_guard lock(mutex_);
  if (!open_) return {.admitted = true};
  const Milliseconds left = time_left();
  if (left > Milliseconds(0) || probing_) return {.again = left, .last_error = last_error_};
  probing_ = true;
  return {.admitted = true, .probe = true};
}

Milliseconds Breaker::down_for() const {
  std::lock_guard lock(mutex_);
  return open_ ? time_left() : Milliseconds(0);
}

Milliseconds Breaker::time_left() const {
  return std::max(std::chrono::ceil<Milliseconds>(until_ - clock_.now()), Milliseconds(0));
}

void Breaker::succeeded() {
  std::lock_guard lock(mutex_);
  failures_ = 0;
  open_ = probing_ = false;
  pause_ = Milliseconds(0);
}

void Breaker::failed(bool probe, std::string error, std::optional<Milliseconds> pause) {
  std::lock_guard lock(mutex_);
  ++failures_;
  last_error_ = std::move(error);
  // Callers that were on their way when it opened say nothing new.
  if (open_ && !probe && !pause) return;
  if (pause) {
    open_for(*pause);
  } else if (probe) {
    open_for(pause_ * 2);
  } else if (failures_ >= threshold_) {
    open_for(first_pause_);
  }
}

void Breaker::abandoned(bool probe) {
  std::lock_guard lock(mutex_);
  if (probe) probing_ = false;
}

void Breaker::open_for(Milliseconds pause) {
  open_ = true;
  probing_ = false;
  pause_ = std::clamp(pause, first_pause_, longest_);
  until_ = clock_.now() + pause_;
}

}  // namespace hone::llm
