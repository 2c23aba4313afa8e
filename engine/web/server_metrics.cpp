#include "engine/web/server_metrics.h"

#include <fmt/format.h>

#include <chrono>
#include <memory>

#include "engine/service/process_metrics.h"
#include "engine/web/handlers.h"

namespace hone::web {
namespace {

constexpr double kPingPatience_s = 1;
constexpr auto kPageKept = std::chrono::milliseconds(500);  // whoever asks more often gets the last

/// Methods that nobody knows are one: a label is not for strangers to fill.
std::string method_label(std::string_view method) {
  for (const std::string_view known : {"GET", "HEAD", "POST"})
    if (method == known) return std::string(known);
  return "other";
}

std::vector<double> request_seconds() {
  return {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5};
}

}  // namespace

ServerMetrics::ServerMetrics(queue::Broker* broker, const std::atomic<int>& streams)
    : broker_(broker), streams_(streams), reading_(metrics_, [this] { read(); }) {
  declare_process_metrics(metrics_);
  metrics_.declare_counter("hone_http_requests_total",
                           "Requests answered, by method, route and status");
  metrics_.declare_histogram("hone_http_request_seconds",
                             "From a request's head to its answer, in seconds; of a stream of "
                             "events to its beginning",
                             request_seconds());
  metrics_.declare_gauge("hone_http_streams", "Streams of events that are open");
  if (broker_ != nullptr)
    metrics_.declare_gauge("hone_redis_reachable",
                           "1 where the server answers, 0 where it does not");
}

void ServerMetrics::answered(std::string_view method, std::string_view pattern, int status,
                             double seconds) {
  const std::string route = pattern.empty() ? "other" : std::string(pattern);
  metrics_.add(
      "hone_http_requests_total",
      {{"code", fmt::format("{}", status)}, {"method", method_label(method)}, {"route", route}});
  metrics_.observe("hone_http_request_seconds", {}, seconds);
}

void ServerMetrics::read() {
  show_process(metrics_);
  metrics_.set("hone_http_streams", {}, streams_);
  if (broker_ == nullptr) return;
  const auto answer =
      broker_->redis().call({"PING"}, {.idempotent = true, .deadline_s = kPingPatience_s});
  metrics_.set("hone_redis_reachable", {}, answer ? 1 : 0);
}

Answer metrics_text(Context& context, const Request&, const Parts&) {
  if (context.metrics == nullptr) return not_found("This server counts nothing.");
  const auto text = context.polls.get("/metrics", kPageKept, [&]() -> TextCache::Text {
    return std::make_shared<const std::string>(context.metrics->page());
  });
  Response response;
  response.type = "text/plain; version=0.0.4; charset=utf-8";
  response.body = *text;
  return response;
}

Answer healthz(Context&, const Request&, const Parts&) {
  Response response;
  response.type = "text/plain; charset=utf-8";
  response.body = "ok\n";
  return response;
}

}  // namespace hone::web
