#include "rewriters/llm/client/attempt.h"

#include <fmt/format.h>
#include <strings.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "rewriters/llm/client/backoff.h"
#include "rewriters/llm/client/http.h"
#include "rewriters/llm/client/sse.h"
#include "rewriters/llm/client/wire.h"

namespace hone::llm {
namespace {

constexpr std::size_t kMostErrorBytes = 64 << 10;

/// "text/html; charset=utf-8" => "text/html".
std::string media_type(std::string_view content_type) {
  std::string type(content_type.substr(0, content_type.find(';')));
  while (type.ends_with(' ')) type.pop_back();
  std::ranges::transform(type, type.begin(), [](unsigned char c) { return std::tolower(c); });
  return type;
}

/// Takes the body as it comes, by what the head says that it is.
class Body {
 public:
  Body(const Key& key, std::size_t most_text, std::size_t most_stream)
      : key_(key),
        most_text_(most_text),
        most_stream_(most_stream),
        events_(most_text),
        builder_(key, most_text) {}

  bool add(const HttpHead& head, std::string_view bytes) {
    if (kind_ == Kind::kUnknown) kind_ = kind_of(head, bytes);
    size_ += bytes.size();
    switch (kind_) {
      case Kind::kStream:
        return add_to_stream(bytes);
      case Kind::kWhole:
        too_long_ = size_ > most_text_;
        if (!too_long_) text_ += bytes;
        return !too_long_;
      default:
        text_ += bytes.substr(0, kMostErrorBytes - std::min(kMostErrorBytes, text_.size()));
        return text_.size() < kMostErrorBytes;
    }
  }

  /// The body has ended by itself.
  void finish() {
    if (kind_ == Kind::kWhole) (void)builder_.add_whole(text_);
  }

