#include "engine/web/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "candidates/hash.h"
#include "engine/service/listen_address.h"
#include "engine/web/context.h"
#include "engine/web/http_server.h"
#include "engine/web/routes.h"
#include "engine/web/server_metrics.h"
#include "engine/web/submit.h"

namespace hone::web {
namespace {

constexpr auto kLooks = std::chrono::milliseconds(500);    // for what is new on a stream
constexpr auto kHeartbeat = std::chrono::seconds(10);      // so that a proxy keeps it
constexpr auto kLongestStream = std::chrono::minutes(60);  // a browser comes back by itself

// Nothing may be inline, nothing may come from elsewhere.
constexpr const char* kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

Request request_of(const httplib::Request& from) {
  Request request;
  request.method = from.method == "HEAD" ? "GET" : from.method;
  request.path = from.path;
  for (const auto& [name, value] : from.params) request.query.emplace(name, value);
  for (const auto& [name, value] : from.headers) request.headers.emplace(lower(name), value);
  for (const auto& [name, file] : from.files) request.form.emplace(name, file.content);
  request.body = from.body;
  return request;
}

}  // namespace

struct Server::Impl {
  explicit Impl(const ServerOptions& given, std::unique_ptr<StorePool> pool)
      : options(given),
        stores(std::move(pool)),
        context{.stores = *stores,
                .rewriting = *given.rewriting,
                .broker = given.broker,
                .token = given.token,
                .warn = given.warn},
        http(given.limits),
        metrics(given.broker, streams) {
    context.metrics = &metrics;
  }

  void set_up();
  void respond(const httplib::Request& request, httplib::Response& response);
  void answer_to(const httplib::Request& request, httplib::Response& response);
  void write(Response answer, const httplib::Request& request, httplib::Response& response);
  void write_stream(std::shared_ptr<EventSource> events, const httplib::Request& request,
                    httplib::Response& response);
  [[nodiscard]] bool knows_host(const httplib::Request& request) const;

  const ServerOptions options;
  const std::unique_ptr<StorePool> stores;
  Context context;
  HttpServer http;
  ListenAddress address;
  std::string url;
  std::atomic<int> streams = 0;
  ServerMetrics metrics;
  std::mutex mutex;
  std::condition_variable ending;
  bool ended = false;
  std::jthread thread;
};

/// A name that another site made point here (DNS rebinding) is not ours.
bool Server::Impl::knows_host(const httplib::Request& request) const {
  if (request.get_header_value_count("Host") != 1) return false;
  if (!address.is_loopback()) return true;
  std::string host = lower(request.get_header_value("Host"));
  const auto colon = host.rfind(':');
  if (colon != host.npos && host.find(']', colon) == host.npos) host.resize(colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return host == lower(address.host) || ListenAddress{host}.is_loopback();
}

void Server::Impl::write_stream(std::shared_ptr<EventSource> events,
                                const httplib::Request& request, httplib::Response& response) {
  struct Counted {
    explicit Counted(std::atomic<int>& count) : count(count) {}
    ~Counted() { --count; }
    std::atomic<int>& count;
  };
  if (++streams > options.limits.streams) {
    --streams;
    write(failed(context, request.path,
                 {503, "too_many_streams",
                  "Too many pages are watching live. This one is as of now; reload it."}),
          request, response);
    return;
  }
  response.status = 200;
  response.set_header("Cache-Control", "no-store");
  response.set_header("X-Accel-Buffering", "no");
  const auto began = std::chrono::steady_clock::now();
  response.set_chunked_content_provider(
      "text/event-stream",
      [this, events = std::move(events), counted = std::make_shared<Counted>(streams), began,
       said = began, first = true](std::size_t, httplib::DataSink& sink) mutable {
        const auto now = std::chrono::steady_clock::now();
        if (!sink.is_writable() || http.ending()) return false;
        std::string text = first ? "retry: 2000\n\n" : "";
        first = false;
        text += events->next();
        if (text.empty() && now - said > kHeartbeat) text = ": still here\n\n";
        if (!text.empty()) {
          said = now;
          if (!sink.write(text.data(), text.size())) return false;
        }
        if (events->ended() || now - began > kLongestStream) {
          sink.done();
          return true;
        }
        std::unique_lock lock(mutex);
        ending.wait_for(lock, kLooks, [this] { return ended; });
        return true;
      });
}

void Server::Impl::write(Response answer, const httplib::Request& request,
                         httplib::Response& response) {
  for (const auto& [name, value] : answer.headers) response.set_header(name, value);
  response.status = answer.status;
  if (answer.status == 200 && (request.method == "GET" || request.method == "HEAD")) {
    const std::string tag = fmt::format("\"{}\"", content_hash(answer.body));
    response.set_header("ETag", tag);
    if (!response.has_header("Cache-Control")) response.set_header("Cache-Control", "no-cache");
    if (request.get_header_value("If-None-Match").find(tag) != std::string::npos) {
      response.status = 304;
      return;
    }
  }
  if (!response.has_header("Cache-Control")) response.set_header("Cache-Control", "no-store");
  response.set_content(std::move(answer.body), answer.type);
}

void Server::Impl::respond(const httplib::Request& from, httplib::Response& response) {
  const auto began = std::chrono::steady_clock::now();
  answer_to(from, response);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  metrics.answered(from.method, pattern_of(from.path), response.status, took.count());
}

void Server::Impl::answer_to(const httplib::Request& from, httplib::Response& response) {
  if (!knows_host(from)) {
    write(failed(context, from.path,
                 {421, "unknown_host", "This server is not called that. Use its address."}),
          from, response);
    return;
  }
  Response answer = web::answer(context, request_of(from));
  if (answer.events != nullptr) {
    write_stream(std::move(answer.events), from, response);
  } else {
    write(std::move(answer), from, response);
  }
}

namespace {

/// "/jobs/[^/]+/cancel" of "/jobs/{id}/cancel": the library takes regular expressions.
std::string as_regex(std::string_view pattern) {
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '{') {
      out += pattern[i];
      continue;
    }
    out += "[^/]+";
    i = std::min(pattern.find('}', i), pattern.size() - 1);
  }
  return out;
}

}  // namespace

