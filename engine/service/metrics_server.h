// HTTP for Prometheus: /metrics, and /healthz, which says that the process lives.
#pragma once

#include <memory>
#include <string>

#include "candidates/result.h"
#include "engine/service/metrics.h"

namespace hone {

/// Answers on two threads of its own until it is destroyed. No TLS and no password: for a loopback
/// address, or a network that is trusted.
class MetricsServer {
 public:
  /// `address`: "127.0.0.1:9400", "[::1]:9400"; port 0 is any that is free. `metrics` must outlive
  /// the server. Errors: kInvalidInput for what is no address, kEnvironment where it cannot listen.
  [[nodiscard]] static Result<std::unique_ptr<MetricsServer>> open(const std::string& address,
                                                                   Metrics& metrics);
  ~MetricsServer();
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;

  [[nodiscard]] std::string url() const;  ///< "http://127.0.0.1:9400/metrics"

 private:
  struct Impl;
  explicit MetricsServer(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

}  // namespace hone
