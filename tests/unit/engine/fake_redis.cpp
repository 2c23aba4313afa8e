#include "fake_redis.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>

namespace hone::testing {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// Polls in small steps, so that the end of the test is noticed.
bool wait_for(int fd, short events, const std::atomic<bool>& ending) {
  while (!ending) {
    pollfd item{fd, events, 0};
    if (poll(&item, 1, 10) > 0) return true;
  }
  return false;
}

}  // namespace

bool FakeRedisPeer::send(std::string_view bytes) const {
  while (!bytes.empty()) {
    if (!wait_for(fd_, POLLOUT, ending_)) return false;
    const ssize_t count = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno == EAGAIN) continue;
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

bool FakeRedisPeer::receive() const {
  char buffer[4096];
  return wait_for(fd_, POLLIN, ending_) && recv(fd_, buffer, sizeof(buffer), 0) > 0;
}

bool FakeRedisPeer::greet() const { return receive() && send("+OK\r\n") && receive(); }

bool FakeRedisPeer::sleep(milliseconds time) const {
  const auto end = Clock::now() + time;
  while (!ending_ && Clock::now() < end)
    std::this_thread::sleep_for(std::min(time, milliseconds(5)));
  return !ending_;
}

FakeRedis::FakeRedis(std::function<void(const FakeRedisPeer&)> script) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  if (bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      listen(listener_, 16) != 0 ||
      getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    throw std::runtime_error("no socket for a fake server");
  port_ = ntohs(address.sin_port);
  thread_ = std::jthread([this, script = std::move(script)] {
    while (wait_for(listener_, POLLIN, ending_)) {
      const int fd = accept(listener_, nullptr, nullptr);
      if (fd < 0) continue;
      ++connections_;
      script(FakeRedisPeer(fd, ending_));
      close(fd);
    }
  });
}

FakeRedis::~FakeRedis() {
  ending_ = true;
  thread_.join();
  close(listener_);
}

RedisUrl FakeRedis::url() const {
  return *RedisUrl::parse(fmt::format("redis://127.0.0.1:{}", port_), nullptr);
}

}  // namespace hone::testing
