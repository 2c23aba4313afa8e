#include "engine/service/metrics_server.h"

#include <fmt/format.h>
#include <httplib.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "engine/service/listen_address.h"

namespace hone {
namespace {

constexpr int kThreads = 2;
constexpr int kPatience_s = 2;  // with a client that says nothing

}  // namespace

struct MetricsServer::Impl {
  httplib::Server server;
  std::string url;
  std::jthread thread;
};

MetricsServer::MetricsServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

MetricsServer::~MetricsServer() { impl_->server.stop(); }

std::string MetricsServer::url() const { return impl_->url; }

Result<std::unique_ptr<MetricsServer>> MetricsServer::open(const std::string& address,
                                                           Metrics& metrics) {
  const auto parsed = parse_listen_address(address);
  if (!parsed)
    return invalid(fmt::format(
        "--metrics '{}': give HOST:PORT, such as 127.0.0.1:9400 or [::1]:9400", address));
  auto impl = std::make_unique<Impl>();
  httplib::Server& server = impl->server;
  // The library's own options let two servers share a port.
  server.set_socket_options([](int socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  server.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
  server.set_keep_alive_max_count(1);  // an idle connection would keep a thread
  server.set_keep_alive_timeout(kPatience_s);
  server.set_read_timeout(kPatience_s);
  server.set_write_timeout(kPatience_s);
  server.set_payload_max_length(1024);
  server.Get("/metrics", [&metrics](const httplib::Request&, httplib::Response& response) {
    response.set_content(metrics.page(), "text/plain; version=0.0.4; charset=utf-8");
  });
  server.Get("/healthz", [](const httplib::Request&, httplib::Response& response) {
    response.set_content("ok\n", "text/plain");
  });
  errno = 0;
  int port = parsed->port;
  if (port == 0) {
    port = server.bind_to_any_port(parsed->host);
  } else if (!server.bind_to_port(parsed->host, port)) {
    port = -1;
  }
  if (port <= 0)
    return fail(ErrorCode::kEnvironment,
                fmt::format("--metrics {}: cannot listen there: {}", address,
                            errno != 0 ? std::strerror(errno) : "there is no such host here"));
  impl->url = fmt::format("http://{}/metrics", authority(parsed->host, port));
  impl->thread = std::jthread([&server] { server.listen_after_bind(); });
  // One that does not run yet could not be stopped.
  while (!server.is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return std::unique_ptr<MetricsServer>(new MetricsServer(std::move(impl)));
}

}  // namespace hone
