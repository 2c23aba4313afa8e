#include "rewriters/llm/client/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>

#include "candidates/saturated.h"
#include "rewriters/llm/client/scrubber.h"

namespace hone::llm {
namespace {

/// An event of a stream has more around its token than the token.
constexpr std::int64_t kStreamBytesPerToken = 1024;

std::string lowered(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

/// Leaves out what the server says that it does not know; false: nothing of that kind.
bool adapt(Dialect& dialect, const Request& request, const Settings& settings,
           const std::string& refusal) {
  const std::string text = lowered(refusal);
  if (!dialect.max_completion_tokens && text.contains("max_completion_tokens")) {
    dialect.max_completion_tokens = true;
  } else if (dialect.stream_usage && settings.stream && text.contains("stream_options")) {
    dialect.stream_usage = false;
  } else if (dialect.temperature && settings.temperature && text.contains("temperature")) {
    dialect.temperature = false;
  } else if (dialect.response_format && !request.response_format.empty()) {
    dialect.response_format = false;
  } else {
    return false;
  }
  return true;
}

/// Of a reservation that could not be made.
FailureKind kind_of(const Error& error) {
  return error.code == ErrorCode::kRefused ? FailureKind::kBudget : FailureKind::kLedger;
}

bool is_failure_of_endpoint(FailureKind kind) {
  return kind == FailureKind::kSettings || kind == FailureKind::kTrouble ||
         kind == FailureKind::kBadReply;
}

}  // namespace

struct Client::Course {
  const Request& request;
  const std::stop_token& stopping;
  bool probe;
  Clock::Time start;
  Dialect dialect;
  Exchange exchange;
  std::string last_failure;           // of an attempt, for a later reason to give up
  std::optional<Milliseconds> pause;  // the server wants to be left alone for longer than we have
  bool adapted = false;
};

struct Client::Line {
  Line(Endpoint own_endpoint, Key own_key, const ClientOptions& options, Replay* own_replay)
      : endpoint(std::move(own_endpoint)),
        key(std::move(own_key)),
        clock(options.clock != nullptr ? *options.clock : own_clock),
        recorder(options.recorder),
        replay(own_replay),
        turns(endpoint.settings.concurrency),
        backoff(options.seed),
        breaker(clock, options.failures_until_down, options.first_pause, options.longest_pause) {}

