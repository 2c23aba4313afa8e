// What the parts of Store share. Private to candidates/store.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>

#include <atomic>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>

#include "candidates/store/store.h"

namespace hone {
namespace store_detail {

using BoardKey = std::tuple<std::string, std::string, bool>;  // task hash, device name, modelled

/// ISO 8601, UTC, with milliseconds.
[[nodiscard]] std::string now();
/// Bytes that are no UTF-8 (a compiler's message, say) do not throw here.
[[nodiscard]] std::string dump(const nlohmann::json& json);
/// Of SQLite's codes those that somebody can mend while we wait; none: another error.
/// `system_errno`: of the last call to the system, 0 where it is not known.
[[nodiscard]] std::optional<StoreFault> fault_of(const SQLite::Exception& exception,
                                                 int system_errno);
/// For a person: what happened to the file and what to do.
[[nodiscard]] Error describe(const SQLite::Exception& exception, const std::filesystem::path& path,
                             int system_errno = 0);
/// Throws std::runtime_error: the database is damaged.
[[nodiscard]] nlohmann::json parse_stored(const std::string& text);

/// Of the last call to the system that failed; 0: none.
[[nodiscard]] int system_errno(const SQLite::Database& database);

/// Of a file: changes when it is written.
struct Stamp {
  std::int64_t modified_ns = 0, bytes = 0, inode = 0;
  bool operator==(const Stamp&) const = default;
};

/// The SQL that is true for rows of `table` on a device: with the parameters that bind_device()
/// binds.
[[nodiscard]] std::string is_on_device(std::string_view table);
/// As BoardFilter names devices; empty: any.
void bind_device(SQLite::Statement& query, const std::string& device);
/// :task, :arch and :modelled, -1 for both, and the device.
void bind_filter(SQLite::Statement& query, const BoardFilter& filter);

/// Another process has taken the fence.
struct FenceLost {};

template <class T>
[[nodiscard]] T value_or_throw(Result<T> result) {
  if (result) return std::move(*result);
  throw std::runtime_error("the database is damaged: " + result.error().message);
}

}  // namespace store_detail

struct Store::Impl {
  Impl(const std::filesystem::path& given_path, SQLite::Database opened, std::string opened_as)
      : path(given_path), uri(std::move(opened_as)), database(std::move(opened)) {}

  // Runs `body` under the lock; whatever the libraries throw becomes an Error. Where the file is at
  // fault, again for as long as the observer says so.
  template <class Body>
  auto guarded(Body body, bool writes = false) -> Result<decltype(body())> {
    for (int faults = 0;; ++faults) {
      std::optional<StoreFault> fault;
      bool fence_lost = false;
      StoreObserver* const told = observer;
      auto result = attempt(body, fault, fence_lost, told != nullptr && told->in_trouble());
      if (told == nullptr) return result;
      if (fence_lost) told->fence_lost();
      if (fault) {
        if (told->try_again(*fault, result.error(), faults)) continue;
      } else if (result) {
        if (writes || faults > 0) told->succeeded(faults);
      } else if (faults > 0) {
        told->failed(faults);
      }
      return result;
    }
  }

  template <class Body>
  auto attempt(Body& body, std::optional<StoreFault>& fault, bool& fence_lost, bool hurry)
      -> Result<decltype(body())> {
    const std::lock_guard lock(mutex);
    try {
      if (hurry != hurried) database.setBusyTimeout(hurry ? kHurried_ms : busy_timeout_ms);
      hurried = hurry;
      if (unwritten) look_for_writers();
      if constexpr (std::is_void_v<decltype(body())>) {
        body();
        return {};
      } else {
        return body();
      }
    } catch (const SQLite::Exception& exception) {
      const int system_errno = store_detail::system_errno(database);
      fault = store_detail::fault_of(exception, system_errno);
      return std::unexpected(store_detail::describe(exception, path, system_errno));
    } catch (const store_detail::FenceLost&) {
      fence_lost = true;
      return fail(ErrorCode::kEnvironment,
                  fmt::format("{}: another process has taken over the writing", path.string()));
    } catch (const std::exception& exception) {
      return fail(ErrorCode::kIo, fmt::format("{}: {}", path.string(), exception.what()));
    }
  }

  // Commits made meanwhile are on the disk when they return. Not inside a transaction.
  class OnDisk {
   public:
    explicit OnDisk(SQLite::Database& database) : database_(database) {
      database_.exec("PRAGMA synchronous = FULL");
    }
    ~OnDisk() { (void)database_.tryExec("PRAGMA synchronous = NORMAL"); }
    OnDisk(const OnDisk&) = delete;
    OnDisk& operator=(const OnDisk&) = delete;

   private:
    SQLite::Database& database_;
  };

  // Likewise, in one transaction, while the fence is ours. `lasting`: a loss of power leaves it.
  template <class Body>
  auto writing(Body body, bool lasting = false) -> Result<decltype(body())> {
    return guarded(
        [&]() -> decltype(body()) {
          std::optional<OnDisk> on_disk;
          if (lasting) on_disk.emplace(database);
          SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
          if (fence > 0 && database.execAndGet("SELECT token FROM fence").getInt64() != fence)
            throw store_detail::FenceLost();
          if constexpr (std::is_void_v<decltype(body())>) {
            body();
            transaction.commit();
          } else {
            auto result = body();
            transaction.commit();
            return result;
          }
        },
        true);
  }

  void forget_job(const std::string& job);
  std::string candidate_id(const CandidateRecord& candidate);
  void put_candidate(const std::string& id, const CandidateRecord& candidate);
  void put_result(const std::string& id, std::int64_t run, const CandidateRecord& candidate,
                  const Evaluation& evaluation, const Provenance& provenance);
  void bind_filtered_by(SQLite::Statement& insert, const std::string& id);
  void withdraw(const std::string& id, const Evaluation& evaluation, const Provenance& provenance);
  void put_point(std::int64_t run, const std::string& id, const Evaluation& evaluation);
  std::vector<store_detail::BoardKey> board_keys(const BoardFilter& filter);
  Board read_board(const store_detail::BoardKey& key, const BoardFilter& filter);
  std::vector<BaselineTime> read_baselines(const std::string& task_hash,
                                           const std::string& device_name);
  std::vector<FinalResult> read_finals(const std::string& id);
  int rank_of(const BoardRow& row);

  void merge_candidates();
  void merge_runs();
  /// Of a file that was opened as one that nobody writes: opens it again where somebody did.
  void look_for_writers();
  /// Of such a file: somebody did.
  [[nodiscard]] bool was_written() const;

  std::filesystem::path path;
  std::string uri;  ///< as SQLite opened it
  std::mutex mutex;
  SQLite::Database database;
  std::int64_t fence = 0;  ///< our token; 0: none was taken
  std::atomic<StoreObserver*> observer = nullptr;
  static constexpr int kHurried_ms = 100;
  int busy_timeout_ms = StoreOptions().busy_timeout_ms;
  bool hurried = false;  ///< calls wait for kHurried_ms only
  /// How the file was when it was opened `immutable`; none: it was not.
  std::optional<store_detail::Stamp> unwritten;
};

}  // namespace hone
