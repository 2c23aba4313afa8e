#include "engine/web/http_server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

namespace hone::web {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kHead = 64 << 10;  // of a request: its first line and headers [B]

thread_local bool refuse_all = false;  // in the thread for those who are too many

Clock::time_point in_seconds(double seconds) {
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

/// Whether it is ready by then.
bool wait_for(int socket, short events, Clock::time_point until) {
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left <= 0) return false;
    pollfd entry{socket, events, 0};
    const int ready = poll(&entry, 1, static_cast<int>(std::min<long long>(left, 1'000'000)));
    if (ready > 0) return (entry.revents & (events | POLLHUP | POLLERR)) != 0;
    if (ready < 0 && errno != EINTR) return false;
  }
}

/// A client's connection.
class Connection final : public httplib::Stream {
 public:
  Connection(int socket, const Limits& limits) : socket_(socket), limits_(limits) {}

  /// Waits for the first byte of a request; from then on its head must come in time, and all of it.
  bool begin_request(double patience_s) {
    const bool there = at_ < end_ || wait_for(socket_, POLLIN, in_seconds(patience_s));
    request_until_ = in_seconds(limits_.request_s);
    read_until_ = std::min(request_until_, in_seconds(limits_.head_s));
    left_ = limits_.payload + kHead;
    return there;
  }
  /// The head is here.
  void begin_body() { read_until_ = request_until_; }

  bool is_readable() const override { return at_ < end_ || ready(POLLIN); }
  bool is_writable() const override {
    pollfd entry{socket_, POLLOUT | POLLRDHUP, 0};
    return poll(&entry, 1, 0) > 0 && (entry.revents & (POLLHUP | POLLERR | POLLRDHUP)) == 0;
  }

  // The library reads lines byte by byte.
  ssize_t read(char* data, size_t size) override {
    if (at_ == end_) {
      if (!wait_for(socket_, POLLIN, read_until_)) return -1;
      const ssize_t got = recv(socket_, buffer_.data(), buffer_.size(), 0);
      if (got <= 0) return got;
      // The library bounds neither headers nor a body whose length was not said.
      left_ -= got;
      if (left_ < 0) return -1;
      at_ = 0;
      end_ = static_cast<std::size_t>(got);
    }
    const std::size_t count = std::min(size, end_ - at_);
    std::copy_n(buffer_.data() + at_, count, data);
    at_ += count;
    return static_cast<ssize_t>(count);
  }

  ssize_t write(const char* data, size_t size) override {
    const auto end = in_seconds(limits_.write_all_s);
    auto until = in_seconds(limits_.write_s);
    std::size_t done = 0;
    int pending = INT_MAX;  // what the client's side has not taken yet [B]
    while (done < size) {
      const ssize_t sent = send(socket_, data + done, size - done, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent > 0) {
        done += static_cast<std::size_t>(sent);
        until = in_seconds(limits_.write_s);
        pending = INT_MAX;
        continue;
      }
      if (sent < 0 && errno == EINTR) continue;
      if (sent == 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) return -1;
      // The system asks for more only once much of its buffer is gone, which may take a slow
      // client long: what counts is that the buffer empties.
      if (wait_for(socket_, POLLOUT, std::min({until, end, in_seconds(limits_.write_s / 10)})))
        continue;
      const auto now = Clock::now();
      if (int left = 0; ioctl(socket_, SIOCOUTQ, &left) == 0 && left < pending) {
        if (pending != INT_MAX) until = in_seconds(limits_.write_s);
        pending = left;
      }
      if (now >= until || now >= end) return -1;
    }
    return static_cast<ssize_t>(size);
  }

  void get_remote_ip_and_port(std::string& ip, int& port) const override {
    name(getpeername, ip, port);
  }
  void get_local_ip_and_port(std::string& ip, int& port) const override {
    name(getsockname, ip, port);
  }
  socket_t socket() const override { return socket_; }

 private:
  bool ready(short events) const {
    pollfd entry{socket_, events, 0};
    return poll(&entry, 1, 0) > 0;
  }
  template <class Ask>
  void name(Ask ask, std::string& ip, int& port) const {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    if (ask(socket_, reinterpret_cast<sockaddr*>(&address), &size) != 0) return;
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (address.ss_family == AF_INET6) {
      const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
      inet_ntop(AF_INET6, &v6.sin6_addr, text.data(), text.size());
      port = ntohs(v6.sin6_port);
    } else {
      const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
      inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size());
      port = ntohs(v4.sin_port);
    }
    ip = text.data();
  }

  const int socket_;
  const Limits& limits_;
  Clock::time_point read_until_, request_until_;
  std::int64_t left_ = 0;  ///< of what may still come of this request [B]
  std::array<char, 4096> buffer_{};
  std::size_t at_ = 0, end_ = 0;
};

/// Closes so that the client still gets what it was told, though we have not read all it sent.
void close_gently(int socket) {
  shutdown(socket, SHUT_WR);
  std::array<char, 4096> rest{};
  const auto until = in_seconds(0.5);
  for (int i = 0; i < 64 && wait_for(socket, POLLIN, until); ++i)
    if (recv(socket, rest.data(), rest.size(), MSG_DONTWAIT) <= 0) break;
  close(socket);
}

void refuse(int socket) {
  constexpr std::string_view kWords = "too many connections; try again later\n";
  const std::string text = fmt::format(
      "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 5\r\n"
      "Content-Type: text/plain\r\nContent-Length: {}\r\n\r\n{}",
      kWords.size(), kWords);
  (void)send(socket, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  shutdown(socket, SHUT_WR);
  std::array<char, 4096> rest{};
  (void)recv(socket, rest.data(), rest.size(), MSG_DONTWAIT);
  close(socket);
}

}  // namespace

