#include "engine/service/fleet.h"

#include <set>

namespace hone {
namespace {

/// A worker that was missing in so many looks at the fleet, one a second, is gone.
constexpr int kMissedLooks = 15;

}  // namespace

Result<DeviceSpec> device_of(const std::string& id, const Fleet::Pool& pool) {
  if (!pool.modelled) return DeviceSpec::parse("cuda:0");
  std::string text = id;  // "emu:sm_90:H100"
  if (const auto profile = text.find(':', 4); profile != text.npos) text[profile] = '/';
  return DeviceSpec::parse(text);
}

Result<void> Fleet::look() {
  const auto workers = broker_.workers();
  if (!workers) return std::unexpected(workers.error());
  std::map<std::string, Pool> pools;
  std::map<std::pair<std::string, std::string>, Known> known;
  std::set<std::string> draining;
  for (const auto& worker : *workers) {
    if (worker.draining) draining.insert(worker.id);
    if (worker.draining) continue;
    std::set<std::string> its_pools;
    for (const auto& device : worker.devices) {
      if (device.pool != queue::pool_of(device.info, device.modelled)) continue;
      Pool& pool = pools[device.pool];
      pool.info = device.info;
      pool.modelled = device.modelled;
      pool.capacity += device.capacity;
      ++pool.devices;
      ++known[{device.pool, worker.id}].devices;
      if (its_pools.insert(device.pool).second) ++pool.workers;
    }
  }
  const std::lock_guard lock(mutex_);
  pools_ = std::move(pools);
  for (auto& [name, worker] : workers_)
    if (++worker.missed < kMissedLooks && !draining.contains(name.second))
      known.emplace(name, worker);
  workers_ = std::move(known);
  return {};
}

std::vector<TargetWorker> Fleet::workers(const std::string& pool) const {
  const std::lock_guard lock(mutex_);
  std::vector<TargetWorker> workers;
  for (const auto& [name, worker] : workers_)
    if (name.first == pool) workers.push_back({name.second, worker.devices, worker.missed == 0});
  return workers;
}

std::map<std::string, Fleet::Pool> Fleet::pools() const {
  const std::lock_guard lock(mutex_);
  return pools_;
}

int Fleet::capacity(const std::string& pool) const {
  const std::lock_guard lock(mutex_);
  const auto found = pools_.find(pool);
  return found == pools_.end() ? 0 : found->second.capacity;
}

std::optional<std::pair<std::string, Fleet::Pool>> Fleet::find(const std::string& arch) const {
  const std::lock_guard lock(mutex_);
  std::optional<std::pair<std::string, Pool>> best;
  for (const auto& [id, pool] : pools_) {
    if (pool.modelled ? id != arch : pool.info.arch != arch) continue;
    if (!best || pool.capacity > best->second.capacity) best = {id, pool};
  }
  return best;
}

}  // namespace hone
