#include "engine/web/context.h"

#include <algorithm>
#include <utility>

#include "candidates/hash.h"

namespace hone::web {

Result<std::unique_ptr<StorePool>> StorePool::open(const std::filesystem::path& path, int count,
                                                   double patience_s) {
  auto pool = std::make_unique<StorePool>();
  pool->patience_ = std::chrono::duration<double>(patience_s);
  for (int i = 0; i < std::max(count, 1); ++i) {
    auto store = Store::open(path, {.read_only = true});
    if (!store) return std::unexpected(store.error());
    pool->idle_.push_back(store->get());
    pool->stores_.push_back(std::move(*store));
  }
  return pool;
}

Store* StorePool::take() {
  std::unique_lock lock(mutex_);
  if (!free_.wait_for(lock, patience_, [this] { return !idle_.empty(); })) return nullptr;
  Store* store = idle_.back();  // the last one used: its pages are in memory
  idle_.pop_back();
  return store;
}

void StorePool::give(Store* store) {
  {
    const std::lock_guard lock(mutex_);
    idle_.push_back(store);
  }
  free_.notify_one();
}

TextCache::Text TextCache::get(const std::string& key, std::chrono::milliseconds age,
                               const std::function<Text()>& make) {
  const auto until = std::chrono::steady_clock::now() + patience_;
  std::unique_lock lock(mutex_);
  while (true) {
    const auto found = entries_.find(key);
    if (found == entries_.end()) break;
    Entry& entry = found->second;
    if (entry.making) {
      if (made_.wait_until(lock, until) != std::cv_status::timeout) continue;
      lock.unlock();
      return make();
    }
    if (std::chrono::steady_clock::now() - entry.made > age) break;
    entry.used = ++clock_;
    return entry.text;
  }
  Entry& begun = entries_[key];
  if (begun.text != nullptr) bytes_ -= key.size() + begun.text->size();
  begun = {.making = true};
  lock.unlock();
  Text text;
  std::exception_ptr thrown;
  try {
    text = make();
  } catch (...) {
    thrown = std::current_exception();
  }
  lock.lock();
  if (text == nullptr) {
    entries_.erase(key);
  } else {
    entries_[key] = {text, std::chrono::steady_clock::now(), ++clock_, false};
    bytes_ += key.size() + text->size();
    shrink();
  }
  made_.notify_all();
  if (thrown) std::rethrow_exception(thrown);
  return text;
}

// A quarter at once, so that it is not done for every text.
void TextCache::shrink() {
  if (entries_.size() <= most_ && bytes_ <= most_bytes_) return;
  std::vector<std::pair<std::uint64_t, std::string>> by_use;
  for (const auto& [key, entry] : entries_)
    if (!entry.making) by_use.emplace_back(entry.used, key);
  std::ranges::sort(by_use);
  for (const auto& [used, key] : by_use) {
    if (entries_.size() <= most_ * 3 / 4 && bytes_ <= most_bytes_ / 4 * 3) break;
    bytes_ -= key.size() + entries_[key].text->size();
    entries_.erase(key);
  }
}

std::string Context::formatted(const std::string& source) {
  const auto text = sources.get(content_hash(source), std::chrono::hours(24), [&] {
    return std::make_shared<const std::string>(rewriting.formatted(source));
  });
  return *text;
}

std::unexpected<Failure> Context::broken(const Error& error) const {
  if (warn) warn(error.message);
  if (error.code == ErrorCode::kEnvironment || error.code == ErrorCode::kInfrastructure)
    return failure(503, "unavailable",
                   "What this page is about is busy or cannot be reached now. Try again in a few "
                   "seconds.");
  return failure(500, "internal", "The database could not be read. The server's log says why.");
}

std::unexpected<Failure> Context::queue_broken(const Error& error) const {
  if (error.code != ErrorCode::kEnvironment && error.code != ErrorCode::kInfrastructure)
    return broken(error);
  if (warn) warn(error.message);
  return failure(503, "unavailable",
                 "The Redis server that holds the jobs cannot be reached now. Boards and runs are "
                 "there still; jobs come back with it. The server's log says more.");
}

}  // namespace hone::web
