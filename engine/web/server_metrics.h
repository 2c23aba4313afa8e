// What `hone serve` tells Prometheus at /metrics; engine/service/METRICS.md has the table.
// Thread-safe.
#pragma once

#include <atomic>
#include <string>
#include <string_view>

#include "engine/queue/broker.h"
#include "engine/service/metrics.h"

namespace hone::web {

class ServerMetrics {
 public:
  /// `broker`: null where there is no queue. `streams`: of events, open now. Both must outlive it.
  ServerMetrics(queue::Broker* broker, const std::atomic<int>& streams);

  /// `pattern`: the address as the list of routes has it; "": there is none such.
  void answered(std::string_view method, std::string_view pattern, int status, double seconds);
  /// The page for Prometheus. It asks the queue whether it is there, for a second at most.
  [[nodiscard]] std::string page() { return metrics_.page(); }

 private:
  void read();

  queue::Broker* const broker_;
  const std::atomic<int>& streams_;
  Metrics metrics_;
  const Metrics::Reading reading_;
};

}  // namespace hone::web
