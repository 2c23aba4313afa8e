// The library's server with what it lacks: a thread per connection up to a limit beyond which a
// client is told so at once, a bound for those of one address that wait, a deadline for every
// request's head, every request and every write, and an end that waits for nobody. Knows nothing of
// what is served.
#pragma once

// Debian's library is made with OpenSSL: see engine/CMakeLists.txt.
#include <httplib.h>

#include <atomic>
#include <mutex>
#include <set>
#include <string>

#include "engine/web/half_open.h"
#include "engine/web/limits.h"

namespace hone::web {

class HttpServer : public httplib::Server {
 public:
  explicit HttpServer(const Limits& limits);
  ~HttpServer() override;
  /// After binding: the library's backlog is 5.
  void widen_backlog() const;
  /// Ends the connections too.
  void end();
  [[nodiscard]] bool ending() const { return ending_; }
  [[nodiscard]] int connections() const;

 private:
  class Threads;
  bool process_and_close_socket(socket_t socket) override;
  /// For a request's head; false: its address has too many that do.
  [[nodiscard]] bool begin_waiting(int socket, const std::string& address);
  void end_waiting(int socket);

  const Limits limits_;
  std::atomic<bool> ending_ = false;
  mutable std::mutex mutex_;
  std::set<socket_t> sockets_;
  HalfOpen half_open_;  ///< of sockets_
};

}  // namespace hone::web
