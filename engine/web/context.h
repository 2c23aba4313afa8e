// What handlers work with. All of it is thread-safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "candidates/store/store.h"
#include "engine/queue/broker.h"
#include "engine/rewriting/rewriting.h"
#include "engine/web/http.h"

namespace hone::web {

/// A few connections to the database: readers do not wait for each other.
class StorePool {
 public:
  [[nodiscard]] static Result<std::unique_ptr<StorePool>> open(const std::filesystem::path& path,
                                                               int count, double patience_s);
  /// Runs `body(store)`, which returns a Result, once one is free. kInfrastructure: none is, for as
  /// long as anybody waits here.
  template <class Body>
  auto with(Body body) -> decltype(body(std::declval<const Store&>())) {
    const Lease lease(*this);
    if (lease.store == nullptr)
      return fail(ErrorCode::kInfrastructure, "all readers of the database are busy");
    return body(const_cast<const Store&>(*lease.store));
  }

 private:
  struct Lease {
    explicit Lease(StorePool& from) : pool(from), store(from.take()) {}
    ~Lease() {
      if (store != nullptr) pool.give(store);
    }
    StorePool& pool;
    Store* store;
  };
  Store* take();  ///< null: none became free in time
  void give(Store* store);

  std::chrono::duration<double> patience_{};
  std::vector<std::unique_ptr<Store>> stores_;
  std::mutex mutex_;
  std::condition_variable free_;
  std::vector<Store*> idle_;
};

/// Texts that are made again only after a while, and by one thread while the others wait for it,
/// though not for longer than `patience`: who has waited that long makes it for itself.
class TextCache {
 public:
  using Text = std::shared_ptr<const std::string>;
  /// Older texts go, when these limits are reached.
  TextCache(std::size_t most, std::size_t most_bytes,
            std::chrono::milliseconds patience = std::chrono::seconds(5))
      : most_(most), most_bytes_(most_bytes), patience_(patience) {}
  /// `make` may throw or return null: then nothing is kept.
  [[nodiscard]] Text get(const std::string& key, std::chrono::milliseconds age,
                         const std::function<Text()>& make);

 private:
  struct Entry {
    Text text;
    std::chrono::steady_clock::time_point made;
    std::uint64_t used = 0;
    bool making = false;
  };
  void shrink();

  const std::size_t most_, most_bytes_;
  const std::chrono::milliseconds patience_;
  std::mutex mutex_;
  std::condition_variable made_;
  std::map<std::string, Entry> entries_;
  std::size_t bytes_ = 0;
  std::uint64_t clock_ = 0;
};

class ServerMetrics;

struct Context {
  StorePool& stores;
  Rewriting& rewriting;
  queue::Broker* broker = nullptr;  ///< null: there is no queue
  std::string token;                ///< empty: nobody may submit
  std::function<void(const std::string&)> warn;
  ServerMetrics* metrics = nullptr;  ///< null: nobody counts
  TextCache pages{512, 64 << 20};
  TextCache sources{2048, 64 << 20};  ///< formatted, by their hash
  TextCache polls{1024, 16 << 20};    ///< what streams of events ask the database and the queue
  std::mutex checking;                ///< one submission is checked at a time

  [[nodiscard]] bool may_submit() const { return broker != nullptr && !token.empty(); }
  /// As people read it.
  [[nodiscard]] std::string formatted(const std::string& source);
  /// For what the database or the queue could not do: the log has the details, the client has not.
  [[nodiscard]] std::unexpected<Failure> broken(const Error& error) const;
  /// Likewise where it can only be the Redis server.
  [[nodiscard]] std::unexpected<Failure> queue_broken(const Error& error) const;
};

}  // namespace hone::web
