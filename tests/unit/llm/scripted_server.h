// A "language model's server" that does what a test tells it: raw sockets on the loopback, each
// connection in a thread of its own, so that it can also do what no HTTP library would.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace hone::testing {

struct HeardRequest {
  std::string head;  ///< the request line and the headers
  std::string body;
  [[nodiscard]] std::string header(std::string_view name) const;  ///< "" where it is missing
};

/// One accepted connection, as a script sees it. Calls are false (or nothing) when the client is
/// gone or the test ends; a script then returns.
class ServerPeer {
 public:
  ServerPeer(int fd, int number, const std::atomic<bool>& ending)
      : fd_(fd), number_(number), ending_(ending) {}

  [[nodiscard]] int number() const { return number_; }  ///< of the connection, from 1
  std::optional<HeardRequest> request();                ///< the next one, whole
  bool send(std::string_view bytes);
  bool sleep(std::chrono::milliseconds time);
  bool wait_until_closed();                     ///< by the client; what it sends is dropped
  void reset();                                 ///< ends the connection by RST
  [[nodiscard]] int fd() const { return fd_; }  ///< for what speaks TLS on it

 private:
  friend class ScriptedServer;
  int fd_, number_;
  const std::atomic<bool>& ending_;
};

class ScriptedServer {
 public:
  using Script = std::function<void(ServerPeer&)>;
  using Answer = std::function<std::string(const HeardRequest&, int number)>;

  /// The end of the script closes the connection.
  explicit ScriptedServer(Script script);
  /// Reads a request, sends these bytes, closes.
  [[nodiscard]] static Script answering(Answer answer);
  ~ScriptedServer();
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] std::string url() const;  ///< "http://127.0.0.1:PORT/v1"
  [[nodiscard]] int connections() const { return connections_; }

 private:
  void accept_all(const Script& script);

  int listener_ = -1, port_ = 0;
  std::atomic<bool> ending_ = false;
  std::atomic<int> connections_ = 0;
  std::vector<std::jthread> peers_;
  std::jthread thread_;
};

/// "HTTP/1.1 STATUS …" with Content-Length; `headers` are whole lines that end with \r\n.
[[nodiscard]] std::string http_reply(int status, std::string_view content_type,
                                     std::string_view body, std::string_view headers = "");
/// The protocol's reply as one object; usage is left out where `input` is negative.
[[nodiscard]] std::string plain_json(std::string_view text, int input = 11, int output = 7,
                                     std::string_view finish = "stop");
[[nodiscard]] std::string plain_reply(std::string_view text, int input = 11, int output = 7);

/// The head of a stream whose end is the connection's.
[[nodiscard]] std::string stream_head();
/// "data: {…}\n\n" with a piece of the text.
[[nodiscard]] std::string stream_piece(std::string_view text);
/// The last piece, the usage (left out where `input` is negative) and "[DONE]".
[[nodiscard]] std::string stream_end(int input = 11, int output = 7,
                                     std::string_view finish = "stop");
[[nodiscard]] std::string stream_reply(std::string_view text, int input = 11, int output = 7);

}  // namespace hone::testing
