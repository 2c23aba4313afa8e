// The names of hone's keys on a Redis server: PROTOCOL.md says what they hold.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "engine/queue/messages.h"

namespace hone::queue {

/// Ids and pool names must be ids, see messages.h.
class Keys {
 public:
  explicit Keys(std::string prefix) : prefix_(std::move(prefix)) {}
  [[nodiscard]] const std::string& prefix() const { return prefix_; }
  [[nodiscard]] std::string jobs() const { return of("jobs"); }
  [[nodiscard]] std::string job(std::string_view id) const { return of("job:") + std::string(id); }
  [[nodiscard]] std::string job_ids() const { return of("job-ids"); }
  [[nodiscard]] std::string cancelled() const { return of("cancelled"); }
  [[nodiscard]] std::string leader() const { return of("leader"); }
  [[nodiscard]] std::string fence() const { return of("fence"); }
  [[nodiscard]] std::string database() const { return of("database"); }
  [[nodiscard]] std::string trouble() const { return of("trouble"); }
  [[nodiscard]] std::string language_model() const { return of("language-model"); }
  /// Workers of another version read another stream: they could not read these messages.
  [[nodiscard]] std::string work(std::string_view pool) const {
    return of("work:") + "v" + std::to_string(kQueueVersion) + ":" + std::string(pool);
  }
  /// What this worker alone may do. No id has an '@'.
  [[nodiscard]] std::string work_of(std::string_view pool, std::string_view worker) const {
    return work(pool) + "@" + std::string(worker);
  }
  [[nodiscard]] std::string pools() const { return of("pools"); }
  [[nodiscard]] std::string open() const { return of("open"); }
  [[nodiscard]] std::string results() const { return of("results"); }
  [[nodiscard]] std::string dead() const { return of("dead"); }
  [[nodiscard]] std::string put_back() const { return of("put-back"); }
  [[nodiscard]] std::string inputs() const { return of("inputs"); }
  [[nodiscard]] std::string input(std::string_view sha256) const {
    return of("input:") + std::string(sha256);
  }
  [[nodiscard]] std::string workers() const { return of("workers"); }
  [[nodiscard]] std::string worker(std::string_view id) const {
    return of("worker:") + std::string(id);
  }

 private:
  [[nodiscard]] std::string of(const char* name) const { return prefix_ + ":" + name; }
  std::string prefix_;
};

inline constexpr const char* kWorkersGroup = "workers";
inline constexpr const char* kCoordinatorsGroup = "coordinators";

}  // namespace hone::queue