  const Endpoint endpoint;
  const Key key;
  Clock own_clock;
  Clock& clock;
  Recorder* const recorder;
  Replay* const replay;
  Turns turns;
  Backoff backoff;
  Breaker breaker;
  std::mutex mutex;  ///< of what follows
  Dialect dialect;
  std::set<std::string> refused_formats;
};

Client::Client(std::shared_ptr<Line> line, Meter& meter)
    : line_(std::move(line)),
      meter_(meter),
      endpoint_(line_->endpoint),
      key_(line_->key),
      clock_(line_->clock),
      recorder_(line_->recorder),
      replay_(line_->replay),
      turns_(line_->turns),
      backoff_(line_->backoff),
      breaker_(line_->breaker) {}

Result<std::unique_ptr<Client>> Client::make(Settings settings, Key key, Meter& meter,
                                             ClientOptions options) {
  auto endpoint = Endpoint::make(std::move(settings), !key.empty());
  if (!endpoint) return std::unexpected(endpoint.error());
  auto line = std::make_shared<Line>(std::move(*endpoint), std::move(key), options, nullptr);
  return std::unique_ptr<Client>(new Client(std::move(line), meter));
}

std::unique_ptr<Client> Client::make_replaying(Settings settings, Meter& meter, Replay& replay) {
  Endpoint endpoint;
  endpoint.settings = std::move(settings);
  auto line = std::make_shared<Line>(std::move(endpoint), Key(), ClientOptions(), &replay);
  return std::unique_ptr<Client>(new Client(std::move(line), meter));
}

std::unique_ptr<Client> Client::beside(Meter& meter) const {
  return std::unique_ptr<Client>(new Client(line_, meter));
}

Result<Reply> Client::complete(const Request& request, const std::stop_token& stopping) {
  Exchange exchange = ask(request, stopping);
  if (exchange.reply) return std::move(*exchange.reply);
  return std::unexpected(to_error(exchange.reply.error()));
}

Exchange Client::ask(const Request& request, const std::stop_token& stopping) {
  const auto canonical = canonical_request(request, endpoint_.settings);
  if (!canonical)
    return {.reply = std::unexpected(Failure{FailureKind::kRequest, canonical.error().message})};
  if (auto failure = objection(request)) return {.reply = std::unexpected(std::move(*failure))};
  if (replay_ != nullptr) return replayed(request, *canonical);

  Exchange exchange = asked(request, stopping);
  if (!exchange.reply) {
    std::string& message = exchange.reply.error().message;
    message = fmt::format("{}: {}", endpoint_.name, scrubbed(key_, message));
  }
  // What the budgets refuse a replay refuses by itself.
  const bool down = !exchange.reply && exchange.reply.error().kind == FailureKind::kDown;
  if (recorder_ == nullptr || (exchange.attempts == 0 && !down)) return exchange;
  const auto written = recorder_->write(*canonical, request.kind, exchange, clock_.date());
  if (!written && exchange.reply) exchange.reply->notes.push_back(written.error().message);
  return exchange;
}

std::optional<Failure> Client::objection(const Request& request) const {
  if (request.messages.empty()) return Failure{FailureKind::kRequest, "a request has no message"};
  if (key_.empty()) return std::nullopt;
  bool held = request.response_format.contains(key_.reveal());
  for (const Message& message : request.messages)
    held = held || message.text.contains(key_.reveal());
  if (!held) return std::nullopt;
  return Failure{FailureKind::kRequest, "the request holds the key; it is not sent"};
}

WorstCase Client::worst_case(const Request& request) const {
  const Settings& settings = endpoint_.settings;
  WorstCase worst;
  worst.input_tokens = input_token_bound(request);
  worst.output_tokens =
      request.max_output_tokens > 0 ? request.max_output_tokens : settings.max_output_tokens;
  const std::int64_t least =
      request.least_output_tokens > 0 ? request.least_output_tokens : settings.least_output_tokens;
  worst.least_output_tokens = std::min(least, worst.output_tokens);
  return worst;
}

Exchange Client::replayed(const Request& request, const std::string& canonical) {
  auto reservation = meter_.reserve(worst_case(request));
  if (!reservation)
    return {.reply = std::unexpected(
                Failure{kind_of(reservation.error()), reservation.error().message})};
  Exchange exchange = replay_->next(canonical, request.kind);
  const std::int64_t most = endpoint_.settings.max_reply_bytes;
  if (exchange.reply && std::cmp_greater(exchange.reply->text.size(), most))
    exchange.reply = std::unexpected(
        Failure{FailureKind::kBadReply, fmt::format("the reply is longer than {} bytes", most)});
  const Charge& charge = exchange.charge;
  if (charge.input_tokens == 0 && charge.output_tokens == 0) {
    reservation->release();
  } else {
    reservation->settle_as(charge);
  }
  return exchange;
}

Exchange Client::asked(const Request& request, const std::stop_token& stopping) {
  const Settings& settings = endpoint_.settings;
  const auto turn = turns_.take(stopping, settings.total_timeout);
  if (stopping.stop_requested())
    return {.reply = std::unexpected(Failure{FailureKind::kCancelled, "cancelled"})};
  if (!turn)  // says nothing about the endpoint
    return {.reply = std::unexpected(
                Failure{FailureKind::kTrouble,
                        fmt::format("no turn in {} ms: no more than {} at a time may ask",
                                    settings.total_timeout.count(), settings.concurrency)})};
  const Breaker::Admission admission = breaker_.enter();
  if (!admission.admitted)
    return {.reply = std::unexpected(Failure{
                FailureKind::kDown,
                fmt::format("it counts as down, the next try is in {} s; last: {}",
                            std::chrono::ceil<std::chrono::seconds>(admission.again).count(),
                            admission.last_error)})};
  Course course{.request = request,
                .stopping = stopping,
                .probe = admission.probe,
                .start = clock_.now(),
                .dialect = dialect_for(request)};
  course.exchange.reply = run(course);
  course.exchange.seconds = std::chrono::duration<double>(clock_.now() - course.start).count();
  tell_breaker(course);
  if (course.exchange.reply && course.adapted) remember(course);
  return std::move(course.exchange);
}

std::expected<Reply, Failure> Client::run(Course& course) {
  const Settings& settings = endpoint_.settings;
  for (int failures = 0;;) {
    auto attempted = try_once(course);
    if (!attempted) return std::unexpected(std::move(attempted.error()));
    if (attempted->reply) return std::move(attempted->reply);
    Failure& failure = attempted->reply.error();
    course.last_failure = failure.message;
    if (!attempted->refusal.empty() &&
        adapt(course.dialect, course.request, settings, attempted->refusal)) {
      course.adapted = true;
      continue;
    }
    ++failures;
    if (!attempted->retry || course.probe) return std::unexpected(std::move(failure));
    if (failures > settings.retries) {
      failure.message += fmt::format(" (after {} attempts)", course.exchange.attempts);
      return std::unexpected(std::move(failure));
    }
    if (!wait_for_next(course, *attempted, failures)) return std::unexpected(std::move(failure));
  }
}

/// One attempt, paid for. An error: there was none.
std::expected<Attempt, Failure> Client::try_once(Course& course) {
  const auto after_last = [&](std::string message) {
    if (course.last_failure.empty()) return message;
    return fmt::format("{}; before that: {}", message, course.last_failure);
  };
  const WorstCase worst = worst_case(course.request);
  auto reservation = meter_.reserve(worst);
  if (!reservation)
    return std::unexpected(
        Failure{kind_of(reservation.error()), after_last(reservation.error().message)});
  const std::int64_t output = reservation->output_tokens();
  const auto body = request_body(course.request, endpoint_.settings, output, course.dialect);
  if (!body) {
    reservation->release();
    return std::unexpected(body.error());
  }
  const auto most_bytes =
      static_cast<std::size_t>(endpoint_.settings.max_reply_bytes +
                               kStreamBytesPerToken * std::min<std::int64_t>(output, 1 << 20));
  ++course.exchange.attempts;
  Attempt made = attempt(endpoint_, key_, *body, most_bytes,
                         std::max(time_left(course), Milliseconds(1)), clock_, course.stopping);
  course.exchange.http_status = made.http_status;
  if (made.free) {
    reservation->release();
    return made;
  }
  const auto settled = reservation->settle(made.usage);
  Charge& charge = course.exchange.charge;
  charge.input_tokens = saturated_sum(charge.input_tokens, settled.charge.input_tokens);
  charge.output_tokens = saturated_sum(charge.output_tokens, settled.charge.output_tokens);
  charge.nano_dollars = saturated_sum(charge.nano_dollars, settled.charge.nano_dollars);
  if (!made.reply) return made;
  Reply& reply = *made.reply;
  reply.usage = {settled.charge.input_tokens, settled.charge.output_tokens, settled.exact};
  reply.without_format = !course.request.response_format.empty() && !course.dialect.response_format;
  if (output < worst.output_tokens)
    reply.notes.push_back(
        fmt::format("asked for {} output tokens instead of {}: the budget has no "
                    "room for more",
                    output, worst.output_tokens));
  if (!settled.exact)
    reply.notes.push_back(
        "the server does not say how many tokens it used: the most that it can "
        "have been is counted");
  if (settled.overrun)
    reply.notes.push_back(fmt::format(
        "the server claims {} input and {} output tokens, more than the {} and {} that were set "
        "aside as the most; all are counted",
        settled.charge.input_tokens, settled.charge.output_tokens, worst.input_tokens, output));
  return made;
}

/// False: no further attempt; the failure then says why.
bool Client::wait_for_next(Course& course, Attempt& failed, int failures) {
  Failure& failure = failed.reply.error();
  const Milliseconds wait = failed.retry_after.value_or(backoff_.wait(failures));
  const Milliseconds left = time_left(course);
  if (wait >= left) {
    if (failed.retry_after && *failed.retry_after > Milliseconds(0)) {
      course.pause = failed.retry_after;
      failure.message += fmt::format(" (it asks to wait {} s; {} s are left)",
                                     std::chrono::ceil<std::chrono::seconds>(wait).count(),
                                     std::chrono::ceil<std::chrono::seconds>(left).count());
    } else {
      failure.message += " (no time is left for another attempt)";
    }
    return false;
  }
  if (clock_.sleep(wait, course.stopping)) return true;
  failure = {FailureKind::kCancelled, "cancelled"};
  return false;
}

void Client::tell_breaker(const Course& course) {
  const auto& reply = course.exchange.reply;
  if (reply) return breaker_.succeeded();
  const FailureKind kind = reply.error().kind;
  if (is_failure_of_endpoint(kind)) {
    breaker_.failed(course.probe, scrubbed(key_, reply.error().message), course.pause);
  } else if (course.exchange.attempts == 0 || kind == FailureKind::kCancelled ||
             kind == FailureKind::kBudget || kind == FailureKind::kLedger) {
    breaker_.abandoned(course.probe);
  } else {
    breaker_.succeeded();  // it speaks, if not as we would like
  }
}

Milliseconds Client::time_left(const Course& course) const {
  const auto spent = std::chrono::duration_cast<Milliseconds>(clock_.now() - course.start);
  return std::max(endpoint_.settings.total_timeout - spent, Milliseconds(0));
}

Dialect Client::dialect_for(const Request& request) {
  std::lock_guard lock(line_->mutex);
  Dialect dialect = line_->dialect;
  dialect.response_format = !line_->refused_formats.contains(request.response_format);
  return dialect;
}

/// What has led to a reply is how this server is asked from now on.
void Client::remember(const Course& course) {
  std::lock_guard lock(line_->mutex);
  line_->dialect = course.dialect;
  if (!course.dialect.response_format)
    line_->refused_formats.insert(course.request.response_format);
}

}  // namespace hone::llm
