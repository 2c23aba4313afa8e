// For the threads of daemons.
#pragma once

#include <chrono>
#include <exception>
#include <stop_token>
#include <string>
#include <thread>

#include "engine/queue/log_event.h"

namespace hone::queue {

/// Runs `body` until it returns. What it throws (no memory left, say) does not end the process: it
/// is logged, and a second later the body runs again.
template <class Body>
void endure(const std::stop_token& stopping, const Log& log, const Body& body) {
  while (!stopping.stop_requested()) {
    try {
      body();
      return;
    } catch (const std::exception& e) {
      log({.level = LogLevel::kError, .event = "thread_failed", .message = e.what()});
      for (int i = 0; i < 20 && !stopping.stop_requested(); ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }
}

}  // namespace hone::queue