void Server::Impl::set_up() {
  http.set_default_headers({{"Content-Security-Policy", kPolicy},
                            {"X-Content-Type-Options", "nosniff"},
                            {"X-Frame-Options", "DENY"},
                            // Not no-referrer: a browser would hide the origin of our own form.
                            {"Referrer-Policy", "same-origin"},
                            {"Cross-Origin-Opener-Policy", "same-origin"},
                            {"Cross-Origin-Resource-Policy", "same-origin"}});
  // All is answered before the library looks for a way of its own; only a POST that something here
  // takes goes on, for its body to be read.
  http.set_pre_routing_handler(
      [this](const httplib::Request& request, httplib::Response& response) {
        const auto methods = methods_of(request.path);
        const bool with_body = request.method == "POST" && knows_host(request) &&
                               std::ranges::find(methods, "POST") != methods.end();
        if (!with_body || !context.may_submit()) {
          respond(request, response);
          return httplib::Server::HandlerResponse::Handled;
        }
        // What unpacks to more than was sent, or does not say how much it is, is not read.
        if (request.has_header("Content-Encoding") || request.has_header("Transfer-Encoding") ||
            !request.has_header("Content-Length")) {
          const bool packed = request.has_header("Content-Encoding");
          write(failed(context, request.path,
                       packed ? Failure{415, "packed", "Send it as it is, without an encoding."}
                              : Failure{411, "length_required", "Say its Content-Length."}),
                request, response);
          return httplib::Server::HandlerResponse::Handled;
        }
        return httplib::Server::HandlerResponse::Unhandled;
      });
  for (const Route& route : routes())
    if (route.method == "POST")
      http.Post(as_regex(route.pattern),
                [this](const httplib::Request& request, httplib::Response& response) {
                  respond(request, response);
                });
  // What the library itself refuses.
  const httplib::Server::HandlerWithResponse refused = [this](const httplib::Request& request,
                                                              httplib::Response& response) {
    if (!response.body.empty()) return httplib::Server::HandlerResponse::Unhandled;
    const int status = response.status;
    const Failure failure =
        status == 413   ? Failure{413, "too_large",
                                fmt::format("A request may have {} KiB at most. {}",
                                              options.limits.payload >> 10, kTextOnly)}
        : status == 414 ? Failure{414, "too_long", "The address is too long."}
                        : Failure{status, "bad_request", "The request could not be understood."};
    write(failed(context, request.path, failure), request, response);
    return httplib::Server::HandlerResponse::Handled;
  };
  http.set_error_handler(refused);
  http.set_exception_handler(
      [this](const httplib::Request& request, httplib::Response& response, std::exception_ptr) {
        write(failed(context, request.path, {500, "internal", "Something went wrong here."}),
              request, response);
      });
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Server::~Server() {
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->ended = true;
  }
  impl_->ending.notify_all();
  impl_->http.end();
}

const std::string& Server::url() const { return impl_->url; }
bool Server::on_loopback() const { return impl_->address.is_loopback(); }

Result<std::unique_ptr<Server>> Server::open(ServerOptions options) {
  const auto address = parse_listen_address(options.listen);
  if (!address)
    return invalid(fmt::format(
        "--listen '{}': give HOST:PORT, such as 127.0.0.1:8080 or [::1]:8080", options.listen));
  auto stores = StorePool::open(options.database, options.readers, options.limits.reader_s);
  if (!stores) return std::unexpected(stores.error());
  auto impl = std::make_unique<Impl>(options, std::move(*stores));
  impl->address = *address;
  impl->set_up();
  errno = 0;
  int port = address->port;
  if (port == 0) {
    port = impl->http.bind_to_any_port(address->host);
  } else if (!impl->http.bind_to_port(address->host, port)) {
    port = -1;
  }
  if (port <= 0)
    return fail(ErrorCode::kEnvironment,
                fmt::format("--listen {}: cannot listen there: {}", options.listen,
                            errno != 0 ? std::strerror(errno) : "there is no such host here"));
  impl->http.widen_backlog();
  impl->url = fmt::format("http://{}/", authority(address->host, port));
  impl->thread = std::jthread([&http = impl->http] { http.listen_after_bind(); });
  // One that does not run yet could not be stopped.
  while (!impl->http.is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

}  // namespace hone::web
