#include "scripted_server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
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

std::string HeardRequest::header(std::string_view name) const {
  std::size_t at = head.find("\r\n");
  while (at != head.npos) {
    at += 2;
    const std::size_t end = head.find("\r\n", at);
    const std::string line = head.substr(at, end == head.npos ? end : end - at);
    if (line.size() > name.size() && line[name.size()] == ':' &&
        strncasecmp(line.c_str(), name.data(), name.size()) == 0)
      return line.substr(std::min(line.find_first_not_of(' ', name.size() + 1), line.size()));
    at = end;
  }
  return "";
}

std::optional<HeardRequest> ServerPeer::request() {
  std::string bytes;
  HeardRequest heard;
  while (true) {
    const std::size_t end = bytes.find("\r\n\r\n");
    if (end != bytes.npos) {
      heard.head = bytes.substr(0, end);
      const std::string length = heard.header("Content-Length");
      const std::size_t size = length.empty() ? 0 : std::stoul(length);
      if (bytes.size() >= end + 4 + size) {
        heard.body = bytes.substr(end + 4, size);
        return heard;
      }
    }
    char buffer[65536];
    if (!wait_for(fd_, POLLIN, ending_)) return std::nullopt;
    const ssize_t count = recv(fd_, buffer, sizeof(buffer), 0);
    if (count <= 0) return std::nullopt;
    bytes.append(buffer, static_cast<std::size_t>(count));
  }
}

bool ServerPeer::send(std::string_view bytes) {
  while (!bytes.empty()) {
    if (!wait_for(fd_, POLLOUT, ending_)) return false;
    const ssize_t count = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno == EAGAIN) continue;
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

bool ServerPeer::sleep(milliseconds time) {
  const auto end = Clock::now() + time;
  while (!ending_ && Clock::now() < end)
    std::this_thread::sleep_for(std::min(time, milliseconds(5)));
  return !ending_;
}

bool ServerPeer::wait_until_closed() {
  char buffer[4096];
  while (wait_for(fd_, POLLIN, ending_))
    if (recv(fd_, buffer, sizeof(buffer), 0) <= 0) return true;
  return false;
}

void ServerPeer::reset() {
  const linger now{1, 0};
  setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  close(fd_);
  fd_ = -1;
}

ScriptedServer::ScriptedServer(Script script) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  if (bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      listen(listener_, 64) != 0 ||
      getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    throw std::runtime_error("no socket for a scripted server");
  port_ = ntohs(address.sin_port);
  thread_ = std::jthread([this, script = std::move(script)] { accept_all(script); });
}

void ScriptedServer::accept_all(const Script& script) {
  while (wait_for(listener_, POLLIN, ending_)) {
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    peers_.emplace_back([this, &script, fd, number = ++connections_] {
      ServerPeer peer(fd, number, ending_);
      script(peer);
      if (peer.fd_ < 0) return;
      // A close with bytes unread would be a reset, which may overtake what was sent.
      shutdown(peer.fd_, SHUT_WR);
      char buffer[4096];
      const auto end = Clock::now() + milliseconds(200);
      while (!ending_ && Clock::now() < end) {
        pollfd item{peer.fd_, POLLIN, 0};
        if (poll(&item, 1, 10) > 0 && recv(peer.fd_, buffer, sizeof(buffer), 0) <= 0) break;
      }
      close(peer.fd_);
    });
  }
  peers_.clear();  // the script lives on this thread's stack
}

ScriptedServer::Script ScriptedServer::answering(Answer answer) {
  return [answer = std::move(answer)](ServerPeer& peer) {
    if (const auto heard = peer.request()) peer.send(answer(*heard, peer.number()));
  };
}

ScriptedServer::~ScriptedServer() {
  ending_ = true;
  thread_.join();
  close(listener_);
}

std::string ScriptedServer::url() const { return fmt::format("http://127.0.0.1:{}/v1", port_); }

std::string http_reply(int status, std::string_view content_type, std::string_view body,
                       std::string_view headers) {
  return fmt::format(
      "HTTP/1.1 {} X\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n{}\r\n{}",
      status, content_type, body.size(), headers, body);
}

std::string plain_json(std::string_view text, int input, int output, std::string_view finish) {
  nlohmann::json json = {{"model", "scripted-1"},
                         {"choices",
                          {{{"index", 0},
                            {"message", {{"role", "assistant"}, {"content", text}}},
                            {"finish_reason", finish}}}}};
  if (input >= 0) json["usage"] = {{"prompt_tokens", input}, {"completion_tokens", output}};
  return json.dump();
}

std::string plain_reply(std::string_view text, int input, int output) {
  return http_reply(200, "application/json", plain_json(text, input, output));
}

std::string stream_head() {
  return "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
         "Connection: close\r\n\r\n";
}

std::string stream_piece(std::string_view text) {
  const nlohmann::json json = {{"model", "scripted-1"},
                               {"choices", {{{"index", 0}, {"delta", {{"content", text}}}}}}};
  return "data: " + json.dump() + "\n\n";
}

std::string stream_end(int input, int output, std::string_view finish) {
  nlohmann::json last = {
      {"choices",
       {{{"index", 0}, {"delta", nlohmann::json::object()}, {"finish_reason", finish}}}}};
  std::string out = "data: " + last.dump() + "\n\n";
  if (input >= 0) {
    const nlohmann::json usage = {
        {"choices", nlohmann::json::array()},
        {"usage", {{"prompt_tokens", input}, {"completion_tokens", output}}}};
    out += "data: " + usage.dump() + "\n\n";
  }
  return out + "data: [DONE]\n\n";
}

std::string stream_reply(std::string_view text, int input, int output) {
  std::string out = stream_head();
  for (std::size_t at = 0; at < text.size(); at += 5) out += stream_piece(text.substr(at, 5));
  return out + stream_end(input, output);
}

}  // namespace hone::testing