/// As many threads as there are connections, and one for those who are too many.
class HttpServer::Threads final : public httplib::TaskQueue {
 public:
  explicit Threads(int most) : most_(most) {}

  void enqueue(std::function<void()> task) override {
    const std::lock_guard lock(mutex_);
    if (static_cast<int>(tasks_.size()) < idle_) {
      tasks_.push_back(std::move(task));
      wake_.notify_one();
    } else if (threads_ < most_ && start_one()) {
      tasks_.push_back(std::move(task));
    } else {
      refused_.push_back(std::move(task));
      if (!refuser_.joinable()) refuser_ = std::thread([this] { refuse_them(); });
      refuse_wake_.notify_one();
    }
  }

  void shutdown() override {
    std::unique_lock lock(mutex_);
    ending_ = true;
    wake_.notify_all();
    refuse_wake_.notify_all();
    ended_.wait(lock, [this] { return threads_ == 0; });
    lock.unlock();
    if (refuser_.joinable()) refuser_.join();
  }

 private:
  /// With the mutex held, which the new thread waits for. False where the machine has no thread.
  bool start_one() {
    try {
      std::thread([this] { work(); }).detach();
    } catch (const std::system_error&) {
      return false;
    }
    ++threads_;
    return true;
  }
  static constexpr int kKeptIdle = 32;

  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      if (tasks_.empty() && !ending_ && idle_ < kKeptIdle) {
        ++idle_;
        wake_.wait(lock, [this] { return !tasks_.empty() || ending_; });
        --idle_;
      }
      if (tasks_.empty()) break;
      const auto task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      lock.lock();
    }
    --threads_;
    ended_.notify_all();  // under the lock: `this` may be gone after it
  }

  void refuse_them() {
    refuse_all = true;
    std::unique_lock lock(mutex_);
    while (true) {
      refuse_wake_.wait(lock, [this] { return !refused_.empty() || ending_; });
      if (refused_.empty()) return;
      const auto task = std::move(refused_.front());
      refused_.pop_front();
      lock.unlock();
      task();
      lock.lock();
    }
  }

  const int most_;
  std::mutex mutex_;
  std::condition_variable wake_, refuse_wake_, ended_;
  std::deque<std::function<void()>> tasks_, refused_;
  std::thread refuser_;
  int threads_ = 0, idle_ = 0;
  bool ending_ = false;
};

HttpServer::HttpServer(const Limits& limits)
    : limits_(limits),
      half_open_({.soft = limits.half_open,
                  .hard = 2 * limits.half_open,
                  // The rest is for those whose request is here.
                  .all = limits.connections - limits.connections / 4}) {
  new_task_queue = [most = limits.connections] { return new Threads(most); };
  // The library's own options let two servers share a port.
  set_socket_options([](int socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  set_payload_max_length(static_cast<std::size_t>(limits.payload));
  set_keep_alive_max_count(static_cast<std::size_t>(limits.requests));
  set_keep_alive_timeout(limits.keep_alive_s);  // for its header
}

HttpServer::~HttpServer() = default;

void HttpServer::widen_backlog() const { (void)::listen(svr_sock_, 1024); }

int HttpServer::connections() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(sockets_.size());
}

void HttpServer::end() {
  ending_ = true;
  stop();
  const std::lock_guard lock(mutex_);
  for (const socket_t socket : sockets_) ::shutdown(socket, SHUT_RDWR);
}

bool HttpServer::begin_waiting(int socket, const std::string& address) {
  const std::lock_guard lock(mutex_);
  const auto entry = half_open_.begin(socket, address, Clock::now());
  // Its thread finds out, and closes it: the number stays its own until then.
  if (entry.cut) ::shutdown(*entry.cut, SHUT_RDWR);
  return !entry.refused;
}

void HttpServer::end_waiting(int socket) {
  const std::lock_guard lock(mutex_);
  half_open_.end(socket);
}

bool HttpServer::process_and_close_socket(socket_t socket) {
  if (refuse_all) {
    refuse(socket);
    return false;
  }
  const std::string address = counted_address(socket);
  {
    const std::lock_guard lock(mutex_);
    if (ending_) {
      close(socket);
      return false;
    }
    sockets_.insert(socket);
  }
  const int yes = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  Connection connection(socket, limits_);
  bool too_many = false;
  for (int left = limits_.requests; left > 0 && !ending_; --left) {
    too_many = !begin_waiting(socket, address);
    if (too_many || !connection.begin_request(limits_.keep_alive_s)) break;
    bool closed = false;
    bool once = true;  // until it was understood
    const bool written =
        process_request(connection, left == 1, closed, [&](httplib::Request& request) {
          end_waiting(socket);
          connection.begin_body();
          // A body that nobody reads must not be taken for the next request.
          once = (request.method != "GET" && request.method != "HEAD") ||
                 request.has_header("Content-Length") || request.has_header("Transfer-Encoding");
          if (once) {
            request.headers.erase("Connection");
            request.headers.emplace("Connection", "close");
          }
          request.ranges.clear();  // always the whole
        });
    if (!written || closed || once) break;
  }
  {
    const std::lock_guard lock(mutex_);
    sockets_.erase(socket);  // before its number can be another's
    half_open_.end(socket);
  }
  if (too_many) {
    refuse(socket);
  } else {
    close_gently(socket);
  }
  return true;
}

}  // namespace hone::web
