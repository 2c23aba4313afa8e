#include "engine/queue/redis_connection.h"

#include <fmt/format.h>
#include <hiredis/hiredis.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <optional>
#include <utility>

namespace hone {
namespace {

using Clock = std::chrono::steady_clock;

Clock::time_point after(double seconds) {
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

std::unexpected<Error> lost(std::string_view where, std::string_view why) {
  return fail(ErrorCode::kInfrastructure, fmt::format("Redis at {}: {}", where, why));
}

/// Refusals that end by themselves.
bool passes(const RedisReply& refusal) {
  return refusal.error_code() == "LOADING" || refusal.error_code() == "BUSY" ||
         refusal.error_text().contains("max number of clients");
}

}  // namespace

void RedisRequest::add(std::span<const std::string_view> words) {
  std::vector<const char*> data;
  std::vector<std::size_t> sizes;
  for (const auto& word : words) {
    data.push_back(word.empty() ? "" : word.data());
    sizes.push_back(word.size());
  }
  char* text = nullptr;
  const int size =
      redisFormatCommandArgv(&text, static_cast<int>(data.size()), data.data(), sizes.data());
  if (size < 0) throw std::bad_alloc();
  bytes_.append(text, static_cast<std::size_t>(size));
  redisFreeCommand(text);
  ++commands_;
}

void RedisRequest::add(const std::vector<std::string>& words) {
  add(std::vector<std::string_view>(words.begin(), words.end()));
}

RedisConnection::RedisConnection(const RedisUrl& url, const RedisConnectOptions& options)
    : where_(url.display()),
      options_(options),
      parser_(options.limits),
      buffer_(RedisParser::kChunk) {}

Result<std::unique_ptr<RedisConnection>> RedisConnection::open(const RedisUrl& url,
                                                               const RedisConnectOptions& options,
                                                               bool* may_pass) {
  bool unused = true;
  bool& passing = may_pass != nullptr ? *may_pass : unused;
  const auto deadline = after(options.connect_timeout_s);
  std::unique_ptr<RedisConnection> connection(new RedisConnection(url, options));
  auto socket = RedisSocket::open(url, {deadline, options.stop}, passing);
  if (!socket) return std::unexpected(socket.error());
  connection->socket_ = std::move(*socket);
  const double left_s = std::chrono::duration<double>(deadline - Clock::now()).count();
  // At least a moment: time that is up is then noticed where all other waits notice it.
  if (auto ok = connection->greet(url, std::max(left_s, 0.001), passing); !ok)
    return std::unexpected(ok.error());
  return connection;
}

Result<void> RedisConnection::greet(const RedisUrl& url, double timeout_s, bool& may_pass) {
  RedisRequest request;
  const bool auth = !url.user.empty() || !url.password.empty();
  if (auth && url.user.empty()) request.add({"AUTH", url.password});
  if (auth && !url.user.empty()) request.add({"AUTH", url.user, url.password});
  if (url.db != 0) request.add({"SELECT", std::to_string(url.db)});
  request.add({"CLIENT", "SETNAME", options_.client_name});

  may_pass = true;
  const auto replies = exchange(request, timeout_s);
  if (!replies) {
    if (options_.stop != nullptr && *options_.stop) return std::unexpected(replies.error());
    return fail(
        ErrorCode::kEnvironment,
        fmt::format("{}; is this a Redis server, and does it expect {}?", replies.error().message,
                    url.transport == RedisUrl::Transport::kTls ? "a certificate (cert and key)"
                                                               : "TLS on this port (rediss://)"));
  }
  std::size_t next = 0;
  const auto refused = [&](std::string_view what, const RedisReply& reply, std::string_view hint) {
    may_pass = passes(reply);
    socket_.reset();
    const Error error = reply.as_error(fmt::format("Redis at {}: {}", where_, what));
    const bool hinted = error.code == ErrorCode::kEnvironment;
    return fail(ErrorCode::kEnvironment, hinted || hint.empty()
                                             ? error.message
                                             : fmt::format("{}; {}", error.message, hint));
  };
  if (auth) {
    const RedisReply& reply = (*replies)[next++];
    if (!reply.is_ok())
      return refused("AUTH failed", reply,
                     passes(reply) ? ""
                                   : "check the user and password in the URL, or "
                                     "HONE_REDIS_PASSWORD");
  }
  if (url.db != 0) {
    const RedisReply& reply = (*replies)[next++];
    if (!reply.is_ok())
      return refused(fmt::format("database {} cannot be used", url.db), reply,
                     passes(reply) ? "" : "give another /db");
  }
  // A user who may not name himself may well do the rest; one who is not let in at all may not.
  const RedisReply& named = (*replies)[next];
  if (named.error_code() == "NOAUTH" || named.error_code() == "DENIED" || passes(named))
    return refused("not let in", named, "");
  return {};
}

/// A kernel goes on sending what was written, for minutes after close() if it must: the server
/// would carry out, after a cut of the network, what was given up long ago. Not so if it has to
/// linger for no time.
void RedisConnection::abandon() {
  const linger now{.l_onoff = 1, .l_linger = 0};
  setsockopt(socket_->fd(), SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  socket_.reset();
}

Result<RedisReply> RedisConnection::command(std::span<const std::string_view> words,
                                            double timeout_s) {
  RedisRequest request;
  request.add(words);
  auto replies = exchange(request, timeout_s);
  if (!replies) return std::unexpected(replies.error());
  return std::move(replies->front());
}

Result<std::vector<RedisReply>> RedisConnection::pipeline(
    const std::vector<std::vector<std::string>>& commands, double timeout_s) {
  RedisRequest request;
  for (const auto& words : commands) request.add(words);
  return exchange(request, timeout_s);
}

Result<std::vector<RedisReply>> RedisConnection::exchange(const RedisRequest& request,
                                                          double timeout_s) {
  sent_ = false;
  if (!alive()) return lost(where_, "this connection was lost before");
  std::vector<RedisReply> replies;
  const auto done =
      transfer(request, timeout_s > 0 ? timeout_s : options_.command_timeout_s, replies);
  if (done) return replies;
  abandon();
  // A server that hangs up may have said why.
  std::string why = done.error().message;
  if (!replies.empty() && replies.back().is_error())
    why += fmt::format(", after {}", replies.back().describe());
  return lost(where_, why);
}

/// What comes before a command is sent cannot be its reply. It also shows a connection that the
/// server has closed meanwhile, while nothing is sent yet.
Result<void> RedisConnection::check_silence() {
  const auto progress = socket_->read(buffer_);
  if (!progress) return std::unexpected(progress.error());
  if (progress->bytes == 0) return {};
  std::string what = "the server sent what nobody asked for";
  if (auto ok = parser_.feed({buffer_.data(), progress->bytes}); !ok) return ok;
  if (const auto reply = parser_.next(); reply && *reply)
    what += fmt::format(": {}", (*reply)->describe());
  return fail(ErrorCode::kInfrastructure, std::move(what));
}

/// Reads once. The result is what poll() should wait for; `moved`, whether anything came.
Result<short> RedisConnection::read_replies(std::vector<RedisReply>& replies, std::size_t expected,
                                            bool& moved) {
  const auto progress = socket_->read(buffer_);
  if (!progress) return std::unexpected(progress.error());
  if (progress->bytes == 0) return progress->events;
  moved = true;
  if (auto ok = parser_.feed({buffer_.data(), progress->bytes}); !ok)
    return std::unexpected(ok.error());
  while (replies.size() < expected) {
    auto reply = parser_.next();
    if (!reply) return std::unexpected(reply.error());
    if (!*reply) break;
    replies.push_back(std::move(**reply));
  }
  if (replies.size() == expected && !parser_.idle())
    return fail(ErrorCode::kInfrastructure, "the server sent more replies than were asked for");
  return progress->events;
}

Result<void> RedisConnection::transfer(const RedisRequest& request, double timeout_s,
                                       std::vector<RedisReply>& replies) {
  if (request.commands() == 0) return {};
  const RedisWait wait{after(timeout_s), options_.stop};
  if (wait.stopped()) return wait.check("sending");
  parser_.start();
  if (auto ok = check_silence(); !ok) return ok;
  sent_ = true;
  std::span<const char> left(request.bytes());
  // Reading goes on while we write: neither side waits for the other's full buffer.
  while (true) {
    bool moved = false;
    short events = 0;
    std::optional<Error> write_error;
    if (!left.empty()) {
      const auto progress = socket_->write(left);
      if (!progress) {
        write_error = progress.error();
      } else {
        moved = progress->bytes > 0;
        left = left.subspan(progress->bytes);
        events |= left.empty() ? short{0} : progress->events;
      }
    }
    const auto reading = read_replies(replies, request.commands(), moved);
    if (!reading) return std::unexpected(reading.error());
    if (write_error) return std::unexpected(*write_error);
    if (replies.size() == request.commands()) {
      if (left.empty()) return {};
      return fail(ErrorCode::kInfrastructure, "the server answered what was not sent yet");
    }
    if (auto ok = wait.check("waiting for a reply"); !ok) return ok;
    if (moved) continue;
    pollfd item{socket_->fd(), static_cast<short>(events | *reading), 0};
    poll(&item, 1, wait.poll_ms());
  }
}

}  // namespace hone
