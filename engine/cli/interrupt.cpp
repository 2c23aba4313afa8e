#include "engine/cli/interrupt.h"

#include <unistd.h>

#include <csignal>

namespace hone::cli {
namespace {

std::atomic<bool> interrupted{false};

extern "C" void on_signal(int number) {
  if (interrupted.exchange(true)) _exit(128 + number);
}

}  // namespace

const std::atomic<bool>& watch_interrupts() {
  struct sigaction action{};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  return interrupted;
}

}  // namespace hone::cli
