// Asks a language model through any OpenAI-compatible endpoint: budgets before, retries during,
// limits on all that comes back, a record after. Strings in, strings out.
//
//   ask ─► replay? ─► a turn ─► breaker ─► ┌ meter.reserve ─► attempt ─► settle ┐ ─► breaker,
//   record
//                                          └────── wait, where worth it ◄───────┘
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>

#include "rewriters/llm/client/attempt.h"
#include "rewriters/llm/client/backoff.h"
#include "rewriters/llm/client/breaker.h"
#include "rewriters/llm/client/endpoint.h"
#include "rewriters/llm/client/key.h"
#include "rewriters/llm/client/message.h"
#include "rewriters/llm/client/meter.h"
#include "rewriters/llm/client/record.h"
#include "rewriters/llm/client/turns.h"
#include "rewriters/llm/client/wire.h"

namespace hone::llm {

struct ClientOptions {
  Clock* clock = nullptr;        ///< must outlive the client; null: the machine's
  Recorder* recorder = nullptr;  ///< likewise; null: nothing is recorded
  std::uint64_t seed = 1;        ///< of the waits' jitter
  int failures_until_down = 3;   ///< exchanges in a row
  Milliseconds first_pause = std::chrono::seconds(30);
  Milliseconds longest_pause = std::chrono::minutes(10);
};

/// One job's, or one of several beside each other. Thread-safe. Requests in flight must have ended
/// before it goes.
class Client {
 public:
  /// `meter` must outlive it. Errors: kInvalidInput, see Endpoint::make().
  [[nodiscard]] static Result<std::unique_ptr<Client>> make(Settings settings, Key key,
                                                            Meter& meter,
                                                            ClientOptions options = {});
  /// Answers from a record: no network, no key, no URL; the same charges. `replay` must outlive it.
  [[nodiscard]] static std::unique_ptr<Client> make_replaying(Settings settings, Meter& meter,
                                                              Replay& replay);

  /// The same endpoint with budgets of their own, of another job: the record or replay, the limit
  /// of requests in flight and the breaker are this client's. `meter` must outlive it; this client
  /// may go before.
  [[nodiscard]] std::unique_ptr<Client> beside(Meter& meter) const;

  /// Blocks until the reply, a failure, or about a hundred milliseconds after `stopping`.
  [[nodiscard]] Exchange ask(const Request& request, const std::stop_token& stopping = {});
  /// ask(), where only the reply matters.
  [[nodiscard]] Result<Reply> complete(const Request& request,
                                       const std::stop_token& stopping = {});

  [[nodiscard]] const Endpoint& endpoint() const { return endpoint_; }
  /// How long the endpoint counts as down; zero: it may be asked.
  [[nodiscard]] Milliseconds down_for() const { return breaker_.down_for(); }

 private:
  struct Line;  // what clients beside each other share
  Client(std::shared_ptr<Line> line, Meter& meter);

  struct Course;  // of one request
  [[nodiscard]] std::optional<Failure> objection(const Request& request) const;
  [[nodiscard]] WorstCase worst_case(const Request& request) const;
  Exchange replayed(const Request& request, const std::string& canonical);
  Exchange asked(const Request& request, const std::stop_token& stopping);
  std::expected<Reply, Failure> run(Course& course);
  std::expected<Attempt, Failure> try_once(Course& course);
  bool wait_for_next(Course& course, Attempt& failed, int failures);
  void tell_breaker(const Course& course);
  [[nodiscard]] Milliseconds time_left(const Course& course) const;
  [[nodiscard]] Dialect dialect_for(const Request& request);
  void remember(const Course& course);

  const std::shared_ptr<Line> line_;
  Meter& meter_;
  // Of line_:
  const Endpoint& endpoint_;
  const Key& key_;
  Clock& clock_;
  Recorder* const recorder_;
  Replay* const replay_;
  Turns& turns_;
  Backoff& backoff_;
  Breaker& breaker_;
};

}  // namespace hone::llm
