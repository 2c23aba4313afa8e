#include "engine/service/database_watch.h"

#include <fmt/format.h>

#include <utility>

namespace hone {
namespace database_watch {
namespace {

using std::chrono::milliseconds;

constexpr auto kBetweenTries = milliseconds(500);
constexpr auto kLooks = milliseconds(20);

/// What somebody has to do.
std::string_view remedy(StoreFault fault) {
  switch (fault) {
    case StoreFault::kFull:
      return "free some space there (`hone db prune` makes it smaller)";
    case StoreFault::kReadOnly:
      return "make the file, its folder and its file system writable";
    case StoreFault::kLocked:
      return "end the process that holds the lock (`fuser FILE` names it)";
    case StoreFault::kFailing:
      return "look at the file system and the system's log";
    case StoreFault::kDamaged:
      return "stop the coordinator and put a copy back (`hone db backup` makes one)";
  }
  return "look at the file";
}

}  // namespace
}  // namespace database_watch

DatabaseWatch::DatabaseWatch(Store& store, Log log) : store_(store), log_(std::move(log)) {
  store_.observe(this);
}

DatabaseWatch::~DatabaseWatch() { store_.observe(nullptr); }

std::string DatabaseWatch::trouble() const {
  const std::lock_guard lock(mutex_);
  return fault_ ? fmt::format("database {}", to_string(*fault_)) : "";
}

bool DatabaseWatch::in_trouble() const {
  const std::lock_guard lock(mutex_);
  return fault_.has_value();
}

std::map<StoreFault, std::int64_t> DatabaseWatch::errors() const {
  const std::lock_guard lock(mutex_);
  return errors_;
}

double DatabaseWatch::paused_s() const {
  const std::lock_guard lock(mutex_);
  auto paused = earlier_;
  if (fault_) paused += Clock::now() - since_;
  return paused.count();
}

void DatabaseWatch::look() {
  {
    const std::lock_guard lock(mutex_);
    if (!fault_ || waiting_ > 0) return;
  }
  (void)store_.try_writing();  // tells us
}

bool DatabaseWatch::try_again(StoreFault fault, const Error& error, int faults) {
  const bool own = is_own_thread();
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    ++errors_[fault];
    first = !fault_;
    if (first) {
      fault_ = fault;
      since_ = Clock::now();
    }
    if (own) own_failed_ = true;
    if (!own && faults == 0) ++waiting_;
  }
  if (first) {
    log_({.level = LogLevel::kError,
          .event = "database_not_writable",
          .message = fmt::format("jobs wait, for the database cannot be written: {}. They go on by "
                                 "themselves once that is mended: {}",
                                 error.message, database_watch::remedy(fault))});
  }
  if (own) return false;
  for (const auto until = Clock::now() + database_watch::kBetweenTries;
       others_wait_ && Clock::now() < until;)
    std::this_thread::sleep_for(database_watch::kLooks);
  if (others_wait_) return true;
  const std::lock_guard lock(mutex_);
  --waiting_;
  return false;
}

void DatabaseWatch::succeeded(int faults) {
  const std::lock_guard lock(mutex_);
  if (is_own_thread()) {
    own_failed_ = false;
  } else if (faults > 0) {
    --waiting_;
  }
  // Small things may find room where larger ones still do not.
  if (fault_ && waiting_ == 0 && !own_failed_) mend();
}

void DatabaseWatch::failed(int /*faults*/) {
  if (is_own_thread()) return;
  const std::lock_guard lock(mutex_);
  --waiting_;
}

void DatabaseWatch::mend() {
  const std::chrono::duration<double> lasted = Clock::now() - since_;
  earlier_ += lasted;
  fault_.reset();
  log_({.level = LogLevel::kInfo,
        .event = "database_writable",
        .message = fmt::format("the database can be written again, after {:.0f} s: {}; jobs go on",
                               lasted.count(), store_.path().string()),
        .fields = {{"away_s", lasted.count()}}});
}

}  // namespace hone
