#include "engine/queue/redis_client.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <new>
#include <random>
#include <thread>
#include <utility>

namespace hone {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr double kStopCheck_s = 0.05;

/// The waits between tries, each within a deadline.
class Backoff {
 public:
  Backoff(const RedisClientOptions& options, double deadline_s)
      : end_(Clock::now() + std::chrono::duration_cast<Clock::duration>(Seconds(deadline_s))),
        next_s_(options.first_backoff_s),
        most_s_(options.most_backoff_s),
        stop_(options.connection.stop) {}

  [[nodiscard]] double left_s() const { return Seconds(end_ - Clock::now()).count(); }

  /// Waits; false when there is no time left for another try, or on stop.
  bool wait() {
    thread_local std::minstd_rand random(std::random_device{}());
    double pause_s = next_s_ * std::uniform_real_distribution(0.5, 1.0)(random);
    next_s_ = std::min(next_s_ * 2, most_s_);
    pause_s = std::min(pause_s, left_s());
    while (pause_s > 0) {
      if (stop_ != nullptr && *stop_) return false;
      const double slice_s = std::min(pause_s, kStopCheck_s);
      std::this_thread::sleep_for(Seconds(slice_s));
      pause_s -= slice_s;
    }
    return left_s() > 0;
  }

 private:
  Clock::time_point end_;
  double next_s_, most_s_;
  const std::atomic<bool>* stop_;
};

/// Refused before anything was done, and not for long. BUSYGROUP and BUSYKEY are other codes.
bool says_later(const RedisReply& reply) {
  return reply.error_code() == "LOADING" || reply.error_code() == "BUSY";
}

}  // namespace

RedisScript::RedisScript(std::string text) : text_(std::move(text)) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  if (EVP_Digest(text_.data(), text_.size(), digest, &size, EVP_sha1(), nullptr) != 1)
    throw std::bad_alloc();
  for (unsigned int i = 0; i < size; ++i) sha1_ += fmt::format("{:02x}", digest[i]);
}

Result<std::unique_ptr<RedisClient>> RedisClient::open(RedisUrl url, RedisClientOptions options,
                                                       double patience_s) {
  std::unique_ptr<RedisClient> client(new RedisClient(std::move(url), std::move(options)));
  Backoff backoff(client->options_, patience_s);
  while (true) {
    bool may_pass = true;
    auto connection = client->connect(client->options_.connection.connect_timeout_s, may_pass);
    if (connection) {
      client->idle_.push_back(std::move(*connection));
      return client;
    }
    if (!may_pass || client->stopped() || !backoff.wait())
      return std::unexpected(connection.error());
  }
}

Result<RedisReply> RedisClient::call(std::span<const std::string_view> words,
                                     const RedisCall& how) {
  RedisRequest request;
  request.add(words);
  auto replies = run(request, how);
  if (!replies) return std::unexpected(replies.error());
  return std::move(replies->front());
}

Result<std::vector<RedisReply>> RedisClient::pipeline(
    const std::vector<std::vector<std::string>>& commands, const RedisCall& how) {
  RedisRequest request;
  for (const auto& words : commands) request.add(words);
  return run(request, how);
}

Result<RedisReply> RedisClient::script(const RedisScript& script,
                                       std::span<const std::string_view> keys,
                                       std::span<const std::string_view> arguments,
                                       const RedisCall& how) {
  const std::string key_count = std::to_string(keys.size());
  std::vector<std::string_view> words = {"EVALSHA", script.sha1(), key_count};
  words.insert(words.end(), keys.begin(), keys.end());
  words.insert(words.end(), arguments.begin(), arguments.end());
  auto reply = call(words, how);
  if (!reply || reply->error_code() != "NOSCRIPT") return reply;
  words[0] = "EVAL";
  words[1] = script.text();
  return call(words, how);
}

bool RedisClient::stopped() const {
  return options_.connection.stop != nullptr && *options_.connection.stop;
}

std::unique_ptr<RedisConnection> RedisClient::take_idle() {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) return nullptr;
  auto connection = std::move(idle_.back());
  idle_.pop_back();
  return connection;
}

Result<std::unique_ptr<RedisConnection>> RedisClient::connect(double left_s, bool& may_pass) {
  RedisConnectOptions options = options_.connection;
  options.connect_timeout_s = std::min(options.connect_timeout_s, std::max(left_s, 0.001));
  auto connection = RedisConnection::open(url_, options, &may_pass);
  if (connection) ++opened_;
  return connection;
}

/// One try. `again`, after an error: nothing forbids another.
Result<std::vector<RedisReply>> RedisClient::attempt(const RedisRequest& request,
                                                     const RedisCall& how, double left_s,
                                                     bool& again) {
  const double timeout_s =
      std::max(0.001, std::min(left_s, options_.connection.command_timeout_s + how.block_s));
  // Idle connections that the server has closed meanwhile cost nothing but this look.
  while (auto idle = take_idle()) {
    auto replies = idle->exchange(request, timeout_s);
    again = !idle->sent() || how.idempotent;
    if (!replies && !idle->sent()) continue;
    const std::lock_guard lock(mutex_);
    if (replies) {
      idle_.push_back(std::move(idle));
    } else {
      idle_.clear();  // after a cut they would fail one after the other, each at its timeout
    }
    return replies;
  }
  bool may_pass = true;
  auto fresh = connect(left_s, may_pass);
  again = may_pass;
  if (!fresh) return std::unexpected(fresh.error());
  auto replies = (*fresh)->exchange(request, timeout_s);
  again = !(*fresh)->sent() || how.idempotent;
  if (replies) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(*fresh));
  }
  return replies;
}

void RedisClient::note(const Error* error) {
  if (reachable_ == (error == nullptr)) return;
  const std::lock_guard lock(change_);
  if (reachable_ == (error == nullptr)) return;
  reachable_ = error == nullptr;
  RedisChange change{.reachable = reachable_};
  if (error != nullptr) {
    lost_at_ = Clock::now();
    change.why = error->message;
  } else {
    change.away_s = Seconds(Clock::now() - lost_at_).count();
  }
  if (options_.on_change) options_.on_change(change);
}

Result<std::vector<RedisReply>> RedisClient::run(const RedisRequest& request,
                                                 const RedisCall& how) {
  if (request.commands() == 0) return std::vector<RedisReply>();
  const double deadline_s =
      (how.deadline_s > 0 ? how.deadline_s : options_.deadline_s) + how.block_s;
  Backoff backoff(options_, deadline_s);
  while (true) {
    bool again = false;
    auto replies = attempt(request, how, backoff.left_s(), again);
    if (replies || !stopped()) note(replies ? nullptr : &replies.error());
    if (replies) {
      const bool repeat = how.idempotent ? std::ranges::any_of(*replies, says_later)
                                         : std::ranges::all_of(*replies, says_later);
      if (!repeat || !backoff.wait()) return replies;
      continue;
    }
    Error error = std::move(replies.error());
    if (stopped()) return fail(ErrorCode::kInfrastructure, std::move(error.message));
    if (!again) {
      if (error.code == ErrorCode::kInfrastructure)
        error.message += "; whether the command was carried out is not known";
      return std::unexpected(std::move(error));
    }
    if (backoff.wait()) continue;
    return fail(ErrorCode::kInfrastructure,
                stopped() ? std::move(error.message)
                          : fmt::format("gave up after {:.3g} s: {}", deadline_s, error.message));
  }
}

}  // namespace hone
