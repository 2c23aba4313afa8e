// What an operator does with a database as a whole: `hone db`. Thread-safe as Store is.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "candidates/result.h"
#include "candidates/store/store.h"

namespace hone {

/// What Store::check() found.
struct StoreCheck {
  int format = 0;  ///< the schema's version
  StoreIdentity identity;
  std::int64_t bytes = 0;                                  // of the file
  std::vector<std::pair<std::string, std::int64_t>> rows;  ///< by table
  std::vector<std::string> problems;                       ///< for people; empty: it is whole
};

/// What prune() leaves out, so that a database does not grow for ever.
struct PruneOptions {
  int keep = 0;          ///< of each board the best; 0: all that stand on one
  std::string before;    ///< only what nobody found since then, ISO 8601, UTC; empty: of any age
  bool dry_run = false;  ///< counts, and changes nothing
};

struct Pruned {
  std::int64_t candidates = 0, results = 0, points = 0, replies = 0, runs = 0;  // rows that went
  std::int64_t bytes_before = 0, bytes_after = 0;                               // of the file
  std::string not_shrunk;  ///< why the file is as large as before, where it is; see Store::prune
};

/// What merge() took over.
struct Merged {
  std::int64_t tasks = 0, candidates = 0, results = 0, runs = 0, baselines = 0;  // new rows
  std::int64_t withdrawn = 0;  ///< final results that the other database has shown to be wrong
};

}  // namespace hone
