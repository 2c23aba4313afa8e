// What a worker tells Prometheus; METRICS.md has the table. Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "candidates/measurement.h"
#include "engine/service/metrics.h"

namespace hone {

void declare_worker_metrics(Metrics& metrics);

struct Evaluated {
  const std::string& pool;
  const std::string& device;  ///< "cuda:0"
  std::string_view stage;     ///< stage_of()
  double seconds = 0;         ///< in the worker's hands
  const Result<Evaluation>& evaluation;
};
void count_evaluation(Metrics& metrics, const Evaluated& evaluated);

/// One that was fetched. [B]
void count_input(Metrics& metrics, std::int64_t bytes);

/// What is read at each scrape.
struct WorkerNow {
  struct Device {
    std::string pool, device;
    int in_flight = 0;  ///< taken, and not answered
  };
  bool draining = false, redis_reachable = true;
  std::uint64_t redis_connections = 0;
  std::vector<Device> devices;
};
void show_worker(Metrics& metrics, const WorkerNow& now);

}  // namespace hone
