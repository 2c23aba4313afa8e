// What the phases of one search share. One thread, but for the queue and the rewriting.
#pragma once

#include <cstdint>
#include <utility>

#include "candidates/task.h"
#include "engine/rewriting/rewriting.h"
#include "engine/search/phases/clock.h"
#include "engine/search/phases/findings.h"
#include "engine/search/phases/journal.h"
#include "engine/search/random.h"
#include "engine/search/records.h"
#include "engine/search/search.h"
#include "engine/search/target/target.h"

namespace hone::search {

struct SearchRun {
  /// All but `given_target` must outlive the run; `store` may be null.
  SearchRun(const Task& given_task, Target given_target, Rewriting& given_rewriting, Store* store,
            const SearchOptions& given_options)
      : task(given_task),
        target(std::move(given_target)),
        rewriting(given_rewriting),
        options(given_options),
        clock(options, target.device.modelled()),
        journal(store, provenance_of(target.device, target.info), options, outcome.warnings),
        random(options.settings.seed),
        findings(options.settings.seed) {}
  SearchRun(const SearchRun&) = delete;
  SearchRun& operator=(const SearchRun&) = delete;

  /// Then every time is modelled, and a search repeats exactly.
  [[nodiscard]] bool modelled() const { return target.device.modelled(); }
  /// It ends now, with what is there.
  [[nodiscard]] bool interrupted() const {
    return clock.stopped() || clock.abandoned() || journal.failure();
  }
  void report(Phase phase) const;

  const Task& task;  ///< as it was given
  const Target target;
  Rewriting& rewriting;
  const SearchOptions& options;
  SearchOutcome outcome;
  SearchClock clock;
  Journal journal;
  Random random;
  std::uint64_t next_id = 0;  ///< of work in the target's queue
  Findings findings;
};

}  // namespace hone::search
