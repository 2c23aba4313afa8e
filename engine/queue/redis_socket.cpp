#include "engine/queue/redis_socket.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "engine/queue/redis_tls.h"

namespace hone {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

class PlainSocket final : public RedisSocket {
 public:
  explicit PlainSocket(int fd) : fd_(fd) {}
  ~PlainSocket() override { close(fd_); }

  Result<RedisProgress> read(std::span<char> into) override {
    const ssize_t count = recv(fd_, into.data(), into.size(), 0);
    if (count == 0) return fail(ErrorCode::kInfrastructure, "the server closed the connection");
    return progress(count, POLLIN);
  }
  Result<RedisProgress> write(std::span<const char> bytes) override {
    return progress(send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL), POLLOUT);
  }
  [[nodiscard]] int fd() const override { return fd_; }

 private:
  static Result<RedisProgress> progress(ssize_t count, short events) {
    if (count > 0) return RedisProgress{static_cast<std::size_t>(count), events};
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return RedisProgress{0, events};
    return fail(ErrorCode::kInfrastructure,
                fmt::format("the connection was lost ({})", std::strerror(errno)));
  }
  int fd_;
};

/// Addresses of a host, as getaddrinfo lists them.
struct Addresses {
  addrinfo* list = nullptr;
  int error = 0;

  Addresses() = default;
  Addresses(Addresses&& other) noexcept
      : list(std::exchange(other.list, nullptr)), error(other.error) {}
  Addresses& operator=(Addresses&&) = delete;
  ~Addresses() {
    if (list != nullptr) freeaddrinfo(list);
  }
};

Addresses resolve_now(const std::string& host, const std::string& port, int flags) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  Addresses addresses;
  addresses.error = getaddrinfo(host.c_str(), port.c_str(), &hints, &addresses.list);
  return addresses;
}

/// getaddrinfo cannot be interrupted: a thread does it, which is left to itself when time is up.
Result<Addresses> resolve(const std::string& host, int port, const RedisWait& wait) {
  const std::string service = std::to_string(port);
  if (auto numeric = resolve_now(host, service, AI_NUMERICHOST); numeric.error == 0) return numeric;
  struct Answer {
    std::mutex mutex;
    std::condition_variable ready;
    std::optional<Addresses> addresses;
  };
  const auto answer = std::make_shared<Answer>();
  std::thread([answer, host, service] {
    Addresses found = resolve_now(host, service, 0);
    const std::lock_guard lock(answer->mutex);
    answer->addresses.emplace(std::move(found));
    answer->ready.notify_one();
  }).detach();
  std::unique_lock lock(answer->mutex);
  while (!answer->addresses) {
    if (auto ok = wait.check("looking up the host"); !ok) return std::unexpected(ok.error());
    answer->ready.wait_for(lock, milliseconds(wait.poll_ms()));
  }
  return std::move(*answer->addresses);
}

/// A connected non-blocking socket, or the errno of why not. Closes what it opened.
Result<int> connect_to(const sockaddr* address, socklen_t size, const RedisWait& wait, int& error) {
  error = 0;
  const int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    error = errno;
    return -1;
  }
  if (connect(fd, address, size) != 0) error = errno;
  if (error == EINPROGRESS || error == EINTR) {
    pollfd item{fd, POLLOUT, 0};
    while (poll(&item, 1, wait.poll_ms()) <= 0) {
      if (auto ok = wait.check("connecting"); !ok) {
        close(fd);
        return std::unexpected(ok.error());
      }
    }
    socklen_t length = sizeof(error);
    getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
  }
  if (error == 0) return fd;
  close(fd);
  return -1;
}

void tune_tcp(int fd) {
  const auto set = [fd](int level, int name, int value) {
    setsockopt(fd, level, name, &value, sizeof(value));
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 30);  // [s] of silence; then every 10 s, lost after three
  set(IPPROTO_TCP, TCP_KEEPINTVL, 10);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
}

