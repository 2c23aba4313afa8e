// The workers that are there, and what they can evaluate.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/queue/broker.h"
#include "engine/search/target/target.h"
#include "evaluator/device_spec.h"
#include "evaluator/evaluator.h"

namespace hone {

/// The workers that are there, by pool. Thread-safe.
class Fleet {
 public:
  struct Pool {
    DeviceInfo info;  ///< of one of its devices
    bool modelled = false;
    int capacity = 0;  ///< evaluations at once, over all its devices
    int workers = 0;   ///< that have such devices
    int devices = 0;
  };
  explicit Fleet(queue::Broker& broker) : broker_(broker) {}
  [[nodiscard]] Result<void> look();
  [[nodiscard]] std::map<std::string, Pool> pools() const;
  /// Evaluations at once; 0: no worker of that pool is there.
  [[nodiscard]] int capacity(const std::string& pool) const;
  /// The largest pool for what a job asks for: "sm_90" is a GPU, "emu:sm_90" the pool of
  /// that name.
  [[nodiscard]] std::optional<std::pair<std::string, Pool>> find(const std::string& arch) const;
  /// Of a pool, those too that were there a moment ago and did not say that they end.
  [[nodiscard]] std::vector<TargetWorker> workers(const std::string& pool) const;

 private:
  struct Known {
    std::size_t devices = 0;
    int missed = 0;  ///< looks in a row
  };
  queue::Broker& broker_;
  mutable std::mutex mutex_;
  std::map<std::string, Pool> pools_;
  std::map<std::pair<std::string, std::string>, Known> workers_;  ///< by pool and id
};

/// Boards are per device name; "cuda:0" stands for a GPU of some worker.
[[nodiscard]] Result<DeviceSpec> device_of(const std::string& id, const Fleet::Pool& pool);

}  // namespace hone
