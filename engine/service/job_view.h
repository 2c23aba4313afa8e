// What is said of a submitted job: how it stands, and what it waits for. `hone jobs`, `hone watch`
// and the web show this.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/queue/broker.h"

namespace hone {

/// What jobs depend on, as it was at one moment.
struct ServiceState {
  bool leads = false;             ///< a coordinator does
  std::string trouble;            ///< what holds all jobs up: "database full"; empty: nothing
  bool language_model = false;    ///< and it has one for jobs that want it
  queue::Registered workers;      ///< that are there
  std::vector<std::string> line;  ///< ids of jobs that no search was begun for, the next one first
  std::int64_t now_ms = 0;        // Unix time by the server's clock
};

/// `with_line`: the line, too, for which all jobs that have not ended are read.
[[nodiscard]] Result<ServiceState> service_state(queue::Broker& broker, bool with_line);

/// One job as people see it.
struct JobView {
  queue::JobRow row;
  int place = 0;     ///< in line, from 1; 0: it is not queued
  std::string held;  ///< of all its searches: "3rd in line", "no coordinator leads"; or empty
  std::vector<std::string> unserved;  ///< its architectures that no worker is there for
  std::string waits;  ///< both in words: "3rd in line; waits for a worker for sm_80"; or empty
};

/// How the job stands, and what is in its way: no coordinator, its place in line, no worker.
[[nodiscard]] JobView view_of(queue::JobRow row, const ServiceState& state);

/// The newest first.
[[nodiscard]] Result<std::vector<JobView>> job_views(queue::Broker& broker,
                                                     const queue::JobFilter& filter, int limit);
/// By its whole id. kInvalidInput: there is no such job (any more).
[[nodiscard]] Result<JobView> job_view(queue::Broker& broker, const std::string& id);

/// The architectures that workers which are there take work for: "emu:sm_90", "sm_90".
[[nodiscard]] std::vector<std::string> served_archs(
    const std::vector<queue::WorkerMessage>& workers);

/// Why nobody serves jobs for these architectures now, a sentence each without a full stop: no
/// coordinator leads; no worker is there; only workers of another version are.
[[nodiscard]] std::vector<std::string> warnings_for(const std::vector<std::string>& archs,
                                                    const ServiceState& state);
/// Asks the server first; empty where it cannot be reached.
[[nodiscard]] std::vector<std::string> warnings_for(const std::vector<std::string>& archs,
                                                    queue::Broker& broker);

}  // namespace hone
