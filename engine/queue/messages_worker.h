// A worker that says that it is there, and with what.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/queue/messages.h"
#include "evaluator/evaluator.h"

namespace hone::queue {

struct WorkerDevice {
  std::string pool;  ///< pool_of() the rest
  DeviceInfo info;
  bool modelled = false;
  int capacity = 1;  ///< evaluations at once
};

/// Registration and heartbeat.
struct WorkerMessage {
  std::string id;
  std::string host;
  std::string version;  ///< of hone
  std::vector<WorkerDevice> devices;
  bool draining = false;        ///< finishes what it has and takes nothing new
  std::int64_t started_at = 0;  // Unix time [ms]
  std::int64_t evaluated = 0, in_flight = 0;
};

[[nodiscard]] Result<std::string> encode(const WorkerMessage& message);
[[nodiscard]] Result<WorkerMessage> worker_from(std::string_view bytes);

/// A worker of another version of the queue: it takes no work of this one.
struct ForeignWorker {
  std::string id;
  std::string host;
  std::string version;    ///< of hone; empty where it does not say
  int queue_version = 0;  ///< kQueueVersion of its hone
  struct Device {
    std::string pool;
    std::string arch;
    bool modelled = false;
  };
  std::vector<Device> devices;
};
/// What can be read of one, whatever its version. Empty: no such message, or one of this version.
[[nodiscard]] std::optional<ForeignWorker> foreign_worker_from(std::string_view bytes);

/// The id of the set of devices that may stand in for each other: "sm_90:NVIDIA-H200"; of emulated
/// ones "emu:sm_90", and "emu:sm_90:H100" with another profile than the architecture's first.
[[nodiscard]] std::string pool_of(const DeviceInfo& info, bool modelled);
/// What a job asks for to come to this pool: "sm_90" of "sm_90:NVIDIA-H200", "emu:sm_90".
[[nodiscard]] std::string arch_of_pool(std::string_view pool);

}  // namespace hone::queue
