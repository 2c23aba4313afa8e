#include "engine/service/worker_metrics.h"

#include <utility>

#include "engine/service/process_metrics.h"

namespace hone {

void declare_worker_metrics(Metrics& metrics) {
  declare_process_metrics(metrics);
  metrics.declare_counter("hone_worker_evaluations_total", "Evaluations by stage and verdict");
  metrics.declare_gauge("hone_worker_in_flight", "Evaluations taken and not answered");
  metrics.declare_histogram("hone_worker_evaluation_seconds",
                            "From beginning an evaluation to its end", evaluation_seconds());
  metrics.declare_counter(
      "hone_worker_gate_seconds_total",
      "Time of evaluations in each gate; the gate measure is the time that a GPU was busy");
  metrics.declare_counter("hone_worker_input_bytes_total",
                          "Bytes of inputs from files that were fetched from the server");
  metrics.declare_gauge("hone_worker_draining", "1 where the worker takes nothing new");
  metrics.declare_counter("hone_redis_connections_total", "Connections opened to the server");
  metrics.declare_gauge("hone_redis_reachable", "1 where the server answers, 0 where it does not");
}

void count_evaluation(Metrics& metrics, const Evaluated& evaluated) {
  const auto& [pool, device, stage, seconds, evaluation] = evaluated;
  const Metrics::Labels where = {{"device", device}, {"pool", pool}};
  metrics.add("hone_worker_evaluations_total",
              {{"pool", pool},
               {"stage", std::string(stage)},
               {"verdict", evaluation ? std::string(to_string(evaluation->verdict)) : "none"}});
  metrics.observe("hone_worker_evaluation_seconds", where, seconds);
  if (!evaluation) return;
  const GateSeconds& gates = evaluation->gates;
  const std::pair<const char*, double> spent[] = {{"compile", gates.compile},
                                                  {"check", gates.check},
                                                  {"wait", gates.wait},
                                                  {"measure", gates.measure}};
  for (const auto& [gate, gate_s] : spent) {
    Metrics::Labels labels = where;
    labels["gate"] = gate;
    metrics.add("hone_worker_gate_seconds_total", labels, gate_s);
  }
}

void count_input(Metrics& metrics, std::int64_t bytes) {
  metrics.add("hone_worker_input_bytes_total", {}, static_cast<double>(bytes));
}

void show_worker(Metrics& metrics, const WorkerNow& now) {
  show_process(metrics);
  metrics.set("hone_redis_reachable", {}, now.redis_reachable ? 1 : 0);
  metrics.set("hone_worker_draining", {}, now.draining ? 1 : 0);
  metrics.set("hone_redis_connections_total", {}, static_cast<double>(now.redis_connections));
  for (const auto& device : now.devices)
    metrics.set("hone_worker_in_flight", {{"device", device.device}, {"pool", device.pool}},
                device.in_flight);
}

}  // namespace hone