std::unexpected<Error> no_connection(const RedisUrl& url, std::string_view why,
                                     std::string_view advice) {
  return fail(ErrorCode::kEnvironment,
              fmt::format("cannot connect to Redis at {}: {}; {}", url.display(), why, advice));
}

/// A stop stays what it is; time that is up is a server that cannot be reached.
std::unexpected<Error> gave_up(const RedisUrl& url, const RedisWait& wait, const Error& error) {
  if (wait.stopped()) return std::unexpected(error);
  return no_connection(url, error.message,
                       "is this its address, and does a firewall let us through?");
}

Result<int> connect_unix(const RedisUrl& url, const RedisWait& wait, bool& may_pass) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  url.path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  while (true) {
    int error = 0;
    auto fd = connect_to(reinterpret_cast<const sockaddr*>(&address), sizeof(address), wait, error);
    if (!fd) return gave_up(url, wait, fd.error());
    if (*fd >= 0) return fd;
    if (error == EAGAIN) {  // the server's backlog is full
      if (auto ok = wait.check("connecting"); !ok) return gave_up(url, wait, ok.error());
      poll(nullptr, 0, std::min(10, wait.poll_ms()));
      continue;
    }
    may_pass = error == ENOENT || error == ECONNREFUSED;
    return no_connection(url, std::strerror(error),
                         error == EACCES ? "give this user the right to the socket"
                                         : "start redis-server with this unixsocket");
  }
}

Result<int> connect_tcp(const RedisUrl& url, const RedisWait& wait, bool& may_pass) {
  const auto addresses = resolve(url.host, url.port, wait);
  if (!addresses) return gave_up(url, wait, addresses.error());
  if (addresses->error != 0) {
    return no_connection(url, fmt::format("no such host ({})", gai_strerror(addresses->error)),
                         "correct the URL");
  }
  int left = 0;
  for (const auto* a = addresses->list; a != nullptr; a = a->ai_next) ++left;
  std::string why = "it has no address";
  int last_error = 0;
  for (const auto* a = addresses->list; a != nullptr; a = a->ai_next, --left) {
    // A silent address leaves the others their share of the time.
    RedisWait part = wait;
    part.deadline = Clock::now() + (wait.deadline - Clock::now()) / left;
    auto fd = connect_to(a->ai_addr, a->ai_addrlen, part, last_error);
    if (fd && *fd >= 0) {
      tune_tcp(*fd);
      return fd;
    }
    if (!fd && (left == 1 || wait.stopped())) return gave_up(url, wait, fd.error());
    why = fd ? std::strerror(last_error) : fd.error().message;
  }
  may_pass = true;
  return no_connection(url, why,
                       last_error == ECONNREFUSED
                           ? "is redis-server running there, and on that port?"
                           : "is this its address, and does a firewall let us through?");
}

}  // namespace

int RedisWait::poll_ms() const {
  const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, stop != nullptr ? 50 : 60'000));
}

Result<void> RedisWait::check(std::string_view doing) const {
  if (stopped()) return fail(ErrorCode::kInfrastructure, fmt::format("stopped while {}", doing));
  if (Clock::now() < deadline) return {};
  return fail(ErrorCode::kInfrastructure, fmt::format("time ran out while {}", doing));
}

Result<std::unique_ptr<RedisSocket>> RedisSocket::open(const RedisUrl& url, const RedisWait& wait,
                                                       bool& may_pass) {
  may_pass = true;
  const auto fd = url.transport == RedisUrl::Transport::kUnix ? connect_unix(url, wait, may_pass)
                                                              : connect_tcp(url, wait, may_pass);
  if (!fd) return std::unexpected(fd.error());
  if (url.transport == RedisUrl::Transport::kTls) return open_redis_tls(*fd, url, wait, may_pass);
  return std::make_unique<PlainSocket>(*fd);
}

}  // namespace hone
