#include "engine/search/phases/compiling_ahead.h"

#include <algorithm>
#include <exception>
#include <utility>

namespace hone::search {
namespace {

/// As many as compile runners, at most: more would only wait for those.
constexpr unsigned kMostThreads = 16;

}  // namespace

CompilingAhead::CompilingAhead(const RequestBuilder& builder, Compile compile)
    : builder_(builder), compile_(std::move(compile)) {
  const unsigned threads = std::clamp(std::thread::hardware_concurrency(), 1U, kMostThreads);
  for (unsigned i = 0; i < threads; ++i)
    threads_.emplace_back([this](const std::stop_token& stopping) { run(stopping); });
}

CompilingAhead::~CompilingAhead() {
  begin_nothing_more();
  ending_.request_stop();
}

void CompilingAhead::add(Program program, Recipe recipe) {
  {
    const std::lock_guard lock(mutex_);
    items_.push_back({std::move(program), std::move(recipe)});
  }
  ready_.notify_one();
}

void CompilingAhead::begin_nothing_more() {
  for (auto& thread : threads_) thread.request_stop();
}

void CompilingAhead::run(const std::stop_token& stopping) {
  while (true) {
    Item item;
    {
      std::unique_lock lock(mutex_);
      ready_.wait(lock, stopping, [&] { return !items_.empty(); });
      if (stopping.stop_requested()) return;
      item = std::move(items_.front());
      items_.pop_front();
    }
    try {
      // The seed fills buffers: no text depends on it.
      const auto request = builder_.for_rewritten(item.program, item.recipe, 0);
      if (request) compile_(*request, ending_.get_token());
    } catch (const std::exception&) {
      // The search meets the same, or has memory again.
    }
  }
}

}  // namespace hone::search
