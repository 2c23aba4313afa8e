// Compiles what a search will begin with while its reference is admitted.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "candidates/program.h"
#include "candidates/recipe.h"
#include "engine/search/requests/requests.h"

namespace hone::search {

class CompilingAhead {
 public:
  using Compile = std::function<void(const EvaluationRequest&, const std::stop_token&)>;
  /// `builder`, and what `compile` needs, must outlive it. `compile` may be called from several
  /// threads, and is told to stop only by the end of this.
  CompilingAhead(const RequestBuilder& builder, Compile compile);
  /// Waits for the programs that are being compiled.
  ~CompilingAhead();
  /// `program`: what the recipe yields at the timed sizes. Those that came first begin first.
  void add(Program program, Recipe recipe);
  /// What has begun goes on.
  void begin_nothing_more();

 private:
  struct Item {
    Program program;
    Recipe recipe;
  };
  void run(const std::stop_token& stopping);

  const RequestBuilder& builder_;
  const Compile compile_;
  std::stop_source ending_;
  std::mutex mutex_;  ///< of what follows
  std::condition_variable_any ready_;
  std::deque<Item> items_;
  std::vector<std::jthread> threads_;
};

}  // namespace hone::search