  [[nodiscard]] bool wrong_type() const { return kind_ == Kind::kOther; }
  [[nodiscard]] bool is_stream() const { return kind_ == Kind::kStream; }
  [[nodiscard]] bool too_long() const { return too_long_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t limit() const {
    return kind_ == Kind::kStream ? most_stream_ : most_text_;
  }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const ReplyBuilder& builder() const { return builder_; }

 private:
  enum class Kind { kUnknown, kError, kOther, kStream, kWhole };

  static Kind kind_of(const HttpHead& head, std::string_view bytes) {
    if (head.status != 200) return Kind::kError;
    if (!head.content_encoding.empty() &&
        strcasecmp(head.content_encoding.c_str(), "identity") != 0)
      return Kind::kOther;
    const std::string type = media_type(head.content_type);
    if (type == "text/event-stream") return Kind::kStream;
    if (type == "application/json" || (type.starts_with("application/") && type.ends_with("+json")))
      return Kind::kWhole;
    if (!type.empty()) return Kind::kOther;
    const std::size_t first = bytes.find_first_not_of(" \t\r\n");
    return first != bytes.npos && bytes[first] == '{' ? Kind::kWhole : Kind::kStream;
  }

  bool add_to_stream(std::string_view bytes) {
    too_long_ = size_ > most_stream_;
    if (too_long_) return false;
    std::vector<std::string> events;
    too_long_ = !events_.add(bytes, events);
    for (const std::string& event : events)
      if (!builder_.add_event(event)) return false;
    return !too_long_ && !builder_.done();
  }

  const Key& key_;
  const std::size_t most_text_, most_stream_;
  Kind kind_ = Kind::kUnknown;
  std::size_t size_ = 0;
  bool too_long_ = false;
  SseParser events_;
  ReplyBuilder builder_;
  std::string text_;  // of what is no stream
};

std::unexpected<Failure> failure(FailureKind kind, std::string message) {
  return std::unexpected(Failure{kind, std::move(message)});
}

std::string with_text(std::string message, const std::string& text) {
  return text.empty() ? message : fmt::format("{}: {}", message, text);
}

/// The server has answered with something else than 200.
void read_status(Attempt& made, const HttpHead& head, const Key& key, const std::string& body,
                 Clock& clock) {
  const int status = head.status;
  const std::string text = error_text(key, body);
  const auto set = [&](FailureKind kind, std::string message) {
    made.reply = failure(kind, with_text(std::move(message), text));
  };
  made.free = (status >= 300 && status < 500) || status == 503;
  if (status >= 300 && status < 400) {
    set(FailureKind::kSettings, fmt::format("it redirects to '{}' (status {}), which is not "
                                            "followed; give that URL if you trust it",
                                            head.location, status));
  } else if (status == 401) {
    set(FailureKind::kSettings,
        key.empty() ? "it asks for a key (401)" : "it refuses the key (401)");
  } else if (status == 402 || status == 403) {
    set(FailureKind::kSettings, fmt::format("it does not serve this key ({})", status));
  } else if (status == 404 || status == 405) {
    set(FailureKind::kSettings,
        fmt::format("it has no such URL or model ({}); the URL usually ends with /v1", status));
  } else if (status == 407) {
    set(FailureKind::kSettings, "the proxy asks for a password (407)");
  } else if (status == 429 && body.contains("insufficient_quota")) {
    set(FailureKind::kSettings, "the account has no credit left (429)");
  } else if (status == 408 || status == 429 || status >= 500) {
    set(FailureKind::kTrouble, fmt::format("status {}", status));
    made.retry = true;
    made.retry_after = retry_after(head.retry_after, clock.date());
  } else if (status >= 400) {
    set(FailureKind::kRequest, fmt::format("it refuses the request ({})", status));
    if (status == 400 || status == 422) made.refusal = body;
  } else {
    set(FailureKind::kBadReply, fmt::format("status {}, where 200 would be right", status));
  }
}

std::string ending(const HttpResult& http, const Settings& settings) {
  switch (http.end) {
    case HttpEnd::kIdle:
      return fmt::format("no byte for {} ms", settings.idle_timeout.count());
    case HttpEnd::kOutOfTime:
      return "the total time is over";
    case HttpEnd::kLost:
      return http.error;
    default:
      return "the connection was closed";
  }
}

/// Status 200, and the text is not whole or not right.
void read_broken(Attempt& made, const HttpResult& http, const Body& body,
                 const Settings& settings) {
  const auto bad = [](std::string message) {
    return failure(FailureKind::kBadReply, std::move(message));
  };
  if (body.wrong_type()) {
    made.reply = bad(fmt::format(
        "it answers with '{}'{}, where JSON or an event stream would be "
        "right; is the URL right?",
        http.head.content_type,
        http.head.content_encoding.empty() ? ""
                                           : fmt::format(" as '{}'", http.head.content_encoding)));
  } else if (body.too_long()) {
    made.reply = bad(fmt::format("the reply is longer than {} bytes", body.limit()));
  } else if (body.size() == 0 && http.end != HttpEnd::kWhole) {
    made.reply = failure(FailureKind::kTrouble, ending(http, settings));
    made.retry = true;
  } else if (body.size() == 0) {
    made.reply = bad("the reply is empty");
  } else if (!body.builder().begun() && http.end == HttpEnd::kWhole) {
    made.reply = bad("the stream holds no reply");
  } else {
    made.reply = bad(
        fmt::format("the reply broke off after {} bytes: {}", body.size(), ending(http, settings)));
  }
}

}  // namespace

Attempt attempt(const Endpoint& endpoint, const Key& key, const std::string& body,
                std::size_t most_stream_bytes, Milliseconds time, Clock& clock,
                const std::stop_token& stopping) {
  const Settings& settings = endpoint.settings;
  Body reply(key, static_cast<std::size_t>(settings.max_reply_bytes), most_stream_bytes);
  const HttpResult http = http_post(
      endpoint, key, body, time, stopping,
      [&](const HttpHead& head, std::string_view bytes) { return reply.add(head, bytes); });
  if (http.end == HttpEnd::kWhole && http.head.status == 200) reply.finish();

  Attempt made;
  made.http_status = http.head.status;
  made.usage = reply.builder().usage();
  const ReplyBuilder& builder = reply.builder();
  if (http.end == HttpEnd::kCancelled) {
    made.reply = failure(FailureKind::kCancelled, "cancelled");
    made.free = !http.sent;
  } else if (http.end == HttpEnd::kUntrusted) {
    made.reply = failure(FailureKind::kSettings,
                         fmt::format("its certificate is not trusted ({}); give who signed it as "
                                     "the CA file",
                                     http.error));
    made.free = true;
  } else if (!http.sent) {
    made.reply =
        failure(FailureKind::kTrouble, http.error.empty() ? "no connection in time" : http.error);
    made.free = made.retry = true;
  } else if (http.head.status == 0) {
    made.reply = failure(FailureKind::kTrouble, ending(http, settings));
    made.retry = true;
  } else if (http.head.status != 200) {
    read_status(made, http.head, key, reply.text(), clock);
  } else if (builder.failure() || builder.complete()) {
    made.reply = builder.reply();
  } else {
    read_broken(made, http, reply, settings);
  }
  return made;
}

}  // namespace hone::llm
